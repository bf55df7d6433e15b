package raw

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Bounds are the limits of a [LargeGate]. Sizes are in bytes.
type Bounds struct {
	// Limit is the size of the largest request that is served; 0 is 384 MiB.
	Limit int64
	// From is the size from which a request is large; 0 is 64 MiB.
	From int64
	// InFlight is how many large requests are served at the same time; 0 is 1.
	InFlight int
	// Small is the sum of the sizes of all other requests served at the same time; 0 is Limit.
	Small int64
}

func (b Bounds) withDefaults() Bounds {
	if b.Limit == 0 {
		b.Limit = 384 << 20
	}
	if b.From == 0 {
		b.From = 64 << 20
	}
	if b.InFlight == 0 {
		b.InFlight = 1
	}
	if b.Small == 0 {
		b.Small = b.Limit
	}
	return b
}

// maxDeadline is the longest a large request may ask for. The Cluster Autoscaler asks for 5 s.
const maxDeadline = time.Minute

// LargeGate admits requests by size. It never waits: a request is served now or refused now, because the Cluster
// Autoscaler does better with its other filters than with a late answer.
type LargeGate struct {
	mu     sync.Mutex
	bounds Bounds
	large  int
	small  int64
}

// NewLargeGate returns a gate with nothing in flight.
func NewLargeGate(b Bounds) *LargeGate {
	return &LargeGate{bounds: b.withDefaults()}
}

// SetBounds changes the bounds for the requests to come.
func (g *LargeGate) SetBounds(b Bounds) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bounds = b.withDefaults()
}

// Enter admits a request of the given size until leave is called. The error is a gRPC status: ResourceExhausted,
// or InvalidArgument for a large request without a deadline.
func (g *LargeGate) Enter(ctx context.Context, size int64) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.bounds
	switch {
	case size > b.Limit:
		return nil, status.Errorf(codes.ResourceExhausted,
			"the request has %d bytes, the limit is %d: raise expander.largeRequests.limit", size, b.Limit)
	case size < b.From && g.small+size > b.Small:
		return nil, status.Errorf(codes.ResourceExhausted,
			"requests of %d bytes are in flight, no room for %d more: try again", g.small, size)
	case size < b.From:
		g.small += size
		return sync.OnceFunc(func() { g.leave(0, size) }), nil
	case g.large >= b.InFlight:
		return nil, status.Errorf(codes.ResourceExhausted,
			"%d requests of %d bytes or more are in flight, which is the limit: try again", g.large, b.From)
	}
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > maxDeadline {
		return nil, status.Errorf(codes.InvalidArgument,
			"a request of %d bytes or more needs a deadline of at most %s", b.From, maxDeadline)
	}
	g.large++
	return sync.OnceFunc(func() { g.leave(1, 0) }), nil
}

func (g *LargeGate) leave(large int, small int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.large -= large
	g.small -= small
}
