package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// TestHashStaysTheSame writes the annotated configuration down in other ways: keys in another order, other layout, without
// comments. The content is the same, so is the hash.
func TestHashStaysTheSame(t *testing.T) {
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := full(t).Hash
	rapid.Check(t, func(rt *rapid.T) {
		var document yaml.Node
		if err := yaml.Unmarshal(data, &document); err != nil {
			rt.Fatal(err)
		}
		rewrite(rt, document.Content[0])
		text, err := yaml.Marshal(&document)
		if err != nil {
			rt.Fatal(err)
		}
		c, err := Parse("full.yaml", text)
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		if c.Hash != want || c.Services[0].Policy.Hash != full(t).Services[0].Policy.Hash {
			rt.Errorf("hash %s, want %s, for\n%s", c.Hash, want, text)
		}
	})
}

// rewrite shuffles the keys of every mapping and changes the layout.
func rewrite(rt *rapid.T, n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind == yaml.MappingNode {
		pairs := slices.Collect(slices.Chunk(n.Content, 2))
		n.Content = slices.Concat(rapid.Permutation(pairs).Draw(rt, "order")...)
	}
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style = rapid.SampledFrom([]yaml.Style{0, yaml.FlowStyle}).Draw(rt, "style")
	}
	for _, child := range n.Content {
		rewrite(rt, child)
	}
}

// TestHashChanges makes sure that every line of a configuration is in the hash.
func TestHashChanges(t *testing.T) {
	base := head + onePool + `prometheus: {url: "http://p"}
expander: {workloads: [{name: a, stages: [{pools: [p]}]}]}
services: [{name: s, namespace: n, preset: vllm, replicas: {max: 4}}]
`
	changes := [][2]string{
		{"a: b}", "a: c}"},
		{"http://p", "http://q"},
		{"name: a", "name: aa"},
		{"pools: [p]", "any: true"},
		{"name: s", "name: t"},
		{"max: 4", "max: 5"},
		{"preset: vllm", "preset: tgi"},
		{"services:", "freeze: {scaler: true}\nservices:"},
		{"services:", "metadata: {allowQueries: [x]}\nservices:"},
		{"services:", "unknownCapacityTypeIs: spot\nservices:"},
		{"services:", "decisions: {ring: 9}\nservices:"},
	}
	seen := map[string]string{mustParse(t, base).Hash: "the base"}
	for _, change := range changes {
		text := strings.Replace(base, change[0], change[1], 1)
		hash := mustParse(t, text).Hash
		if other, ok := seen[hash]; ok {
			t.Errorf("%v has the hash of %s", change, other)
		}
		seen[hash] = fmt.Sprint(change)
	}
}

func TestPolicyHashIgnoresOtherServices(t *testing.T) {
	const one = "services:\n  - {name: s, namespace: n, preset: vllm, replicas: {max: 4}}\n"
	const start = head + "prometheus: {url: \"http://p\"}\n"
	a := mustParse(t, start+one)
	b := mustParse(t, start+one+"  - {name: t, namespace: n, preset: tgi, replicas: {max: 4}}\n")
	if a.Hash == b.Hash || a.Services[0].Policy.Hash != b.Services[0].Policy.Hash {
		t.Errorf("hashes %s %s, policies %s %s", a.Hash, b.Hash, a.Services[0].Policy.Hash, b.Services[0].Policy.Hash)
	}
}
