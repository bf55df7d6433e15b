// Command warmpool keeps GPU inference on Kubernetes warm: it answers the Cluster Autoscaler which node group to grow,
// and KEDA how many replicas to run. Run "warmpool help" for the subcommands.
package main
