package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/warmpool/warmpool/proto/externalscaler"
	warmpoolv1 "github.com/warmpool/warmpool/proto/warmpool/v1"
)

func TestHasName(t *testing.T) {
	spiffe, err := url.Parse("spiffe://cluster.local/ns/keda/sa/keda-operator")
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{DNSNames: []string{"keda.svc", "*.keda.svc"}, URIs: []*url.URL{spiffe}, IPAddresses: []net.IP{net.ParseIP("10.0.0.7")}}
	c.Subject.CommonName = "common.name"
	for name, want := range map[string]bool{
		"keda.svc": true, "KEDA.svc": true, "spiffe://cluster.local/ns/keda/sa/keda-operator": true, "10.0.0.7": true, "::ffff:10.0.0.7": true,
		"*.keda.svc": true, "x.keda.svc": false, "keda": false, "common.name": false, "": false,
		"spiffe://cluster.local/ns/keda/sa/KEDA-operator": false, "spiffe://cluster.local/ns/keda/sa/keda": false, "10.0.0.70": false,
	} {
		if got := hasName(c, []string{"other", name}); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	if hasName(c, nil) {
		t.Error("no names allow every certificate")
	}
}

// TestClientNames: of the certificates of the right authority only those with an allowed name may call the scaler, on a
// listener of its own and on a shared one; the Cluster Autoscaler has none and is served.
func TestClientNames(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for allowed, want := range map[string]codes.Code{"keda": codes.OK, "somebody-else": codes.PermissionDenied} {
			clients := newAuthority(t)
			r := run(t, func(o *Options, _ *authority) {
				o.TLS.ClientCA, o.ClientNames = clients.path("ca.crt"), []string{"first", allowed}
				if shared {
					o.ScalerListen = o.ExpanderListen
				}
			})
			conn := r.dial(t, "scaler", clientCredentials(t, r.ca, clients))
			err := spec(t, conn)
			if status.Code(err) != want {
				t.Errorf("shared %v, %s is allowed: %v, want %s", shared, allowed, err, want)
			}
			if err != nil && strings.Contains(err.Error(), allowed) {
				t.Errorf("the answer tells who is allowed: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			r.board.set("ml/llama", 1)
			stream, err := pb.NewExternalScalerClient(conn).StreamIsActive(ctx, ref("llama"))
			if err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != want {
				t.Errorf("shared %v, %s is allowed: push stream: %v, want %s", shared, allowed, err, want)
			}
			if answer, err := r.autoscaler(t, "localhost").Send(t.Context(), captures(t)["ca136-001.bin"]); err != nil || len(ids(answer)) != 1 {
				t.Errorf("the expander: %v, %v", ids(answer), err)
			}
			r.end()
		}
	}
}

// TestAdminTLS: with TLS the token or a certificate of the right name opens the admin listener, nothing else does, and
// plaintext is not answered.
func TestAdminTLS(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	clients, strangers := newAuthority(t), newAuthority(t)
	pair := func(a *authority, host string) tls.Certificate {
		files := a.issue(t, "client", host, time.Now().Add(time.Hour))
		c, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, tokenFile := range []string{token, ""} {
		r := run(t, func(o *Options, _ *authority) {
			o.AdminTLS, o.AdminTokenFile, o.AdminNames, o.TLS.ClientCA = AdminTLSOn, tokenFile, []string{"operator"}, clients.path("ca.crt")
		})
		without := http.StatusUnauthorized
		if tokenFile == "" {
			without = http.StatusForbidden
		}
		withToken := without
		if tokenFile != "" {
			withToken = http.StatusOK
		}
		for _, test := range []struct {
			name, path, token string
			certificates      []tls.Certificate
			code              int
		}{
			{"probe", "/readyz", "", nil, 200},
			{"nothing", "/metrics", "", nil, without},
			{"token", "/metrics", "first", nil, withToken},
			{"certificate", "/metrics", "", []tls.Certificate{pair(clients, "operator")}, 200},
			{"certificate of another name", "/metrics", "", []tls.Certificate{pair(clients, "keda")}, without},
			{"certificate of another authority", "/metrics", "", []tls.Certificate{pair(strangers, "operator")}, 0},
		} {
			if code, body := r.secureGet(t, test.path, test.token, test.certificates...); code != test.code && (test.code != 0 || code != without) {
				t.Errorf("token file %q, %s: %d %s, want %d", tokenFile, test.name, code, body, test.code)
			}
		}
		if code, body := r.get(t, "/metrics", "first"); code != http.StatusBadRequest || strings.Contains(body, "warmpool_") {
			t.Errorf("plaintext: %d %s", code, body)
		}
		conn := r.dial(t, "admin", clientCredentialsOf(t, r.ca, pair(clients, "operator")))
		if _, err := warmpoolv1.NewDecisionServiceClient(conn).List(t.Context(), &warmpoolv1.ListRequest{}); err != nil {
			t.Errorf("gRPC with a certificate: %v", err)
		}
		r.end()
	}
}

// TestAdminAwayFromLoopback: what reaches other machines is protected, or is asked for in so many words.
func TestAdminAwayFromLoopback(t *testing.T) {
	ca := newAuthority(t)
	files := ca.issue(t, "server", serverName, time.Now().Add(time.Hour))
	for _, test := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"loopback", func(o *Options) { o.AdminListen = "127.0.0.1:0" }, ""},
		{"no token", func(*Options) {}, "--admin-token-file"},
		{"token, no certificate", func(o *Options) { o.AdminTokenFile = "token" }, "--tls-cert"},
		{"token and certificate", func(o *Options) { o.AdminTokenFile, o.TLS = "token", files }, ""},
		{"token and plaintext", func(o *Options) { o.AdminTokenFile, o.AdminTLS = "token", AdminTLSOff }, ""},
		{"names", func(o *Options) { o.AdminNames, o.TLS, o.TLS.ClientCA = []string{"x"}, files, ca.path("ca.crt") }, ""},
		{"names without authority", func(o *Options) { o.AdminNames, o.TLS = []string{"x"}, files }, "--client-ca"},
		{"names without TLS", func(o *Options) {
			o.AdminNames, o.TLS, o.TLS.ClientCA, o.AdminTLS = []string{"x"}, files, ca.path("ca.crt"), AdminTLSOff
		}, "--admin-tls=on"},
		{"client names without authority", func(o *Options) { o.AdminListen, o.ClientNames = "127.0.0.1:0", []string{"x"} }, "--client-ca"},
	} {
		o := Options{Scaler: newBoard(), ScalerInsecureListen: "127.0.0.1:0", AdminListen: "0.0.0.0:0"}
		test.change(&o)
		o.complete()
		if err := o.validate(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
