package server

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	pb "github.com/warmpool/warmpool/proto/externalscaler"
)

func spec(t testing.TB, conn *grpc.ClientConn, opts ...grpc.CallOption) error {
	t.Helper()
	_, err := pb.NewExternalScalerClient(conn).GetMetricSpec(t.Context(), ref("llama"), opts...)
	return err
}

// TestTLSMatrix is keda-6606: TLS is used if it is enabled or a CA is given; unsafeSsl alone is plaintext.
func TestTLSMatrix(t *testing.T) {
	r := run(t, nil)
	withCA, empty := r.ca.pool(), x509.NewCertPool()
	for _, test := range []struct {
		name string
		dial grpc.DialOption
		code codes.Code
		text string
	}{
		{"enableTLS, the system pool has the CA", grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: withCA, ServerName: serverName})), codes.OK, ""},
		{"enableTLS with caCert", grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(withCA, serverName)), codes.OK, ""},
		{"enableTLS without the CA", grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: empty, ServerName: serverName})), codes.Unavailable, "unknown authority"},
		{"unsafeSsl alone", plaintext(), codes.Unavailable, ""},
		{"TLS 1.2", grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: withCA, ServerName: serverName, MaxVersion: tls.VersionTLS12})), codes.OK, ""},
		{"TLS 1.1", grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: withCA, ServerName: serverName, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})), codes.Unavailable, "protocol version"},
	} {
		if err := spec(t, r.dial(t, "scaler", test.dial)); status.Code(err) != test.code || err != nil && !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if err := spec(t, r.dial(t, "expander")); status.Code(err) != codes.Unimplemented {
		t.Errorf("the scaler on the expander's listener: %v", err)
	}
}

func clientCredentials(t testing.TB, server, client *authority) grpc.DialOption {
	t.Helper()
	files := client.issue(t, "client", "keda", time.Now().Add(time.Hour))
	cert, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	return clientCredentialsOf(t, server, cert)
}

func clientCredentialsOf(t testing.TB, server *authority, cert tls.Certificate) grpc.DialOption {
	t.Helper()
	return grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: server.pool(), ServerName: serverName, Certificates: []tls.Certificate{cert},
	}))
}

// TestClientCertificates on a listener of the scaler's own and on a shared one, where the expander must go on
// without.
func TestClientCertificates(t *testing.T) {
	for _, shared := range []bool{false, true} {
		clients, strangers := newAuthority(t), newAuthority(t)
		r := run(t, func(o *Options, _ *authority) {
			o.TLS.ClientCA = clients.path("ca.crt")
			if shared {
				o.ScalerListen = o.ExpanderListen
			}
		})
		if err := spec(t, r.dial(t, "scaler", clientCredentials(t, r.ca, clients))); err != nil {
			t.Errorf("shared %v: with a client certificate: %v", shared, err)
		}
		if err := spec(t, r.dial(t, "scaler")); err == nil || shared && status.Code(err) != codes.Unauthenticated {
			t.Errorf("shared %v: without a client certificate: %v", shared, err)
		}
		if err := spec(t, r.dial(t, "scaler", clientCredentials(t, r.ca, strangers))); err == nil {
			t.Errorf("shared %v: a certificate of another authority was accepted", shared)
		}
		if shared {
			stream, err := pb.NewExternalScalerClient(r.dial(t, "scaler")).StreamIsActive(t.Context(), ref("llama"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
				t.Errorf("push stream without a client certificate: %v", err)
			}
		}
		if answer, err := r.autoscaler(t, "localhost").Send(t.Context(), captures(t)["ca136-001.bin"]); err != nil || len(ids(answer)) != 1 {
			t.Errorf("shared %v: the expander: %v, %v", shared, ids(answer), err)
		}
		r.end()
	}
}

func servedSerial(t testing.TB, r *running) string {
	t.Helper()
	var p peer.Peer
	if err := spec(t, r.dial(t, "scaler"), grpc.Peer(&p)); err != nil {
		t.Fatal(err)
	}
	return p.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].SerialNumber.String()
}

// TestCertificateRotation replaces the files under a running server: new connections get the new certificate, open
// ones live, and content that is broken or expired changes nothing.
func TestCertificateRotation(t *testing.T) {
	r := run(t, nil)
	old := r.dial(t, "scaler")
	if err := spec(t, old); err != nil {
		t.Fatal(err)
	}
	stream, err := r.pushed(t, "llama")
	if err != nil {
		t.Fatal(err)
	}
	before := servedSerial(t, r)

	files := r.ca.issue(t, "server", serverName, time.Now().Add(2*time.Hour)) // writes the same two files
	r.certificates.reload(time.Now())
	after := servedSerial(t, r)
	if after == before {
		t.Error("the new certificate is not served")
	}
	if err := spec(t, old); err != nil {
		t.Errorf("the open connection: %v", err)
	}
	r.board.set("ml/llama", 1)
	if m, err := stream.Recv(); err != nil || !m.GetResult() {
		t.Errorf("the open stream: %v, %v", m, err)
	}
	if got, want := counter(t, r.options.Registry, "warmpool_tls_certificate_not_after_timestamp_seconds"), float64(r.certificates.current.Load().cert.Leaf.NotAfter.Unix()); got != want {
		t.Errorf("not-after metric %v, want %v", got, want)
	}

	for i, spoil := range []func(){
		func() { r.ca.issue(t, "server", serverName, time.Now().Add(-time.Minute)) },
		func() { r.ca.write(t, "server.crt", "CERTIFICATE", []byte("no certificate")) },
		func() { os.Remove(files.Key) },
	} {
		spoil()
		r.certificates.reload(time.Now())
		r.certificates.reload(time.Now()) // reported once
		if got := servedSerial(t, r); got != after {
			t.Errorf("bad file %d: certificate %s is served, want %s kept", i, got, after)
		}
		if got := counter(t, r.options.Registry, "warmpool_tls_reload_failures_total"); got != float64(i+1) {
			t.Errorf("bad file %d: %v failures counted", i, got)
		}
	}
	for _, level := range []string{"certificate replaced", "new certificate is not used"} {
		if !strings.Contains(r.logs.String(), level) {
			t.Errorf("the log does not say %q", level)
		}
	}
}

func TestSelfSigned(t *testing.T) {
	dir := t.TempDir() + "/tls"
	files, err := SelfSigned(dir, []string{"localhost", "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(files.Cert)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := SelfSigned(dir, []string{"localhost"}); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(files.Cert); string(again) != string(first) {
		t.Error("a certificate that still is good was replaced")
	}
	if _, err := SelfSigned(dir, []string{"localhost", "other.example"}); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(files.Cert); string(again) == string(first) {
		t.Error("a certificate that lacks a host was kept")
	}
	if info, err := os.Stat(files.Key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v", info.Mode(), err)
	}

	ca := newAuthority(t)
	ca.issue(t, "tls", serverName, time.Now().Add(time.Hour))
	if _, err := SelfSigned(ca.dir, []string{"localhost"}); err == nil || !strings.Contains(err.Error(), "--tls-cert") {
		t.Errorf("somebody's certificate: %v", err)
	}
}
