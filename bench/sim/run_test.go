package sim

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/trace"
)

// constant asks for the same number always.
type constant struct {
	n     int
	slots int
	last  time.Time
}

func (c *constant) Name() string            { return "constant" }
func (c *constant) Interval() time.Duration { return 15 * time.Second }
func (c *constant) Slot(at time.Time, _ float64) {
	c.slots++
	c.last = at
}
func (c *constant) Act(Observation) int { return c.n }

func weekLoad(t testing.TB, replicas float64) *Load {
	t.Helper()
	s := trace.Pattern{Name: "week", Start: monday, Days: 3, Step: 5 * time.Minute, Mean: 1, Daily: 0.6, PeakHour: 15, Noise: 0.05}.Draw(1)
	l, err := NewLoad(s, replicas, 1)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func options(l *Load) RunOptions {
	return RunOptions{Startup: 5 * time.Minute, ScoreFrom: monday.AddDate(0, 0, 1), RunIn: 24 * time.Hour, Min: 1, Max: 64, HourlyCost: 2, Sample: time.Hour}
}

// TestConstantReplicas checks hours, cost and the slots that a policy is told.
func TestConstantReplicas(t *testing.T) {
	l := weekLoad(t, 8)
	c := &constant{n: 20}
	r := Run(l, c, options(l))
	if math.Abs(r.GPUHours-20*48) > 0.01 || math.Abs(r.Cost-2*20*48) > 0.02 || r.Changes != 0 {
		t.Errorf("%.3f GPU-hours, cost %.3f, %d changes", r.GPUHours, r.Cost, r.Changes)
	}
	if r.Late != 0 || r.ShortMinutes != 0 {
		t.Errorf("%d late requests and %d short minutes with 20 replicas for a need of 8", r.Late, r.ShortMinutes)
	}
	if c.slots != 3*288 || !c.last.Equal(l.End().Add(-Slot)) {
		t.Errorf("%d slots until %s, want every slot of three days once", c.slots, c.last)
	}
	if want := l.Rate(monday.AddDate(0, 0, 1), l.End()) * 48 * 3600; math.Abs(float64(r.Requests)-want) > 1 {
		t.Errorf("%d requests were scored, want %.0f", r.Requests, want)
	}
	if len(r.Timeline) != 48 {
		t.Errorf("%d points in the timeline, want 48", len(r.Timeline))
	}
}

// TestTooFewReplicas: at half of the need most requests are late, and the minutes are short.
func TestTooFewReplicas(t *testing.T) {
	l := weekLoad(t, 8)
	r := Run(l, &constant{n: 4}, options(l))
	if share := float64(r.Late) / float64(r.Requests); share < 0.5 || r.ShortMinutes < 24*60 || r.Dropped == 0 {
		t.Errorf("late %.2f, short minutes %d, dropped %d", share, r.ShortMinutes, r.Dropped)
	}
}

// TestOracle: almost nothing is late, and no constant number of replicas that does as well is cheaper.
func TestOracle(t *testing.T) {
	l := weekLoad(t, 8)
	oracle := Run(l, NewOracle(l, 5*time.Minute, 0), options(l))
	if share := float64(oracle.Late) / float64(oracle.Requests); share > 0.005 {
		t.Errorf("%.4f of the oracle's requests are late", share)
	}
	for _, n := range []int{8, 9, 10, 12, 14} {
		r := Run(l, &constant{n: n}, options(l))
		if r.Late <= oracle.Late && r.GPUHours < oracle.GPUHours {
			t.Errorf("%d replicas beat the oracle: %d late in %.0f GPU-hours, oracle %d in %.0f", n, r.Late, r.GPUHours, oracle.Late, oracle.GPUHours)
		}
	}
	// The mean need is 8 at 80 % use: 6.4 replicas hold it all. Starting and whole replicas cost the rest.
	if perHour := oracle.GPUHours / 48; perHour < 6.4 || perHour > 8.5 {
		t.Errorf("the oracle holds %.2f replicas on average", perHour)
	}
}

func TestRunIsDeterministic(t *testing.T) {
	a, b := weekLoad(t, 8), weekLoad(t, 8)
	if x, y := Run(a, NewOracle(a, time.Minute, 0), options(a)), Run(b, NewOracle(b, time.Minute, 0), options(b)); !reflect.DeepEqual(x, y) {
		t.Errorf("two runs differ:\n%+v\n%+v", x, y)
	}
}

// TestRecordedRequestsRun replays requests that begin within a second, as recorded ones do.
func TestRecordedRequestsRun(t *testing.T) {
	r := &trace.Requests{Name: "r", Start: monday.Add(46*time.Second + 680590*time.Microsecond)}
	for i := range 20000 {
		r.List = append(r.List, trace.Request{At: time.Duration(i) * 170 * time.Millisecond, Input: 500, Output: int64(20 + i%13*20)})
	}
	l, err := NewRecordedLoad(r, 8)
	if err != nil {
		t.Fatal(err)
	}
	o := RunOptions{Startup: time.Minute, ScoreFrom: l.Start.Add(10 * time.Minute), RunIn: 10 * time.Minute, Min: 1, Max: 64}
	result := Run(l, &constant{n: 9}, o)
	want := int64(20000 - (10*time.Minute-680590*time.Microsecond)/(170*time.Millisecond))
	if result.Requests < want-20 || result.Requests > want || result.Late > 0 {
		t.Errorf("%d requests, %d late; want about %d and none", result.Requests, result.Late, want)
	}
}
