package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"unique"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/expander"
)

func templatesOf(groups ...expander.Group) []template {
	var d demand
	d.observe(&expander.Policy{}, &expander.Request{Groups: groups}, fromUnix(1))
	_, templates := d.known()
	return templates
}

func groupFor(templates []template, ids []string, labels map[string]string) match {
	return newMatcher(templates, ids).of(&node{labels: unique.Make(encodeLabels(labels))})
}

// Each provider's way to say which group a node belongs to, with a template and without.
func TestGroupOfNode(t *testing.T) {
	const uuid = "1ac3d5e7-0b2d-4f6a-8c1e-2a4c6e8f0b1d"
	zone := func(z string, labels map[string]string) map[string]string {
		all := maps.Clone(labels)
		all[zoneKey] = z
		return all
	}
	eks, gke := map[string]string{"eks.amazonaws.com/nodegroup": "gpu"}, map[string]string{"cloud.google.com/gke-nodepool": "gpu"}
	gkeID := func(z, hash string) string {
		return "https://www.googleapis.com/compute/v1/projects/p/zones/" + z + "/instanceGroups/gke-main-gpu-" + hash + "-grp"
	}
	for name, c := range map[string]struct {
		groups    []expander.Group
		ids       []string
		labels    map[string]string
		want      string
		ambiguous []string
	}{
		"eks by template, in another zone": {
			groups: []expander.Group{templateOf("asg-1", zone("a", eks)), templateOf("asg-2", zone("a", map[string]string{"eks.amazonaws.com/nodegroup": "cpu"}))},
			labels: zone("b", eks), want: "asg-1",
		},
		"eks by the form of the id":  {ids: []string{"eks-gpu-spot-" + uuid, "eks-gpu-" + uuid}, labels: eks, want: "eks-gpu-" + uuid},
		"eks template without label": {groups: []expander.Group{templateOf("eks-gpu-"+uuid, map[string]string{"from": "zero"})}, labels: eks, want: "eks-gpu-" + uuid},
		"gke by zone": {
			groups: []expander.Group{templateOf("grp-a", zone("a", gke)), templateOf("grp-b", zone("b", gke))},
			labels: zone("b", gke), want: "grp-b",
		},
		"gke in a zone without a group": {groups: []expander.Group{templateOf("grp-a", zone("a", gke))}, labels: zone("b", gke)},
		"gke ids do not tell the zone":  {ids: []string{gkeID("a", "1f"), gkeID("b", "2e")}, labels: zone("b", gke), ambiguous: []string{gkeID("a", "1f"), gkeID("b", "2e")}},
		"aks":                           {ids: []string{"aks-gpu-12345678-vmss", "aks-gpux-12345678-vmss"}, labels: map[string]string{"kubernetes.azure.com/agentpool": "gpu"}, want: "aks-gpu-12345678-vmss"},
		"kops":                          {ids: []string{"gpu.k8s.example.com", "gpu-b.k8s.example.com"}, labels: map[string]string{"kops.k8s.io/instancegroup": "gpu"}, want: "gpu.k8s.example.com"},
		"cluster api by owner":          {ids: []string{"MachineDeployment/capi/gpu", "MachineDeployment/capi/gpu-x"}, labels: map[string]string{ownerLabel: "MachineSet/capi/gpu-7f9c"}, want: "MachineDeployment/capi/gpu"},
		"cluster api machine set":       {ids: []string{"MachineSet/capi/gpu"}, labels: map[string]string{ownerLabel: "MachineSet/capi/gpu"}, want: "MachineSet/capi/gpu"},
		"own labels, the most specific": {
			groups: []expander.Group{templateOf("any", map[string]string{"gpu": "l4"}), templateOf("spot", map[string]string{"gpu": "l4", "spot": "true"})},
			labels: map[string]string{"gpu": "l4", "spot": "true", "extra": "yes"}, want: "spot",
		},
		"labels of one machine and late ones do not count": {
			groups: []expander.Group{templateOf("g", map[string]string{"gpu": "l4", "nvidia.com/gpu.product": "L4", "node.kubernetes.io/instance-id": "i-1", "model-cache.ai/x": "cached"})},
			labels: map[string]string{"gpu": "l4"}, want: "g",
		},
		"two equal groups": {
			groups: []expander.Group{templateOf("one", map[string]string{"gpu": "l4"}), templateOf("two", map[string]string{"gpu": "l4"})},
			labels: map[string]string{"gpu": "l4"}, ambiguous: []string{"one", "two"},
		},
		"equal but for the zone": {
			groups: []expander.Group{templateOf("one", zone("a", map[string]string{"gpu": "l4"})), templateOf("two", zone("b", map[string]string{"gpu": "l4"}))},
			labels: zone("b", map[string]string{"gpu": "l4"}), want: "two",
		},
		"nothing fits":            {groups: []expander.Group{templateOf("g", map[string]string{"gpu": "l4"})}, labels: map[string]string{"gpu": "t4"}},
		"a template says nothing": {groups: []expander.Group{templateOf("g", nil)}, labels: map[string]string{"gpu": "t4"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := groupFor(templatesOf(c.groups...), c.ids, c.labels)
			if got.group != c.want || !slices.Equal(got.ambiguous, c.ambiguous) {
				t.Errorf("group %q, ambiguous %q; want %q, %q", got.group, got.ambiguous, c.want, c.ambiguous)
			}
		})
	}
}

// Ambiguous nodes make the counts of their groups unknown, and no others.
func TestAmbiguousCountsAreUnknown(t *testing.T) {
	w := newWorld(t, Options{}, nil)
	labels := map[string]string{"gpu": "l4"}
	for i := range 3 {
		trimmed, err := trimNode(nodeOf(fmt.Sprint("n", i), labels))
		w.must(err)
		w.must(w.view.nodes.informer.GetStore().Add(trimmed))
	}
	b := &builder{cluster: w.view, snapshot: &snapshot{spotNodes: map[string]int{}, accelerators: map[string]*accelerators{}, placed: map[unique.Handle[string]]*place{}}, groups: map[string]*expander.GroupView{}}
	b.matcher = newMatcher(templatesOf(templateOf("one", labels), templateOf("two", labels)), nil)
	b.uncertain = map[string]bool{}
	if got := b.place(must(at[*node](w.view.nodes, "n0"))); got.group != "" || len(got.ambiguous) != 2 {
		t.Errorf("%+v", got)
	}
}

func must[T any](v T, ok bool) T {
	if !ok {
		panic("not there")
	}
	return v
}

// A node made from a template always finds its group, whatever the order, if no other template says the same.
func TestGroupOfNodeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "c"})
		var groups []expander.Group
		seen := map[string]bool{}
		for i := range rapid.IntRange(1, 6).Draw(t, "groups") {
			labels := map[string]string{"class": word.Draw(t, "class"), "gpu": word.Draw(t, "gpu"), zoneKey: word.Draw(t, "zone")}
			if text := encodeLabels(labels); !seen[text] {
				seen[text] = true
				groups = append(groups, templateOf(fmt.Sprint("g", i), labels))
			}
		}
		shuffled := rapid.Permutation(groups).Draw(t, "order")
		for _, g := range groups {
			labels := maps.Clone(g.Labels)
			labels["kubernetes.io/hostname"], labels["added.later"] = "real", "yes"
			if got := groupFor(templatesOf(shuffled...), nil, labels); got.group != g.ID {
				t.Errorf("%v is in %q, want %s", labels, got.group, g.ID)
			}
		}
	})
}

func TestLabelsSurviveEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.MapOf(rapid.StringMatching(`[a-z.]{1,8}/[a-z]{1,5}`), rapid.StringMatching(`[A-Za-z0-9_.-]{0,8}`)).Draw(t, "labels")
		if diff := cmp.Diff(labels, decodeLabels(encodeLabels(labels))); diff != "" {
			t.Error(diff)
		}
	})
}
