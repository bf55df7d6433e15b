package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSource answers expressions from functions of time, each after its own delay, like a metric store would.
type fakeSource struct {
	mu     sync.Mutex
	values map[string]func(at time.Time) (float64, error)
	delays map[string]time.Duration
	// requests counts the distinct expressions of each read.
	requests []int
	// rewind answers Rewind by the same functions when set; else there is no history.
	rewind bool
	// gaps makes what fails a gap in a history instead of an error.
	gaps bool
}

func newFakeSource() *fakeSource {
	return &fakeSource{values: map[string]func(time.Time) (float64, error){}, delays: map[string]time.Duration{}}
}

func (f *fakeSource) set(expr string, value float64) {
	f.setFunc(expr, func(time.Time) (float64, error) { return value, nil })
}

func (f *fakeSource) fail(expr string) {
	f.setFunc(expr, func(time.Time) (float64, error) { return 0, errors.New("connection refused") })
}

func (f *fakeSource) setFunc(expr string, value func(time.Time) (float64, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.values[expr] = value
}

var errFakeEmpty = errors.New("no data")

func (f *fakeSource) at(expr string, at time.Time) ([]scaler.Sample, error) {
	f.mu.Lock()
	value, ok := f.values[expr]
	f.mu.Unlock()
	if !ok {
		return nil, errFakeEmpty
	}
	v, err := value(at)
	if err != nil {
		return nil, err
	}
	return []scaler.Sample{{At: at, Value: v}}, nil
}

func (f *fakeSource) Read(ctx context.Context, at time.Time, services [][]config.Query,
	report func(int, int, []scaler.Sample, error),
) {
	// One look at each expression serves all who ask for it, as in the real source.
	type ask struct{ service, query int }
	type answer struct {
		samples []scaler.Sample
		err     error
		delay   time.Duration
	}
	answers := map[string]answer{}
	late := map[time.Duration][]ask{}
	for s := range services {
		for q := range services[s] {
			expr := services[s][q].Expr
			known, ok := answers[expr]
			if !ok {
				known.samples, known.err = f.at(expr, at)
				known.delay = f.delays[expr]
				answers[expr] = known
			}
			if known.delay > 0 {
				late[known.delay] = append(late[known.delay], ask{s, q})
				continue
			}
			report(s, q, known.samples, known.err)
		}
	}
	f.mu.Lock()
	f.requests = append(f.requests, len(answers))
	f.mu.Unlock()
	started := time.Now()
	for _, delay := range slices.Sorted(maps.Keys(late)) {
		arrived := sleepUntil(ctx, started.Add(delay))
		for _, a := range late[delay] {
			known := answers[services[a.service][a.query].Expr]
			if !arrived {
				known.samples, known.err = nil, ctx.Err()
			}
			report(a.service, a.query, known.samples, known.err)
		}
	}
}

func (f *fakeSource) Rewind(_ context.Context, from, to time.Time, step time.Duration, services [][]config.Query,
	report func(int, int, []scaler.Sample, error),
) {
	for s := range services {
		for q := range services[s] {
			var all []scaler.Sample
			for at := from; f.rewind && !at.After(to); at = at.Add(step) {
				if samples, err := f.at(services[s][q].Expr, at); err == nil {
					all = append(all, samples...)
				}
			}
			report(s, q, all, nil)
		}
	}
}

func (f *fakeSource) History(_ context.Context, q config.Query, from, to time.Time, slot time.Duration) ([]float64, error) {
	var means []float64
	for at := from; at.Before(to); at = at.Add(slot) {
		samples, err := f.at(q.Expr, at.Add(slot/2))
		if err != nil && f.gaps {
			means = append(means, math.NaN())
			continue
		}
		if err != nil {
			return nil, err
		}
		means = append(means, samples[0].Value)
	}
	return means, nil
}

// serviceYAML is a service whose target is its running requests: one slot a replica, fully used.
func serviceYAML(namespace, name string, more string) string {
	return fmt.Sprintf(`
- name: %[2]s
  namespace: %[1]s
  replicas: {min: 0, max: 50}
  preset: none
  queries: {waiting: 'waiting_%[3]s', running: 'running_%[3]s'}
  perReplica: {concurrency: 1, maxUtilization: 1}
  forecast: {mode: "off"}
  scaleDown: {window: 60s, maxStep: 0%%, period: 0s}
  startup: {lead: 60s}
  staleAfter: 90s
  %[4]s`, namespace, name, exprOf(namespace, name), more)
}

func exprOf(namespace, name string) string {
	return fmt.Sprintf("of_%s_%s", plain(namespace), plain(name))
}

func plain(s string) string {
	out := []byte(s)
	for i := range out {
		if out[i] == '-' {
			out[i] = '_'
		}
	}
	return string(out)
}

// setDemand sets the running requests, and nothing waiting.
func (f *fakeSource) setDemand(namespace, name string, running float64) {
	f.set("running_"+exprOf(namespace, name), running)
	f.set("waiting_"+exprOf(namespace, name), 0)
}

func (f *fakeSource) failDemand(namespace, name string) {
	f.fail("running_" + exprOf(namespace, name))
	f.fail("waiting_" + exprOf(namespace, name))
}

func testConfig(t testing.TB, services ...string) *config.Config {
	t.Helper()
	text := "apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9090}\nservices:"
	for _, s := range services {
		text += s
	}
	if len(services) == 0 {
		text += " []\n"
	}
	return parseConfig(t, text)
}

func parseConfig(t testing.TB, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newTestEngine(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func triggerOf(namespace, object, service string) Trigger {
	return Trigger{Namespace: namespace, ScaledObject: object, Metadata: map[string]string{
		"scalerAddress": "warmpool:9444", "service": service,
	}}
}

func mustResolve(t testing.TB, e *Engine, trigger Trigger) string {
	t.Helper()
	id, err := e.Resolve(trigger)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wantTarget reads the board and compares the number of replicas; -1 stands for no answer.
func wantTarget(t testing.TB, e *Engine, id string, want int) scaler.Decision {
	t.Helper()
	d, err := e.Target(id)
	got := d.Replicas
	if err != nil || d.Unavailable != "" {
		got = -1
	}
	if got != want {
		t.Errorf("target of %s = %d (error %v, unavailable %q, reasons %v), want %d", id, got, err, d.Unavailable, d.Reasons, want)
	}
	if got >= 0 && d.Active != (got > 0) {
		t.Errorf("%s: active %v with target %d", id, d.Active, got)
	}
	return d
}
