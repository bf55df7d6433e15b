package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// An exporter shows series as engines and gateways do.
type exporter struct {
	mu     sync.Mutex
	series map[string]float64
	server *http.Server
	addr   string
}

func newExporter() (*exporter, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &exporter{series: map[string]float64{}, addr: l.Addr().String()}
	e.server = &http.Server{Handler: e, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = e.server.Serve(l) }()
	return e, nil
}

func (e *exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, name := range slices.Sorted(maps.Keys(e.series)) {
		fmt.Fprintf(w, "%s %v\n", name, e.series[name])
	}
}

// load sets the running requests of a model; its queue is empty.
func (e *exporter) load(model string, running float64) {
	labels := fmt.Sprintf(`{namespace="e2e",model_name=%q,pod="engine"}`, model)
	e.set("vllm:num_requests_running"+labels, running)
	e.set("vllm:num_requests_waiting"+labels, 0)
}

func (e *exporter) set(series string, value float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.series[series] = value
}

// job is the name of the exporter's scrapes.
const job = "engines"

// A metricStore is a real Prometheus that scrapes one exporter every second.
type metricStore struct {
	binary, dir, addr string
	process           *process
}

func newMetricStore(dir, binary string, e *exporter) (*metricStore, error) {
	m := &metricStore{binary: binary, dir: filepath.Join(dir, "prometheus"), addr: "127.0.0.1:" + freePort()}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: %s\n    honor_labels: true\n    static_configs: [{targets: [%q]}]\n", job, e.addr)
	return m, os.WriteFile(filepath.Join(m.dir, "prometheus.yml"), []byte(config), 0o600)
}

func (m *metricStore) url() string { return "http://" + m.addr }

// start starts it, again on the same address and data after a stop, and waits until it answers.
func (m *metricStore) start(ctx context.Context) error {
	var err error
	m.process, err = launch(filepath.Dir(m.dir), "prometheus", m.binary, nil, []string{
		"--config.file=" + filepath.Join(m.dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(m.dir, "data"),
		"--storage.tsdb.retention.time=60d", // weeks of history for the forecast
		"--web.listen-address=" + m.addr, "--log.level=warn",
	})
	if err != nil {
		return err
	}
	return poll(30*time.Second, func() error {
		if m.process.Ended() {
			return fmt.Errorf("prometheus ended: %s", m.process.Output())
		}
		return get(ctx, http.DefaultClient, m.url()+"/-/ready")
	})
}

func (m *metricStore) stop() {
	if m != nil {
		m.process.stop(syscall.SIGTERM)
	}
}

// remember gives it a past: the samples of a series, as promtool makes blocks of them. It restarts the store.
func (m *metricStore) remember(ctx context.Context, samples []byte) error {
	text := filepath.Join(m.dir, "past.txt")
	if err := os.WriteFile(text, samples, 0o600); err != nil {
		return err
	}
	m.stop()
	promtool := filepath.Join(filepath.Dir(m.binary), "promtool")
	cmd := exec.CommandContext(ctx, promtool, "tsdb", "create-blocks-from", "openmetrics", "--quiet", "--max-block-duration=27h", text, filepath.Join(m.dir, "data"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("promtool: %w: %s", err, out)
	}
	return m.start(ctx)
}

// value is the first sample of an instant query.
func (m *metricStore) value(ctx context.Context, query string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url()+"/api/v1/query?query="+url.QueryEscape(query), http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("%s: %w", body, err)
	}
	if len(answer.Data.Result) == 0 {
		return 0, fmt.Errorf("no sample for %s", query)
	}
	text, _ := answer.Data.Result[0].Value[1].(string)
	return strconv.ParseFloat(text, 64)
}
