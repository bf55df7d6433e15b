package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/tap"

	"github.com/warmpool/warmpool/proto/externalscaler"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	warmpoolv1 "github.com/warmpool/warmpool/proto/warmpool/v1"
	"github.com/warmpool/warmpool/wire/raw"
)

const (
	// maxMessage is for every request but the expander's, which has its own limit: a reference with metadata.
	maxMessage = 64 << 10
	// maxStreams is for one connection: KEDA may have two calls and two streams open for each ScaledObject.
	maxStreams = 8192
	maxHeaders = 64 << 10
	// A window is what a connection may have in flight that nobody has read yet. Only requests of the expander are large.
	window, smallWindow = 1 << 20, 256 << 10
	// expanderConnections and scalerConnections are what one client may have on a listener of that half.
	expanderConnections, scalerConnections = 16, 256
)

// port is one listening address with the gRPC server behind it.
type port struct {
	name     string // expander, scaler, scaler-insecure or admin
	listener net.Listener
	grpc     *grpc.Server
}

// part is what a listener serves.
type part struct {
	name, flag, address string
	expander, scaler    bool
	tls                 bool
}

func (o *Options) parts() []part {
	all := []part{
		{"expander", "--expander-listen", o.ExpanderListen, true, o.shared(), true},
		{"scaler", "--scaler-listen", o.ScalerListen, false, true, true},
		{"scaler-insecure", "--scaler-insecure-listen", o.ScalerInsecureListen, false, true, false},
	}
	var out []part
	for _, p := range all {
		unused := p.address == "" || p.expander && o.Expander == nil || !p.expander && o.Scaler == nil
		if !unused && (p.name != "scaler" || !o.shared()) {
			out = append(out, p)
		}
	}
	return out
}

// open listens and prepares the gRPC server of a part.
func (s *Server) open(p part) (port, error) {
	l, err := listen(p.name, p.flag, p.address)
	if err != nil {
		return port{}, err
	}
	connections, inFlight := scalerConnections, int32(smallWindow)
	if p.expander {
		inFlight = window
	}
	if !p.scaler {
		connections = expanderConnections
	}
	clients := newClients(s.options.Clients.withDefaults(connections), func(limit string) prometheus.Counter {
		return s.metrics.refused.WithLabelValues(p.name, limit)
	})
	l = limited{l, clients}
	opts := append(s.interceptors(),
		grpc.ForceServerCodecV2(raw.Codec()), grpc.MaxRecvMsgSize(maxMessage),
		grpc.StaticConnWindowSize(inFlight), grpc.StaticStreamWindowSize(inFlight),
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders), grpc.ConnectionTimeout(10*time.Second),
		// KEDA sends no pings, so the server finds dead connections. Open streams outlive the age of their connection:
		// to cut them would look like a failure and slow down the next activation.
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: s.options.MaxConnectionIdle, MaxConnectionAge: s.options.MaxConnectionAge, Time: 30 * time.Second, Timeout: 10 * time.Second,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))
	if p.tls {
		opts = append(opts, s.transport(p)...)
	}
	opts = append(opts, grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
		return clients.tap(ctx, info, s.admission.tap)
	}))
	server := grpc.NewServer(opts...)
	grpc_health_v1.RegisterHealthServer(server, s.health)
	if p.expander {
		raw.RegisterExpander(server, s.expander, s.gate)
	}
	if p.scaler {
		externalscaler.RegisterExternalScalerServer(server, s.scaler)
	}
	if p.scaler && p.tls && s.options.Board != nil {
		warmpoolv1.RegisterBoardServiceServer(server, &boardService{
			board: s.options.Board, instance: s.options.Instance, tokenFile: s.options.PeerTokenFile, names: s.certificates.names, logger: s.options.Logger, stop: s.stop,
		})
	}
	s.metrics.calls.InitializeMetrics(server)
	return port{p.name, l, server}, nil
}

func (s *Server) transport(p part) []grpc.ServerOption {
	auth := tls.NoClientCert
	var opts []grpc.ServerOption
	if p.scaler && s.options.TLS.ClientCA != "" {
		opts = s.requireClientCertificates()
		auth = tls.RequireAndVerifyClientCert
		if p.expander || s.options.Board != nil { // other instances have a token instead
			auth = tls.VerifyClientCertIfGiven
		}
	}
	return append(opts, grpc.Creds(credentials.NewTLS(s.certificates.config(auth, "h2"))))
}

func (o *Options) healthServer() *health.Server {
	h := health.NewServer()
	if o.Expander != nil {
		h.SetServingStatus(grpcplugin.Expander_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	if o.Scaler != nil {
		h.SetServingStatus(externalscaler.ExternalScaler_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	return h
}

// listen opens an address and says what to do when that fails.
func listen(name, flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s listener: %s is already in use by another process: stop it (ss -ltnp shows it) or give another address with %s", name, address, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s listener: no permission to listen on %s: give a port above 1023 with %s", name, address, flag)
	}
	return nil, fmt.Errorf("%s listener: %w: give host:port with %s", name, err, flag)
}
