package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/proto/externalscaler"
	pb "github.com/warmpool/warmpool/proto/warmpool/v1"
	"github.com/warmpool/warmpool/server"
)

// careless is a leader, or a proxy before one, that repeats what it was sent.
type careless struct {
	pb.UnimplementedBoardServiceServer
	asked atomic.Int64
}

func (c *careless) Follow(stream grpc.BidiStreamingServer[pb.FollowRequest, pb.FollowResponse]) error {
	given := metadata.ValueFromIncomingContext(stream.Context(), "authorization")
	if strings.Join(given, "") == "Bearer "+planted {
		c.asked.Add(1)
	}
	return status.Errorf(codes.Unauthenticated, "no access with %q", given)
}

// TestPeerTokenIsNeverShown plants the token of the instances, has the leader repeat it, asks for the board with tokens
// that look like it, and looks for it in the log at its most talkative, errors, metrics, the operator's interface and
// every file that is written. The instance follows first, and leads when the Lease of the other one has ended.
func TestPeerTokenIsNeverShown(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := server.SelfSigned(dir, []string{"warmpool", "127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	leader := &careless{}
	address := serveBoard(t, dir, leader)
	holder, seconds, now := "other@"+address, int32(15), metav1.NowMicro()
	api := httptest.NewServer(&leaseServer{version: 1, lease: &coordination.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "warmpool", Namespace: "ns", ResourceVersion: "1"},
		Spec:       coordination.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}})
	defer api.Close()
	metrics := httptest.NewServer(&metricStore{})
	defer metrics.Close()
	kubeconfig := write("kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: t, contexts: [{name: t, context: {cluster: t, user: t}}],
clusters: [{name: t, cluster: {server: %q}}], users: [{name: t, user: {}}]}`, api.URL))
	token := write("peer-token", planted+"\n")
	t.Setenv("POD_IP", "127.0.0.1")
	log := &lockedBuffer{}
	s := startLogging(t, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), fmt.Sprintf(`apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: %s}
evaluationInterval: 1s
services:
  - {name: llama, namespace: ml, preset: vllm, selector: {model_name: m}, replicas: {min: 0, max: 50}, perReplica: {concurrency: 1, serviceTime: 1s, maxUtilization: 1}, forecast: {mode: "off"}}
`, metrics.URL), "--kubeconfig", kubeconfig, "--serve", "scaler", "--lease-namespace", "ns", "--identity", "this", "--peer-token-file", token,
		"--tls-self-signed", "", "--tls-cert", filepath.Join(dir, "tls.crt"), "--tls-key", filepath.Join(dir, "tls.key"),
		"--data-dir", filepath.Join(dir, "data"), "--admin-listen", "127.0.0.1:0")
	waitFor := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s did not happen; the log:\n%s", what, log)
			}
		}
	}
	waitFor("the refusal by the leader", func() bool {
		return leader.asked.Load() > 0 && strings.Contains(log.String(), "the board of the leader does not arrive")
	})
	var shown strings.Builder
	for _, given := range []string{"", planted + "x", planted[1:]} {
		_, err := followOnce(t, s.server.Addr("scaler-insecure").String(), insecure.NewCredentials(), given)
		if status.Code(err) == codes.OK {
			t.Errorf("the board is served to %q", given)
		}
		_, err = followOnce(t, s.server.Addr("scaler").String(), credentials.NewTLS(trusting(t, dir)), given)
		if code := status.Code(err); code != codes.Unauthenticated {
			t.Errorf("the board for %q: %v, want Unauthenticated", given, err)
		}
		fmt.Fprintln(&shown, err)
	}
	conn, err := grpc.NewClient("passthrough:///"+s.server.Addr("scaler-insecure").String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ref := &externalscaler.ScaledObjectRef{Namespace: "ml", Name: "llama", ScalerMetadata: map[string]string{"service": "llama"}}
	_, err = externalscaler.NewExternalScalerClient(conn).IsActive(t.Context(), ref)
	fmt.Fprintln(&shown, err)
	waitFor("leading", s.engine.Leading)
	admin := "http://" + s.server.Addr("admin").String()
	for _, path := range []string{"/metrics", "/api/v1/overview", "/api/v1/services", "/api/v1/decisions", "/api/v1/freeze"} {
		shown.WriteString(getWith(t, admin+path, "", http.StatusOK))
	}
	shown.WriteString(log.String())
	shown.WriteString(filesIn(t, dir, token))
	for line := range strings.Lines(shown.String()) {
		if strings.Contains(strings.ToLower(line), planted) {
			t.Errorf("the secret is shown: %.300s", line)
		}
	}
}

// serveBoard serves a board over TLS with the certificate in a directory.
func serveBoard(t *testing.T, dir string, board pb.BoardServiceServer) string {
	t.Helper()
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&own)))
	pb.RegisterBoardServiceServer(g, board)
	done := make(chan error, 1)
	go func() { done <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func trusting(t *testing.T, dir string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: "warmpool"}
}

// followOnce asks for the board and returns the first answer.
func followOnce(t *testing.T, address string, how credentials.TransportCredentials, token string) (*pb.FollowResponse, error) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(how))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stream, err := pb.NewBoardServiceClient(conn).Follow(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token))
	if err != nil {
		return nil, err
	}
	return stream.Recv()
}
