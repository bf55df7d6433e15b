#!/usr/bin/env bash
# Builds the processes of a control plane for the end-to-end tests into the given directory: etcd, kube-apiserver,
# kube-controller-manager, kube-scheduler, kubectl, kwok, KEDA's operator and adapter; and the files they need. Nothing is
# done when the directory was made from the same go.sum.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
go=${GO:-go}
key=$(cat go.mod go.sum build.sh | sha256sum | cut -d' ' -f1)
if [[ -f $out/key && $(<"$out/key") == "$key" ]]; then
  exit 0
fi
rm -f "$out/key"

# Without -trimpath, like go test: what test/keda has compiled of KEDA is used again.
#
# Without a version the API server cannot parse its own.
version=$($go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
flags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
done

$go build -ldflags "$flags" -o "$out/" k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubectl}
$go build -ldflags "-s -w" -o "$out/etcd" go.etcd.io/etcd/server/v3
$go build -ldflags "-s -w" -o "$out/" sigs.k8s.io/kwok/cmd/kwok github.com/kedacore/keda/v2/cmd/{operator,adapter}

kwok=$($go list -m -f '{{.Dir}}' sigs.k8s.io/kwok) keda=$($go list -m -f '{{.Dir}}' github.com/kedacore/keda/v2)
for stage in "$kwok"/kustomize/stage/{node/fast/node-initialize,pod/fast/pod-ready,pod/fast/pod-complete,pod/fast/pod-delete}.yaml; do
  printf -- '---\n'
  cat "$stage"
done >"$out/kwok-stages.yaml"
rm -rf "$out/keda-crds" && mkdir "$out/keda-crds"
cp "$keda"/config/crd/bases/*.yaml "$out/keda-crds/" && chmod -R u+w "$out/keda-crds"

echo "$key" >"$out/key"
