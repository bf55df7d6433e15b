#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, for the given time each.
set -euo pipefail
fuzztime=${1:?usage: tools/fuzz.sh DURATION}
git grep -lE '^func Fuzz[A-Z]' -- '*_test.go' | while read -r file; do
  package=./$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | cut -d' ' -f2 | while read -r target; do
    echo "== $package $target"
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" -fuzzminimizetime 5x </dev/null
  done
done
