// Package cluster reads a Kubernetes cluster: the one place that talks to its API server.
//
// [New] makes a [Cluster] from clients, [Connect] the clients from a kubeconfig file or from the service account of a
// pod. [Cluster.Run] keeps informers until its context ends. Every answer comes from memory:
//
//   - [Cluster.ExpanderView]: node groups, what the Cluster Autoscaler says of them, failed scale-ups, spot losses;
//   - [Cluster.Pods], [Cluster.Replicas]: the scale target of a scaled object, in scale units;
//   - [Cluster.Stalls]: pods that wait for a GPU while the Cluster Autoscaler is silent;
//   - [History]: what the instances of the expander have learnt, in one ConfigMap;
//   - [Notes]: what one half of the program tells the other, in another one.
//
// # Without a permission, without a connection
//
// Every source is optional. One that is forbidden, or not installed, is reported once and what it would tell stays
// unknown. When the connection is lost the last view stays, with its time in [expander.View].At and in the metric
// warmpool_cluster_view_age_seconds; ages of starting pods stop there, so that nothing looks stuck because nobody
// looked. After five minutes the view no longer counts as known: then coming back pods tell of failures again.
//
// # What tells a failure
//
// A view is known only while the Cluster Autoscaler keeps its status up to date. Nodes alone prove deliveries, not
// failures.
//
// # Which node belongs to which group
//
// Kubernetes does not know node groups. A node belongs to the group whose template carries the same labels, those of
// a single machine left out; the labels of the providers (nodegroup, agentpool and so on) decide first, also by the
// form of the group's id where no template was seen yet. Where two groups fit equally well, the group is unknown, and
// so are the counts of both.
//
// # Memory
//
// Objects are cut down before they are cached, see the benchmark: an object takes 600 to 700 bytes.
package cluster
