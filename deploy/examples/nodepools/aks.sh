#!/usr/bin/env bash
# The tiers on AKS. Its managed autoscaler takes no gRPC expander: use warmpool's scaler and predictor, without the expander
# section in the configuration. Spot pools get the label and taint kubernetes.azure.com/scalesetpriority=spot by themselves;
# names have at most twelve lower-case letters and digits.
set -euo pipefail
cluster=${CLUSTER:?name of the cluster} group=${RESOURCE_GROUP:?resource group}

pool() { # name labels taints sizes...
  local name=$1 labels=$2 taints=$3
  shift 3
  # shellcheck disable=SC2086 # labels are separate words
  az aks nodepool add --cluster-name "$cluster" --resource-group "$group" --name "$name" \
    --labels $labels --node-taints "$taints" --enable-cluster-autoscaler "$@"
}

pool inference "node-role=inference gpu-type=t4 gpu-count=1 spot=false" "workload=inference:NoSchedule,nvidia.com/gpu=present:NoSchedule" \
  --node-vm-size Standard_NC8as_T4_v3 --node-count 2 --min-count 2 --max-count 16
pool training "node-role=training gpu-type=a100 gpu-count=8 spot=false" "workload=training:NoSchedule,nvidia.com/gpu=present:NoSchedule" \
  --node-vm-size Standard_ND96asr_v4 --node-count 0 --min-count 0 --max-count 4
pool elasticspot "node-role=elastic gpu-type=t4 gpu-count=1 spot=true" "workload=elastic:NoSchedule,nvidia.com/gpu=present:NoSchedule" \
  --node-vm-size Standard_NC8as_T4_v3 --priority Spot --eviction-policy Delete --spot-max-price -1 \
  --node-count 0 --min-count 0 --max-count 32
pool elasticod "node-role=elastic gpu-type=t4 gpu-count=1 spot=false" "workload=elastic:NoSchedule,nvidia.com/gpu=present:NoSchedule" \
  --node-vm-size Standard_NC8as_T4_v3 --node-count 0 --min-count 0 --max-count 16
