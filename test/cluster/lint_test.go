package cluster

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
)

// trapped is a namespace with settings that the API server accepts and lint does not.
const trapped = `
apiVersion: v1
kind: Namespace
metadata: {name: trapped}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: trapped}
spec:
  replicas: 0
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers: [{name: server, image: none, resources: {limits: {nvidia.com/gpu: 1}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: chat, namespace: trapped}
spec: {minAvailable: 1, selector: {matchLabels: {app: chat}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-autoscaler-priority-expander, namespace: trapped}
data: {priorities: "10: ['*spot*']"}
`

// TestLintReadsTheCluster runs warmpool lint against the API server, as an operator does.
func TestLintReadsTheCluster(t *testing.T) {
	e := running(t)
	if err := e.applyText(t.Context(), trapped); err != nil {
		t.Fatal(err)
	}
	binary := os.Getenv("WARMPOOL_BINARY")
	if binary == "" {
		binary = root + "/bin/warmpool"
	}
	out, err := exec.CommandContext(t.Context(), binary, "lint", "--kubeconfig", e.plane.kubeconfig, "-o", "json").Output()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != 1 {
		t.Fatalf("lint ended with %v, want exit code 1: %s", err, out)
	}
	var report struct {
		Objects  int
		Findings []struct{ Object, Code, Severity string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := map[string]bool{}
	for _, f := range report.Findings {
		found[f.Severity+" "+f.Code+" "+f.Object] = true
	}
	for _, want := range []string{
		"error readiness-probe-missing Deployment trapped/chat", "warning gpu-memory-missing Deployment trapped/chat",
		"warning grace-period-short Deployment trapped/chat", "error pdb-blocks-drain PodDisruptionBudget trapped/chat",
		"error priority-expander ConfigMap trapped/cluster-autoscaler-priority-expander",
	} {
		if !found[want] {
			t.Errorf("not found: %s", want)
		}
	}
	t.Logf("%d objects, %v", report.Objects, found)
}
