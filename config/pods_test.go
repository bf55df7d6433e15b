package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const podsEntry = `services: [{name: s, namespace: ns, preset: vllm, replicas: {max: 4}, forecast: {mode: "off"}, startup: {metrics: kube-state-metrics, workload: w}}]` + "\n"

// TestPodQueries shares five expressions among all services, from the file and from metadata, and restricts the rows to
// the namespace.
func TestPodQueries(t *testing.T) {
	c := mustParse(t, head+"prometheus: {url: \"http://p\"}\n"+podsEntry)
	file := c.Services[0].Pods
	s, err := c.ServiceFromMetadata("other", "so", map[string]string{
		"preset": "sglang", "maxReplicas": "3", "startupMetrics": "kube-state-metrics", "forecastMode": "off", "namespace": "ns",
	})
	if err != nil || len(file) != podQueries || len(s.Pods) != podQueries {
		t.Fatalf("%d and %d queries, error %v", len(file), len(s.Pods), err)
	}
	for i, q := range file {
		if err := checkPromQL(q.Expr); err != nil {
			t.Errorf("query %d: %v: %s", i, err, q.Expr)
		}
		if q.Expr != s.Pods[i].Expr || strings.Contains(q.Expr, "$ns") || strings.Contains(q.Expr, "$of") || strings.Contains(q.Expr, `"ns"`) {
			t.Errorf("query %d is not shared: %s", i, q.Expr)
		}
		if want := i == PodsStarting || i == PodsStarts; q.EveryRow != want {
			t.Errorf("query %d: every row %t", i, q.EveryRow)
		}
	}
	if diff := cmp.Diff(map[string]string{"namespace": "ns", "workload": "w"}, file[0].Match); diff != "" {
		t.Errorf("row of the file's service:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"namespace": "other", "workload": "so"}, s.Pods[0].Match); diff != "" {
		t.Errorf("row of the trigger:\n%s", diff)
	}

	renamed := mustParse(t, head+"prometheus: {url: \"http://p\", labels: {stateNamespace: exported_namespace, statePod: exported_pod}}\n"+podsEntry)
	q := renamed.Services[0].Pods[PodsStarting]
	if q.Match["exported_namespace"] != "ns" || !strings.Contains(q.Expr, "on (exported_namespace, exported_pod)") {
		t.Errorf("with the labels of a scrape without honorLabels: %v %s", q.Match, q.Expr)
	}
	if none := mustParse(t, head+"prometheus: {url: \"http://p\"}\n"+strings.Replace(podsEntry, "kube-state-metrics", "none", 1)); none.Services[0].Pods != nil || warningCodes(none) != "workload-unused" {
		t.Errorf("without the exporter: %d queries, warnings %q", len(none.Services[0].Pods), warningCodes(none))
	}
}
