package expander

import "slices"

// modelCache is the share of an option's pods whose model every node of the group is known to hold.
func (p *problem) modelCache(i int) float64 {
	cached := 0
	for _, c := range p.options[i].counts {
		key, labelled := p.cacheLabel(&p.shapes[c.shape], p.facts(i))
		if labelled && p.believesCache(p.facts(i), key) {
			cached += c.pods
		}
	}
	return float64(cached) / float64(len(p.options[i].pods))
}

// unprovenCache tells whether the template promises a model that nothing vouches for. The template is a copy of one
// running node, and what that node has downloaded says nothing about the next one.
func (p *problem) unprovenCache(i int) bool {
	g := p.facts(i)
	return slices.ContainsFunc(p.options[i].counts, func(c shapeCount) bool {
		key, labelled := p.cacheLabel(&p.shapes[c.shape], g)
		return labelled && !p.believesCache(g, key)
	})
}

// cacheLabel is the label key of a pod's model and whether the template carries it.
func (p *problem) cacheLabel(s *shape, g *groupFacts) (string, bool) {
	if s.model == "" {
		return "", false
	}
	key := modelCachePrefix + s.model
	return key, g.Labels[key] == modelCached
}

// believesCache tells whether every ready node of a group carries the label, or the policy vouches for the group.
func (p *problem) believesCache(g *groupFacts, key string) bool {
	for _, trusted := range p.policy.TrustTemplateCache {
		if trusted == "*" || trusted == g.ID || (trusted == g.poolName && trusted != "") {
			return true
		}
	}
	seen, ok := p.view.Groups[g.ID]
	return ok && seen.ReadyNodes > 0 && seen.CacheNodes[key] >= seen.ReadyNodes
}
