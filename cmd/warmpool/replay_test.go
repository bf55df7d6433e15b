package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// trafficFile writes two days of made-up traffic with a daily wave.
func trafficFile(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("timestamp,requests\n")
	at := time.Date(2031, 3, 3, 0, 0, 0, 0, time.UTC)
	for i := range 2 * 144 {
		hour := i / 6 % 24
		fmt.Fprintf(&b, "%s,%d\n", at.Add(time.Duration(i)*10*time.Minute).Format(time.RFC3339), 200+40*min(hour, 24-hour)+i%7*9)
	}
	path := filepath.Join(t.TempDir(), "traffic.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func command(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

// TestReplayTraffic checks the documented JSON, that the same seed gives the same bytes, and the page.
func TestReplayTraffic(t *testing.T) {
	file, dir := trafficFile(t), filepath.Join(t.TempDir(), "out")
	args := []string{"replay", "--trace", file, "--policy", "warmpool,hpa-gpu,oracle", "--seed", "7", "--need", "2", "-o", "json", "--report", dir}
	code, first, stderr := command(args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if _, second, _ := command(args...); second != first {
		t.Error("the same seed gave other bytes")
	}
	var result struct {
		Policies []struct {
			Policy        string   `json:"policy"`
			Requests      *int64   `json:"requests"`
			SLOAttainment *float64 `json:"sloAttainment"`
			WaitSeconds   *struct{ P50, P95, P99 *float64 }
			GPUHours      *float64 `json:"gpuHours"`
			Cost          *float64 `json:"cost"`
			Changes       *float64 `json:"replicaChanges"`
			Short         *float64 `json:"underProvisionedMinutes"`
		} `json:"policies"`
	}
	if err := json.Unmarshal([]byte(first), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Policies) != 3 || result.Policies[0].Policy != "warmpool" || result.Policies[2].Policy != "oracle" {
		t.Fatalf("policies: %s", first)
	}
	for _, p := range result.Policies {
		if p.Requests == nil || *p.Requests < 1000 || p.SLOAttainment == nil || *p.SLOAttainment > 1 || p.WaitSeconds == nil || p.WaitSeconds.P99 == nil ||
			p.GPUHours == nil || *p.GPUHours <= 0 || p.Cost == nil || p.Changes == nil || p.Short == nil {
			t.Errorf("%s lacks a field or has none that makes sense:\n%s", p.Policy, first)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "replay.html"))
	if err != nil || !bytes.Contains(page, []byte("<svg")) || bytes.Contains(page, []byte("http")) {
		t.Errorf("the page has no plot, or needs something from outside (%v)", err)
	}
}

// TestReplayPods checks the documented JSON of the placement replay.
func TestReplayPods(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pods := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
	for i := range 30 {
		pods += fmt.Sprintf("pod-%d,%d,4096,%d,%d,,LS,Running,%d,%d,0\n", i, 1000+i%4*1000, i%3, min(i%3, 1)*1000, i*400, i*400+3000)
	}
	catalogue := "instance_type,vcpu,memory_gib,gpu_name,gpu_count,gpu_memory_gib_each,ondemand_usd_per_hour,preemptible_usd_per_hour\n"
	for i, m := range []string{"g4dn.xlarge", "g4dn.2xlarge", "g4dn.4xlarge", "g4dn.8xlarge", "g4dn.12xlarge", "g4dn.metal"} {
		catalogue += fmt.Sprintf("%s,%d,%d,card,%d,24,%d.5,1\n", m, 8*(i+1), 32*(i+1), 1+i, 1+i)
	}
	code, out, stderr := command("replay", "--pods", write("pods.csv", pods), "--nodes", write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,96000,393216,8,T4\n"),
		"--catalog", write("machines.csv", catalogue), "--groups", "one-model", "--expander", "least-waste,warmpool", "-o", "json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, key := range []string{`"lowerBoundCost"`, `"expander": "warmpool"`, `"cost"`, `"gpuHours"`, `"idleGPUShare"`, `"pendingSeconds"`, `"p50"`, `"p95"`, `"max"`, `"nodesStarted"`, `"gpus": 8`} {
		if !strings.Contains(out, key) {
			t.Errorf("no %s in %s", key, out)
		}
	}
}

// TestReplayRefuses checks one clear error for each mistake, and the exit code.
func TestReplayRefuses(t *testing.T) {
	file := trafficFile(t)
	broken := filepath.Join(t.TempDir(), "broken.csv")
	if err := os.WriteFile(broken, []byte("timestamp,requests\n2031-03-03T00:00:00Z,many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		say  string
	}{
		{nil, exitUsage, "either --trace or --pods"},
		{[]string{"--trace", file, "--policy", "magic"}, exitUsage, `unknown policy "magic": choose among`},
		{[]string{"--trace", file, "-o", "xml"}, exitUsage, "text or json"},
		{[]string{"--trace", file, "--startup", "-1s"}, exitUsage, "between 1s and 2h"},
		{[]string{"--trace", file + ".missing"}, exitFailed, "no such file"},
		{[]string{"--trace", broken}, exitFailed, `broken.csv:2:22: "many"`},
		{[]string{"--pods", file}, exitUsage, "needs --catalog"},
		{[]string{"--pods", file, "--catalog", file}, exitFailed, "traffic.csv:1:1: the header is"},
		{[]string{"--pods", file, "--catalog", file, "--expander", "magic"}, exitUsage, `unknown expander "magic"`},
	} {
		code, _, stderr := command(append([]string{"replay"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.say) {
			t.Errorf("%v: exit code %d, %q; want %d and %q", c.args, code, stderr, c.code, c.say)
		}
	}
}
