package config

import "strings"

// The queries of [Service].Pods, in this order.
const (
	// PodsReady is the number of ready scale units.
	PodsReady = iota
	// PodsReplicas is the present number of replicas as the autoscaler counts it.
	PodsReplicas
	// PodsStarting has one row for each unit that is not ready: when it was created, in seconds since 1970.
	PodsStarting
	// PodsStarts has one row for each ready unit: how long its start took, in seconds.
	PodsStarts
	// PodsBecameReady is when a unit last became ready, in seconds since 1970.
	PodsBecameReady

	podQueries
)

const (
	kubeStateMetrics = "kube-state-metrics"
	// workloadLabel is what the queries of kube-state-metrics call the workload, whatever its kind is.
	workloadLabel = "workload"
	// longestStart is what a start may take; more is a pod that lost and regained its readiness.
	longestStart = "21600"
)

// podTemplates read kube-state-metrics for all workloads at once. In them
//
//	$ns, $pod  become the label names of namespace and pod
//	$of        becomes a series that names the workload of each pod
//
// Series are aggregated by what names their object first: shards and replicas of the exporter may overlap for a while.
// A pod's workload is the owner of its ReplicaSet (Deployment, Rollout), else its own owner (StatefulSet; the leaders of
// a LeaderWorkerSet, one for each group). The autoscaler's status counts for kinds that have no series of their own.
var podTemplates = [podQueries]string{
	PodsReady: `max by ($ns, workload) (` +
		named("kube_deployment_status_replicas_ready", "deployment") + ` or ` + named("kube_statefulset_status_replicas_ready", "statefulset") +
		`) or on ($ns, workload) sum by ($ns, workload) (max by ($ns, $pod) (kube_pod_status_ready{condition="true"}) * on ($ns, $pod) group_left (workload) $of)`,
	PodsReplicas: `max by ($ns, workload) (` +
		named("kube_deployment_spec_replicas", "deployment") + ` or ` + named("kube_statefulset_replicas", "statefulset") +
		`) or on ($ns, workload) max by ($ns, workload) (` +
		`max by ($ns, horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_current_replicas) * on ($ns, horizontalpodautoscaler) group_left (workload) ` +
		`max by ($ns, horizontalpodautoscaler, workload) (` + named("kube_horizontalpodautoscaler_info", "scaletargetref_name") + `))`,
	PodsStarting: `max by ($ns, $pod) (kube_pod_created) * on ($ns, $pod) group_left (workload) $of` +
		` unless on ($ns, $pod) kube_pod_status_ready{condition="true"} == 1` +
		` unless on ($ns, $pod) kube_pod_status_phase{phase=~"Succeeded|Failed"} == 1` +
		` unless on ($ns, $pod) kube_pod_deletion_timestamp`,
	PodsStarts: `(max by ($ns, $pod) (kube_pod_status_ready_time) - on ($ns, $pod) max by ($ns, $pod) (kube_pod_created)) ` +
		`* on ($ns, $pod) group_left (workload) $of <= ` + longestStart +
		` unless on ($ns, $pod) sum by ($ns, $pod) (kube_pod_container_status_restarts_total) > 0`,
	PodsBecameReady: `max by ($ns, workload) (max by ($ns, $pod) (kube_pod_status_ready_time) * on ($ns, $pod) group_left (workload) $of)`,
}

// podsWorkload has the value 1 for each pod, with the name of its workload.
var podsWorkload = `max by ($ns, $pod, workload) (` + named(`kube_pod_owner{owner_kind!="ReplicaSet",owner_is_controller="true"}`, "owner_name") +
	` or label_replace(kube_pod_owner{owner_kind="ReplicaSet",owner_is_controller="true"}, "replicaset", "$1", "owner_name", "(.+)")` +
	` * on ($ns, replicaset) group_left (workload) max by ($ns, replicaset, workload) (` +
	named(`kube_replicaset_owner{owner_is_controller="true"}`, "owner_name") + `))`

// named copies a label into the one that all kinds share.
func named(series, label string) string {
	return `label_replace(` + series + `, "` + workloadLabel + `", "$1", "` + label + `", "(.+)")`
}

// pods gives the queries that stand in for a view of the cluster, nil unless they are asked for.
func (b *serviceBuilder) pods() []Query {
	s := b.entry
	if s.Startup.Metrics != kubeStateMetrics {
		if s.Startup.Workload != "" {
			b.warnf("workload-unused", b.keyPath("startup.workload"), "nothing reads it; set metrics to %s", kubeStateMetrics)
		}
		return nil
	}
	workload := s.Startup.Workload
	if workload == "" {
		workload = s.Name
	}
	labels := b.file.Prometheus.Labels
	by := []string{labels.StateNamespace, workloadLabel}
	match := map[string]string{labels.StateNamespace: s.Namespace, workloadLabel: workload}
	builder := b.queryBuilder()
	queries := make([]Query, podQueries)
	for i, template := range podTemplates {
		expr := builder.common("pods "+template, func() string {
			text := strings.ReplaceAll(template, "$of", podsWorkload)
			return strings.NewReplacer("$ns", labels.StateNamespace, "$pod", labels.StatePod).Replace(text)
		})
		queries[i] = Query{Expr: expr, By: by, Match: match, Scale: 1, EveryRow: i == PodsStarting || i == PodsStarts}
	}
	return queries
}
