package expander

import "time"

// Outcome is the kind of answer.
type Outcome string

// The outcomes: one group, no opinion, or no scale-up at all.
const (
	Selected    Outcome = "selected"
	PassThrough Outcome = "passthrough"
	Veto        Outcome = "veto"
)

// Decision is one choice with everything that led to it. It is the value that is logged, shown and explained.
type Decision struct {
	Time time.Time `json:"time"`
	// Outcome and Selected are the choice, also in observe mode. Selected holds one id, or none.
	Outcome  Outcome  `json:"outcome"`
	Selected []string `json:"selected"`
	// Answer is what the caller gets: the ids to keep, in the order of the request.
	Answer []string `json:"answer"`
	Mode   Mode     `json:"mode"`
	// Reasons are the reason codes of the choice, in the order they applied.
	Reasons  []string `json:"reasons"`
	Warnings []string `json:"warnings,omitempty"`
	// Workloads has one entry for each workload in the request, in the order they were served.
	Workloads  []WorkloadDecision `json:"workloads"`
	Candidates []Candidate        `json:"candidates"`
	// LeastWaste is what the Cluster Autoscaler's next filter would have kept on the same request, by its exact rule.
	LeastWaste LeastWasteBaseline `json:"leastWaste"`
	// Failures are the groups that the failure memory holds back now.
	Failures   []FailureState `json:"failures,omitempty"`
	PolicyHash string         `json:"policyHash"`
}

// WorkloadDecision is what happened to one workload of the request.
type WorkloadDecision struct {
	Name string `json:"name"`
	// Pods is how many distinct pods of the request belong to it.
	Pods int `json:"pods"`
	// Stage is the number of the stage used, from 1; 0 if none had an option.
	Stage int `json:"stage"`
	// StageReason says why this stage and not an earlier one.
	StageReason string `json:"stageReason,omitempty"`
	Served      bool   `json:"served"`
	// Valid are the options that could have served it.
	Valid []string `json:"valid,omitempty"`
	// UnservedLoops counts the loops in a row in which it had a valid option and lost.
	UnservedLoops int `json:"unservedLoops,omitempty"`
	// IgnoredForAge are UIDs of pods that were asked for again and again without effect.
	IgnoredForAge []string `json:"ignoredForAge,omitempty"`
	// Relaxed are the filters that were not applied, because nothing would have been left.
	Relaxed []string `json:"relaxed,omitempty"`
	// OldestSeen is the age of the oldest pod that counts, in seconds since it was first seen.
	OldestSeen float64 `json:"oldestSeen,omitempty"`
}

// Candidate is one option with the numbers it was ranked by, or the reason it was not.
type Candidate struct {
	ID           string       `json:"id"`
	Pool         string       `json:"pool"`
	CapacityType CapacityType `json:"capacityType"`
	GPUModel     string       `json:"gpuModel,omitempty"`
	NodeCount    int          `json:"nodeCount"`
	Pods         int          `json:"pods"`
	// Rejected is the reason code, or empty.
	Rejected string `json:"rejected"`
	Waste    Waste  `json:"waste"`
	// Cost is NodeCount times the hourly price; nil without a price.
	Cost *float64 `json:"cost"`
	// Score is dollars bought per dollar needed, smaller is better; nil without prices.
	Score *float64 `json:"score"`
	// Criteria holds every criterion that was computed, in rank order.
	Criteria []CriterionValue `json:"criteria,omitempty"`
}

// CriterionValue is the value of one criterion for a candidate. Less is better, except for podsHelped, softAffinity
// and modelCache, where more is.
type CriterionValue struct {
	Name  CriterionName `json:"name"`
	Value *float64      `json:"value"`
	// Kept tells whether the candidate was still in the race after this criterion.
	Kept bool `json:"kept"`
}

// Waste is the unused share of what would be bought, from 0 to 1; nil is unknown or not applicable.
type Waste struct {
	GPU       *float64 `json:"gpu"`
	GPUMemory *float64 `json:"gpuMemory"`
	CPU       *float64 `json:"cpu"`
	Memory    *float64 `json:"memory"`
}

// LeastWasteBaseline is the built-in rule on the same request.
type LeastWasteBaseline struct {
	Groups []string `json:"groups"`
	// Cost is the hourly cost of its first choice; nil without a price.
	Cost *float64 `json:"cost"`
}

// FailureState is one group that is held back.
type FailureState struct {
	GroupID  string       `json:"groupId"`
	Class    FailureClass `json:"class"`
	Proven   bool         `json:"proven"`
	Failures int          `json:"failures"`
	Until    time.Time    `json:"until"`
}
