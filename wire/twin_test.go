package wire_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire"
)

// fullDecode is the obvious decoder: unmarshal the message, then every object in it, then compare.
func fullDecode(message []byte) (expander.Request, error) {
	var in grpcplugin.BestOptionsRequest
	if err := proto.Unmarshal(message, &in); err != nil {
		return expander.Request{}, err
	}
	out := expander.Request{Options: []expander.Option{}}
	numbers, ids := map[string]int{}, map[string]bool{}
	for i, o := range in.GetOptions() {
		if o.GetNodeGroupId() == "" || ids[o.GetNodeGroupId()] || o.GetNodeCount() < 0 {
			return expander.Request{}, fmt.Errorf("option %d cannot be answered", i)
		}
		ids[o.GetNodeGroupId()] = true
		option := expander.Option{GroupID: o.GetNodeGroupId(), NodeCount: int(o.GetNodeCount())}
		pods := o.GetPod()
		if len(pods) == 0 {
			pods = o.GetPodTyped()
		}
		for _, b := range pods {
			var pod corev1.Pod
			if err := pod.Unmarshal(b); err != nil {
				return expander.Request{}, err
			}
			n, known := numbers[string(b)]
			if !known {
				n = len(out.Pods)
				numbers[string(b)] = n
				out.Pods = append(out.Pods, wire.Pod(&pod))
			}
			if !slices.Contains(option.Pods, n) {
				option.Pods = append(option.Pods, n)
			}
		}
		out.Options = append(out.Options, option)
	}
	nodes := in.GetNode()
	if len(nodes) == 0 {
		nodes = in.GetNodeTyped()
	}
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		var node corev1.Node
		if err := node.Unmarshal(nodes[id]); err != nil {
			return expander.Request{}, err
		}
		out.Groups = append(out.Groups, wire.Group(id, &node))
	}
	return out, nil
}

// endlessQuantity finds quantities on which the full unmarshal may work for hours; ours refuses or ignores them.
var endlessQuantity = regexp.MustCompile(`[eE][+-]?[0-9]{2,}`)

// beyondUs tells errors on input that the full unmarshal takes and ours refuses on purpose.
func beyondUs(err error) bool { return errors.Is(err, wire.ErrLimit) }
