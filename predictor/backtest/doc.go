// Package backtest measures forecasts by what they cost: replica-hours and
// under-provisioned time of the predictor, of a reactive policy and of an
// oracle, walking forward through a recorded series without looking ahead.
//
// A decision falls at the end of interval t, knows the values up to t, and is
// ready at the start of interval t + h, h = 1 + ceil(lead/step). The first half
// of a series warms up, the second half is scored. Policies are compared at the
// same share of short steps, by sweeping one number each, and at the share that
// they reach when that number is steered without hindsight.
package backtest
