package signals

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"pgregory.net/rapid"
)

// Every limit that can be configured is one that Prometheus can read, and not shorter than what was configured.
func TestServerTimeoutIsReadable(t *testing.T) {
	check := func(t interface {
		Helper()
		Errorf(string, ...any)
	}, limit time.Duration,
	) {
		t.Helper()
		text := wholeUnits(limit).String()
		got, err := model.ParseDuration(text)
		if err != nil || time.Duration(got) < limit || time.Duration(got)-limit > time.Second {
			t.Errorf("%v is sent as %q and read as %v, error %v", limit, text, time.Duration(got), err)
		}
	}
	for _, limit := range []time.Duration{
		1, time.Microsecond, 500 * time.Millisecond, 999*time.Millisecond + 1, time.Second, 1500 * time.Millisecond, 2500 * time.Millisecond,
		time.Minute, 90 * time.Second, time.Hour + 1500*time.Millisecond,
	} {
		check(t, limit)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, time.Duration(rapid.Int64Range(1, int64(48*time.Hour)).Draw(t, "limit")))
	})
}
