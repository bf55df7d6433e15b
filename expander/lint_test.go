package expander_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

func TestLintTemplates(t *testing.T) {
	policy := active()
	req := offer([]expander.Pod{gpuPod("a")},
		groupOf("with", small, map[string]string{"node.kubernetes.io/instance-type": "g5.xlarge", "k8s.amazonaws.com/accelerator": "nvidia-a10g"}),
		groupOf("without", gpuResources(8, 32, 0), map[string]string{"node.kubernetes.io/instance-type": "g5.xlarge"}),
		groupOf("other-cloud", small, map[string]string{"cloud.google.com/gke-accelerator": "nvidia-l4"}))
	for provider, want := range map[string][]string{
		"aws": {"missing-accelerator-label:other-cloud", "template-without-accelerator:without"},
		"":    {"template-without-accelerator:without"},
	} {
		if diff := cmp.Diff(want, expander.Lint(policy, req, expander.LintOptions{Provider: provider})); diff != "" {
			t.Errorf("provider %q (-want +got):\n%s", provider, diff)
		}
	}
}

func TestSimilarGroupsOnAzure(t *testing.T) {
	a, b := groupOf("a", small, map[string]string{"agentpool": "gpu", "x": "1"}), groupOf("b", large, map[string]string{"agentpool": "gpu", "x": "2"})
	if got := expander.SimilarGroups([]expander.Group{a, b}, "a", "azure"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("same agent pool: similar %v", got)
	}
	if got := expander.SimilarGroups([]expander.Group{a, b}, "a", "aws"); got != nil {
		t.Errorf("elsewhere: similar %v", got)
	}
	if got := expander.SimilarGroups([]expander.Group{a, b}, "unknown", "aws"); got != nil {
		t.Errorf("unknown group: similar %v", got)
	}
	c := groupOf("c", small, maps.Clone(a.Labels))
	c.Labels["topology.kubernetes.io/zone"] = "z2"
	if got := expander.SimilarGroups([]expander.Group{a, c}, "a", "gce"); !slices.Equal(got, []string{"c"}) {
		t.Errorf("another zone: similar %v", got)
	}
}
