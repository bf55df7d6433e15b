package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
)

// TestBoardAdmits other instances and nobody else: a client certificate of KEDA's is verified too, and is not enough.
func TestBoardAdmits(t *testing.T) {
	ca := newAuthority(t)
	state := func(host string) tls.ConnectionState {
		files := ca.issue(t, "client", host, time.Now().Add(time.Hour))
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		pair.Leaf.DNSNames = []string{host}
		return tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{pair.Leaf, ca.cert}}}
	}
	elsewhere, here := &net.TCPAddr{IP: net.ParseIP("10.0.0.7"), Port: 1}, &net.TCPAddr{IP: net.ParseIP("127.0.0.1"), Port: 1}
	call := func(from net.Addr, s *tls.ConnectionState, token string) context.Context {
		p := &peer.Peer{Addr: from}
		if s != nil {
			p.AuthInfo = credentials.TLSInfo{State: *s}
		}
		ctx := peer.NewContext(t.Context(), p)
		if token != "" {
			ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+token))
		}
		return ctx
	}
	own, keda := state("warmpool.warmpool.svc"), state("keda-operator.keda.svc")
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, tokenFile string
		ctx             context.Context
		want            codes.Code
	}{
		{"the token", tokenFile, call(elsewhere, nil, "s3cret"), codes.OK},
		{"another token", tokenFile, call(elsewhere, nil, "secret"), codes.Unauthenticated},
		{"no token", tokenFile, call(elsewhere, nil, ""), codes.Unauthenticated},
		{"a certificate in place of the token", tokenFile, call(elsewhere, &own, ""), codes.Unauthenticated},
		{"this machine in place of the token", tokenFile, call(here, nil, ""), codes.Unauthenticated},
		{"a token file that is gone", tokenFile + "x", call(elsewhere, nil, "s3cret"), codes.Unavailable},
		{"an instance's certificate", "", call(elsewhere, &own, ""), codes.OK},
		{"KEDA's certificate", "", call(elsewhere, &keda, ""), codes.Unauthenticated},
		{"nothing", "", call(elsewhere, nil, ""), codes.Unauthenticated},
		{"this machine", "", call(here, nil, ""), codes.OK},
	} {
		b := &boardService{tokenFile: test.tokenFile, names: func() []string { return []string{"warmpool.warmpool.svc", "localhost"} }, logger: slog.New(slog.DiscardHandler)}
		if err := b.admit(test.ctx); status.Code(err) != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// TestCrossOriginOrder: a page of another origin that a browser sends a certificate along for changes nothing.
func TestCrossOriginOrder(t *testing.T) {
	c, err := config.Parse("test.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9090}\nservices: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	(&operationPages{operations: e, known: true}).register(mux)
	for header, want := range map[string]int{"cross-site": http.StatusForbidden, "same-site": http.StatusForbidden, "same-origin": http.StatusOK, "": http.StatusOK} {
		request := httptest.NewRequest(http.MethodPost, "/api/v1/freeze", strings.NewReader(`{"half":"scaler","on":true,"reason":"test"}`))
		if header != "" {
			request.Header.Set("Sec-Fetch-Site", header)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, request)
		if w.Code != want {
			t.Errorf("Sec-Fetch-Site %q: %d %s, want %d", header, w.Code, w.Body, want)
		}
	}
}
