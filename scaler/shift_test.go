package scaler

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestShiftMovesEveryTime fills every time of a state and looks that none is forgotten, those of fields to come included.
func TestShiftMovesEveryTime(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for _, by := range []time.Duration{30 * time.Second, -30 * time.Second} {
		var s State
		fillTimes(reflect.ValueOf(&s).Elem(), at)
		s.Last = map[Signal][]Sample{Waiting: {{At: at, Value: 3}}}
		before := s
		got := s.Shift(by)
		if diff := cmp.Diff(before, s); diff != "" {
			t.Errorf("the state itself was changed: %s", diff)
		}
		moved := map[bool]map[string]bool{true: {}, false: {}}
		visitTimes("", reflect.ValueOf(got), func(path string, v time.Time) {
			if v.IsZero() {
				t.Errorf("%s is lost", path)
			}
			if v.Sub(at) != 0 && v.Sub(at) != by {
				t.Errorf("%s moved by %v, want %v or nothing", path, v.Sub(at), by)
			}
			moved[v.Sub(at) == by][path] = true
		})
		// What a source measured stays where moving it could make the target fall.
		stays := []string{".Busy[].At", ".QuietSince", ".BecameReady"}
		if by > 0 {
			stays = []string{".Last[].At"}
		}
		for _, path := range stays {
			if !moved[false][path] {
				t.Errorf("by %v: %s was moved", by, path)
			}
			delete(moved[false], path)
		}
		if len(moved[false]) > 0 {
			t.Errorf("by %v: not moved: %v", by, moved[false])
		}
	}
}

func fillTimes(v reflect.Value, at time.Time) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(at))
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			fillTimes(field, at)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillTimes(v.Index(0), at)
	}
}

func visitTimes(path string, v reflect.Value, visit func(string, time.Time)) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		visit(path, v.Interface().(time.Time))
	case v.Kind() == reflect.Struct:
		for field, value := range v.Fields() {
			visitTimes(path+"."+field.Name, value, visit)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			visitTimes(path+"[]", v.Index(i), visit)
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			visitTimes(path, v.MapIndex(key), visit)
		}
	}
}

// TestShiftedStateDecidesAlike is what a change of the leader needs: the same readings by a clock that is ahead or behind
// give the same targets, window and steps included.
func TestShiftedStateDecidesAlike(t *testing.T) {
	policy := Policy{
		Namespace: "ml", Name: "chat", Min: 1, Max: 50, Concurrency: 1, ServiceTime: time.Second, MaxUtilization: 1,
		Sources:   []Source{{Signal: Waiting}, {Signal: Running}},
		ScaleDown: ScaleDown{Window: 2 * time.Minute, MaxStep: 0.2, Period: time.Minute},
	}
	policy.Startup.Lead = time.Minute
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	load := func(i int) float64 { return []float64{3, 20, 20, 7, 7, 7, 5, 5}[min(i/3, 7)] }
	evaluate := func(s State, i int, skew time.Duration) (Decision, State) {
		now := start.Add(time.Duration(i)*15*time.Second + skew)
		return Evaluate(policy, s, Inputs{CurrentReplicas: -1, Signals: map[Signal][]Sample{
			Waiting: {{At: now, Value: 0}}, Running: {{At: now, Value: load(i)}},
		}}, now)
	}
	for _, skew := range []time.Duration{30 * time.Second, -30 * time.Second} {
		for change := 1; change < 40; change++ {
			var alone, other State
			for i := range 60 {
				var want, got Decision
				want, alone = evaluate(alone, i, 0)
				if i < change {
					other = alone
					continue
				}
				if i == change {
					other = other.Shift(skew)
				}
				got, other = evaluate(other, i, skew)
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Decision{}, "Time")); diff != "" {
					t.Fatalf("clock %v ahead, changed at tick %d, tick %d: %s", skew, change, i, diff)
				}
			}
		}
	}
}
