package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/link"
	"github.com/warmpool/warmpool/proto/externalscaler"
)

// allRules is the namespace of the copy of the chart's identity that lacks nothing.
const allRules = "permissions-all"

// A role is a Role or ClusterRole of the chart.
type role struct {
	name, namespace string // no namespace: a ClusterRole
	rules           []rbacv1.PolicyRule
}

// roles are those that the chart has installed.
func (e *environment) roles(t *testing.T) (all []role) {
	t.Helper()
	ours := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=warmpool"}
	clusterRoles, err := e.clients.RbacV1().ClusterRoles().List(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	roles, err := e.clients.RbacV1().Roles("").List(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	for i := range clusterRoles.Items {
		all = append(all, role{clusterRoles.Items[i].Name, "", clusterRoles.Items[i].Rules})
	}
	for i := range roles.Items {
		all = append(all, role{roles.Items[i].Name, roles.Items[i].Namespace, roles.Items[i].Rules})
	}
	return all
}

// A grant is the smallest part of a rule that can be taken away: one resource, of one name where the rule gives names.
type grant struct {
	role            int
	rule            int
	group, resource string
	name            string
	verbs           []string
}

func (g grant) String() string {
	return strings.TrimRight(fmt.Sprintf("%s of %s.%s %s", strings.Join(g.verbs, ","), g.resource, g.group, g.name), ". ")
}

// grants takes the rules of the roles apart.
func grants(roles []role) (all []grant) {
	for i, role := range roles {
		for j, r := range role.rules {
			names := r.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, name := range names {
						all = append(all, grant{i, j, group, resource, name, r.Verbs})
					}
				}
			}
		}
	}
	return all
}

// An identity is an instance with a service account of its own.
type identity struct {
	*environment
	namespace, account string
	server             *server
}

// identity copies what the chart grants, but for one part of it.
func (e *environment) identity(t *testing.T, namespace, config string, roles []role, without *grant) *identity {
	t.Helper()
	ctx := t.Context()
	err := e.applyText(ctx, fmt.Sprintf(spread+`
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: warmpool, namespace: %[1]s}
`, namespace))
	if err != nil {
		t.Fatal(err)
	}
	parts := grants(roles)
	for i, role := range roles {
		var rules []rbacv1.PolicyRule
		for _, g := range parts {
			if g.role != i || (without != nil && g.equals(*without)) {
				continue
			}
			rule := rbacv1.PolicyRule{APIGroups: []string{g.group}, Resources: []string{g.resource}, Verbs: g.verbs}
			if g.name != "" {
				rule.ResourceNames = []string{g.name}
			}
			rules = append(rules, rule)
		}
		if err := e.bind(ctx, namespace, role, rules); err != nil {
			t.Fatal(err)
		}
	}
	return e.instanceAs(t, namespace, "warmpool", config)
}

// instanceAs prepares an instance with a service account.
func (e *environment) instanceAs(t *testing.T, namespace, account, config string) *identity {
	t.Helper()
	s, err := newServerAs(t.Context(), e.plane, namespace, account, namespace+"-"+account, e.warmpool.binary, config)
	if err != nil {
		t.Fatal(err)
	}
	return &identity{e, namespace, account, s}
}

func (g grant) equals(other grant) bool {
	return g.role == other.role && g.rule == other.rule && g.group == other.group && g.resource == other.resource && g.name == other.name
}

// bind gives rules to the service account of a namespace, where the role of the chart gives them.
func (e *environment) bind(ctx context.Context, namespace string, role role, rules []rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: namespace + "-" + role.name}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "warmpool", Namespace: namespace}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Name: meta.Name}
	api := e.clients.RbacV1()
	if role.namespace == "" {
		ref.Kind = "ClusterRole"
		_, err := api.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		_, err2 := api.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{})
		return errors.Join(err, err2)
	}
	where := role.namespace
	if where == "warmpool" {
		where = namespace // its own namespace
	}
	ref.Kind = "Role"
	_, err := api.Roles(where).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	_, err2 := api.RoleBindings(where).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{})
	return errors.Join(err, err2)
}

// spread is a service with a replica on each of the two nodes; KEDA leaves it alone.
const spread = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: spread, namespace: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: spread}}
  template:
    metadata: {labels: {app: spread}}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {permissions: "true"}
      tolerations:
        - {key: workload, value: elastic, effect: NoSchedule}
        - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: spread}}}
      containers: [{name: engine, image: engine, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: spread
  namespace: %[1]s
  annotations: {autoscaling.keda.sh/paused: "true"}
spec:
  scaleTargetRef: {name: spread}
  maxReplicaCount: 4
  triggers: [{type: external, metadata: {scalerAddress: "paused.invalid:1"}}]
`

// Whatever part of a rule is missing, warmpool asks for it, is refused that and nothing else, says so in its log, and goes
// on. A rule that nothing needs is found here.
func TestEveryRuleIsNeeded(t *testing.T) {
	e := running(t)
	config, err := e.writeConfig("permissions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spot, onDemand := e.spreadNodes(t)
	roles := e.roles(t)
	parts := grants(roles)
	if len(parts) < 14 {
		t.Errorf("only %d permissions found", len(parts))
	}
	t.Run("nothing missing", func(t *testing.T) {
		i := e.identity(t, allRules, config, roles, nil)
		i.server.env = []string{"KUBE_FEATURE_WatchListClient=false"} // lists, as with API servers before 1.34
		i.work(t, spot, onDemand)
		eventually(t, 3*time.Minute, "everything that can be written is", func() error {
			i.ask(t, spot, onDemand)
			return errors.Join(i.costWritten(t.Context()), i.wrote(t, "events", "create"), i.wrote(t, "configmaps", "update"))
		})
		i.refusedNothing(t)
	})
	t.Run("without", func(t *testing.T) {
		for n, g := range parts {
			t.Run(g.String(), func(t *testing.T) {
				t.Parallel()
				i := e.identity(t, fmt.Sprintf("permissions-%d", n), config, roles, &g)
				i.work(t, spot, onDemand)
				eventually(t, 3*time.Minute, "it is refused", func() error {
					i.ask(t, spot, onDemand)
					return i.refused(t, g)
				})
				eventually(t, 30*time.Second, "the log says so", func() error { return i.said(g) })
				if err := get(t.Context(), http.DefaultClient, "http://"+i.server.admin+"/readyz"); err != nil {
					t.Errorf("without the permission it is not ready: %v", err)
				}
			})
		}
	})
}

// work starts the instance and gives it everything to do.
func (i *identity) work(t *testing.T, spot, onDemand *nodeGroup) {
	t.Helper()
	if err := i.server.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.server.stop(syscall.SIGTERM) })
	i.ask(t, spot, onDemand)
}

// ask calls what the instance serves: as the Cluster Autoscaler for a pod that nobody has seen before, and as KEDA.
func (i *identity) ask(t *testing.T, spot, onDemand *nodeGroup) {
	t.Helper()
	if i.server.half != "scaler" {
		i.askExpander(t, spot, onDemand)
	}
	if i.server.half != "expander" {
		i.askScaler(t)
	}
}

func (i *identity) askExpander(t *testing.T, spot, onDemand *nodeGroup) {
	t.Helper()
	ca, err := os.ReadFile(i.server.caFile)
	if err != nil {
		t.Fatal(err)
	}
	client, err := caclient.Dial(i.server.dial(i.server.expander), ca, caclient.Release{Minor: 36, Patch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "asked", Namespace: i.namespace, UID: types.UID(time.Now().Format(time.RFC3339Nano)), Labels: map[string]string{"app": "spread"},
	}}
	loop := caclient.Loop{Nodes: map[string]*corev1.Node{spot.id: spot.template(), onDemand.id: onDemand.template()}}
	for _, g := range []*nodeGroup{spot, onDemand} {
		loop.Options = append(loop.Options, caclient.Option{GroupID: g.id, NodeCount: 1, Pods: []*corev1.Pod{pod}})
	}
	if answer, err := client.BestOptions(t.Context(), loop); err != nil || answer.Err != nil {
		t.Fatalf("answer %+v, error %v", answer, err)
	}
}

func (i *identity) askScaler(t *testing.T) {
	t.Helper()
	roots, err := credentials.NewClientTLSFromFile(i.server.caFile, "")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(i.server.dial(i.server.scaler), grpc.WithTransportCredentials(roots))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = externalscaler.NewExternalScalerClient(conn).GetMetricSpec(t.Context(), &externalscaler.ScaledObjectRef{
		Name: "spread", Namespace: i.namespace,
		ScalerMetadata: map[string]string{"preset": "vllm", "model": "spread", "maxReplicas": "4", "concurrency": "1", "forecastMode": "off"},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// refusedNothing checks that everything the instance has asked the API server for was granted.
func (i *identity) refusedNothing(t *testing.T) {
	t.Helper()
	for _, ev := range i.audit(t, account(i.namespace, i.account)) {
		if ev.ResponseStatus.Code == 403 {
			t.Errorf("refused: %+v", ev)
		}
	}
}

// costWritten checks the deletion cost of the replica on the fall-back node.
func (i *identity) costWritten(ctx context.Context) error {
	pods, err := i.clients.CoreV1().Pods(i.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var placed []string
	for n := range pods.Items {
		p := &pods.Items[n]
		cost := p.Annotations[link.CostAnnotation]
		if strings.Contains(p.Spec.NodeName, "on-demand") && cost == fmt.Sprint(link.CostFallBack) {
			return nil
		}
		placed = append(placed, fmt.Sprintf("%s on %q with cost %q", p.Name, p.Spec.NodeName, cost))
	}
	return fmt.Errorf("no deletion cost: %v", placed)
}

// wrote checks that a permission was used.
func (i *identity) wrote(t *testing.T, resource, verb string) error {
	t.Helper()
	for _, ev := range i.audit(t, account(i.namespace, i.account)) {
		if ev.ObjectRef.Resource == resource && ev.Verb == verb {
			return nil
		}
	}
	return fmt.Errorf("no %s of %s", verb, resource)
}

// refused checks that the API server has refused what is missing and nothing else.
func (i *identity) refused(t *testing.T, g grant) error {
	t.Helper()
	found := false
	for _, ev := range i.audit(t, account(i.namespace, i.account)) {
		if ev.ResponseStatus.Code != 403 {
			continue
		}
		o := ev.ObjectRef
		if o.APIGroup != g.group || o.Resource != g.resource || !slices.Contains(g.verbs, ev.Verb) || (g.name != "" && o.Name != "" && o.Name != g.name) {
			t.Errorf("refused although it is granted: %+v", ev)
		}
		found = true
	}
	if !found {
		return errors.New("nothing was refused")
	}
	return nil
}

// said checks that the log names the resource and the refusal.
func (i *identity) said(g grant) error {
	log, err := os.ReadFile(i.server.process.Log)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte("forbidden")) && bytes.Contains(line, []byte(g.resource)) {
			return nil
		}
	}
	return fmt.Errorf("no line about %s: %s", g.resource, i.server.process.Output())
}

// Each half for itself, with the account that the chart gives it with split topology, is refused nothing and uses
// everything that it has.
func TestEachHalfHasWhatItNeeds(t *testing.T) {
	e := running(t)
	config, err := e.writeConfig("permissions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const namespace = "permissions-split"
	if err := e.applyText(t.Context(), fmt.Sprintf(spread, namespace)); err != nil {
		t.Fatal(err)
	}
	bound := e.splitAccounts(t, namespace)
	if len(bound) != 2 {
		t.Fatalf("%d accounts", len(bound))
	}
	spot, onDemand := e.spreadNodes(t)
	halves := map[string]*identity{}
	for _, half := range []string{"expander", "scaler"} {
		i := e.instanceAs(t, namespace, "split-warmpool-"+half, config)
		i.server.half, i.server.env = half, []string{"KUBE_FEATURE_WatchListClient=false"}
		i.work(t, spot, onDemand)
		halves[half] = i
	}
	eventually(t, 3*time.Minute, "each uses what it may", func() (err error) {
		used := map[string]map[permission]bool{}
		for _, i := range halves {
			i.ask(t, spot, onDemand)
			used[i.account] = map[permission]bool{}
			for _, ev := range e.audit(t, account(namespace, i.account)) {
				used[i.account][permission{ev.ObjectRef.APIGroup, ev.ObjectRef.Resource, ev.Verb}] = true
			}
		}
		one, other := halves["expander"].account, halves["scaler"].account
		for name, granted := range bound {
			for _, p := range granted {
				// What both share is made by the one that comes first.
				shared := p.resource == "configmaps" && (used[one][p] || used[other][p])
				if !used[name][p] && !shared {
					err = errors.Join(err, fmt.Errorf("%s: nothing used %+v", name, p))
				}
			}
		}
		return err
	})
	for _, i := range halves {
		i.refusedNothing(t)
	}
}

// splitAccounts installs the accounts and roles of the chart with split topology, and says what each may do.
func (e *environment) splitAccounts(t *testing.T, namespace string) map[string][]permission {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, ".cache", "bin", "helm"), "template", "split", filepath.Join(root, "deploy/helm/warmpool"),
		"--namespace", namespace, "--values", "testdata/values.yaml", "--set", "topology=split").Output()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := decode(out)
	if err != nil {
		t.Fatal(err)
	}
	rules, bound := map[string][]permission{}, map[string][]permission{}
	for _, bindings := range []bool{false, true} { // roles come first
		for _, o := range objects {
			binding := strings.HasSuffix(o.GetKind(), "RoleBinding")
			if o.GroupVersionKind().Group != rbacv1.GroupName && o.GetKind() != "ServiceAccount" || binding != bindings {
				continue
			}
			if err := e.apply(t.Context(), false, o); err != nil {
				t.Fatal(err)
			}
			switch {
			case binding:
				var b rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
				convert(t, o, &b)
				for _, s := range b.Subjects {
					bound[s.Name] = append(bound[s.Name], rules[b.RoleRef.Name]...)
				}
			case o.GetKind() != "ServiceAccount":
				var r rbacv1.Role
				convert(t, o, &r)
				rules[o.GetName()] = permissions(r.Rules)
			}
		}
	}
	return bound
}

// spreadNodes are a spot node and the on-demand node that was taken when spot was out of stock.
func (e *environment) spreadNodes(t *testing.T) (spot, onDemand *nodeGroup) {
	t.Helper()
	labels := func(spot string) map[string]string {
		return map[string]string{"node-role": "elastic", "spot": spot, "permissions": "true"}
	}
	spot = &nodeGroup{id: "permissions-spot", largest: 9, gpus: 64, taint: "elastic", labels: labels("true")}
	onDemand = &nodeGroup{id: "permissions-on-demand", largest: 9, gpus: 64, taint: "elastic", labels: labels("false")}
	for _, g := range []*nodeGroup{spot, onDemand} {
		node := g.node(g.id + "-1")
		if _, err := e.clients.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.clients.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}) })
	}
	return spot, onDemand
}

// The permission to patch pods is for all of a pod; the chart's policy leaves the deletion cost of it.
func TestOnlyTheDeletionCostMayBePatched(t *testing.T) {
	e := running(t)
	config, err := e.restConfig(e.warmpool.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	err = e.applyText(t.Context(), `
apiVersion: v1
kind: Pod
metadata: {name: patched, namespace: e2e, labels: {app: patched}, annotations: {note: before}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: engine, image: engine}]
`)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = e.clients.CoreV1().Pods("e2e").Delete(context.Background(), "patched", metav1.DeleteOptions{})
	})
	patch := func(text string) error { // nothing stays, so that the order does not matter
		dry := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
		_, err := ours.CoreV1().Pods("e2e").Patch(t.Context(), "patched", types.StrategicMergePatchType, []byte(text), dry)
		return err
	}
	for name, text := range map[string]string{
		"label":              `{"metadata":{"labels":{"app":"other"}}}`,
		"new label":          `{"metadata":{"labels":{"more":"x"}}}`,
		"annotation":         `{"metadata":{"annotations":{"note":"after"}}}`,
		"annotation removed": `{"metadata":{"annotations":{"note":null}}}`,
		"new annotation":     `{"metadata":{"annotations":{"more":"x"}}}`,
		"image":              `{"spec":{"containers":[{"name":"engine","image":"other"}]}}`,
		"finalizer":          `{"metadata":{"finalizers":["example.com/kept"]}}`,
		"cost and more":      `{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-1020","more":"x"}}}`,
	} {
		eventually(t, 30*time.Second, name, func() error { return refusedBy(patch(text), "may change nothing of a pod but") })
	}
	if err := patch(`{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-1020"}}}`); err != nil {
		t.Errorf("the deletion cost cannot be written: %v", err)
	}
}
