package cluster

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/warmpool/warmpool/link"
)

// mostCosts bounds the writes that wait; the planner comes back with what was left out.
const mostCosts = 256

// costWriter writes deletion costs one after the other.
type costWriter struct {
	queue chan costWrite
	mu    sync.Mutex
	// pending are the pods whose write waits, with the cost that it is.
	pending map[types.UID]int32
	// problem is the last error, told once.
	problem         string
	written, failed int
}

type costWrite struct {
	namespace string
	link.CostChange
}

func (w *costWriter) init() {
	w.queue, w.pending = make(chan costWrite, mostCosts), map[types.UID]int32{}
}

// WriteCosts has deletion costs written on pods, without waiting for it. What is being written already is left out, and
// so is what finds no room.
func (c *Cluster) WriteCosts(namespace string, changes []link.CostChange) {
	if !c.options.WriteCosts {
		return
	}
	w := &c.costs
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, change := range changes {
		if cost, ok := w.pending[types.UID(change.ID)]; ok && cost == change.Cost {
			continue
		}
		select {
		case w.queue <- costWrite{namespace, change}:
			w.pending[types.UID(change.ID)] = change.Cost
		default:
			return
		}
	}
}

// writeCosts writes what is asked for until ctx ends.
func (c *Cluster) writeCosts(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case one := <-c.costs.queue:
			err := c.writeCost(ctx, one)
			c.costs.done(one, err)
			if err != nil && ctx.Err() == nil {
				c.tellCost(err)
			}
		}
	}
}

// writeCost patches the annotation of one pod, and of no other pod by the same name: the UID must be the one that was
// seen.
func (c *Cluster) writeCost(ctx context.Context, one costWrite) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:"%d"}}}`, one.ID, link.CostAnnotation, one.Cost)
	_, err := c.options.Clients.Kubernetes.CoreV1().Pods(one.namespace).Patch(ctx, one.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err): // the pod is gone, or another one by now
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("write the deletion cost of pod %s/%s: %w; grant the patch of pods, or set spot.onDemandFirstScaleIn to false", one.namespace, one.Name, err)
	default:
		return fmt.Errorf("write the deletion cost of pod %s/%s: %w", one.namespace, one.Name, err)
	}
}

func (w *costWriter) done(one costWrite, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pending, types.UID(one.ID))
	if err != nil {
		w.failed++
		return
	}
	w.written++
	w.problem = ""
}

// tellCost logs a problem once.
func (c *Cluster) tellCost(err error) {
	c.costs.mu.Lock()
	first := c.costs.problem == ""
	c.costs.problem = err.Error()
	c.costs.mu.Unlock()
	if first {
		c.log.Warn("deletion costs cannot be written; fall-back nodes do not empty first", "error", err)
	}
}

// CostWrites counts the deletion costs that were written and those that could not be.
func (c *Cluster) CostWrites() (written, failed int) {
	c.costs.mu.Lock()
	defer c.costs.mu.Unlock()
	return c.costs.written, c.costs.failed
}
