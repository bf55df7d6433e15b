package sim

import (
	"slices"
	"strconv"

	"github.com/warmpool/warmpool/expander"
)

// GPU is the resource name of cards in the virtual cluster.
const GPU = "nvidia.com/gpu"

// amount is what the virtual scheduler counts.
type amount struct{ cpu, mem, gpu int64 }

func amountOf(r expander.Resources) amount { return amount{r.MilliCPU, r.Memory, r.Extended[GPU]} }

func (a amount) within(b amount) bool { return a.cpu <= b.cpu && a.mem <= b.mem && a.gpu <= b.gpu }

func (a amount) plus(b amount) amount { return amount{a.cpu + b.cpu, a.mem + b.mem, a.gpu + b.gpu} }

func (a amount) minus(b amount) amount { return amount{a.cpu - b.cpu, a.mem - b.mem, a.gpu - b.gpu} }

// accepts tells whether the labels and taints of a group let a pod in, whatever its size.
func accepts(g *expander.Group, p *expander.Pod) bool {
	for _, t := range g.Taints {
		if t.Effect != "PreferNoSchedule" && !tolerates(p, t) {
			return false
		}
	}
	for k, v := range p.NodeSelector {
		if g.Labels[k] != v {
			return false
		}
	}
	if len(p.Required) == 0 {
		return true
	}
	return slices.ContainsFunc(p.Required, func(t expander.Term) bool { return matches(g.Labels, t) })
}

func tolerates(p *expander.Pod, t expander.Taint) bool {
	return slices.ContainsFunc(p.Tolerations, func(o expander.Toleration) bool {
		if o.Effect != "" && o.Effect != t.Effect || o.Key != "" && o.Key != t.Key {
			return false
		}
		if o.Operator == "Exists" {
			return true
		}
		return o.Key == t.Key && o.Value == t.Value
	})
}

// matches tells whether labels meet every requirement of a node selector term.
func matches(labels map[string]string, t expander.Term) bool {
	for _, r := range t.Requirements {
		v, has := labels[r.Key]
		var ok bool
		switch r.Operator {
		case "In":
			ok = has && slices.Contains(r.Values, v)
		case "NotIn":
			ok = !has || !slices.Contains(r.Values, v)
		case "Exists":
			ok = has
		case "DoesNotExist":
			ok = !has
		case "Gt", "Lt":
			ok = compare(v, r)
		}
		if !ok {
			return false
		}
	}
	return true
}

func compare(v string, r expander.Requirement) bool {
	if len(r.Values) != 1 {
		return false
	}
	have, err1 := strconv.ParseInt(v, 10, 64)
	want, err2 := strconv.ParseInt(r.Values[0], 10, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	if r.Operator == "Gt" {
		return have > want
	}
	return have < want
}
