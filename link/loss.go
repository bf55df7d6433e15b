package link

import "time"

// LossWindow is how long losses count together: what a provider takes back in one go comes within minutes.
const LossWindow = 5 * time.Minute

// lossShare is the share of a pool's nodes that have to be lost together before the pool is doubted. Less is the usual
// coming and going of a large pool.
const lossShare = 0.1

// Reclaimed tells whether a pool that lost nodes within [LossWindow] is to be left alone for a while, as after a failed
// order: the provider takes machines back when it has none left to sell, so that the replacement, ordered from the same
// pool, would wait for a failure first. nodes are those that the pool has now, or had before; negative is unknown.
func Reclaimed(lost, nodes int) bool {
	return lost > 0 && nodes >= 0 && float64(lost) >= lossShare*float64(max(nodes, lost))
}
