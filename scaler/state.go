package scaler

import "time"

// State is what an evaluation remembers. The zero value is a service that was never evaluated.
type State struct {
	// Last holds the newest valid samples of each signal, oldest first, as many as the rules look back.
	Last map[Signal][]Sample `json:"last,omitempty"`
	// Computed holds the targets computed within the scale-down window, oldest first.
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
	// UtilizationUps are the recent targets that the utilisation vote alone lifted.
	UtilizationUps []Target `json:"utilizationUps,omitempty"`
}

// Target is a computed target at a time.
type Target struct {
	At time.Time `json:"at"`
	N  int       `json:"n"`
}
