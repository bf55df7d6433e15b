package scaler

import "time"

// State is what an evaluation remembers. The zero value is a service that was never evaluated.
type State struct {
	// Last holds the newest valid samples of each signal, oldest first, as many as the rules look back.
	Last map[Signal][]Sample `json:"last,omitempty"`
	// Computed holds the targets computed within the scale-down window, oldest first; those that a later and at least
	// equal one makes irrelevant are left out.
	Computed []Target `json:"computed,omitempty"`
	// N is the last answered target and Need the last need; Valid tells whether there was one.
	N     int  `json:"n"`
	Need  int  `json:"need"`
	Valid bool `json:"valid"`
	// LastStep is when the target last went down.
	LastStep time.Time `json:"lastStep,omitzero"`
	// LastDemand is when queue or traffic were last above zero.
	LastDemand time.Time `json:"lastDemand,omitzero"`
	// Since is when the service was first evaluated with this state.
	Since time.Time `json:"since,omitzero"`
	// FirstStuck is when the first of the now stuck pods got stuck.
	FirstStuck time.Time `json:"firstStuck,omitzero"`
	// UtilizationUps are the recent targets that the utilisation vote alone lifted, as they were before.
	UtilizationUps []Target `json:"utilizationUps,omitempty"`
	// QuietSince is since when every sample of utilisation was below the down threshold with nothing waiting.
	QuietSince time.Time `json:"quietSince,omitzero"`
	// Busy are the largest numbers of busy replicas (ready x utilisation) within the scale-down window.
	Busy []Sample `json:"busy,omitempty"`
	// LastBusy is the number of busy replicas at the newest sample of utilisation.
	LastBusy float64 `json:"lastBusy,omitempty"`
	// Ready is the last known number of ready replicas and BecameReady when it last rose.
	Ready       int       `json:"ready,omitempty"`
	BecameReady time.Time `json:"becameReady,omitzero"`
	// Prewarms are the open prewarms and those of the last 24 hours.
	Prewarms []Prewarm `json:"prewarms,omitempty"`
	// Ordered is the largest order of the forecast since it last asked for no more than the other votes.
	Ordered int `json:"ordered,omitempty"`
	// Released is the size of a missed prewarm whose order no longer votes; 0 without one.
	Released int `json:"released,omitempty"`
	// Observed is what the service's own metrics tell about a replica's capacity.
	Observed Observed `json:"observed,omitzero"`
}

// Target is a computed target at a time.
type Target struct {
	At time.Time `json:"at"`
	N  int       `json:"n"`
}
