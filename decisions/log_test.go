package decisions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

var start = time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)

func openLog(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func choice(at time.Time, id string) expander.Decision {
	return expander.Decision{Time: at, Outcome: expander.Selected, Selected: []string{id}, Mode: expander.Observe}
}

func target(at time.Time, service string, n int) scaler.Decision {
	return scaler.Decision{Time: at, Service: service, Replicas: n, Binding: "queue", Reasons: []string{"queue", "min"}}
}

func subjects(records []Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.Subject)
	}
	return out
}

func TestListNewestFirst(t *testing.T) {
	l := openLog(t, Options{Ring: 3})
	for i := range 5 {
		l.AddScaler(target(start.Add(time.Duration(i)*time.Second), fmt.Sprintf("ml/s%d", i), i))
	}
	l.AddExpander(choice(start.Add(500*time.Millisecond), "gpu-l4"))

	for _, test := range []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"all, the two oldest targets are gone", Filter{}, []string{"gpu-l4", "ml/s4", "ml/s3", "ml/s2"}},
		{"one half", Filter{Kind: KindExpander}, []string{"gpu-l4"}},
		{"limit", Filter{Limit: 2}, []string{"gpu-l4", "ml/s4"}},
		{"subject", Filter{Subject: "ml/s3"}, []string{"ml/s3"}},
		{"reason", Filter{Reason: "min"}, []string{"ml/s4", "ml/s3", "ml/s2"}},
		{"unknown reason", Filter{Reason: "max"}, nil},
	} {
		if diff := cmp.Diff(test.want, subjects(l.List(test.filter))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}

	page := l.List(Filter{Kind: KindScaler, Limit: 2})
	if got := subjects(l.List(Filter{Kind: KindScaler, Before: page[1].ID})); !slices.Equal(got, []string{"ml/s2"}) {
		t.Errorf("page after %s: got %v, want [ml/s2]", page[1].Subject, got)
	}
}

func TestIDsGrowWhenTheClockDoesNot(t *testing.T) {
	l := openLog(t, Options{Ring: 10})
	var ids []string
	for _, at := range []time.Time{start, start, start.Add(-time.Hour), {}, start.Add(time.Second)} {
		ids = append(ids, l.AddScaler(target(at, "ml/a", 1)).ID)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("ids are not strictly increasing: %v", ids)
	}
	for _, id := range ids {
		if r, ok := l.Get(id); !ok || r.ID != id {
			t.Errorf("Get(%s) = %v, %v", id, r.ID, ok)
		}
	}
	if _, ok := l.Get("0"); ok {
		t.Error("Get of an unknown id found something")
	}
}

// TestRingAgainstSlice compares the ring with a plain slice that is cut by the same two bounds.
func TestRingAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		r := newRing(size)
		var want []Record
		for i := range rapid.IntRange(0, 60).Draw(t, "records") {
			d := choice(start, fmt.Sprint(i))
			d.Candidates = make([]expander.Candidate, rapid.IntRange(0, 60).Draw(t, "candidates"))
			rec := OfExpander(d)
			rec.ID = fmt.Sprintf("%014x", i+1)
			r.add(rec)
			want = append(want, rec)
			bytes := func() (sum int) {
				for _, x := range want {
					sum += x.size()
				}
				return sum
			}
			for len(want) > size || len(want) > 1 && bytes() > size*meanBytes {
				want = want[1:]
			}
		}
		got := r.list(Filter{}, 100)
		slices.Reverse(got)
		if !slices.Equal(subjects(got), subjects(want)) {
			t.Fatalf("got %v, want %v", subjects(got), subjects(want))
		}
		for _, rec := range want {
			if found, ok := r.get(rec.ID); !ok || found.Subject != rec.Subject {
				t.Fatalf("get(%s) = %v, %v", rec.ID, found.Subject, ok)
			}
		}
	})
}

func TestReasonsAreSortedAndUnique(t *testing.T) {
	d := choice(start, "a")
	d.Reasons = []string{"price", "isolation"}
	d.Warnings = []string{"price"}
	d.Candidates = []expander.Candidate{{ID: "a"}, {ID: "b", Rejected: "gpu-memory"}, {ID: "c", Rejected: "gpu-memory"}}
	if diff := cmp.Diff([]string{"gpu-memory", "isolation", "price"}, OfExpander(d).Reasons); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(d.Reasons, []string{"price", "isolation"}) {
		t.Errorf("the decision itself was changed: %v", d.Reasons)
	}
}
