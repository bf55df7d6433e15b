package web

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/scaler"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC)

// fakeEngine shows two services, one in trouble, and two node groups, one held back.
type fakeEngine struct {
	board  []engine.Line
	status engine.Status
	pools  engine.Pools
	tick   atomic.Int64
}

func (f *fakeEngine) Status() engine.Status { return f.status }
func (f *fakeEngine) LastTick() time.Time   { return time.Unix(f.tick.Load(), 0) }
func (f *fakeEngine) Board() []engine.Line  { return append([]engine.Line(nil), f.board...) }
func (f *fakeEngine) Pools() engine.Pools   { return f.pools }

func (f *fakeEngine) Situation(id string) (engine.Situation, bool) {
	return engine.Situation{At: now, Request: expander.Request{Options: []expander.Option{{GroupID: "spot-a"}}}}, id == "kept"
}

func (f *fakeEngine) Ledgers() []link.Ledger { return []link.Ledger{{Service: "ml/chat", Known: true}} }

func (f *fakeEngine) Ledger(id string) (link.Ledger, bool) {
	return link.Ledger{Service: id, Known: true}, id == "ml/chat"
}

func (f *fakeEngine) Detail(id string) (engine.Detail, bool) {
	for _, l := range f.board {
		if l.ID == id {
			order, rate := 5, 7.5
			return engine.Detail{
				Line: l,
				Points: []engine.Point{{
					At: now, Available: true, Replicas: 5, Raw: 4, Ready: 4, Starting: 1, CurrentReplicas: 5, Binding: "queue",
					Limited: "window", Rate: &rate, Order: &order, Lead: 300,
				}},
				Outlook: &engine.Outlook{
					At: now, LeadSeconds: 300, Configured: "active", Mode: "shadow", Reasons: []string{"too-little-history"}, Replicas: 5,
					Binding: 0, PerReplica: 1.6, Price: 100, MaxShort: 0.01,
					Slots: []engine.Slot{{Start: now, Value: 7.5, Upper: 9, Replicas: 6, Counts: true, Short: [3]float64{0.5, 0.01, 0.0001}}},
					Past:  []engine.PastSlot{}, Usual: []engine.UsualSlot{}, WhatIf: []engine.WhatIf{{MaxShort: 0.01, Replicas: 6}},
				},
			}, true
		}
	}
	return engine.Detail{}, false
}

func newFakeEngine() *fakeEngine {
	good := scaler.Decision{
		Time: now, Service: "ml/chat", Replicas: 5, Active: true, Raw: 4, Need: 4, Binding: "queue", Limited: "window",
		Votes:   []scaler.Vote{{Name: "queue", Replicas: 4, Exact: 3.2, Text: "41 running over 16 slots; and more", Used: true}},
		Reasons: []string{"hold-window", "held-by-tolerance"}, Ready: 4, Starting: 1, CurrentReplicas: 5, HeldByTolerance: true,
		Lead: scaler.LeadTime{Seconds: 300, Samples: 9, Source: "learned"}, Min: 1, Max: 10, Text: "5 replicas: …", PolicyHash: "abc",
		Signals: []scaler.SignalAge{{Signal: scaler.Running, Value: 41}},
	}
	bad := scaler.Decision{
		Time: now, Service: "ml/embed", Unavailable: "no valid data", Reasons: []string{"all-sources-missing"}, Max: 4, CurrentReplicas: -1,
		Missing: []scaler.Signal{scaler.Rate}, Signals: []scaler.SignalAge{{Signal: scaler.Rate, Age: 600, Error: "connection refused"}},
	}
	held := &expander.FailureState{GroupID: "spot-a", Class: expander.FailureStock, Proven: true, Failures: 2, Until: now.Add(20 * time.Minute)}
	price, nodes := 0.352, 3
	f := &fakeEngine{
		board: []engine.Line{
			{ID: "ml/chat", Namespace: "ml"}, // configured; the trigger below stands for it
			{ID: "ml/chat-so/0a1b2c/chat", Namespace: "ml", ScaledObject: "chat-so", Decision: &good},
			{ID: "ml/embed", Namespace: "ml", Decision: &bad},
			{ID: "ml/new", Namespace: "ml"},
		},
		status: engine.Status{
			Now: now, LastTick: now.Add(-5 * time.Second), IntervalSeconds: 15, ConfigName: "warmpool.yaml", ConfigHash: "0123456789abcdef",
			Warnings: []engine.ConfigWarning{{Code: "pool-unreachable", Path: "pools[2]", Line: 12, Message: "no workload may grow it"}},
			Source:   true, Cluster: true, Services: 4, Triggers: 1, LastAsked: now.Add(-3 * time.Second), Broken: []engine.BrokenTrigger{},
		},
		pools: engine.Pools{
			Configured: true, Mode: expander.Observe, ViewKnown: true, ViewAt: now.Add(-time.Second), LastRequest: now.Add(-time.Minute),
			Pools: []engine.Pool{{Name: "spot", CapacityType: expander.Spot, HourlyCost: price}}, Workloads: []engine.PoolWorkload{},
			Groups: []engine.NodeGroup{{
				GroupFacts: expander.GroupFacts{ID: "spot-a", Pool: "spot", CapacityType: expander.Spot, GPUs: 1, HourlyCost: &price},
				Nodes:      &nodes, Held: held,
			}},
		},
	}
	f.tick.Store(now.Unix())
	return f
}

func newFakeLog(t *testing.T, e *fakeEngine) *decisions.Log {
	t.Helper()
	log, err := decisions.Open(decisions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log.AddScaler(*e.board[1].Decision)
	log.AddExpander(expander.Decision{
		Time: now.Add(-time.Minute), Outcome: expander.Selected, Selected: []string{"spot-a"}, Answer: []string{"spot-a", "other"}, Mode: expander.Observe,
		Reasons: []string{"stage:1"}, Candidates: []expander.Candidate{{ID: "spot-a", Pool: "spot", NodeCount: 1, Pods: 1}, {ID: "other", Rejected: "stage:2"}},
	})
	log.AddExpander(expander.Decision{Time: now, Outcome: expander.PassThrough, Candidates: []expander.Candidate{{ID: "other"}}})
	return log
}

func ask(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

// TestInterface fixes the JSON that page and commands read.
func TestInterface(t *testing.T) {
	e := newFakeEngine()
	h := API(e, newFakeLog(t, e))
	for name, path := range map[string]string{
		"overview": "overview", "services": "services?q=CHAT", "trouble": "services?state=trouble", "paged": "services?limit=1",
		"service": "services/ml/chat-so/0a1b2c/chat", "pools": "pools", "group": "groups/spot-a", "situation": "situations/kept",
	} {
		w := ask(t, h, "/api/v1/"+path)
		if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
			continue
		}
		var value any
		if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
			t.Errorf("%s (-want +got), -update writes it:\n%s", golden, diff)
		}
	}
}

// TestDecisionIsTheDecision: what a service page gets is the value of the board, not a copy of parts of it.
func TestDecisionIsTheDecision(t *testing.T) {
	e := newFakeEngine()
	w := ask(t, API(e, nil), "/api/v1/services/ml/chat-so/0a1b2c/chat")
	var got Service
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.board[1].Decision, got.Decision); diff != "" {
		t.Errorf("(-board +page):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	e := newFakeEngine()
	h := API(e, nil)
	for path, code := range map[string]int{
		"services/ml/none": 404, "groups/none": 404, "situations/gone": 404, "services?limit=0": 400, "services?limit=x": 400,
		"services?state=bad": 400, "nothing": 404,
	} {
		w := ask(t, h, "/api/v1/"+path)
		var said struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil || w.Code != code || said.Error == "" {
			t.Errorf("%s: %d %q, %v, want %d with a reason", path, w.Code, w.Body, err, code)
		}
	}
	e.board[1].Decision.Votes[0].Exact = math.NaN()
	if w := ask(t, h, "/api/v1/services/ml/chat-so/0a1b2c/chat"); w.Code != 500 || !strings.Contains(w.Body.String(), "NaN") {
		t.Errorf("a value that JSON cannot hold: %d %s", w.Code, w.Body)
	}
}

// TestEvents: an event at the start and after each tick, and the end with the request.
func TestEvents(t *testing.T) {
	e := newFakeEngine()
	s := httptest.NewServer(API(e, nil))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("content type %q", kind)
	}
	lines := bufio.NewScanner(answer.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	if first := next(); !strings.Contains(first, `"recorded":0`) {
		t.Errorf("first event %q", first)
	}
	e.tick.Add(15)
	var got news
	if err := json.Unmarshal([]byte(next()), &got); err != nil || !got.Tick.Equal(time.Unix(now.Unix()+15, 0)) {
		t.Errorf("event after the tick %+v, %v", got, err)
	}
}

// TestTooManyStreams are refused, so that tabs left open cannot use the process up.
func TestTooManyStreams(t *testing.T) {
	a := &api{engine: newFakeEngine(), streams: make(chan struct{}, 1)}
	a.streams <- struct{}{}
	w := httptest.NewRecorder()
	a.events(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/events", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestPage: the files with their kinds, nothing inline, nothing from elsewhere, small.
func TestPage(t *testing.T) {
	page := Page()
	index := ask(t, page, "/")
	csp := index.Header().Get("Content-Security-Policy")
	if index.Code != 200 || strings.Contains(csp, "unsafe") || !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") {
		t.Errorf("%d, policy %q", index.Code, csp)
	}
	inline := regexp.MustCompile(`(?i)<style|<script(?:\s[^>]*)?>[^<]|\son\w+=|\sstyle=|javascript:`)
	if found := inline.FindString(index.Body.String()); found != "" {
		t.Errorf("inline script or style: %q", found)
	}
	for _, match := range regexp.MustCompile(`(?:src|href)="(/[^"#]+)"`).FindAllStringSubmatch(index.Body.String(), -1) {
		if w := ask(t, page, match[1]); w.Code != 200 {
			t.Errorf("%s: %d", match[1], w.Code)
		}
	}
	total := 0
	elsewhere := regexp.MustCompile(`https?://[^"'\s)]+`)
	err := fs.WalkDir(embedded, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(embedded, name)
		total += len(content)
		for _, address := range elsewhere.FindAllString(string(content), -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/2000/svg") {
				t.Errorf("%s names %s", name, address)
			}
		}
		return err
	})
	if err != nil || total > 300_000 {
		t.Errorf("%d bytes, %v, want at most 300,000", total, err)
	}
	if w := ask(t, page, "/assets/"); w.Code != http.StatusNotFound {
		t.Errorf("a list of files: %d", w.Code)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/assets/app.js", nil)
	r.Header.Set("If-None-Match", ask(t, page, "/assets/app.js").Header().Get("ETag"))
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	if w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("unchanged file: %d", w.Code)
	}
}

// TestEveryCodeIsExplained holds the page's list of meanings against the constants of the cores.
func TestEveryCodeIsExplained(t *testing.T) {
	list, err := fs.ReadFile(embedded, "assets/reasons.js")
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^  '?([\w-]+)'?: '`).FindAllStringSubmatch(string(list), -1) {
		explained[match[1]] = true
	}
	code := regexp.MustCompile(`(?m)^\s+(?:Reason|Rejected|Warn)\w+\s+(?:Reason\s+)?=\s+"([\w-]+)"|^\s+\w+\s+Reason = "([\w-]+)"|d\.passThrough\("([\w-]+)"|append\(d\.reasons, "([\w-]+)"`)
	found := 0
	for _, folder := range []string{"../scaler", "../expander", "../predictor"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range code.FindAllStringSubmatch(string(source), -1) {
				found++
				if one := strings.Join(match[1:], ""); !explained[one] && !strings.HasSuffix(name, "_test.go") {
					t.Errorf("%s: the code %q has no meaning in assets/reasons.js", name, one)
				}
			}
		}
	}
	if found < 60 {
		t.Errorf("%d codes found: the pattern no longer fits the sources", found)
	}
}
