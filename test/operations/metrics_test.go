package operations

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/warmpool/warmpool/cluster"
	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/server"
	"github.com/warmpool/warmpool/signals"
)

var update = flag.Bool("update", false, "write generated files")

const root = "../.."

// metric is what the registry knows of one metric.
type metric struct {
	name, help string
	kind       dto.MetricType
	labels     []string
}

// registered puts the program's parts together the way serve does and returns every metric by name.
func registered(t *testing.T) map[string]metric {
	t.Helper()
	registry := prometheus.NewRegistry()
	settings, err := config.Parse("test.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9}\n"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := decisions.Open(decisions.Options{Ring: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	reading := signals.FromConfig(settings.Prometheus)
	reading.Metrics = registry
	reader, err := signals.NewReader(reading)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	e, err := engine.New(engine.Options{Config: settings, Decisions: log, Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	e.Tick(context.Background(), time.Now())
	e.Activate(context.Background(), time.Now())
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:9"})
	if err != nil {
		t.Fatal(err)
	}
	recorder := &histograms{Registry: registry, names: map[string]bool{}}
	if _, err := cluster.New(cluster.Options{Clients: &cluster.Clients{Kubernetes: client}, WatchStalls: true, WriteCosts: true, Metrics: recorder}); err != nil {
		t.Fatal(err)
	}
	files, err := server.SelfSigned(t.TempDir(), []string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{
		Expander: e, Scaler: e, Decisions: log, TLS: files, Registry: registry,
		ExpanderListen: "127.0.0.1:0", ScalerListen: "127.0.0.1:0", ScalerInsecureListen: "127.0.0.1:0", AdminListen: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return describe(t, registry, recorder.names)
}

// histograms notes which metrics of a part are histograms, as one without a series does not show it.
type histograms struct {
	*prometheus.Registry
	names map[string]bool
}

// MustRegister implements [prometheus.Registerer].
func (h *histograms) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if vec, ok := c.(*prometheus.HistogramVec); ok {
			descs := make(chan *prometheus.Desc, 1)
			vec.Describe(descs)
			h.names[described.FindStringSubmatch((<-descs).String())[1]] = true
		}
	}
	h.Registry.MustRegister(all...)
}

var described = regexp.MustCompile(`^Desc\{fqName: "(.*?)", help: "(.*?)"(?:, unit: ".*?")?, constLabels: \{.*?\}, variableLabels: \{(.*?)\}\}$`)

// describe reads the descriptions, which exist before the first value, and the types of the values.
func describe(t *testing.T, registry *prometheus.Registry, histograms map[string]bool) map[string]metric {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]dto.MetricType{}
	for _, f := range families {
		kinds[f.GetName()] = f.GetType()
	}
	descs := make(chan *prometheus.Desc, 1000)
	registry.Describe(descs)
	close(descs)
	metrics := map[string]metric{}
	for d := range descs {
		parts := described.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("a description of another form: %s", d)
		}
		m := metric{name: parts[1], help: strings.ReplaceAll(parts[2], `\"`, `"`)}
		if parts[3] != "" {
			m.labels = strings.Split(parts[3], ",")
		}
		kind, ok := kinds[m.name]
		switch {
		case ok:
			m.kind = kind
		case histograms[m.name]:
			m.kind = dto.MetricType_HISTOGRAM
		case strings.HasSuffix(m.name, "_total"):
			m.kind = dto.MetricType_COUNTER
		default:
			m.kind = dto.MetricType_GAUGE
		}
		metrics[m.name] = m
	}
	if len(metrics) < 30 {
		t.Fatalf("only %d metrics found: the test checks nothing", len(metrics))
	}
	return metrics
}

// TestMetricReference holds docs/metrics.md against the program.
func TestMetricReference(t *testing.T) {
	metrics := registered(t)
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		m := metrics[name]
		labels := "-"
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", m.name, strings.ToLower(m.kind.String()), labels, strings.ReplaceAll(m.help, "|", `\|`))
	}
	generated(t, filepath.Join(root, "docs/metrics.md"), "metrics", "| metric | type | labels | meaning |\n|---|---|---|---|\n"+out.String())
}

// TestMetricConventions holds names and help texts of our own metrics against the conventions of Prometheus.
func TestMetricConventions(t *testing.T) {
	var families []*dto.MetricFamily
	for _, m := range registered(t) {
		if strings.HasPrefix(m.name, "warmpool_") {
			families = append(families, &dto.MetricFamily{Name: &m.name, Help: &m.help, Type: &m.kind})
		}
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// generated holds the part of a document between its markers against what it should be, or writes it with -update.
func generated(t *testing.T, path, marker, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start, end := "<!-- generated: "+marker+" -->\n", "<!-- end -->"
	before, rest, found := bytes.Cut(data, []byte(start))
	got, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		t.Fatalf("%s has no markers for %s", path, marker)
	}
	if string(got) == want {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date; run the test with -update (-document +program):\n%s", path, cmp.Diff(string(got), want))
	}
	text := string(before) + start + want + end + string(after)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
