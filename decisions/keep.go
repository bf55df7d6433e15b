package decisions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

const (
	// keptVersion is the version of the stored comparison that this code writes.
	keptVersion = 1
	// keepEvery is how often a comparison that changes is stored.
	keepEvery = time.Minute
)

// kept is the stored form of a [Comparison]: a week of observing must not be lost with a restart.
type kept struct {
	Version int `json:"version"`
	// Through is the ID of the newest record that the days hold.
	Through uint64 `json:"through"`
	Days    []Day  `json:"days"`
}

// keeper stores the comparison in a file of its own, from time to time and at the end.
type keeper struct {
	path   string
	every  time.Duration
	logger *slog.Logger

	wake, stop, done chan struct{}
	failing          bool // owned by the goroutine
}

// startKeeper runs a keeper of what state gives.
func startKeeper(path string, logger *slog.Logger, state func() kept) *keeper {
	k := &keeper{
		path: path, every: keepEvery, logger: logger,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go k.run(state)
	return k
}

// changed tells that there is something to store.
func (k *keeper) changed() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *keeper) run(state func() kept) {
	defer close(k.done)
	pause := time.NewTimer(k.every)
	defer pause.Stop()
	for {
		select {
		case <-k.stop:
			k.last(state)
			return
		case <-pause.C:
		}
		select {
		case <-k.stop:
			k.last(state)
			return
		case <-k.wake:
			k.save(state())
			pause.Reset(k.every)
		}
	}
}

// last stores what is not stored yet. A process that found out that the directory is another one's writes nothing.
func (k *keeper) last(state func() kept) {
	select {
	case <-k.wake:
		k.save(state())
	default:
	}
}

// save replaces the file as a whole. It logs the first failure of a row only.
func (k *keeper) save(state kept) {
	err := writeKept(k.path, state)
	if err != nil && !k.failing {
		k.logger.Error("the comparison with least-waste cannot be stored and would be lost with a restart", "file", k.path, "error", err)
	}
	k.failing = err != nil
}

func (k *keeper) close() {
	close(k.stop)
	<-k.done
}

// writeKept writes beside the file and renames, so that a crash leaves the old content or the new one. There is one
// writer, so the name beside it is always the same, and a killed process leaves one file at most.
func writeKept(path string, state kept) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	beside := path + ".new"
	out, err := os.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// readKept reads a stored comparison; a file that does not exist is an empty one. What cannot be understood is put aside
// under another name, and the error says so.
func readKept(path string) (kept, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, fmt.Errorf("read the comparison: %w", err)
	}
	var state kept
	err = json.Unmarshal(data, &state)
	if err == nil && state.Version != keptVersion {
		err = fmt.Errorf("version %d is not %d", state.Version, keptVersion)
	}
	for i := range state.Days {
		if _, bad := time.Parse(time.DateOnly, state.Days[i].Date); bad != nil && err == nil {
			err = bad
		}
	}
	if err != nil {
		aside := path + ".unreadable"
		if state.Version > keptVersion {
			aside = path + ".newer"
		}
		return kept{}, errors.Join(fmt.Errorf("the comparison in %s begins anew, what was there is in %s: %w", path, aside, err), os.Rename(path, aside))
	}
	return state, nil
}

// resume takes over the days of a stored comparison.
func (c *Comparison) resume(state kept) {
	for _, day := range state.Days {
		if c.days == nil {
			c.days = map[string]Day{}
		}
		c.days[day.Date] = day
	}
}
