// Package operations checks what an operator works with against the program: the metric reference is generated from the
// registered metrics, alerts and dashboards may only use what is in it, each alert fires and stays quiet in a unit test
// and has a runbook, and every link in the documentation leads somewhere.
package operations
