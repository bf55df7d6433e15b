// Command spot measures the rules of package link in closed loop: recorded traffic of a service, on-demand and spot
// node groups with recorded availability, the Cluster Autoscaler's loop with the real choice of package expander, and a
// reactive scaler with a headroom that is varied. Every policy is compared at equal shortage: its cost where the service
// is short for 2 % of the time. It prints Markdown.
package main
