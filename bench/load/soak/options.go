package soak

import (
	"errors"
	"log/slog"
	"time"

	"github.com/warmpool/warmpool/bench/load"
)

// Options of a run.
type Options struct {
	// Binary is the server to run; Constant is the command line of the plain server, see [ServeConstant].
	Binary   string
	Constant []string
	// Dir holds configuration, certificate, data and log of the server.
	Dir string
	// Objects is how many scaled objects are polled. Half of them share Few connections without TLS, the others Many
	// connections with TLS.
	Objects, Few, Many int
	// Streams is how many of them are also open as push streams.
	Streams int
	// Forecasts is how many of them have a forecast, with five weeks of history to read at the start.
	Forecasts int
	// Poll is the time between two polls of one object, as in a scaled object. A poll is GetMetrics and IsActive.
	Poll time.Duration
	// Evaluate is the evaluation interval of the server.
	Evaluate time.Duration
	// Wave is the request of the Cluster Autoscaler, sent every Burst, with other pods each time.
	Wave  load.Wave
	Burst time.Duration
	// Warmup is the time before anything is measured: everything is asked for the first time, and memories of bounded
	// size fill up. In it the wave comes every WarmupBurst.
	Warmup, WarmupBurst time.Duration
	// For is the measured time.
	For time.Duration
	// Sample is the time between two readings of the server's own metrics. It should not divide Evaluate, so that the
	// age of the board is seen at all phases.
	Sample time.Duration
	// CallLimit is the deadline of a call of KEDA.
	CallLimit time.Duration
	// Log tells how it goes; nil does not.
	Log *slog.Logger
}

// Defaults is the run that docs/reliability.md reports.
func Defaults() Options {
	return Options{
		Objects: 1000, Few: 4, Many: 200, Streams: 100, Forecasts: 100,
		Poll: 15 * time.Second, Evaluate: 15 * time.Second,
		Wave: load.Wave{Groups: 60, Pods: 500}, Burst: 10 * time.Second,
		Warmup: 4 * time.Minute, WarmupBurst: 3 * time.Second, For: 10 * time.Minute, Sample: 7 * time.Second, CallLimit: 3 * time.Second,
	}
}

func (o *Options) check() error {
	switch {
	case o.Binary == "" || len(o.Constant) == 0 || o.Dir == "":
		return errors.New("a run needs the binary of the server, the command of the constant one, and a directory")
	case o.Objects < 2 || o.Few < 1 || o.Many < 1 || o.Streams > o.Objects || o.Forecasts > o.Objects:
		return errors.New("a run needs two objects, a connection of each kind, and not more streams and forecasts than objects")
	case o.Poll <= 0 || o.Evaluate <= 0 || o.For <= 0 || o.Burst <= 0 || o.WarmupBurst <= 0 || o.Sample <= 0 || o.CallLimit <= 0:
		return errors.New("the times of a run must be above zero")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
