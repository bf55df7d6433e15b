package engine

import "errors"

// The errors that callers tell apart.
var (
	// ErrUnknownService is a trigger that names a service which is not configured.
	ErrUnknownService = errors.New("unknown service")
	// ErrInvalidTrigger is metadata that cannot be used. The error names every key at fault and never a value.
	ErrInvalidTrigger = errors.New("invalid trigger metadata")
	// ErrNoData means that there is no answer yet, or that the last one is too old.
	ErrNoData = errors.New("no valid data")
	// ErrTooMany means that a bound of [Limits] is reached.
	ErrTooMany = errors.New("too many triggers")
	// ErrBusy means that a choice of node group waited behind others until its caller gave up.
	ErrBusy = errors.New("busy")
)
