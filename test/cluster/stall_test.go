package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forgotten is a pod that no node group can take and nobody asks for. It waits from the start of all tests.
const forgotten = `
---
apiVersion: v1
kind: Namespace
metadata: {name: forgotten}
---
apiVersion: v1
kind: Pod
metadata: {name: forgotten, namespace: forgotten}
spec:
  nodeSelector: {no-such: node}
  containers: [{name: engine, image: engine, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]
`

// Pods that wait for a GPU while nobody calls are told so, by an event on what is waiting.
func TestStallIsReported(t *testing.T) {
	e := running(t)
	// The stall watch waits for two minutes, most of which have passed in the tests before.
	eventually(t, 3*time.Minute, "an event on the pod that waits", func() error {
		list, err := e.clients.CoreV1().Events("forgotten").List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var others []string
		for i := range list.Items {
			if ev := &list.Items[i]; strings.Contains(ev.ReportingController+ev.Source.Component, "warmpool") {
				t.Logf("%s: %s", ev.Reason, ev.Message)
				return nil
			}
			others = append(others, list.Items[i].Reason)
		}
		return fmt.Errorf("events %v", others)
	})
}
