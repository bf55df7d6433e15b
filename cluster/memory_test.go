package cluster

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/warmpool/warmpool/expander"
)

const (
	manyNodes, manyPods = 5_000, 50_000
	manyGroups          = 60
)

// bigNode is a node as clouds make them: fifty labels, images, and conditions.
func bigNode(i int) *corev1.Node {
	n := nodeOf(bigNodeName(i), map[string]string{
		"eks.amazonaws.com/nodegroup": fmt.Sprintf("group-%d", i%manyGroups), zoneKey: fmt.Sprintf("eu-central-1%c", 'a'+rune(i%3)),
		"node.kubernetes.io/instance-type": "g6.12xlarge", "alpha.eksctl.io/instance-id": fmt.Sprintf("i-%017x", i),
		"nvidia.com/gpu.product": "NVIDIA-L4", "eks.amazonaws.com/capacityType": "SPOT",
	})
	for j := range 40 {
		n.Labels[fmt.Sprintf("feature.node.kubernetes.io/cpu-cpuid.FEATURE%d", j)] = "true"
	}
	n.Annotations = map[string]string{"csi.volume.kubernetes.io/nodeid": strings.Repeat("x", 200)}
	n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 3000))}}
	for j := range 50 {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.com/team/image-%d@sha256:%064d", j, i), "x"}, SizeBytes: 1 << 30})
	}
	return n
}

func bigNodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i/65536, i/256%256, i%256)
}

// bigPod is a pod as people write them, a fifth of them with GPUs.
func bigPod(i int) *corev1.Pod {
	app := fmt.Sprintf("service-%d", i/50)
	p := podOf(fmt.Sprintf("team-%d", i/50%100), fmt.Sprintf("%s-5f6d-%05d", app, i), ofDeployment(app), on(bigNodeName(i%manyNodes)), isReady)
	p.UID = types.UID(fmt.Sprintf("1ac3d5e7-0b2d-4f6a-8c1e-%012d", i))
	for j := range 8 {
		p.Labels[fmt.Sprintf("app.kubernetes.io/label-%d", j)] = app
	}
	p.ResourceVersion = fmt.Sprint(100_000_000 + i)
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 2500))}}
	container := &p.Spec.Containers[0]
	container.Image = "registry.example.com/team/" + app
	for j := range 20 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", j), Value: strings.Repeat("v", 40)})
	}
	container.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("8Gi")}
	if i%5 == 0 {
		container.Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
	}
	return p
}

// heap is the memory in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// bigCluster is client-go's fake of a cluster with so many objects.
func bigCluster(tb testing.TB, nodes, pods int) *Clients {
	tb.Helper()
	objects := make([]k8sruntime.Object, 0, nodes+pods)
	for i := range nodes {
		objects = append(objects, bigNode(i))
	}
	for i := range pods {
		objects = append(objects, bigPod(i))
	}
	return &Clients{Kubernetes: fake.NewSimpleClientset(objects...)}
}

// watched is a view of a cluster that has been read; the informers end with the test.
func watched(tb testing.TB, clients *Clients) *Cluster {
	tb.Helper()
	c, err := New(Options{Clients: clients})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		c.Run(ctx)
		close(ended)
	}()
	tb.Cleanup(func() {
		cancel()
		<-ended
	})
	if !cache.WaitForCacheSync(ctx.Done(), c.nodes.informer.HasSynced, c.pods.informer.HasSynced) {
		tb.Fatal("not read")
	}
	return c
}

// BenchmarkMemory reports what a view of 5,000 nodes and 50,000 pods takes.
func BenchmarkMemory(b *testing.B) {
	clients := bigCluster(b, manyNodes, manyPods)
	for b.Loop() {
		before := heap()
		c := watched(b, clients)
		used := heap() - before
		b.ReportMetric(float64(used)/(manyNodes+manyPods), "B/object")
		b.ReportMetric(float64(used)/(1<<20), "MiB")
		runtime.KeepAlive(c)
	}
	runtime.KeepAlive(clients)
}

// TestMemoryIsBounded holds the view to what an object may take, at a fifth of the size of the benchmark.
func TestMemoryIsBounded(t *testing.T) {
	const nodes, pods = manyNodes / 5, manyPods / 5
	clients := bigCluster(t, nodes, pods)
	whole := heap()
	c := watched(t, clients)
	used := heap() - whole
	t.Logf("%d nodes and %d pods: %.1f MiB, %d bytes for each", nodes, pods, float64(used)/(1<<20), used/(nodes+pods))
	if most := uint64(1_200 * (nodes + pods)); used > most {
		t.Errorf("%d bytes, want at most %d", used, most)
	}
	if n := len(c.pods.informer.GetStore().ListKeys()); n != pods {
		t.Errorf("%d pods", n)
	}
	runtime.KeepAlive(clients)
}

func manyTemplates(round int) []expander.Group {
	var groups []expander.Group
	for i := range manyGroups {
		n := bigNode(i)
		labels := n.Labels
		labels["kubernetes.io/hostname"] = fmt.Sprintf("template-node-for-%d-%d", i, round)
		groups = append(groups, expander.Group{ID: fmt.Sprintf("eks-group-%d", i), Labels: labels})
	}
	return groups
}

// BenchmarkRefresh builds the view of a large cluster anew.
func BenchmarkRefresh(b *testing.B) {
	c := watched(b, bigCluster(b, manyNodes, manyPods))
	now := time.Now()
	c.ObserveRequest(spotPolicy(), expander.Request{Groups: manyTemplates(0)}, now)
	for b.Loop() {
		c.refresh(now)
	}
}

// BenchmarkObserveRequest is what a request costs that brings nothing new but the names of its templates, as all do.
func BenchmarkObserveRequest(b *testing.B) {
	c := watched(b, bigCluster(b, manyNodes, manyPods))
	now := time.Now()
	policy, request := spotPolicy(), expander.Request{Groups: manyTemplates(0)}
	for i := range 500 {
		request.Pods = append(request.Pods, expander.Pod{UID: fmt.Sprint(i)})
	}
	c.ObserveRequest(policy, request, now)
	request.Groups = manyTemplates(1)
	if c.demand.observe(policy, &request, now) {
		b.Error("the view has to be built anew although nothing changed")
	}
	for b.Loop() {
		c.ObserveRequest(policy, request, now)
	}
}

// BenchmarkUnits puts the pods of one service together.
func BenchmarkUnits(b *testing.B) {
	c := watched(b, bigCluster(b, manyNodes, manyPods))
	for b.Loop() {
		if n := len(c.units(targetKey("Deployment", "team-7", "service-7"))); n == 0 {
			b.Fatal("no pods")
		}
	}
}
