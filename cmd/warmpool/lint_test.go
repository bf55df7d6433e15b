package main

import (
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/warmpool/warmpool/lint"
)

// TestLintCluster reads a cluster that refuses one kind and does not know another.
func TestLintCluster(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{}
	for _, r := range lintResources {
		kinds[r.resource] = "ThingList"
	}
	object := func(apiVersion, kind, name string, more map[string]any) *unstructured.Unstructured {
		fields := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": "ml"}}
		maps.Copy(fields, more)
		return &unstructured.Unstructured{Object: fields}
	}
	pod := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "chat"}}, "spec": map[string]any{
		"terminationGracePeriodSeconds": int64(90),
		"containers":                    []any{map[string]any{"name": "server", "resources": map[string]any{"requests": map[string]any{"nvidia.com/gpu": "1"}, "limits": map[string]any{"nvidia.com/gpu": "1"}}}},
	}}
	owned := object("batch/v1", "Job", "nightly-1", nil)
	owned.SetOwnerReferences(nil)
	if err := unstructured.SetNestedSlice(owned.Object, []any{map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "1"}}, "metadata", "ownerReferences"); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		object("apps/v1", "Deployment", "chat", map[string]any{"spec": map[string]any{"replicas": int64(3), "template": pod}}),
		object("policy/v1", "PodDisruptionBudget", "chat", map[string]any{"spec": map[string]any{"minAvailable": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "chat"}}}}),
		owned,
	)
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)
	})
	client.PrependReactor("list", "scaledobjects", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "scaledobjects"}, "")
	})
	objects, skipped, err := listObjects(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 {
		t.Errorf("%d objects, want the Deployment and the budget: %v", len(objects), objects)
	}
	if len(skipped) != 1 || !strings.Contains(skipped[0], "secrets") {
		t.Errorf("left out: %q, want the secrets alone", skipped)
	}
	codes := map[string]bool{}
	for _, f := range lint.Run(lint.NewSet(objects), lint.Options{}) {
		codes[f.Code] = true
		if f.Source != "cluster" {
			t.Errorf("%s has the source %q", f.Object, f.Source)
		}
	}
	if !codes["readiness-probe-missing"] || !codes["pdb-blocks-drain"] {
		t.Errorf("findings %v", codes)
	}
}
