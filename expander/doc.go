// Package expander decides which node group the Cluster Autoscaler should grow.
//
// It is a pure function: [Select] takes a compiled [Policy], what is known of the cluster ([View]), the options of
// one request ([Request]), what was learnt so far ([History]) and the time, and returns a [Decision] that carries
// every option with the reason it was rejected or the numbers it was ranked by, together with the next History.
// Nothing here reads a clock, a file, the network or a random source, so production, the offline explain command
// and the replay benchmark run the same code and get the same answer.
//
// The way of a request: classify each pod into its workload, drop options by hard filters (isolation first), take
// the first stage of the most urgent workload that still has an option, rank inside it, and answer exactly one
// group - or pass everything through, or veto.
package expander
