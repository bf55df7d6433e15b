package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// TLSFiles are PEM files. ClientCA, when given, makes the scaler listener require client certificates issued by it.
type TLSFiles struct{ Cert, Key, ClientCA string }

// certificates serves the newest valid content of the files. A certificate is replaced by writing its files anew:
// new connections get it, open ones go on, and content that is broken or expired is reported and not used.
type certificates struct {
	files   TLSFiles
	logger  *slog.Logger
	current atomic.Pointer[material]

	notAfter prometheus.Gauge
	failures prometheus.Counter
	lastBad  [sha256.Size]byte // so that one bad file is reported once
}

// material is what one look at the files gave.
type material struct {
	digest    [sha256.Size]byte
	cert      tls.Certificate
	clientCAs *x509.CertPool // nil without a client CA
}

func newCertificates(files TLSFiles, r prometheus.Registerer, logger *slog.Logger) (*certificates, error) {
	c := &certificates{files: files, logger: logger}
	m, err := files.read()
	if err != nil {
		return nil, err
	}
	if err := m.expired(time.Now()); err != nil {
		// Serving goes on: the certificate may be renewed in place, and not every listener needs it.
		logger.Error("certificate is not valid now, clients will refuse it", "file", files.Cert, "error", err)
	}
	c.notAfter = promauto.With(r).NewGauge(prometheus.GaugeOpts{
		Name: "warmpool_tls_certificate_not_after_timestamp_seconds", Help: "When the served certificate expires.",
	})
	c.failures = promauto.With(r).NewCounter(prometheus.CounterOpts{
		Name: "warmpool_tls_reload_failures_total", Help: "New certificate files that were not used because they are broken or expired.",
	})
	c.use(m)
	return c, nil
}

func (c *certificates) use(m *material) {
	c.current.Store(m)
	c.notAfter.Set(float64(m.cert.Leaf.NotAfter.Unix()))
}

// read loads the files and checks that they belong together.
func (f TLSFiles) read() (*material, error) {
	var contents [3][]byte
	for i, name := range []string{f.Cert, f.Key, f.ClientCA} {
		if name == "" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read certificate: %w", err)
		}
		contents[i] = data
	}
	m := &material{digest: sha256.Sum256(bytes.Join(contents[:], []byte{0}))}
	var err error
	if m.cert, err = tls.X509KeyPair(contents[0], contents[1]); err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	if f.ClientCA != "" {
		m.clientCAs = x509.NewCertPool()
		if !m.clientCAs.AppendCertsFromPEM(contents[2]) {
			return nil, fmt.Errorf("client CA %s: no PEM certificate in it", f.ClientCA)
		}
	}
	return m, nil
}

func (m *material) expired(now time.Time) error {
	leaf := m.cert.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("expired at %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("not valid before %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// suites are those of TLS 1.2 with forward secrecy and authenticated encryption; TLS 1.3 has no others. Whatever GODEBUG
// says, nothing older is spoken.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// config is the TLS configuration of a listener. The last connection state decides nothing: every connection is a
// full handshake, so that a new client CA counts at once.
func (c *certificates) config(auth tls.ClientAuthType, protocols ...string) *tls.Config {
	base := &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites, NextProtos: protocols, SessionTicketsDisabled: true}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		m := c.current.Load()
		now := &tls.Config{
			MinVersion: base.MinVersion, CipherSuites: suites, NextProtos: protocols, SessionTicketsDisabled: true,
			Certificates: []tls.Certificate{m.cert},
		}
		if m.clientCAs != nil {
			now.ClientAuth, now.ClientCAs = auth, m.clientCAs
		}
		return now, nil
	}
	return base
}

// names are those of the certificate that is served now.
func (c *certificates) names() []string { return namesOf(c.current.Load().cert.Leaf) }

// watch looks at the files again and again until the context ends. Looking works for every way of replacing files,
// the symbolic links of Kubernetes included.
func (c *certificates) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.reload(time.Now())
		}
	}
}

func (c *certificates) reload(now time.Time) {
	m, err := c.files.read()
	if err == nil {
		if m.digest == c.current.Load().digest {
			return
		}
		err = m.expired(now)
	}
	if err == nil {
		c.use(m)
		c.logger.Info("certificate replaced", "file", c.files.Cert, "notAfter", m.cert.Leaf.NotAfter)
		return
	}
	if bad := sha256.Sum256([]byte(err.Error())); bad != c.lastBad {
		c.lastBad = bad
		c.failures.Inc()
		c.logger.Error("new certificate is not used, the one before is kept", "file", c.files.Cert, "error", err)
	}
}
