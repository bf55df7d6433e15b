// Package predictor forecasts the traffic of a service and says how many
// replicas to have ready for it.
//
// Seven cheap forecasts (last value, yesterday, last week, double-seasonal
// smoothing, three mixes of the days most like today scaled to today's level)
// are weighted by how they did lately. The size of their error is learnt by
// clock time, and the order is the replica count at which one more replica
// costs more than the shortage it avoids. What is ordered now is the largest
// order for any slot that begins before a replica ordered now is ready. A
// forecast alone never removes capacity.
//
// A [Service] is fed one rate a slot by [Service.Observe] and asked at any time
// by [Service.Plan]. Nothing is fitted: it learns slot by slot, and everything
// it knows at a slot follows from the rates up to that slot. Its state is
// saved by [Service.MarshalBinary]; without it, replaying the rates gives nearly
// the same orders.
//
// The package reads no clock and does no input or output. Times are instants;
// "a day earlier" always means the same wall clock time one local day earlier.
// A missing rate is not zero: it teaches nothing and is no analog.
package predictor
