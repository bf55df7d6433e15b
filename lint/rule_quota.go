package lint

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func (s *scan) quotaBelowReplicas() {
	s.each("ResourceQuota", func(o *Object) {
		quota, ok := decode[corev1.ResourceQuota](o.Fields)
		if !ok {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
			resource := name
			if text := string(name); len(text) > 9 && text[:9] == "requests." {
				resource = corev1.ResourceName(text[9:])
			}
			if !isAccelerator(string(resource)) {
				continue
			}
			hard := quota.Spec.Hard[name]
			smallest, largest := s.demand(o.Namespace, resource)
			fix := fmt.Sprintf("raise the quota to at least %d, or lower the replica counts", largest)
			switch {
			case smallest > hard.Value():
				s.report(o, fmt.Sprintf("the smallest replica counts need %d %s, the quota is %d: the last pods are refused, and no autoscaler sees them", smallest, resource, hard.Value()), fix)
			case largest > hard.Value():
				s.reportAs(Warning, o, fmt.Sprintf("the largest replica counts need %d %s together, the quota is %d: beyond it pods are refused, and no autoscaler sees them", largest, resource, hard.Value()), fix)
			}
		}
	})
}

// demand is how many of a resource the workloads of a namespace need at their smallest and largest counts.
func (s *Set) demand(namespace string, resource corev1.ResourceName) (smallest, largest int64) {
	for _, w := range s.workloads {
		if w.Namespace != namespace || w.daemon || w.batch {
			continue
		}
		each := int64(0)
		for i := range w.pod.Containers {
			r := w.pod.Containers[i].Resources
			request, limit := r.Requests[resource], r.Limits[resource]
			each += max(request.Value(), limit.Value())
		}
		smallest += each * int64(w.perReplica*max(w.smallest, 0))
		largest += each * int64(w.perReplica*max(w.largest, 0))
	}
	return smallest, largest
}

func (s *scan) limitRangeBelowPod() {
	s.each("LimitRange", func(o *Object) {
		limits, ok := decode[corev1.LimitRange](o.Fields)
		if !ok {
			return
		}
		for _, item := range limits.Spec.Limits {
			if item.Type != corev1.LimitTypeContainer && item.Type != corev1.LimitTypePod {
				continue
			}
			for name, most := range item.Max {
				if !isAccelerator(string(name)) {
					continue
				}
				for _, w := range s.workloads {
					if asked := w.asks(name, item.Type); w.Namespace == o.Namespace && asked > most.Value() {
						s.report(w.Object, fmt.Sprintf("it asks for %d %s for each %s, %s allows %d: its pods are refused", asked, name, item.Type, o, most.Value()),
							"raise the LimitRange, or ask for fewer")
					}
				}
			}
		}
	})
}

// asks is how many of a resource the largest container, or the whole pod, asks for.
func (w *workload) asks(name corev1.ResourceName, of corev1.LimitType) int64 {
	var sum, largest int64
	for i := range w.pod.Containers {
		r := w.pod.Containers[i].Resources
		request, limit := r.Requests[name], r.Limits[name]
		n := max(request.Value(), limit.Value())
		sum, largest = sum+n, max(largest, n)
	}
	if of == corev1.LimitTypePod {
		return sum
	}
	return largest
}
