package expander_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// largeRequest has groups of several sizes and capacity types, all offered for all pods, and pods of a number of
// shapes, as one large wave would bring.
func largeRequest(groups, pods, shapes int) (*expander.Policy, expander.View, expander.Request) {
	policy := online()
	policy.Rank = nil
	policy.Workloads[0].Match = expander.WorkloadMatch{PodLabels: map[string]string{"tier": "online"}}
	policy.Workloads = append(policy.Workloads, expander.Workload{Name: "batch", Stages: []expander.Stage{{Any: true}}})
	view := expander.View{Known: true, Groups: map[string]expander.GroupView{}}
	req := expander.Request{}
	all := make([]int, pods)
	for i := range pods {
		all[i] = i
		shape := i % shapes
		req.Pods = append(req.Pods, expander.Pod{
			UID: fmt.Sprintf("6f1c2a34-0000-4000-8000-%012d", i), Namespace: "ai", Name: fmt.Sprintf("llm-%d", i),
			Labels:       map[string]string{"app": fmt.Sprintf("llm-%d", shape), "tier": "online", "model.ai/name": "llama"},
			Annotations:  map[string]string{"gpu.ai/memory-required": "14Gi"},
			Requests:     gpuResources(int64(1+shape%7), int64(4+shape), 1),
			NodeSelector: map[string]string{"kubernetes.io/arch": "amd64"},
			Tolerations:  []expander.Toleration{{Key: "nvidia.com/gpu", Operator: "Exists"}, {Key: "workload", Operator: "Equal", Value: "inference"}},
			Preferred: []expander.PreferredTerm{{Weight: 50, Term: expander.Term{
				Requirements: []expander.Requirement{{Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{"z1"}}},
			}}},
		})
	}
	for i := range groups {
		id := fmt.Sprintf("group-%d", i)
		size := int64(1 + i%8)
		node := gpuResources(8*size, 64*size, size)
		req.Groups = append(req.Groups, expander.Group{
			ID: id, Capacity: node, Allocatable: node, Taints: []expander.Taint{{Key: "nvidia.com/gpu", Effect: "NoSchedule"}},
			Labels: map[string]string{
				"karpenter.sh/capacity-type": []string{"spot", "on-demand"}[i%2], "nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.memory": "23034",
				"kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": fmt.Sprintf("z%d", i%3), "node.kubernetes.io/instance-type": id,
			},
		})
		policy.Pools = append(policy.Pools, expander.Pool{Name: id, HourlyCost: 0.7*float64(size) + float64(i)/100, Match: expander.PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("^" + id + "$")}}})
		seen := expander.UnknownGroup()
		seen.Nodes, seen.Registered, seen.Target = i, i, i
		view.Groups[id] = seen
		req.Options = append(req.Options, expander.Option{GroupID: id, NodeCount: (pods + int(size) - 1) / int(size), Pods: all})
	}
	return policy, view, req
}

// usedHistory has two hours of requests behind it.
func usedHistory(policy *expander.Policy, view expander.View) expander.History {
	var history expander.History
	for i := range 120 {
		_, _, req := largeRequest(10, 20, 4)
		for j := range req.Pods {
			req.Pods[j].UID = fmt.Sprintf("old-%d-%d", i, j)
		}
		_, history = expander.Select(policy, view, req, history, epoch.Add(time.Duration(i)*time.Minute))
	}
	return history
}

// BenchmarkSelect shows how the cost of a choice grows with groups, pods and distinct pod shapes.
func BenchmarkSelect(b *testing.B) {
	for _, size := range []struct{ groups, pods, shapes int }{
		{5, 1, 1}, {60, 50, 5}, {60, 500, 5}, {60, 500, 100}, {60, 500, 500}, {120, 500, 5}, {60, 1000, 5}, {200, 2000, 20},
	} {
		b.Run(fmt.Sprintf("groups=%d/pods=%d/shapes=%d", size.groups, size.pods, size.shapes), func(b *testing.B) {
			policy, view, req := largeRequest(size.groups, size.pods, size.shapes)
			history := usedHistory(policy, view)
			b.ReportAllocs()
			for b.Loop() {
				d, _ := expander.Select(policy, view, req, history, epoch.Add(2*time.Hour))
				if d.Outcome != expander.Selected {
					b.Fatalf("outcome %s", d.Outcome)
				}
			}
		})
	}
}

func BenchmarkMergeHistory(b *testing.B) {
	policy, view, _ := largeRequest(10, 20, 4)
	history := usedHistory(policy, view)
	b.ReportAllocs()
	for b.Loop() {
		expander.MergeHistory(history, history)
	}
}
