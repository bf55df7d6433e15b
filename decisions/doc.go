// Package decisions keeps what warmpool decided and why.
//
// A [Log] holds the newest decisions of both halves in memory, hands them to readers and watchers, and can append
// them to a file of JSON lines. Adding a decision never waits: a slow file or a slow watcher loses records, and the
// loss is counted, but the engine is not held up. The record is the decision value itself, as the pure cores return
// it; nothing is computed a second time and no metadata value or credential ever enters it.
//
// [WriteExpander] and [WriteScaler] render a decision for people. [Comparison] answers the question that observe
// mode is there for: what would have been different, and what is that worth.
package decisions
