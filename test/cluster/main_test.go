package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const root = "../.."

// An environment is everything that runs.
type environment struct {
	*plane
	exporter *exporter
	metrics  *metricStore
	warmpool *server
}

var shared *environment

// TestMain starts the environment once for all tests, if it was asked for.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("WARMPOOL_E2E") == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "warmpool-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	shared = &environment{}
	err = shared.start(ctx, dir)
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "start:", err)
	}
	shared.stop()
	if code == 0 && os.Getenv("WARMPOOL_E2E_KEEP") == "" {
		err = os.RemoveAll(dir)
	} else {
		fmt.Fprintln(os.Stderr, "the logs are in", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// running gives the environment, or skips the test.
func running(t *testing.T) *environment {
	t.Helper()
	if shared == nil {
		t.Skip("needs the control plane: make e2e")
	}
	return shared
}

func (e *environment) start(ctx context.Context, dir string) (err error) {
	cache, err := filepath.Abs(filepath.Join(root, ".cache"))
	if err != nil {
		return err
	}
	binaries := filepath.Join(cache, "control-plane")
	if e.plane, err = startPlane(ctx, dir, binaries, filepath.Join(root, "deploy/examples/scheduler/config.yaml")); err != nil {
		return err
	}
	if e.exporter, err = newExporter(); err != nil {
		return err
	}
	if e.metrics, err = newMetricStore(dir, filepath.Join(cache, "bin", "prometheus"), e.exporter); err != nil {
		return err
	}
	if err = errors.Join(e.metrics.start(ctx), e.startKEDA(ctx), e.applyTypes(ctx, filepath.Join(cache, "types")), e.applyTypes(ctx, "testdata/types")); err != nil {
		return err
	}
	if err = e.installChart(ctx, filepath.Join(cache, "bin", "helm"), filepath.Join(root, "deploy/helm/warmpool"), "testdata/values.yaml"); err != nil {
		return err
	}
	e.mapper.Reset()
	config, err := e.writeConfig("warmpool.yaml")
	if err != nil {
		return err
	}
	binary, ok := os.LookupEnv("WARMPOOL_BINARY")
	if !ok {
		binary = filepath.Join(root, "bin", "warmpool")
	}
	if e.warmpool, err = newServer(ctx, e.plane, "warmpool-0", binary, config); err != nil {
		return err
	}
	return errors.Join(e.warmpool.start(ctx), e.tenant(ctx))
}

func (e *environment) stop() {
	e.warmpool.stop(syscall.SIGTERM)
	e.metrics.stop()
	if e.exporter != nil {
		e.exporter.server.Close()
	}
	if e.plane != nil {
		e.plane.stop()
	}
}

// writeConfig writes a file of testdata with the address of the metric store.
func (e *environment) writeConfig(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		return "", err
	}
	path := e.path(name)
	return path, os.WriteFile(path, []byte(strings.Replace(string(data), "http://prometheus.invalid", e.metrics.url(), 1)), 0o600)
}

// plainNode is a simulated node for pods without GPUs.
const plainNode = `
---
apiVersion: v1
kind: Node
metadata:
  name: plain
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/hostname: plain, node-role: cpu}
status:
  capacity: {cpu: "64", memory: 256Gi, pods: "500"}
  allocatable: {cpu: "64", memory: 256Gi, pods: "500"}
`

// tenant makes the namespace of the tests, with the authority for KEDA as in the examples, and a node for plain pods.
func (e *environment) tenant(ctx context.Context) error {
	ca, err := os.ReadFile(e.warmpool.caFile)
	if err != nil {
		return err
	}
	indented := strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n    ")
	return e.applyText(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: e2e}
---
apiVersion: v1
kind: Secret
metadata: {name: warmpool-ca, namespace: e2e}
stringData:
  ca.crt: |
    %s
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: warmpool, namespace: e2e}
spec:
  secretTargetRef: [{parameter: caCert, name: warmpool-ca, key: ca.crt}]
`, indented)+plainNode+forgotten)
}
