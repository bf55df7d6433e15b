package engine

import (
	"hash/maphash"
	"slices"
	"sync"
)

// index finds services by a key without a lock that all callers share, and without garbage.
type index[K string | uint64] struct {
	seed   maphash.Seed
	shards [64]struct {
		sync.RWMutex
		services map[K]*service
	}
}

func (x *index[K]) init() {
	x.seed = maphash.MakeSeed()
	for i := range x.shards {
		x.shards[i].services = map[K]*service{}
	}
}

func (x *index[K]) shard(key K) int {
	switch k := any(key).(type) {
	case string:
		return int(maphash.String(x.seed, k) % uint64(len(x.shards)))
	case uint64:
		return int(k % uint64(len(x.shards)))
	}
	return 0
}

func (x *index[K]) get(key K) *service {
	s := &x.shards[x.shard(key)]
	s.RLock()
	defer s.RUnlock()
	return s.services[key]
}

func (x *index[K]) put(key K, one *service) {
	s := &x.shards[x.shard(key)]
	s.Lock()
	defer s.Unlock()
	s.services[key] = one
}

// drop forgets a key if it still leads to one.
func (x *index[K]) drop(key K, one *service) {
	s := &x.shards[x.shard(key)]
	s.Lock()
	defer s.Unlock()
	if s.services[key] == one {
		delete(s.services, key)
	}
}

// all calls do for each service, in no order.
func (x *index[K]) all(do func(*service)) {
	for i := range x.shards {
		s := &x.shards[i]
		s.RLock()
		for _, one := range s.services {
			do(one)
		}
		s.RUnlock()
	}
}

// triggerIndex finds a trigger again that was seen before, as nearly every call does: by a cheap hash of everything that can
// make a difference, and a comparison, because two triggers may have one hash.
type triggerIndex struct {
	seed   maphash.Seed
	byHash index[uint64]
}

func (x *triggerIndex) init() {
	x.seed = maphash.MakeSeed()
	x.byHash.init()
}

// hash does not depend on the order of the metadata.
func (x *triggerIndex) hash(t *Trigger) uint64 {
	const spread = 0x9e3779b97f4a7c15
	sum := maphash.String(x.seed, t.Namespace)*spread ^ maphash.String(x.seed, t.ScaledObject)
	for name, value := range t.Metadata {
		if !slices.Contains(connectionKeys, name) {
			pair := maphash.String(x.seed, name)*spread ^ maphash.String(x.seed, value)
			sum += pair * spread
		}
	}
	return sum
}

func (x *triggerIndex) get(t *Trigger) (*service, bool) {
	found := x.byHash.get(x.hash(t))
	if found == nil || !sameTrigger(t, found.trigger) {
		return nil, false
	}
	return found, true
}

func (x *triggerIndex) put(one *service) { x.byHash.put(x.hash(one.trigger), one) }

func (x *triggerIndex) drop(one *service) { x.byHash.drop(x.hash(one.trigger), one) }

// sameTrigger compares everything but what is for KEDA itself.
func sameTrigger(a, b *Trigger) bool {
	if a.Namespace != b.Namespace || a.ScaledObject != b.ScaledObject {
		return false
	}
	left := len(b.Metadata)
	for _, name := range connectionKeys {
		if _, ok := b.Metadata[name]; ok {
			left--
		}
	}
	for name, value := range a.Metadata {
		if slices.Contains(connectionKeys, name) {
			continue
		}
		other, ok := b.Metadata[name]
		if !ok || other != value {
			return false
		}
		left--
	}
	return left == 0
}
