package cluster

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/warmpool/warmpool/expander"
)

// Start is one recorded start of a scale unit.
type Start struct {
	At time.Time
	// Took is the time from its creation until it was ready.
	Took time.Duration
	// Scheduled, Started are the parts of it until it had a node and until its containers ran; 0 is unknown.
	Scheduled, Started time.Duration
	// GPU is the model of the GPU, the instance type where no label tells, else empty.
	GPU string
	// Cold starts had to wait for a node that was made for them: it is younger than the pod.
	Cold bool
	// Guessed starts were over before this program looked: a pod that was ready twice seems slower than it was.
	Guessed bool
}

const (
	// keptStarts and startMemory bound what is kept by target and GPU model.
	keptStarts  = 200
	startMemory = 7 * 24 * time.Hour
	// enoughStarts is from how many starts on those of one GPU model stand for themselves, and guesses are left out.
	enoughStarts = 5
	// longestStart is what a start may take; more is a pod that waited for a quota or a person.
	longestStart = 6 * time.Hour
	maxTargets   = 20_000
)

// startRecords are the starts by scale target.
type startRecords struct {
	mu sync.Mutex
	by map[string][]Start
	// once are the pods that were ready before, whatever they are now.
	once map[types.UID]bool
}

func (r *startRecords) init() { r.by, r.once = map[string][]Start{}, map[types.UID]bool{} }

func (r *startRecords) wasReady(p *pod) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.once[p.UID]
}

// noteReady returns whether a pod is ready for the first time.
func (r *startRecords) noteReady(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.once[uid]
	r.once[uid] = true
	return first
}

func (r *startRecords) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.once, uid)
}

func (r *startRecords) add(target string, s Start) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.by[target]; !ok && len(r.by) >= maxTargets {
		return
	}
	kept := slices.DeleteFunc(r.by[target], func(old Start) bool { return s.At.Sub(old.At) > startMemory })
	kept = append(kept, s)
	slices.SortStableFunc(kept, func(a, b Start) int { return a.At.Compare(b.At) })
	r.by[target] = kept[max(0, len(kept)-keptStarts):]
}

func (r *startRecords) of(target string) []Start {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.by[target])
}

// times are how long the telling starts took.
func (r *startRecords) times(target string) []time.Duration {
	all := r.telling(target)
	if len(all) == 0 {
		return nil
	}
	out := make([]time.Duration, len(all))
	for i := range all {
		out[i] = all[i].Took
	}
	return out
}

// telling are the starts that tell how long the next one takes, oldest first: on the GPU model of the newest one where
// there are enough, seen rather than guessed where there are enough. Warm and cold ones both count: the next start
// does not know yet which it will be.
func (r *startRecords) telling(target string) []Start {
	all := r.of(target)
	if len(all) == 0 {
		return nil
	}
	model := all[len(all)-1].GPU
	for _, keep := range []func(Start) bool{
		func(s Start) bool { return s.GPU == model },
		func(s Start) bool { return !s.Guessed },
	} {
		var some []Start
		for _, s := range all {
			if keep(s) {
				some = append(some, s)
			}
		}
		if len(some) >= enoughStarts {
			all = some
		}
	}
	return all
}

// Starts returns the recorded starts of the target of a scaled object, oldest first.
func (c *Cluster) Starts(namespace, name string) []Start {
	s, ok := at[*scaledObject](c.scaledObjects, namespace+"/"+name)
	if !ok {
		return nil
	}
	return c.starts.of(s.target)
}

// podChanged records the start of a unit when its last pod gets ready for the first time.
func (c *Cluster) podChanged(before, after *pod) {
	if !after.ready || before.ready || !c.starts.noteReady(after.UID) {
		return
	}
	c.noteStart(after, false)
}

// podAdded takes a pod that is ready already for a start that was over before, unless it was restarted since.
func (c *Cluster) podAdded(p *pod) {
	if p.ready && c.starts.noteReady(p.UID) && p.restarts == 0 {
		c.noteStart(p, true)
	}
}

func (c *Cluster) podGone(gone any) {
	if p, ok := tombstone[*pod](gone); ok {
		c.starts.forget(p.UID)
	}
}

// noteStart records the start of the unit that a pod completes.
func (c *Cluster) noteStart(p *pod, guessed bool) {
	for _, target := range p.targets {
		if target == "" {
			continue
		}
		u := unit{[]*pod{p}}
		if p.group != "" {
			u = c.groupOf(target, p)
			if !u.ready() {
				continue
			}
		}
		created, ready := u.created(), u.readySince()
		took := ready.Sub(created)
		if created.IsZero() || took < 0 || took > longestStart {
			continue
		}
		s := Start{At: ready, Took: took, Guessed: guessed}
		if p.scheduled > 0 {
			s.Scheduled = max(0, fromUnix(p.scheduled).Sub(created))
		}
		if p.started > 0 {
			s.Started = max(0, fromUnix(p.started).Sub(created))
		}
		if n, ok := at[*node](c.nodes, p.node); ok {
			s.GPU = expander.GPUModelOf(decodeLabels(n.labels.Value()))
			s.Cold = n.CreationTimestamp.After(created)
		}
		c.starts.add(target, s)
		if c.metrics != nil && !guessed {
			c.metrics.started(p.Namespace, target, s)
		}
	}
}

// groupOf is the LeaderWorkerSet group of a pod, as the cache has it.
func (c *Cluster) groupOf(target string, p *pod) unit {
	for _, u := range c.units(target) {
		if u.pods[0].group == p.group {
			return u
		}
	}
	return unit{[]*pod{p}}
}
