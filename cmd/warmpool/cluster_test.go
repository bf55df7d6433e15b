package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/cluster"
)

const expanderOnly = `
apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: "http://127.0.0.1:1"}
caVersion: "1.36"
pools: [{name: all, match: {nodeGroups: ["."]}, capacityType: on-demand}]
expander:
  mode: active
  workloads: [{name: any, stages: [{pools: [all]}]}]
`

// kubeconfigFor writes a kubeconfig for a server without TLS.
func kubeconfigFor(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: %q}}]\n", url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An API server that answers nothing useful, or not at all, delays no answer: the choice is made as without a cluster.
func TestServeWithoutTheAPIServer(t *testing.T) {
	hanging := make(chan struct{})
	defer close(hanging)
	for name, handler := range map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hanging:
			case <-r.Context().Done():
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(handler)
			t.Cleanup(api.Close)
			dir := filepath.Join(t.TempDir(), "tls")
			s := startService(t, expanderOnly, "--kubeconfig", kubeconfigFor(t, api.URL), "--tls-self-signed", dir)
			authority, errRead := os.ReadFile(filepath.Join(dir, "ca.crt"))
			request, errRequest := os.ReadFile(filepath.Join(capturesDir, "ca136-001.bin"))
			client, errDial := caclient.Dial(s.server.Addr("expander").String(), authority, caclient.V1_35_0)
			if err := errors.Join(errRead, errRequest, errDial); err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			before := time.Now()
			answer, err := client.Send(t.Context(), request)
			if took := time.Since(before); err != nil || len(answer.GetOptions()) != 1 || took > 2*time.Second {
				t.Errorf("answer %v, %v, after %v", answer, err, took)
			}
			if v := s.cluster.view.ExpanderView(time.Now()); v.Known {
				t.Errorf("view %+v", v)
			}
		})
	}
}

// Without a kubeconfig outside of a pod, and with "none" anywhere, there is no view; a file that is not there is a
// mistake that is found at the start.
func TestServeWithoutACluster(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	for path, host := range map[string]string{"": "", cluster.NoCluster: "127.0.0.1"} {
		t.Setenv("KUBERNETES_SERVICE_HOST", host)
		if c, err := openCluster(&serveFlags{kubeconfig: path}, nil, nil, logger); c != nil || err != nil {
			t.Errorf("--kubeconfig %q: %v, %v", path, c, err)
		}
	}
	f := serveFlags{kubeconfig: filepath.Join(t.TempDir(), "missing")}
	if _, err := openCluster(&f, nil, nil, logger); err == nil || !strings.Contains(err.Error(), "--kubeconfig") || !strings.Contains(err.Error(), cluster.NoCluster) {
		t.Errorf("%v, want an error that names the flag and the way out", err)
	}
}
