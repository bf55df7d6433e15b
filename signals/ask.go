package signals

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/prometheus/common/model"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// attempts is how often one expression is sent at most, firstDelay the mean pause before the second attempt.
const (
	attempts   = 3
	firstDelay = 100 * time.Millisecond
)

// request sends one expression and reads the answer; it is an instant or a range query.
type request func(ctx context.Context, expr string) (model.Value, promv1.Warnings, error)

// ask sends an expression until it is answered, cannot be answered, or time is over. limit bounds each attempt.
func (r *Reader) ask(ctx context.Context, expr string, limit time.Duration, send request) (model.Value, *Error) {
	delay := firstDelay
	for attempt := 1; ; attempt++ {
		value, pause, failure := r.attempt(ctx, expr, limit, send)
		if failure == nil || attempt == attempts || !failure.retryable() {
			return value, failure
		}
		pause = max(pause, r.jitter(delay))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return nil, failure
		}
		select {
		case <-ctx.Done():
			return nil, failure
		case <-time.After(pause):
		}
		delay *= 2
	}
}

// attempt waits for its turn and sends the expression once. The duration is the pause that the server asks for.
func (r *Reader) attempt(ctx context.Context, expr string, limit time.Duration, send request) (_ model.Value, _ time.Duration, failure *Error) {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return nil, 0, failf(Timeout, "no turn before the deadline; raise prometheus.maxConcurrent or evaluationInterval")
	}
	var seen exchange
	ctx, cancel := context.WithTimeout(withExchange(ctx, &seen), limit)
	defer cancel()
	defer func() {
		if seen.decoding {
			<-r.decoders
		}
	}()
	r.metrics.inFlight.Inc()
	defer func(started time.Time) {
		r.metrics.inFlight.Dec()
		r.metrics.seconds.Observe(time.Since(started).Seconds())
		r.metrics.requests.WithLabelValues(resultOf(failure)).Inc()
	}(time.Now())
	defer func() {
		// The JSON decoder is not ours; what it does with bytes of others must not end the process.
		if p := recover(); p != nil {
			failure = failf(Answer, "decoding failed: %s", shorten(r.secrets.hide(fmt.Sprint(p))))
		}
	}()
	sent := r.options.Clock()
	value, warnings, err := send(ctx, expr)
	if err != nil {
		return nil, seen.retryDelay(), r.secrets.clean(requestError(err, seen.status, r.secrets.hide))
	}
	if failure := r.compareClocks(seen.date, sent, r.options.Clock()); failure != nil {
		return nil, 0, failure
	}
	r.warn(expr, warnings)
	return value, 0, nil
}

func resultOf(failure *Error) string {
	if failure == nil {
		return "ok"
	}
	return failure.Class()
}

// jitter spreads a delay over half to one and a half of it, so that instances do not come back together.
func (r *Reader) jitter(delay time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return delay/2 + time.Duration(r.random.Int64N(int64(delay)))
}

// warn counts warnings and logs each distinct one once in a while it lasts: a partial response would fill the log.
func (r *Reader) warn(expr string, warnings promv1.Warnings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(warnings) == 0 {
		delete(r.warned, expr)
		return
	}
	r.metrics.warnings.Inc()
	if r.warned[expr] == warnings[0] {
		return
	}
	r.warned[expr] = warnings[0]
	r.options.Log.Warn("the metric store answered with a warning", "warning", shorten(r.secrets.hide(warnings[0])), "warnings", len(warnings))
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5eed)) }
