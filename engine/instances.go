package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// ErrNotLeading means that this instance does not compute the board, or no longer does.
var ErrNotLeading = errors.New("this instance does not compute the board")

// StateVersion is the version of [Published].State. It changes when an older program would read it wrongly.
const StateVersion = 1

// Published is one line of the board with all that another instance needs to go on from it.
type Published struct {
	ID string
	// Trigger is nil for a configured service.
	Trigger  *Trigger
	Decision scaler.Decision
	// Keep is how long after its time the decision may be answered.
	Keep time.Duration
	// State is what the evaluation remembers, nil before there is anything. It is JSON of [StateVersion].
	State []byte
}

// Update is a part of the leader's board as a follower receives it.
type Update struct {
	// Leader names the instance, Term is that of its lease.
	Leader     string
	Term       uint64
	Tick, Sent time.Time
	ConfigHash string
	Entries    []Published
}

// lockstep is the part that an instance plays among several. An engine that is told nothing computes for itself.
type lockstep struct {
	// mu is held for reading while an own decision is published, so that none is after [Engine.Follow] has returned.
	mu        sync.RWMutex
	following atomic.Bool
	// sharing is set once the engine was told of others: entries then carry their state.
	sharing atomic.Bool
	// epoch counts how often this instance began to compute; guarded by mu.
	epoch uint64
	// term is the highest seen; leader and since tell whom this instance follows, by the name in the lease and from when.
	term   uint64
	leader string
	since  time.Time
	// received is when the last part of the board came, by this instance's clock; skew how far that is ahead of the
	// leader's. configHash is the leader's.
	received   time.Time
	skew       time.Duration
	configHash string

	feed feed
	// news tells that a trigger was asked for that was not known.
	news chan struct{}
}

// received is the last state of a service that the leader sent, until it is needed.
type received struct {
	at    time.Time
	state []byte
	skew  time.Duration
	n     int
	valid bool
}

// Lead makes this instance compute, with the term of its lease. It goes on from the last board that it received: from
// the very state, with times moved to its own clock.
func (e *Engine) Lead(term uint64) {
	l := &e.lockstep
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sharing.Store(true)
	l.term = max(l.term, term)
	if l.following.Load() {
		l.epoch++
		e.forecasts.refresh(e.clock())
	}
	l.leader, l.since = "", e.clock()
	l.following.Store(false)
}

// Follow makes this instance serve what [Engine.Receive] gets instead of computing. leader is the name of the instance
// that computes, empty while there is none or it is not known. When Follow returns, no own decision is published any
// more.
func (e *Engine) Follow(leader string) {
	l := &e.lockstep
	l.mu.Lock()
	l.sharing.Store(true)
	l.following.Store(true)
	if l.leader != leader || l.since.IsZero() {
		l.leader, l.since = leader, e.clock()
	}
	l.mu.Unlock()
	l.feed.end()
}

// Leading tells whether this instance computes.
func (e *Engine) Leading() bool { return !e.lockstep.following.Load() }

// unreachableFor is how many evaluation intervals a leader that is known may be silent before this instance stops to
// answer what it had: the leader may have moved on, and two instances that are asked in turn must not contradict each
// other. Without any leader nobody moves on, and the board is held for as long as each entry may be kept.
const unreachableFor = 2

// leastSilence is what a leader may be silent for however short the interval is. It sends something every 5 s, and the
// Lease of one that died ends 15 s later, which takes others up to 4 s to see: it must be known to have died, and its
// board be held, before this instance would stop to answer. The default interval gives as much.
const leastSilence = 30 * time.Second

// outOfTouch tells whether there is a leader whose board does not arrive.
func (e *Engine) outOfTouch(now time.Time) bool {
	l := &e.lockstep
	if !l.following.Load() {
		return false // without the lock, which every call would share
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.leader == "" {
		return false
	}
	last := l.since
	if l.received.After(last) {
		last = l.received
	}
	return passed(last, now) > max(unreachableFor*e.config.Load().EvaluationInterval, leastSilence)
}

// Receive puts a part of the leader's board on this one. It fails with [ErrNotLeading] if this instance computes itself
// or has seen a later term: the sender is out of date then.
func (e *Engine) Receive(u Update) error {
	l := &e.lockstep
	now := e.clock()
	l.mu.Lock()
	if !l.following.Load() || u.Term < l.term {
		l.mu.Unlock()
		return fmt.Errorf("%w: a board of term %d came, and term %d is known", ErrNotLeading, u.Term, l.term)
	}
	l.term, l.received, l.skew, l.configHash = u.Term, now, skewOf(now, u.Sent), u.ConfigHash
	skew := l.skew
	l.mu.Unlock()
	for i := range u.Entries {
		e.receive(&u.Entries[i], &u, now, skew)
	}
	if !u.Tick.IsZero() {
		e.lastTick.Store(u.Tick.Add(skew).UnixNano())
	}
	return nil
}

// leastSkew is what the way of a message may take: below that, clocks count as equal.
const leastSkew = time.Second

func skewOf(now, sent time.Time) time.Duration {
	if skew := now.Sub(sent); skew < -leastSkew || skew > leastSkew {
		return skew
	}
	return 0
}

func (e *Engine) receive(p *Published, u *Update, now time.Time, skew time.Duration) {
	if p.Decision.Replicas < 0 || p.Keep < 0 {
		e.log.Warn("the leader sent an answer that cannot be one; it is left out", "service", p.ID, "replicas", p.Decision.Replicas, "keep", p.Keep)
		return
	}
	s := e.counterpart(p, now)
	if s == nil {
		return // a configured service that this configuration does not have, and nobody can ask for it
	}
	s.received.Store(&received{at: now, state: p.State, skew: skew, n: p.Decision.Replicas, valid: p.Decision.Unavailable == ""})
	next := &entry{decision: p.Decision, keep: p.Keep, until: now.Add(p.Keep - max(0, u.Sent.Sub(p.Decision.Time)))}
	l := &e.lockstep
	l.mu.RLock()
	following := l.following.Load() && l.term == u.Term
	if following {
		s.publish(next)
	}
	l.mu.RUnlock()
	if following && s.mu.TryLock() { // held by a tick that began before this instance followed
		e.remember(s, &next.decision, nil)
		s.mu.Unlock()
	}
}

// counterpart is this instance's own service for a line of the leader's board. A trigger that this instance was not
// asked for yet is added, whatever the limits: the leader keeps to them.
func (e *Engine) counterpart(p *Published, now time.Time) *service {
	if s, ok := e.services.get(p.ID); ok {
		s.asked.Store(max(s.asked.Load(), now.Unix()))
		return s
	}
	if p.Trigger == nil {
		return nil
	}
	e.membership.Lock()
	defer e.membership.Unlock()
	if s, ok := e.services.get(p.ID); ok {
		return s
	}
	key := p.Trigger.key()
	if key+"/"+serviceName(p.ID) != p.ID {
		e.log.Warn("a trigger of the leader has another identity here; it is left out", "service", p.ID)
		return nil
	}
	compiled, err := compile(e.config.Load(), *p.Trigger)
	s := newService(p.ID, compiled)
	if err != nil {
		// The leader has a configuration that this instance does not have yet, or no longer. Its answer is served.
		s.compiled = &config.Service{Policy: scaler.Policy{Namespace: p.Trigger.Namespace, Name: serviceName(p.ID)}}
		s.broken.Store(&err)
	} else {
		s.forecast = e.forecasts.of(compiled)
	}
	s.trigger, s.key = p.Trigger, key
	s.asked.Store(now.Unix())
	e.services.add(s)
	return s
}

// served tells whether a service has the leader's answer: then it does not matter that the configuration of this
// instance cannot resolve it.
func (e *Engine) served(s *service) bool {
	return e.lockstep.following.Load() && s.entry.Load() != nil
}

// publish puts an own decision on the board, unless this instance meanwhile follows another one. The caller holds s.mu.
func (e *Engine) publish(s *service, next *entry, from *Evaluation) {
	l := &e.lockstep
	l.mu.RLock()
	following := l.following.Load()
	if !following {
		if l.sharing.Load() {
			state := s.state
			next.state = &state
		}
		s.publish(next)
	}
	l.mu.RUnlock()
	if following {
		return
	}
	l.feed.changed(s)
	e.record(s, &next.decision, from)
}

// expired tells whether an entry is too old to be answered.
func (l *entry) expired(now time.Time) bool {
	if !l.until.IsZero() {
		return passed(l.until, now) > 0
	}
	return now.Sub(l.decision.Time) > l.keep
}

// passed is the time between two readings of the own clock: the longer one of what the wall clock and what the monotonic
// clock tell. The first jumps, the second stands still while a virtual machine is paused.
func passed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

func (l *lockstep) asked() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// News tells that a trigger was asked for that was not known; see [Engine.Asked].
func (e *Engine) News() <-chan struct{} { return e.lockstep.news }

// Asked returns the triggers that callers of this instance, not of others, asked for at or after a time, in the order of
// their ids.
func (e *Engine) Asked(since time.Time) []Trigger {
	var out []Trigger
	for _, s := range e.services.list() {
		if s.trigger != nil && s.local.Load() >= since.Unix() {
			out = append(out, *s.trigger)
		}
	}
	return out
}

// Ask takes triggers that another instance was asked for: they are evaluated and not forgotten. One that this
// configuration cannot resolve is left out and named in the error.
func (e *Engine) Ask(triggers []Trigger) error {
	var errs []error
	for _, t := range triggers {
		if s, ok := e.services.trigger(t.key()); ok {
			s.asked.Store(max(s.asked.Load(), e.clock().Unix()))
			continue
		}
		if _, err := e.Resolve(t); err != nil {
			errs = append(errs, fmt.Errorf("trigger of %s/%s: %w", t.Namespace, t.ScaledObject, err))
			continue
		}
		if s, ok := e.services.trigger(t.key()); ok {
			s.local.Store(0) // nobody asked this instance
		}
	}
	return errors.Join(errs...)
}

// InstanceStatus is the part that this instance plays among several.
type InstanceStatus struct {
	Leading bool `json:"leading"`
	// Leader is the instance that computes, empty if there is none or it is this one; Term counts the leaders.
	Leader string `json:"leader,omitempty"`
	Term   uint64 `json:"term"`
	// LeaderConfigHash is the configuration of the board; it differs from the own one while a change is rolled out.
	LeaderConfigHash string `json:"leaderConfigHash,omitempty"`
	// BoardReceived is when the last part of the board came, and SkewSeconds how far the own clock is ahead of the leader's.
	BoardReceived time.Time `json:"boardReceived,omitzero"`
	SkewSeconds   float64   `json:"skewSeconds,omitempty"`
	Followers     int       `json:"followers"`
}

// Instances tells how this instance stands to the others; ok is false if it is the only one.
func (e *Engine) Instances() (status InstanceStatus, ok bool) {
	l := &e.lockstep
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := InstanceStatus{Leading: !l.following.Load(), Term: l.term, Followers: int(l.feed.count.Load())}
	if !s.Leading {
		s.Leader, s.LeaderConfigHash, s.BoardReceived, s.SkewSeconds = l.leader, l.configHash, l.received, l.skew.Seconds()
	}
	return s, l.sharing.Load()
}
