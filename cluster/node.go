package cluster

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/link"
)

// node is what is kept of a node.
type node struct {
	metav1.ObjectMeta
	// labels are those that a whole group may have in common, see encodeLabels; all nodes of a group share one copy.
	labels unique.Handle[string]
	// caches are the model-cache labels that say so, sorted.
	caches []string
	ready  bool
	// reclaimed nodes carry a notice of the provider; leaving ones are taken away by an autoscaler. A cordon tells
	// neither: the handlers of reclaim notices cordon as people do.
	reclaimed, leaving bool
	// notice is what announces the end of the machine; noticed tells whether anything does.
	notice  link.Notice
	noticed bool
	// accelerators is how many the node advertises.
	accelerators int64
}

// The taints by which termination handlers and controllers of the clouds announce that a machine is taken back.
var reclaimTaints = []string{
	"aws-node-termination-handler/spot-itn",
	"cloud.google.com/impending-node-termination",
	"kubernetes.azure.com/preempted",
	"node.cloudprovider.kubernetes.io/shutdown",
}

// The taints of those who take nodes away on purpose.
var leavingTaints = []string{
	"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption",
	"aws-node-termination-handler/scheduled-maintenance", "aws-node-termination-handler/asg-lifecycle-termination",
}

// ownerLabel stands for the owner of a Cluster API machine, which is in annotations. No label key looks like it.
const ownerLabel = "~cluster-api-owner"

const (
	apiOwnerKind      = "cluster.x-k8s.io/owner-kind"
	apiOwnerName      = "cluster.x-k8s.io/owner-name"
	apiOwnerNamespace = "cluster.x-k8s.io/cluster-namespace"
)

const cachePrefix, cached = "model-cache.ai/", "cached"

// trimNode keeps of a node what is used.
func trimNode(o any) (any, error) {
	full, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	n := &node{
		ObjectMeta: metav1.ObjectMeta{
			Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion, CreationTimestamp: full.CreationTimestamp,
		},
	}
	for key, value := range full.Labels {
		if strings.HasPrefix(key, cachePrefix) && value == cached {
			n.caches = append(n.caches, unique.Make(key).Value())
		}
	}
	slices.Sort(n.caches)
	labels := full.Labels
	if owner := full.Annotations[apiOwnerName]; owner != "" {
		labels = make(map[string]string, len(full.Labels)+1)
		maps.Copy(labels, full.Labels)
		labels[ownerLabel] = full.Annotations[apiOwnerKind] + "/" + full.Annotations[apiOwnerNamespace] + "/" + owner
	}
	n.labels = unique.Make(encodeLabels(labels))
	for _, condition := range full.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			n.ready = condition.Status == corev1.ConditionTrue
		}
	}
	for _, t := range full.Spec.Taints {
		n.reclaimed = n.reclaimed || slices.Contains(reclaimTaints, t.Key)
		n.leaving = n.leaving || slices.Contains(leavingTaints, t.Key)
	}
	n.notice, n.noticed = link.ReadNotices(marksOf(full), time.Now())
	for name, quantity := range full.Status.Allocatable {
		if whole := quantity.Value(); whole > 0 {
			n.accelerators += expander.Accelerators{}.Accelerated(map[string]int64{string(name): whole})
		}
	}
	return n, nil
}

// encodeLabels writes labels in one string, sorted, without those of a single machine.
func encodeLabels(labels map[string]string) string {
	keys := make([]string, 0, len(labels))
	size := 0
	for key, value := range labels {
		if !perMachine(key) {
			keys = append(keys, key)
			size += len(key) + len(value) + 2
		}
	}
	slices.Sort(keys)
	var text strings.Builder
	text.Grow(size)
	for _, key := range keys {
		text.WriteString(key)
		text.WriteByte('=')
		text.WriteString(labels[key])
		text.WriteByte('\n')
	}
	return text.String()
}

// decodeLabels reads what encodeLabels wrote. Neither keys nor values of labels contain its separators.
func decodeLabels(text string) map[string]string {
	labels := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		labels[key] = value
	}
	return labels
}

// perMachine tells labels that belong to one machine and not to its group: a template made from a running node
// carries them all the same.
func perMachine(key string) bool {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok {
		name = prefix
	}
	switch {
	case strings.HasPrefix(key, cachePrefix):
		return true
	case strings.HasSuffix(name, "hostname"), strings.HasSuffix(name, "instance-id"), strings.HasSuffix(name, "machine-id"):
		return true
	case strings.HasSuffix(name, "timestamp"), strings.HasSuffix(name, "provider-id"), name == "template-node":
		return true
	}
	return false
}

// late tells labels that a node gets only after it joined, from feature discovery and device plugins, and those that
// an upgrade changes node by node. They tell nothing about the group.
func late(key string) bool {
	for _, prefix := range []string{"nvidia.com/", "amd.com/", "gpu.intel.com/", "feature.node.kubernetes.io/", "beta.kubernetes.io/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return strings.HasSuffix(key, "/node-image-version") || strings.Contains(key, "kernel") || strings.HasSuffix(key, "-version")
}
