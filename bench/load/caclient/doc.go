// Package caclient is a BestOptions client that behaves as the Cluster Autoscaler does.
//
// It dials as the Cluster Autoscaler dials (TLS with a CA file as the only root, host name check, no client
// certificate, no waiting, no retries, 5 s per call), sends the fields that the given [Release] sends, and reads
// the answer as that release reads it. Tests, the demo and the load benchmark use it in place of a cluster.
package caclient
