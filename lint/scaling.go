package lint

import (
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// scaledObject is what of a ScaledObject of KEDA is judged.
type scaledObject struct {
	*Object
	Spec struct {
		ScaleTargetRef  targetRef `json:"scaleTargetRef"`
		MinReplicaCount *int      `json:"minReplicaCount"`
		MaxReplicaCount *int      `json:"maxReplicaCount"`
		Fallback        *fallback `json:"fallback"`
		Advanced        advanced  `json:"advanced"`
		Triggers        []trigger `json:"triggers"`
	} `json:"spec"`
}

type targetRef struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type fallback struct {
	Replicas int    `json:"replicas"`
	Behavior string `json:"behavior"`
}

type advanced struct {
	HPA struct {
		Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
	} `json:"horizontalPodAutoscalerConfig"`
}

type trigger struct {
	Type       string            `json:"type"`
	MetricType string            `json:"metricType"`
	Metadata   map[string]string `json:"metadata"`
}

// ours tells a trigger that asks warmpool from one that asks another external scaler.
func (t *trigger) ours() bool {
	if t.Type != "external" && t.Type != "external-push" {
		return false
	}
	return strings.Contains(t.Metadata["scalerAddress"], "warmpool") || t.Metadata["service"] != "" || t.Metadata["preset"] != ""
}

func (s *scaledObject) ours() bool {
	for i := range s.Spec.Triggers {
		if s.Spec.Triggers[i].ours() {
			return true
		}
	}
	return false
}

func (s *scaledObject) smallest() int {
	if n := s.Spec.MinReplicaCount; n != nil {
		return *n
	}
	return 0
}

func (s *scaledObject) largest() int {
	if n := s.Spec.MaxReplicaCount; n != nil {
		return *n
	}
	return 100
}

func (s *scaledObject) behavior() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return s.Spec.Advanced.HPA.Behavior
}

func (s *scaledObject) target() targetRef {
	t := s.Spec.ScaleTargetRef
	if t.Kind == "" {
		t.Kind = "Deployment"
	}
	return t
}

// podAutoscaler is a horizontal pod autoscaler that nobody but its author owns.
type podAutoscaler struct {
	*Object
	spec autoscalingv2.HorizontalPodAutoscalerSpec
}

// ownedByKEDA tells an autoscaler that KEDA made for a ScaledObject.
func ownedByKEDA(o *Object) bool {
	return o.Labels["scaledobject.keda.sh/name"] != "" || strings.HasPrefix(o.Name, "keda-hpa-")
}
