package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// The tokens of the test's own administrator; the API server listens on the loopback interface only.
const adminToken = "test-administrator"

// auditPolicy records what warmpool asks the API server for, and the answers' codes.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, userGroups: ["system:serviceaccounts"]}
  - {level: None}
`

// A plane is a running control plane.
type plane struct {
	dir, binaries string
	ca            *authority
	server        string // https://127.0.0.1:PORT
	kubeconfig    string // of the administrator
	clients       *kubernetes.Clientset
	dynamic       dynamic.Interface
	mapper        *mapper
	processes     []*process
}

// startPlane starts everything but KEDA. The binaries and files of binaries are made by tools/control-plane/build.sh.
func startPlane(ctx context.Context, dir, binaries, schedulerConfig string) (p *plane, err error) {
	p = &plane{dir: dir, binaries: binaries}
	defer func() {
		if err != nil {
			p.stop()
		}
	}()
	if p.ca, err = newAuthority(dir); err != nil {
		return p, err
	}
	err = errors.Join(p.ca.issue("apiserver", "kubernetes.default.svc"), p.ca.issue("front-proxy"), p.ca.issue("service-accounts"),
		os.WriteFile(p.path("tokens.csv"), []byte(adminToken+",administrator,administrator,\"system:masters\"\n"), 0o600),
		os.WriteFile(p.path("audit.yaml"), []byte(auditPolicy), 0o600))
	if err != nil {
		return p, err
	}
	etcd := "http://127.0.0.1:" + freePort()
	if err = p.startEtcd(ctx, etcd); err != nil {
		return p, err
	}
	if err = p.startAPIServer(ctx, etcd); err != nil {
		return p, err
	}
	return p, errors.Join(p.startControllers(), p.startScheduler(schedulerConfig), p.startKwok())
}

func (p *plane) path(name string) string { return filepath.Join(p.dir, name) }

func (p *plane) launch(name, binary string, env []string, args ...string) error {
	process, err := launch(p.dir, name, filepath.Join(p.binaries, binary), env, args)
	if err != nil {
		return err
	}
	p.processes = append(p.processes, process)
	return nil
}

// stop ends the processes in reverse order.
func (p *plane) stop() {
	for _, process := range slices.Backward(p.processes) {
		process.stop(syscall.SIGTERM)
	}
}

// dead names a process that ended by itself.
func (p *plane) dead() error {
	for _, process := range p.processes {
		if process.Ended() {
			return fmt.Errorf("%s ended by itself: %s", process.Name, process.Output())
		}
	}
	return nil
}

func (p *plane) startEtcd(ctx context.Context, client string) error {
	peer := "http://127.0.0.1:" + freePort()
	err := p.launch("etcd", "etcd", nil, "--data-dir="+p.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)
	if err != nil {
		return err
	}
	return p.healthy(ctx, http.DefaultClient, client+"/health")
}

func (p *plane) startAPIServer(ctx context.Context, etcd string) error {
	port := freePort()
	p.server = "https://127.0.0.1:" + port
	ca := p.ca.path
	err := p.launch("kube-apiserver", "kube-apiserver", nil,
		"--etcd-servers="+etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port="+port,
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC",
		"--client-ca-file="+ca("ca.crt"), "--tls-cert-file="+ca("apiserver.crt"), "--tls-private-key-file="+ca("apiserver.key"),
		"--token-auth-file="+p.path("tokens.csv"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+ca("service-accounts.key"), "--service-account-signing-key-file="+ca("service-accounts.key"),
		"--requestheader-client-ca-file="+ca("ca.crt"), "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--audit-policy-file="+p.path("audit.yaml"), "--audit-log-path="+p.path("audit.log"),
		"--proxy-client-cert-file="+ca("front-proxy.crt"), "--proxy-client-key-file="+ca("front-proxy.key"))
	if err != nil {
		return err
	}
	if p.kubeconfig, err = p.writeKubeconfig("administrator", adminToken); err != nil {
		return err
	}
	config, err := p.restConfig(p.kubeconfig)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	if p.clients, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if p.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	p.mapper = newMapper(p.clients.Discovery())
	return p.healthy(ctx, client, p.server+"/readyz")
}

func (p *plane) restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	return config, nil
}

// writeKubeconfig writes NAME.kubeconfig with a bearer token.
func (p *plane) writeKubeconfig(name, token string) (string, error) {
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: p.server, CertificateAuthorityData: p.ca.pem}
	config.AuthInfos[name] = &api.AuthInfo{Token: token}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: name}
	config.CurrentContext = "test"
	path := p.path(name + ".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

func (p *plane) startControllers() error {
	return p.launch("kube-controller-manager", "kube-controller-manager", nil,
		"--kubeconfig="+p.kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port="+freePort(),
		"--authentication-kubeconfig="+p.kubeconfig, "--authorization-kubeconfig="+p.kubeconfig, "--cert-dir="+p.path("kcm"),
		"--service-account-private-key-file="+p.ca.path("service-accounts.key"), "--root-ca-file="+p.ca.path("ca.crt"),
		// Three times as often as the default, so that the tests take a third of the time; the rules are the same.
		"--horizontal-pod-autoscaler-sync-period=5s")
}

// startScheduler runs the default profile beside the one of the examples.
func (p *plane) startScheduler(example string) error {
	data, err := os.ReadFile(example)
	if err != nil {
		return err
	}
	before, profiles, found := strings.Cut(string(data), "\nprofiles:\n")
	if !found {
		return fmt.Errorf("%s: no profiles", example)
	}
	text := fmt.Sprintf("%s\nleaderElection: {leaderElect: false}\nclientConnection: {kubeconfig: %s, qps: 200, burst: 400}\nprofiles:\n  - schedulerName: default-scheduler\n%s",
		before, p.kubeconfig, profiles)
	if err := os.WriteFile(p.path("scheduler.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	return p.launch("kube-scheduler", "kube-scheduler", nil, "--config="+p.path("scheduler.yaml"),
		"--bind-address=127.0.0.1", "--secure-port="+freePort(), "--cert-dir="+p.path("scheduler"),
		"--authentication-kubeconfig="+p.kubeconfig, "--authorization-kubeconfig="+p.kubeconfig)
}

// startKwok plays the kubelets of the nodes with the annotation kwok.x-k8s.io/node=fake.
func (p *plane) startKwok() error {
	return p.launch("kwok", "kwok", nil, "--kubeconfig="+p.kubeconfig, "--config="+filepath.Join(p.binaries, "kwok-stages.yaml"),
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds=40", "--server-address=127.0.0.1:"+freePort())
}

// healthy waits for an answer 200.
func (p *plane) healthy(ctx context.Context, client *http.Client, url string) error {
	return poll(60*time.Second, func() error {
		if err := p.dead(); err != nil {
			return err
		}
		return get(ctx, client, url)
	})
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}
