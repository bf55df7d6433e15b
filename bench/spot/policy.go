package main

import "time"

// policy is one way to run a service.
type policy struct {
	name           string
	spot, onDemand bool
	// memory is the failure memory of the expander, with escalation after 60 s; 0 takes the cheapest group that is not
	// in backoff.
	memory time.Duration
	// deletionCost, replace and suspect are the rules of package link.
	deletionCost, replace, suspect bool
	// losses holds a group back for a while after it lost nodes.
	losses bool
	// swap moves fall-back replicas back to spot, one at a time.
	swap bool
	// patient pods try every spot group that is not held back before they fall back; others do after one failed attempt.
	patient bool
	// base is the share of replicas on on-demand.
	base float64
	// forecast adds what the predictor orders for the lead.
	forecast bool
	// hedge is how many spot replicas are kept more than needed.
	hedge int
	// everywhere is set for what is played under all conditions.
	everywhere bool
}

const (
	shortMemory = 10 * time.Minute
	// lateMemory is for failures that are found by time-out only.
	lateMemory = time.Hour
)

// remembers is the failure memory under the conditions.
func (p policy) remembers(c conditions) time.Duration {
	if p.memory == shortMemory && c.detect > time.Minute {
		return lateMemory
	}
	return p.memory
}

const (
	firmName  = "all on-demand"
	plainName = "cheapest first + backoff"
	ruleUName = "U: memory 3 h + escalation"
	ruleName  = "1: on-demand deleted first + memory 10 min"
	allName   = "all rules"
	swapName  = "all rules and swap"
)

var policies = []policy{
	{name: firmName, onDemand: true},
	{name: "all spot", spot: true},
	{name: plainName, spot: true, onDemand: true, everywhere: true},
	{name: ruleUName, spot: true, onDemand: true, memory: 3 * time.Hour, everywhere: true},
	{name: "memory 10 min alone", spot: true, onDemand: true, memory: shortMemory},
	{name: "on-demand deleted first alone (memory 3 h)", spot: true, onDemand: true, memory: 3 * time.Hour, deletionCost: true},
	ruled(policy{name: ruleName, everywhere: true}),
	ruled(policy{name: "1 + a loss is a failure", losses: true, everywhere: true}),
	ruled(policy{name: "1 + replacement at notice", replace: true}),
	ruled(policy{name: "1 + suspect nodes", suspect: true}),
	ruled(policy{name: "1 + swap", swap: true}),
	ruled(policy{name: allName, losses: true, replace: true, suspect: true, everywhere: true}),
	ruled(policy{name: swapName, losses: true, replace: true, suspect: true, swap: true, everywhere: true}),
	ruled(policy{name: "all rules, base 50 %", losses: true, replace: true, suspect: true, base: 0.5}),
	ruled(policy{name: "1 without escalation", patient: true}),
	ruled(policy{name: "all rules without escalation", losses: true, replace: true, suspect: true, patient: true}),
	{name: "SpotHedge, one extra", spot: true, onDemand: true, hedge: 1},
	{name: plainName + ", forecast", spot: true, onDemand: true, forecast: true},
	ruled(policy{name: allName + ", forecast", losses: true, replace: true, suspect: true, forecast: true}),
	ruled(policy{name: swapName + ", forecast", losses: true, replace: true, suspect: true, swap: true, forecast: true}),
}

// ruled adds rule 1.
func ruled(p policy) policy {
	p.spot, p.onDemand, p.memory, p.deletionCost = true, true, shortMemory, true
	return p
}
