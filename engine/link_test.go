package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/scaler"
)

// bridge is a cluster of one scale target on two groups, in the hands of a test.
type bridge struct {
	target link.Target
	groups map[string]expander.GroupView
	starts []link.Start
	free   map[string]int
	costs  []link.CostChange
	now    time.Time
}

func (b *bridge) ExpanderView(now time.Time) expander.View {
	return expander.View{Known: true, At: now, Groups: b.groups}
}

func (b *bridge) Pods(string, string) scaler.Pods {
	p := scaler.Pods{Known: true}
	for _, r := range b.target.Replicas {
		if r.Ready {
			p.Ready++
		} else {
			p.Starting = append(p.Starting, b.now.Sub(r.Created))
		}
	}
	return p
}

func (b *bridge) ReplicasOf(_, _ string, _ time.Time) (link.Target, *expander.Pod, bool) {
	t := b.target
	t.Replicas = slices.Clone(t.Replicas)
	t.Accelerators = 1
	return t, &expander.Pod{Labels: map[string]string{"tier": "online"}}, true
}

func (b *bridge) FreeAccelerators() (map[string]int, bool) {
	if b.free == nil {
		return map[string]int{}, true
	}
	return b.free, true
}

func (b *bridge) StartsOf(string, string) []link.Start { return b.starts }

func (b *bridge) WriteCosts(_ string, changes []link.CostChange) {
	for _, c := range changes {
		b.costs = append(b.costs, c)
		i := slices.IndexFunc(b.target.Replicas, func(r link.Replica) bool { return r.ID == c.ID })
		b.target.Replicas[i].Cost = new(c.Cost)
	}
}

const bridgeYAML = `
apiVersion: warmpool.dev/v1alpha1
kind: Config
prometheus: {url: http://127.0.0.1:9090}
caVersion: "1.36"
pools:
- {name: spot, class: elastic, capacityType: spot, match: {nodeGroups: ["^spot"]}, hourlyCost: 0.35}
- {name: firm, class: elastic, capacityType: on-demand, match: {nodeGroups: ["^od"]}, hourlyCost: 1}
expander:
  mode: active
  failureMemory: {singleGPU: 10m, multiGPU: 10m, suspected: 10m}
  workloads:
  - name: online
    match: {podLabels: {tier: online}}
    stages: [{pools: [spot], escalate: {attempts: 1, firstSeen: 60s}}, {pools: [firm]}]
    onDemandBase: %s
spot: {onDemandFirstScaleIn: %v, replaceAtNotice: %v, suspectNodes: %v}
rebalance: {mode: advise}
services:%s`

// bridged is an engine over a bridge at noon, whose one service needs as many replicas as it has running requests.
type bridged struct {
	*Engine
	*bridge
	t      *testing.T
	source *fakeSource
	id     string
	// asked is the instance that the Cluster Autoscaler asks, the same one unless the halves are apart; meeting is what they
	// share then.
	asked   *Engine
	meeting *meeting
}

var bridgeNoon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func newBridged(t *testing.T, base string, rules ...bool) *bridged {
	t.Helper()
	if rules == nil {
		rules = []bool{true, true, true}
	}
	b := &bridged{t: t, source: newFakeSource(), bridge: &bridge{
		now: bridgeNoon, target: link.Target{Namespace: "ml", Owner: "ReplicaSet"},
		groups: map[string]expander.GroupView{"spot-a": {Registered: 0, Target: 0, Max: 100}, "od-a": {Registered: 0, Target: 0, Max: 100}},
	}}
	text := fmt.Sprintf(bridgeYAML, base, rules[0], rules[1], rules[2], serviceYAML("ml", "chat", ""))
	b.Engine = newTestEngine(t, Options{
		Config: parseConfig(t, text), Source: b.source, Cluster: b.bridge, Clock: func() time.Time { return b.now },
	})
	b.asked = b.Engine
	b.id = mustResolve(t, b.Engine, triggerOf("ml", "chat", "chat"))
	return b
}

func (b *bridged) add(id, pool string, ready bool) *link.Replica {
	r := link.Replica{ID: id, Name: id, Pool: pool, Ready: ready, Created: b.now}
	if pool != "" {
		r.Node = "node-" + id
	}
	b.target.Replicas = append(b.target.Replicas, r)
	return &b.target.Replicas[len(b.target.Replicas)-1]
}

func (b *bridged) remove(id string) {
	b.target.Replicas = slices.DeleteFunc(b.target.Replicas, func(r link.Replica) bool { return r.ID == id })
}

// tick moves to a time after noon and evaluates.
func (b *bridged) tick(after time.Duration) scaler.Decision {
	b.t.Helper()
	b.now = bridgeNoon.Add(after)
	if b.asked != b.Engine {
		b.asked.Tick(b.t.Context(), b.now)
	}
	b.Tick(b.t.Context(), b.now)
	d, err := b.Target(b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// ask is a loop of the Cluster Autoscaler for pods, with one node each of either group.
func (b *bridged) ask(pods ...string) string {
	b.t.Helper()
	request := gpuRequest()
	one := request.Pods[0]
	resources := request.Groups[0].Capacity
	request.Pods, request.Options, request.Groups = nil, nil, nil
	all := []int{}
	for i, uid := range pods {
		p := one
		p.UID, p.Name = uid, uid
		request.Pods = append(request.Pods, p)
		all = append(all, i)
	}
	for _, id := range []string{"od-a", "spot-a"} {
		request.Groups = append(request.Groups, expander.Group{ID: id, Capacity: resources, Allocatable: resources})
		request.Options = append(request.Options, expander.Option{GroupID: id, NodeCount: len(pods), Pods: all})
	}
	d, err := b.asked.BestOptions(b.t.Context(), request)
	if err != nil || len(d.Answer) != 1 {
		b.t.Fatalf("answer %v, %v", d.Answer, err)
	}
	return d.Answer[0]
}

func (b *bridged) register(group string, nodes int) {
	g := b.groups[group]
	g.Registered, g.Nodes, g.Target = nodes, nodes, nodes
	b.groups[group] = g
}

// A notice takes a replica out of the ready ones and orders another at once, out of turn; when the pod is gone the
// target is what it was, and the answers on the way changed exactly twice.
func TestNotice(t *testing.T) { inBoth(t, "0", notice) }

func notice(t *testing.T, b *bridged) {
	b.source.setDemand("ml", "chat", 4)
	for i := range 4 {
		b.add(fmt.Sprint("p", i), "spot-a", true)
	}
	if d := b.tick(0); d.Replicas != 4 || d.Ready != 4 {
		t.Fatalf("before: %+v", d)
	}
	changed := b.Changed(b.id)
	b.target.Replicas[1].Doomed = b.now.Add(5 * time.Second)
	b.now = bridgeNoon.Add(5 * time.Second)
	b.Notice(t.Context(), b.now)
	select {
	case <-changed:
	default:
		t.Error("watchers are not told of the notice")
	}
	if d, _ := b.Target(b.id); d.Replicas != 5 || d.Ready != 3 || d.Doomed != 1 {
		t.Fatalf("at the notice: %d replicas, %d ready, %d doomed", d.Replicas, d.Ready, d.Doomed)
	}
	b.add("p4", "", false)
	for at := 15 * time.Second; at < 125*time.Second; at += 15 * time.Second {
		if d := b.tick(at); d.Replicas != 5 {
			t.Fatalf("after %v: %d replicas, want 5", at, d.Replicas)
		}
	}
	b.remove("p1")
	if d := b.tick(135 * time.Second); d.Replicas != 4 || d.Doomed != 0 {
		t.Errorf("when it is gone: %d replicas, %d doomed: %s", d.Replicas, d.Doomed, d.Text)
	}
}

func TestNoticeRuleCanBeOff(t *testing.T) {
	b := newBridged(t, "0", true, false, true)
	b.source.setDemand("ml", "chat", 2)
	b.add("p0", "spot-a", true).Doomed = b.now
	b.add("p1", "spot-a", true)
	if d := b.tick(0); d.Replicas != 2 || d.Ready != 2 {
		t.Errorf("%d replicas, %d ready with the rule off", d.Replicas, d.Ready)
	}
}

// Fall-back replicas get the lower cost, the part of the base does not, once and only where something differs.
func TestCostsAreWrittenOnce(t *testing.T) { inBoth(t, "1", costsAreWrittenOnce) }

func costsAreWrittenOnce(t *testing.T, b *bridged) {
	b.source.setDemand("ml", "chat", 3)
	for _, r := range [][2]string{{"firm-1", "od-a"}, {"firm-2", "od-a"}, {"spot-1", "spot-a"}} {
		b.add(r[0], r[1], true)
		b.now = b.now.Add(time.Second)
	}
	b.ask("unrelated") // the groups are known from here on
	for i := range 5 {
		b.tick(time.Duration(i+1) * 15 * time.Second)
	}
	want := []link.CostChange{{ID: "firm-1", Name: "firm-1", Cost: link.CostPaid}, {ID: "firm-2", Name: "firm-2", Cost: link.CostFallBack}}
	if !slices.Equal(b.costs, want) {
		t.Errorf("written %v, want %v", b.costs, want)
	}
	b.target.Owner = "StatefulSet"
	if d := b.tick(2 * time.Minute); !strings.Contains(d.Text, "a StatefulSet does not look at the deletion cost") {
		t.Errorf("the decision does not say that the rule has no effect: %s", d.Text)
	}
	off := newBridged(t, "0", false, true, true)
	off.source.setDemand("ml", "chat", 2)
	off.add("firm", "od-a", true)
	off.add("spot", "spot-a", true)
	off.tick(0)
	if len(off.costs) > 0 {
		t.Errorf("%v written with the rule off", off.costs)
	}
}

// learn lets five nodes of the spot group come after three minutes each.
func (b *bridged) learn() (end time.Duration) {
	at := time.Duration(0)
	for i := range 5 {
		b.now = bridgeNoon.Add(at)
		if got := b.ask(fmt.Sprint("learn-", i)); got != "spot-a" {
			b.t.Fatalf("boot %d is ordered from %s", i, got)
		}
		b.tick(at + 15*time.Second)
		b.register("spot-a", i+1)
		b.tick(at + 3*time.Minute)
		at += 5 * time.Minute
	}
	return at
}

// The story of a late node: the pool's boots are learnt; the sixth node is late after 3 min 36 s; the service asks for
// one more, once; the choice for it falls on the other group; and when it serves the surge is over.
func TestLateNode(t *testing.T) { inBoth(t, "0", lateNode) }

func lateNode(t *testing.T, b *bridged) {
	b.source.setDemand("ml", "chat", 2)
	b.add("p0", "spot-a", true)
	for range 5 { // what is late is not yet stuck
		b.starts = append(b.starts, link.Start{Took: 12 * time.Minute, Cold: true})
	}
	start := b.learn()
	b.now = bridgeNoon.Add(start)
	b.add("p1", "", false)
	if got := b.ask("p1"); got != "spot-a" {
		t.Fatalf("ordered from %s", got)
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{15 * time.Second, 2}, {3 * time.Minute, 2}, {4 * time.Minute, 3}, {5 * time.Minute, 3}} {
		if d := b.tick(start + c.after); d.Replicas != c.want {
			t.Fatalf("%v after the order: %d replicas, want %d: %s", c.after, d.Replicas, c.want, d.Text)
		}
	}
	b.add("p2", "", false)
	if got := b.ask("p2"); got != "od-a" {
		t.Errorf("the replacement is ordered from %s although spot-a is late", got)
	}
	if d := b.tick(start + 6*time.Minute); d.Replicas != 3 {
		t.Errorf("%d replicas while both are on their way, want 3", d.Replicas)
	}
	b.target.Replicas[2].Node, b.target.Replicas[2].Pool, b.target.Replicas[2].Ready = "n", "od-a", true
	if d := b.tick(start + 9*time.Minute); d.Replicas != 2 {
		t.Errorf("%d replicas when the replacement serves, want 2: %s", d.Replicas, d.Text)
	}
	if f := b.asked.placement.last.Load().history.Groups["spot-a"].Failures; len(f) == 0 || f[0].Proven {
		t.Errorf("the record of the pool is %+v, want a suspicion", f)
	}
}

// While neither group can deliver, a growing demand raises the target by one surge and the decision says until when;
// when one may deliver again, the target is the need.
func TestNoPileUp(t *testing.T) { inBoth(t, "0", noPileUp) }

func noPileUp(t *testing.T, b *bridged) {
	b.source.setDemand("ml", "chat", 10)
	for i := range 10 {
		b.add(fmt.Sprint("p", i), "spot-a", true)
	}
	b.register("spot-a", 10)
	b.ask("unrelated")
	b.tick(0)
	for id := range b.groups {
		g := b.groups[id]
		g.Backoff = &expander.Backoff{Class: expander.FailureStock, Since: bridgeNoon}
		b.groups[id] = g
	}
	for i := range 8 {
		b.source.setDemand("ml", "chat", 12+float64(4*i))
		d := b.tick(time.Duration(i+1) * 15 * time.Second)
		if d.Replicas > 11 {
			t.Fatalf("%d replicas are asked for without capacity: %s", d.Replicas, d.Text)
		}
		if !strings.Contains(d.Text, "no capacity until about 12:05 UTC") {
			t.Fatalf("the decision does not say it: %s", d.Text)
		}
		for len(b.target.Replicas) < d.Replicas {
			b.add(fmt.Sprint("p", len(b.target.Replicas)), "", false)
		}
	}
	b.free = map[string]int{"spot-a": 3}
	if d := b.tick(150 * time.Second); d.Replicas != 40 {
		t.Errorf("%d replicas although nodes are free, want 40: %s", d.Replicas, d.Text)
	}
	b.free = nil
	g := b.groups["od-a"]
	g.Backoff = nil
	b.groups["od-a"] = g
	if d := b.tick(3 * time.Minute); d.Replicas != 40 || d.Supply != "" {
		t.Errorf("%d replicas with capacity, want 40: %s", d.Replicas, d.Text)
	}
}

// The sizes of the groups bound what is useful: it is said, and not cut.
func TestBoundIsReported(t *testing.T) { inBoth(t, "0", boundIsReported) }

func boundIsReported(t *testing.T, b *bridged) {
	b.source.setDemand("ml", "chat", 9)
	b.add("p0", "spot-a", true)
	for id, most := range map[string]int{"spot-a": 3, "od-a": 2} {
		b.groups[id] = expander.GroupView{Nodes: 1, Registered: 1, Target: 1, Max: most}
	}
	b.ask("unrelated")
	b.tick(0)
	if d := b.tick(15 * time.Second); d.Replicas != 9 || !strings.Contains(d.Supply, "4 of 9 replicas can have a node") {
		t.Errorf("%d replicas, supply %q", d.Replicas, d.Supply)
	}
}

func TestLedgerOfAService(t *testing.T) { inBoth(t, "0", ledgerOfAService) }

func ledgerOfAService(t *testing.T, b *bridged) {
	b.source.setDemand("ml", "chat", 3)
	b.add("s", "spot-a", true)
	b.add("f", "od-a", true)
	b.add("w", "", false)
	b.ask("w")
	g := b.groups["spot-a"]
	g.ReclaimsPerHour = 0.01
	b.groups["spot-a"] = g
	b.tick(15 * time.Second)
	l, ok := b.Ledger(b.id)
	if !ok || !l.Known || l.Workload != "online" || l.Count(link.Spot) != 1 || l.Count(link.OnDemand) != 1 || l.HourlyCost != 1.35 {
		t.Fatalf("%+v", l)
	}
	if len(l.OnTheWay) != 1 || l.OnTheWay[0].Pool != "spot-a" || l.OnTheWay[0].Replicas != 1 {
		t.Errorf("on the way %+v", l.OnTheWay)
	}
	if len(l.FellBack) != 1 || l.FellBack[0].Pool != "od-a" || l.FellBack[0].Why == "" {
		t.Errorf("fell back %+v", l.FellBack)
	}
	if l.Return == nil || l.Return.Replicas != 1 || l.Return.Pool != "spot-a" {
		t.Errorf("advice to return %+v", l.Return)
	}
	if all := b.Ledgers(); len(all) != 1 {
		t.Errorf("%d ledgers, want 1", len(all))
	}
	if _, ok := b.Ledger("nobody"); ok {
		t.Error("a service that is not known has a ledger")
	}
}

// Warm starts alone do not make a lead: an order must be in time although it may need a node.
func TestLeadIsCold(t *testing.T) { inBoth(t, "0", leadIsCold) }

func leadIsCold(t *testing.T, b *bridged) {
	b.source.setDemand("ml", "chat", 1)
	b.add("p0", "spot-a", true)
	end := b.learn()
	for range 6 {
		b.starts = append(b.starts, link.Start{Took: 2 * time.Minute})
	}
	d := b.tick(end + 15*time.Second)
	if d.Lead.StartSeconds != (5 * time.Minute).Seconds() {
		t.Errorf("starts of 2 min on nodes that boot 3 min: %v s, want 300 s", d.Lead.StartSeconds)
	}
}

// A spot group that lost its nodes is left alone as after a failed order: the replacements are ordered elsewhere at once,
// and come back to it when the suspicion is over. A large group that loses one node of many stays in use.
func TestLossHoldsThePool(t *testing.T) { inBoth(t, "0", lossHoldsThePool) }

func lossHoldsThePool(t *testing.T, b *bridged) {
	lose := func(lost, left int) {
		g := b.groups["spot-a"]
		g.Nodes, g.Registered, g.Target, g.Lost, g.LostAt = left, left, left, lost, b.now
		b.groups["spot-a"] = g
	}
	if got := b.ask("before"); got != "spot-a" {
		t.Fatalf("ordered from %s before any loss", got)
	}
	b.now = b.now.Add(time.Minute)
	lose(1, 40)
	if got := b.ask("one-of-many"); got != "spot-a" {
		t.Errorf("ordered from %s after one node of 41 was lost", got)
	}
	b.now = b.now.Add(time.Minute)
	lose(4, 0)
	if got := b.ask("p0", "p1"); got != "od-a" {
		t.Errorf("ordered from %s right after all its nodes were lost", got)
	}
	lost := b.now
	g := b.groups["spot-a"]
	g.Lost = 0
	b.groups["spot-a"] = g
	b.now = lost.Add(9 * time.Minute)
	if got := b.ask("p2"); got != "od-a" {
		t.Errorf("ordered from %s nine minutes after the loss", got)
	}
	b.now = lost.Add(12 * time.Minute)
	if got := b.ask("p3"); got != "spot-a" {
		t.Errorf("ordered from %s twelve minutes after the loss", got)
	}
}

func TestLossRuleCanBeOff(t *testing.T) {
	b := newBridged(t, "0")
	off := *b.config.Load()
	off.Spot.HoldAfterLoss = false
	b.config.Store(&off)
	b.groups["spot-a"] = expander.GroupView{Max: 100, Lost: 4, LostAt: b.now}
	if got := b.ask("p0"); got != "spot-a" {
		t.Errorf("ordered from %s with the rule off", got)
	}
}
