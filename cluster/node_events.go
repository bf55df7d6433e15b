package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/warmpool/warmpool/link"
)

// toldFor is how long an event counts: it stays when the machine is gone, and also when the machine stays after all.
const toldFor = 15 * time.Minute

// nodeEvent is what is kept of an event about a node.
type nodeEvent struct {
	metav1.ObjectMeta
	node    string
	notice  link.Notice
	noticed bool
}

// trimNodeEvent keeps of an event what it tells of the end of a node.
func trimNodeEvent(o any) (any, error) {
	full, ok := o.(*corev1.Event)
	if !ok {
		return o, nil
	}
	e := &nodeEvent{ObjectMeta: metav1.ObjectMeta{
		Name: full.Name, Namespace: full.Namespace, UID: full.UID, ResourceVersion: full.ResourceVersion,
	}}
	if full.InvolvedObject.Kind != "Node" {
		return e, nil
	}
	_, last := eventTimes(full)
	e.node = full.InvolvedObject.Name
	e.notice, e.noticed = link.ReadNotices([]link.Mark{{Kind: link.Event, Name: full.Reason, Value: full.Message, At: last}}, time.Now())
	return e, nil
}

// noteEvent keeps the earliest notice that events give of a node by name; the name may be that of a later node, which
// its creation tells.
func (r *noticeRecords) noteEvent(e *nodeEvent, now time.Time) {
	if !e.noticed || now.Sub(e.notice.At) >= toldFor {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, known := range r.told {
		if now.Sub(known.At) >= toldFor {
			delete(r.told, name)
		}
	}
	if _, known := r.told[e.node]; known {
		return
	}
	r.told[e.node] = e.notice
	r.tell()
}

// toldOf is when an event gave notice of a node that it can be about; zero without one.
func (r *noticeRecords) toldOf(n *node, now time.Time) time.Time {
	at := r.told[n.Name].At
	if at.IsZero() || at.Before(n.CreationTimestamp.Time) || now.Sub(at) >= toldFor {
		return time.Time{}
	}
	return at
}

func (c *Cluster) watchNodeEvents() error {
	if c.nodeEvents == nil {
		return nil
	}
	note := func(o any) { c.notices.noteEvent(o.(*nodeEvent), time.Now()) }
	_, err := c.nodeEvents.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, o any) { note(o) },
	})
	return err
}
