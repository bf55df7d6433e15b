package cluster

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/warmpool/warmpool/link"
)

const (
	// reclaimWindow is how far back losses are counted.
	reclaimWindow = 24 * time.Hour
	// leastExposure is from how many node hours on a rate is told: with less, one loss says little.
	leastExposure = 1.0
)

// reclaimRecords count spot nodes that the provider took back, and the hours that spot nodes ran.
type reclaimRecords struct {
	mu sync.Mutex
	by map[string]*reclaimRecord
	// noticed are the nodes that were counted at their notice.
	noticed map[types.UID]time.Time
	last    time.Time
}

// reclaimRecord is that of one group, by hour.
type reclaimRecord struct {
	hours []exposure
	// lately are the times of the losses within link.LossWindow, oldest first.
	lately []time.Time
}

type exposure struct {
	hour      int64 // hours since 1970
	nodeHours float64
	lost      int
}

func (r *reclaimRecords) init() {
	r.by, r.noticed = map[string]*reclaimRecord{}, map[types.UID]time.Time{}
}

// expose adds the time since the last call to the groups that have spot nodes. A gap, as after a lost connection, is
// left out.
func (r *reclaimRecords) expose(spotNodes map[string]int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	passed := now.Sub(r.last)
	r.last = now
	for uid, at := range r.noticed {
		if now.Sub(at) > reclaimWindow {
			delete(r.noticed, uid)
		}
	}
	if passed <= 0 || passed > 10*watchEvery {
		return
	}
	for id, n := range spotNodes {
		r.at(id, now).nodeHours += float64(n) * passed.Hours()
	}
}

// lose counts a node once.
func (r *reclaimRecords) lose(id string, uid types.UID, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, done := r.noticed[uid]; done || id == "" {
		return
	}
	r.noticed[uid] = now
	r.at(id, now).lost++
	record := r.by[id]
	record.lately = append(record.since(now), now)
}

// since are the losses that count together now.
func (r *reclaimRecord) since(now time.Time) []time.Time {
	return slices.DeleteFunc(r.lately, func(at time.Time) bool { return now.Sub(at) > link.LossWindow })
}

// lately counts the losses of a group that count together now, and tells when the newest was.
func (r *reclaimRecords) lately(id string, now time.Time) (lost int, newest time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if record := r.by[id]; record != nil {
		record.lately = record.since(now)
		if lost = len(record.lately); lost > 0 {
			newest = record.lately[lost-1]
		}
	}
	return lost, newest
}

// at is the current hour of a group.
func (r *reclaimRecords) at(id string, now time.Time) *exposure {
	record := r.by[id]
	if record == nil {
		record = &reclaimRecord{}
		r.by[id] = record
	}
	hour := now.Unix() / 3600
	if n := len(record.hours); n == 0 || record.hours[n-1].hour != hour {
		oldest := now.Add(-reclaimWindow).Unix() / 3600
		record.hours = slices.DeleteFunc(record.hours, func(e exposure) bool { return e.hour < oldest })
		record.hours = append(record.hours, exposure{hour: hour})
	}
	return &record.hours[len(record.hours)-1]
}

// rate is the losses of a group per node and hour; negative is unknown.
func (r *reclaimRecords) rate(id string, now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	record := r.by[id]
	if record == nil {
		return -1
	}
	oldest := now.Add(-reclaimWindow).Unix() / 3600
	hours, lost := 0.0, 0
	for _, e := range record.hours {
		if e.hour >= oldest {
			hours, lost = hours+e.nodeHours, lost+e.lost
		}
	}
	if hours < leastExposure {
		return -1
	}
	return float64(lost) / hours
}

func (r *reclaimRecords) lostBy() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	sums := make(map[string]int, len(r.by))
	for id, record := range r.by {
		for _, e := range record.hours {
			sums[id] += e.lost
		}
	}
	return sums
}

// nodeChanged counts a notice of the provider.
func (c *Cluster) nodeChanged(before, after *node) {
	if (after.reclaimed && !before.reclaimed) || (after.noticed && !before.noticed && !after.leaving) {
		c.loseNode(after)
	}
}

// nodeGone counts a spot node that vanished although nobody took it away.
func (c *Cluster) nodeGone(gone any) {
	if n, ok := tombstone[*node](gone); ok && !n.leaving {
		c.loseNode(n)
	}
}

func (c *Cluster) loseNode(n *node) {
	if id, spot := c.spotGroup(n); spot {
		c.reclaims.lose(id, n.UID, time.Now())
	}
}
