package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/warmpool/warmpool/expander"
)

// Choose is an expander: it answers the ids of the options to keep. The rest of the chain is a uniform random choice, as
// in the Cluster Autoscaler.
type Choose func(req expander.Request, view expander.View, now time.Time) []string

// Outcome is what one loop of the autoscaler did.
type Outcome struct {
	// Asked is set when there were options and the expander was called.
	Asked bool
	// Group grew by Nodes; empty if nothing grew.
	Group string
	Nodes int
	// CPUOnGPU is set when pods without GPU demand grew a GPU group although a CPU group was offered.
	CPUOnGPU bool
}

// Autoscale runs one loop: pods that the scheduler could not place and that no node on its way would take become
// options, one for each group, and the expander's choice grows.
func (c *Cluster) Autoscale(choose Choose) Outcome {
	pods := c.unserved()
	if !c.oldEnough(pods) {
		return Outcome{}
	}
	req := c.request(pods)
	if len(req.Options) == 0 {
		return Outcome{}
	}
	kept := choose(req, c.View(), c.now)
	var options []expander.Option
	for _, id := range kept {
		if i := slices.IndexFunc(req.Options, func(o expander.Option) bool { return o.GroupID == id }); i >= 0 {
			options = append(options, req.Options[i])
		}
	}
	if len(options) == 0 {
		return Outcome{Asked: true}
	}
	pick := options[0]
	if len(options) > 1 {
		pick = options[c.rng.IntN(len(options))]
	}
	g := c.groups[slices.IndexFunc(c.groups, func(g *group) bool { return g.ID == pick.GroupID })]
	c.order(g, pick.NodeCount)
	return Outcome{Asked: true, Group: g.ID, Nodes: pick.NodeCount, CPUOnGPU: c.cpuOnGPU(req, pick, g)}
}

// cpuOnGPU tells whether a choice put pods without GPU demand on a GPU group although they could have had another.
func (c *Cluster) cpuOnGPU(req expander.Request, pick expander.Option, g *group) bool {
	if g.alloc.gpu == 0 || slices.ContainsFunc(pick.Pods, func(i int) bool { return req.Pods[i].Requests.Extended[GPU] > 0 }) {
		return false
	}
	return slices.ContainsFunc(req.Options, func(o expander.Option) bool {
		i := slices.IndexFunc(c.groups, func(h *group) bool { return h.ID == o.GroupID })
		return c.groups[i].alloc.gpu == 0
	})
}

// unserved is the pending pods that nodes on their way will not take.
func (c *Cluster) unserved() []*pod {
	type room struct {
		n    *node
		free amount
	}
	var coming []room
	for _, g := range c.groups {
		for _, n := range g.nodes {
			if !n.ready && !n.doomed {
				coming = append(coming, room{n, n.free})
			}
		}
	}
	var out []*pod
	for _, p := range c.pending {
		i := slices.IndexFunc(coming, func(r room) bool {
			return p.need.within(r.free) && accepts(&r.n.group.Group, &p.Pod)
		})
		if i < 0 {
			out = append(out, p)
			continue
		}
		coming[i].free = coming[i].free.minus(p.need)
	}
	return out
}

// oldEnough is the Cluster Autoscaler's wait for pods that are still being created: one old pod suffices, and GPU pods
// hold up the others.
func (c *Cluster) oldEnough(pods []*pod) bool {
	oldest := func(gpu bool) (age time.Duration, found bool) {
		for _, p := range pods {
			if !gpu || p.need.gpu > 0 {
				age, found = max(age, c.now.Sub(p.created)), true
			}
		}
		return age, found
	}
	if age, found := oldest(true); found && age < YoungGPUPod {
		return false
	}
	age, found := oldest(false)
	return found && age >= YoungPod
}

// request is what the Cluster Autoscaler would send.
func (c *Cluster) request(pods []*pod) expander.Request {
	var req expander.Request
	for _, p := range pods {
		req.Pods = append(req.Pods, p.Pod)
	}
	for _, g := range c.groups {
		req.Groups = append(req.Groups, g.Group)
		room := g.Max - len(g.nodes)
		if room <= 0 || c.now.Before(g.backoff.until) {
			continue
		}
		if o := pack(g, pods, room); o.NodeCount > 0 {
			req.Options = append(req.Options, o)
		}
	}
	return req
}

// pack fills fresh nodes of a group, the largest pods by share of CPU plus share of memory first. GPUs do not count in
// the order, as in the Cluster Autoscaler.
func pack(g *group, pods []*pod, room int) expander.Option {
	o := expander.Option{GroupID: g.ID}
	var fit []int
	for i, p := range pods {
		if p.need.within(g.alloc) && accepts(&g.Group, &p.Pod) {
			fit = append(fit, i)
		}
	}
	size := func(i int) float64 {
		return float64(pods[i].need.cpu)/float64(g.alloc.cpu) + float64(pods[i].need.mem)/float64(g.alloc.mem)
	}
	slices.SortStableFunc(fit, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	var nodes []amount
	for _, i := range fit {
		need := pods[i].need
		j := slices.IndexFunc(nodes, need.within)
		if j < 0 {
			if len(nodes) == room {
				continue
			}
			nodes = append(nodes, g.alloc)
			j = len(nodes) - 1
		}
		nodes[j] = nodes[j].minus(need)
		o.Pods = append(o.Pods, i)
	}
	o.NodeCount = len(nodes)
	slices.Sort(o.Pods)
	return o
}

// View is what a watcher of the cluster knows.
func (c *Cluster) View() expander.View {
	v := expander.View{Known: true, At: c.now, Groups: map[string]expander.GroupView{}}
	for _, g := range c.groups {
		gv := expander.UnknownGroup()
		gv.Nodes, gv.Target, gv.Min, gv.Max = len(g.nodes), len(g.nodes), 0, g.Max
		gv.Registered = len(g.nodes) - g.inFlight
		gv.ReadyNodes = gv.Registered
		if c.now.Before(g.backoff.until) {
			gv.Backoff = &expander.Backoff{Class: expander.FailureStock, Code: "OUT_OF_RESOURCES", Since: g.backoff.last}
		}
		v.Groups[g.ID] = gv
		v.Failures = append(v.Failures, g.failures...)
	}
	return v
}
