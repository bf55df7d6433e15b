package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// installChart installs the chart as docs/install.md does, with Helm itself.
func (p *plane) installChart(ctx context.Context, helm, chart, values string) error {
	cmd := exec.CommandContext(ctx, helm, "upgrade", "--install", "warmpool", chart, "--namespace", "warmpool", "--create-namespace", "--values", values)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "HELM_CACHE_HOME="+p.path("helm"), "HELM_CONFIG_HOME="+p.path("helm"), "HELM_DATA_HOME="+p.path("helm"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("helm: %w: %s", err, out)
	}
	return nil
}

// A server is one instance of `warmpool serve` as the chart runs it: with the chart's certificate and the identity of its
// service account.
type server struct {
	name, binary, dir          string
	namespace                  string // of the service account, the Lease and what is shared
	half                       string // expander or scaler; empty: both
	config, kubeconfig, caFile string
	env                        []string
	expander, scaler, admin    string
	process                    *process
}

// newServer prepares an instance with certificate and identity from what the chart has installed.
func newServer(ctx context.Context, p *plane, name, binary, config string) (*server, error) {
	return newServerAs(ctx, p, "warmpool", "warmpool", name, binary, config)
}

// newServerAs is newServer with another service account.
func newServerAs(ctx context.Context, p *plane, namespace, account, name, binary, config string) (*server, error) {
	s := &server{
		name: name, namespace: namespace, binary: binary, dir: p.path(name), config: config, caFile: p.path(name + "/ca.crt"),
		expander: "127.0.0.1:" + freePort(), scaler: "127.0.0.1:" + freePort(), admin: "127.0.0.1:" + freePort(),
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	for secret, keys := range map[string][]string{"warmpool-tls": {"ca.crt", "tls.crt", "tls.key"}, "warmpool-peer": {"token"}} {
		got, err := p.clients.CoreV1().Secrets("warmpool").Get(ctx, secret, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if err := os.WriteFile(filepath.Join(s.dir, key), got.Data[key], 0o600); err != nil {
				return nil, err
			}
		}
	}
	lifetime := int64(24 * 3600)
	token, err := p.clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	s.kubeconfig, err = p.writeKubeconfig(name, token.Status.Token)
	return s, err
}

// start starts it, after a stop on the same addresses and data, and waits until it is ready.
func (s *server) start(ctx context.Context) error {
	args := []string{
		"serve", "--config=" + s.config, "--expander-listen=" + s.expander, "--scaler-listen=" + s.scaler, "--admin-listen=" + s.admin,
		"--tls-cert=" + filepath.Join(s.dir, "tls.crt"), "--tls-key=" + filepath.Join(s.dir, "tls.key"), "--data-dir=" + filepath.Join(s.dir, "data"),
		"--kubeconfig=" + s.kubeconfig, "--lease-namespace=" + s.namespace, "--advertise=" + s.scaler, "--peer-token-file=" + filepath.Join(s.dir, "token"),
	}
	if s.half != "" {
		args = append(args, "--serve="+s.half)
	}
	var err error
	env := append([]string{"POD_NAMESPACE=" + s.namespace, "POD_NAME=" + s.name}, s.env...)
	if s.process, err = launch(filepath.Dir(s.dir), s.name, s.binary, env, args); err != nil {
		return err
	}
	return poll(30*time.Second, func() error {
		if s.process.Ended() {
			return fmt.Errorf("%s ended: %s", s.name, s.process.Output())
		}
		return get(ctx, http.DefaultClient, "http://"+s.admin+"/readyz")
	})
}

func (s *server) stop(signal syscall.Signal) {
	if s != nil {
		s.process.stop(signal)
	}
}

// dial is the address as a client names it: the certificate says localhost.
func (s *server) dial(address string) string {
	return strings.Replace(address, "127.0.0.1", "localhost", 1)
}

// read asks the admin listener; an error becomes the text.
func (s *server) read(path string) []byte {
	resp, err := http.Get("http://" + s.admin + path)
	if err != nil {
		return []byte(err.Error())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return []byte(err.Error())
	}
	return body
}

// lastDecision is the newest decision of a half as people read it, for a failure.
func (s *server) lastDecision(half string) string {
	var list struct {
		Decisions []struct {
			ID string `json:"id"`
		} `json:"decisions"`
	}
	body := s.read("/api/v1/decisions?limit=1&kind=" + half)
	if err := json.Unmarshal(body, &list); err != nil || len(list.Decisions) == 0 {
		return string(body)
	}
	return string(s.read("/api/v1/decisions/" + list.Decisions[0].ID + "?format=text"))
}
