package cluster

import (
	"time"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
)

// ReplicasOf returns the replicas of the target of a scaled object with the nodes under them, and one of its pods as a
// policy matches workloads by it. A group of pods is one replica, where its leader runs; it was given notice when any of
// its nodes was. It is false while pods or nodes cannot be read, and when the view is too old to act on.
func (c *Cluster) ReplicasOf(namespace, name string, now time.Time) (link.Target, *expander.Pod, bool) {
	s, ok := at[*scaledObject](c.scaledObjects, namespace+"/"+name)
	if !ok || !c.pods.readable() || !c.nodes.readable() {
		return link.Target{}, nil, false
	}
	if as, lost := c.asOf(now); lost && now.Sub(as) > staleAfter {
		return link.Target{}, nil, false
	}
	units := c.units(s.target)
	t := link.Target{Namespace: namespace, Replicas: make([]link.Replica, 0, len(units))}
	placed := c.current.Load().placed
	var example *expander.Pod
	for i := range units {
		u := &units[i]
		first := u.pods[0]
		if example == nil && first.wantsAccelerator() {
			example = decodeShape(first.shape.Value())
		}
		t.Owner, t.Accelerators = first.owner.kind, int(first.accelerators)
		if first.group != "" {
			t.Owner, t.Accelerators = "LeaderWorkerSet", 0
		}
		r := link.Replica{ID: string(first.UID), Name: first.Name, Ready: u.ready(), Created: u.created(), Cost: first.cost, OddCost: first.oddCost}
		for _, p := range u.pods {
			n, ok := at[*node](c.nodes, p.node)
			if p.node == "" || !ok {
				continue
			}
			if doomed := c.notices.of(n, now); !doomed.IsZero() && (r.Doomed.IsZero() || doomed.Before(r.Doomed)) {
				r.Doomed = doomed
			}
			if p == first {
				r.Node = p.node
				if where := placed[n.labels]; where != nil {
					r.Pool, r.Capacity = where.group, link.Capacity(where.capacity)
				}
			}
		}
		if first.node != "" && r.Node == "" {
			r.Node = first.node // the node is gone or not read yet; the pod has had one
		}
		t.Replicas = append(t.Replicas, r)
	}
	return t, example, true
}

// StartsOf returns the recorded starts of the target of a scaled object as a lead is learnt from them, oldest first:
// those that Pods returns the times of.
func (c *Cluster) StartsOf(namespace, name string) []link.Start {
	s, ok := at[*scaledObject](c.scaledObjects, namespace+"/"+name)
	if !ok {
		return nil
	}
	telling := c.starts.telling(s.target)
	out := make([]link.Start, len(telling))
	for i := range telling {
		out[i] = link.Start{Took: telling[i].Took, Cold: telling[i].Cold}
	}
	return out
}

// Accelerators counts by group the accelerators that its nodes advertise, and those of them that pods hold. It is false
// while nodes or pods cannot be read.
func (c *Cluster) Accelerators() (offered, held map[string]int, ok bool) {
	if !c.nodes.readable() || !c.pods.readable() {
		return nil, nil, false
	}
	offered, held = map[string]int{}, map[string]int{}
	for id, a := range c.current.Load().accelerators {
		offered[id], held[id] = int(a.offered), int(a.held)
	}
	return offered, held, true
}

// FreeAccelerators counts by group the accelerators of its nodes that no pod holds. It is false while nodes or pods
// cannot be read.
func (c *Cluster) FreeAccelerators() (map[string]int, bool) {
	if !c.nodes.readable() || !c.pods.readable() {
		return nil, false
	}
	free := map[string]int{}
	for id, a := range c.current.Load().accelerators {
		free[id] = int(max(0, a.offered-a.held))
	}
	return free, true
}
