// Package link holds the rules between the two halves: what the choice of nodes and the number of replicas owe each
// other when services run on capacity that can be taken away.
//
// Each rule is a function of its arguments and of a small state that it returns:
//
//   - [PlanCosts]: at scale-in the replicas on fall-back on-demand nodes go first, so that those nodes empty;
//   - [ReadNotices], [Watch]: a replica whose machine was given notice is replaced at once, and only once;
//   - [Suspect]: a node that takes longer than its pool usually does counts as missing, once;
//   - [Supply]: when nothing can be had, until when, and which limit bounds the useful number of replicas;
//   - [AdviseBase], [AdviseReturn]: advice in words that changes nothing;
//   - [Ledger]: what a service runs on, for people.
//
// The package reads no clock and does no input or output; a missing fact is never read as a bad one: a pool of which
// nothing is known may deliver, a node without a learnt boot time is not late.
package link
