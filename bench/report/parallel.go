package report

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Progress is told how many of all runs are done. It may be nil.
type Progress func(done, total int)

// each calls do for every index below n on all processors and stops at the first error.
func each(ctx context.Context, n int, progress Progress, do func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var done atomic.Int64
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("stopped: %w", err)
			}
			if err := do(i); err != nil {
				return err
			}
			if progress != nil {
				progress(int(done.Add(1)), n)
			}
			return nil
		})
	}
	return group.Wait() //nolint:wrapcheck // wrapped by do
}
