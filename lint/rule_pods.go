package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/warmpool/warmpool/expander"
)

// selectorMatches tells whether a selector means pods with the labels; an empty or broken one means none here.
func selectorMatches(selector *metav1.LabelSelector, of map[string]string) bool {
	if selector == nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(of))
}

func (s *scan) pdbBlocksDrain() {
	s.each("PodDisruptionBudget", func(o *Object) {
		pdb, ok := decode[policyv1.PodDisruptionBudget](o.Fields)
		if !ok {
			return
		}
		// A budget may mean several workloads, as leaders and workers of a group: their pods count together.
		pods, names := 0, []string{}
		for _, w := range s.workloads {
			if w.Namespace != o.Namespace || w.daemon || w.batch || w.smallest < 0 || !selectorMatches(pdb.Spec.Selector, w.labels) {
				continue
			}
			pods += max(w.smallest, 1) * w.perReplica
			if !slices.Contains(names, w.String()) {
				names = append(names, w.String())
			}
		}
		if len(names) > 0 && disruptions(&pdb.Spec, pods) <= 0 {
			s.report(o, fmt.Sprintf("at the smallest count of %s, %d pods, it allows no eviction: no node with one of them can be drained or scaled in", strings.Join(names, " and "), pods),
				"set maxUnavailable: 1 in place of minAvailable")
		}
	})
}

// disruptions is how many of n healthy pods a budget lets go; percentages are rounded up, as Kubernetes does.
func disruptions(spec *policyv1.PodDisruptionBudgetSpec, n int) int {
	scaled := func(v *intstr.IntOrString) int {
		k, err := intstr.GetScaledValueFromIntOrPercent(v, n, true)
		if err != nil {
			return 0
		}
		return k
	}
	if spec.MaxUnavailable != nil {
		return scaled(spec.MaxUnavailable)
	}
	if spec.MinAvailable != nil {
		return n - scaled(spec.MinAvailable)
	}
	return n
}

func (s *scan) antiAffinityAboveNodes() {
	for _, w := range s.workloads {
		if !w.wantsGPU() || w.largest < 2 || !w.hardAntiAffinity() {
			continue
		}
		nodes := 0
		for _, p := range s.pools {
			if w.selects(p.labels) && len(w.intolerable(p.taints)) == 0 && (p.gpus == 0 || p.gpus >= w.gpus()) {
				if p.largest < 0 {
					nodes = -1
					break
				}
				nodes += p.largest
			}
		}
		if len(s.pools) == 0 || nodes < 0 || w.largest <= nodes {
			continue
		}
		s.report(w.Object, fmt.Sprintf("each replica needs a host of its own and there may be %d replicas, but its pools have at most %d nodes: the others stay pending for ever", w.largest, nodes),
			"use preferredDuringSchedulingIgnoredDuringExecution, or a topology spread constraint with ScheduleAnyway")
	}
}

func (w *workload) hardAntiAffinity() bool {
	a := w.pod.Affinity
	if a == nil || a.PodAntiAffinity == nil {
		return false
	}
	return slices.ContainsFunc(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		return t.TopologyKey == corev1.LabelHostname && selectorMatches(t.LabelSelector, w.labels)
	})
}

func (s *scan) tolerationMissing() {
	pools := s.gpuPools()
	for _, w := range s.workloads {
		if !w.wantsGPU() || w.daemon {
			continue
		}
		var blocked []string
		fits := false
		for _, p := range pools {
			if !w.selects(p.labels) {
				continue
			}
			left := w.intolerable(p.taints)
			if len(left) == 0 {
				fits = true
				break
			}
			blocked = append(blocked, fmt.Sprintf("%s (%s)", p.name, left[0].ToString()))
		}
		if !fits && len(blocked) > 0 {
			s.report(w.Object, "it selects only pools whose taints it does not tolerate: "+strings.Join(blocked, ", ")+"; its pods stay pending",
				"add a toleration for the taint of the pool it belongs to, and for "+gpuResource)
		}
	}
}

func (s *scan) tolerationTooBroad() {
	for _, w := range s.workloads {
		if w.daemon || strings.HasPrefix(w.pod.PriorityClassName, "system-") {
			continue
		}
		for _, t := range w.pod.Tolerations {
			switch {
			case t.Key == "" && t.Operator == corev1.TolerationOpExists && t.Effect != corev1.TaintEffectNoExecute:
				s.report(w.Object, "it tolerates every taint: its pods may run on every pool, and the autoscaler may grow any of them",
					"name the taints it needs, one toleration each")
			case isAccelerator(t.Key) && !w.wantsGPU():
				s.report(w.Object, fmt.Sprintf("it asks for no GPU and tolerates %s: its pods take the place of GPU pods", t.Key),
					"remove the toleration, or ask for a GPU")
			default:
				continue
			}
			break
		}
	}
}

func (s *scan) gpuLimitWithoutRequest() {
	for _, w := range s.workloads {
		for i := range w.pod.Containers {
			c := &w.pod.Containers[i]
			for name, limit := range c.Resources.Limits {
				if !isAccelerator(string(name)) || limit.IsZero() {
					continue
				}
				request, asked := c.Resources.Requests[name]
				switch {
				case !asked:
					s.report(w.Object, fmt.Sprintf("container %s limits %s and does not request it; the API server fills that in, what reads manifests does not, such as quotas and cost reports", c.Name, name),
						fmt.Sprintf("request the same: requests: {%s: %s}", name, limit.String()))
				case request.Cmp(limit) != 0:
					s.reportAs(Error, w.Object, fmt.Sprintf("container %s requests %s %s and limits it to %s: the pod is refused", c.Name, request.String(), name, limit.String()),
						"set both to the same number")
				}
			}
			for name, request := range c.Resources.Requests {
				if _, limited := c.Resources.Limits[name]; isAccelerator(string(name)) && !limited && !request.IsZero() {
					s.reportAs(Error, w.Object, fmt.Sprintf("container %s requests %s without a limit: the pod is refused, extended resources need both", c.Name, name),
						fmt.Sprintf("limit the same: limits: {%s: %s}", name, request.String()))
				}
			}
		}
	}
}

func (s *scan) gpuMemoryMissing() {
	for _, w := range s.workloads {
		if w.daemon || w.gpus() == 0 {
			continue
		}
		text, key := w.annotations["gpu.ai/memory-required"], "gpu.ai/memory-required"
		if perGPU, ok := w.annotations["gpu.ai/memory-per-gpu"]; ok {
			text, key = perGPU, "gpu.ai/memory-per-gpu"
		}
		if text == "" {
			s.report(w.Object, "nothing says how much GPU memory a pod needs, so that a group with too small cards may be chosen for it",
				"annotate the pod template with gpu.ai/memory-required, the total over its GPUs, such as 16Gi")
			continue
		}
		if bytes, err := expander.ParseQuantity(text); err != nil || bytes <= 0 {
			s.reportAs(Error, w.Object, fmt.Sprintf("%s is %q, which is no quantity: it is ignored", key, text), "write a quantity, such as 16Gi")
		} else if bytes < 1<<20 {
			s.report(w.Object, fmt.Sprintf("%s is %q, which are %d bytes", key, text, bytes), "add the unit: "+text+"Gi")
		}
	}
}

func (s *scan) priorityClassMissing() {
	classes := map[string]bool{}
	s.each("PriorityClass", func(o *Object) { classes[o.Name] = true })
	batchOnGPU := slices.ContainsFunc(s.workloads, func(w *workload) bool { return w.batch && w.wantsGPU() })
	for _, w := range s.workloads {
		name := w.pod.PriorityClassName
		switch {
		case name != "" && !strings.HasPrefix(name, "system-") && len(classes) > 0 && !classes[name]:
			s.reportAs(Error, w.Object, fmt.Sprintf("priority class %s does not exist: its pods are refused", name), "create it, or name one that exists")
		case name == "" && batchOnGPU && w.wantsGPU() && !w.batch && !w.daemon:
			s.report(w.Object, "it serves beside batch work on GPUs and has no priority class: batch pods that are there first keep their GPUs",
				"give serving a PriorityClass above that of batch work")
		}
	}
}

// serving calls yield for the containers with GPUs of everything that serves.
func (s *Set) serving(yield func(w *workload, c *corev1.Container)) {
	for _, w := range s.workloads {
		if w.batch || w.daemon || w.Kind == "Pod" || w.probesByOthers {
			continue
		}
		for i := range w.pod.Containers {
			if c := &w.pod.Containers[i]; gpusOf(c.Resources) > 0 {
				yield(w, c)
			}
		}
	}
}

func (s *scan) readinessProbeMissing() {
	s.serving(func(w *workload, c *corev1.Container) {
		if c.ReadinessProbe == nil {
			s.report(w.Object, fmt.Sprintf("container %s has no readiness probe: it gets requests while its model loads, and start-up times cannot be learnt", c.Name),
				"add a readinessProbe on the server's health path, such as httpGet {path: /health}")
		}
	})
}

func (s *scan) probeShorterThanLoad() {
	load := s.options.ModelLoad
	s.serving(func(w *workload, c *corev1.Container) {
		probe, name := c.StartupProbe, "startup probe"
		if probe == nil {
			probe, name = c.LivenessProbe, "liveness probe"
		}
		if probe == nil {
			return
		}
		if budget := patience(probe); budget < load {
			s.report(w.Object, fmt.Sprintf("the %s of container %s gives up after %v, a model may take %v to load: it is restarted again and again", name, c.Name, budget, load),
				fmt.Sprintf("add a startupProbe with periodSeconds x failureThreshold of at least %d s", int(load.Seconds())))
		}
	})
}

// patience is how long a probe may fail after the start; the numbers that are not given are those of Kubernetes.
func patience(p *corev1.Probe) time.Duration {
	period, failures := p.PeriodSeconds, p.FailureThreshold
	if period == 0 {
		period = 10
	}
	if failures == 0 {
		failures = 3
	}
	return time.Duration(p.InitialDelaySeconds+period*failures) * time.Second
}

func (s *scan) gracePeriodShort() {
	reported := map[*workload]bool{}
	s.serving(func(w *workload, _ *corev1.Container) {
		grace := 30 * time.Second
		if n := w.pod.TerminationGracePeriodSeconds; n != nil {
			grace = time.Duration(*n) * time.Second
		}
		if grace < s.options.LongestAnswer && !reported[w] {
			reported[w] = true
			s.report(w.Object, fmt.Sprintf("a pod that ends is killed after %v, an answer may take %v: scale-in breaks requests", grace, s.options.LongestAnswer),
				fmt.Sprintf("set terminationGracePeriodSeconds to more than %d", int(s.options.LongestAnswer.Seconds())))
		}
	})
}

func (s *scan) gpuPodsSpread() {
	for _, w := range s.workloads {
		if w.gpus() == 0 || w.daemon {
			continue
		}
		for _, c := range w.pod.TopologySpreadConstraints {
			if c.TopologyKey == corev1.LabelHostname {
				s.report(w.Object, "its pods are spread over hosts: GPUs are left over on many nodes where a pod with several GPUs fits on none, and no node becomes empty",
					"spread over zones (topology.kubernetes.io/zone), and pack hosts with the scheduler's MostAllocated scoring")
			}
		}
	}
	if len(s.gpuPools()) == 0 && !slices.ContainsFunc(s.workloads, (*workload).wantsGPU) {
		return // a scheduler without GPUs may spread
	}
	s.each("KubeSchedulerConfiguration", func(o *Object) {
		profiles, _ := at(o.Fields, "profiles").([]any)
		for _, profile := range profiles {
			if !packsGPUs(profile) {
				s.report(o, fmt.Sprintf("profile %s does not score by allocated GPUs: it spreads pods over nodes", textAt(profile, "schedulerName")),
					"set NodeResourcesFitArgs.scoringStrategy to MostAllocated with a weight for "+gpuResource)
			}
		}
	})
}

func packsGPUs(profile any) bool {
	configs, _ := at(profile, "pluginConfig").([]any)
	for _, c := range configs {
		strategy := at(c, "args", "scoringStrategy")
		if textAt(c, "name") != "NodeResourcesFit" || textAt(strategy, "type") == "LeastAllocated" {
			continue
		}
		resources, _ := at(strategy, "resources").([]any)
		for _, r := range resources {
			if isAccelerator(textAt(r, "name")) && textAt(strategy, "type") != "" {
				return true
			}
		}
	}
	return false
}
