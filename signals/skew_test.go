package signals

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// An answer from another time is not used, whichever clock is wrong; one without a date, or from a cache, is.
func TestSkew(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name   string
		ahead  time.Duration
		header map[string]string
		used   bool
	}{
		{"the same", 0, nil, true},
		{"a minute ahead", time.Minute, nil, true},
		{"a minute behind", -time.Minute, nil, true},
		{"three minutes ahead", 3 * time.Minute, nil, false},
		{"three minutes behind", -3 * time.Minute, nil, false},
		{"years behind", -20 * 365 * 24 * time.Hour, nil, false},
		{"no date", time.Hour, map[string]string{"Date": ""}, true},
		{"not a date", time.Hour, map[string]string{"Date": "today"}, true},
		{"from a cache", time.Hour, map[string]string{"Age": "3600"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", now.Format(http.TimeFormat))
				for k, v := range tc.header {
					w.Header().Set(k, v)
				}
				if w.Header().Get("Date") == "" {
					w.Header()["Date"] = nil // keeps the server from adding its own
				}
				fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[%d,"3"]}]}}`, now.Unix())
			}))
			defer server.Close()
			r, err := NewReader(Options{URL: server.URL, Clock: func() time.Time { return now.Add(tc.ahead) }})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			r.Read(context.Background(), now.Add(tc.ahead), [][]config.Query{{{Signal: scaler.Running, Expr: "x"}}}, func(_, _ int, samples []scaler.Sample, err error) {
				failure, _ := errors.AsType[*Error](err)
				if used := err == nil && len(samples) == 1; used != tc.used || (!used && failure.Class() != string(Skew)) {
					t.Errorf("samples %v, error %v; want used %v", samples, err, tc.used)
				}
			})
		})
	}
}
