package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/warmpool/warmpool/bench/load/caclient"
)

// A service on spot: it falls back to on-demand during an outage; while nothing can be had its pods do not multiply; spot
// returns; when the traffic falls the on-demand nodes are empty first; and a machine that is given notice has a ready
// replacement before it is lost. Nothing flaps in between.
func TestServiceOnSpot(t *testing.T) {
	e := running(t)
	_, spot, onDemand := pools("link")
	spot.stock, spot.largest = 2, 20
	onDemand.stock, onDemand.largest = 1, 20
	p := e.provision(t, caclient.Release{Minor: 36, Patch: 1}, "e2e", spot, onDemand)
	p.online(t, "spot")
	e.exporter.load("spot", 3)
	w := p.scales(t, "spot")

	// The cloud has two spot machines; the third replica falls back to the only on-demand one.
	w.reaches(t, 3, 90*time.Second)
	p.runs(t, "spot", map[*nodeGroup]int{spot: 2, onDemand: 1})

	// Neither group has another one: the demand grows, the pods do not.
	e.exporter.load("spot", 4)
	w.reaches(t, 4, 60*time.Second)
	eventually(t, 90*time.Second, "warmpool says that there is no capacity", func() error {
		d, err := w.decision()
		if err == nil && !strings.Contains(d.Text, "no capacity until") {
			err = fmt.Errorf("it says %q%s", d.Text, p.history())
		}
		return err
	})
	e.exporter.load("spot", 12)
	for end := time.Now().Add(4 * hpaSync); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if n, err := w.replicas(t.Context()); err != nil || n > 5 { // one retry surge
			t.Fatalf("%d replicas without capacity (error %v), want 5 at most; %s", n, err, w.explain())
		}
	}

	w.reaches(t, 5, 30*time.Second)
	e.exporter.load("spot", 6)
	w.holds(t, 5, 2*hpaSync)

	// Spot returns, and everything that waits gets it.
	p.change(func() { spot.stock, spot.backoff = -1, time.Time{} })
	w.reaches(t, 6, 90*time.Second)
	p.runsOneOf(t, "spot", map[*nodeGroup]int{spot: 5, onDemand: 1}, map[*nodeGroup]int{spot: 6})
	w.holds(t, 6, 2*hpaSync)

	// The traffic falls: what fell back goes first, and its node with it. It has gone already where a replica that stood in
	// for a slow one was taken back.
	fallenBack := p.onGroup(t, "spot", onDemand) > 0
	if fallenBack {
		eventually(t, 30*time.Second, "the replica on on-demand is marked to go first", func() error {
			pods, err := p.pods(t.Context(), "spot")
			for i := range pods {
				if cost := pods[i].Annotations["controller.kubernetes.io/pod-deletion-cost"]; cost != "" && strings.HasPrefix(pods[i].Spec.NodeName, onDemand.id) {
					return nil
				}
			}
			return fmt.Errorf("no cost on any of %d pods, error %w", len(pods), err)
		})
	}
	e.exporter.load("spot", 5)
	w.reaches(t, 5, 60*time.Second)
	p.runs(t, "spot", map[*nodeGroup]int{spot: 5})
	gone := p.removeEmpty(t)
	if !slices.Contains(gone, onDemand.id) || fallenBack && slices.Contains(gone, spot.id) {
		t.Errorf("the empty nodes were of %v, want the one of %s", gone, onDemand.id)
	}
	w.holds(t, 5, 2*hpaSync)
	p.change(func() { onDemand.stock, onDemand.backoff = -1, time.Time{} }) // spot that was just lost is left alone
	p.loses(t, w, spot)
}

// loses gives notice to the node of one replica, and takes it two minutes later at most: as soon as the replacement serves.
func (p *provisioner) loses(t *testing.T, w workload, g *nodeGroup) {
	t.Helper()
	ctx := t.Context()
	pods, err := p.pods(ctx, w.name)
	if err != nil || len(pods) == 0 {
		t.Fatalf("%d pods, %v", len(pods), err)
	}
	lost, n := pods[0], len(pods)
	taint := fmt.Appendf(nil, `{"spec":{"taints":[{"key":"workload","value":%q,"effect":"NoSchedule"},{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"},{"key":"aws-node-termination-handler/spot-itn","value":"now","effect":"NoSchedule"}]}}`, g.taint)
	if _, err := p.clients.CoreV1().Nodes().Patch(ctx, lost.Spec.NodeName, types.MergePatchType, taint, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	noticed := time.Now()
	err = poll(2*time.Minute, func() error {
		pods, err := p.pods(ctx, w.name)
		if err == nil && len(pods) < n+1 {
			err = fmt.Errorf("%d pods run, want one more than %d", len(pods), n)
		}
		return err
	})
	if err != nil {
		t.Fatalf("the replacement does not serve before the machine goes: %v; %s%s", err, w.explain(), p.history())
	}
	t.Logf("the replacement served %v after the notice", time.Since(noticed).Round(100*time.Millisecond))
	none := int64(0)
	if err := p.clients.CoreV1().Nodes().Delete(ctx, lost.Spec.NodeName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.clients.CoreV1().Pods("e2e").Delete(ctx, lost.Name, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Logf("the pod went with its node: %v", err)
	}
	w.reaches(t, n, 60*time.Second)
	w.holds(t, n, 3*hpaSync)
	if pods, err := p.pods(ctx, w.name); err != nil || len(pods) != n {
		t.Errorf("%d pods run after the loss, want %d (error %v)", len(pods), n, err)
	}
}

// scales puts the example ScaledObject over the Deployment.
func (p *provisioner) scales(t *testing.T, name string) workload {
	t.Helper()
	so := p.scaledObject(t, name, "scaledobject.yaml")
	if err := p.apply(t.Context(), false, so); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r, err := p.resource(scaledObjects, "e2e"); err == nil {
			_ = r.Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
	return workload{p.environment, name}
}

// change changes the groups between two loops.
func (p *provisioner) change(what func()) {
	done := make(chan struct{})
	p.changes <- func() { what(); close(done) }
	<-done
}

// pods are the running pods of a service, not those on their way out.
func (p *provisioner) pods(ctx context.Context, name string) ([]corev1.Pod, error) {
	list, err := p.clients.CoreV1().Pods("e2e").List(ctx, metav1.ListOptions{LabelSelector: "app=" + name, FieldSelector: "status.phase=Running"})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }), nil
}

// runs waits until the pods of a service run on nodes of these groups.
func (p *provisioner) runs(t *testing.T, name string, want map[*nodeGroup]int) {
	t.Helper()
	p.runsOneOf(t, name, want)
}

// runsOneOf waits until the pods of a service are spread in one of these ways.
func (p *provisioner) runsOneOf(t *testing.T, name string, wants ...map[*nodeGroup]int) {
	t.Helper()
	err := poll(2*time.Minute, func() error {
		found := map[*nodeGroup]int{}
		for _, g := range p.groups {
			if n := p.onGroup(t, name, g); n > 0 {
				found[g] = n
			}
		}
		if slices.ContainsFunc(wants, func(want map[*nodeGroup]int) bool { return maps.Equal(want, found) }) {
			return nil
		}
		var text []string
		for _, g := range p.groups {
			text = append(text, fmt.Sprintf("%d replicas run on %s, want %d", found[g], g.id, wants[0][g]))
		}
		return errors.New(strings.Join(text, ", "))
	})
	if err != nil {
		t.Fatalf("%v%s", err, p.history())
	}
}

// onGroup counts the replicas of a service that run on nodes of a group.
func (p *provisioner) onGroup(t *testing.T, name string, g *nodeGroup) (n int) {
	t.Helper()
	pods, err := p.pods(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		if strings.HasPrefix(pods[i].Spec.NodeName, g.id+"-") {
			n++
		}
	}
	return n
}

// removeEmpty removes the nodes without pods, as the Cluster Autoscaler does after ten minutes, and names their groups.
func (p *provisioner) removeEmpty(t *testing.T) (groups []string) {
	t.Helper()
	ctx := t.Context()
	pods, err := p.clients.CoreV1().Pods("e2e").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range p.groups {
		nodes, err := p.clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + g.id})
		if err != nil {
			t.Fatal(err)
		}
		for i := range nodes.Items {
			name := nodes.Items[i].Name
			if slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.NodeName == name }) {
				continue
			}
			groups = append(groups, g.id)
			if err := p.clients.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return groups
}
