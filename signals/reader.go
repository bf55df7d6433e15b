package signals

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// Reader reads signals. It is safe for concurrent use.
type Reader struct {
	options Options
	api     promv1.API
	close   func()
	metrics *metrics
	turns   chan struct{}
	// decoders are the turns of large answers.
	decoders chan struct{}
	secrets  *secrets

	mu     sync.Mutex
	random *rand.Rand
	// suspects are the expressions that failed when they were last sent.
	suspects map[string]bool
	warned   map[string]string
}

// NewReader checks the options; the server itself is not contacted, so that a dead one does not keep us from starting.
func NewReader(o Options) (*Reader, error) {
	o = o.withDefaults()
	address, err := url.Parse(o.URL)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		return nil, fmt.Errorf("prometheus.url %q is not an address like http://prometheus:9090", redacted(address, o.URL))
	}
	transport, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	r, err := newReader(o, transport, transport.close)
	if err != nil {
		return nil, err
	}
	r.secrets = &transport.secrets
	return r, nil
}

func newReader(o Options, transport http.RoundTripper, closeTransport func()) (*Reader, error) {
	client, err := api.NewClient(api.Config{Address: o.URL, Client: &http.Client{
		Transport: transport,
		// Credentials are for the configured server only, so a redirect is an error to be seen, not followed.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
	if err != nil {
		return nil, fmt.Errorf("prometheus.url: %w", err)
	}
	decoders := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	return &Reader{
		options: o, api: promv1.NewAPI(inTurn{client, decoders}), decoders: decoders, close: closeTransport, metrics: newMetrics(o.Metrics),
		turns: make(chan struct{}, o.MaxConcurrent), random: newRandom(o.Seed),
		suspects: map[string]bool{}, warned: map[string]string{}, secrets: &secrets{},
	}, nil
}

func redacted(address *url.URL, text string) string {
	if address == nil {
		return "(not shown)"
	}
	if address.User != nil {
		return address.Redacted()
	}
	return text
}

// Close ends idle connections.
func (r *Reader) Close() { r.close() }

// Report receives the outcome of the query with that index of the service with that index: the valid samples, oldest
// first, and an error if the newest one is not valid. It is never called concurrently.
type Report = func(service, query int, samples []scaler.Sample, err error)

// Read asks the queries of many services as of one time and reports each exactly once, as soon as it is known. It
// returns when all are reported. The deadline of ctx bounds the whole; a query that has no answer by then fails.
func (r *Reader) Read(ctx context.Context, at time.Time, services [][]config.Query, report Report) {
	p := newPlan(services, func(q config.Query, value, age *table) ([]scaler.Sample, error) {
		return instantSample(q, at, value, age)
	})
	r.run(ctx, p, newTable, func(ctx context.Context, expr string) (model.Value, promv1.Warnings, error) {
		value, warnings, _, err := r.api.Query(ctx, expr, at, within(r.options.Timeout))
		return value, warnings, err
	}, report)
}

func instantSample(q config.Query, at time.Time, value, age *table) ([]scaler.Sample, error) {
	if q.EveryRow {
		return everySample(q, at, value)
	}
	found, failure := value.pick(q.Match)
	if failure != nil {
		return nil, failure
	}
	measured := at
	if age != nil {
		newest, failure := age.pick(q.Match)
		if failure != nil {
			return nil, failf(Age, "%v", failure)
		}
		if measured, failure = measuredAt(float64(newest.points[0].Value), at); failure != nil {
			return nil, failure
		}
	}
	s, failure := sample(measured, float64(found.points[0].Value), q.Scale)
	if failure != nil {
		return nil, failure
	}
	return []scaler.Sample{s}, nil
}

// everySample makes a sample of each row for the service. No row is an answer: there are none. Rows that are not valid
// are left out.
func everySample(q config.Query, at time.Time, value *table) ([]scaler.Sample, error) {
	if value.scalar {
		return nil, failf(WrongType, "a scalar has no rows")
	}
	found := value.find(q.Match)
	samples := make([]scaler.Sample, 0, len(found))
	for _, i := range found {
		if value.rows[i].histogram {
			continue
		}
		if s, failure := sample(at, float64(value.rows[i].points[0].Value), q.Scale); failure == nil {
			samples = append(samples, s)
		}
	}
	return samples, nil
}
