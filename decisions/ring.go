package decisions

import (
	"slices"
	"strings"
)

// meanBytes is the size of a record that a ring is made for: a choice among 20 groups. A ring of 10,000 records never
// holds more than 120 MB, however large the cluster, and whatever the callers of the expander send.
const meanBytes = 12 << 10

// ring holds the newest records, oldest first, bounded by number and by size.
type ring struct {
	records  []Record // circular
	head     int      // index of the oldest
	count    int
	bytes    int
	maxBytes int
}

func newRing(size int) *ring {
	return &ring{records: make([]Record, size), maxBytes: size * meanBytes}
}

func (r *ring) at(i int) Record { return r.records[(r.head+i)%len(r.records)] }

// add appends a record and returns how many of the oldest ones had to go. The newest record always stays.
func (r *ring) add(rec Record) (dropped uint64) {
	if r.count == len(r.records) {
		r.drop()
		dropped++
	}
	r.records[(r.head+r.count)%len(r.records)] = rec
	r.count++
	r.bytes += rec.size()
	for r.bytes > r.maxBytes && r.count > 1 {
		r.drop()
		dropped++
	}
	return dropped
}

func (r *ring) drop() {
	r.bytes -= r.records[r.head].size()
	r.records[r.head] = Record{} // let the candidates go
	r.head = (r.head + 1) % len(r.records)
	r.count--
}

// get finds a record by ID: IDs only grow, so the ring is sorted by them.
func (r *ring) get(id string) (Record, bool) {
	lo, hi := 0, r.count
	for lo < hi {
		mid := (lo + hi) / 2
		switch c := strings.Compare(r.at(mid).ID, id); {
		case c == 0:
			return r.at(mid), true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return Record{}, false
}

// list returns the newest matches, newest first, at most limit.
func (r *ring) list(f Filter, limit int) []Record {
	var out []Record
	for i := r.count - 1; i >= 0 && len(out) < limit; i-- {
		if rec := r.at(i); f.Match(rec) {
			out = append(out, rec)
		}
	}
	return out
}

// Filter selects records; empty fields match everything.
type Filter struct {
	Kind Kind
	// Subject and Reason must be equal to the record's subject and to one of its reason codes.
	Subject, Reason string
	// Before selects records that are older than this ID, to read on where an earlier answer ended.
	Before string
	// Limit is the largest number of records: 0 means 100, more than 1000 means 1000.
	Limit int
}

// The bounds of Filter.Limit.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// Match tells whether a record is selected, whatever the limit.
func (f Filter) Match(r Record) bool {
	return (f.Kind == "" || f.Kind == r.Kind) &&
		(f.Subject == "" || f.Subject == r.Subject) &&
		(f.Before == "" || r.ID < f.Before) &&
		(f.Reason == "" || slices.Contains(r.Reasons, f.Reason))
}

func (f Filter) limit() int {
	if f.Limit <= 0 {
		return defaultLimit
	}
	return min(f.Limit, maxLimit)
}
