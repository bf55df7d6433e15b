package keda

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// services is how many services the configuration has; service i is asked to have exactly i replicas.
const services = 121

// prometheusAPI answers instant queries: model mI has I running requests and none waiting.
type prometheusAPI struct {
	mu    sync.Mutex
	delay time.Duration
	down  bool
	asked int
}

func (p *prometheusAPI) set(delay time.Duration, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.down = delay, down
}

func (p *prometheusAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	delay, down := p.delay, p.down
	p.asked++
	p.mu.Unlock()
	time.Sleep(delay)
	if down {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	}
	query := r.FormValue("query")
	if strings.HasSuffix(r.URL.Path, "/query_range") {
		p.serveRange(w, r)
		return
	}
	at := float64(time.Now().UnixMilli()) / 1000
	rows := []any{}
	for i := range services {
		rows = append(rows, map[string]any{"metric": series(i), "value": []any{at, valueOf(query, i, at)}})
	}
	answer(w, "vector", rows)
}

// serveRange answers the same values for every step of the range.
func (p *prometheusAPI) serveRange(w http.ResponseWriter, r *http.Request) {
	number := func(key string) float64 {
		v, err := strconv.ParseFloat(r.FormValue(key), 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		return v
	}
	start, end, step := number("start"), number("end"), number("step")
	rows := []any{}
	for i := range services {
		values := []any{}
		for at := start; step > 0 && at <= end; at += step {
			values = append(values, []any{at, valueOf(r.FormValue("query"), i, at)})
		}
		rows = append(rows, map[string]any{"metric": series(i), "values": values})
	}
	answer(w, "matrix", rows)
}

func series(i int) map[string]string {
	return map[string]string{"namespace": "ai", "model_name": fmt.Sprintf("m%d", i)}
}

func valueOf(query string, i int, at float64) string {
	switch {
	case strings.Contains(query, "timestamp("):
		return fmt.Sprint(at)
	case strings.Contains(query, "running"):
		return fmt.Sprint(i)
	default:
		return "0"
	}
}

func answer(w http.ResponseWriter, kind string, rows []any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": "success",
		"data":   map[string]any{"resultType": kind, "result": rows},
	})
}

// warmpool is a running server.
type warmpool struct {
	address, tlsAddress, caFile string
	stop                        func()
}

// configuration is one service for each target from 0 to 120; concurrency 1 and full utilisation make the target the
// number of running requests.
func configuration(t *testing.T, prometheusURL string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus:\n  url: %s\n  timeout: 500ms\nevaluationInterval: 1s\nservices:\n", prometheusURL)
	for i := range services {
		fmt.Fprintf(&b, `  - name: s%d
    namespace: ai
    replicas: {min: 0, max: 120}
    preset: vllm
    selector: {model_name: m%d}
    perReplica: {concurrency: 1, serviceTime: 1s, maxUtilization: 1}
    forecast: {mode: "off", timeZone: UTC}
    staleAfter: 60s
    activation: {idleAfter: 15s} # the shortest: until then a zero at start is not believed
`, i, i)
	}
	path := filepath.Join(t.TempDir(), "warmpool.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs the binary named by WARMPOOL_BINARY on the given addresses and waits until it is ready.
func start(t *testing.T, config, plain, tls, tlsDir string) *warmpool {
	t.Helper()
	binary := os.Getenv("WARMPOOL_BINARY")
	if binary == "" {
		t.Fatal("WARMPOOL_BINARY is not set: run `make test-keda`, which builds the server and sets it")
	}
	admin := freeAddress(t)
	cmd := exec.Command(binary, "serve", "--config", config, "--serve", "scaler", "--scaler-listen", tls,
		"--scaler-insecure-listen", plain, "--admin-listen", admin, "--tls-self-signed", tlsDir, "--data-dir", t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", binary, err)
	}
	var last sync.Map
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			last.Store("line", lines.Text())
		}
	}()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var once sync.Once
	w := &warmpool{address: plain, tlsAddress: tls, caFile: filepath.Join(tlsDir, "ca.crt"), stop: func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGKILL)
			<-done
		})
	}}
	t.Cleanup(w.stop)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		resp, err := http.Get("http://" + admin + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return w
			}
		}
		select {
		case err := <-done:
			line, _ := last.Load("line")
			t.Fatalf("warmpool ended before it was ready: %v: %v", err, line)
		case <-ctx.Done():
			t.Fatal(errors.Join(errors.New("warmpool was not ready within 20 s"), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func prometheus(t *testing.T) (*prometheusAPI, string) {
	t.Helper()
	api := &prometheusAPI{}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return api, server.URL
}
