package decisions

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// Options of a log.
type Options struct {
	// Ring is the number of decisions kept in memory for each kind, at least 1; 0 means 10,000. Each kind has its
	// own ring, so that the many targets do not push out the few choices of node groups.
	Ring int
	// File is the path of the JSON lines file; empty keeps the log in memory only. The newest decisions of an
	// existing file are read back at the start.
	File string
	// MaxBytes is the size at which the file is rotated, 0 means 64 MiB; Keep is how many rotated files stay,
	// 0 means 4.
	MaxBytes int64
	Keep     int
	// ComparisonFile is the path at which the sums of the [Comparison] are kept over a restart; empty keeps them as far
	// as the decisions of File reach.
	ComparisonFile string
	// Logger reports failures of the files, once each time they start to fail; nil discards.
	Logger *slog.Logger
}

const defaultRing = 10_000

// Log is the decision log. Its methods are safe for concurrent use, and none of those that record ever waits.
type Log struct {
	mu         sync.Mutex
	rings      map[Kind]*ring
	watchers   map[*Watcher]struct{}
	comparison Comparison
	// through is the newest ID in the comparison that was stored by an earlier run.
	through, lastID uint64
	recorded        uint64
	lost            uint64
	closed          bool

	file   *file   // nil without one
	keeper *keeper // nil where the comparison is not kept
}

// Open makes a log. It fails if the file cannot be written or its directory does not exist.
func Open(o Options) (*Log, error) {
	if o.Ring < 0 {
		return nil, fmt.Errorf("decision log: ring of %d records: it must be at least 1", o.Ring)
	}
	size := cmp.Or(o.Ring, defaultRing)
	l := &Log{
		rings:    map[Kind]*ring{KindExpander: newRing(size), KindScaler: newRing(size), KindOperation: newRing(size)},
		watchers: map[*Watcher]struct{}{},
	}
	if o.ComparisonFile != "" {
		logger := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
		state, err := readKept(o.ComparisonFile)
		if err != nil {
			logger.Error("decision log", "error", err)
		}
		l.comparison.resume(state)
		l.through = state.Through
		l.keeper = startKeeper(o.ComparisonFile, logger, l.toKeep)
	}
	if err := l.openFile(o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID = max(l.lastID, l.through)
	return l, nil
}

// toKeep is the comparison as it is stored.
func (l *Log) toKeep() kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	return kept{Version: keptVersion, Through: max(l.lastID, l.through), Days: l.comparison.Days()}
}

// openFile reads the file of an earlier run and goes on with it.
func (l *Log) openFile(o Options) error {
	if o.File == "" {
		return nil
	}
	if err := ReadFiles(o.File, l.restore); err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	f, err := openFile(o)
	if err != nil {
		return fmt.Errorf("decision log: %w; give decisions.file a writable path or leave it empty", err)
	}
	l.file = f
	return nil
}

// restore takes a record of an earlier run.
func (l *Log) restore(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, err := strconv.ParseUint(r.ID, 16, 64)
	ring := l.rings[r.Kind]
	if err != nil || ring == nil || id <= l.lastID {
		return // not ours, or out of order: the ring is searched by ID
	}
	l.lastID = id
	ring.add(r)
	if id > l.through {
		l.comparison.add(r)
	}
}

// AddExpander records a choice of node group and returns its record.
func (l *Log) AddExpander(d expander.Decision) Record { return l.add(OfExpander(d)) }

// AddScaler records a replica target and returns its record.
func (l *Log) AddScaler(d scaler.Decision) Record { return l.add(OfScaler(d)) }

func (l *Log) add(r Record) Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.ID = l.nextID(r)
	l.recorded++
	l.rings[r.Kind].add(r)
	l.comparison.add(r)
	for w := range l.watchers {
		l.lost += w.offer(r)
	}
	if l.file != nil && !l.closed {
		l.file.offer(r)
	}
	if l.keeper != nil && r.Expander != nil {
		l.keeper.changed()
	}
	return r
}

// nextID is the time in microseconds, or one more than the last ID if that is not later.
func (l *Log) nextID(r Record) string {
	l.lastID = max(uint64(max(r.Time.UnixMicro(), 0)), l.lastID+1)
	return fmt.Sprintf("%014x", l.lastID)
}

// List returns the newest records that match, newest first.
func (l *Log) List(f Filter) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.rings[f.Kind]; r != nil {
		return r.list(f, f.limit())
	}
	var out []Record
	for _, r := range l.rings {
		out = append(out, r.list(f, f.limit())...)
	}
	slices.SortFunc(out, func(a, b Record) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(len(out), f.limit())]
}

// Get returns one record by its ID, if it is still in memory.
func (l *Log) Get(id string) (Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ring := range l.rings {
		if r, ok := ring.get(id); ok {
			return r, true
		}
	}
	return Record{}, false
}

// Comparison returns what the expander's choices cost against least-waste, as far as it was recorded.
func (l *Log) Comparison() Comparison {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.comparison.clone()
}

// Stats counts what was recorded and what was lost.
type Stats struct {
	Recorded uint64
	// WatchersLost is the number of records that slow watchers did not get, FileLost those that the file did not.
	WatchersLost, FileLost uint64
	FileErrors             uint64
	Watchers               int
}

// Stats returns the counters since the start.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{Recorded: l.recorded, WatchersLost: l.lost, Watchers: len(l.watchers)}
	if l.file != nil {
		s.FileLost, s.FileErrors = l.file.lost.Load(), l.file.failures.Load()
	}
	return s
}

// ErrClosed is returned by watchers of a closed log.
var ErrClosed = errors.New("decision log is closed")

// Close ends the watchers and writes what is waiting for the file, within a bounded time. Records that are added
// later stay in memory only.
func (l *Log) Close() error {
	l.mu.Lock()
	already := l.closed
	l.closed = true
	for w := range l.watchers {
		w.end()
	}
	clear(l.watchers)
	l.mu.Unlock()
	if already {
		return nil
	}
	if l.keeper != nil {
		l.keeper.close()
	}
	if l.file == nil {
		return nil
	}
	return l.file.close()
}
