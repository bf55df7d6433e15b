package scaler

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// The cases come from public bug reports. Those that say what a server or a stream does are the business of engine and
// server; the models of the autoscaler and of KEDA test theirs in their own packages.
var casesElsewhere = map[string]string{
	"keda-7729": "server", "keda-2665": "server", "keda-6606": "server", "keda-2571": "server",
	"keda-6986": "stream", "noctaya-42": "stream",
	"k8s-138505": "hpa", "keda-7095": "hpa", "keda-8056": "keda", "keda-6450": "keda",
}

type rawCase struct {
	ID            string          `json:"id"`
	Source        string          `json:"source"`
	Kind          string          `json:"kind"`
	Symptom       string          `json:"symptom"`
	Given, Expect json.RawMessage `json:"-"`
	Why           string          `json:"why"`
}

func loadCases(t *testing.T) []rawCase {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			rawCase
			Given  json.RawMessage `json:"given"`
			Expect json.RawMessage `json:"expect"`
		} `json:"cases"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	cases := make([]rawCase, len(file.Cases))
	for i, c := range file.Cases {
		cases[i] = c.rawCase
		cases[i].Given, cases[i].Expect = c.Given, c.Expect
	}
	return cases
}

// strict decodes JSON and refuses fields that the test would silently ignore.
func strict(t *testing.T, data json.RawMessage, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func TestCases(t *testing.T) {
	ran := 0
	for _, c := range loadCases(t) {
		if where, ok := casesElsewhere[c.ID]; ok {
			t.Logf("%s is tested in %s", c.ID, where)
			ran++
			continue
		}
		run, ok := map[string]func(*testing.T, rawCase){
			"keda-7900": presentTolerance, "keda-5159": presentWire, "keda-7475": presentInvalid,
			"keda-6898": valueForecast, "keda-gpu-scaler-110": sequenceTriggers,
		}[c.ID]
		if !ok {
			if c.Kind != "sequence" {
				t.Errorf("no test runs the case %s of kind %s", c.ID, c.Kind)
				continue
			}
			run = runSequence
		}
		ran++
		t.Run(c.ID, func(t *testing.T) { run(t, c) })
	}
	if ran != 27 {
		t.Errorf("%d cases ran, want 27", ran)
	}
}

// caseService is a policy in the cases' words.
type caseService struct {
	Min, Max         int
	C, S, RhoMax     float64
	DrainSeconds     float64
	HoldFor          string
	Form             string
	TargetPerReplica float64
	SlotsPerReplica  float64
	Vote             string
	IdleAfter        string
	StartP99         string
	ScaleDown        struct{ Window string }
	Sources          []struct {
		Name          string
		Required      bool
		OnlyWhenReady bool
	}
}

type caseGPU struct {
	U       any
	Ready   int
	Running *float64
}

type caseStep struct {
	At                   string
	Lambda, Q            *float64
	Running, Ongoing     *float64
	GPU                  *caseGPU
	Ready, Starting      *int
	StartingAge          string
	QueueSource, Samples string
	Result, Gateway      any
	Engine, Event, Note  string
	Forecast             *int
	Trigger, Namespace   string
	Raw                  *int
}

type caseExpect struct {
	Value                                    *int
	Active                                   *bool
	Binding, Error, Reason                   string
	Stale, Missing                           []string
	Votes                                    map[string]any
	Raw, NaiveUtilisation, Replicas          *int
	NaiveRatio, NaiveQueue, WithStartingTerm *int
}

type caseSequence struct {
	Service                caseService
	SourceTimeout          string
	MinReplicaCount        *int
	ReplicasAtStart        *int
	Steps                  []caseStep
	OtherCountsAtEveryStep []struct{ Ready, Starting int }
}

type caseSequenceExpect struct {
	Steps                     []caseExpect
	AnswerWithin              string
	SameValuesWithOtherCounts bool
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// policy compiles a case's service. Its steps tell which sources are configured.
func (s caseService) policy(t *testing.T, steps []caseStep) Policy {
	p := Policy{
		Namespace: "ml", Name: "case", Min: s.Min, Max: s.Max, Concurrency: s.C,
		ServiceTime: time.Duration(s.S * float64(time.Second)), MaxUtilization: s.RhoMax,
		DrainTime:       time.Duration(s.DrainSeconds * float64(time.Second)),
		QueuePerReplica: s.TargetPerReplica, IdleAfter: duration(t, s.IdleAfter), StaleAfter: duration(t, s.HoldFor),
		ScaleDown: ScaleDown{Window: duration(t, s.ScaleDown.Window)},
		Forecast:  ForecastLimit{MaxPrewarm: 1},
		Startup:   StartupRule{Lead: 45 * time.Second},
	}
	configured := map[Signal]bool{}
	switch {
	case s.SlotsPerReplica > 0:
		p.Form, p.Concurrency, p.MaxUtilization = FormConcurrency, s.SlotsPerReplica, 1
		configured[Running] = true
	case s.Form != "":
		p.Form = QueueForm(s.Form)
		configured[Waiting], configured[Running] = true, p.Form == FormConcurrency
	default:
		p.Form = FormRate
		configured[Waiting], configured[Rate] = true, true
	}
	for _, step := range steps {
		if step.GPU != nil {
			configured[Utilization] = true
			configured[Running] = configured[Running] || step.GPU.Running != nil
		}
	}
	engineOnly := false
	for _, source := range s.Sources {
		if source.Name == "engine" {
			configured[Running], engineOnly = true, source.OnlyWhenReady
		}
	}
	for _, signal := range []Signal{Waiting, Running, Rate, Utilization} {
		if configured[signal] {
			p.Sources = append(p.Sources, Source{Signal: signal, OnlyWhenReady: signal == Running && engineOnly})
		}
	}
	return p
}

var caseStart = time.Date(2027, 2, 15, 9, 0, 0, 0, time.UTC)

// inputs turns a step into what the program would see.
func (step caseStep) inputs(t *testing.T, s caseService, now time.Time) Inputs {
	in := Inputs{Signals: map[Signal][]Sample{}, CurrentReplicas: -1, HPATolerance: 0.1}
	set := func(signal Signal, v *float64) {
		if v != nil {
			in.Signals[signal] = []Sample{{At: now, Value: *v}}
		}
	}
	lambda, q := step.Lambda, step.Q
	for _, source := range []any{step.Result, step.Gateway} {
		if demand, ok := source.(map[string]any); ok {
			l, w := demand["lambda"].(float64), demand["Q"].(float64)
			lambda, q = &l, &w
		}
	}
	set(Rate, lambda)
	set(Waiting, q)
	set(Running, step.Running)
	set(Running, step.Ongoing)
	if g := step.GPU; g != nil {
		set(Running, g.Running)
		values, ok := g.U.([]any)
		if !ok {
			values = []any{g.U, g.U, g.U}
		}
		for i, v := range values {
			at := now.Add(time.Duration(i+1-len(values)) * 10 * time.Second)
			in.Signals[Utilization] = append(in.Signals[Utilization], Sample{At: at, Value: v.(float64)})
		}
		in.Pods = Pods{Known: true, Ready: g.Ready}
	}
	if step.Ready != nil {
		in.Pods = Pods{Known: true, Ready: *step.Ready}
		age := duration(t, step.StartingAge)
		if age == 0 {
			age = time.Minute
		}
		for range valueOf(step.Starting) {
			in.Pods.Starting = append(in.Pods.Starting, age)
		}
	}
	if p99 := duration(t, s.StartP99); p99 > 0 {
		in.Pods.StartTimes = []time.Duration{p99, p99, p99, p99, p99}
	}
	if step.Forecast != nil {
		in.Forecast = &Forecast{Replicas: *step.Forecast, Used: true}
	}
	return in
}

func valueOf[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

func runSequence(t *testing.T, c rawCase) {
	var given caseSequence
	var expect caseSequenceExpect
	strict(t, c.Given, &given)
	strict(t, c.Expect, &expect)
	runSteps(t, given, expect)
	if expect.SameValuesWithOtherCounts {
		for _, counts := range given.OtherCountsAtEveryStep {
			other := given
			other.Steps = slices.Clone(given.Steps)
			for i := range other.Steps {
				other.Steps[i].Ready, other.Steps[i].Starting = &counts.Ready, &counts.Starting
			}
			runSteps(t, other, expect)
		}
	}
}

func runSteps(t *testing.T, given caseSequence, expect caseSequenceExpect) {
	t.Helper()
	if len(given.Steps) != len(expect.Steps) {
		t.Fatalf("%d steps, %d expectations", len(given.Steps), len(expect.Steps))
	}
	policy, state := given.Service.policy(t, given.Steps), State{}
	replicas := valueOf(given.ReplicasAtStart)
	for i, step := range given.Steps {
		now := caseStart.Add(duration(t, step.At))
		d, next := Evaluate(policy, state, step.inputs(t, given.Service, now), now)
		state = next
		t.Logf("%s: %s %v", step.At, d.Text, d.Reasons)
		if d.Unavailable == "" {
			replicas = d.Replicas
		}
		checkDecision(t, step.At, d, expect.Steps[i])
		if want := expect.Steps[i].Replicas; want != nil && replicas != *want {
			t.Errorf("%s: %d replicas, want %d", step.At, replicas, *want)
		}
	}
}

// caseWords are the cases' names of votes.
var caseWords = map[string]string{"gpu": "utilisation", "reactive": "queue"}

func checkDecision(t *testing.T, at string, d Decision, want caseExpect) {
	t.Helper()
	if (want.Error != "") != (d.Unavailable != "") {
		t.Errorf("%s: unavailable %q, want error %q", at, d.Unavailable, want.Error)
		return
	}
	if want.Value != nil && d.Replicas != *want.Value {
		t.Errorf("%s: value %d, want %d", at, d.Replicas, *want.Value)
	}
	if want.Active != nil && d.Active != *want.Active {
		t.Errorf("%s: active %v, want %v", at, d.Active, *want.Active)
	}
	if want.Raw != nil && d.Raw != *want.Raw {
		t.Errorf("%s: raw %d, want %d", at, d.Raw, *want.Raw)
	}
	if want.Reason != "" && !slices.Contains(d.Reasons, want.Reason) {
		t.Errorf("%s: reasons %v, want %s", at, d.Reasons, want.Reason)
	}
	if binding := word(want.Binding); binding != "" && d.Binding != binding {
		t.Errorf("%s: binding %q, want %q", at, d.Binding, binding)
	}
	if want.Error == "" {
		checkSources(t, at+" stale", d.Stale, want.Stale)
		checkSources(t, at+" missing", d.Missing, want.Missing)
	}
	for name, n := range want.Votes {
		checkVote(t, at, d, word(name), n)
	}
	if want.NaiveUtilisation != nil {
		i := slices.IndexFunc(d.Votes, func(v Vote) bool { return v.Name == "utilisation" && !v.Used })
		if i < 0 || d.Votes[i].Replicas != *want.NaiveUtilisation {
			t.Errorf("%s: the unused utilisation vote is not %d in %+v", at, *want.NaiveUtilisation, d.Votes)
		}
	}
}

func word(name string) string {
	if w, ok := caseWords[name]; ok {
		return w
	}
	return name
}

// checkSources compares signals with the cases' source names.
func checkSources(t *testing.T, what string, got []Signal, want []string) {
	t.Helper()
	names := map[string]bool{}
	for _, s := range got {
		name := map[Signal]string{Waiting: "queue", Rate: "queue", Running: "engine", Utilization: "gpu"}[s]
		if slices.Contains(want, "gateway") && name == "queue" {
			name = "gateway"
		}
		names[name] = true
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	sort.Strings(list)
	if !slices.Equal(list, want) {
		t.Errorf("%s: %v, want %v", what, list, want)
	}
}

func checkVote(t *testing.T, at string, d Decision, name string, want any) {
	t.Helper()
	i := slices.IndexFunc(d.Votes, func(v Vote) bool { return v.Name == name && v.Used })
	switch {
	case want == "none":
		if i >= 0 {
			t.Errorf("%s: vote %s is %+v, want none", at, name, d.Votes[i])
		}
	case i < 0:
		t.Errorf("%s: no vote %s, want %v", at, name, want)
	case d.Votes[i].Replicas != int(want.(float64)):
		t.Errorf("%s: vote %s is %d, want %v", at, name, d.Votes[i].Replicas, want)
	}
}

// presentTolerance compares what is sent with what the model of the autoscaler would hold.
func presentTolerance(t *testing.T, c rawCase) {
	var given struct{ Rows []struct{ Status, Want int } }
	var expect struct {
		Rows []struct {
			ValueSent, HPADefault, HPATolerance0 int
			HeldByTolerance                      bool
		}
	}
	strict(t, c.Given, &given)
	strict(t, c.Expect, &expect)
	for i, row := range given.Rows {
		d, _ := Evaluate(slotPolicy(0, 100), State{}, slotInputs(float64(row.Want), row.Status), caseStart)
		if integer, _ := Wire(d.Replicas); int(integer) != expect.Rows[i].ValueSent {
			t.Errorf("row %d: sent %d, want %d", i, integer, expect.Rows[i].ValueSent)
		}
		if d.HeldByTolerance != expect.Rows[i].HeldByTolerance {
			t.Errorf("row %d: held by tolerance %v", i, d.HeldByTolerance)
		}
	}
}

// slotPolicy is a service of one slot per replica, so that running requests are replicas.
func slotPolicy(least, most int) Policy {
	return Policy{
		Namespace: "ml", Name: "slots", Min: least, Max: most, Concurrency: 1, MaxUtilization: 1,
		Sources: []Source{{Signal: Running}}, Forecast: ForecastLimit{MaxPrewarm: 1},
	}
}

func slotInputs(busy float64, current int) Inputs {
	return Inputs{
		Signals:         map[Signal][]Sample{Running: {{At: caseStart, Value: busy}}},
		CurrentReplicas: current, HPATolerance: DefaultHPATolerance,
	}
}

func presentWire(t *testing.T, c rawCase) {
	var given struct{ Rows []struct{ Raw float64 } }
	var expect struct {
		Rows []struct {
			MetricValue, KEDA216, KEDA217 int64
			MetricValueFloat              float64
			Active                        bool
		}
	}
	strict(t, c.Given, &given)
	strict(t, c.Expect, &expect)
	for i, row := range given.Rows {
		want := expect.Rows[i]
		integer, float := Wire(CeilGuard(row.Raw))
		if integer != want.MetricValue || float != want.MetricValueFloat {
			t.Errorf("%v: sent %d and %v, want %d and %v", row.Raw, integer, float, want.MetricValue, want.MetricValueFloat)
		}
		d, _ := Evaluate(slotPolicy(0, 10), State{}, slotInputs(row.Raw, -1), caseStart)
		if d.Replicas != int(want.MetricValue) || d.Active != want.Active {
			t.Errorf("%v: %d active %v, want %d %v", row.Raw, d.Replicas, d.Active, want.MetricValue, want.Active)
		}
	}
}

func presentInvalid(t *testing.T, c rawCase) {
	var given struct {
		LastGood, LastGoodAge, HoldFor any
		Rows                           []struct{ QueryResult any }
	}
	var expect struct {
		Rows []struct {
			MetricValue      int64
			MetricValueFloat float64
			Stale            bool
		}
	}
	strict(t, c.Given, &given)
	strict(t, c.Expect, &expect)
	policy := slotPolicy(0, 10)
	policy.StaleAfter = duration(t, given.HoldFor.(string))
	now := caseStart.Add(duration(t, given.LastGoodAge.(string)))
	for i, row := range given.Rows {
		_, state := Evaluate(policy, State{}, slotInputs(given.LastGood.(float64), -1), caseStart)
		value := map[any]float64{"NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1), float64(-3): -3}[row.QueryResult]
		if value == 0 {
			t.Fatalf("no value for %v", row.QueryResult)
		}
		in := slotInputs(value, -1)
		in.Signals[Running][0].At = now
		d, _ := Evaluate(policy, state, in, now)
		integer, float := Wire(d.Replicas)
		want := expect.Rows[i]
		if integer != want.MetricValue || float != want.MetricValueFloat || (len(d.Stale) > 0) != want.Stale {
			t.Errorf("%v: sent %d and %v, stale %v", row.QueryResult, integer, float, d.Stale)
		}
	}
}

func valueForecast(t *testing.T, c rawCase) {
	var given struct {
		Rows []struct {
			Reactive float64
			Forecast any
			Min, Max int
		}
	}
	var expect struct {
		Rows []struct {
			Value            int
			Binding, Limited string
		}
	}
	strict(t, c.Given, &given)
	strict(t, c.Expect, &expect)
	for i, row := range given.Rows {
		in := slotInputs(row.Reactive, -1)
		if n, ok := row.Forecast.(float64); ok {
			in.Forecast = &Forecast{Replicas: int(n), Used: true}
		}
		d, _ := Evaluate(slotPolicy(row.Min, row.Max), State{}, in, caseStart)
		want := expect.Rows[i]
		if d.Replicas != want.Value || d.Limited != want.Limited || (want.Binding != "" && d.Binding != word(want.Binding)) {
			t.Errorf("row %d: %d by %s limited %q, want %+v", i, d.Replicas, d.Binding, d.Limited, want)
		}
	}
}

// sequenceTriggers keeps one state per namespace, scaled object and trigger, as the engine does.
func sequenceTriggers(t *testing.T, c rawCase) {
	var given struct {
		ScaledObject struct{ Namespace, Name string }
		Triggers     []struct{ Service string }
		ScaleDown    struct{ Window string }
		Steps        []caseStep
	}
	var expect struct{ Steps []struct{ Value int } }
	strict(t, c.Given, &given)
	strict(t, c.Expect, &expect)
	policy := slotPolicy(0, 100)
	policy.ScaleDown.Window = duration(t, given.ScaleDown.Window)
	policy.Startup.Lead = time.Second
	states := map[string]State{}
	for i, step := range given.Steps {
		namespace := step.Namespace
		if namespace == "" {
			namespace = given.ScaledObject.Namespace
		}
		key := strings.Join([]string{namespace, given.ScaledObject.Name, step.Trigger}, "/")
		now := caseStart.Add(duration(t, step.At))
		in := slotInputs(float64(*step.Raw), -1)
		in.Signals[Running][0].At = now
		d, next := Evaluate(policy, states[key], in, now)
		states[key] = next
		if d.Replicas != expect.Steps[i].Value {
			t.Errorf("%s %s: %d, want %d", step.At, key, d.Replicas, expect.Steps[i].Value)
		}
	}
}

// TestCasesFileIsRead guards the reader itself: a field name that changes must not turn a case into an empty one.
func TestCasesFileIsRead(t *testing.T) {
	for _, c := range loadCases(t) {
		if c.ID == "" || c.Kind == "" || c.Why == "" || len(c.Given) < 3 || len(c.Expect) < 3 {
			t.Errorf("incomplete case %+v", c)
		}
	}
}
