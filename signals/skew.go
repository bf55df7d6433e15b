package signals

import "time"

// mostSkew is how far the clocks may be apart. Queries are for a time of the own clock: one that is behind reads the
// traffic of the past as if it were of now, and one that is ahead finds nothing. Below that, the age of a sample tells.
const mostSkew = 2 * time.Minute

// compareClocks refuses an answer that was made, by the server's clock, at another time than between the sending of the
// request and the answer. The server tells whole seconds; without a date nothing is known.
func (r *Reader) compareClocks(date, sent, received time.Time) *Error {
	if date.IsZero() {
		return nil
	}
	var ahead time.Duration
	switch {
	case date.After(received):
		ahead = received.Sub(date)
	case date.Add(time.Second).Before(sent):
		ahead = sent.Sub(date.Add(time.Second))
	}
	r.metrics.skew.Set(ahead.Seconds())
	if ahead.Abs() <= mostSkew {
		return nil
	}
	if ahead > 0 {
		return failf(Skew, "the clock here is %v ahead of the metric store's; set the one that is wrong", ahead.Round(time.Second))
	}
	return failf(Skew, "the clock here is %v behind the metric store's; set the one that is wrong", -ahead.Round(time.Second))
}
