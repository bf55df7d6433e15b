package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// applyKEDATypes installs KEDA's types.
func (p *plane) applyKEDATypes(ctx context.Context) error {
	return p.applyTypes(ctx, filepath.Join(p.binaries, "keda-crds"))
}

// applyTypes installs the types of a folder.
func (p *plane) applyTypes(ctx context.Context, folder string) error {
	crds, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(crds) == 0 {
		return errors.Join(err, fmt.Errorf("no types in %s", folder))
	}
	for _, crd := range crds {
		if err := p.applyFile(ctx, crd); err != nil {
			return err
		}
	}
	p.mapper.Reset()
	return nil
}

// startKEDA installs KEDA's types and starts its operator and its metrics adapter, which the API server aggregates.
func (p *plane) startKEDA(ctx context.Context) error {
	if err := errors.Join(p.applyKEDATypes(ctx), p.kedaCertificates()); err != nil {
		return err
	}
	service, adapter := freePort(), freePort()
	env := []string{"KUBECONFIG=" + p.kubeconfig, "WATCH_NAMESPACE=", "KEDA_CLUSTER_OBJECT_NAMESPACE=keda", "POD_NAMESPACE=keda", "OPERATOR_NAME=keda-operator"}
	if err := p.applyText(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: keda}}"); err != nil {
		return err
	}
	err := errors.Join(
		p.launch("keda-operator", "operator", env, "--leader-elect=false", "--enable-cert-rotation=false", "--cert-dir="+p.path("keda"),
			"--metrics-bind-address=127.0.0.1:"+freePort(), "--health-probe-bind-address=127.0.0.1:"+freePort(), "--metrics-service-bind-address=127.0.0.1:"+service),
		p.launch("keda-adapter", "adapter", env, "--port="+freePort(), "--metrics-service-address=localhost:"+service, "--cert-dir="+p.path("keda"),
			"--secure-port="+adapter, "--bind-address=127.0.0.1", "--client-ca-file="+p.ca.path("ca.crt"),
			"--tls-cert-file="+p.path("keda/tls.crt"), "--tls-private-key-file="+p.path("keda/tls.key"),
			"--kubeconfig="+p.kubeconfig, "--authentication-kubeconfig="+p.kubeconfig, "--authorization-kubeconfig="+p.kubeconfig, "--lister-kubeconfig="+p.kubeconfig),
	)
	if err != nil {
		return err
	}
	if err := p.aggregate(ctx, adapter); err != nil {
		return err
	}
	return poll(90*time.Second, func() error {
		if err := p.dead(); err != nil {
			return err
		}
		return p.clients.Discovery().RESTClient().Get().AbsPath("/apis/external.metrics.k8s.io/v1beta1").Do(ctx).Error()
	})
}

// kedaCertificates lays out what operator and adapter use for each other, and the adapter for the API server.
func (p *plane) kedaCertificates() error {
	if err := p.ca.issue("keda", "keda-metrics-apiserver.keda.svc"); err != nil {
		return err
	}
	if err := os.MkdirAll(p.path("keda"), 0o700); err != nil {
		return err
	}
	var errs []error
	for from, to := range map[string]string{"ca.crt": "ca.crt", "keda.crt": "tls.crt", "keda.key": "tls.key"} {
		data, err := os.ReadFile(p.path(from))
		errs = append(errs, err, os.WriteFile(p.path("keda/"+to), data, 0o600))
	}
	return errors.Join(errs...)
}

func (p *plane) aggregate(ctx context.Context, port string) error {
	return p.applyText(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: keda-metrics-apiserver, namespace: keda}
spec:
  type: ExternalName
  externalName: localhost
  ports: [{port: %[1]s, protocol: TCP}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.external.metrics.k8s.io}
spec:
  group: external.metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  caBundle: %[2]s
  service: {name: keda-metrics-apiserver, namespace: keda, port: %[1]s}
`, port, base64.StdEncoding.EncodeToString(p.ca.pem)))
}
