package scaler

import "time"

// Policy is the compiled scaling policy of one service.
type Policy struct {
	Namespace, Name string
	Min, Max        int

	// Concurrency is the number of requests one replica can hold within its objective; 0 is unknown.
	Concurrency float64
	// ServiceTime is how long a request holds a slot; 0 is unknown.
	ServiceTime time.Duration
	// RatePerReplica is the request rate one replica serves, in requests per second; 0 derives it from Concurrency
	// and ServiceTime.
	RatePerReplica float64
	// MaxUtilization is the planned share of a replica's capacity, between 0 and 1.
	MaxUtilization float64
	// WaitProbability, when above 0, replaces MaxUtilization by Erlang C staffing: the largest share of requests that
	// may have to wait.
	WaitProbability float64
	// DrainTime is how fast a backlog has to be worked off, 60 s by default.
	DrainTime time.Duration

	// Sources are the signals that are configured; a signal that is not configured is never missing.
	Sources []Source
	// Form fixes how the queue votes; empty derives it from Sources, see [FormAuto].
	Form QueueForm
	// LatencyObjective is the latency that Latency has to stay below; 0 is unknown, and Concurrency is then not learned.
	LatencyObjective time.Duration

	QueuePerReplica float64
	Utilization     UtilizationRule
	Forecast        ForecastLimit
	Startup         StartupRule
	ScaleDown       ScaleDown
	// IdleAfter is how long queue and traffic must be zero before the target may become zero (Min 0).
	IdleAfter time.Duration
	// StaleAfter is how long the last good value of a source votes after its sample.
	StaleAfter time.Duration

	Override *Override
	// Frozen holds the last target.
	Frozen       bool
	FrozenReason string
	// Hash identifies the configuration and metadata that this policy was compiled from.
	Hash string
}

// Source is one configured signal.
type Source struct {
	Signal Signal
	// OnlyWhenReady sources are exported by the replicas themselves: at zero ready replicas their absence is expected.
	OnlyWhenReady bool
	// Optional sources vote while they have a value; their absence is not missing and holds nothing. A preset reads GPU
	// utilisation and the KV cache this way until somebody asks for them, so that a cluster without the exporter can
	// still scale down.
	Optional bool
}

// Signal names a measured quantity.
type Signal string

// The signals. Waiting and Running are requests, Rate is arrivals per second, Latency is seconds, Utilization and KVCache
// are shares from 0 to 1.
const (
	Waiting     Signal = "waiting"
	Running     Signal = "running"
	Rate        Signal = "rate"
	Latency     Signal = "latency"
	Utilization Signal = "gpuUtilization"
	KVCache     Signal = "kvCache"
)

// QueueForm is how waiting requests become a number of replicas. A service has one form.
type QueueForm string

// The queue forms.
const (
	// FormAuto takes concurrency where Running is configured and Concurrency is known, else rate where Rate is
	// configured and the rate of a replica is known, else waiting.
	FormAuto QueueForm = ""
	// FormConcurrency votes (running + waiting) / (concurrency x share).
	FormConcurrency QueueForm = "concurrency"
	// FormRate votes (rate + waiting / drain time) / (rate per replica x share).
	FormRate QueueForm = "rate"
	// FormWaiting votes waiting / QueuePerReplica, and only upwards: an empty queue says nothing about the work that
	// the replicas are busy with.
	FormWaiting QueueForm = "waiting"
)

// UtilizationRule governs the votes from GPU utilisation.
type UtilizationRule struct {
	ScaleUp, ScaleDown float64
	// Samples is how many samples in a row must agree.
	Samples int
	// MaxUpCount and MaxUpPercent limit what the utilisation vote alone may add within MaxUpPeriod; the larger counts.
	MaxUpCount   int
	MaxUpPercent float64
	MaxUpPeriod  time.Duration
}

// ForecastLimit bounds what the forecast alone may add.
type ForecastLimit struct {
	// MaxPrewarm is a share of Max: the forecast may lift the target by at most that much above the other votes.
	MaxPrewarm float64
	// MaxUtilization is the planned share of a replica's capacity while the forecast is used: the forecast brings its own
	// margin for growth, so that the present needs less of one. It counts where Concurrency is known and above
	// [Policy.MaxUtilization]; 0 changes nothing.
	MaxUtilization float64
	// BreakEven is how long an idle replica may be kept because the forecast needs it again; 0 takes the lead time,
	// which is what a restart would waste.
	BreakEven time.Duration
}

// StartupRule is what is assumed of starting pods until enough starts were recorded.
type StartupRule struct {
	// Lead fixes the lead time; 0 learns it.
	Lead time.Duration
	// Prior stands in for the recorded starts until there are five, 300 s by default.
	Prior time.Duration
	// Push tells that activation is pushed, so that no polling interval is lost.
	Push bool
}

// ScaleDown limits the way down.
type ScaleDown struct {
	// Window is the time over which the largest computed target counts, at least the lead time; 0 is no window.
	Window time.Duration
	// MaxStep is the share of the target that one step may remove, at least one replica; 0 is no limit.
	MaxStep float64
	// Period is the time between two steps.
	Period time.Duration
}

// Override replaces the limits for a while, for launches and incidents.
type Override struct {
	Min, Max *int
	From, To time.Time
	Reason   string
}
