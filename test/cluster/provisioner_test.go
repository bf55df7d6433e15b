package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/warmpool/warmpool/bench/load/caclient"
)

const (
	gpuResource = corev1.ResourceName("nvidia.com/gpu")
	groupLabel  = "test/node-group"
)

// A nodeGroup is what a cloud offers.
type nodeGroup struct {
	id      string
	largest int
	labels  map[string]string
	taint   string // of the key workload
	gpus    int64
	// stock is how many more machines the cloud has; below zero: any number.
	stock int
	// backoff is until when the group is left alone after the failure.
	failed, backoff time.Time
}

// template is what a new node of the group looks like.
func (g *nodeGroup) template() *corev1.Node {
	have := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110"),
		gpuResource: *resource.NewQuantity(g.gpus, resource.DecimalSI),
	}
	labels := map[string]string{groupLabel: g.id, "k8s.amazonaws.com/accelerator": "nvidia-a10g"}
	maps.Copy(labels, g.labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "template-node-for-" + g.id, Labels: labels},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "workload", Value: g.taint, Effect: corev1.TaintEffectNoSchedule},
			{Key: string(gpuResource), Value: "present", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{Capacity: have, Allocatable: have, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// node is a new simulated node of the group.
func (g *nodeGroup) node(name string) *corev1.Node {
	node := g.template()
	node.Name = name
	node.Labels["kubernetes.io/hostname"] = name
	node.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake"}
	node.Status.Conditions = nil
	return node
}

// fits tells whether the scheduler would put the pod on an empty node of the group.
func (g *nodeGroup) fits(pod *corev1.Pod) bool {
	node := g.template()
	if _, untolerated := schedule.FindMatchingUntoleratedTaint(klogger, node.Spec.Taints, pod.Spec.Tolerations, func(*corev1.Taint) bool { return true }, true); untolerated {
		return false
	}
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && match && gpusOf(pod) <= g.gpus
}

func gpusOf(pod *corev1.Pod) (n int64) {
	for i := range pod.Spec.Containers {
		q := pod.Spec.Containers[i].Resources.Requests[gpuResource]
		n += q.Value()
	}
	return n
}

// A provisioner stands in for the Cluster Autoscaler of one release: the same questions, and the same reading of answers.
type provisioner struct {
	*environment
	release caclient.Release
	client  *caclient.Client
	groups  []*nodeGroup
	// changes are made to the groups between two loops.
	changes chan func()

	mu    sync.Mutex
	made  int
	calls []call
}

// A call is one question and what became of it.
type call struct {
	at       time.Time
	options  []string
	answer   caclient.Answer
	grown    string
	stockOut bool
}

// provision runs a provisioner for the duration of a test; its nodes are removed afterwards.
func (e *environment) provision(t *testing.T, release caclient.Release, namespace string, groups ...*nodeGroup) *provisioner {
	t.Helper()
	ca, err := os.ReadFile(e.warmpool.caFile)
	if err != nil {
		t.Fatal(err)
	}
	client, err := caclient.Dial(e.warmpool.dial(e.warmpool.expander), ca, release)
	if err != nil {
		t.Fatal(err)
	}
	p := &provisioner{environment: e, release: release, client: client, groups: groups, changes: make(chan func())}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := p.loop(ctx, namespace); err != nil && ctx.Err() == nil {
				t.Errorf("provisioner: %v", err)
				return
			}
			select {
			case <-ctx.Done():
			case change := <-p.changes:
				change()
			case <-time.After(time.Second): // --scan-interval is ten times as long
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		client.Close()
		p.removeNodes(t)
	})
	return p
}

func (p *provisioner) removeNodes(t *testing.T) {
	ctx := context.Background()
	for _, g := range p.groups {
		if err := p.clients.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: groupLabel + "=" + g.id}); err != nil {
			t.Error(err)
		}
	}
}

// loop is one round of the autoscaler: what is pending, which groups could help, ask, grow.
func (p *provisioner) loop(ctx context.Context, namespace string) error {
	if err := p.publish(ctx); err != nil {
		return err
	}
	pods, held, err := p.pending(ctx, namespace)
	if err != nil {
		return err
	}
	if pods, err = p.withoutUpcoming(ctx, pods, held); err != nil || len(pods) == 0 {
		return err
	}
	loop := caclient.Loop{Nodes: map[string]*corev1.Node{}}
	for _, g := range p.groups {
		loop.Nodes[g.id] = g.template()
		option, err := p.option(ctx, g, pods)
		if err != nil {
			return err
		}
		if option.NodeCount > 0 {
			loop.Options = append(loop.Options, option)
		}
	}
	if len(loop.Options) == 0 {
		return nil
	}
	c := call{at: time.Now()}
	for _, o := range loop.Options {
		c.options = append(c.options, o.GroupID)
	}
	if c.answer, err = p.client.BestOptions(ctx, loop); err != nil {
		return err
	}
	// What is left after grpc would go to least-waste; the groups have equal machines, so the first one wins.
	if !c.answer.Vetoed() {
		c.grown = c.answer.Kept[0]
		c.stockOut, err = p.grow(ctx, loop.Options[slices.Index(c.options, c.grown)])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	return err
}

// publish writes the status as the Cluster Autoscaler does from 1.30 on.
func (p *provisioner) publish(ctx context.Context) error {
	now := time.Now().UTC()
	var b strings.Builder
	fmt.Fprintf(&b, "time: %s\nautoscalerStatus: Running\nclusterWide: {health: {status: Healthy}}\nnodeGroups:\n", now.Format("2006-01-02 15:04:05.999999999 -0700 MST"))
	for _, g := range p.groups {
		n, err := p.nodes(ctx, g.id)
		if err != nil {
			return err
		}
		scaleUp := "{status: NoActivity}"
		if now.Before(g.backoff) {
			scaleUp = fmt.Sprintf("{status: Backoff, backoffInfo: {errorCode: placeholder-cannot-be-fulfilled, errorMessage: no capacity}, lastTransitionTime: %q}", g.failed.UTC().Format(time.RFC3339Nano))
		}
		fmt.Fprintf(&b, "- name: %s\n  health: {status: Healthy, cloudProviderTarget: %d, minSize: 0, maxSize: %d, nodeCounts: {registered: {total: %d, ready: %d}}}\n  scaleUp: %s\n",
			g.id, n, g.largest, n, n, scaleUp)
	}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "cluster-autoscaler-status", "namespace": "kube-system"},
		"data": map[string]any{"status": b.String()},
	}}
	return p.apply(ctx, false, status)
}

// pending are the pods that the scheduler has given up on; held are the GPUs that pods have, by node. Both are of one
// moment.
func (p *provisioner) pending(ctx context.Context, namespace string) (pods []*corev1.Pod, held map[string]int64, err error) {
	list, err := p.clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	held = map[string]int64{}
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Spec.NodeName != "" {
			held[pod.Spec.NodeName] += gpusOf(pod)
			continue
		}
		unschedulable := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		})
		if unschedulable && pod.DeletionTimestamp == nil && gpusOf(pod) > 0 {
			pods = append(pods, pod)
		}
	}
	return pods, held, nil
}

// withoutUpcoming leaves out the pods for which there is room on the nodes that exist, which may not be ready yet: the
// autoscaler does not ask for them again.
func (p *provisioner) withoutUpcoming(ctx context.Context, pods []*corev1.Pod, held map[string]int64) ([]*corev1.Pod, error) {
	for _, g := range p.groups {
		nodes, err := p.clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + g.id})
		if err != nil {
			return nil, err
		}
		for i := range nodes.Items {
			free := g.gpus - held[nodes.Items[i].Name]
			pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
				fits := g.fits(pod) && gpusOf(pod) <= free
				if fits {
					free -= gpusOf(pod)
				}
				return fits
			})
		}
	}
	return pods, nil
}

// option packs the pods onto new nodes of a group, as far as its size allows.
func (p *provisioner) option(ctx context.Context, g *nodeGroup, pods []*corev1.Pod) (caclient.Option, error) {
	o := caclient.Option{GroupID: g.id}
	if time.Now().Before(g.backoff) {
		return o, nil
	}
	nodes, err := p.nodes(ctx, g.id)
	if err != nil {
		return o, err
	}
	room := int64(g.largest-nodes) * g.gpus
	var used int64
	for _, pod := range pods {
		if g.fits(pod) && used+gpusOf(pod) <= room {
			used += gpusOf(pod)
			o.Pods = append(o.Pods, pod)
		}
	}
	o.NodeCount = int((used + g.gpus - 1) / g.gpus)
	return o, nil
}

func (p *provisioner) nodes(ctx context.Context, id string) (int, error) {
	list, err := p.clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + id})
	if err != nil {
		return 0, err
	}
	return len(list.Items), nil
}

// grow makes the nodes, or finds that the cloud has none and backs the group off.
func (p *provisioner) grow(ctx context.Context, o caclient.Option) (stockOut bool, err error) {
	g := p.groups[slices.IndexFunc(p.groups, func(g *nodeGroup) bool { return g.id == o.GroupID })]
	for range o.NodeCount {
		if g.stock == 0 {
			g.failed = time.Now()
			g.backoff = g.failed.Add(5 * time.Minute)
			return true, nil
		}
		g.stock--
		p.made++
		node := g.node(fmt.Sprintf("%s-%d", g.id, p.made))
		if _, err := p.clients.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return false, err
		}
	}
	return false, nil
}

// asked are the calls so far.
func (p *provisioner) asked() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// history is the calls as text, for a failure.
func (p *provisioner) history() string {
	var b strings.Builder
	for _, c := range p.asked() {
		fmt.Fprintf(&b, "\n  %s options %v kept %v error %v grown %q stock-out %v", c.at.Format("15:04:05"), c.options, c.answer.Kept, c.answer.Err, c.grown, c.stockOut)
	}
	if len(p.asked()) > 0 {
		b.WriteString("\n" + p.warmpool.lastDecision("expander"))
	}
	return b.String()
}
