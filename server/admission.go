package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	pb "github.com/warmpool/warmpool/proto/grpcplugin"
)

const (
	// chooseWithin is the fixed deadline of the Cluster Autoscaler: nobody waits for an answer that comes later. It
	// bounds the calls of clients that set no deadline of their own, the time to receive the request included.
	chooseWithin = 5 * time.Second
	// answerWithin bounds every other unary call: its answer is read from memory.
	answerWithin = 900 * time.Millisecond
)

// admission bounds what all unauthenticated callers of the expander together can cause; what one of them can is bounded by
// clients, and the size of requests where they are read, in package wire/raw.
type admission struct {
	rate    *rate.Limiter
	refused prometheus.Counter
}

func newAdmission(l RequestLimits, refused prometheus.Counter) admission {
	return admission{rate.NewLimiter(rate.Limit(l.PerSecond), burstOf(l.PerSecond)), refused}
}

// tap sees a call before its first byte is read. It drops calls above the rate and bounds the others in time.
func (a admission) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if info.FullMethodName != pb.Expander_BestOptions_FullMethodName {
		return ctx, nil
	}
	if !a.rate.Allow() {
		a.refused.Inc()
		return nil, status.Errorf(codes.ResourceExhausted, "more than %g requests per second", float64(a.rate.Limit()))
	}
	bounded, cancel := context.WithTimeout(ctx, chooseWithin)
	context.AfterFunc(ctx, cancel)
	return bounded, nil
}

// boundUnary bounds the calls that could wait. Those of KEDA cannot: they look at the board and at nothing else.
func boundUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if info.FullMethod != pb.Expander_BestOptions_FullMethodName && !ofScaler(info.FullMethod) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWithin)
		defer cancel()
	}
	return next(ctx, req)
}
