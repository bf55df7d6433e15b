package expander

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// problem is one request with everything computed once: facts per group, per distinct pod shape and per option.
type problem struct {
	policy *Policy
	// implied tells that the policy names no workload, so that one stands for all pods.
	implied bool
	view    View
	req     Request
	now     time.Time
	history *History

	groups     []groupFacts
	groupIndex map[string]int
	// anyPrice tells whether the price of any group is known.
	anyPrice bool
	shapes   []shape
	shapeOf  []int // by pod
	options  []option
	// choiceAt finds the choices that the history had when the request came.
	choiceAt map[uint64]int
	// latest is the index of the newest choice that covers each pod, or -1.
	latest []int
}

// option is one option with its facts.
type option struct {
	*Option
	group int // index, or -1 for a group without a template
	pods  []int
	// counts says how many pods of each shape it serves, in ascending order of shape.
	counts []shapeCount
	// serves is the number of pods by workload; unmatched pods count in unmatchedPods.
	serves        []int
	unmatchedPods int
	accelerated   bool // serves a pod that wants an accelerator
	claims        bool // serves a pod that claims devices
	uncounted     bool // and it is not known how many
	// rejected is the code of a filter that nothing relaxes.
	rejected string
	values   optionValues
}

type shapeCount struct{ shape, pods int }

func newProblem(policy *Policy, view View, req Request, history *History, now time.Time) *problem {
	p := &problem{policy: policy.withWorkloads(), view: view, req: req, history: history, now: now}
	p.implied = len(policy.Workloads) == 0
	p.groups = make([]groupFacts, len(req.Groups))
	p.groupIndex = make(map[string]int, len(req.Groups))
	for i := range req.Groups {
		p.groups[i] = p.policy.describe(&req.Groups[i], view)
		p.groupIndex[req.Groups[i].ID] = i
	}
	p.anyPrice = estimatePrices(p.policy, p.groups)
	p.findShapes()
	p.options = make([]option, 0, len(req.Options))
	for i := range req.Options {
		p.options = append(p.options, p.newOption(&req.Options[i]))
	}
	p.choiceAt = make(map[uint64]int, len(history.Choices))
	for i := range history.Choices {
		p.choiceAt[history.Choices[i].ID] = i
	}
	p.latest = make([]int, len(req.Pods))
	for i := range req.Pods {
		p.latest[i] = p.latestIndex(p.uid(i))
	}
	return p
}

// findShapes sorts the pods into shapes. Shapes are numbered by their content, so that sums over them do not depend
// on the order of the pods.
func (p *problem) findShapes() {
	type found struct {
		key      string
		pod      *Pod
		workload int
	}
	var shapes []found
	index := map[string]int{}
	p.shapeOf = make([]int, len(p.req.Pods))
	var key []byte
	keys := p.policy.memoryKeys()
	for i := range p.req.Pods {
		pod := &p.req.Pods[i]
		workload := p.policy.workloadOf(pod)
		key = appendShapeKey(key[:0], keys, pod, workload)
		n, ok := index[string(key)]
		if !ok {
			n = len(shapes)
			index[string(key)] = n
			shapes = append(shapes, found{string(key), pod, workload})
		}
		p.shapeOf[i] = n
	}
	order := make([]int, len(shapes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(shapes[a].key, shapes[b].key) })
	rank := make([]int, len(shapes))
	p.shapes = make([]shape, len(shapes))
	for number, i := range order {
		rank[i] = number
		p.shapes[number] = p.policy.newShape(shapes[i].pod, shapes[i].workload)
		p.shapes[number].ownSelector = p.selectsAcceleratorsOnly(&p.shapes[number])
	}
	for i := range p.shapeOf {
		p.shapeOf[i] = rank[p.shapeOf[i]]
	}
}

// selectsAcceleratorsOnly tells whether a CPU-only pod names nodes by itself and thereby admits accelerator groups
// only, such as an exporter or a validation job.
func (p *problem) selectsAcceleratorsOnly(s *shape) bool {
	if s.demand != DemandCPU || !s.hasSelector() {
		return false
	}
	found := false
	for i := range p.groups {
		if !s.selects(p.groups[i].Labels) {
			continue
		}
		if !p.groups[i].hasAccelerator {
			return false
		}
		found = true
	}
	return found
}

func (p *problem) newOption(source *Option) option {
	o := option{Option: source, group: -1, serves: make([]int, len(p.policy.Workloads))}
	if i, ok := p.groupIndex[source.GroupID]; ok {
		o.group = i
	}
	perShape := make([]int, len(p.shapes))
	for _, pod := range source.Pods {
		if pod < 0 || pod >= len(p.req.Pods) {
			continue
		}
		o.pods = append(o.pods, pod)
		perShape[p.shapeOf[pod]]++
	}
	for i, pods := range perShape {
		if pods == 0 {
			continue
		}
		o.counts = append(o.counts, shapeCount{i, pods})
		s := &p.shapes[i]
		o.accelerated = o.accelerated || s.wantsAccelerator()
		o.uncounted = o.uncounted || s.demand == DemandUnknownCount
		o.claims = o.claims || o.uncounted || s.claimed > 0
		if s.workload == unmatched {
			o.unmatchedPods += pods
		} else {
			o.serves[s.workload] += pods
		}
	}
	return o
}

// uid identifies a pod; synthetic pods without a UID go by their name.
func (p *problem) uid(pod int) string {
	if uid := p.req.Pods[pod].UID; uid != "" {
		return uid
	}
	return p.req.Pods[pod].Namespace + "/" + p.req.Pods[pod].Name
}

func (p *problem) latestIndex(uid string) int {
	latest := -1
	for _, id := range p.history.Pods[uid].Choices {
		if i, ok := p.choiceAt[id]; ok && (latest < 0 || p.history.Choices[i].At.After(p.history.Choices[latest].At)) {
			latest = i
		}
	}
	return latest
}

// memoryOf is the failure memory of a workload by name.
func (p *problem) memoryOf(workload string) FailureMemory {
	return p.policy.memory(slices.IndexFunc(p.policy.Workloads, func(w Workload) bool { return w.Name == workload }))
}

// facts are the facts of an option's group; the option must have one.
func (p *problem) facts(option int) *groupFacts { return &p.groups[p.options[option].group] }

// byID sorts options by group id.
func (p *problem) byID(options []int) []int {
	sorted := slices.Clone(options)
	slices.SortFunc(sorted, func(a, b int) int { return cmp.Compare(p.options[a].GroupID, p.options[b].GroupID) })
	return sorted
}
