package expander

import (
	"slices"
	"strconv"
)

// matches tells whether labels satisfy every requirement. A term without requirements matches nothing, as in the
// Kubernetes scheduler.
func (t Term) matches(labels map[string]string) bool {
	if len(t.Requirements) == 0 {
		return false
	}
	for _, r := range t.Requirements {
		if !r.matches(labels) {
			return false
		}
	}
	return true
}

func (r Requirement) matches(labels map[string]string) bool {
	value, ok := labels[r.Key]
	switch r.Operator {
	case "In":
		return ok && slices.Contains(r.Values, value)
	case "NotIn":
		return !ok || !slices.Contains(r.Values, value)
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	case "Gt", "Lt":
		return ok && len(r.Values) == 1 && compareNumbers(r.Operator, value, r.Values[0])
	default:
		return false
	}
}

func compareNumbers(operator, left, right string) bool {
	l, errLeft := strconv.ParseInt(left, 10, 64)
	r, errRight := strconv.ParseInt(right, 10, 64)
	if errLeft != nil || errRight != nil {
		return false
	}
	if operator == "Gt" {
		return l > r
	}
	return l < r
}

// tolerates tells whether a toleration covers a taint.
func (t Toleration) tolerates(taint Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Operator == "Exists" {
		return t.Key == "" || t.Key == taint.Key
	}
	return t.Key == taint.Key && t.Value == taint.Value
}

func toleratesAll(tolerations []Toleration, taints []Taint) bool {
	for _, taint := range taints {
		if taint.Effect == "PreferNoSchedule" {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t Toleration) bool { return t.tolerates(taint) }) {
			return false
		}
	}
	return true
}

// hasSelector tells whether the pod itself names nodes.
func (p *Pod) hasSelector() bool { return len(p.NodeSelector) > 0 || len(p.Required) > 0 }

// selects tells whether the pod's node selector and required affinity admit nodes with these labels.
func (p *Pod) selects(labels map[string]string) bool {
	if !containsLabels(labels, p.NodeSelector) {
		return false
	}
	return len(p.Required) == 0 || slices.ContainsFunc(p.Required, func(t Term) bool { return t.matches(labels) })
}

// prefers is the sum of the weights of the soft terms that the labels satisfy.
func (p *Pod) prefers(labels map[string]string) int64 {
	var sum int64
	for _, preferred := range p.Preferred {
		if preferred.Term.matches(labels) {
			sum += int64(preferred.Weight)
		}
	}
	return sum
}

func containsLabels(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// fitsInto tells whether requests fit into an empty node.
func (r Resources) fitsInto(node Resources) bool {
	if r.MilliCPU > node.MilliCPU || r.Memory > node.Memory {
		return false
	}
	for name, units := range r.Extended {
		if units > node.Extended[name] {
			return false
		}
	}
	return true
}
