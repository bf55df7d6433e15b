#!/usr/bin/env bash
# Copies into the given directory the types of operators that the examples and the chart make objects of, so that an API
# server can judge them without the operators. The modules are pinned with their checksums. Operators that the Go module
# registry does not have have stand-ins in test/cluster/testdata/types: LeaderWorkerSet, KServe.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
go=${GO:-go}
key=$(sha256sum <"$0" | cut -d' ' -f1)
if [[ -f $out/key && $(<"$out/key") == "$key" ]]; then
  exit 0
fi
rm -f "$out"/*

# types MODULE@VERSION SUM FILE...
types() {
  local module=$1 sum=$2 info dir
  shift 2
  info=$(cd / && $go mod download -json "$module")
  if [[ $info != *"\"Sum\": \"$sum\""* ]]; then
    echo "$module does not have the checksum $sum" >&2
    exit 1
  fi
  dir=$(sed -n 's/^.*"Dir": "\(.*\)",$/\1/p' <<<"$info")
  (cd "$dir" && cp "$@" "$out/")
}

types sigs.k8s.io/cluster-api@v1.14.2 h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA= \
  core/config/crd/bases/cluster.x-k8s.io_machinedeployments.yaml
types github.com/cert-manager/cert-manager@v1.21.2 h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68= \
  deploy/crds/cert-manager.io_certificates.yaml
types github.com/prometheus-operator/prometheus-operator@v0.85.0 h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s= \
  example/prometheus-operator-crd/monitoring.coreos.com_{podmonitors,servicemonitors,prometheusrules}.yaml

chmod u+w "$out"/*.yaml
echo "$key" >"$out/key"
