package signals

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/config"
)

// Options say how the metric store is reached.
type Options struct {
	// URL is the base address, without /api/v1. A user and password in it are sent as basic authentication.
	URL string
	// Timeout bounds one request; 2 s if 0.
	Timeout time.Duration
	// MaxConcurrent bounds the requests in flight over all readers of this value; 8 if 0.
	MaxConcurrent int
	// Headers are added to each request, such as X-Scope-OrgID for a tenant.
	Headers map[string]string
	// BearerTokenFile is read for each request.
	BearerTokenFile string
	// Username and PasswordFile are sent as basic authentication; the file is read for each request.
	Username, PasswordFile string
	TLS                    TLS
	// Seed makes the jitter of retries repeatable; instances should have different ones.
	Seed uint64
	// Clock tells the time, time.Now by default.
	Clock func() time.Time
	// Log gets new warnings of the server; nil discards them.
	Log *slog.Logger
	// Metrics gets the metrics of the requests; nil keeps them unregistered.
	Metrics prometheus.Registerer

	// largest is the largest answer in bytes.
	largest int64
}

// TLS names PEM files; they are read again for each handshake, the CA file once.
type TLS struct{ CAFile, CertFile, KeyFile string }

// FromConfig takes the connection from a configuration; seed, log and metrics are left to the caller.
func FromConfig(p config.Prometheus) Options {
	return Options{
		URL: p.URL, Timeout: p.Timeout, MaxConcurrent: p.MaxConcurrent, Headers: p.Headers,
		BearerTokenFile: p.BearerTokenFile, Username: p.Username, PasswordFile: p.PasswordFile, TLS: TLS(p.TLS),
	}
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = 8
	}
	if o.largest <= 0 {
		o.largest = largestAnswer
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
