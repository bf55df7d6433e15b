package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// TestPastKeepsChangesAndMinutes: quiet ticks become one point a minute, another answer one at once, and the newest
// tick is always the end.
func TestPastKeepsChangesAndMinutes(t *testing.T) {
	start := time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC)
	var p past
	at := func(seconds, replicas int, binding string) {
		p.add(&scaler.Decision{Time: start.Add(time.Duration(seconds) * time.Second), Replicas: replicas, Binding: binding}, arrivals{}, 100)
	}
	for s := 0; s <= 120; s += 15 {
		at(s, 3, "queue")
	}
	at(135, 4, "queue")
	at(135, 9, "queue") // the tick of a replay, again
	at(150, 4, "forecast")
	at(195, 4, "forecast")
	at(210, 4, "forecast")
	var got []int
	for _, point := range p.points() {
		got = append(got, int(point.At.Sub(start)/time.Second))
	}
	if diff := cmp.Diff([]int{0, 60, 120, 135, 195, 210}, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// TestPastIsBounded: no service keeps more than its share, whatever flaps.
func TestPastIsBounded(t *testing.T) {
	var p past
	for i := range 1000 {
		p.add(&scaler.Decision{Time: time.Unix(int64(i), 0), Replicas: i}, arrivals{}, pastLength(1))
	}
	points := p.points()
	if len(points) != mostPoints || points[0].Replicas != 1000-mostPoints {
		t.Errorf("%d points from replica count %d, want the newest %d", len(points), points[0].Replicas, mostPoints)
	}
	for _, c := range []struct{ services, want int }{{0, mostPoints}, {1000, mostPoints}, {10_000, 52}, {1 << 30, leastPoints}} {
		if got := pastLength(c.services); got != c.want {
			t.Errorf("%d services: %d points each, want %d", c.services, got, c.want)
		}
	}
}

// TestPointSaysWhatTheDecisionSays: a point is parts of the decision, and a reading that failed is missing, not zero.
func TestPointSaysWhatTheDecisionSays(t *testing.T) {
	d := scaler.Decision{
		Time: time.Unix(1000, 0), Replicas: 5, Raw: 4, Ready: 3, Starting: 2, Stuck: 1, CurrentReplicas: -1, Binding: "queue",
		Limited: "window", HeldByTolerance: true, Lead: scaler.LeadTime{Seconds: 90}, Forecast: &scaler.Forecast{Replicas: 7},
		Signals: []scaler.SignalAge{{Signal: scaler.Waiting, Value: 2}, {Signal: scaler.Running, Value: 9, Error: "timeout"}},
	}
	m := momentOf(&d, arrivals{rate: 1.5, valid: true})
	waiting, rate, order := 2.0, 1.5, 7
	want := Point{
		At: time.Unix(1000, 0).UTC(), Available: true, Replicas: 5, Raw: 4, Ready: 3, Starting: 2, Stuck: 1, CurrentReplicas: -1,
		Binding: "queue", Limited: "window", HeldByTolerance: true, Waiting: &waiting, Rate: &rate, Order: &order, Lead: 90,
	}
	if diff := cmp.Diff(want, m.point()); diff != "" {
		t.Errorf("point (-want +got):\n%s", diff)
	}
	if orNil(math.Inf(1)) != nil || orNil(math.NaN()) != nil {
		t.Error("a number that JSON cannot hold is not nil")
	}
}

// TestSituationGivesTheSameDecision: what is kept of a choice is enough to make it again, also after a way through JSON.
func TestSituationGivesTheSameDecision(t *testing.T) {
	c := parseConfig(t, expanderYAML)
	log, err := decisions.Open(decisions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	view := expander.View{Known: true, Groups: map[string]expander.GroupView{"inference-a": expander.UnknownGroup()}}
	e := newTestEngine(t, Options{Config: c, Decisions: log, Cluster: fakeCluster{view: view}})
	for range 3 { // the later ones depend on the history
		if _, err := e.BestOptions(t.Context(), gpuRequest()); err != nil {
			t.Fatal(err)
		}
	}
	for _, record := range log.List(decisions.Filter{}) {
		kept, ok := e.Situation(record.ID)
		if !ok {
			t.Fatalf("no situation of %s", record.ID)
		}
		data, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		var read Situation
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		again, _ := expander.Select(c.Expander, read.View, read.Request, read.History, read.At)
		want, got := asJSON(t, record.Expander), asJSON(t, &again)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-recorded +again):\n%s", record.ID, diff)
		}
	}
	pools := e.Pools()
	if !pools.ViewKnown || len(pools.Groups) != 2 || pools.Groups[0].Pool != "inference" || *pools.Groups[0].HourlyCost != 1 || pools.Groups[0].Nodes != nil {
		t.Errorf("pools: %+v", pools.Groups)
	}
}

func asJSON(t *testing.T, d *expander.Decision) string {
	t.Helper()
	data, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSituationsAreBounded by number and by size.
func TestSituationsAreBounded(t *testing.T) {
	var k situations
	for i := range keptSituations + 10 {
		k.add(string(rune('a'+i)), Situation{})
	}
	if len(k.byID) != keptSituations || len(k.ids) != keptSituations {
		t.Errorf("%d kept", len(k.byID))
	}
	big := expander.Pod{Annotations: map[string]string{"note": strings.Repeat("x", 1<<20)}}
	for i := range 200 { // 200 MiB if the number alone counted
		k.add(fmt.Sprint("big", i), Situation{Request: expander.Request{Pods: []expander.Pod{big}}})
	}
	if n := len(k.ids); n != keptBytes>>20-1 || n != len(k.byID) || k.size > keptBytes || k.ids[n-1] != "big199" {
		t.Errorf("%d situations of a mebibyte each are kept, %d bytes", n, k.size)
	}
	old := expander.History{Pods: map[string]expander.PodHistory{}}
	for i := range 2000 {
		old.Pods[fmt.Sprint(i)] = expander.PodHistory{}
	}
	for i := range keptSituations {
		k.add(fmt.Sprint("remembers", i), Situation{History: old})
	}
	if n := len(k.ids); n >= keptSituations || k.size > keptBytes {
		t.Errorf("%d situations with a full history are kept, %d bytes", n, k.size)
	}
	before := len(k.ids)
	k.add("too large", Situation{Request: expander.Request{Pods: slices.Repeat([]expander.Pod{big}, keptBytes>>20)}})
	if _, kept := k.byID["too large"]; kept || len(k.ids) != before {
		t.Error("a situation beyond all bounds is kept, or drove out the others")
	}
}
