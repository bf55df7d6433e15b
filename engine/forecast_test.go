package engine

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/config"
)

// forecastYAML is a service whose replicas carry 8 requests per second, with arrivals at the gateway. A short step costs as
// much as 120 replica-steps: one that is steered to a share of short steps may well be short once a day.
func forecastYAML(mode string) string {
	return `
- name: chat
  namespace: ml
  replicas: {min: 1, max: 50}
  preset: none
  queries: {rate: gateway_rate}
  perReplica: {rate: 8, maxUtilization: 1}
  forecast: {mode: ` + mode + `, timeZone: UTC, maxPrewarm: 100%, cost: {replicaHour: 1, shortStep: 10}}
  startup: {lead: 10m}
  scaleDown: {window: 10m}`
}

// daily is a rate that repeats every day: 16 at night, 80 from 09:00 to 17:00.
func daily(at time.Time) (float64, error) {
	if h := at.UTC().Hour(); h >= 9 && h < 17 {
		return 80, nil
	}
	return 16, nil
}

// wakeAt sleeps until a clock time of the next day, so that every test starts at a known time of day.
func wakeAt(t *testing.T, clock time.Duration) time.Time {
	t.Helper()
	at := time.Now().UTC().Truncate(24 * time.Hour).Add(24*time.Hour + clock)
	sleepUntil(t.Context(), at)
	return at
}

// TestForecastPrewarms has five weeks of the same day in the metric store: shortly before nine the replicas for nine
// are ordered, in shadow they are only shown, and off there is nothing.
func TestForecastPrewarms(t *testing.T) {
	for mode, used := range map[string]bool{"active": true, "shadow": false} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newFakeSource()
				source.setFunc("gateway_rate", daily)
				e := newTestEngine(t, Options{Config: testConfig(t, forecastYAML(mode)), Source: source})
				at := wakeAt(t, 8*time.Hour)
				stop := runEngine(t, e)
				defer stop()
				sleepUntil(t.Context(), at.Add(30*time.Minute+time.Second))
				d, err := e.Target("ml/chat")
				if err != nil || d.Replicas < 2 || d.Replicas > 3 {
					t.Errorf("target at 08:30 %d, %v; want 16 / 8 = 2 or one in reserve, as nine is not within the lead", d.Replicas, err)
				}
				sleepUntil(t.Context(), at.Add(52*time.Minute))
				d, err = e.Target("ml/chat")
				if err != nil {
					t.Fatal(err)
				}
				f := d.Forecast
				if f == nil || f.Used != used || f.Replicas < 10 || !f.NeedWithin {
					t.Fatalf("forecast %+v, want an order of at least 80 / 8 = 10 at 08:52", f)
				}
				want := 2
				if used {
					want = f.Replicas
				}
				wantTarget(t, e, "ml/chat", want)
			})
		})
	}
}

// TestForecastSurvivesRestart compares the order of an engine that ran on with that of one that was started again from
// the store, and that of one which had only the metric store.
func TestForecastSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource()
		source.setFunc("gateway_rate", daily)
		c := testConfig(t, forecastYAML("active"))
		store := openTestStore(t, dir, nil)
		first := newTestEngine(t, Options{Config: c, Source: source, Store: store})
		at := wakeAt(t, 8*time.Hour)
		stop := runEngine(t, first)
		sleepUntil(t.Context(), at.Add(17*time.Minute))
		stop()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		sleepUntil(t.Context(), at.Add(40*time.Minute))
		store = openTestStore(t, dir, nil)
		defer store.Close()
		var orders []int
		for _, o := range []Options{{Config: c, Source: source, Store: store}, {Config: c, Source: source}} {
			e := newTestEngine(t, o)
			stop := runEngine(t, e)
			sleepUntil(t.Context(), time.Now().Add(61*time.Second))
			d, err := e.Target("ml/chat")
			if err != nil || d.Forecast == nil || d.Forecast.Mode != "active" {
				t.Fatalf("after a restart: %+v, %v", d.Forecast, err)
			}
			orders = append(orders, d.Forecast.Replicas)
			stop()
		}
		if orders[0] != orders[1] {
			t.Errorf("order from the store %d, from the metric store %d", orders[0], orders[1])
		}
	})
}

// TestForecastWithoutHistory waits for a metric store that is away, says so, and scales by the traffic of the moment.
func TestForecastWithoutHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &amnesiac{fakeSource: newFakeSource()}
		source.setFunc("gateway_rate", daily)
		e := newTestEngine(t, Options{Config: testConfig(t, forecastYAML("active")), Source: source})
		wakeAt(t, 10*time.Hour)
		stop := runEngine(t, e)
		defer stop()
		sleepUntil(t.Context(), time.Now().Add(5*time.Minute))
		d := wantTarget(t, e, "ml/chat", 10)
		if d.Forecast == nil || d.Forecast.Used || !strings.Contains(d.Forecast.Text, "history is being read") {
			t.Errorf("forecast %+v", d.Forecast)
		}
		if source.asked < 2 || source.asked > 5 {
			t.Errorf("%d attempts in five minutes, want them at 15, 45, 105 and 225 s or so", source.asked)
		}
	})
}

type amnesiac struct {
	*fakeSource
	asked int
}

func (a *amnesiac) History(context.Context, config.Query, time.Time, time.Time, time.Duration) ([]float64, error) {
	a.asked++
	return nil, errors.New("connection refused")
}

// TestSlotMean closes a slot with the reading at its end, and calls one that is not covered missing.
func TestSlotMean(t *testing.T) {
	start := time.Unix(0, 0).Add(1000 * slotLength)
	var got []finished
	var m slotMean
	reading := func(after time.Duration, rate float64, valid bool) {
		if done, ok := m.add(start.Add(after), arrivals{rate: rate, valid: valid}, 30*time.Second); ok {
			got = append(got, done)
		}
	}
	for i := 1; i <= 10; i++ { // all readings: the mean of 1 to 10
		reading(time.Duration(i)*30*time.Second, float64(i), true)
	}
	for i := 11; i <= 20; i++ { // seven of ten
		reading(time.Duration(i)*30*time.Second, 4, i > 13)
	}
	for i := 21; i <= 30; i++ { // six of ten
		reading(time.Duration(i)*30*time.Second, 4, i > 24)
	}
	reading(31*30*time.Second, 4, true)
	reading(31*30*time.Second, 400, true) // the same tick again
	reading(45*30*time.Second, 4, true)   // the loop was away: the slot before has one reading of ten
	want := []finished{
		{start, 5.5, true},
		{start.Add(slotLength), 4, true},
		{start.Add(2 * slotLength), math.NaN(), false},
		{start.Add(3 * slotLength), math.NaN(), false},
	}
	same := cmp.Comparer(func(a, b finished) bool {
		return a.start.Equal(b.start) && a.ok == b.ok && (a.rate == b.rate || !a.ok)
	})
	if diff := cmp.Diff(want, got, same, cmp.AllowUnexported(finished{})); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
}

// TestCoarse keeps a predictor while a learnt rate wanders, and replaces it when a replica is another one.
func TestCoarse(t *testing.T) {
	for _, rate := range []float64{0.01, 0.3, 1, 7.77, 1234} {
		if c := coarse(rate); c < rate/1.12 || c > rate*1.12 {
			t.Errorf("coarse(%v) = %v, further than half a step", rate, c)
		}
		f := forecast{perReplica: coarse(rate)}
		if f.needsPredictor(coarse(rate*1.1)) || f.needsPredictor(coarse(rate/1.1)) {
			t.Errorf("a change of %v by a tenth needs another predictor", rate)
		}
		if !f.needsPredictor(coarse(rate * 2)) {
			t.Errorf("a doubling of %v needs no other predictor", rate)
		}
	}
	if coarse(0) != 0 || coarse(math.NaN()) != 0 || (&forecast{}).needsPredictor(0) {
		t.Error("an unknown rate is one")
	}
}
