package engine

import (
	"sync"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// Situation is everything that one choice of a node group depended on but the configuration. Given to
// [expander.Select] with the same policy it gives the same decision; with another policy it answers "what if".
type Situation struct {
	At      time.Time        `json:"at"`
	Request expander.Request `json:"request"`
	View    expander.View    `json:"view"`
	History expander.History `json:"history"`
}

const (
	// keptSituations is how many choices can be replayed, and keptPods how many pods, options and templates they hold
	// together: a request of a large cluster takes the place of many small ones.
	keptSituations = 256
	keptPods       = 20_000
	// podBytes is the text of labels, annotations and the like that a pod or template has for nothing: more of it counts
	// like more pods, because a caller may write megabytes there.
	podBytes = 4 << 10
)

// situations are the newest ones by the id of their decision. The parts are immutable.
type situations struct {
	mu     sync.Mutex
	ids    []string
	byID   map[string]Situation
	weight int
}

func weightOf(s *Situation) int {
	weight := 1 + len(s.Request.Pods) + len(s.Request.Options) + len(s.Request.Groups)
	for i := range s.Request.Pods {
		weight += podSize(&s.Request.Pods[i]) / podBytes
	}
	for i := range s.Request.Groups {
		g := &s.Request.Groups[i]
		weight += (textSize(g.Labels) + partSize*(len(g.Taints)+len(g.Capacity.Extended)+len(g.Allocatable.Extended))) / podBytes
	}
	return weight
}

// partSize is about what a toleration, a term or a pair of strings takes without its text.
const partSize = 64

// podSize is about the bytes of what a pod may have any amount of.
func podSize(p *expander.Pod) int {
	size := textSize(p.Labels) + textSize(p.Annotations) + textSize(p.NodeSelector) +
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
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byID == nil {
		k.byID = map[string]Situation{}
	}
	k.ids = append(k.ids, id)
	k.byID[id] = s
	k.weight += weightOf(&s)
	for len(k.ids) > 1 && (len(k.ids) > keptSituations || k.weight > keptPods) {
		old := k.byID[k.ids[0]]
		k.weight -= weightOf(&old)
		delete(k.byID, k.ids[0])
		k.ids = k.ids[1:]
	}
}

// Situation returns what a recorded choice of a node group depended on, by the id of its record. Only the newest ones
// are kept.
func (e *Engine) Situation(id string) (Situation, bool) {
	e.situations.mu.Lock()
	defer e.situations.mu.Unlock()
	s, ok := e.situations.byID[id]
	return s, ok
}
