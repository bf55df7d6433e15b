package engine

import "time"

const (
	// sliceOf is how many services are evaluated, or turned into metrics, without a rest: a millisecond or two of a processor.
	sliceOf = 64
	// restFor is how long the rest is. 10,000 services take a sixth of a second longer for it, of the 15 that they have.
	restFor = time.Millisecond
)

// slices returns what is to be called after each of many pieces of work, so that calls that arrive meanwhile are served in
// between. A goroutine that only yields would get its processor back before the network is looked at. An engine in virtual
// time has no calls to let through.
func (e *Engine) slices() (rest func()) {
	if !e.realTime {
		return func() {}
	}
	done := 0
	return func() {
		if done++; done%sliceOf == 0 {
			time.Sleep(restFor)
		}
	}
}
