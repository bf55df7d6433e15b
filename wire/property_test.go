package wire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/wire"
)

// agree checks that a message that the full unmarshal takes has the same meaning to us, however it is cut.
func agree(t interface {
	Helper()
	Errorf(format string, args ...any)
}, message []byte, cuts ...int,
) {
	t.Helper()
	want, fullErr := fullDecode(message)
	for _, size := range append(cuts, max(1, len(message))) {
		got, stats, err := wire.Decode(pieces(message, size), wire.Limits{})
		if fullErr != nil || beyondUs(err) {
			continue
		}
		if err != nil {
			t.Errorf("pieces of %d: %v; the full unmarshal takes it", size, err)
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pieces of %d (-full unmarshal +ours):\n%s", size, diff)
		}
		if stats.Bytes != int64(len(message)) || stats.DistinctPods != len(got.Pods) || stats.Options != len(got.Options) {
			t.Errorf("stats %+v", stats)
		}
	}
}

func TestAgreesWithFullUnmarshal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agree(t, anyMessage(t), rapid.IntRange(1, 600).Draw(t, "piece"))
	})
}

// Whatever is broken about a message, it is either refused or understood as the full unmarshal understands it.
func TestAgreesOnBrokenMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := anyMessage(t)
		for range rapid.IntRange(1, 4).Draw(t, "faults") {
			if len(message) == 0 {
				return
			}
			at := rapid.IntRange(0, len(message)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "fault") {
			case 0:
				message[at] = rapid.Byte().Draw(t, "byte")
			case 1:
				message = message[:at]
			default:
				message = append(message[:at:at], message[at+1:]...)
			}
		}
		if endlessQuantity.Match(message) {
			return
		}
		agree(t, message, rapid.IntRange(1, 600).Draw(t, "piece"))
	})
}

// FuzzDecode needs -fuzzminimizetime 5x: the seeded hash makes coverage differ between runs, and without the limit the
// fuzzer spends its time on minimising.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"ca133-004", "ca134-003", "ca136-009", "ca136-010"} {
		b, err := os.ReadFile(filepath.Join("testdata", "captures", name+".bin"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint16(700))
	}
	loop := load.Wave{Groups: 2, Pods: 2}.Loop()
	for _, r := range []caclient.Release{caclient.V1_24_0, caclient.V1_34_5, caclient.V1_35_0} {
		f.Add(message(f, loop, r), uint16(50))
	}
	f.Add([]byte("\x4b\x4b\x4c\x4c\x0a\x03\x0a\x01a"), uint16(1))
	f.Fuzz(func(t *testing.T, message []byte, piece uint16) {
		if endlessQuantity.Match(message) {
			_, _, _ = wire.Decode(pieces(message, int(piece)+1), wire.Limits{}) // must come back, that is all
			return
		}
		agree(t, message, int(piece)+1)
	})
}

// anyMessage draws a request with repeated, lost, doubled and unknown parts.
func anyMessage(t *rapid.T) []byte {
	pods := rapid.SliceOfN(rapid.Custom(anyPod), 1, 6).Draw(t, "pods")
	var out []byte
	for i := range rapid.IntRange(0, 4).Draw(t, "options") {
		option := field(nil, 1, fmt.Appendf(nil, "group-%d", i))
		option = protowire.AppendVarint(protowire.AppendTag(option, 2, protowire.VarintType), rapid.Uint64Range(0, 5).Draw(t, "count"))
		for _, num := range []protowire.Number{4, 5} {
			for range rapid.IntRange(0, 6).Draw(t, "listed") {
				option = field(option, num, rapid.SampledFrom(pods).Draw(t, "pod"))
			}
		}
		if rapid.Bool().Draw(t, "debug") {
			option = field(option, 3, []byte("debug"))
		}
		out = field(out, 1, option)
		if rapid.Bool().Draw(t, "unknown") {
			out = field(out, 77, []byte("of the future"))
		}
	}
	for _, num := range []protowire.Number{2, 3} {
		for range rapid.IntRange(0, 4).Draw(t, "nodes") {
			id := fmt.Appendf(nil, "group-%d", rapid.IntRange(0, 3).Draw(t, "node"))
			out = field(out, num, field(field(nil, 1, id), 2, rapid.Custom(anyNode).Draw(t, "template")))
		}
	}
	return out
}

func anyPod(t *rapid.T) []byte {
	word := rapid.SampledFrom([]string{"", "a", "gpu.ai/memory-required", "model"})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: word.Draw(t, "name"), UID: types.UID(word.Draw(t, "uid")),
			Labels:        rapid.MapOfN(word, word, 0, 2).Draw(t, "labels"),
			Annotations:   rapid.MapOfN(word, word, 0, 2).Draw(t, "annotations"),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: strings.Repeat("m", rapid.IntRange(0, 300).Draw(t, "managed"))}},
		},
		Spec: corev1.PodSpec{
			PriorityClassName: word.Draw(t, "class"),
			Containers:        rapid.SliceOfN(rapid.Custom(anyContainer), 0, 3).Draw(t, "containers"),
			InitContainers:    rapid.SliceOfN(rapid.Custom(anyContainer), 0, 2).Draw(t, "init"),
			Overhead:          rapid.Custom(anyResources).Draw(t, "overhead"),
			NodeSelector:      rapid.MapOfN(word, word, 0, 1).Draw(t, "selector"),
		},
	}
	if rapid.Bool().Draw(t, "more") {
		priority, controller := rapid.Int32().Draw(t, "priority"), rapid.Bool().Draw(t, "controller")
		pod.Spec.Priority = &priority
		pod.OwnerReferences = []metav1.OwnerReference{{UID: "owner", Controller: &controller}}
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: rapid.Custom(anyResources).Draw(t, "pod level")}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: word.Draw(t, "toleration"), Operator: corev1.TolerationOpExists}}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: anyAffinity(word.Draw(t, "affinity"))}
	}
	return object(t, pod)
}

func anyAffinity(key string) *corev1.NodeAffinity {
	term := corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{"x", key}}},
		MatchFields:      []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}},
	}
	return &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term, {}}},
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 7, Preference: term}},
	}
}

func anyContainer(t *rapid.T) corev1.Container {
	c := corev1.Container{
		Name:      "c",
		Image:     strings.Repeat("i", rapid.IntRange(0, 200).Draw(t, "image")),
		Resources: corev1.ResourceRequirements{Requests: rapid.Custom(anyResources).Draw(t, "requests"), Limits: rapid.Custom(anyResources).Draw(t, "limits")},
	}
	if rapid.Bool().Draw(t, "sidecar") {
		always := corev1.ContainerRestartPolicyAlways
		c.RestartPolicy = &always
	}
	return c
}

func anyResources(t *rapid.T) corev1.ResourceList {
	name := rapid.SampledFrom([]corev1.ResourceName{"cpu", "memory", "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "hugepages-2Mi"})
	amount := rapid.SampledFrom([]string{"0", "1", "250m", "3Gi", "9E", "9223372036854775807", "-2", "1e3", "100n"})
	list := corev1.ResourceList{}
	for range rapid.IntRange(0, 3).Draw(t, "resources") {
		list[name.Draw(t, "resource")] = resource.MustParse(amount.Draw(t, "amount"))
	}
	return list
}

func anyNode(t *rapid.T) []byte {
	return object(t, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "template", Labels: map[string]string{"zone": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity:    rapid.Custom(anyResources).Draw(t, "capacity"),
			Allocatable: rapid.Custom(anyResources).Draw(t, "allocatable"),
			Images:      []corev1.ContainerImage{{Names: []string{"image"}}},
		},
	})
}
