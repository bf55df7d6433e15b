package raw_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/wire/raw"
)

func TestGate(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	gate := raw.NewLargeGate(raw.Bounds{Limit: 1000, From: 100, InFlight: 2, Small: 150})
	enter := func(ctx context.Context, size int64, want codes.Code) func() {
		t.Helper()
		leave, err := gate.Enter(ctx, size)
		if status.Code(err) != want {
			t.Errorf("size %d: %v, want %s", size, err, want)
		}
		return leave
	}

	enter(ctx, 1001, codes.ResourceExhausted)
	enter(t.Context(), 100, codes.InvalidArgument) // no deadline
	first := enter(ctx, 1000, codes.OK)
	enter(ctx, 100, codes.OK)
	enter(ctx, 100, codes.ResourceExhausted)
	small := enter(t.Context(), 99, codes.OK)
	enter(ctx, 52, codes.ResourceExhausted)
	enter(ctx, 51, codes.OK)

	first()
	first() // leaving twice frees one place
	enter(ctx, 100, codes.OK)
	enter(ctx, 100, codes.ResourceExhausted)
	small()
	enter(ctx, 99, codes.OK)

	gate.SetBounds(raw.Bounds{})
	enter(ctx, 384<<20+1, codes.ResourceExhausted)
	enter(ctx, 64<<20, codes.ResourceExhausted) // two are in flight, one may be
	enter(ctx, 64<<20-1, codes.OK)
}
