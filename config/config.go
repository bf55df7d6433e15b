package config

import (
	"time"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// Config is a compiled configuration. It is immutable: nobody may change it or anything it refers to.
type Config struct {
	// Name is the file it was read from, Files the further files that went into it.
	Name  string
	Files []string
	// Hash identifies the content: 16 hexadecimal digits that depend on the values, defaults included, and not on
	// layout, comments or the order of keys.
	Hash string
	// Warnings are in the order of the file.
	Warnings []Warning

	EvaluationInterval time.Duration
	ActivationInterval time.Duration
	// CAVersion is the release of the Cluster Autoscaler, such as 1.36, or empty.
	CAVersion  string
	Prometheus Prometheus
	// Expander is nil when the file has no expander section.
	Expander      *expander.Policy
	LargeRequests LargeRequests
	// Services are those of the file, in its order.
	Services  []Service
	Metadata  Metadata
	Freeze    Freeze
	Spot      Spot
	Rebalance Rebalance
	Decisions Decisions

	source *file
	// byName finds an entry of source.Services by NAMESPACE/NAME.
	byName map[string]int
}

// Prometheus is how the metric store is reached.
type Prometheus struct {
	URL           string
	Timeout       time.Duration
	MaxConcurrent int
	// Headers are added to every request. Their values may be secret.
	Headers         map[string]string
	BearerTokenFile string
	Username        string
	PasswordFile    string
	TLS             TLS
}

// TLS names PEM files; empty ones are not used.
type TLS struct{ CAFile, CertFile, KeyFile string }

// LargeRequests limits what the Cluster Autoscaler may send: From and Limit in bytes, InFlight large ones at one time.
type LargeRequests struct {
	From, Limit int64
	InFlight    int
}

// Metadata is what the metadata of triggers may hold.
type Metadata struct {
	// AllowQueries are the namespaces whose triggers may carry raw queries.
	AllowQueries []string
}

// Freeze is one switch per half.
type Freeze struct {
	Expander, Scaler bool
	Reason           string
}

// Spot is the link between the halves on spot capacity.
type Spot struct{ OnDemandFirstScaleIn, ReplaceAtNotice, HoldAfterLoss, SuspectNodes bool }

// The modes of [Rebalance].
const (
	Off    = "off"
	Advise = "advise"
	Swap   = "swap"
)

// Rebalance says whether services that fell back are told how they could go back to spot, or moved. Mode is off, advise
// or swap.
type Rebalance struct{ Mode string }

// Decisions is the decision log: how many are kept in memory, and the JSON lines file, if any.
type Decisions struct {
	Ring int
	File string
}

// Service is one compiled service.
type Service struct {
	Policy scaler.Policy
	// Queries are in a fixed order, at most one for each signal.
	Queries  []Query
	Forecast ForecastSettings
	// Pods are the queries that tell the state of the pods where there is no view of the cluster, see [PodsReady]; nil
	// unless they are configured.
	Pods []Query
	// Overrides are in order of time and do not overlap. See OverrideAt.
	Overrides []scaler.Override
}

// OverrideAt gives the override that holds at a time, or nil.
func (s *Service) OverrideAt(now time.Time) *scaler.Override {
	for i := range s.Overrides {
		if o := &s.Overrides[i]; !now.Before(o.From) && now.Before(o.To) {
			return o
		}
	}
	return nil
}

// Query is one PromQL query of a service.
type Query struct {
	Signal scaler.Signal
	// Expr is what is sent. A preset's expression is grouped by the labels By and holds no value of the service, so that
	// all services of a preset share one request; the service's row is the one whose labels equal Match. A query that was
	// written by hand has no By and must give exactly one sample.
	Expr  string
	By    []string
	Match map[string]string
	// AgeExpr gives, with the same grouping, the time of the newest sample in seconds since 1970. It may be empty.
	AgeExpr string
	// Alone is the query of this service alone, as one would type it to check the value.
	Alone string
	// PerReadyPod says that the value is a mean over ready pods: it has to be multiplied by their number.
	PerReadyPod bool
	// Scale multiplies the value: 0.01 turns percent into a share.
	Scale float64
	// EveryRow makes a sample of every row whose labels equal Match, and none of none, in place of exactly one. Such a
	// query cannot be read back in time.
	EveryRow bool
}

// ForecastSettings is the predictor's part of a service.
type ForecastSettings struct {
	// Mode is off, shadow, active or auto.
	Mode string
	// Rate gives the arrivals per second that the history is built from; nil: there is none, and the forecast has no data.
	Rate *Query
	// MaxShort is the share of time slots that may be short of replicas. It is not used when Cost is set.
	MaxShort float64
	// Cost is nil unless the price of a shortage was stated.
	Cost     *ForecastCost
	Location *time.Location
	Holidays []Holiday
	// ProfileFrom names a service of the same namespace whose daily shape may be borrowed.
	ProfileFrom string
	// MaxPrewarm is the share of Policy.Max that the forecast alone may add.
	MaxPrewarm float64
}

// ForecastCost states what a shortage costs: ReplicaHour for one replica for an hour, ShortStep for one time slot that is
// short of replicas, in one currency.
type ForecastCost struct{ ReplicaHour, ShortStep float64 }

// Holiday is a day, in the service's time zone, that is like a weekend.
type Holiday struct {
	Year  int
	Month time.Month
	Day   int
	Name  string
}
