// Package keda is a model of KEDA 2.15 to 2.21 as the client of an external scaler: which value it reads from an answer,
// when it wakes a workload or sends it to sleep, what its fallback serves, and which settings of a ScaledObject lose
// capacity in an outage. It is pure and knows no transport; simulation, tests and lint use it.
package keda
