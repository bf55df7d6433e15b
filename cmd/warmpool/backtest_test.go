package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/predictor"
)

// recordTraffic writes ten days of a daily pattern on 10 minutes.
func recordTraffic(t *testing.T, name string) string {
	t.Helper()
	var text bytes.Buffer
	text.WriteString("timestamp,requests\n")
	at := time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC)
	for i := range 10 * 144 {
		y := 600 + 500*math.Sin(2*math.Pi*float64(i%144)/144) + 40*math.Sin(float64(i)*1.7)
		fmt.Fprintf(&text, "%s,%.1f\n", at.Add(time.Duration(i)*10*time.Minute).Format(time.RFC3339), y)
	}
	path := filepath.Join(t.TempDir(), name)
	data := text.Bytes()
	if strings.HasSuffix(name, ".gz") {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = zipped.Bytes()
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// execBacktest runs the command alone.
func execBacktest(args ...string) (string, error) {
	c := newBacktestCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.Execute()
	return out.String(), err
}

func TestBacktestOfAFile(t *testing.T) {
	series, dir := recordTraffic(t, "web_10m.csv.gz"), t.TempDir()
	forecasts := filepath.Join(dir, "out.csv")
	out, err := execBacktest("--series", series, "--lead", "30m", "--max-short", "2%", "--per-replica", "100",
		"--time-zone", "Europe/Berlin", "--forecasts", forecasts, "--report", filepath.Join(dir, "report"), "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Points           int
		WAPE, MASE       float64
		Coverage         float64
		Mode             string
		ReplicaHours     struct{ Reactive, Predictive, Oracle float64 }
		UnderProvisioned struct{ Reactive, Predictive float64 }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if got.Points != 720 || got.Mode != "active" || got.ReplicaHours.Oracle <= 0 || got.ReplicaHours.Predictive < got.ReplicaHours.Oracle {
		t.Errorf("result %+v", got)
	}
	file, err := os.Open(forecasts)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || strings.Join(rows[0], ",") != "issued_at,target_at,forecast,upper,order" {
		t.Fatalf("forecasts: %v, %v", rows[0], err)
	}
	for _, row := range rows[1:] {
		issued, err1 := time.Parse(time.RFC3339, row[0])
		target, err2 := time.Parse(time.RFC3339, row[1])
		value, err3 := strconv.ParseFloat(row[2], 64)
		upper, err4 := strconv.ParseFloat(row[3], 64)
		order, err5 := strconv.Atoi(row[4])
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		if target.Sub(issued) < 30*time.Minute || upper < value || value < 0 || order < 1 {
			t.Fatalf("row %v", row)
		}
	}
	if page, err := os.ReadFile(filepath.Join(dir, "report", "index.html")); err != nil || !bytes.Contains(page, []byte("<svg")) {
		t.Errorf("report: %v", err)
	}
	text, err := execBacktest("--series", series, "--lead", "30m")
	if err != nil || !strings.HasPrefix(text, "Enable at target 1 %: ") {
		t.Errorf("text %q, %v", text, err)
	}
}

func TestBacktestUsage(t *testing.T) {
	series := recordTraffic(t, "web_10m.csv")
	for name, args := range map[string][]string{
		"neither source":   {},
		"both sources":     {"--series", series, "--config", "c.yaml", "--service", "a"},
		"no service":       {"--config", "c.yaml"},
		"a share of 200 %": {"--series", series, "--max-short", "200%"},
		"a share of 0":     {"--series", series, "--max-short", "0"},
		"a negative lead":  {"--series", series, "--lead", "-5m"},
		"a format":         {"--series", series, "-o", "yaml"},
		"a negative load":  {"--series", series, "--per-replica", "-1"},
	} {
		var usage usageError
		if _, err := execBacktest(args...); !errors.As(err, &usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, args := range map[string][]string{
		"Atlantis":   {"--series", series, "--time-zone", "Europe/Atlantis"},
		"+02:00":     {"--series", series, "--time-zone", "+02:00"},
		"open serie": {"--series", series + ".none"},
		"open .none": {"--series", series, "--holidays", series + ".none"},
	} {
		if _, err := execBacktest(args...); err == nil || !strings.Contains(err.Error(), name[:4]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadHolidays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holidays")
	text := "date,name\n2026-12-25 Christmas Day\r\n\n# moved\n2026-12-26,Boxing Day\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readHolidays(path)
	if err != nil || len(got) != 2 || got[1].Day() != 26 {
		t.Errorf("holidays %v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("2026-12-25\n25.12.2026\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readHolidays(path); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a wrong date: %v", err)
	}
}

// A service's history comes from its Prometheus, here one that answers a daily pattern.
func TestBacktestOfAService(t *testing.T) {
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		start, _ := strconv.ParseFloat(r.Form.Get("start"), 64)
		end, _ := strconv.ParseFloat(r.Form.Get("end"), 64)
		step, _ := strconv.ParseFloat(r.Form.Get("step"), 64)
		var points []string
		for at := start; at <= end && step > 0; at += step {
			points = append(points, fmt.Sprintf(`[%.0f,"%.3f"]`, at, 30+25*math.Sin(2*math.Pi*math.Mod(at, 86400)/86400)))
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}}`, strings.Join(points, ","))
	}))
	defer store.Close()
	path := filepath.Join(t.TempDir(), "warmpool.yaml")
	text := fmt.Sprintf(`apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: %q}
services:
  - name: llama
    namespace: chat
    replicas: {min: 1, max: 20}
    preset: none
    queries: {waiting: 'sum(waiting)', running: 'sum(running)', rate: 'sum(rate(requests_total[1m]))'}
    perReplica: {concurrency: 8, serviceTime: 2s}
    forecast: {mode: shadow, maxShort: 2%%, timeZone: Europe/Berlin}
`, store.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := execBacktest("--config", path, "--service", "chat/llama", "--span", "168h")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "target 2 %") {
		t.Errorf("the service's own target is not used:\n%s", out)
	}
	if _, err := execBacktest("--config", path, "--service", "other"); err == nil || !strings.Contains(err.Error(), `no service "other"`) {
		t.Errorf("an unknown service: %v", err)
	}
}

func TestZonesComeWithTheProgram(t *testing.T) {
	t.Setenv("ZONEINFO", "")
	if _, err := predictor.LoadLocation("Asia/Kolkata"); err != nil {
		t.Error(err)
	}
}
