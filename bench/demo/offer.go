package demo

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/expander"
)

// offer is one loop of the virtual Cluster Autoscaler, as it would be sent.
type offer struct {
	loop caclient.Loop
	pods []*corev1.Pod
}

func (o offer) ids() []string {
	ids := make([]string, len(o.loop.Options))
	for i := range o.loop.Options {
		ids[i] = o.loop.Options[i].GroupID
	}
	return ids
}

// autoscale runs one loop of the virtual Cluster Autoscaler; choose answers the ids to keep.
func (w *world) autoscale(choose func(offer) []string) {
	w.cluster.Autoscale(func(req expander.Request, _ expander.View, _ time.Time) []string {
		o := offer{loop: caclient.Loop{Nodes: w.nodes}}
		for i := range req.Pods {
			o.pods = append(o.pods, w.pods[req.Pods[i].UID])
		}
		for _, option := range req.Options {
			out := caclient.Option{GroupID: option.GroupID, NodeCount: option.NodeCount}
			for _, p := range option.Pods {
				out.Pods = append(out.Pods, o.pods[p])
			}
			o.loop.Options = append(o.loop.Options, out)
		}
		return choose(o)
	})
}
