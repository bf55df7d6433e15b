package lint

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// workload is something that runs pods.
type workload struct {
	*Object
	labels, annotations map[string]string
	pod                 corev1.PodSpec
	// replicas is what the manifest, or the live object, says; -1 without.
	replicas int
	// perReplica is how many pods one replica has; 1 but for groups of pods.
	perReplica int
	// batch work ends by itself; everything else serves.
	batch bool
	// daemon pods run on every node and tolerate what they have to.
	daemon bool
	// probesByOthers marks templates whose probes are added later or are not needed.
	probesByOthers bool
	// smallest and largest are the limits of what scales it, or its replicas; -1 is unknown.
	smallest, largest int
	// scaledBy are the objects that set its replicas.
	scaledBy []*Object
}

// gpus is how many accelerators one pod asks for.
func (w *workload) gpus() int64 {
	n := int64(0)
	for i := range w.pod.Containers {
		n += gpusOf(w.pod.Containers[i].Resources)
	}
	return n
}

func (w *workload) wantsGPU() bool {
	return w.gpus() > 0 || len(w.pod.ResourceClaims) > 0
}

func gpusOf(r corev1.ResourceRequirements) int64 {
	n := int64(0)
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		here := int64(0)
		for name, quantity := range list {
			if isAccelerator(string(name)) {
				here += quantity.Value()
			}
		}
		n = max(n, here)
	}
	return n
}

// isAccelerator tells the resources that device plugins offer for accelerators.
func isAccelerator(resource string) bool {
	switch resource {
	case "nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu", "gpu.intel.com/xe", "gpu.intel.com/i915",
		"habana.ai/gaudi", "microsoft.com/directx", "k8s.amazonaws.com/vgpu", "google.com/tpu":
		return true
	}
	return strings.HasPrefix(resource, "nvidia.com/mig-") || strings.HasPrefix(resource, "aws.amazon.com/neuron")
}

// workloadsOf reads an object as a workload; a group of pods gives one for each template.
func workloadsOf(o *Object) []*workload {
	switch o.Kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "Rollout":
		return fromTemplate(o, at(o.Fields, "spec", "template"))
	case "DaemonSet":
		found := fromTemplate(o, at(o.Fields, "spec", "template"))
		for _, w := range found {
			w.daemon = true
		}
		return found
	case "Job":
		return batch(fromTemplate(o, at(o.Fields, "spec", "template")))
	case "CronJob":
		return batch(fromTemplate(o, at(o.Fields, "spec", "jobTemplate", "spec", "template")))
	case "Pod":
		return fromTemplate(o, o.Fields)
	case "LeaderWorkerSet":
		return fromGroups(o)
	case "InferenceService":
		return fromPredictor(o)
	}
	return nil
}

func batch(found []*workload) []*workload {
	for _, w := range found {
		w.batch = true
	}
	return found
}

func fromTemplate(o *Object, template any) []*workload {
	pod, ok := decode[corev1.PodTemplateSpec](template)
	if !ok || len(pod.Spec.Containers) == 0 {
		return nil
	}
	w := &workload{
		Object: o, labels: pod.Labels, annotations: pod.Annotations, pod: pod.Spec, replicas: -1, perReplica: 1,
		smallest: -1, largest: -1,
	}
	if n, ok := numberAt(o.Fields, "spec", "replicas"); ok {
		w.replicas = int(n)
	}
	return []*workload{w}
}

// fromGroups reads a LeaderWorkerSet. Its workers serve through their leader, so that they need no probes.
func fromGroups(o *Object) []*workload {
	size := int64(1)
	if n, ok := numberAt(o.Fields, "spec", "leaderWorkerTemplate", "size"); ok {
		size = n
	}
	leader := at(o.Fields, "spec", "leaderWorkerTemplate", "leaderTemplate")
	worker := at(o.Fields, "spec", "leaderWorkerTemplate", "workerTemplate")
	if leader == nil {
		return fromTemplate(o, worker)
	}
	found := fromTemplate(o, leader)
	for _, w := range fromTemplate(o, worker) {
		w.perReplica, w.probesByOthers = int(size-1), true
		found = append(found, w)
	}
	return found
}

// fromPredictor reads a KServe InferenceService, whose predictor is a pod with one model container.
func fromPredictor(o *Object) []*workload {
	predictor, _ := at(o.Fields, "spec", "predictor").(map[string]any)
	if predictor == nil {
		return nil
	}
	spec := maps.Clone(predictor)
	if model, ok := predictor["model"].(map[string]any); ok {
		container := map[string]any{"name": "kserve-container"}
		for _, key := range []string{"resources", "readinessProbe", "livenessProbe", "startupProbe", "args", "env"} {
			if value, ok := model[key]; ok {
				container[key] = value
			}
		}
		spec["containers"] = []any{container}
	}
	found := fromTemplate(o, map[string]any{"spec": spec, "metadata": map[string]any{
		"labels": predictor["labels"], "annotations": predictor["annotations"],
	}})
	for _, w := range found {
		w.probesByOthers = true
		if n, ok := numberAt(predictor, "minReplicas"); ok {
			w.smallest = int(n)
		}
		if n, ok := numberAt(predictor, "maxReplicas"); ok {
			w.largest = int(n)
		}
	}
	return found
}
