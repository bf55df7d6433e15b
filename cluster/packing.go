package cluster

import "github.com/warmpool/warmpool/link"

// GPUNodes lists the nodes that advertise accelerators with what pods hold of them. It is false while nodes or pods cannot
// be read.
func (c *Cluster) GPUNodes() ([]link.GPUNode, bool) {
	if !c.nodes.readable() || !c.pods.readable() {
		return nil, false
	}
	placed := c.current.Load().placed
	at := map[string]int{}
	var out []link.GPUNode
	c.eachNode(func(n *node) {
		if n.accelerators <= 0 || n.leaving {
			return
		}
		one := link.GPUNode{Offered: int(n.accelerators)}
		if p := placed[n.labels]; p != nil {
			one.Pool = p.group
		}
		at[n.Name] = len(out)
		out = append(out, one)
	})
	c.eachPod(func(p *pod) {
		if i, ok := at[p.node]; ok && p.accelerators > 0 && !p.ended {
			out[i].Held = append(out[i].Held, int(p.accelerators))
		}
	})
	return out, true
}
