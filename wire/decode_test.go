package wire_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/wire"
)

// pieces cuts a message so that values lie on several pieces.
func pieces(message []byte, size int) wire.Source {
	var parts [][]byte
	for len(message) > size {
		parts = append(parts, message[:size], nil)
		message = message[size:]
	}
	return wire.Bytes(append(parts, message)...)
}

func message(t testing.TB, l caclient.Loop, r caclient.Release) []byte {
	t.Helper()
	m, err := l.Message(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t testing.TB, b []byte) (expander.Request, wire.Stats) {
	t.Helper()
	req, stats, err := wire.Decode(wire.Bytes(b), wire.Limits{})
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	return req, stats
}

// TestReleasesSendTheSameRequest is ca-pr-8660: the releases differ in the fields they send and in nothing else, and a release that sends both generations does
// not send twice as many pods.
func TestReleasesSendTheSameRequest(t *testing.T) {
	loop := load.Wave{Groups: 2, Pods: 3, PodBytes: 5000}.Loop()
	want, _ := decode(t, message(t, loop, caclient.V1_35_0))
	if len(want.Pods) != 3 || len(want.Groups) != 2 || len(want.Options) != 2 || len(want.Options[1].Pods) != 3 {
		t.Fatalf("got %d pods, %d groups, options %+v", len(want.Pods), len(want.Groups), want.Options)
	}
	for _, r := range []caclient.Release{caclient.V1_24_0, caclient.V1_34_2, caclient.V1_34_5} {
		got, stats := decode(t, message(t, loop, r))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-1.35.0 +%s):\n%s", r, r, diff)
		}
		if stats.PodEntries != 6 || stats.DistinctPods != 3 || stats.Typed != r.SendsTyped() || stats.AsBytes != r.SendsBytes() {
			t.Errorf("%s: stats %+v", r, stats)
		}
	}
}

// TestLostLists is the rest of ca-pr-8660. One object that cannot be serialised loses a list: the option's pods, or all nodes. That is no error.
func TestLostLists(t *testing.T) {
	loop := load.Wave{Groups: 2, Pods: 3}.Loop()
	loop.Options[0].Pods = append([]*corev1.Pod{nil}, loop.Options[0].Pods...)
	req, stats := decode(t, message(t, loop, caclient.V1_35_0))
	if req.Options[0].Pods != nil || len(req.Options[1].Pods) != 3 || len(req.Groups) != 2 || stats.OptionsWithoutPods != 1 {
		t.Errorf("pods lost: options %+v, %d groups, stats %+v", req.Options, len(req.Groups), stats)
	}

	loop = load.Wave{Groups: 2, Pods: 3}.Loop()
	loop.Nodes["gpu-pool-001"] = nil
	req, _ = decode(t, message(t, loop, caclient.V1_35_0))
	if len(req.Groups) != 0 || len(req.Pods) != 3 {
		t.Errorf("nodes lost: %d groups, %d pods", len(req.Groups), len(req.Pods))
	}
}

// The newer field wins per option for pods, and for the request as a whole for nodes.
func TestNewerFieldWins(t *testing.T) {
	old, young := object(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old"}}), object(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "young"}})
	node := object(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"is": "node"}}})
	b := field(nil, 1, field(field(field(nil, 1, []byte("both")), 5, young), 4, old))
	b = field(b, 1, field(field(nil, 1, []byte("typed")), 4, old))
	b = field(b, 2, field(field(nil, 1, []byte("both")), 2, node))
	b = field(b, 2, field(field(nil, 1, []byte("typed")), 2, node))
	b = field(b, 3, field(field(nil, 1, []byte("both")), 2, nil))
	b = field(b, 3, field(field(nil, 1, []byte("both")), 2, node)) // the last entry of a key wins

	got, stats := decode(t, b)
	want := expander.Request{
		Pods:    []expander.Pod{{Name: "young"}, {Name: "old"}},
		Options: []expander.Option{{GroupID: "both", Pods: []int{0}}, {GroupID: "typed", Pods: []int{1}}},
		Groups:  []expander.Group{{ID: "both", Labels: map[string]string{"is": "node"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !stats.Typed || !stats.AsBytes || stats.PodEntries != 2 {
		t.Errorf("stats %+v", stats)
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), 7)
	b = protowire.AppendFixed32(protowire.AppendTag(b, 9, protowire.Fixed32Type), 7)
	b = protowire.AppendFixed64(protowire.AppendTag(b, 9, protowire.Fixed64Type), 7)
	b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), 7) // a known number, another type
	for range 5000 {
		b = protowire.AppendTag(b, 8, protowire.StartGroupType)
	}
	b = field(b, 3, []byte("inside a group"))
	for range 5000 {
		b = protowire.AppendTag(b, 8, protowire.EndGroupType)
	}
	b = field(b, 1, field(field(nil, 1, []byte("a")), 3, []byte("debug \xff text is never read")))
	for _, size := range []int{1, 2, 3, 7, len(b)} {
		req, stats, err := wire.Decode(pieces(b, size), wire.Limits{})
		if err != nil || len(req.Options) != 1 || stats.Bytes != int64(len(b)) {
			t.Errorf("pieces of %d: %d options, stats %+v, error %v", size, len(req.Options), stats, err)
		}
	}
}

func TestFaults(t *testing.T) {
	terms := func(n int) []byte { // a pod with empty terms of a required node affinity
		return field(nil, 2, field(nil, 18, field(nil, 1, field(nil, 1, []byte(strings.Repeat("\x0a\x00", n))))))
	}
	option := func(id string) []byte { return field(nil, 1, []byte(id)) }
	negative := protowire.AppendVarint(protowire.AppendTag(option("gpu"), 2, protowire.VarintType), 1<<64-3)
	endless := field(nil, 2, field(nil, 32, field(field(nil, 1, []byte("cpu")), 2, field(nil, 1, []byte("1e-999999999")))))
	crowded := []byte(strings.Repeat("\x12\x00", 12_000)) // empty containers
	for _, tc := range []struct {
		name   string
		in     []byte
		limits wire.Limits
		kind   error
		want   string
	}{
		{"garbage", []byte("not protobuf at all"), wire.Limits{}, wire.ErrInvalid, ""},
		{"ends in a tag", []byte{0x80}, wire.Limits{}, wire.ErrInvalid, "ends too early"},
		{"ends in a value", []byte{0x0a, 5, 1}, wire.Limits{}, wire.ErrInvalid, "option 0"},
		{"field zero", []byte{0, 0}, wire.Limits{}, wire.ErrInvalid, "field number 0"},
		{"endless number", []byte(strings.Repeat("\xff", 11)), wire.Limits{}, wire.ErrInvalid, "number"},
		{"inner length too long", field(nil, 1, []byte{0x2a, 0x7f, 1}), wire.Limits{}, wire.ErrInvalid, "127 bytes reaches over"},
		{"length of 2^63", append([]byte{0x0a}, protowire.AppendVarint(nil, 1<<63)...), wire.Limits{}, wire.ErrInvalid, "reaches over"},
		{"end of group", []byte{0x4c}, wire.Limits{}, wire.ErrInvalid, "group 9"},
		{"deep groups", []byte(strings.Repeat("\x4b", 20_000)), wire.Limits{}, wire.ErrInvalid, "too deeply"},
		{"unknown wire type", []byte{0x4f}, wire.Limits{}, wire.ErrInvalid, "wire type 7"},
		{"no id", field(nil, 1, nil), wire.Limits{}, wire.ErrInvalid, "option 0: node group id: is empty"},
		{"id not UTF-8", field(nil, 1, option("a\xff")), wire.Limits{}, wire.ErrInvalid, `node group id: "a\xff"`},
		{"same id twice", field(field(nil, 1, option("gpu")), 1, option("gpu")), wire.Limits{}, wire.ErrInvalid, `option 1: node group "gpu": node group id: is the id of option 0`},
		{"negative count", field(nil, 1, negative), wire.Limits{}, wire.ErrInvalid, `option 0: node group "gpu": node count: -3`},
		{"not a pod", field(nil, 1, field(option("gpu"), 5, []byte{0x0a, 9})), wire.Limits{}, wire.ErrInvalid, `option 0: node group "gpu": pod[0]: not a serialised pod`},
		{"endless quantity", field(nil, 1, field(option("gpu"), 5, endless)), wire.Limits{}, wire.ErrInvalid, "1e-999999999"},
		{"inflated pod", field(nil, 1, field(option("gpu"), 5, field(nil, 2, crowded))), wire.Limits{}, wire.ErrInvalid, "10000 fields"},
		{"inflated affinity", field(nil, 1, field(option("gpu"), 5, terms(12_000))), wire.Limits{}, wire.ErrInvalid, "10000 fields"},
		{"inflated together", field(nil, 1, field(field(option("gpu"), 5, terms(30)), 5, terms(31))), wire.Limits{Fields: 60}, wire.ErrLimit, "more than 60 fields in all pods and nodes"},
		{"inflated nodes", field(nil, 3, field(field(nil, 1, []byte("gpu")), 2, field(nil, 2, []byte("\x2a\x00\x2a\x00")))), wire.Limits{Fields: 1}, wire.ErrLimit, "more than 1 fields in all pods and nodes"},
		{"long uid", field(nil, 1, field(option("gpu"), 5, field(nil, 1, field(nil, 5, []byte(strings.Repeat("u", 300)))))), wire.Limits{}, wire.ErrInvalid, `pod[0]: not a serialised pod: metadata.uid has 300 bytes`},
		{"not a node", field(nil, 3, field(field(nil, 1, []byte("gpu")), 2, []byte{0x0a, 9})), wire.Limits{}, wire.ErrInvalid, `node group "gpu": node: not a serialised node`},
		{"options", field(field(nil, 1, option("a")), 1, option("b")), wire.Limits{Options: 1}, wire.ErrLimit, "more than 1 options"},
		{"groups", field(field(nil, 3, option("a")), 3, option("b")), wire.Limits{Groups: 1}, wire.ErrLimit, "more than 1 node templates"},
		{"pods", field(nil, 1, field(field(option("a"), 5, nil), 5, []byte{0x12, 0})), wire.Limits{Pods: 1}, wire.ErrLimit, "more than 1 distinct pods"},
		{"pod entries", field(nil, 1, field(field(option("a"), 5, nil), 5, nil)), wire.Limits{PodEntries: 1}, wire.ErrLimit, "more than 1 pods over all options"},
		{"large pod", field(nil, 1, field(option("a"), 5, make([]byte, 9))), wire.Limits{ObjectBytes: 8}, wire.ErrLimit, "more than 8 bytes in one object"},
		{"too much to hold", field(nil, 1, field(option("a"), 5, make([]byte, 900))), wire.Limits{Held: 1000}, wire.ErrLimit, "more than 1000 bytes to hold"},
		{"nodes too much to hold", field(nil, 3, field(option("a"), 2, make([]byte, 900))), wire.Limits{Held: 1000}, wire.ErrLimit, "more than 1000 bytes to hold"},
		{"templates too much to hold", field(nil, 3, field(option("a"), 2, field(nil, 1, field(nil, 11, make([]byte, 900))))), wire.Limits{GroupsHeld: 1000}, wire.ErrLimit, "more than 1000 bytes to hold for node templates"},
		{"fields too much to hold", field(nil, 1, field(option("gpu"), 5, terms(30))), wire.Limits{Held: 2000}, wire.ErrLimit, "more than 2000 bytes to hold"},
		{"entries too much to hold", field(nil, 1, field(field(option("a"), 5, nil), 5, nil)), wire.Limits{Held: 300}, wire.ErrLimit, "more than 300 bytes to hold"},
		{"long id", field(nil, 1, option("abc")), wire.Limits{IDBytes: 2}, wire.ErrLimit, "more than 2 bytes in a node group id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, size := range []int{1, len(tc.in)} {
				req, stats, err := wire.Decode(pieces(tc.in, size), tc.limits)
				var fault *wire.Error
				if !errors.Is(err, tc.kind) || !errors.As(err, &fault) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("pieces of %d: error %v, want one with %q", size, err, tc.want)
				}
				if diff := cmp.Diff(expander.Request{}, req); diff != "" || stats != (wire.Stats{}) {
					t.Errorf("a failed decode returned something: %+v %s", stats, diff)
				}
			}
		})
	}
}

// A source that fails is not the sender's fault.
func TestSourceError(t *testing.T) {
	for _, head := range []string{"", "\x0a\x05\x0a"} {
		_, _, err := wire.Decode(failing{strings.NewReader(head)}, wire.Limits{})
		if !errors.Is(err, errBroken) || errors.Is(err, wire.ErrInvalid) {
			t.Errorf("after %q: error %v", head, err)
		}
	}
}

var errBroken = errors.New("connection lost")

type failing struct{ r io.Reader }

func (f failing) Next() ([]byte, error) {
	b := make([]byte, 1)
	if _, err := f.r.Read(b); err != nil {
		return nil, errBroken
	}
	return b, nil
}

func field(b []byte, num protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), value)
}

func object(t interface{ Fatal(args ...any) }, o interface{ Marshal() ([]byte, error) }) []byte {
	b, err := o.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
