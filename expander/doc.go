// Package expander decides which node group the Cluster Autoscaler should grow.
//
// It is a pure function: [Select] takes a compiled [Policy], what is known of the cluster ([View]), the options of
// one request ([Request]), what was learnt so far ([History]) and the time, and returns a [Decision] that carries
// every option with the reason it was rejected or the numbers it was ranked by, together with the next History.
// Nothing here reads a clock, a file, the network or a random source, so production, the offline explain command
// and the replay benchmark run the same code and get the same answer.
//
// # The way of a request
//
// Each pod belongs to the first workload that matches. Isolation comes first: an option is dropped for good if any
// pod it serves may not grow its pool. The other filters are preferences in a fixed order, each relaxed rather than
// leaving nothing: zone cap, failure memory, CPU-only pods on accelerator groups, GPU memory, resource claims,
// sharing, GPU shape. Among the workloads that could be served one goes first, by starvation, priority and age. Its
// stage is the first whose budget of attempts or waiting is not used up and which has an option. Inside the stage the
// criteria of the rank are applied one after the other, and ties are broken so that exactly one group is answered, or
// everything passes through, or nothing is grown.
//
// The default rank is "dollars bought per dollar needed": n·P / Σ v(p) · P^0.10, where v(p) is the least that pod p
// can cost on any group it fits. Without any price it is idle accelerators, then CPU and memory.
//
// # History
//
// The [History] holds when pods were first seen, what was chosen for them, and which groups failed, proven or only
// suspected. It is bounded, versioned JSON, and [MergeHistory] joins those of several instances in any order.
//
// Beside the choice there are [Lint] and [SimilarGroups] for traps in the templates, [DetectStall] for a Cluster
// Autoscaler that has stopped asking, and the package builtin with its own expanders as rivals.
package expander
