package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

type fakeCluster struct {
	pods  scaler.Pods
	view  expander.View
	panic bool
}

func (c fakeCluster) ExpanderView(time.Time) expander.View {
	if c.panic {
		panic("informer cache is gone")
	}
	return c.view
}

func (c fakeCluster) Pods(string, string) scaler.Pods {
	if c.panic {
		panic("informer cache is gone")
	}
	return c.pods
}

const expanderYAML = `
apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: http://127.0.0.1:9090}
caVersion: "1.36"
pools:
- {name: inference, class: inference, capacityType: on-demand, match: {nodeGroups: ["^inference"]}, hourlyCost: 1}
- {name: spot, class: elastic, capacityType: spot, match: {nodeGroups: ["^spot"]}, hourlyCost: 0.3}
expander:
  mode: active
  workloads:
  - name: online
    match: {podLabels: {tier: online}}
    stages: [{pools: [inference]}, {pools: [spot]}]
`

// gpuRequest has one GPU pod of the workload online and a group in each of its stages.
func gpuRequest() expander.Request {
	resources := expander.Resources{MilliCPU: 8000, Memory: 32 << 30, Extended: map[string]int64{"nvidia.com/gpu": 1}}
	group := func(id string) expander.Group {
		return expander.Group{ID: id, Capacity: resources, Allocatable: resources}
	}
	return expander.Request{
		Pods: []expander.Pod{{
			UID: "u1", Namespace: "ml", Name: "p1", Labels: map[string]string{"tier": "online"},
			Requests: expander.Resources{MilliCPU: 1000, Memory: 1 << 30, Extended: map[string]int64{"nvidia.com/gpu": 1}},
		}},
		Options: []expander.Option{
			{GroupID: "spot-a", NodeCount: 1, Pods: []int{0}}, {GroupID: "inference-a", NodeCount: 1, Pods: []int{0}},
		},
		Groups: []expander.Group{group("spot-a"), group("inference-a")},
	}
}

// TestBestOptionsPaths follows one request through the ways it can be answered.
func TestBestOptionsPaths(t *testing.T) {
	everything := []string{"spot-a", "inference-a"}
	for name, c := range map[string]struct {
		yaml    string
		cluster Cluster
		answer  []string
		outcome expander.Outcome
	}{
		"active":       {expanderYAML, nil, []string{"inference-a"}, expander.Selected},
		"observe":      {strings.Replace(expanderYAML, "mode: active", "mode: observe", 1), nil, everything, expander.Selected},
		"frozen":       {expanderYAML + "freeze: {expander: true, reason: incident}\n", nil, everything, expander.PassThrough},
		"no expander":  {expanderYAML[:strings.Index(expanderYAML, "expander:\n")], nil, everything, expander.PassThrough},
		"broken view":  {expanderYAML, fakeCluster{panic: true}, everything, expander.PassThrough},
		"cluster view": {expanderYAML, fakeCluster{view: expander.View{Known: true}}, []string{"inference-a"}, expander.Selected},
	} {
		t.Run(name, func(t *testing.T) {
			log, err := decisions.Open(decisions.Options{Ring: 10})
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			registry := prometheus.NewRegistry()
			e := newTestEngine(t, Options{
				Config: parseConfig(t, c.yaml), Cluster: c.cluster, Decisions: log, Metrics: registry,
			})
			d, err := e.BestOptions(t.Context(), gpuRequest())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.answer, d.Answer); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if name != "frozen" && d.Outcome != c.outcome {
				t.Errorf("outcome %s, want %s (%v)", d.Outcome, c.outcome, d.Reasons)
			}
			if records := log.List(decisions.Filter{Kind: decisions.KindExpander, Limit: 10}); name != "no expander" && len(records) != 1 {
				t.Errorf("%d records, want 1", len(records))
			}
			if want := map[bool]float64{true: 1}[name == "broken view"]; gathered(t, registry, "warmpool_expander_fail_open_total") != want {
				t.Errorf("fail-open count is not %v", want)
			}
		})
	}
}

// TestAnswerIsChecked rejects what the Cluster Autoscaler would misread.
func TestAnswerIsChecked(t *testing.T) {
	veto := &expander.Policy{VetoSupported: true}
	for name, c := range map[string]struct {
		decision expander.Decision
		policy   *expander.Policy
		valid    bool
	}{
		"one":             {expander.Decision{Answer: []string{"spot-a"}}, veto, true},
		"twice":           {expander.Decision{Answer: []string{"spot-a", "spot-a"}}, veto, false},
		"unknown":         {expander.Decision{Answer: []string{"other"}}, veto, false},
		"empty":           {expander.Decision{Outcome: expander.Selected}, veto, false},
		"veto":            {expander.Decision{Outcome: expander.Veto}, veto, true},
		"veto, older CA":  {expander.Decision{Outcome: expander.Veto}, &expander.Policy{}, false},
		"all of them":     {expander.Decision{Answer: []string{"inference-a", "spot-a"}}, veto, true},
		"nothing to keep": {expander.Decision{Outcome: expander.PassThrough}, veto, false},
	} {
		if problem := check(&c.decision, gpuRequest(), c.policy); (problem == "") != c.valid {
			t.Errorf("%s: %q, valid should be %v", name, problem, c.valid)
		}
	}
	if problem := check(&expander.Decision{Outcome: expander.PassThrough}, expander.Request{}, veto); problem != "" {
		t.Errorf("a request without options: %s", problem)
	}
}

// slowStore takes longer to save than a caller waits.
type slowStore struct {
	release chan struct{}
	history expander.History
	err     error
}

func (s *slowStore) Load(context.Context) (expander.History, error) { return s.history, s.err }

func (s *slowStore) Save(_ context.Context, h expander.History) (expander.History, error) {
	if s.release != nil {
		<-s.release
	}
	return h, nil
}

// TestOneAfterTheOther lets a second request wait for the first, and give up at its own deadline.
func TestOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{release: make(chan struct{})}
		e := newTestEngine(t, Options{Config: parseConfig(t, expanderYAML), History: store})
		first := make(chan error)
		go func() {
			_, err := e.BestOptions(t.Context(), gpuRequest())
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := e.BestOptions(ctx, gpuRequest()); !errors.Is(err, ErrBusy) {
			t.Errorf("the second request: %v, want ErrBusy", err)
		}
		close(store.release)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

// TestHistorySurvives keeps what was learnt over a restart, and starts as after a loss when the file is damaged.
func TestHistorySurvives(t *testing.T) {
	dir := t.TempDir()
	store := NewFileHistory(dir)
	e := newTestEngine(t, Options{Config: parseConfig(t, expanderYAML), History: store})
	if _, err := e.BestOptions(t.Context(), gpuRequest()); err != nil {
		t.Fatal(err)
	}
	saved, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.placement.history, saved, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("stored history (-memory +file):\n%s", diff)
	}
	if _, ok := saved.Pods["u1"]; !ok {
		t.Errorf("the pod of the request is not in the history: %+v", saved)
	}
	path := filepath.Join(dir, "expander-history.json")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"cut off":  content[:len(content)/2],
		"edited":   []byte(strings.Replace(string(content), "u1", "u2", 1)),
		"empty":    {},
		"not ours": []byte("{}"),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		after := newTestEngine(t, Options{Config: parseConfig(t, expanderYAML), History: store})
		d, err := after.BestOptions(t.Context(), gpuRequest())
		if err != nil || len(d.Answer) != 1 {
			t.Errorf("%s: answer %v, %v", name, d.Answer, err)
		}
		if after.placement.history.LostAt.IsZero() {
			t.Errorf("%s: the loss is not noted", name)
		}
		if kept, err := os.ReadFile(path + ".damaged"); err != nil || string(kept) != string(damaged) {
			t.Errorf("%s: the damaged file was not kept: %v", name, err)
		}
	}
}

// TestHistoryLoadedLate answers while the store cannot be read, saves nothing over it, and joins both later.
func TestHistoryLoadedLate(t *testing.T) {
	now := time.Now()
	store := &slowStore{err: errors.New("apiserver is away"), history: expander.History{
		Version: expander.HistoryVersion, Pods: map[string]expander.PodHistory{"old": {FirstSeen: now, LastSeen: now}},
	}}
	e := newTestEngine(t, Options{Config: parseConfig(t, expanderYAML), History: store})
	if _, err := e.BestOptions(t.Context(), gpuRequest()); err != nil {
		t.Fatal(err)
	}
	store.err = nil
	if _, err := e.BestOptions(t.Context(), gpuRequest()); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"old", "u1"} {
		if _, ok := e.placement.history.Pods[uid]; !ok {
			t.Errorf("pod %s is missing in the joined history", uid)
		}
	}
}

// FuzzHistoryFile reads any bytes without a panic, and only what carries its own checksum.
func FuzzHistoryFile(f *testing.F) {
	f.Add([]byte("warmpool-history 1 00000000\n{}"))
	f.Add([]byte("warmpool-history 1 99914b93\n{}"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		if h, err := decodeHistory(content); err == nil && h.Version > expander.HistoryVersion {
			t.Errorf("a history of version %d was read", h.Version)
		}
	})
}
