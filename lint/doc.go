// Package lint finds settings of a cluster that cost GPU time, or that keep warmpool from doing what it decided: a
// disruption budget that blocks every drain, a scaler without tolerance, a node group that cannot start from zero.
//
// It is a pure function over decoded objects. [Parse] reads manifests, [NewSet] connects them (which pods a budget means,
// which scaler moves a workload, which pools a pod fits), and [Run] applies [Rules]. A rule reports what it can prove
// from the objects that are there; what it would need and does not find makes it silent, so that one file can be checked
// alone and a folder without node pools gives no false alarm.
package lint
