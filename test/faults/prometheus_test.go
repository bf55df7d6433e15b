package faults

import (
	"net/http"
	"time"
)

// metricFault is a fault of the metric store by which nothing can be read.
func metricFault(name string, inject func(w *world) func(), excludes ...string) *fault {
	return &fault{
		part: "Prometheus", name: name, inject: inject, clients: []claim{holds, chooses}, decided: []claim{held}, recovers: atOnce, excludes: excludes,
	}
}

// switched turns something of the scripted metric store on and off.
func switched(on, off func(*metricStore)) func(w *world) func() {
	return func(w *world) func() {
		w.store.set(on)
		return func() { w.store.set(off) }
	}
}

func answering(status int) func(w *world) func() {
	return switched(func(m *metricStore) { m.status = status }, func(m *metricStore) { m.status = 0 })
}

// The metric store's faults. Those that the network makes are made by the proxy.
var metricFaults = []*fault{
	metricFault("is down: no connection", func(w *world) func() { return w.metricsProxy.cut(w.t) }),
	metricFault("resets connections", func(w *world) func() {
		return w.metricsProxy.toxic(w.t, "reset_peer", `{"timeout": 0}`)
	}, "closes slowly"),
	metricFault("is slower than its timeout", func(w *world) func() {
		mend := w.metricsProxy.toxic(w.t, "latency", `{"latency": 3600000}`)
		w.readFor = 100 * time.Millisecond // the end of a tick, which comes after 13.5 s in real ones
		return func() { w.readFor = patience; mend() }
	}),
	metricFault("breaks off in the answer", func(w *world) func() {
		return w.metricsProxy.toxic(w.t, "limit_data", `{"bytes": 150}`)
	}, "closes slowly"), // together they are a store that never ends its answer: slower than its timeout
	metricFault("answers 429", answering(http.StatusTooManyRequests), "answers 503"),
	metricFault("answers 503", answering(http.StatusServiceUnavailable), "answers 429"),
	metricFault("answers with wrong types", switched(func(m *metricStore) { m.odd = true }, func(m *metricStore) { m.odd = false })),
	{
		part: "Prometheus", name: "closes slowly", clients: []claim{follows, chooses}, decided: []claim{asEver}, recovers: atOnce,
		inject: func(w *world) func() { return w.metricsProxy.toxic(w.t, "slow_close", `{"delay": 3600000}`) },
	},
	{
		part: "Prometheus", name: "has samples 10 min in the future", clients: []claim{follows, chooses}, decided: []claim{asEver}, recovers: atOnce,
		inject:   switched(func(m *metricStore) { m.ahead = 10 * time.Minute }, func(m *metricStore) { m.ahead = 0 }),
		excludes: []string{"has samples 10 min in the past"},
	},
	metricFault("has samples 10 min in the past", switched(func(m *metricStore) { m.ahead = -10 * time.Minute }, func(m *metricStore) { m.ahead = 0 }),
		"has samples 10 min in the future"),
	{
		part: "Prometheus", name: "has lost half of the series", clients: []claim{halfFollows, chooses}, decided: []claim{halfHeld}, recovers: atOnce,
		inject: switched(func(m *metricStore) { m.gone["q"] = true }, func(m *metricStore) { delete(m.gone, "q") }),
	},
	{
		part: "Prometheus", name: "has lost its history, and warmpool is restarted", clients: []claim{follows, chooses}, decided: []claim{asEver}, recovers: atOnce,
		inject: func(w *world) func() {
			w.store.set(func(m *metricStore) { m.since = w.trueNow() })
			w.restart(nil)
			return func() {}
		},
	},
}
