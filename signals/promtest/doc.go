// Package promtest runs a real Prometheus for tests, with scrape targets whose metrics the test sets.
//
// The binary is the one named by the environment variable WARMPOOL_PROMETHEUS, or the first in PATH; the Debian package
// prometheus has it. Without one the test is skipped, or fails if WARMPOOL_REQUIRE_PROMETHEUS is set, as in CI.
package promtest
