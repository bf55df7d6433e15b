package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/scaler"
)

// service is one line of the board: a trigger, or a configured service that no trigger refers to yet.
type service struct {
	id string
	// key and trigger are those of the caller; nil for a configured service.
	key     string
	trigger *Trigger
	// asked is when a caller last asked, in Unix seconds.
	asked atomic.Int64
	// local is the same without what other instances were asked.
	local atomic.Int64
	// broken is why the trigger no longer resolves after a reload.
	broken atomic.Pointer[error]
	// next is a recompiled service that the next evaluation takes up.
	next atomic.Pointer[config.Service]

	// mu is held from the reading of the signals until the evaluation, so that ticks never overtake each other. What
	// follows is guarded by it.
	mu       sync.Mutex
	compiled *config.Service
	asking   asked
	state    scaler.State
	forecast *forecast
	rebuilt  bool
	// evaluated is what time state is of.
	evaluated time.Time
	// carried is the state of the last leader where the gap since is too long to go on from it.
	carried *scaler.State
	// epoch is that of the last evaluation, see lockstep.
	epoch uint64
	// rebuildSince is when rebuilding was first tried.
	rebuildSince time.Time
	recorded     recorded
	// signals is emptied and used again for each evaluation, which keeps nothing of it.
	signals map[scaler.Signal][]scaler.Sample

	// arrivals is the reading of the last evaluation.
	arrivals arrivals
	past     past
	// foreseen and plan are the forecast and its last plan as shown; guarded by forecasts.mu.
	foreseen *forecast
	plan     *predictor.Plan

	// received is what the leader sent last, while this instance follows.
	received atomic.Pointer[received]

	entry atomic.Pointer[entry]
	watch struct {
		sync.Mutex
		changed chan struct{}
	}
}

// entry is the immutable line of the board.
type entry struct {
	decision scaler.Decision
	// keep is how long after its time the decision may be answered.
	keep time.Duration
	// until is the end of keep by this instance's clock for an entry of another instance; zero for an own one.
	until time.Time
	// state is what the evaluation remembers, for other instances; nil without any.
	state *scaler.State
	// coverage counts for the forecast; nil without one.
	coverage *coverage
}

func newService(id string, compiled *config.Service) *service {
	return &service{id: id, compiled: compiled, signals: map[scaler.Signal][]scaler.Sample{}}
}

func (s *service) touch(now time.Time) {
	// Written once a second at most: all cores share the line of memory.
	if unix := now.Unix(); s.local.Load() != unix {
		s.asked.Store(unix)
		s.local.Store(unix)
	}
}

// publish replaces the entry and wakes watchers if the answer is another one.
func (s *service) publish(next *entry) {
	last := s.entry.Swap(next)
	if last != nil && last.decision.Replicas == next.decision.Replicas && last.decision.Active == next.decision.Active &&
		last.decision.Unavailable == next.decision.Unavailable {
		return
	}
	s.watch.Lock()
	defer s.watch.Unlock()
	if s.watch.changed != nil {
		close(s.watch.changed)
		s.watch.changed = nil
	}
}

func (s *service) changed() <-chan struct{} {
	s.watch.Lock()
	defer s.watch.Unlock()
	if s.watch.changed == nil {
		s.watch.changed = make(chan struct{})
	}
	return s.watch.changed
}

// services holds all of them. Reading is free of locks; writing is guarded by Engine.membership.
type services struct {
	byID  index[string]
	byKey index[string]
	// quick finds what byKey finds, without making the key.
	quick triggerIndex
	// triggers counts those by namespace, and bytes what their metadata takes.
	triggers map[string]int
	bytes    map[string]int
	total    int
	allBytes int
	// adopted counts the triggers of a configured service, by namespace and name: it is not evaluated by itself then.
	adopted map[string]int

	// count is the number of services, with and without a trigger.
	count atomic.Int64

	listing sync.Mutex
	listed  []*service
}

func (s *services) init() {
	s.triggers, s.bytes, s.adopted = map[string]int{}, map[string]int{}, map[string]int{}
	s.byID.init()
	s.byKey.init()
	s.quick.init()
}

func (s *services) trigger(key string) (*service, bool) {
	found := s.byKey.get(key)
	return found, found != nil
}

func (s *services) get(id string) (*service, bool) {
	found := s.byID.get(id)
	return found, found != nil
}

// room tells whether one more trigger of a size has its place.
func (s *services) room(namespace string, size int, l Limits) error {
	switch {
	case s.allBytes+size > l.TriggerBytes || s.bytes[namespace]+size > l.TriggerBytes/2:
		return fmt.Errorf("%w: the metadata of all that are known has %d bytes, and in namespace %s %d; shorten it, remove unused ones or wait %v until they are forgotten",
			ErrTooMany, s.allBytes, namespace, s.bytes[namespace], l.ForgetAfter)
	case s.total >= l.Triggers:
		return fmt.Errorf("%w: %d are known; remove unused ones or wait %v until they are forgotten", ErrTooMany, s.total, l.ForgetAfter)
	case s.triggers[namespace] >= l.NamespaceTriggers:
		return fmt.Errorf("%w: %d are known in namespace %s; remove unused ones or wait %v until they are forgotten",
			ErrTooMany, s.triggers[namespace], namespace, l.ForgetAfter)
	}
	return nil
}

func (s *services) add(one *service) {
	s.byID.put(one.id, one)
	s.count.Add(1)
	s.unlist()
	if one.trigger == nil {
		return
	}
	s.byKey.put(one.key, one)
	s.quick.put(one)
	s.total++
	s.triggers[one.trigger.Namespace]++
	s.allBytes += one.trigger.size()
	s.bytes[one.trigger.Namespace] += one.trigger.size()
	s.adopted[one.configured()]++
}

func (s *services) remove(one *service) {
	s.byID.drop(one.id, one)
	s.count.Add(-1)
	s.unlist()
	if one.trigger == nil {
		return
	}
	s.byKey.drop(one.key, one)
	s.quick.drop(one)
	s.total--
	s.allBytes -= one.trigger.size()
	subtract(s.triggers, one.trigger.Namespace, 1)
	subtract(s.bytes, one.trigger.Namespace, one.trigger.size())
	subtract(s.adopted, one.configured(), 1)
}

func subtract(counts map[string]int, key string, n int) {
	if counts[key] -= n; counts[key] <= 0 {
		delete(counts, key)
	}
}

// configured is the id of the configured service with the name of this one, whether it exists or not. It does not
// change when a trigger is compiled again.
func (s *service) configured() string {
	return namespaceOf(s.id) + "/" + serviceName(s.id)
}

// namespaceOf and serviceName take an id apart; neither part can contain a slash.
func namespaceOf(id string) string { return id[:max(0, strings.IndexByte(id, '/'))] }

func serviceName(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// list returns all services in the order of their ids. The slice must not be changed.
func (s *services) list() []*service {
	s.listing.Lock()
	defer s.listing.Unlock()
	if s.listed != nil {
		return s.listed
	}
	s.listed = []*service{}
	s.byID.all(func(one *service) { s.listed = append(s.listed, one) })
	slices.SortFunc(s.listed, func(a, b *service) int { return strings.Compare(a.id, b.id) })
	return s.listed
}

// unlist makes the next list a new one. It comes after the change, so that no list is older than it.
func (s *services) unlist() {
	s.listing.Lock()
	defer s.listing.Unlock()
	s.listed = nil
}
