package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/warmpool/warmpool/expander"
)

func claimOf(kind, version, name string, requests ...any) *unstructured.Unstructured {
	spec := map[string]any{"devices": map[string]any{"requests": requests}}
	if kind == "ResourceClaimTemplate" {
		spec = map[string]any{"spec": spec}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/" + version, "kind": kind, "metadata": map[string]any{"namespace": "ai", "name": name}, "spec": spec,
	}}
}

func exactly(class string, count int64) map[string]any {
	r := map[string]any{"deviceClassName": class}
	if count > 0 {
		r["count"] = count
	}
	return map[string]any{"name": "r", "exactly": r}
}

func claiming(template bool, names ...string) podOption {
	return func(p *corev1.Pod) {
		for _, name := range names {
			claim := corev1.PodResourceClaim{Name: name}
			if template {
				claim.ResourceClaimTemplateName = &name
			} else {
				claim.ResourceClaimName = &name
			}
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, claim)
		}
	}
}

// A pod that claims its GPUs has a known count where its claims say one, and stays unknown where they do not.
func TestDevicesOfClaims(t *testing.T) {
	const gpu = "gpu.nvidia.com"
	for name, c := range map[string]struct {
		kind, version string
		requests      []any
		claims        []string
		want          map[string]int64
	}{
		"template":                {"ResourceClaimTemplate", "v1", []any{exactly(gpu, 2)}, []string{"c"}, map[string]int64{gpu: 2}},
		"claim, one by default":   {"ResourceClaim", "v1", []any{exactly(gpu, 0)}, []string{"c"}, map[string]int64{gpu: 1}},
		"older API":               {"ResourceClaimTemplate", "v1beta1", []any{map[string]any{"deviceClassName": gpu, "count": int64(4)}}, []string{"c"}, map[string]int64{gpu: 4}},
		"two requests and a card": {"ResourceClaimTemplate", "v1", []any{exactly(gpu, 1), exactly("nic.example.com", 1), exactly("gpu.amd.com", 3)}, []string{"c"}, map[string]int64{gpu: 1, "gpu.amd.com": 3}},
		"all devices":             {"ResourceClaimTemplate", "v1", []any{map[string]any{"exactly": map[string]any{"deviceClassName": gpu, "allocationMode": "All"}}}, []string{"c"}, nil},
		"alternatives":            {"ResourceClaimTemplate", "v1", []any{map[string]any{"firstAvailable": []any{}}}, []string{"c"}, nil},
		"slices":                  {"ResourceClaimTemplate", "v1", []any{exactly("mig.gpu.nvidia.com", 1)}, []string{"c"}, nil},
		"not there":               {"ResourceClaimTemplate", "v1", []any{exactly(gpu, 2)}, []string{"c", "missing"}, nil},
		"monitoring only":         {"ResourceClaim", "v1", []any{map[string]any{"exactly": map[string]any{"deviceClassName": gpu, "adminAccess": true}}}, []string{"c"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func() []runtime.Object {
				return these(claimOf(c.kind, c.version, "c", c.requests...), podOf("ai", "p", claiming(c.kind == "ResourceClaimTemplate", c.claims...)))
			}, func(w *world) {
				if c.version != "v1" {
					w.onlyVersion(c.version)
				}
				asked := expander.Request{Pods: []expander.Pod{{Namespace: "ai", Name: "p", UID: "ai-p", Claims: len(c.claims)}, {Namespace: "ai", Name: "q"}}}
				got := w.view.ObserveRequest(&expander.Policy{}, asked, time.Now())
				if diff := cmp.Diff(c.want, got.Pods[0].Devices); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if asked.Pods[0].Devices != nil {
					t.Error("the caller's request was changed")
				}
			})
		})
	}
}

// onlyVersion makes a new view of an API server that knows resource claims in one version only.
func (w *world) onlyVersion(version string) {
	w.end()
	react(&w.open.Fake, "list", "*", func(a ktesting.Action) (bool, runtime.Object, error) {
		if r := a.GetResource(); r.Group == "resource.k8s.io" && r.Version != version {
			return true, nil, apierrors.NewNotFound(r.GroupResource(), "")
		}
		return false, nil, nil
	})
	view, err := New(Options{Clients: w.clients})
	w.must(err)
	w.view = view
	w.start()
}
