package cluster

import (
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Clients are what a [Cluster] talks through.
type Clients struct {
	Kubernetes kubernetes.Interface
	// Dynamic reads the kinds that are installed, not built in; nil leaves them out.
	Dynamic dynamic.Interface
	// Namespace is the program's own.
	Namespace string
}

// NoCluster is the path of a kubeconfig that turns the view of the cluster off.
const NoCluster = "none"

const (
	requestTimeout = 15 * time.Second
	// clientQPS and clientBurst bound what one instance asks of the API server outside of its watches.
	clientQPS, clientBurst = 20, 40
)

// InCluster tells whether the program runs in a pod with access to the API server.
func InCluster() bool { return os.Getenv("KUBERNETES_SERVICE_HOST") != "" }

// Connect makes clients from a kubeconfig file, or from the pod's service account if path is empty. It returns nil
// without an error when there is no cluster to connect to: path is [NoCluster], or empty outside of a pod. Nothing is
// sent yet: an API server that is down is no error.
func Connect(path, userAgent string) (*Clients, error) {
	if path == NoCluster || (path == "" && !InCluster()) {
		return nil, nil //nolint:nilnil // no cluster is an answer, as documented
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	settings, err := loaded.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name a readable file, or turn the view of the cluster off with %q", sourceOf(path), err, NoCluster)
	}
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		if namespace, _, err = loaded.Namespace(); err != nil {
			return nil, fmt.Errorf("%s: namespace: %w", sourceOf(path), err)
		}
	}
	settings.WarningHandler = rest.NoWarnings{} // they are for people at a terminal
	settings.UserAgent, settings.QPS, settings.Burst = userAgent, clientQPS, clientBurst
	clients, err := clientsFor(settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sourceOf(path), err)
	}
	clients.Namespace = namespace
	return clients, nil
}

func clientsFor(settings *rest.Config) (*Clients, error) {
	// The built-in kinds speak protobuf, which costs a fifth of the time and memory of JSON; installed kinds cannot.
	compact := rest.CopyConfig(settings)
	compact.ContentType, compact.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	typed, errTyped := kubernetes.NewForConfig(compact)
	open, errOpen := dynamic.NewForConfig(settings)
	if err := errors.Join(errTyped, errOpen); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &Clients{Kubernetes: typed, Dynamic: open}, nil
}

func sourceOf(path string) string {
	if path == "" {
		return "service account of the pod"
	}
	return "kubeconfig " + path
}
