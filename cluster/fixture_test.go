package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/warmpool/warmpool/expander"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a cluster in the memory of client-go's own fakes, and a view of it.
type world struct {
	t       *testing.T
	typed   *fake.Clientset
	open    *dynamicfake.FakeDynamicClient
	clients *Clients
	view    *Cluster
	end     func()
}

var openKinds = map[schema.GroupVersionResource]string{
	{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}:                 "ScaledObjectList",
	{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}:              "ResourceClaimList",
	{Group: "resource.k8s.io", Version: "v1beta2", Resource: "resourceclaims"}:         "ResourceClaimList",
	{Group: "resource.k8s.io", Version: "v1beta1", Resource: "resourceclaims"}:         "ResourceClaimList",
	{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"}:      "ResourceClaimTemplateList",
	{Group: "resource.k8s.io", Version: "v1beta2", Resource: "resourceclaimtemplates"}: "ResourceClaimTemplateList",
	{Group: "resource.k8s.io", Version: "v1beta1", Resource: "resourceclaimtemplates"}: "ResourceClaimTemplateList",
}

// inWorld runs a test in virtual time with a view of the objects. The view has been read when it starts. The objects are
// made in virtual time too.
func inWorld(t *testing.T, o Options, objects func() []runtime.Object, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o, objects())
		defer w.stop()
		w.start()
		test(w)
	})
}

func newWorld(t *testing.T, o Options, objects []runtime.Object) *world {
	w := &world{t: t}
	var typed, open []runtime.Object
	for _, object := range objects {
		if _, ok := object.(*unstructured.Unstructured); ok {
			open = append(open, object)
		} else {
			typed = append(typed, object)
		}
	}
	w.typed = fake.NewClientset(typed...)
	w.open = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), openKinds, open...)
	w.clients = &Clients{Kubernetes: w.typed, Dynamic: w.open, Namespace: "warmpool"}
	o.Clients = w.clients
	if o.Log == nil && os.Getenv("WARMPOOL_TEST_LOG") != "" {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	view, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.view = view
	return w
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		w.view.Run(ctx)
		close(ended)
	}()
	w.end = func() {
		cancel()
		<-ended
	}
	w.wait(2 * time.Second)
}

func (w *world) stop() {
	if w.end != nil {
		w.end()
	}
}

// wait lets virtual time pass and everything that follows from it happen.
func (w *world) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// react puts a reaction before those of the fake. The fake reads them under its lock and does not take it to add one.
func react(fake *ktesting.Fake, verb, resource string, reaction ktesting.ReactionFunc) {
	fake.Lock()
	defer fake.Unlock()
	fake.PrependReactor(verb, resource, reaction)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) groups() map[string]expander.GroupView {
	return w.view.ExpanderView(time.Now()).Groups
}

// these are the objects of a world.
func these(objects ...runtime.Object) []runtime.Object { return objects }

type podOption func(*corev1.Pod)

func podOf(namespace, name string, options ...podOption) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name), CreationTimestamp: metav1.NewTime(time.Now()),
			Labels: map[string]string{},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "server"}}},
	}
	for _, option := range options {
		option(p)
	}
	return p
}

func withGPU(n int64) podOption {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
	}
}

func ofDeployment(name string) podOption {
	return func(p *corev1.Pod) {
		p.Labels["pod-template-hash"] = "5f6d"
		ownedBy("apps/v1", "ReplicaSet", name+"-5f6d")(p)
	}
}

func ownedBy(version, kind, name string) podOption {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}}
	}
}

func labelled(key, value string) podOption {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func on(node string) podOption {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = node
		condition(p, corev1.PodScheduled, corev1.ConditionTrue, "")
	}
}

func unschedulable(p *corev1.Pod) {
	condition(p, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable)
}

func isReady(p *corev1.Pod) { condition(p, corev1.PodReady, corev1.ConditionTrue, "") }

func notReady(p *corev1.Pod) { condition(p, corev1.PodReady, corev1.ConditionFalse, "") }

func condition(p *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			p.Status.Conditions = append(p.Status.Conditions[:i], p.Status.Conditions[i+1:]...)
			break
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(time.Now()),
	})
}

func (w *world) addPod(p *corev1.Pod) {
	w.t.Helper()
	_, err := w.typed.CoreV1().Pods(p.Namespace).Create(w.t.Context(), p, metav1.CreateOptions{})
	w.must(err)
	synctest.Wait()
}

func (w *world) changePod(namespace, name string, change podOption) {
	w.t.Helper()
	p, err := w.typed.CoreV1().Pods(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	w.must(err)
	p = p.DeepCopy()
	change(p)
	_, err = w.typed.CoreV1().Pods(namespace).Update(w.t.Context(), p, metav1.UpdateOptions{})
	w.must(err)
	synctest.Wait()
}

func nodeOf(name string, labels map[string]string) *corev1.Node {
	all := map[string]string{"kubernetes.io/hostname": name}
	maps.Copy(all, labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: all, CreationTimestamp: metav1.NewTime(time.Now())},
		Status: corev1.NodeStatus{
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "nvidia.com/gpu": resource.MustParse("1")},
		},
	}
}

func (w *world) changeNode(name string, change func(*corev1.Node)) {
	w.t.Helper()
	n, err := w.typed.CoreV1().Nodes().Get(w.t.Context(), name, metav1.GetOptions{})
	w.must(err)
	n = n.DeepCopy()
	change(n)
	_, err = w.typed.CoreV1().Nodes().Update(w.t.Context(), n, metav1.UpdateOptions{})
	w.must(err)
	synctest.Wait()
}

func scaledObjectOf(namespace, name, kind, target string) *unstructured.Unstructured {
	ref := map[string]any{"name": target}
	if kind != "" {
		ref["kind"] = kind
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     map[string]any{"scaleTargetRef": ref, "minReplicaCount": int64(1), "maxReplicaCount": int64(9)},
	}}
}

func autoscalerOf(namespace, name, kind, target string, current int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: kind, Name: target}, MaxReplicas: 9},
		Status:     autoscalingv2.HorizontalPodAutoscalerStatus{CurrentReplicas: current},
	}
}

func statusOf(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-status"},
		Data:       map[string]string{"status": text},
	}
}

// groupLine is one node group of a status in YAML.
func groupLine(name string, target, registered, most int, scaleUp string) string {
	return fmt.Sprintf("- name: %s\n  health:\n    status: Healthy\n    cloudProviderTarget: %d\n    minSize: 0\n    maxSize: %d\n    nodeCounts: {registered: {total: %d, ready: %d}}\n  scaleUp: %s\n",
		name, target, most, registered, registered, scaleUp)
}

// statusNow is a status in YAML, written now.
func statusNow(groups ...string) string {
	text := "time: " + time.Now().UTC().Format("2006-01-02 15:04:05.999999999 -0700 MST") + "\nautoscalerStatus: Running\nnodeGroups:\n"
	for _, g := range groups {
		text += g
	}
	return text
}

func (w *world) setStatus(text string) {
	w.t.Helper()
	_, err := w.typed.CoreV1().ConfigMaps("kube-system").Update(w.t.Context(), statusOf(text), metav1.UpdateOptions{})
	w.must(err)
	w.wait(1100 * time.Millisecond)
}

func templateOf(id string, labels map[string]string) expander.Group {
	all := map[string]string{"kubernetes.io/hostname": "template-node-for-" + id}
	maps.Copy(all, labels)
	return expander.Group{ID: id, Labels: all, Capacity: expander.Resources{Extended: map[string]int64{"nvidia.com/gpu": 1}}}
}
