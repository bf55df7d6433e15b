package cluster

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// A half reads what it asks for and nothing else, so that its account needs no other permission.
func TestHalvesReadWhatTheyNeed(t *testing.T) {
	both := []string{"configmaps", "events", "nodes", "pods"}
	for _, c := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"both", Options{}, append([]string{"horizontalpodautoscalers", "resourceclaims", "resourceclaimtemplates", "scaledobjects"}, both...)},
		{"expander", Options{WithoutTargets: true}, append([]string{"resourceclaims", "resourceclaimtemplates"}, both...)},
		{"scaler", Options{WithoutClaims: true}, append([]string{"horizontalpodautoscalers", "scaledobjects"}, both...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, c.options, func() []runtime.Object { return nil }, func(w *world) {
				read := map[string]bool{}
				for _, a := range append(w.typed.Actions(), w.open.Actions()...) {
					read[a.GetResource().Resource] = true
				}
				slices.Sort(c.want)
				if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(read))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if _, ok := w.view.Target("ai", "none"); ok {
					t.Error("a target without a scaled object")
				}
				if current, _ := w.view.Replicas("ai", "none"); current != -1 {
					t.Errorf("%d replicas of nothing", current)
				}
			})
		})
	}
}
