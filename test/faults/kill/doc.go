// Command kill starts warmpool under load, kills it with SIGKILL at random moments, and checks what is on disk and what
// the next start makes of it:
//
//	go run ./test/faults/kill -n 1000 -seed 1
//
// After every kill, each file of the data directory must be the one from before a write or the one after it, never a
// part: the history of the expander, overrides and freezes, the store of what was learnt, and every line of the decision
// log but the one that was being written. What was acknowledged must be there: an override that was accepted, and the
// choice that was answered last. Clients must never see a target below the right one, or zero; no answer is allowed.
//
// It kills the processes that it has started, by their process id, and no other.
package main
