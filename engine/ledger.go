package engine

import (
	"slices"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/scaler"
)

// Ledger says what a service runs on, what is on the way, what fell back and why, and what that costs. It is false for
// a service that is not known. Ledger.Known is false without a view of where its replicas run.
func (e *Engine) Ledger(id string) (link.Ledger, bool) {
	s, ok := e.services.get(id)
	if !ok {
		return link.Ledger{}, false
	}
	out := link.Ledger{Service: id, Holdings: []link.Holding{}, OnTheWay: []link.OnTheWay{}, Needs: []link.Need{}, FellBack: []link.FellBack{}, Supply: link.Supply{Useful: -1}}
	if line := s.entry.Load(); line != nil {
		out.Target, out.Needs = line.decision.Replicas, needsOf(line.decision.Forecast)
		out.Text = line.decision.Supply
	}
	settings := e.config.Load()
	now, c, ok := e.recall(id)
	if !ok {
		out.Base = e.adviseBase(s, 0)
		return out, true
	}
	a := account{crossing: c, workload: now.workload}
	out.Known, out.At, out.Workload, out.Supply, out.Deletion = true, now.at, now.workload, now.supply, now.plan
	out.Hold(now.target.Replicas, a.price)
	out.Await(now.waiting, now.late)
	out.FellBack = a.fellBack(out.Holdings, now.base)
	out.Base = e.adviseBase(s, a.spotShare())
	out.Swap = now.swapping
	if settings.Rebalance.Mode == config.Advise {
		advice := link.AdviseReturn(now.target.Replicas, now.base, a.fallBackPrice(out.FellBack), a.spotPools(now.pools))
		out.Return = &advice
	}
	return out, true
}

// recall is what the last evaluation of a service found, with what the last one of all rested on.
func (e *Engine) recall(id string) (linked, *crossing, bool) {
	l := &e.links
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.byID[id]
	if one == nil || one.at.IsZero() || l.crossing == nil {
		return linked{}, nil, false
	}
	return *one, l.crossing, true
}

// Ledgers lists those of all services whose replicas are known, in the order of their ids.
func (e *Engine) Ledgers() []link.Ledger {
	out := []link.Ledger{}
	for _, s := range e.services.list() {
		if l, ok := e.Ledger(s.id); ok && l.Known {
			out = append(out, l)
		}
	}
	return out
}

func needsOf(f *scaler.Forecast) []link.Need {
	out := []link.Need{}
	if f == nil {
		return out
	}
	for _, n := range f.Upcoming {
		out = append(out, link.Need{At: n.At, Replicas: n.N})
	}
	return out
}

// adviseBase looks at the demand of the last week; nil without a forecast to take it from.
func (e *Engine) adviseBase(s *service, spotShare float64) *link.BaseAdvice {
	const week = 7 * 24 * time.Hour
	e.forecasts.mu.Lock()
	defer e.forecasts.mu.Unlock()
	f := s.foreseen
	if f == nil || f.predictor == nil || f.perReplica <= 0 {
		return nil
	}
	from := e.clock().Add(-week)
	var needs []float64
	for _, sample := range f.predictor.Samples() {
		if !sample.Start.Before(from) {
			needs = append(needs, sample.Rate/f.perReplica)
		}
	}
	advice := link.AdviseBase(needs, spotShare)
	return &advice
}

// account prices what a service runs on.
type account struct {
	*crossing
	workload string
}

func (a *account) group(id string) (*expander.Group, bool) {
	i := slices.IndexFunc(a.last.groups, func(g expander.Group) bool { return g.ID == id })
	if i < 0 || a.policy == nil {
		return nil, false
	}
	return &a.last.groups[i], true
}

// price is the cost of a node of a group per hour.
func (a *account) price(id string) (float64, bool) {
	if cost := a.facts[id].HourlyCost; cost != nil {
		return *cost, true
	}
	return 0, false
}

// fellBack says which holdings are of a later stage than the first, and why: by the newest choice of that group. As many
// on-demand replicas as the base has are there on purpose.
func (a *account) fellBack(holdings []link.Holding, base int) []link.FellBack {
	out := []link.FellBack{}
	if a.policy == nil || a.workload == "" {
		return out
	}
	for _, h := range holdings {
		g, ok := a.group(h.Pool)
		if !ok || a.policy.StageOf(a.workload, g) <= 1 {
			continue
		}
		fell := h.Replicas
		if h.Capacity == link.OnDemand {
			fell -= min(base, fell)
			base -= h.Replicas - fell
		}
		if fell > 0 {
			out = append(out, link.FellBack{Pool: h.Pool, Replicas: fell, Why: a.why(h.Pool)})
		}
	}
	return out
}

// why looks for failures of the earlier stages that counted at the newest choice of a group: those of the hour before it,
// and older ones that the failure memory still held against a group.
func (a *account) why(pool string) string {
	var chosen time.Time
	for _, c := range a.last.history.Choices {
		if c.Group == pool && c.At.After(chosen) {
			chosen = c.At
		}
	}
	if chosen.IsZero() {
		return "chosen longer ago than the history reaches"
	}
	own := 0
	if g, ok := a.group(pool); ok {
		own = a.policy.StageOf(a.workload, g)
	}
	held := map[string]bool{}
	for _, f := range expander.HeldBack(a.policy, a.last.history, a.workload, a.last.groups, chosen) {
		held[f.GroupID] = true
	}
	why := ""
	for i := range a.last.groups {
		g := &a.last.groups[i]
		if stage := a.policy.StageOf(a.workload, g); stage == 0 || stage >= own {
			continue
		}
		for _, f := range slices.Backward(a.last.history.Groups[g.ID].Failures) {
			if !f.At.After(chosen) && (held[g.ID] || chosen.Sub(f.At) < time.Hour) {
				why = joinText(why, g.ID+" failed with "+string(f.Class)+" at "+f.At.UTC().Format("15:04 MST"))
				break
			}
		}
	}
	if why == "" {
		return "the earlier stages had no option, or their time was up, at " + chosen.UTC().Format("15:04 MST")
	}
	return why
}

// spotShare is the price of the cheapest spot group as a share of the cheapest on-demand one; 0 is unknown.
func (a *account) spotShare() float64 {
	cheapest := map[expander.CapacityType]float64{}
	if a.policy == nil {
		return 0
	}
	for i := range a.last.groups {
		g := &a.last.groups[i]
		facts := a.facts[g.ID]
		if facts.HourlyCost == nil || *facts.HourlyCost <= 0 || a.policy.StageOf(a.workload, g) == 0 {
			continue
		}
		if known, ok := cheapest[facts.CapacityType]; !ok || *facts.HourlyCost < known {
			cheapest[facts.CapacityType] = *facts.HourlyCost
		}
	}
	if cheapest[expander.OnDemand] <= 0 {
		return 0
	}
	return cheapest[expander.Spot] / cheapest[expander.OnDemand]
}

// fallBackPrice is the cheapest price among the groups that were fallen back to; 0 is unknown.
func (a *account) fallBackPrice(back []link.FellBack) float64 {
	best := 0.0
	for _, b := range back {
		if price, ok := a.price(b.Pool); ok && (best == 0 || price < best) {
			best = price
		}
	}
	return best
}

// onDemandPrice is the cheapest price of a node among those of the on-demand replicas; 0 is unknown.
func (a *account) onDemandPrice(replicas []link.Replica) float64 {
	best := 0.0
	for i := range replicas {
		if r := &replicas[i]; r.Capacity == link.OnDemand {
			if price, ok := a.price(r.Pool); ok && (best == 0 || price < best) {
				best = price
			}
		}
	}
	return best
}

// spotPools are the spot groups among the pools of a service.
func (a *account) spotPools(pools []link.PoolState) []link.ReturnPool {
	var out []link.ReturnPool
	for _, p := range pools {
		if p.Capacity != link.Spot {
			continue
		}
		r := link.ReturnPool{Pool: p.Pool, Deliverable: !p.HeldUntil.After(a.now) && (p.Max < 0 || p.Nodes < p.Max), ReclaimsPerHour: -1}
		if price, ok := a.price(p.Pool); ok {
			r.HourlyCost = price
		}
		if seen, ok := a.view.Groups[p.Pool]; ok {
			r.ReclaimsPerHour, r.Lost = seen.ReclaimsPerHour, seen.Lost
		}
		out = append(out, r)
	}
	return out
}
