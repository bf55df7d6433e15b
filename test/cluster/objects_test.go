package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// A mapper finds the resource of a kind, and looks again when new kinds were added.
type mapper struct {
	*restmapper.DeferredDiscoveryRESTMapper
}

func newMapper(d discovery.DiscoveryInterface) *mapper {
	return &mapper{restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
}

// decode reads the objects of a YAML text.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// resource is the client for the kind and namespace of an object.
func (p *plane) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := p.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == "root" {
		return p.dynamic.Resource(mapping.Resource), nil
	}
	if namespace == "" {
		namespace = "default"
	}
	return p.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// apply applies objects on the server's side; with dryRun nothing is stored.
func (p *plane) apply(ctx context.Context, dryRun bool, objects ...*unstructured.Unstructured) error {
	options := metav1.ApplyOptions{FieldManager: "test", Force: true}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	for _, o := range objects {
		resource, err := p.resource(o.GroupVersionKind(), o.GetNamespace())
		if err == nil {
			_, err = resource.Apply(ctx, o.GetName(), o, options)
		}
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func (p *plane) applyText(ctx context.Context, text string) error {
	objects, err := decode([]byte(text))
	if err != nil {
		return err
	}
	return p.apply(ctx, false, objects...)
}

func (p *plane) applyFile(ctx context.Context, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return p.applyText(ctx, string(data))
}

// convert turns an object into its type.
func convert(t *testing.T, from *unstructured.Unstructured, to any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, to); err != nil {
		t.Fatal(err)
	}
}

// refusedBy tells whether an error is a refusal with a text in it.
func refusedBy(err error, text string) error {
	switch {
	case err == nil:
		return errors.New("no refusal")
	case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
		return fmt.Errorf("no refusal: %w", err)
	case !strings.Contains(err.Error(), text):
		return fmt.Errorf("a refusal without %q: %w", text, err)
	}
	return nil
}
