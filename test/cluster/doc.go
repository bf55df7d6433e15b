// Package cluster runs warmpool on a real control plane: etcd, kube-apiserver, the controller manager with its horizontal
// pod autoscaler, the scheduler, simulated nodes (kwok), KEDA and Prometheus, all as plain processes on 127.0.0.1.
//
// The tests run with `make e2e`, which builds the processes once (tools/control-plane); without it they are skipped.
// A small node provisioner in the tests stands in for the Cluster Autoscaler: it asks warmpool's expander exactly as each
// release does and makes simulated nodes.
package cluster
