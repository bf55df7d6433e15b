package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
)

// Nodes of eight GPUs hold eight replicas of one GPU: the sizes of groups bound those, not the nodes.
func TestSizesBoundReplicas(t *testing.T) {
	b := newBridged(t, "0")
	b.source.setDemand("ml", "chat", 20)
	for i := range 8 {
		r := b.add(fmt.Sprint("p", i), "spot-a", true)
		r.Node = "one-node"
	}
	request := gpuRequest()
	one := request.Pods[0]
	one.UID, one.Name = "w", "w"
	one.Requests.Extended = map[string]int64{"nvidia.com/gpu": 1}
	request.Pods, request.Options, request.Groups = []expander.Pod{one}, nil, nil
	res := gpuRequest().Groups[0].Capacity
	res.Extended = map[string]int64{"nvidia.com/gpu": 8}
	for _, id := range []string{"od-a", "spot-a"} {
		request.Groups = append(request.Groups, expander.Group{ID: id, Capacity: res, Allocatable: res})
		request.Options = append(request.Options, expander.Option{GroupID: id, NodeCount: 1, Pods: []int{0}})
	}
	b.groups["spot-a"] = expander.GroupView{Nodes: 1, Registered: 1, Target: 1, Max: 3}
	b.groups["od-a"] = expander.GroupView{Nodes: 0, Registered: 0, Target: 0, Max: 1}
	if _, err := b.asked.BestOptions(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	b.tick(0)
	d := b.tick(15 * time.Second)
	if strings.Contains(d.Supply, "can have a node") {
		t.Errorf("8 replicas serve on one node of 8 GPUs, three more such nodes are allowed: 32 replicas can have a node; said %q", d.Supply)
	}
	if l, _ := b.Ledger(b.id); l.Supply.Useful != 8+3*8 {
		t.Errorf("%d replicas are useful, want 32", l.Supply.Useful)
	}
}

// A group with a minimum of two nodes and one above it: only one of the three can go.
func TestMinimumOfAGroupIsPaid(t *testing.T) {
	b := newBridged(t, "0")
	b.source.setDemand("ml", "chat", 6)
	for i := range 3 {
		b.add(fmt.Sprint("f", i), "od-a", true)
	}
	for i := range 3 {
		b.add(fmt.Sprint("s", i), "spot-a", true)
	}
	b.groups["od-a"] = expander.GroupView{Nodes: 3, Registered: 3, Target: 3, Min: 2, Max: 10}
	b.groups["spot-a"] = expander.GroupView{Nodes: 3, Registered: 3, Target: 3, Max: 10}
	b.ask("unrelated")
	b.tick(0)
	b.tick(15 * time.Second)
	lower := 0
	for _, r := range b.target.Replicas {
		if r.Pool == "od-a" && r.Cost != nil && *r.Cost == link.CostFallBack {
			lower++
		}
	}
	if lower != 1 {
		t.Errorf("%d replicas of od-a go before spot, want 1: two of its three nodes stay paid for, whoever leaves", lower)
	}
}

// A base of two is ordered on on-demand on purpose.
func TestBaseIsNoFallBack(t *testing.T) {
	b := newBridged(t, "2")
	b.source.setDemand("ml", "chat", 3)
	b.add("s", "spot-a", true)
	b.add("f", "od-a", true)
	b.add("g", "od-a", true)
	b.ask("w")
	b.tick(15 * time.Second)
	l, _ := b.Ledger(b.id)
	if len(l.FellBack) != 0 {
		t.Errorf("a base of 2 of 2 on-demand replicas fell back: %+v", l.FellBack)
	}
}

// A failure of the first stage 90 minutes before is why while the memory of the workload is three hours.
func TestWhyReachesAsFarAsTheMemory(t *testing.T) {
	b := newBridged(t, "0")
	c := *b.config.Load()
	p := *c.Expander
	p.Failures.SingleGPU, p.Failures.MultiGPU = 3*time.Hour, 3*time.Hour
	c.Expander = &p
	b.config.Store(&c)
	b.source.setDemand("ml", "chat", 1)
	b.add("f", "od-a", true)
	g := b.groups["spot-a"]
	g.Backoff = &expander.Backoff{Class: expander.FailureStock, Since: b.now}
	b.groups["spot-a"] = g
	b.ask("x")
	g.Backoff = nil
	b.groups["spot-a"] = g
	for m := range 90 {
		b.now = bridgeNoon.Add(time.Duration(m+1) * time.Minute)
		b.id = mustResolve(t, b.Engine, triggerOf("ml", "chat", "chat"))
		b.tick(time.Duration(m+1) * time.Minute)
	}
	got := b.ask("w")
	b.tick(91 * time.Minute)
	l, _ := b.Ledger(b.id)
	if got != "od-a" {
		t.Fatalf("ordered from %s, want the fall-back", got)
	}
	if len(l.FellBack) != 1 || !strings.Contains(l.FellBack[0].Why, "spot-a failed") {
		t.Errorf("spot-a is left alone after a failure, the ledger says %+v", l.FellBack)
	}
}

// The ledger may be asked for while a tick evaluates.
func TestLedgerBesideTicks(t *testing.T) {
	b := newBridged(t, "0")
	c := *b.config.Load()
	c.Rebalance.Mode = config.Advise
	b.config.Store(&c)
	b.source.setDemand("ml", "chat", 2)
	b.add("f", "od-a", true)
	b.add("s", "spot-a", true)
	b.ask("w")
	b.tick(0)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				if l, ok := b.Ledger(b.id); !ok || l.Return == nil {
					t.Errorf("ledger %+v, %v", l, ok)
				}
			}
		}
	}()
	for n := range 100 {
		b.tick(time.Duration(n+1) * 15 * time.Second)
	}
	close(stop)
	<-ended
}
