package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/expander"
)

// Stall is a reason why pods wait for a GPU and nothing happens.
type Stall string

// The reasons, the most certain first.
const (
	// StallUpcoming: the Cluster Autoscaler waits for nodes of a failed scale-up that will not come.
	StallUpcoming Stall = "upcoming-nodes"
	// StallNoOption: the Cluster Autoscaler is at work and finds no node group that could grow for the pods.
	StallNoOption Stall = "no-option"
	// StallSilent: the Cluster Autoscaler does not write its status any more.
	StallSilent Stall = "autoscaler-silent"
	// StallNoCall: the Cluster Autoscaler is at work and does not call: a certificate it does not trust, an address
	// that leads nowhere, or a flag that is missing.
	StallNoCall Stall = "no-call"
)

var allStalls = []Stall{StallUpcoming, StallNoOption, StallSilent, StallNoCall}

const (
	// watchEvery is how often the stall watch looks.
	watchEvery = 10 * time.Second
	// provisionTime is the Cluster Autoscaler's default wait for a node: so long, silence is no stall.
	provisionTime = 15 * time.Minute
	// eventEvery is how often the same workload gets an event about the same reason, and mostEvents how many
	// workloads get one in a round.
	eventEvery = 10 * time.Minute
	mostEvents = 20
)

// Finding is the outcome of one look of the stall watch.
type Finding struct {
	// Stall is empty when nothing is wrong.
	Stall Stall
	Since time.Time
	// Pods is how many pods wait, PendingSince since when the oldest does.
	Pods         int
	PendingSince time.Time
	// LastCall is the newest request that any instance answered; zero if none is known.
	LastCall time.Time
	Text     string
}

type stallWatch struct {
	mu   sync.Mutex
	last Finding
	told map[string]time.Time
	// refused is set once events may not be written.
	refused bool
}

func (w *stallWatch) init() { w.told = map[string]time.Time{} }

// Stalls returns what the stall watch found last.
func (c *Cluster) Stalls() Finding {
	c.stalls.mu.Lock()
	defer c.stalls.mu.Unlock()
	return c.stalls.last
}

// watchStalls looks once, and tells the owners of the pods.
func (c *Cluster) watchStalls(ctx context.Context, now time.Time) {
	if !c.options.WatchStalls || !c.pods.readable() {
		return
	}
	found, affected := c.look(now)
	c.stalls.mu.Lock()
	before := c.stalls.last
	c.stalls.last = found
	c.stalls.mu.Unlock()
	if found.Stall != before.Stall && found.Stall != "" {
		c.log.Warn("pods wait for a GPU and nothing happens", "reason", string(found.Stall), "pods", found.Pods, "text", found.Text)
	}
	if found.Stall != "" {
		c.tellOwners(ctx, found, affected, now)
	}
}

// look judges the silence. Pods count from the configured wait on; the affected ones are returned.
func (c *Cluster) look(now time.Time) (Finding, []*pod) {
	s := c.current.Load()
	after := c.options.StallAfter
	f := Finding{LastCall: c.lastCall(), Pods: len(s.pending)}
	var waiting, unasked []*pod
	for _, p := range s.pending {
		since := fromUnix(p.unschedulableSince)
		if f.PendingSince.IsZero() || since.Before(f.PendingSince) {
			f.PendingSince = since
		}
		if now.Sub(since) < after {
			continue
		}
		waiting = append(waiting, p)
		if c.lastAsked(string(p.UID)).Before(since) {
			unasked = append(unasked, p)
		}
	}
	if len(waiting) == 0 {
		return f, nil
	}
	calls := expander.Calls{Last: f.LastCall, PendingSince: f.PendingSince}
	if stall := expander.DetectStall(s.view.Groups, calls, after, now); stall.Stalled {
		f.Stall, f.Since = StallUpcoming, stall.Since
		f.Text = fmt.Sprintf("the Cluster Autoscaler counts on nodes that will not come (%s); releases before 1.36 wait for ever: restart it or lower the target by hand", phantoms(stall.PhantomNodes))
		return f, waiting
	}
	f.Since = later(f.PendingSince, f.LastCall)
	if now.Sub(f.LastCall) < after {
		if len(unasked) == 0 {
			return f, nil
		}
		f.Stall, f.Since = StallNoOption, fromUnix(unasked[0].unschedulableSince)
		f.Text = "the Cluster Autoscaler asks for other pods, and for these no node group can grow: check their requests, tolerations and affinity against the node groups, and the groups' maximum sizes"
		return f, unasked
	}
	return c.silence(s, f, waiting, now)
}

// silence tells why no request comes.
func (c *Cluster) silence(s *snapshot, f Finding, waiting []*pod, now time.Time) (Finding, []*pod) {
	switch {
	case c.growing(s, now):
		return f, nil // it waits for nodes that are on their way
	case len(s.status) > 0 && !s.statusFresh(now):
		f.Stall = StallSilent
		f.Text = fmt.Sprintf("the Cluster Autoscaler has not written its status since %s: it is not running", s.statusAt.UTC().Format(time.RFC3339))
	case s.statusFresh(now) && exhausted(s):
		f.Stall = StallNoOption
		f.Text = "every node group with GPUs is at its maximum, in backoff or unhealthy: raise a maximum, or add a group"
	default:
		f.Stall = StallNoCall
		f.Text = "the Cluster Autoscaler does not ask warmpool: check --expander=grpc, --grpc-expander-url, and that --grpc-expander-cert is the authority of warmpool's certificate"
	}
	return f, waiting
}

// growing tells whether nodes are on their way and not overdue: by the status, else by the last known choice.
func (c *Cluster) growing(s *snapshot, now time.Time) bool {
	chosen := c.lastChoice()
	if now.Sub(chosen) >= provisionTime {
		return false
	}
	if !s.statusFresh(now) {
		return true
	}
	return slices.ContainsFunc(s.status, func(g GroupStatus) bool {
		return g.Backoff == nil && (g.Growing || g.NotStarted > 0 || (g.Registered >= 0 && g.Target > g.Registered))
	})
}

// exhausted tells whether no group with accelerators can grow; with none known to have any, whether no group can.
func exhausted(s *snapshot) bool {
	found := false
	for _, onlyAccelerated := range []bool{true, false} {
		for i := range s.status {
			g := &s.status[i]
			if _, ok := s.accelerators[g.Name]; onlyAccelerated && !ok {
				continue
			}
			found = true
			if g.Backoff == nil && g.Healthy && (g.Max < 0 || g.Target < 0 || g.Target < g.Max) {
				return false
			}
		}
		if found {
			break
		}
	}
	return found
}

func phantoms(nodes map[string]int) string {
	var parts []string
	for id, n := range nodes {
		parts = append(parts, fmt.Sprintf("%d of %s", n, id))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// lastCall is the newest request that is known of, of all instances.
func (c *Cluster) lastCall() time.Time {
	_, own := c.demand.asked("")
	return later(own, c.options.History.lastCall())
}

func (c *Cluster) lastAsked(uid string) time.Time {
	own, _ := c.demand.asked(uid)
	return later(own, c.options.History.lastAsked(uid))
}

// lastChoice is when a group was last chosen; without a shared history the last request stands for it.
func (c *Cluster) lastChoice() time.Time {
	if c.options.History == nil {
		return c.lastCall()
	}
	_, own := c.demand.asked("")
	return later(own, c.options.History.lastChoice())
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tellOwners writes one event for each workload whose pods wait, seldom. Its name is the same on every instance, so
// that several of them write it once.
func (c *Cluster) tellOwners(ctx context.Context, f Finding, pods []*pod, now time.Time) {
	w := &c.stalls
	w.mu.Lock()
	refused := w.refused
	for key, at := range w.told {
		if now.Sub(at) >= eventEvery {
			delete(w.told, key)
		}
	}
	w.mu.Unlock()
	if refused {
		return
	}
	written := 0
	for _, p := range pods {
		about := p.reference()
		key := string(about.UID) + string(f.Stall)
		w.mu.Lock()
		_, done := w.told[key]
		if !done && written < mostEvents {
			w.told[key] = now
		}
		w.mu.Unlock()
		if done || written >= mostEvents {
			continue
		}
		written++
		if err := c.writeEvent(ctx, about, f, now); err != nil {
			c.log.Info("an event about waiting pods cannot be written", "about", about.Kind+" "+about.Namespace+"/"+about.Name, "error", err)
			w.mu.Lock()
			w.refused = apierrors.IsForbidden(err)
			w.mu.Unlock()
			return
		}
	}
}

// reference is the workload of a pod, or the pod itself where nothing owns it.
func (p *pod) reference() corev1.ObjectReference {
	if p.owner.uid == "" {
		return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	}
	return corev1.ObjectReference{APIVersion: p.owner.apiVersion, Kind: p.owner.kind, Namespace: p.Namespace, Name: p.owner.name, UID: p.owner.uid}
}

func (c *Cluster) writeEvent(ctx context.Context, about corev1.ObjectReference, f Finding, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	window := now.Unix() / int64(eventEvery.Seconds())
	stamp := metav1.NewTime(now)
	_, err := c.options.Clients.Kubernetes.CoreV1().Events(about.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("warmpool.%s.%s.%d", about.UID, f.Stall, window), Namespace: about.Namespace},
		InvolvedObject: about, Reason: "ScaleUpStalled", Type: corev1.EventTypeWarning, Count: 1,
		Message:        fmt.Sprintf("%d pods wait for a GPU, the first since %s: %s.", f.Pods, f.PendingSince.UTC().Format(time.RFC3339), f.Text),
		FirstTimestamp: stamp, LastTimestamp: stamp, Source: corev1.EventSource{Component: "warmpool"},
		ReportingController: "warmpool.dev/stall-watch",
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
