package signals

import (
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// within tells the metric store how long it may take. Its durations have whole numbers only, and "2.5s" is refused, so
// the limit is rounded up; the request itself ends on time.
func within(limit time.Duration) promv1.Option {
	return promv1.WithTimeout(wholeUnits(limit))
}

func wholeUnits(limit time.Duration) time.Duration {
	unit := time.Millisecond
	if limit >= time.Second {
		unit = time.Second
	}
	return max(unit, (limit + unit - 1).Truncate(unit))
}
