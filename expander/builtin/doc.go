// Package builtin has the expanders that the Cluster Autoscaler brings along, by their exact rules, so that they can
// be replayed as rivals and named in a decision.
//
// Each takes a request and returns the ids of the groups that it keeps, in the order of the request; ties are all
// kept, as the Cluster Autoscaler keeps them and then draws at random. The rules are those of its releases 1.33 to
// 1.36 (Cluster Autoscaler contract, built-in expanders).
package builtin
