package scaler

// limitedSupply is the value of Decision.Limited where nothing more can be had.
const limitedSupply = "supply"

// bridge applies what the nodes say to the answer: replacements for what is lost or late, and the ceiling while nothing
// can be had. It comes after every rule that remembers, so that nothing of it is held when its cause is gone. A freeze
// stays what it is.
func (e *evaluation) bridge() {
	l := e.in.Link
	if l == nil || e.d.Unavailable != "" {
		return
	}
	e.d.Supply = l.Text
	if e.policy.Frozen {
		return
	}
	n := e.kept
	extra := min(max(0, l.Replace), n)
	if extra > 0 {
		e.reason(ReasonDoomed)
	}
	// Late nodes are missing only as far as the replicas that serve are too few, and the surge for stuck pods, which
	// these are after a while, covers them too.
	if late := min(l.Missing, n-e.in.Pods.Ready) - e.d.Surge; late > 0 {
		extra += late
		e.reason(ReasonLate)
	}
	want := max(n, min(n+extra, e.max))
	replaced := want
	if l.Swap > 0 && n > 0 {
		want = max(want, min(want+l.Swap, e.max))
	}
	if l.Ceiling > 0 && want > max(l.Ceiling, e.min) {
		want = max(l.Ceiling, e.min)
		e.hold(ReasonSupply, limitedSupply)
	}
	e.d.Swapping = max(0, want-max(n, replaced))
	if e.d.Swapping > 0 {
		e.reason(ReasonSwap)
	}
	e.d.Replicas, e.d.Replacing = want, max(0, want-n-e.d.Swapping)
}
