package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: secret-token}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: here}}]
current-context: x
`

// Where there is no cluster there is none, where a file is named it must be one, and an API server that is down is no
// error.
func TestConnect(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	for path, text := range map[string]string{good: kubeconfig, bad: strings.Replace(kubeconfig, "current-context: x", "current-context: [", 1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		path, service, podNamespace string
		namespace, fails            string
		none                        bool
	}{
		"outside of a pod":          {none: true},
		"turned off":                {path: NoCluster, none: true},
		"turned off in a pod":       {path: NoCluster, service: "10.0.0.1", none: true},
		"a file":                    {path: good, namespace: "here"},
		"a file, and a pod":         {path: good, podNamespace: "own", namespace: "own"},
		"a file that is not there":  {path: filepath.Join(dir, "missing"), fails: "missing"},
		"a file that is none":       {path: bad, fails: "bad"},
		"a pod without its account": {service: "10.0.0.1", fails: "service account of the pod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", c.service)
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			t.Setenv("POD_NAMESPACE", c.podNamespace)
			t.Setenv("KUBECONFIG", "")
			t.Setenv("HOME", dir)
			clients, err := Connect(c.path, "test")
			switch {
			case c.fails != "":
				if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "secret-token") {
					t.Errorf("%v, want an error about %s", err, c.fails)
				}
			case err != nil:
				t.Error(err)
			case (clients == nil) != c.none:
				t.Errorf("clients %v, want none: %v", clients, c.none)
			case clients != nil && (clients.Namespace != c.namespace || clients.Kubernetes == nil || clients.Dynamic == nil):
				t.Errorf("%+v, want namespace %s", clients, c.namespace)
			}
		})
	}
}
