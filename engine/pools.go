package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// Pools is what is known of the node groups: by the policy in force, the last request and the view of the cluster.
type Pools struct {
	// Configured is false without an expander section.
	Configured bool          `json:"configured"`
	Mode       expander.Mode `json:"mode,omitempty"`
	Frozen     bool          `json:"frozen,omitempty"`
	// ViewKnown tells whether there is a view of the cluster, as of ViewAt; without one no node can be counted.
	ViewKnown bool      `json:"viewKnown"`
	ViewAt    time.Time `json:"viewAt,omitzero"`
	// LastRequest is when the Cluster Autoscaler last asked; zero if it never did.
	LastRequest time.Time      `json:"lastRequest,omitzero"`
	Pools       []Pool         `json:"pools"`
	Workloads   []PoolWorkload `json:"workloads"`
	Groups      []NodeGroup    `json:"groups"`
	// Packing tells how well pods are packed on the nodes that have several GPUs; nil without a view of them.
	Packing []Packing `json:"packing"`
}

// Pool is one configured pool.
type Pool struct {
	Name         string                `json:"name"`
	Class        string                `json:"class,omitempty"`
	CapacityType expander.CapacityType `json:"capacityType,omitempty"`
	Exclusive    bool                  `json:"exclusive,omitempty"`
	// HourlyCost is the configured price of a node in $/h; 0 is none.
	HourlyCost float64 `json:"hourlyCost,omitempty"`
}

// PoolWorkload is one workload with the pools that it may grow, and what it runs on now.
type PoolWorkload struct {
	Name   string      `json:"name"`
	Stages []PoolStage `json:"stages"`
	// OnDemandBase is the configured count, OnDemandShare the share of replicas to keep on on-demand capacity.
	OnDemandBase  int     `json:"onDemandBase,omitempty"`
	OnDemandShare float64 `json:"onDemandShare,omitempty"`
	// Replicas counts the running replicas by capacity type; nil without a view that counts them.
	Replicas map[expander.CapacityType]int `json:"replicas,omitempty"`
}

// PoolStage is one stage of a workload.
type PoolStage struct {
	Pools         []string                `json:"pools"`
	CapacityTypes []expander.CapacityType `json:"capacityTypes,omitempty"`
	Any           bool                    `json:"any,omitempty"`
	// Attempts and AfterSeconds open the next stage; 0 is off.
	Attempts     int     `json:"attempts,omitempty"`
	AfterSeconds float64 `json:"afterSeconds,omitempty"`
}

// A UseReader is a [Cluster] that counts the accelerators of nodes.
type UseReader interface {
	// Accelerators counts by group the accelerators that its nodes advertise, and those of them that pods hold; false is
	// not known. A group that is in neither has none.
	Accelerators() (offered, held map[string]int, ok bool)
}

// NodeGroup is one node group. Counts are nil when they are not known.
type NodeGroup struct {
	expander.GroupFacts
	Nodes      *int `json:"nodes"`
	Ready      *int `json:"ready"`
	Registered *int `json:"registered"`
	Target     *int `json:"target"`
	Min        *int `json:"min"`
	Max        *int `json:"max"`
	// GPUsOffered are the accelerators of its nodes, and GPUsHeld those of them that pods hold.
	GPUsOffered *int `json:"gpusOffered"`
	GPUsHeld    *int `json:"gpusHeld"`
	// ReclaimsPerHour is the observed rate of spot losses for each node; nil is unknown.
	ReclaimsPerHour *float64 `json:"reclaimsPerHour"`
	// Backoff is set while the Cluster Autoscaler itself refuses to grow the group.
	Backoff *GroupBackoff `json:"backoff,omitempty"`
	// Held is set while the failure memory holds the group back, as of the last request.
	Held *expander.FailureState `json:"held,omitempty"`
	// Failures are those remembered since the last nodes came, oldest first; Delivered is when those came.
	Failures  []expander.FailureRecord `json:"failures,omitempty"`
	Delivered time.Time                `json:"delivered,omitzero"`
	// Choices counts how often it was chosen as far as the history reaches, LastChosen is the newest one.
	Choices    int       `json:"choices"`
	LastChosen time.Time `json:"lastChosen,omitzero"`
}

// GroupBackoff is why the Cluster Autoscaler does not grow a group.
type GroupBackoff struct {
	Class   expander.FailureClass `json:"class"`
	Code    string                `json:"code,omitempty"`
	Message string                `json:"message,omitempty"`
	Since   time.Time             `json:"since,omitzero"`
}

// placed is the outcome of the last request. It is immutable.
type placed struct {
	decision expander.Decision
	groups   []expander.Group
	history  expander.History
}

// Pools lists pools, workloads and node groups, groups in the order of their pools and ids.
func (e *Engine) Pools() Pools {
	now := e.clock()
	out := Pools{Pools: []Pool{}, Workloads: []PoolWorkload{}, Groups: []NodeGroup{}, Packing: e.Packing()}
	policy := e.config.Load().Expander
	if policy == nil {
		return out
	}
	view := e.view(now)
	frozen, _ := e.frozen(HalfExpander)
	out.Configured, out.Mode, out.Frozen = true, policy.Mode, policy.Frozen || frozen
	out.ViewKnown, out.ViewAt = view.Known, view.At
	for i := range policy.Pools {
		p := &policy.Pools[i]
		out.Pools = append(out.Pools, Pool{p.Name, p.Class, p.CapacityType, p.Exclusive, p.HourlyCost})
	}
	for i := range policy.Workloads {
		out.Workloads = append(out.Workloads, workloadOf(&policy.Workloads[i], view))
	}
	last := e.lastPlaced()
	if last != nil {
		out.LastRequest = last.decision.Time
	}
	out.Groups = groupsOf(policy, view, last, now)
	e.countAccelerators(out.Groups)
	return out
}

// countAccelerators says what the groups' nodes have and what is in use.
func (e *Engine) countAccelerators(groups []NodeGroup) {
	reader, ok := e.cluster.(UseReader)
	if !ok {
		return
	}
	offered, held, ok := reader.Accelerators()
	for i := range groups {
		if g := &groups[i]; ok && g.Nodes != nil {
			has, uses := offered[g.ID], held[g.ID]
			g.GPUsOffered, g.GPUsHeld = &has, &uses
		}
	}
}

// view reads the view of the cluster; a fault in it shows as no view.
func (e *Engine) view(now time.Time) (view expander.View) {
	if e.cluster == nil {
		return view
	}
	defer func() {
		if recover() != nil {
			view = expander.View{}
		}
	}()
	return e.cluster.ExpanderView(now)
}

func workloadOf(w *expander.Workload, view expander.View) PoolWorkload {
	out := PoolWorkload{
		Name: w.Name, Stages: []PoolStage{}, OnDemandBase: w.OnDemandBase.Count, OnDemandShare: w.OnDemandBase.Share,
		Replicas: view.CapacityReplicas[w.Name],
	}
	for _, s := range w.Stages {
		out.Stages = append(out.Stages, PoolStage{
			append([]string{}, s.Pools...), s.CapacityTypes, s.Any, s.Escalate.Attempts, s.Escalate.FirstSeen.Seconds(),
		})
	}
	return out
}

func groupsOf(policy *expander.Policy, view expander.View, last *placed, now time.Time) []NodeGroup {
	byID := map[string]*expander.Group{}
	for id := range view.Groups {
		byID[id] = &expander.Group{ID: id}
	}
	if last != nil {
		for i := range last.groups {
			byID[last.groups[i].ID] = &last.groups[i]
		}
	}
	order := map[string]int{}
	for i := range policy.Pools {
		order[policy.Pools[i].Name] = i - len(policy.Pools) // groups of no pool come last
	}
	out := make([]NodeGroup, 0, len(byID))
	for _, g := range byID {
		line := NodeGroup{GroupFacts: policy.Describe(g)}
		if seen, ok := view.Groups[g.ID]; ok && view.Known {
			line.count(seen)
		}
		if last != nil {
			line.remember(last, now)
		}
		out = append(out, line)
	}
	slices.SortFunc(out, func(a, b NodeGroup) int {
		return cmp.Or(cmp.Compare(order[a.Pool], order[b.Pool]), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func (n *NodeGroup) count(v expander.GroupView) {
	n.Nodes, n.Ready, n.Registered, n.Target, n.Min, n.Max = counted(v.Nodes), counted(v.ReadyNodes), counted(v.Registered),
		counted(v.Target), counted(v.Min), counted(v.Max)
	if v.ReclaimsPerHour >= 0 {
		n.ReclaimsPerHour = &v.ReclaimsPerHour
	}
	if b := v.Backoff; b != nil {
		n.Backoff = &GroupBackoff{b.Class, b.Code, b.Message, b.Since}
	}
}

// counted is nil for a count that is not known.
func counted(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

func (n *NodeGroup) remember(last *placed, now time.Time) {
	for _, f := range last.decision.Failures {
		if f.GroupID == n.ID && f.Until.After(now) {
			n.Held = &f
		}
	}
	record := last.history.Groups[n.ID]
	n.Delivered, n.Failures = record.DeliveredAt, record.Standing()
	for _, c := range last.history.Choices {
		if c.Group == n.ID {
			n.Choices++
			n.LastChosen = c.At
		}
	}
}
