package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/web"
	"github.com/warmpool/warmpool/wire"
)

// liveServer has one service, one node group and one recorded choice: that of a recorded request.
func liveServer(t *testing.T) (address, decision string) {
	t.Helper()
	at := time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)
	recorded := explain(t, "ca136-001")
	target := scaler.Decision{Time: at, Service: "ml/chat", Replicas: 7, Binding: "queue", Text: "7 replicas: queue asks 6.4", Votes: []scaler.Vote{{Name: "queue", Replicas: 7, Used: true}}}
	yesterday := 3.5
	service := web.Service{
		ID: "ml/so/0a1b/chat", Namespace: "ml", Name: "chat", Now: at, Decision: &target,
		Warnings: []web.Warning{{Severity: web.SeverityInfo, Text: "the forecast is not used", Remedy: "wait a day"}},
		Recent:   []web.Record{{ID: "0c", Time: at, Summary: "7 replicas, asked for by queue"}},
		Outlook: &engine.Outlook{
			Mode: "active", Configured: "active", Reasons: []string{"ok"}, Binding: 0, MaxShort: 0.01, Compared: 10, Within: 9,
			Slots:  []engine.Slot{{Start: at, Value: 12, Upper: 13, Replicas: 8, Counts: true, Short: [3]float64{0.9, 0.002, 0.00004}}},
			Usual:  []engine.UsualSlot{{Start: at.Add(time.Hour), Yesterday: &yesterday, YesterdayReplicas: 3}},
			WhatIf: []engine.WhatIf{{MaxShort: 0.01, Replicas: 8}, {MaxShort: 0.002, Replicas: 9}},
		},
	}
	until := at.Add(20 * time.Minute)
	record := decisions.OfExpander(recorded)
	record.ID = "0d"
	group := web.Group{
		NodeGroup: engine.NodeGroup{
			GroupFacts: expander.GroupFacts{ID: "gpu-l4", Pool: "l4", CapacityType: expander.OnDemand, GPUs: 1, GPUModel: "L4"},
			Held:       &expander.FailureState{GroupID: "gpu-l4", Class: expander.FailureStock, Proven: true, Failures: 2, Until: until},
		},
		Last: &record,
	}
	data, err := os.ReadFile(filepath.Join(capturesDir, "ca136-001.bin"))
	if err != nil {
		t.Fatal(err)
	}
	request, _, err := wire.Decode(wire.Bytes(data), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	inputs := scaler.Inputs{CurrentReplicas: -1, Signals: map[scaler.Signal][]scaler.Sample{
		scaler.Waiting: {{At: at, Value: 0}}, scaler.Running: {{At: at, Value: 40}},
	}}
	policy := scaler.Policy{
		Namespace: "ai-prod", Name: "llm-7b", Min: 1, Max: 20, Concurrency: 16, MaxUtilization: 0.8, Hash: "of then",
		Sources: []scaler.Source{{Signal: scaler.Waiting}, {Signal: scaler.Running}},
	}
	past, _ := scaler.Evaluate(policy, scaler.State{}, inputs, at)
	changed := decisions.OfScaler(past)
	changed.ID = "0e"
	answers := map[string]any{
		"/api/v1/services":                 map[string]any{"services": []web.Line{{ID: service.ID, Namespace: "ml", Name: "chat"}}},
		"/api/v1/services/ml/so/0a1b/chat": service,
		"/api/v1/groups/gpu-l4":            group,
		"/api/v1/ledger/ml/so/0a1b/chat": link.Ledger{
			Known: true, Workload: "online", HourlyCost: 2.56, Holdings: []link.Holding{{Capacity: link.OnDemand, Pool: "gpu-l4", Replicas: 3, Ready: 2, HourlyCost: 2.56}},
			FellBack: []link.FellBack{{Pool: "gpu-l4", Replicas: 3, Why: "spot failed"}}, Base: &link.BaseAdvice{Text: "median 3"},
		},
		"/api/v1/decisions/0d":  record,
		"/api/v1/situations/0d": engine.Situation{At: at, Request: request},
		"/api/v1/decisions/0e":  changed,
		"/api/v1/situations/0e": engine.Situation{At: at, Target: &engine.Evaluation{Policy: policy, Inputs: inputs}},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		value, ok := answers[r.URL.Path]
		if !ok {
			http.Error(w, `{"error":"no such thing"}`, http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(value)
	}))
	t.Cleanup(s.Close)
	return s.URL, record.ID
}

func TestExplainLive(t *testing.T) {
	address, id := liveServer(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"service", "chat"}, []string{"7 replicas: queue asks 6.4", "12 req/s", "90.0 %", "9 of 10 slots", "0.2 %", "wait a day", "0c", "3.5 req/s", "runs on:  3 on-demand, $2.56 an hour", "spot failed", "on-demand base: median 3"}},
		{[]string{"service", "ml/chat"}, []string{"7 replicas"}},
		{[]string{"service", "ml/so/0a1b/chat", "-o", "json"}, []string{`"replicas": 7`, `"whatIf"`}},
		{[]string{"group", "gpu-l4"}, []string{"held back until 2026-08-03T12:20:00Z after 2 failures (stock, proven)", "chose gpu-l4", "price unknown", "not known without a view"}},
		{[]string{"decision", id}, []string{"chose gpu-l4", "stage:2"}},
		{[]string{"decision", id, "--config", capturesConfig}, []string{"the same decision in every number", "chose gpu-l4"}},
		{[]string{"decision", "0e"}, []string{"ai-prod/llm-7b", "40 running"}},
		// 40 over 16 at 80 % are 3.13; over 8 at 50 % they are 10.
		{[]string{"decision", "0e", "--replay"}, []string{"with the policy of then", "the same decision in every number", "4 replicas"}},
		{[]string{"decision", "0e", "--config", "testdata/replay.yaml"}, []string{"with testdata/replay.yaml", "10 replicas"}},
	} {
		out, stderr, code := warmpool(t, append([]string{"explain"}, append(c.args, "--server", address, "--admin-token-file", token)...)...)
		if code != 0 {
			t.Errorf("%v: code %d, %s", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v: %q is not in\n%s", c.args, want, out)
			}
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"service"}, exitUsage, "one service name is required"},
		{[]string{"service", "chat", "-o", "yaml"}, exitUsage, "text or json"},
		{[]string{"service", "none", "--admin-token-file", token}, exitFailed, "no service \"none\""},
		{[]string{"group", "none", "--admin-token-file", token}, exitFailed, "no such thing"},
		{[]string{"group", "gpu-l4"}, exitFailed, "--admin-token-file"},
		{[]string{"decision", "0d", "--config", "missing.yaml", "--admin-token-file", token}, exitFailed, "missing.yaml"},
	} {
		_, stderr, code := warmpool(t, append([]string{"explain"}, append(c.args, "--server", address)...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: code %d, %s; want %d and %q", c.args, code, stderr, c.code, c.want)
		}
	}
	if _, stderr, code := warmpool(t, "explain", "service", "x", "--server", "localhost"); code != exitFailed || !strings.Contains(stderr, "http://127.0.0.1:8080") {
		t.Errorf("code %d, %s", code, stderr)
	}
}
