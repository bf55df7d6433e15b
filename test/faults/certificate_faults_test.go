package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"time"
)

// issue writes a certificate of an authority of its own into the directory of the server, key first: a reader that comes
// in between finds a pair that does not fit and keeps the one before. With own, clients are told of the authority.
func (w *world) issue(from, to time.Time, names []string, own bool) {
	w.t.Helper()
	sign := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		w.must(err)
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
		w.must(err)
		return key, der
	}
	serial := big.NewInt(time.Now().UnixNano())
	authority := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "authority " + serial.String()}, NotBefore: from.Add(-time.Hour), NotAfter: to.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey, ca := sign(authority, authority, nil)
	leaf := &x509.Certificate{
		SerialNumber: serial, NotBefore: from, NotAfter: to, DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	key, der := sign(leaf, authority, caKey)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	w.must(err)
	write := func(name, kind string, der []byte) {
		w.write(filepath.Join(w.tlsDir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	write("tls.key", "PRIVATE KEY", keyDER)
	write("tls.crt", "CERTIFICATE", der)
	if own {
		write("ca.crt", "CERTIFICATE", ca)
	}
}

// served is the serial number of the certificate that a new connection gets.
func (w *world) served() string {
	conn, err := tls.Dial("tcp", w.server.Addr("scaler").String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // only to look at it
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// replaced writes a certificate and waits until new connections get it.
func (w *world) replaced(from, to time.Time, names []string, own bool) {
	w.t.Helper()
	before := w.served()
	w.issue(from, to, names, own)
	w.eventually("the certificate is replaced", func() bool { return w.served() != before })
}

// freshConnections makes the clients connect anew for every round.
func (w *world) freshConnections() (end func()) {
	w.clients.fresh++
	return func() {
		if w.clients.fresh--; w.clients.fresh == 0 {
			w.clients.connect()
		}
	}
}

var localhost = []string{"localhost"}

var newConnection = claim{"with the next connection after the certificate is replaced; no restart", func(r *record) error { return r.right(0) }}

var certificateFaults = []*fault{
	{
		part: "Certificate", takes: "certificate files", name: "in use expires", clients: []claim{unreachable, noChoice}, decided: []claim{asEver}, recovers: newConnection,
		inject: func(w *world) func() {
			end := w.freshConnections()
			w.clients.clock = func() time.Time { return time.Now().Add(3 * 365 * 24 * time.Hour) }
			return func() {
				later := w.clients.clock()
				w.replaced(time.Now().Add(-time.Hour), later.Add(24*time.Hour), localhost, true)
				end()
				w.clients.clock = nil
				w.clients.connect()
			}
		},
	},
	{
		part: "Certificate", takes: "certificate files", name: "has a wrong name (SAN)", clients: []claim{unreachable, noChoice}, decided: []claim{asEver}, recovers: newConnection,
		inject: func(w *world) func() {
			end := w.freshConnections()
			w.replaced(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), []string{"elsewhere.example"}, true)
			return func() {
				w.replaced(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), localhost, true)
				end()
			}
		},
	},
	{
		part: "Certificate", takes: "certificate files", name: "is replaced by an expired one", clients: []claim{follows, chooses}, decided: []claim{asEver},
		recovers: claim{"the one before stays in use until a valid one is there", func(r *record) error { return r.right(0) }},
		inject: func(w *world) func() {
			end := w.freshConnections()
			before, refused := w.served(), w.refusedCertificates()
			w.issue(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour), localhost, false)
			w.eventually("the expired certificate is refused", func() bool { return w.refusedCertificates() > refused })
			if w.served() != before {
				w.t.Errorf("%s: the expired certificate is used", w.name)
			}
			return func() {
				w.replaced(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), localhost, true)
				end()
			}
		},
	},
	{
		part: "Certificate", takes: "certificate files", name: "is rotated, with a new authority", clients: []claim{follows, chooses}, decided: []claim{asEver}, recovers: atOnce,
		inject: func(w *world) func() {
			end := w.freshConnections()
			w.replaced(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), localhost, true)
			return end
		},
	},
}

// refusedCertificates is the counter of files that were not used.
func (w *world) refusedCertificates() int {
	return w.counted("warmpool_tls_reload_failures_total")
}

func (w *world) counted(name string) int {
	families, err := w.registry.Gather()
	w.must(err)
	for _, f := range families {
		if f.GetName() == name {
			return int(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	return 0
}
