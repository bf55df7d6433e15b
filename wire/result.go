package wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/warmpool/warmpool/expander"
)

// result decodes the distinct objects that are used and puts the request together.
func (d *decoder) result() (expander.Request, Stats, error) {
	stats := Stats{
		Bytes:   d.pos,
		Options: len(d.options),
		Typed:   d.nodeTyped != nil,
		AsBytes: d.nodeBytes != nil,
	}
	req := expander.Request{Options: make([]expander.Option, 0, len(d.options))}
	index := newPodIndex(len(d.pods.items))
	for i := range d.options {
		o := &d.options[i]
		stats.Typed = stats.Typed || len(o.typed) > 0
		stats.AsBytes = stats.AsBytes || len(o.bytes) > 0
		stats.PodEntries += len(o.used())
		if len(o.used()) == 0 {
			stats.OptionsWithoutPods++
		}
		req.Options = append(req.Options, expander.Option{
			GroupID:   o.id,
			NodeCount: int(o.count),
			Pods:      index.option(i, o.used()),
		})
	}
	var err error
	if req.Pods, err = d.decodePods(index.order); err != nil {
		return expander.Request{}, Stats{}, err
	}
	if req.Groups, err = d.decodeGroups(); err != nil {
		return expander.Request{}, Stats{}, err
	}
	stats.DistinctPods, stats.Groups = len(req.Pods), len(req.Groups)
	return req, stats, nil
}

// podIndex renumbers distinct pods in order of first use; those of a field that is not used are left out.
type podIndex struct {
	// place is the new number of a distinct pod, or -1; listed is the last option that had it, or -1.
	place, listed []int32
	// order holds the distinct pods in their new order.
	order []int32
}

func newPodIndex(pods int) *podIndex {
	unset := slices.Repeat([]int32{-1}, pods)
	return &podIndex{place: unset, listed: slices.Clone(unset)}
}

// option returns the new numbers of an option's pods, each once.
func (x *podIndex) option(option int, pods []int32) []int {
	if len(pods) == 0 {
		return nil
	}
	out := make([]int, 0, len(pods))
	for _, p := range pods {
		if x.listed[p] == int32(option) { //nolint:gosec // bounded by Limits.Options
			continue
		}
		x.listed[p] = int32(option) //nolint:gosec // bounded by Limits.Options
		if x.place[p] < 0 {
			x.place[p] = int32(len(x.order)) //nolint:gosec // bounded by Limits.Pods
			x.order = append(x.order, p)
		}
		out = append(out, int(x.place[p]))
	}
	return out
}

func (d *decoder) decodePods(order []int32) ([]expander.Pod, error) {
	if len(order) == 0 {
		return nil, nil
	}
	pods := make([]expander.Pod, 0, len(order))
	var reduced []byte
	for _, n := range order {
		var err error
		var pod corev1.Pod
		if reduced, err = d.reduce(podFields, reduced[:0], d.pods.items[n]); err == nil {
			err = pod.Unmarshal(reduced)
		}
		if err == nil {
			err = checkIdentity(&pod)
		}
		if err != nil {
			return nil, d.podError(n, err)
		}
		pods = append(pods, Pod(&pod))
	}
	return pods, nil
}

// maxIdentity is the longest name that the API server accepts; a uid is shorter.
const maxIdentity = 253

// checkIdentity refuses what no API server would have written: a pod is remembered for hours by these, so their length
// bounds the memory and the stored history.
func checkIdentity(p *corev1.Pod) error {
	for _, part := range []struct{ name, text string }{
		{"name", p.Name}, {"namespace", p.Namespace}, {"uid", string(p.UID)},
	} {
		if len(part.text) > maxIdentity {
			return fmt.Errorf("metadata.%s has %d bytes, the API server would write at most %d", part.name, len(part.text), maxIdentity)
		}
	}
	return nil
}

// podError names the first place at which a distinct pod is listed; a limit of the whole request has none.
func (d *decoder) podError(n int32, err error) error {
	if errors.Is(err, ErrLimit) {
		return err
	}
	for i := range d.options {
		if at := slices.Index(d.options[i].used(), n); at >= 0 {
			e := invalidf("not a serialised pod: %w", err)
			e.Option, e.GroupID, e.Field = i, d.options[i].id, fmt.Sprintf("pod[%d]", at)
			return e
		}
	}
	return err
}

func (d *decoder) decodeGroups() ([]expander.Group, error) {
	nodes := d.nodeBytes
	if len(nodes) == 0 {
		nodes = d.nodeTyped
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	groups, before := make([]expander.Group, 0, len(nodes)), d.held
	var reduced []byte
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		var err error
		var node corev1.Node
		if reduced, err = d.reduce(nodeFields, reduced[:0], nodes[id]); err == nil {
			err = node.Unmarshal(reduced)
		}
		if errors.Is(err, ErrLimit) {
			return nil, err
		}
		if err != nil {
			e := invalidf("not a serialised node: %w", err)
			e.GroupID, e.Field = id, "node"
			return nil, e
		}
		if d.held-before > int64(d.limits.GroupsHeld) {
			return nil, beyond("bytes to hold for node templates", d.limits.GroupsHeld)
		}
		groups = append(groups, Group(id, &node))
	}
	return groups, nil
}
