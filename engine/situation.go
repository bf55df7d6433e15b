package engine

import (
	"sync"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// Situation is everything that one recorded decision depended on: of a choice of a node group all but the
// configuration, of a replica target all. Given to [expander.Select] with the same policy, or to [scaler.Evaluate], it
// gives the same decision; with another policy it answers "what if".
type Situation struct {
	At time.Time `json:"at"`
	// Request, View and History are those of a choice of a node group.
	Request expander.Request `json:"request,omitzero"`
	View    expander.View    `json:"view,omitzero"`
	History expander.History `json:"history,omitzero"`
	// Target is what a replica target depended on; nil for a choice.
	Target *Evaluation `json:"target,omitempty"`
}

const (
	// keptSituations is how many decisions of each half can be replayed, and keptBytes about what they take together: a request of a
	// large cluster takes the place of many small ones, and one that is larger than that is not kept.
	keptSituations = 256
	keptBytes      = 64 << 20
)

// situations are the newest ones by the id of their decision. The parts are immutable.
type situations struct {
	mu   sync.Mutex
	ids  []string
	byID map[string]Situation
	size int
}

// sizeOf is about the bytes that only this situation holds; the view of the cluster is shared with others.
func sizeOf(s *Situation) int {
	size := 0
	for i := range s.Request.Pods {
		size += podSize(&s.Request.Pods[i])
	}
	for i := range s.Request.Options {
		size += 3*partSize + len(s.Request.Options[i].GroupID) + 8*len(s.Request.Options[i].Pods)
	}
	for i := range s.Request.Groups {
		g := &s.Request.Groups[i]
		size += 4*partSize + len(g.ID) + textSize(g.Labels) + 2*partSize*(len(g.Taints)+len(g.Capacity.Extended)+len(g.Allocatable.Extended))
	}
	if s.Target != nil {
		size += s.Target.size()
	}
	h := &s.History
	return size + 3*partSize*(len(h.Pods)+len(h.Choices)+len(h.Workloads)) + 8*partSize*len(h.Groups)
}

// partSize is about what a toleration, a term or a pair of strings takes without its text.
const partSize = 64

// podSize is about the bytes of a pod.
func podSize(p *expander.Pod) int {
	size := 6*partSize + len(p.UID) + len(p.Namespace) + len(p.Name) + len(p.OwnerUID) + textSize(p.Labels) + textSize(p.Annotations) + textSize(p.NodeSelector) +
		partSize*(len(p.Tolerations)+len(p.Required)+len(p.Preferred)+len(p.Requests.Extended))
	for _, t := range p.Tolerations {
		size += len(t.Key) + len(t.Value)
	}
	for _, t := range p.Required {
		size += termSize(t)
	}
	for _, t := range p.Preferred {
		size += termSize(t.Term)
	}
	return size
}

func termSize(t expander.Term) int {
	size := 0
	for _, r := range t.Requirements {
		size += partSize + len(r.Key)
		for _, v := range r.Values {
			size += partSize + len(v)
		}
	}
	return size
}

func textSize(texts map[string]string) int {
	size := 0
	for k, v := range texts {
		size += len(k) + len(v)
	}
	return size + partSize*len(texts)
}

func (k *situations) add(id string, s Situation) {
	size := sizeOf(&s)
	if size > keptBytes {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil {
		k.byID = map[string]Situation{}
	}
	k.ids = append(k.ids, id)
	k.byID[id] = s
	k.size += size
	for len(k.ids) > keptSituations || k.size > keptBytes {
		old := k.byID[k.ids[0]]
		k.size -= sizeOf(&old)
		delete(k.byID, k.ids[0])
		k.ids = k.ids[1:]
	}
}

func (k *situations) get(id string) (Situation, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.byID[id]
	return s, ok
}

// Situation returns what a recorded decision depended on, by the id of its record. Of each half only the newest ones are
// kept, and none that is larger than 64 MiB.
func (e *Engine) Situation(id string) (Situation, bool) {
	if s, ok := e.situations.get(id); ok {
		return s, true
	}
	return e.evaluations.get(id)
}
