package sim

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/expander"
)

const gib = int64(1) << 30

func spec(id string, cpu, memGiB, gpus int64, price float64) GroupSpec {
	r := expander.Resources{MilliCPU: cpu, Memory: memGiB * gib, Extended: map[string]int64{}}
	if gpus > 0 {
		r.Extended[GPU] = gpus
	}
	return GroupSpec{
		Group:      expander.Group{ID: id, Labels: map[string]string{"group": id}, Capacity: r, Allocatable: r},
		HourlyCost: price, Max: 10, BootMin: 2 * time.Minute, BootMax: 2 * time.Minute,
	}
}

func podOf(uid string, created time.Time, cpu, memGiB, gpus int64, run time.Duration) PodSpec {
	r := expander.Resources{MilliCPU: cpu, Memory: memGiB * gib, Extended: map[string]int64{}}
	if gpus > 0 {
		r.Extended[GPU] = gpus
	}
	return PodSpec{Pod: expander.Pod{UID: uid, Name: uid, Requests: r}, Created: created, Run: run}
}

// first keeps the first option.
func first(req expander.Request, _ expander.View, _ time.Time) []string {
	return []string{req.Options[0].GroupID}
}

// story runs loops of ten seconds and keeps what happened, as seconds since the start and kind.
func story(c *Cluster, events *[]string, span time.Duration, choose Choose) {
	for end := c.Now().Add(span); c.Now().Before(end); {
		c.Advance(c.Now().Add(ScanInterval))
		c.Schedule()
		c.Autoscale(choose)
	}
}

func watched(specs []GroupSpec, o Options) (*Cluster, *[]string) {
	var events []string
	o.Start = monday
	o.Watch = func(e Event) {
		events = append(events, fmt.Sprintf("%d %s %s%s", int(e.At.Sub(monday).Seconds()), e.Kind, e.Group, e.Pod))
	}
	return NewCluster(specs, o), &events
}

// TestLifeOfANode follows one GPU pod: 30 s until the autoscaler acts, two minutes of boot, ten minutes of work, and ten
// minutes until the idle node goes.
func TestLifeOfANode(t *testing.T) {
	c, events := watched([]GroupSpec{spec("g", 4000, 16, 1, 2)}, Options{})
	c.AddPod(podOf("p", monday, 1000, 1, 1, 10*time.Minute))
	story(c, events, 25*time.Minute, first)
	want := []string{
		"30 nodes-ordered g", "150 node-ready g", "150 pod-bound gp", "150 pod-ready gp", "750 pod-done gp", "1350 node-removed g",
	}
	if !reflect.DeepEqual(*events, want) {
		t.Errorf("got  %q\nwant %q", *events, want)
	}
	u := c.Usage()
	if got := u.Cost; got < 2*1320.0/3600-1e-9 || got > 2*1320.0/3600+1e-9 { // from order at 30 s to removal at 1350 s
		t.Errorf("cost %v, want %v", got, 2*1320.0/3600)
	}
	if len(u.Waits) != 1 || u.Waits[0] != 150*time.Second || u.Nodes != 1 {
		t.Errorf("waits %v, nodes %d", u.Waits, u.Nodes)
	}
}

// TestStockOutBacksOff checks detection after a minute, a backoff of five minutes and its doubling.
func TestStockOutBacksOff(t *testing.T) {
	s := spec("spot", 4000, 16, 1, 1)
	s.Spot, s.Stock = true, &trace.Availability{Start: monday, Step: time.Hour, Available: []bool{false}}
	c, events := watched([]GroupSpec{s}, Options{})
	c.AddPod(podOf("p", monday, 1000, 1, 1, time.Hour))
	story(c, events, 20*time.Minute, first)
	// 30 s: order; 90 s: failed, no option until 390 s; fails again at 450 s: ten minutes, until 1050 s; and so on.
	want := []string{
		"30 nodes-ordered spot", "90 node-failed spot", "390 nodes-ordered spot", "450 node-failed spot",
		"1050 nodes-ordered spot", "1110 node-failed spot",
	}
	if !reflect.DeepEqual(*events, want) {
		t.Errorf("got  %q\nwant %q", *events, want)
	}
	if u := c.Usage(); u.StockOuts != 3 || u.Cost != 0 {
		t.Errorf("stock-outs %d, cost %v: a node that never came is not billed", u.StockOuts, u.Cost)
	}
}

// TestReclaimRepeatsLostWork checks notice, reclaim, and the work that a batch pod repeats.
func TestReclaimRepeatsLostWork(t *testing.T) {
	s := spec("spot", 4000, 16, 1, 1)
	s.Spot, s.Stock = true, &trace.Availability{Start: monday, Step: time.Hour, Available: []bool{true, false, true, true}}
	c, events := watched([]GroupSpec{s}, Options{Notice: ReclaimNotice})
	c.AddPod(podOf("p", monday, 1000, 1, 1, 2*time.Hour))
	story(c, events, 5*time.Hour, first)
	kinds := map[string]bool{}
	for _, e := range *events {
		kinds[e] = true
	}
	for _, want := range []string{"3600 node-notified spot", "3720 pod-killed spotp", "3720 node-reclaimed spot"} {
		if !kinds[want] {
			t.Errorf("no event %q in %q", want, *events)
		}
	}
	done := slices.IndexFunc(*events, func(e string) bool { return e[len(e)-len("pod-done spotp"):] == "pod-done spotp" })
	if done < 0 {
		t.Fatalf("the pod never finished: %q", *events)
	}
	// Bound at 150 s, killed at 3720 s after 3570 s of work, of which 1800 s are repeated; stock is back at 7200 s.
	var again, end int
	for _, e := range *events {
		if _, err := fmt.Sscanf(e, "%d pod-bound", &again); err == nil {
			continue
		}
	}
	fmt.Sscanf((*events)[done], "%d", &end)
	for _, e := range (*events)[:done] {
		var at int
		var kind string
		fmt.Sscanf(e, "%d %s", &at, &kind)
		if kind == "pod-bound" {
			again = at
		}
	}
	if got := end - again; got != 7200-3570+1800 {
		t.Errorf("the second run took %d s, want %d", got, 7200-3570+1800)
	}
}

// TestUpcomingNodesSilenceTheAutoscaler: a pod that fits a node on its way is no reason for another.
func TestUpcomingNodesSilenceTheAutoscaler(t *testing.T) {
	c, _ := watched([]GroupSpec{spec("g", 4000, 16, 2, 2)}, Options{})
	c.AddPod(podOf("a", monday, 1000, 1, 1, time.Hour))
	c.Advance(monday.Add(30 * time.Second))
	if o := c.Autoscale(first); o.Nodes != 1 {
		t.Fatalf("%+v", o)
	}
	c.AddPod(podOf("b", c.Now(), 1000, 1, 1, time.Hour))
	c.Advance(monday.Add(60 * time.Second))
	if o := c.Autoscale(first); o.Asked {
		t.Errorf("asked although the node on its way has room: %+v", o)
	}
	c.AddPod(podOf("c", c.Now(), 1000, 1, 1, time.Hour))
	c.Advance(monday.Add(90 * time.Second))
	if o := c.Autoscale(first); o.Nodes != 1 {
		t.Errorf("no second node for a third pod: %+v", o)
	}
}

// TestPackOrder checks first-fit decreasing: 3+1 and 2+2 CPUs on two nodes of four.
func TestPackOrder(t *testing.T) {
	c, _ := watched([]GroupSpec{spec("g", 4000, 16, 0, 1)}, Options{})
	for i, cpu := range []int64{1000, 2000, 3000, 2000, 5000} {
		c.AddPod(podOf(fmt.Sprint(i), monday, cpu, 1, 0, time.Hour))
	}
	c.Advance(monday.Add(10 * time.Second))
	req := c.request(c.unserved())
	if len(req.Options) != 1 || req.Options[0].NodeCount != 2 || !slices.Equal(req.Options[0].Pods, []int{0, 1, 2, 3}) {
		t.Errorf("options %+v; want two nodes for pods 0 to 3, and none for the one that never fits", req.Options)
	}
}

func TestTaintsAndSelectorsKeepPodsOut(t *testing.T) {
	tainted := spec("t", 4000, 16, 1, 1)
	tainted.Taints = []expander.Taint{{Key: "workload", Value: "inference", Effect: "NoSchedule"}}
	plain := podOf("p", monday, 1000, 1, 0, 0).Pod
	if accepts(&tainted.Group, &plain) {
		t.Error("a pod without toleration was let in")
	}
	plain.Tolerations = []expander.Toleration{{Key: "workload", Operator: "Exists"}}
	if !accepts(&tainted.Group, &plain) {
		t.Error("a tolerating pod was kept out")
	}
	plain.NodeSelector = map[string]string{"group": "other"}
	if accepts(&tainted.Group, &plain) {
		t.Error("a selector was ignored")
	}
	plain.NodeSelector = nil
	plain.Required = []expander.Term{
		{Requirements: []expander.Requirement{{Key: "group", Operator: "NotIn", Values: []string{"t"}}}},
		{Requirements: []expander.Requirement{{Key: "group", Operator: "Exists"}, {Key: "zone", Operator: "DoesNotExist"}}},
	}
	if !accepts(&tainted.Group, &plain) {
		t.Error("one of two terms holds and does not suffice")
	}
}

// TestCapacityIsNeverExceeded runs random pods and checks every node after every step, and that no pod is lost.
func TestCapacityIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spot := spec("spot", 16000, 64, 4, 1)
		spot.Spot, spot.Stock = true, &trace.Availability{Start: monday, Step: 20 * time.Minute, Available: []bool{true, false, true}}
		done := map[string]int{}
		c := NewCluster([]GroupSpec{spec("a", 4000, 16, 1, 1), spot, spec("cpu", 8000, 32, 0, 1)}, Options{
			Start: monday, Seed: rapid.Uint64().Draw(t, "seed"), Packing: Packing(rapid.IntRange(0, 1).Draw(t, "packing")),
			Watch: func(e Event) {
				if e.Kind == PodDone {
					done[e.Pod]++
				}
			},
		})
		n := rapid.IntRange(1, 30).Draw(t, "pods")
		for i := range n {
			c.AddPod(podOf(fmt.Sprint(i), monday, rapid.Int64Range(1, 4).Draw(t, "cpu")*1000, rapid.Int64Range(1, 16).Draw(t, "mem"),
				rapid.Int64Range(0, 2).Draw(t, "gpu"), time.Duration(rapid.IntRange(1, 60).Draw(t, "minutes"))*time.Minute))
		}
		last := func(req expander.Request, _ expander.View, _ time.Time) []string {
			return []string{req.Options[len(req.Options)-1].GroupID, req.Options[0].GroupID}
		}
		for range 360 {
			c.Advance(c.Now().Add(ScanInterval))
			c.Schedule()
			c.Autoscale(last)
			for _, g := range c.groups {
				for _, node := range g.nodes {
					sum := node.free
					for _, p := range node.pods {
						sum = sum.plus(p.need)
					}
					if sum != g.alloc || node.free.cpu < 0 || node.free.mem < 0 || node.free.gpu < 0 {
						t.Fatalf("%s: %+v free, %+v in all of %+v", node.name, node.free, sum, g.alloc)
					}
				}
			}
		}
		for uid, times := range done {
			if times != 1 {
				t.Fatalf("pod %s finished %d times", uid, times)
			}
		}
		if len(done)+len(c.live) != n {
			t.Fatalf("%d done, %d live of %d", len(done), len(c.live), n)
		}
	})
}

func TestClusterIsDeterministic(t *testing.T) {
	run := func() []string {
		s := spec("g", 8000, 32, 2, 1)
		s.BootMin, s.BootMax = BootMin, BootMax
		c, events := watched([]GroupSpec{s, spec("h", 8000, 32, 2, 1)}, Options{Seed: 9})
		for i := range 12 {
			c.AddPod(podOf(fmt.Sprint(i), monday.Add(time.Duration(i)*time.Minute), 1000, 1, 1, time.Duration(5+i)*time.Minute))
		}
		story(c, events, time.Hour, func(req expander.Request, _ expander.View, _ time.Time) []string {
			var ids []string
			for _, o := range req.Options {
				ids = append(ids, o.GroupID)
			}
			return ids
		})
		return *events
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Errorf("two runs differ:\n%q\n%q", a, b)
	}
}
