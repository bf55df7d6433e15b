package demo

import (
	"sync"

	"github.com/warmpool/warmpool/link"
)

// deletionCosts are the annotations that the engine has written on pods of the virtual cluster.
type deletionCosts struct {
	mu    sync.Mutex
	byUID map[string]int32
}

// WriteCosts implements engine.CostWriter; the API server of the virtual cluster takes no time.
func (w *world) WriteCosts(_ string, changes []link.CostChange) {
	w.costs.mu.Lock()
	defer w.costs.mu.Unlock()
	if w.costs.byUID == nil {
		w.costs.byUID = map[string]int32{}
	}
	for _, c := range changes {
		w.costs.byUID[c.ID] = c.Cost
	}
}

// of is the cost by which a pod is deleted, 0 without one.
func (d *deletionCosts) of(uid string) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byUID[uid]
}

// carried is the annotation of a pod, nil without one.
func (d *deletionCosts) carried(uid string) *int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if cost, ok := d.byUID[uid]; ok {
		return &cost
	}
	return nil
}
