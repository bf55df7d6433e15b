package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
)

// readable tells whether what is in a data directory can be read as it is now, the store apart, which is in use.
func readable(dir string) error {
	if _, err := engine.NewFileHistory(dir).Load(context.Background()); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "expander-history.json")); err != nil {
		return err
	}
	records := 0
	if err := decisions.ReadFiles(filepath.Join(dir, "decisions.jsonl"), func(decisions.Record) { records++ }); err != nil {
		return err
	}
	if records == 0 {
		return fmt.Errorf("no decision in %s", dir)
	}
	return nil
}
