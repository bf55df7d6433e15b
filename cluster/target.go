package cluster

import (
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// byTarget is the index of pods, and of autoscalers, by scale target.
const byTarget = "target"

// targetKey identifies a scale target: kind, namespace and name. The API group is left out: what owns pods has a kind
// of its own.
func targetKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// targetKeys are the scale targets that a pod belongs to: that of its controller, and that of the controller's own.
// There is no need to read ReplicaSets: one is named after its Deployment or Rollout and the hash of its template,
// which the pod carries as a label.
func targetKeys(p *corev1.Pod, o owner) (keys [2]string) {
	add := func(kind, name string) {
		switch key := share(targetKey(kind, p.Namespace, name)); {
		case keys[0] == "":
			keys[0] = key
		case keys[1] == "":
			keys[1] = key
		}
	}
	if name := p.Labels[leaderName]; name != "" {
		add("LeaderWorkerSet", name)
		return keys
	}
	switch o.kind {
	case "ReplicaSet":
		for _, parent := range []struct{ label, kind string }{
			{"rollouts-pod-template-hash", "Rollout"}, {"pod-template-hash", "Deployment"},
		} {
			if name, ok := strings.CutSuffix(o.name, "-"+p.Labels[parent.label]); ok && p.Labels[parent.label] != "" && name != "" {
				add(parent.kind, name)
				break
			}
		}
	case "":
	default:
		add(o.kind, o.name)
	}
	for _, whole := range []struct{ label, kind string }{
		{"serving.kserve.io/inferenceservice", "InferenceService"}, {"ray.io/cluster", "RayCluster"},
	} {
		if name := p.Labels[whole.label]; name != "" && servesRequests(p.Labels) {
			add(whole.kind, name)
		}
	}
	if p.Labels["app.kubernetes.io/part-of"] == "llminferenceservice" {
		add("LLMInferenceService", p.Labels["app.kubernetes.io/name"])
	}
	return keys
}

// servesRequests leaves out the pods of an InferenceService that only transform or explain, and the head of a Ray
// cluster.
func servesRequests(labels map[string]string) bool {
	component, node := labels["component"], labels["ray.io/node-type"]
	return (component == "" || component == "predictor") && node != "head"
}

func targetIndex(o any) ([]string, error) {
	p, ok := o.(*pod)
	if !ok || p.ended {
		return nil, nil
	}
	var keys []string
	for _, key := range p.targets {
		if key != "" {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// scaledObject is what is kept of a KEDA ScaledObject.
type scaledObject struct {
	metav1.ObjectMeta
	target     string
	autoscaler string // name of its HorizontalPodAutoscaler
	min, max   int    // -1 is not given
	paused     bool
}

func trimScaledObject(o any) (any, error) {
	full, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	s := &scaledObject{ObjectMeta: metaOf(full), min: -1, max: -1}
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(full.Object, path...)
		return value
	}
	kind := text("spec", "scaleTargetRef", "kind")
	if kind == "" {
		kind = "Deployment"
	}
	s.target = targetKey(kind, full.GetNamespace(), text("spec", "scaleTargetRef", "name"))
	if s.autoscaler = text("status", "hpaName"); s.autoscaler == "" {
		s.autoscaler = "keda-hpa-" + full.GetName()
	}
	s.min, s.max = number(full.Object, -1, "spec", "minReplicaCount"), number(full.Object, -1, "spec", "maxReplicaCount")
	for key, value := range full.GetAnnotations() {
		s.paused = s.paused || (strings.HasPrefix(key, "autoscaling.keda.sh/paused") && value != "false")
	}
	return s, nil
}

func number(object map[string]any, none int, path ...string) int {
	value, found, _ := unstructured.NestedFieldNoCopy(object, path...)
	if !found {
		return none
	}
	switch n := value.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return none
}

func metaOf(u *unstructured.Unstructured) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		CreationTimestamp: u.GetCreationTimestamp(),
	}
}

// autoscaler is what is kept of a HorizontalPodAutoscaler.
type autoscaler struct {
	metav1.ObjectMeta
	target           string
	current, desired int
	// up and down are the tolerances; -1 is that of the whole cluster.
	up, down float64
	// stabilization windows in seconds; -1 is the default.
	stabilizeUp, stabilizeDown int
}

func trimAutoscaler(o any) (any, error) {
	full, ok := o.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return o, nil
	}
	a := &autoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: full.Name, Namespace: full.Namespace, UID: full.UID, ResourceVersion: full.ResourceVersion},
		target:     targetKey(full.Spec.ScaleTargetRef.Kind, full.Namespace, full.Spec.ScaleTargetRef.Name),
		current:    int(full.Status.CurrentReplicas), desired: int(full.Status.DesiredReplicas),
		up: -1, down: -1, stabilizeUp: -1, stabilizeDown: -1,
	}
	if b := full.Spec.Behavior; b != nil {
		a.up, a.stabilizeUp = ruleOf(b.ScaleUp)
		a.down, a.stabilizeDown = ruleOf(b.ScaleDown)
	}
	return a, nil
}

func ruleOf(r *autoscalingv2.HPAScalingRules) (tolerance float64, window int) {
	tolerance, window = -1, -1
	if r == nil {
		return tolerance, window
	}
	if r.Tolerance != nil {
		tolerance = r.Tolerance.AsApproximateFloat64()
	}
	if r.StabilizationWindowSeconds != nil {
		window = int(*r.StabilizationWindowSeconds)
	}
	return tolerance, window
}

// Target is what is known of a scale target and of the autoscaler that holds it. Numbers are -1 when unknown, or where
// the default of KEDA or of the cluster holds.
type Target struct {
	// Kind and Name are those of the target, Autoscaler is the name of its HorizontalPodAutoscaler.
	Kind, Name, Autoscaler string
	// Min and Max are those of the scaled object.
	Min, Max int
	// Paused tells that the scaled object is not followed.
	Paused bool
	// Current and Desired are replicas as the autoscaler has them.
	Current, Desired int
	// ToleranceUp and ToleranceDown are the autoscaler's own, as shares.
	ToleranceUp, ToleranceDown float64
	// StabilizeUp and StabilizeDown are its windows in seconds.
	StabilizeUp, StabilizeDown int
}

// Target returns what is known of the target of a scaled object; false if there is no such object.
func (c *Cluster) Target(namespace, name string) (Target, bool) {
	s, ok := at[*scaledObject](c.scaledObjects, namespace+"/"+name)
	if !ok {
		return Target{}, false
	}
	parts := strings.SplitN(s.target, "/", 3)
	t := Target{
		Kind: parts[0], Name: parts[2], Autoscaler: s.autoscaler, Min: s.min, Max: s.max, Paused: s.paused,
		Current: -1, Desired: -1, ToleranceUp: -1, ToleranceDown: -1, StabilizeUp: -1, StabilizeDown: -1,
	}
	if a, ok := at[*autoscaler](c.autoscalers, namespace+"/"+s.autoscaler); ok && a.target == s.target {
		t.Current, t.Desired, t.ToleranceUp, t.ToleranceDown = a.current, a.desired, a.up, a.down
		t.StabilizeUp, t.StabilizeDown = a.stabilizeUp, a.stabilizeDown
	}
	return t, true
}

// Replicas returns the present replicas of the target of a scaled object, and the tolerance of its autoscaler, as the
// autoscaler has them; negative is unknown. Where the tolerances for up and down differ, it is the larger one.
func (c *Cluster) Replicas(namespace, name string) (current int, tolerance float64) {
	t, ok := c.Target(namespace, name)
	if !ok || t.Current < 0 || !c.autoscalers.lost().IsZero() {
		return -1, -1
	}
	const clusterWide = 0.1 // what an autoscaler without a tolerance of its own uses unless the cluster is set otherwise
	up, down := t.ToleranceUp, t.ToleranceDown
	if up < 0 && down < 0 {
		return t.Current, -1
	}
	if up < 0 {
		up = clusterWide
	}
	if down < 0 {
		down = clusterWide
	}
	return t.Current, max(up, down)
}
