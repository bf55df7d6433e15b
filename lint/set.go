package lint

import (
	"cmp"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// Set is a set of objects with what connects them.
type Set struct {
	objects       []*Object
	workloads     []*workload
	scaledObjects []*scaledObject
	hpas          []*podAutoscaler
	pools         []*pool
	nodes         []*Object
}

// NewSet connects objects. Their order does not matter.
func NewSet(objects []*Object) *Set {
	s := &Set{objects: slices.Clone(objects)}
	slices.SortStableFunc(s.objects, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, o := range s.objects {
		s.workloads = append(s.workloads, workloadsOf(o)...)
		s.pools = append(s.pools, poolsOf(o)...)
		switch o.Kind {
		case "ScaledObject":
			if d, ok := decode[scaledObject](o.Fields); ok {
				d.Object = o
				s.scaledObjects = append(s.scaledObjects, &d)
			}
		case "HorizontalPodAutoscaler":
			if d, ok := decode[autoscalingv2.HorizontalPodAutoscaler](o.Fields); ok && !ownedByKEDA(o) {
				s.hpas = append(s.hpas, &podAutoscaler{o, d.Spec})
			}
		case "Node":
			s.nodes = append(s.nodes, o)
		}
	}
	s.connect()
	return s
}

// connect gives every workload its limits.
func (s *Set) connect() {
	for _, so := range s.scaledObjects {
		for _, w := range s.targets(so.Namespace, so.target()) {
			w.scaledBy = append(w.scaledBy, so.Object)
			w.smallest, w.largest = so.smallest(), so.largest()
		}
	}
	for _, h := range s.hpas {
		for _, w := range s.targets(h.Namespace, targetRef{h.spec.ScaleTargetRef.Kind, h.spec.ScaleTargetRef.Name}) {
			w.scaledBy = append(w.scaledBy, h.Object)
			w.smallest, w.largest = 1, int(h.spec.MaxReplicas)
			if h.spec.MinReplicas != nil {
				w.smallest = int(*h.spec.MinReplicas)
			}
		}
	}
	for _, w := range s.workloads {
		if len(w.scaledBy) > 0 || w.daemon || w.batch || w.smallest >= 0 {
			continue
		}
		w.smallest, w.largest = 1, 1
		if w.replicas >= 0 {
			w.smallest, w.largest = w.replicas, w.replicas
		}
	}
}

// targets finds the workloads of a reference. KServe names the Deployment of a service NAME-predictor.
func (s *Set) targets(namespace string, ref targetRef) (found []*workload) {
	for _, w := range s.workloads {
		if w.Namespace != namespace {
			continue
		}
		name := w.Name
		kind := w.Kind
		if kind == "InferenceService" {
			name, kind = name+"-predictor", "Deployment"
		}
		if name == ref.Name && kind == ref.Kind {
			found = append(found, w)
		}
	}
	return found
}

// each calls yield for every object of a kind.
func (s *Set) each(kind string, yield func(*Object)) {
	for _, o := range s.objects {
		if o.Kind == kind {
			yield(o)
		}
	}
}
