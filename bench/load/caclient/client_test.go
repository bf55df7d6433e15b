package caclient_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/proto/grpcplugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority signs server certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a authority) certificate(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// lastOption answers the last option and checks how it was called.
type lastOption struct {
	grpcplugin.UnimplementedExpanderServer
	t *testing.T
}

func (s lastOption) BestOptions(ctx context.Context, req *grpcplugin.BestOptionsRequest) (*grpcplugin.BestOptionsResponse, error) {
	deadline, ok := ctx.Deadline()
	if left := time.Until(deadline); !ok || left > caclient.Deadline || left < caclient.Deadline-4*time.Second {
		s.t.Errorf("deadline %v, set %v", left, ok)
	}
	p, _ := peer.FromContext(ctx)
	if tlsInfo, ok := p.AuthInfo.(credentials.TLSInfo); !ok || len(tlsInfo.State.PeerCertificates) != 0 {
		s.t.Errorf("the client has a certificate or no TLS: %T", p.AuthInfo)
	}
	options := req.GetOptions()
	return &grpcplugin.BestOptionsResponse{Options: []*grpcplugin.Option{{NodeGroupId: options[len(options)-1].GetNodeGroupId()}}}, nil
}

// serve runs a server with a certificate for name and returns its port.
func serve(t *testing.T, a authority, name string) string {
	t.Helper()
	cert := a.certificate(t, name)
	s := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	grpcplugin.RegisterExpanderServer(s, lastOption{t: t})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func ask(t *testing.T, url string, roots []byte) caclient.Answer {
	t.Helper()
	c, err := caclient.Dial(url, roots, caclient.V1_34_5)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	a, err := c.BestOptions(t.Context(), load.Wave{Groups: 3, Pods: 2}.Loop())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTLS(t *testing.T) {
	known, other := newAuthority(t), newAuthority(t)
	port := serve(t, known, "localhost")

	if a := ask(t, "localhost:"+port, known.pem()); a.Err != nil || a.Chosen() != "gpu-pool-002" {
		t.Errorf("known root, right name: %+v", a)
	}
	for name, a := range map[string]caclient.Answer{
		"another root":    ask(t, "localhost:"+port, other.pem()),
		"another name":    ask(t, "127.0.0.1:"+port, known.pem()),
		"nobody is there": ask(t, "127.0.0.1:1", known.pem()),
	} {
		if status.Code(a.Err) != codes.Unavailable || len(a.Kept) != 3 || a.Vetoed() || a.Chosen() != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestDialNeedsCertificates(t *testing.T) {
	_, err := caclient.Dial("localhost:1", []byte("no PEM"), caclient.V1_35_0)
	if err == nil || !strings.Contains(err.Error(), "PEM") {
		t.Errorf("error %v", err)
	}
}

// Bytes that are no request are for the server to judge; the client only passes them on.
func TestSend(t *testing.T) {
	a := newAuthority(t)
	c, err := caclient.Dial("localhost:"+serve(t, a, "localhost"), a.pem(), caclient.V1_35_0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := c.Send(t.Context(), []byte("garbage")); status.Code(err) != codes.Internal {
		t.Errorf("error %v", err)
	}
	resp, err := c.Send(t.Context(), []byte("\x0a\x05\x0a\x03gpu"))
	if err != nil || len(resp.GetOptions()) != 1 || resp.GetOptions()[0].GetNodeGroupId() != "gpu" {
		t.Errorf("answer %v, error %v", resp, err)
	}
}
