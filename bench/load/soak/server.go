package soak

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/warmpool/warmpool/bench/load/child"
	"github.com/warmpool/warmpool/server"
)

// Server is one instance of the real program.
type Server struct {
	*child.Process
	// Addresses of its listeners, as host:port.
	Expander, Scaler, Plain, Admin string
	// CA is the authority of its certificate, PEM.
	CA []byte
	// Dir holds its configuration, data and log, TLS its certificate.
	Dir, TLS string

	command []string
}

// NewServer prepares an instance with a configuration in a directory of its own and a certificate in one that it may
// share with others; more flags come after the usual ones. Nothing runs until [Server.Start].
func NewServer(binary, dir, tls, configuration string, more ...string) (*Server, error) {
	s := &Server{Dir: dir, TLS: tls}
	for _, address := range []*string{&s.Expander, &s.Scaler, &s.Plain, &s.Admin} {
		var err error
		if *address, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	if _, err := server.SelfSigned(tls, []string{"localhost", "127.0.0.1"}); err != nil {
		return nil, err
	}
	var err error
	if s.CA, err = os.ReadFile(filepath.Join(tls, "ca.crt")); err != nil {
		return nil, err
	}
	if err := s.Configure(configuration); err != nil {
		return nil, err
	}
	s.command = append([]string{
		binary, "serve", "--config", s.configuration(), "--data-dir", s.Data(), "--kubeconfig", "none",
		"--tls-cert", filepath.Join(tls, "tls.crt"), "--tls-key", filepath.Join(tls, "tls.key"),
		"--expander-listen", s.Expander, "--scaler-listen", s.Scaler, "--scaler-insecure-listen", s.Plain, "--admin-listen", s.Admin,
		"--client-connections", "2000", // all clients of a run have one address
	}, more...)
	return s, nil
}

// Data is the directory of what it has learnt.
func (s *Server) Data() string { return filepath.Join(s.Dir, "data") }

func (s *Server) configuration() string { return filepath.Join(s.Dir, "warmpool.yaml") }

// Configure replaces the configuration file in one step.
func (s *Server) Configure(text string) error {
	next := s.configuration() + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.configuration())
}

// Start runs the program, again if it has ended, and waits until it is ready.
func (s *Server) Start() error {
	p, err := launch(s.Dir, "warmpool", s.command...)
	if err != nil {
		return err
	}
	s.Process = p
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline) && !p.Ended(); time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get("http://" + s.Admin + "/readyz"); err == nil { //nolint:noctx // the loop bounds it
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return errors.Join(fmt.Errorf("the server is not ready; its output ends with\n%s", p.Output()), p.Stop(syscall.SIGKILL))
}

// Dial prepares a connection to the scaler, with or without TLS.
func (s *Server) Dial(encrypted bool) (*grpc.ClientConn, error) {
	if !encrypted {
		return dial(s.Plain, insecure.NewCredentials())
	}
	return dial(s.Scaler, s.trust())
}

func (s *Server) trust() credentials.TransportCredentials {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA)
	return credentials.NewClientTLSFromCert(roots, "")
}

func dial(address string, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	if err := onLoopback(address); err != nil {
		return nil, err
	}
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
}

// ReadMetrics reads the sums of the given metrics over their labels, as the server reports them.
func (s *Server) ReadMetrics(names ...string) (map[string]float64, error) {
	query := make([]string, 0, len(names))
	for _, name := range names {
		query = append(query, "name[]="+name)
	}
	answer, err := http.Get("http://" + s.Admin + "/metrics?" + strings.Join(query, "&")) //nolint:noctx // the server bounds it
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s", answer.Status)
	}
	return sums(answer.Body)
}
