package cluster

import (
	"slices"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

// unit is one replica of a scale target: a pod, or the pods of a LeaderWorkerSet group.
type unit struct {
	pods []*pod
}

// ready tells whether every pod of the unit is there and ready.
func (u *unit) ready() bool {
	want := 1
	for _, p := range u.pods {
		if !p.ready {
			return false
		}
		want = max(want, int(p.size))
	}
	return len(u.pods) >= want
}

// created is when its first pod was.
func (u *unit) created() time.Time {
	var first time.Time
	for _, p := range u.pods {
		if at := p.CreationTimestamp.Time; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// readySince is since when all its pods are ready.
func (u *unit) readySince() time.Time {
	var last int64
	for _, p := range u.pods {
		last = max(last, p.readySince)
	}
	return fromUnix(last)
}

// waitingSince is when it began to start: at its creation, or when one that was ready stopped being so.
func (u *unit) waitingSince(started func(*pod) bool) time.Time {
	since := u.created()
	for _, p := range u.pods {
		if !p.ready && started(p) && fromUnix(p.readySince).After(since) {
			since = fromUnix(p.readySince)
		}
	}
	return since
}

func fromUnix(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// units puts the pods of a target together. Pods on their way out are no replicas any more.
func (c *Cluster) units(target string) []unit {
	objects, err := c.pods.informer.GetIndexer().ByIndex(byTarget, target)
	if err != nil {
		return nil
	}
	grouped := map[string]int{}
	units := make([]unit, 0, len(objects))
	for _, o := range objects {
		p := o.(*pod)
		if p.leaving || p.ended {
			continue
		}
		if p.group == "" {
			units = append(units, unit{[]*pod{p}})
			continue
		}
		i, ok := grouped[p.group]
		if !ok {
			i = len(units)
			grouped[p.group] = i
			units = append(units, unit{})
		}
		units[i].pods = append(units[i].pods, p)
	}
	return units
}

// Pods returns the replicas of the target of a scaled object, counted in scale units. It is not known before pods and
// scaled objects have been read, for kinds of targets whose pods cannot be told, and when the view is too old. While
// the connection is lost, ages stand still.
func (c *Cluster) Pods(namespace, name string) scaler.Pods {
	s, ok := at[*scaledObject](c.scaledObjects, namespace+"/"+name)
	if !ok || !c.pods.readable() {
		return scaler.Pods{}
	}
	now := time.Now()
	if lost := c.pods.lost(); !lost.IsZero() {
		if now.Sub(lost) > staleAfter {
			return scaler.Pods{}
		}
		now = lost
	}
	units := c.units(s.target)
	if len(units) == 0 && !c.knowsKind(s.target) {
		return scaler.Pods{}
	}
	out := scaler.Pods{Known: true, StartTimes: c.starts.times(s.target)}
	for i := range units {
		u := &units[i]
		if !u.ready() {
			out.Starting = append(out.Starting, max(0, now.Sub(u.waitingSince(c.starts.wasReady))))
			continue
		}
		out.Ready++
		if since := u.readySince(); since.After(out.BecameReady) {
			out.BecameReady = since
		}
	}
	slices.Sort(out.Starting)
	return out
}

// knownKinds are the scale targets whose pods can be told from all others even when there are none.
var knownKinds = []string{"Deployment/", "StatefulSet/", "ReplicaSet/", "Rollout/", "LeaderWorkerSet/", "InferenceService/", "LLMInferenceService/", "RayCluster/"}

// knowsKind also learns from autoscalers: one that counts zero replicas is right about no pods.
func (c *Cluster) knowsKind(target string) bool {
	for _, kind := range knownKinds {
		if len(target) > len(kind) && target[:len(kind)] == kind {
			return true
		}
	}
	return false
}
