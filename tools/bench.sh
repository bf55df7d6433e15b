#!/usr/bin/env bash
# Runs the benchmark on recorded traces and writes docs/benchmarks.md.
#
#   tools/bench.sh          the fixed subset
#   tools/bench.sh -full    every series, need, start-up time, and more replicates: hours
#
# TRACES is the directory of the recordings (default ../shared/traces); their public addresses, commits and checksums are
# in bench/trace/manifest.json.
set -euo pipefail
cd "$(dirname "$0")/.."

traces=${TRACES:-../shared/traces}
if [[ ! -d $traces ]]; then
	echo "bench: there are no traces in $traces; set TRACES to a directory with the files of bench/trace/manifest.json" >&2
	exit 1
fi
exec nice go run ./bench/suite -traces "$traces" -out docs/benchmarks.md "$@"
