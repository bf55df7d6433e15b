package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/scaler"
)

// check looks at everything that a killed process left.
func (s *stage) check(sum *tally) error {
	return errors.Join(s.checkHistory(), s.checkOperations(), s.checkStore(sum), s.checkDecisions(sum), s.checkFiles(sum))
}

// checkHistory reads what the expander has learnt. The choice that was answered last must be in it.
func (s *stage) checkHistory() error {
	history, err := engine.NewFileHistory(s.dataDir).Load(context.Background())
	if err != nil {
		return fmt.Errorf("history of the expander: %w", err)
	}
	if _, known := history.Pods[s.lastPod]; s.lastPod != "" && !known {
		return fmt.Errorf("history of the expander: the choice for %s was answered and is not in it", s.lastPod)
	}
	return nil
}

// checkOperations reads overrides and freezes. Each must be as it was last acknowledged, until its end.
func (s *stage) checkOperations() error {
	text, err := os.ReadFile(filepath.Join(s.dataDir, "operations.json"))
	if errors.Is(err, fs.ErrNotExist) && len(s.orders) == 0 {
		return nil
	}
	var content struct {
		Version   int
		Overrides []engine.Override
	}
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		return fmt.Errorf("overrides and freezes: %w: %w", errHalf, err)
	}
	found := map[string]engine.Override{}
	for _, o := range content.Overrides {
		found[o.ID] = o
	}
	for id, o := range s.orders {
		if time.Now().After(o.To.Add(-100 * time.Millisecond)) {
			delete(s.orders, id) // it may be forgotten
			continue
		}
		if got, ok := found[id]; !ok || got.Cleared != o.Cleared {
			return fmt.Errorf("override %s was acknowledged as cleared %v: found %v, cleared %v", id, o.Cleared, ok, got.Cleared)
		}
	}
	return nil
}

// checkStore looks at every page and every value of the store.
func (s *stage) checkStore(sum *tally) (err error) {
	path := filepath.Join(s.dataDir, "warmpool.db")
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || (err == nil && info.Size() == 0) {
		return nil // the first start has come no further
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("store: %w: %w", errHalf, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		var err error
		for problem := range tx.Check() {
			err = errors.Join(err, fmt.Errorf("store: %w: %w", errHalf, problem))
		}
		all := tx.Bucket([]byte("services-1"))
		if err != nil || all == nil {
			return err
		}
		return all.ForEachBucket(func(id []byte) error {
			return all.Bucket(id).ForEach(func(key, sealed []byte) error {
				value, err := unsealed(sealed)
				if err != nil {
					return fmt.Errorf("store: %s of %s: %w: %w", key, id, errHalf, err)
				}
				if string(key) == "forecast" {
					sum.plans++
					return nil
				}
				sum.states++
				var state scaler.State
				if err := json.Unmarshal(value, &state); err != nil || !state.Valid || state.N != demand {
					return fmt.Errorf("store: state of %s: %w: N %d, valid %v, %w", id, errHalf, state.N, state.Valid, err)
				}
				return nil
			})
		})
	})
}

// unsealed takes a value out of version, checksum and time.
func unsealed(sealed []byte) ([]byte, error) {
	if len(sealed) < 13 || sealed[0] != 1 {
		return nil, errors.New("no value of version 1")
	}
	if crc32.ChecksumIEEE(sealed[5:]) != binary.BigEndian.Uint32(sealed[1:]) {
		return nil, errors.New("wrong checksum")
	}
	return sealed[13:], nil
}

// mostDecisions is the size from which the decision log is begun anew, because every start reads it.
const mostDecisions = 4 << 20

// checkDecisions reads the decision log. At most one line for each kill may be torn, and ids must rise.
func (s *stage) checkDecisions(sum *tally) error {
	content, err := os.ReadFile(s.decisionsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	torn, last := 0, ""
	for line := range bytes.Lines(content) {
		var r decisions.Record
		if json.Unmarshal(line, &r) != nil {
			torn++
			continue
		}
		if r.ID <= last {
			return fmt.Errorf("decision log: id %s comes after %s", r.ID, last)
		}
		last = r.ID
		sum.decisions++
	}
	if torn > s.torn+1 {
		return fmt.Errorf("decision log: %w: %d lines are torn, and one kill ago it was %d", errHalf, torn, s.torn)
	}
	sum.torn += torn - s.torn
	if s.torn = torn; len(content) > mostDecisions {
		s.torn = 0
		return os.Remove(s.decisionsFile())
	}
	return nil
}

// checkFiles finds what does not belong there. A file that was being written may be left, until the next start.
func (s *stage) checkFiles(sum *tally) error {
	entries, err := os.ReadDir(s.dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	left := 0
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasSuffix(name, ".damaged"):
			return fmt.Errorf("%s: something was taken for damaged", name)
		case strings.HasSuffix(name, ".tmp"):
			left++
		}
	}
	if sum.temporary += left; left > 4 {
		return fmt.Errorf("%d files that were being written are left: nobody removes them", left)
	}
	return err
}
