package cluster

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/warmpool/warmpool/link"
)

// noticeRecords keep when notice was first seen of a node: most taints carry no time.
type noticeRecords struct {
	mu sync.Mutex
	by map[types.UID]link.Notice
	// told are the notices of events, by the name of the node.
	told map[string]link.Notice
	// news has an entry when there is a notice that nobody was told of.
	news chan struct{}
}

func (r *noticeRecords) init() {
	r.by, r.told, r.news = map[types.UID]link.Notice{}, map[string]link.Notice{}, make(chan struct{}, 1)
}

// note keeps the earliest notice of a node. One that is withdrawn is forgotten.
func (r *noticeRecords) note(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !n.noticed {
		delete(r.by, n.UID)
		return
	}
	if known, ok := r.by[n.UID]; ok && !n.notice.At.Before(known.At) {
		return
	}
	r.by[n.UID] = n.notice
	r.tell()
}

// tell wakes whoever waits for notices.
func (r *noticeRecords) tell() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func (r *noticeRecords) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.by, uid)
}

// of is when notice was first given to a node; zero without one.
func (r *noticeRecords) of(n *node, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, told := r.by[n.UID].At, r.toldOf(n, now)
	if at.IsZero() || (!told.IsZero() && told.Before(at)) {
		return told
	}
	return at
}

func (c *Cluster) watchNotices() error {
	_, err := c.nodes.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.notices.note(o.(*node)) },
		UpdateFunc: func(_, o any) { c.notices.note(o.(*node)) },
		DeleteFunc: func(o any) {
			if n, ok := tombstone[*node](o); ok {
				c.notices.forget(n.UID)
			}
		},
	})
	return err
}

// Noticed returns a channel that has an entry after a node was given notice.
func (c *Cluster) Noticed() <-chan struct{} { return c.notices.news }

// marksOf are the taints of a node and its conditions that are true.
func marksOf(n *corev1.Node) []link.Mark {
	var marks []link.Mark
	for _, t := range n.Spec.Taints {
		m := link.Mark{Kind: link.Taint, Name: t.Key, Value: t.Value}
		if t.TimeAdded != nil {
			m.At = t.TimeAdded.Time
		}
		marks = append(marks, m)
	}
	for _, condition := range n.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && condition.Type != corev1.NodeReady {
			marks = append(marks, link.Mark{
				Kind: link.Condition, Name: string(condition.Type), Value: condition.Message, At: condition.LastTransitionTime.Time,
			})
		}
	}
	return marks
}
