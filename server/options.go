package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/wire/raw"
)

// Expander chooses a node group. It is the engine's part of BestOptions.
type Expander interface {
	// BestOptions returns the decision with the ids to keep. An error makes the Cluster Autoscaler keep every option.
	BestOptions(ctx context.Context, request expander.Request) (expander.Decision, error)
}

// Scaler answers replica targets from the board. No method waits for a source. It is the engine's part of the calls
// of KEDA.
type Scaler interface {
	// Resolve finds the service of a trigger from configuration and metadata alone. The last element of the id, after
	// the last slash, is the service's name.
	Resolve(t engine.Trigger) (id string, err error)
	// Target returns the board's entry of a resolved service.
	Target(id string) (scaler.Decision, error)
	// Changed returns a channel that is closed when the answer of the service next changes, or nil for one that is not
	// known.
	Changed(id string) <-chan struct{}
}

var (
	_ Expander = (*engine.Engine)(nil)
	_ Scaler   = (*engine.Engine)(nil)
)

// Options of a server. Expander, Scaler and Decisions are the parts to serve; at least one of the first two is set.
type Options struct {
	Expander  Expander
	Scaler    Scaler
	Decisions *decisions.Log
	// Board serves other instances on the TLS listener of the scaler; nil for a single instance. Instance is the name of
	// this one, and PeerTokenFile holds the token that the others send; without it only those with a client certificate,
	// or on this machine, are let in.
	Board         Board
	Instance      string
	PeerTokenFile string
	// Operations lets operators set overrides and freezes on the admin listener; it needs AdminTokenFile to be written.
	Operations Operations
	// Ledgers tells on the admin listener what services run on; nil does not.
	Ledgers Ledgers
	// Page serves the operator's page on the admin listener to everybody who reaches it: it must hold no data. API
	// serves what is below /api/ and not served here, behind the token. Either may be nil.
	Page, API http.Handler

	// Addresses to listen on, as host:port; an empty one is not served. The TLS listeners need a certificate.
	ExpanderListen, ScalerListen, ScalerInsecureListen, AdminListen string

	TLS TLSFiles
	// ClientNames, when given, are the subject alternative names of which a client certificate of the scaler must carry one;
	// without them every certificate of the client CA is good.
	ClientNames []string
	// AdminTokenFile holds the bearer token of the admin listener. It or AdminNames is required unless that listens on a
	// loopback address; probes (/healthz, /readyz) never need either.
	AdminTokenFile string
	// AdminNames are the subject alternative names of client certificates that are as good as the token.
	AdminNames []string
	// AdminTLS says whether the admin listener speaks TLS, with the same certificate as the others.
	AdminTLS AdminTLS

	Requests RequestLimits
	Clients  ClientLimits

	// Heartbeat is the time between two messages of StreamIsActive while the target is above zero, 10 s by default.
	Heartbeat time.Duration
	// Drain is how long open calls may take at the end, 10 s by default.
	Drain time.Duration
	// MaxConnectionAge sends clients to a fresh connection, so that they spread over the instances again; 30 min by
	// default, give or take 10 %.
	MaxConnectionAge time.Duration
	// MaxConnectionIdle ends connections without a call, 5 min by default; clients connect again with their next one.
	MaxConnectionIdle time.Duration
	// CertificatePoll is how often the certificate files are looked at, 10 s by default.
	CertificatePoll time.Duration

	Registry *prometheus.Registry
	Logger   *slog.Logger
}

// RequestLimits bound what the expander accepts. Its requests are not authenticated, so there is a limit for each way
// to ask too much. The large ones can be changed later, see [Server.SetLargeRequests].
type RequestLimits struct {
	// Large is the size in bytes from which a request is large, 64 MiB by default.
	Large int64
	// Limit is the largest request in bytes, 384 MiB by default.
	Limit int64
	// LargeInFlight is how many large requests are served at a time, 1 by default; the next one gets
	// ResourceExhausted, which the Cluster Autoscaler takes as "keep all".
	LargeInFlight int
	// PerSecond is the rate of requests, 200 by default, with bursts of twice that.
	PerSecond float64
}

func (l RequestLimits) bounds() raw.Bounds {
	return raw.Bounds{Limit: l.Limit, From: l.Large, InFlight: l.LargeInFlight}
}

func (o *Options) complete() {
	o.Requests.PerSecond = cmp.Or(o.Requests.PerSecond, 200)
	o.Heartbeat = cmp.Or(o.Heartbeat, 10*time.Second)
	o.Drain = cmp.Or(o.Drain, 10*time.Second)
	o.MaxConnectionAge = cmp.Or(o.MaxConnectionAge, 30*time.Minute)
	o.MaxConnectionIdle = cmp.Or(o.MaxConnectionIdle, 5*time.Minute)
	o.CertificatePoll = cmp.Or(o.CertificatePoll, 10*time.Second)
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) validate() error {
	var errs []error
	if o.Expander == nil && o.Scaler == nil {
		errs = append(errs, errors.New("nothing to serve: neither expander nor scaler"))
	}
	if o.usesTLS() && (o.TLS.Cert == "" || o.TLS.Key == "") {
		errs = append(errs, errors.New("the expander, the scaler and an admin listener that is not on loopback need a certificate: give --tls-cert and --tls-key, or --tls-self-signed DIR for a trial"))
	}
	if len(o.ClientNames) > 0 && o.TLS.ClientCA == "" {
		errs = append(errs, errors.New("--client-names are the names of client certificates: give their authority with --client-ca"))
	}
	errs = append(errs, o.checkAdmin(), o.checkBoard())
	return errors.Join(errs...)
}

func (o *Options) checkAdmin() error {
	if o.AdminListen == "" {
		return nil
	}
	var errs []error
	if o.AdminTokenFile == "" && len(o.AdminNames) == 0 && !isLoopback(o.AdminListen) {
		errs = append(errs, errors.New("the admin listener "+o.AdminListen+" is reachable from other machines: give --admin-token-file, or listen on 127.0.0.1"))
	}
	if len(o.AdminNames) > 0 && o.TLS.ClientCA == "" {
		errs = append(errs, errors.New("--admin-client-names are the names of client certificates: give their authority with --client-ca"))
	}
	if len(o.AdminNames) > 0 && !o.adminTLS() {
		errs = append(errs, errors.New("--admin-client-names need TLS on the admin listener: give --admin-tls=on"))
	}
	return errors.Join(errs...)
}

// AdminTLS says whether the admin listener speaks TLS.
type AdminTLS string

// The values of AdminTLS. The empty one is AdminTLSAuto.
const (
	// AdminTLSAuto is TLS unless the address is a loopback one.
	AdminTLSAuto AdminTLS = "auto"
	// AdminTLSOn is always TLS.
	AdminTLSOn AdminTLS = "on"
	// AdminTLSOff is plaintext, for a proxy in front that speaks TLS: token and data cross the network as they are.
	AdminTLSOff AdminTLS = "off"
)

func (o *Options) adminTLS() bool {
	switch o.AdminTLS {
	case AdminTLSOn:
		return true
	case AdminTLSOff:
		return false
	case AdminTLSAuto:
	}
	return !isLoopback(o.AdminListen)
}

func (o *Options) usesTLS() bool {
	return o.Expander != nil && o.ExpanderListen != "" || o.Scaler != nil && o.ScalerListen != "" || o.AdminListen != "" && o.adminTLS()
}

// shared tells whether expander and scaler are served on one listener.
func (o *Options) shared() bool {
	return o.Expander != nil && o.Scaler != nil && o.ExpanderListen != "" && o.ExpanderListen == o.ScalerListen
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
