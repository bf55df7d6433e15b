package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// TestReplacedSourceKeepsNobodyWaiting changes the address of the metric store while a history is being read from the
// old one, which does not answer: the next reading goes to the new one at once.
func TestReplacedSourceKeepsNobodyWaiting(t *testing.T) {
	asked, release := make(chan struct{}, 8), make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	defer stuck.Close()
	defer close(release)
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"7"]}}`))
	}))
	defer good.Close()
	settings := config.Prometheus{URL: stuck.URL, Timeout: time.Minute, MaxConcurrent: 4}
	registry := prometheus.NewRegistry()
	s, err := newSource(&config.Config{Prometheus: settings}, registry, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ctx, cancel := context.WithCancel(t.Context())
	history := make(chan error, 1)
	go func() {
		_, err := s.History(ctx, config.Query{Expr: "x"}, time.Unix(0, 0), time.Unix(600, 0), 5*time.Minute)
		history <- err
	}()
	<-asked

	settings.URL = good.URL
	replaced := make(chan error, 1)
	go func() { replaced <- s.use(settings) }()
	select {
	case err := <-replaced:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the new metric store waits for a history from the old one")
	}
	var got []scaler.Sample
	s.Read(t.Context(), time.Now(), [][]config.Query{{{Expr: "7"}}}, func(_, _ int, samples []scaler.Sample, err error) {
		if err != nil {
			t.Error(err)
		}
		got = samples
	})
	if len(got) != 1 || got[0].Value != 7 {
		t.Errorf("read %v from the new metric store", got)
	}
	if err := s.use(config.Prometheus{URL: good.URL, BearerTokenFile: "/nowhere/token", Timeout: time.Second, MaxConcurrent: 1}); err == nil {
		t.Error("a token that cannot be read was accepted")
	}
	if s.settings.URL != good.URL || s.reader.Load() == nil {
		t.Error("the refused settings are in use")
	}
	cancel()
	if err := <-history; err == nil {
		t.Error("the old metric store answered")
	}
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}
