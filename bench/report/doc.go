// Package report runs comparisons and writes them for people and for scripts: as JSON with a stable shape, as a text
// table, and as one HTML page with its plots inside, that needs nothing else to be read.
//
// Runs are spread over all processors, and put together in a fixed order: the same inputs and seed give the same bytes.
package report
