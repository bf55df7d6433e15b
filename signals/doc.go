// Package signals reads what a scaling decision needs from any server with the Prometheus HTTP API: Prometheus,
// Thanos, Mimir, VictoriaMetrics.
//
// A [Reader] is asked for the queries of many services at one time. Equal expressions are sent once and the rows of
// the answer are handed to the services by their labels, so the number of requests follows the number of templates
// and not the number of services. Requests in flight, attempts and time are bounded; a query that failed last time
// is sent after the others, so it cannot delay them.
//
// A reading is valid only if the answer holds exactly one row for the service with a finite value that is not
// negative. Everything else is an [Error] with a [Class], never a zero: an empty result is missing, and two rows are
// ambiguous rather than a sum that nobody asked for.
package signals
