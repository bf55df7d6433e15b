package lint

import (
	"strings"
	"testing"
	"time"
)

// TestFarExponent refuses a manifest whose quantity would keep the parser of Kubernetes busy for minutes.
func TestFarExponent(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, resources: {requests: {memory: \"1e-1000000000\"}}}]}\n"
	started := time.Now()
	if _, err := Parse("pod.yaml", []byte(pod)); err == nil || !strings.Contains(err.Error(), "pod.yaml:1") {
		t.Errorf("error %v, want one that names the file", err)
	}
	if objects, err := Parse("pod.yaml", []byte(strings.Replace(pod, "1e-1000000000", "1e9", 1))); err != nil || len(objects) != 1 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	if took := time.Since(started); took > time.Second {
		t.Errorf("it took %v", took)
	}
}
