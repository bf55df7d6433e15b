package expander_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/warmpool/warmpool/expander"
)

var epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// scenario turns the neutral vocabulary of a case into arguments of Select.
type scenario struct {
	t          testing.TB
	spec       caseSpec
	policy     *expander.Policy
	generation map[string]int
	failures   []expander.Failure
}

func newScenario(t testing.TB, spec caseSpec) *scenario {
	s := &scenario{t: t, spec: spec, generation: map[string]int{}}
	s.policy = s.buildPolicy()
	return s
}

func (s *scenario) amounts(m map[string]any) expander.Resources {
	s.t.Helper()
	r := expander.Resources{Extended: map[string]int64{}}
	for name, value := range m {
		q, err := resource.ParseQuantity(fmt.Sprint(value))
		if err != nil {
			s.t.Fatalf("%s: %s: %v", s.spec.ID, name, err)
		}
		switch name {
		case "cpu":
			r.MilliCPU = q.MilliValue()
		case "memory":
			r.Memory = q.Value()
		default:
			r.Extended[name] = q.Value()
		}
	}
	return r
}

func (s *scenario) group(g caseGroup) expander.Group {
	capacity := s.amounts(g.Node)
	maps.Copy(capacity.Extended, g.Resources)
	group := expander.Group{ID: g.ID, Labels: maps.Clone(g.Labels), Capacity: capacity, Allocatable: capacity}
	if group.Labels == nil {
		group.Labels = map[string]string{}
	}
	if g.Allocatable != nil {
		group.Allocatable = s.amounts(g.Allocatable)
	}
	for _, t := range g.Taints {
		group.Taints = append(group.Taints, expander.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	if g.Price > 0 {
		group.Labels["node.kubernetes.io/instance-type"] = priceType(g)
	}
	return group
}

// priceType is the instance type under which the price of a group is listed.
func priceType(g caseGroup) string {
	if own := g.Labels["node.kubernetes.io/instance-type"]; own != "" {
		return own
	}
	return "type-" + g.ID
}

func vetoSupported(version string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return true
	}
	return major > 1 || minor >= 32
}

func (s *scenario) buildPolicy() *expander.Policy {
	given := s.spec.Given
	p := &expander.Policy{
		Mode: expander.Active, VetoSupported: vetoSupported(given.CAVersion), Hash: s.spec.ID,
		CPUPods:            map[string]expander.CPUPodRule{"allow": expander.CPUPodsAllow, "never": expander.CPUPodsNever, "lastResort": expander.CPUPodsAvoid}[given.Policy.CPUPods],
		TrustTemplateCache: given.Policy.TrustTemplateCache,
		InstanceTypes:      map[string]expander.InstanceType{},
	}
	for _, g := range given.Groups {
		if g.Price > 0 {
			p.InstanceTypes[priceType(g)] = expander.InstanceType{Name: priceType(g), HourlyCost: g.Price, SpotHourlyCost: g.Price}
		}
		if g.Pool != "" || g.QuotaGroup != "" {
			p.Pools = append(p.Pools, expander.Pool{
				Name: g.Pool, QuotaGroup: g.QuotaGroup, Exclusive: given.Policy.Pools[g.Pool].Exclusive,
				Match: expander.PoolMatch{NodeGroups: []*regexp.Regexp{regexp.MustCompile("^" + regexp.QuoteMeta(g.ID) + "$")}},
			})
		}
	}
	for _, name := range given.Policy.Rank {
		p.Rank = append(p.Rank, expander.Criterion{Name: expander.CriterionName(name), Tolerance: given.Policy.Tolerance[name]})
	}
	if m := given.Policy.FailureMemory; m != nil {
		p.Failures = expander.FailureMemory{
			SingleGPU: m.SingleGPU.Duration, MultiGPU: m.MultiGPU.Duration, Factor: m.Factor, Max: m.Max.Duration,
			StickFor: m.StickFor.Duration, Quota: m.Quota.Duration, Suspected: m.Suspected.Duration,
		}
	}
	p.Workloads = s.workloads()
	return p
}

func (s *scenario) workloads() []expander.Workload {
	given := s.spec.Given.Policy
	var workloads []expander.Workload
	for _, w := range given.Workloads {
		if len(w.Sets) != 1 {
			s.t.Fatalf("%s: workload %s has %d sets, the loader knows one", s.spec.ID, w.Name, len(w.Sets))
		}
		workload := expander.Workload{
			Name: w.Name, Priority: &w.Priority, Match: expander.WorkloadMatch{PodLabels: map[string]string{"set": w.Sets[0]}},
		}
		for _, pools := range w.Stages {
			workload.Stages = append(workload.Stages, expander.Stage{Pools: pools})
		}
		workloads = append(workloads, workload)
	}
	if len(workloads) > 0 {
		return workloads
	}
	all := expander.Workload{Name: "all", EnforceGPUMemory: given.GPUMemory == "enforce", ZoneCap: given.ZoneCap}
	escalate := expander.Escalation{Attempts: given.Escalate.Attempts, FirstSeen: given.Escalate.FirstSeen.Duration}
	for _, tier := range given.Tiers {
		stage := expander.Stage{Any: tier.Any, Escalate: escalate}
		if tier.CapacityType != "" {
			stage.CapacityTypes = []expander.CapacityType{expander.CapacityType(tier.CapacityType)}
		}
		if tier.Label != "" {
			stage.Labels = map[string]string{tier.Label: tier.Value}
		}
		all.Stages = append(all.Stages, stage)
	}
	if len(all.Stages) == 0 {
		all.Stages = []expander.Stage{{Any: true}}
	}
	return []expander.Workload{all}
}

// pods builds the pending pods of a step, and says which indices belong to each set.
func (s *scenario) pods(sets []string, subset map[string]int) (pods []expander.Pod, of map[string][]int) {
	of = map[string][]int{}
	for _, spec := range s.spec.Given.Pods {
		if sets != nil && !slices.Contains(sets, spec.Set) {
			continue
		}
		count := spec.Count
		if n, ok := subset[spec.Set]; ok {
			count = n
		}
		for i := range count {
			of[spec.Set] = append(of[spec.Set], len(pods))
			pods = append(pods, s.pod(spec, fmt.Sprintf("%s-g%d-%d", spec.Set, s.generation[spec.Set], i)))
		}
	}
	return pods, of
}

func (s *scenario) pod(spec casePods, uid string) expander.Pod {
	pod := expander.Pod{
		UID: uid, Namespace: "default", Name: uid, Labels: map[string]string{"set": spec.Set}, Annotations: spec.Annotations,
		Requests: s.amounts(spec.Requests), Claims: len(spec.ResourceClaims), NodeSelector: spec.NodeSelector,
	}
	if spec.Model != "" {
		pod.Labels["model.ai/name"] = spec.Model
	}
	for _, t := range spec.Tolerations {
		pod.Tolerations = append(pod.Tolerations, t.toleration())
	}
	for _, p := range spec.Prefers {
		pod.Preferred = append(pod.Preferred, expander.PreferredTerm{Weight: p.Weight, Term: expander.Term{
			Requirements: []expander.Requirement{{Key: p.Label, Operator: "In", Values: []string{p.Value}}},
		}})
	}
	return pod
}

func (t caseTaint) toleration() expander.Toleration {
	return expander.Toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect}
}

// request builds the request of a step; without options in the step the groups' own node counts are used.
func (s *scenario) request(step caseStep) expander.Request {
	for _, spec := range s.spec.Given.Pods {
		if step.FreshPods.all || slices.Contains(step.FreshPods.names, spec.Set) {
			s.generation[spec.Set]++
		}
	}
	pods, of := s.pods(step.Pods, step.PodSubset)
	req := expander.Request{Pods: pods}
	for _, g := range s.spec.Given.Groups {
		req.Groups = append(req.Groups, s.group(g))
		nodes, ok := step.Options[g.ID]
		if step.Options == nil && g.NodeCount != nil {
			nodes, ok = *g.NodeCount, true
		}
		if !ok {
			continue
		}
		option := expander.Option{GroupID: g.ID, NodeCount: nodes}
		for _, set := range slices.Sorted(maps.Keys(of)) {
			if g.Pods == nil || slices.Contains(g.Pods, set) {
				option.Pods = append(option.Pods, of[set]...)
			}
		}
		req.Options = append(req.Options, option)
	}
	return req
}

// view builds what the cluster shows at a step. Events stay visible afterwards, as they do in a cluster.
func (s *scenario) view(step caseStep, currentNodes map[string]int) expander.View {
	view := expander.View{Known: s.spec.Given.ClusterView != "none", At: epoch.Add(step.At.Duration), Groups: map[string]expander.GroupView{}, ZoneNodes: s.spec.Given.ExistingNodes}
	var clusterView struct {
		CacheNodes map[string][2]int `json:"cacheNodes"`
	}
	if strings.Contains(string(step.ClusterView), "none") {
		view.Known = false
	} else if len(step.ClusterView) > 0 {
		if err := json.Unmarshal(step.ClusterView, &clusterView); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, g := range s.spec.Given.Groups {
		seen := expander.UnknownGroup()
		if g.CurrentNodes != nil {
			seen.Nodes = *g.CurrentNodes
		}
		if n, ok := currentNodes[g.ID]; ok {
			seen.Nodes = n
		}
		if n, ok := step.Registered[g.ID]; ok {
			seen.Registered = n
		}
		if n, ok := clusterView.CacheNodes[g.ID]; ok {
			seen.ReadyNodes, seen.CacheNodes = n[1], map[string]int{}
			for _, spec := range s.spec.Given.Pods {
				seen.CacheNodes["model-cache.ai/"+spec.Model] = n[0]
			}
		}
		for _, status := range step.Status {
			if status.Group == g.ID && status.State == "Backoff" {
				seen.Backoff = &expander.Backoff{Class: expander.FailureClass(status.Class)}
			}
		}
		view.Groups[g.ID] = seen
	}
	for _, event := range step.Events {
		s.failures = append(s.failures, expander.Failure{At: epoch.Add(event.At.Duration), GroupID: event.Group, Class: expander.FailureClass(event.Class), Reason: event.Event})
	}
	view.Failures = slices.Clone(s.failures)
	return view
}
