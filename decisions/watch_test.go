package decisions

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWatcherGetsWhatMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, Options{})
		w := l.Watch(Filter{Kind: KindScaler, Subject: "ml/a"})
		defer w.Close()
		go func() {
			time.Sleep(time.Minute)
			l.AddExpander(choice(time.Now(), "gpu"))
			l.AddScaler(target(time.Now(), "ml/b", 1))
			l.AddScaler(target(time.Now(), "ml/a", 7))
		}()
		r, dropped, err := w.Next(t.Context())
		if err != nil || dropped != 0 || r.Scaler.Replicas != 7 {
			t.Errorf("got %+v, %d, %v", r, dropped, err)
		}
	})
}

func TestSlowWatcherLosesTheOldestAndIsTold(t *testing.T) {
	l := openLog(t, Options{})
	slow := l.Watch(Filter{})
	defer slow.Close()
	for i := range watcherBuffer + 10 {
		l.AddScaler(target(start, "ml/a", i))
	}
	r, dropped, err := slow.Next(t.Context())
	if err != nil || dropped != 10 || r.Scaler.Replicas != 10 {
		t.Errorf("first: got replicas %d, dropped %d, %v; want 10, 10", r.Scaler.Replicas, dropped, err)
	}
	if r, dropped, err = slow.Next(t.Context()); err != nil || dropped != 0 || r.Scaler.Replicas != 11 {
		t.Errorf("second: got replicas %d, dropped %d, %v; want 11, 0", r.Scaler.Replicas, dropped, err)
	}
	if s := l.Stats(); s.WatchersLost != 10 || s.Recorded != watcherBuffer+10 || s.Watchers != 1 {
		t.Errorf("stats: %+v", s)
	}
}

func TestWatcherEnds(t *testing.T) {
	l := openLog(t, Options{})
	w := l.Watch(Filter{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	l.AddScaler(target(start, "ml/a", 1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if r, _, err := w.Next(t.Context()); err != nil || r.Subject != "ml/a" {
		t.Errorf("what was waiting at the end is lost: %+v, %v", r, err)
	}
	if _, _, err := w.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if _, _, err := l.Watch(Filter{}).Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("watch of a closed log: %v", err)
	}
}
