package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/proto/externalscaler"
)

// planted is found in everything that the server must never show.
const planted = "hunter2plantedsecret"

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// secretTriggers are metadata with the secret in every place where users have put one.
var secretTriggers = map[string]map[string]string{
	"unknown key":         {"service": "llama", "prometheusPassword": planted},
	"environment":         {"service": "llama", "tokenFromEnv": planted},
	"raw query":           {"service": "llama", "waitingQuery": `up{token="` + planted + `"}`},
	"number":              {"service": "llama", "maxReplicas": planted},
	"word":                {"service": "llama", "preset": planted},
	"time zone":           {"service": "llama", "forecastTimeZone": planted},
	"holidays":            {"service": "llama", "forecastHolidays": planted},
	"duration":            {"service": "llama", "staleAfter": planted},
	"selector":            {"service": "llama", "selector": planted},
	"name":                {"service": planted + "!"},
	"name not known":      {"service": planted},
	"name, environment":   {"serviceFromEnv": planted},
	"model without sense": {"preset": "tgi", "maxReplicas": "3", "modelFromEnv": planted},
}

// TestSecretsAreNeverShown plants one secret in the metadata of triggers and in what the configuration names, and looks
// for it in errors, the log at its most talkative, metrics, decisions, the operator's interface and every file that is
// written.
func TestSecretsAreNeverShown(t *testing.T) {
	store := &metricStore{}
	store.running.Store(3)
	var authorized sync.Map
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorized.Store(r.Header.Get("Authorization")+"|"+r.Header.Get("X-Scope-OrgID"), true)
		if store.down.Load() { // as careless proxies answer
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"status":"error","errorType":"bad_data","error":"no access for %s in tenant %s"}`, r.Header.Get("Authorization"), r.Header.Get("X-Scope-OrgID"))
			return
		}
		store.ServeHTTP(w, r)
	}))
	defer prometheus.Close()
	dir := t.TempDir()
	token, data, file := filepath.Join(dir, "token"), filepath.Join(dir, "data"), filepath.Join(dir, "decisions.jsonl")
	adminToken := filepath.Join(dir, "admin-token")
	for _, path := range []string{token, adminToken} {
		if err := os.WriteFile(path, []byte(planted+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := &lockedBuffer{}
	configuration := fmt.Sprintf(`apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: %s, bearerTokenFile: %s, headers: {X-Scope-OrgID: %s}}
evaluationInterval: 1s
decisions: {file: %s}
services:
  - {name: llama, namespace: ml, preset: vllm, selector: {model_name: m}, replicas: {min: 0, max: 50}, perReplica: {concurrency: 1, serviceTime: 1s, maxUtilization: 1}, forecast: {mode: "off"}}
`, prometheus.URL, token, planted, file)
	s := startLogging(t, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), configuration, "--data-dir", data, "--admin-listen", "127.0.0.1:0", "--admin-token-file", adminToken, "--serve", "scaler")

	conn, err := grpc.NewClient("passthrough:///"+s.server.Addr("scaler-insecure").String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := externalscaler.NewExternalScalerClient(conn)
	var shown strings.Builder
	for name, metadata := range secretTriggers {
		metadata = maps.Clone(metadata)
		metadata["scalerAddress"] = "x"
		ref := &externalscaler.ScaledObjectRef{Namespace: "ml", Name: "llama", ScalerMetadata: metadata}
		_, one := client.GetMetricSpec(t.Context(), ref)
		_, two := client.GetMetrics(t.Context(), &externalscaler.GetMetricsRequest{ScaledObjectRef: ref, MetricName: "x"})
		_, three := client.IsActive(t.Context(), ref)
		stream, err := client.StreamIsActive(t.Context(), ref)
		if err == nil {
			_, err = stream.Recv()
		}
		for _, err := range []error{one, two, three, err} {
			if code := status.Code(err); code != codes.InvalidArgument && code != codes.NotFound {
				t.Errorf("%s: %v, want that it is refused", name, err)
			}
			fmt.Fprintln(&shown, name, err)
		}
	}
	// A good trigger too, so that there are decisions, and a failing store, so that there are errors of it.
	good := &externalscaler.ScaledObjectRef{Namespace: "ml", Name: "llama", ScalerMetadata: map[string]string{"service": "llama"}}
	for range 200 {
		if _, err = client.IsActive(t.Context(), good); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	store.down.Store(true)
	time.Sleep(1200 * time.Millisecond) // a tick of the loop by the wall clock
	admin := "http://" + s.server.Addr("admin").String()
	for _, path := range []string{"/metrics", "/api/v1/decisions", "/api/v1/overview", "/api/v1/services", "/api/v1/services/ml/llama", "/api/v1/overrides", "/api/v1/freeze", "/api/v1/pools", "/api/v1/ledger", "/api/v1/comparison?format=text", "/readyz", "/"} {
		shown.WriteString(getWith(t, admin+path, planted, http.StatusOK))
	}
	for _, path := range []string{"/metrics", "/api/v1/overview"} { // without the token, and with a wrong one that looks like it
		shown.WriteString(getWith(t, admin+path, "", http.StatusUnauthorized))
		shown.WriteString(getWith(t, admin+path, planted+"x", http.StatusUnauthorized))
	}
	for _, args := range [][]string{
		{"explain", "service", "ml/llama"}, {"explain", "service", "ml/llama", "-o", "json"}, {"override", "list"},
	} {
		shown.WriteString(output(t, append(args, "--server", admin, "--admin-token-file", adminToken)...))
	}
	copied := filepath.Join(t.TempDir(), "warmpool.yaml")
	if err := os.WriteFile(copied, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	shown.WriteString(output(t, "check-config", copied) + output(t, "check-config", "--queries", copied))
	if n := len(s.log.List(decisions.Filter{})); n == 0 {
		t.Error("no decision was recorded")
	}
	shown.WriteString(log.String())
	shown.WriteString(filesIn(t, dir, token, adminToken))
	if _, ok := authorized.Load("Bearer " + planted + "|" + planted); !ok {
		t.Error("the metric store did not get what it must get")
	}
	for line := range strings.Lines(shown.String()) {
		if strings.Contains(strings.ToLower(line), planted) {
			t.Errorf("the secret is shown: %.300s", line)
		}
	}
	if !strings.Contains(shown.String(), "prometheusPassword") || !strings.Contains(shown.String(), "tokenFromEnv") {
		t.Error("the keys at fault are not named")
	}
}

// getWith asks the admin listener with a token.
func getWith(t *testing.T, url, token string, want int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != want {
		t.Errorf("%s: status %d, want %d", url, response.StatusCode, want)
	}
	return fmt.Sprintf("%s: %d %s\n", url, response.StatusCode, content)
}

// filesIn is what all files below a directory hold, except some.
func filesIn(t *testing.T, dir string, except ...string) string {
	t.Helper()
	var held strings.Builder
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || slices.Contains(except, path) {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&held, "file %s: %s\n", path, content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return held.String()
}

// output is everything that a command prints.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if code := run(args, &out, &out); code != 0 {
		t.Errorf("%v: exit code %d: %s", args, code, &out)
	}
	return fmt.Sprintf("%v: %s\n", args, &out)
}
