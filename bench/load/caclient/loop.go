package caclient

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/proto/grpcplugin"
)

// Loop is what one scale-up loop of the Cluster Autoscaler has found out.
type Loop struct {
	Options []Option
	// Nodes holds a template by node group id, also of groups without an option.
	Nodes map[string]*corev1.Node
}

// Option is a node group that could grow.
type Option struct {
	GroupID   string
	NodeCount int
	Debug     string
	Pods      []*corev1.Pod
}

// Message builds the request of a release. A nil pod or node stands for one that cannot be serialised: then the
// Cluster Autoscaler leaves out the pods of that option, or all nodes, in the fields that hold bytes.
func (l Loop) Message(r Release) (*grpcplugin.BestOptionsRequest, error) {
	req := &grpcplugin.BestOptionsRequest{}
	for i := range l.Options {
		o := &l.Options[i]
		pods, err := serialised(o.Pods)
		if err != nil {
			return nil, fmt.Errorf("option %d (%s): %w", i, o.GroupID, err)
		}
		out := &grpcplugin.Option{
			NodeGroupId: o.GroupID,
			NodeCount:   int32(o.NodeCount), //nolint:gosec // as the Cluster Autoscaler does
			Debug:       o.Debug,
		}
		if r.SendsTyped() {
			out.PodTyped = pods
		}
		if r.SendsBytes() {
			out.Pod = pods
		}
		req.Options = append(req.Options, out)
	}
	nodes, err := templates(l.Nodes)
	if err != nil {
		return nil, err
	}
	if r.SendsTyped() {
		req.NodeTyped = nodes
	}
	if r.SendsBytes() {
		req.Node = nodes
	}
	return req, nil
}

func serialised(pods []*corev1.Pod) ([][]byte, error) {
	out := make([][]byte, 0, len(pods))
	for _, p := range pods {
		if p == nil {
			return nil, nil
		}
		b, err := p.Marshal()
		if err != nil {
			return nil, fmt.Errorf("pod %s/%s: %w", p.Namespace, p.Name, err)
		}
		out = append(out, b)
	}
	return out, nil
}

func templates(nodes map[string]*corev1.Node) (map[string][]byte, error) {
	out := make(map[string][]byte, len(nodes))
	for id, n := range nodes {
		if n == nil {
			return nil, nil
		}
		b, err := n.Marshal()
		if err != nil {
			return nil, fmt.Errorf("node template of %s: %w", id, err)
		}
		out[id] = b
	}
	return out, nil
}
