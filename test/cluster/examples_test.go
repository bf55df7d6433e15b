package cluster

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// notServed are the kinds that no API server has a type for, because they belong to files of tools. They are checked by
// their fields in test/deploy only. Two operators that the Go module registry does not have are stood in for by
// testdata/types.
var notServed = map[string]string{
	"InstanceGroup": "kops", "ClusterConfig": "eksctl", "KubeSchedulerConfiguration": "kube-scheduler, which runs with it here", "Config": "warmpool",
}

// dryRun applies what the API server can judge without storing it, and counts.
func (e *environment) dryRun(t *testing.T, source string, objects []*unstructured.Unstructured) (applied int) {
	t.Helper()
	for _, o := range objects {
		_, err := e.resource(o.GroupVersionKind(), o.GetNamespace())
		reason, expected := notServed[o.GetKind()]
		switch {
		case meta.IsNoMatchError(err) && expected:
			t.Logf("%s: %s %s is not served here (%s)", source, o.GetKind(), o.GetName(), reason)
		case err != nil:
			t.Errorf("%s: %s: %v", source, o.GetKind(), err)
		default:
			applied++
			if err := e.apply(t.Context(), true, o); err != nil {
				t.Errorf("%s: %v", source, err)
			}
		}
	}
	return applied
}

func TestExamplesApply(t *testing.T) {
	e := running(t)
	examples := filepath.Join(root, "deploy/examples")
	// The namespaces exist before what is in them, quota included: the examples fit into it.
	err := errors.Join(e.applyFile(t.Context(), filepath.Join(examples, "tenant.yaml")),
		e.applyText(t.Context(), "{apiVersion: v1, kind: Namespace, metadata: {name: monitoring}}"))
	if err != nil {
		t.Fatal(err)
	}
	applied := 0
	err = filepath.WalkDir(examples, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".values.yaml") || d.Name() == "prometheus.yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, err := decode(data)
		applied += e.dryRun(t, strings.TrimPrefix(path, examples+"/"), objects)
		return err
	})
	if err != nil || applied < 26 {
		t.Errorf("%d objects applied, %v", applied, err)
	}
}

func TestChartApplies(t *testing.T) {
	e := running(t)
	if err := e.applyText(t.Context(), "{apiVersion: v1, kind: Namespace, metadata: {name: autoscaler}}"); err != nil {
		t.Fatal(err)
	}
	values, err := filepath.Glob(filepath.Join(root, "test/deploy/testdata/values/*.yaml"))
	if err != nil || len(values) < 4 {
		t.Fatalf("%d sets of values, %v", len(values), err)
	}
	helm := filepath.Join(root, ".cache", "bin", "helm")
	for _, v := range values {
		out, err := exec.CommandContext(t.Context(), helm, "template", "dry", filepath.Join(root, "deploy/helm/warmpool"), "--namespace", "warmpool", "--values", v).Output()
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		objects, err := decode(out)
		if err != nil {
			t.Fatal(err)
		}
		if n := e.dryRun(t, filepath.Base(v), objects); n < 8 {
			t.Errorf("%s: only %d objects applied", v, n)
		}
	}
}
