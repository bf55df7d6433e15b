package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	coordination "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// apiServer is as much of an API server as several instances need: single Leases and ConfigMaps with optimistic
// concurrency. Whatever else is asked for does not exist.
type apiServer struct {
	mu      sync.Mutex
	objects map[string]metav1.Object
	version int
}

// newAPIServer starts one and returns a kubeconfig for it.
func newAPIServer(t *testing.T) (a *apiServer, kubeconfig string) {
	t.Helper()
	a = &apiServer{objects: map[string]metav1.Object{}}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: t, contexts: [{name: t, context: {cluster: t, user: t}}],
clusters: [{name: t, cluster: {server: %q}}], users: [{name: t, user: {}}]}`, s.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a, kubeconfig
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	path := r.URL.Path
	if !strings.Contains(path, "/namespaces/ns/leases") && !strings.Contains(path, "/namespaces/ns/configmaps") || r.URL.Query().Has("watch") {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			refuse(w, http.StatusBadRequest, "BadRequest")
			return
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		next, ok := object.(metav1.Object)
		if err != nil || !ok {
			refuse(w, http.StatusBadRequest, "BadRequest")
			return
		}
		if r.Method == http.MethodPost {
			path += "/" + next.GetName()
		}
		if present := a.objects[path]; present != nil && next.GetResourceVersion() != present.GetResourceVersion() {
			refuse(w, http.StatusConflict, "Conflict")
			return
		}
		a.version++
		next.SetResourceVersion(strconv.Itoa(a.version))
		a.objects[path] = next
	}
	object := a.objects[path]
	if object == nil {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	switch o := object.(type) {
	case *coordination.Lease:
		o.APIVersion, o.Kind = "coordination.k8s.io/v1", "Lease"
	case *corev1.ConfigMap:
		o.APIVersion, o.Kind = "v1", "ConfigMap"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}

// holder is the name of the instance that holds the Lease.
func (a *apiServer) holder() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, object := range a.objects {
		if lease, ok := object.(*coordination.Lease); ok && lease.Spec.HolderIdentity != nil {
			name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "@")
			return name
		}
	}
	return ""
}
