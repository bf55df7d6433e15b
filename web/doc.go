// Package web is the operator's page and the JSON interface that it reads.
//
// The page is plain HTML, CSS and JavaScript of this repository, embedded into the binary: it loads nothing from
// elsewhere and works without internet access. It holds no data of its own, so it is served to everybody who reaches
// the admin listener; the data is behind the listener's token, which the page asks for.
//
// What the interface under /api/v1/ returns is what the engine decided by: decisions are the values of packages scaler
// and expander under their own names, and nothing is computed a second time. The one thing made here are warnings: a
// decision or a status that somebody has to act on, each with the remedy. The interface:
//
//	GET /api/v1/overview              status, health of every input, warnings, and a line for each service
//	GET /api/v1/services              lines of services: q (part of the id), state (trouble), after (an id), limit
//	GET /api/v1/services/{id}         one service: decision, past, outlook, warnings, recent changes
//	GET /api/v1/pools                 pools, workloads, node groups
//	GET /api/v1/groups/{id}           one node group with the last choices it took part in
//	GET /api/v1/decisions             recorded decisions: kind, subject, reason, before (an id), limit
//	GET /api/v1/decisions/{id}        one of them in full
//	GET /api/v1/situations/{id}       what a decision depended on, to replay it with warmpool explain
//	GET /api/v1/ledger                what every service runs on, what fell back and why, and what that costs
//	GET /api/v1/ledger/{id}           that of one service
//	GET /api/v1/comparison            what the choices cost against least-waste, by day
//	GET /api/v1/events                server-sent events: "change" whenever there is something new to read
//
// Errors are {"error": "..."} with a fitting status code.
package web
