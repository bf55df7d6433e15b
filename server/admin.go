package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	warmpoolv1 "github.com/warmpool/warmpool/proto/warmpool/v1"
)

// openAdmin prepares the listener for people and tools: HTTP/1.1, and HTTP/2 without TLS for gRPC, on one port.
func (s *Server) openAdmin() error {
	if s.options.AdminTokenFile != "" {
		if _, err := readToken(s.options.AdminTokenFile); err != nil {
			return fmt.Errorf("admin listener: %w: check --admin-token-file", err)
		}
	}
	l, err := listen("admin", "--admin-listen", s.options.AdminListen)
	if err != nil {
		return err
	}
	clients := newClients(ClientLimits{Connections: adminConnections}, func(limit string) prometheus.Counter {
		return s.metrics.refused.WithLabelValues("admin", limit)
	})
	s.adminPort = limited{l, clients}
	s.adminGRPC = grpc.NewServer(append(s.interceptors(), grpc.MaxRecvMsgSize(maxMessage))...)
	grpc_health_v1.RegisterHealthServer(s.adminGRPC, s.health)
	if s.options.Decisions != nil {
		warmpoolv1.RegisterDecisionServiceServer(s.adminGRPC, &decisionService{log: s.options.Decisions, stop: s.stop})
	}
	if s.options.Ledgers != nil {
		warmpoolv1.RegisterLedgerServiceServer(s.adminGRPC, &ledgerService{ledgers: s.options.Ledgers})
	}
	reflection.Register(s.adminGRPC)
	s.admin = &http.Server{
		Handler: s.adminHandler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeaders,
		Protocols: new(http.Protocols),
		// Whoever connects could fill the log with handshakes that fail.
		ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug),
	}
	s.admin.Protocols.SetHTTP1(true)
	if !s.options.adminTLS() {
		s.admin.Protocols.SetUnencryptedHTTP2(true)
		return nil
	}
	s.admin.Protocols.SetHTTP2(true)
	auth := tls.NoClientCert
	if s.options.TLS.ClientCA != "" {
		auth = tls.VerifyClientCertIfGiven
	}
	s.admin.TLSConfig = s.certificates.config(auth, "h2", "http/1.1")
	return nil
}

// adminConnections is what one client may have open: a browser takes some, and so does a scraper.
const adminConnections = 64

func (s *Server) serveAdmin() error {
	if s.options.adminTLS() {
		return s.admin.ServeTLS(s.adminPort, "", "")
	}
	if !isLoopback(s.options.AdminListen) {
		s.options.Logger.Warn("the admin listener speaks plaintext to other machines, as --admin-tls=off asks for: its token and what it answers can be read on the way",
			"address", s.options.AdminListen)
	}
	return s.admin.Serve(s.adminPort)
}

func (s *Server) adminHandler() http.Handler {
	api := http.NewServeMux()
	api.Handle("GET /metrics", promhttp.HandlerFor(s.options.Registry, promhttp.HandlerOpts{Registry: s.options.Registry}))
	if s.options.Decisions != nil {
		(&decisionPages{log: s.options.Decisions}).register(api)
	}
	if s.options.Operations != nil {
		(&operationPages{operations: s.options.Operations, known: s.options.AdminTokenFile != "" || len(s.options.AdminNames) > 0}).register(api)
	}
	if s.options.API != nil {
		api.Handle("/api/", s.untilStop(s.options.API))
	}
	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	all.HandleFunc("GET /readyz", s.readyz)
	if s.options.Page != nil {
		all.Handle("GET /{$}", s.options.Page)
		all.Handle("GET /assets/", s.options.Page)
	}
	all.Handle("/", s.authenticated(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			s.adminGRPC.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})))
	return all
}

// readyz is about this process only: the configuration is loaded and the listeners are up. Were the health of a
// source in it, one dead metric store would take every instance out of the Service at once.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if !s.ready.Load() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// untilStop ends open requests, such as streams of events, when the server begins to drain.
func (s *Server) untilStop(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			select {
			case <-s.stop:
				cancel()
			case <-ctx.Done():
			}
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// local refuses requests whose host is a name other than localhost. Without a token the loopback address is what
// protects the listener, and a page of the internet could point a name of its own at it.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "without --admin-token-file the admin listener answers to localhost and to addresses only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authenticated lets requests with the token or a client certificate of the right name through, or those to a local host
// when neither is configured. The file is read every time, so that a new token counts at once.
func (s *Server) authenticated(next http.Handler) http.Handler {
	if s.options.AdminTokenFile == "" && len(s.options.AdminNames) == 0 {
		return local(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leaf := verifiedLeaf(r.TLS); leaf != nil && hasName(leaf, s.options.AdminNames) {
			next.ServeHTTP(w, r)
			return
		}
		if s.options.AdminTokenFile == "" {
			http.Error(w, "a client certificate with a name of --admin-client-names is required", http.StatusForbidden)
			return
		}
		token, err := readToken(s.options.AdminTokenFile)
		if err != nil {
			s.options.Logger.Error("admin requests are refused", "error", err)
			http.Error(w, "the server cannot read its token", http.StatusServiceUnavailable)
			return
		}
		if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || !sameToken(token, given) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="warmpool"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameToken compares hashes, which have equal lengths: the time that it takes tells nothing about the token.
func sameToken(want, given string) bool {
	a, b := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func readToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", errors.New("read token: " + path + " is empty")
	}
	return token, nil
}
