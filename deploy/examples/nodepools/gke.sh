#!/usr/bin/env bash
# The tiers on GKE. Its managed autoscaler takes no gRPC expander: use warmpool's scaler and predictor, without the expander
# section in the configuration. GKE adds the labels cloud.google.com/gke-accelerator and gke-spot and the taint
# nvidia.com/gpu by itself.
set -euo pipefail
cluster=${CLUSTER:?name of the cluster} region=${REGION:?such as europe-west4}

pool() { # name labels taints sizes...
  local name=$1 labels=$2 taints=$3
  shift 3
  gcloud container node-pools create "$name" --cluster "$cluster" --region "$region" \
    --node-labels "$labels" --node-taints "$taints" --enable-autoscaling --location-policy ANY "$@"
}

pool inference "node-role=inference,gpu-type=l4,gpu-count=1,spot=false" "workload=inference:NoSchedule" \
  --machine-type g2-standard-8 --accelerator type=nvidia-l4,count=1,gpu-driver-version=default \
  --num-nodes 1 --total-min-nodes 2 --total-max-nodes 16
pool training "node-role=training,gpu-type=a100,gpu-count=8,spot=false" "workload=training:NoSchedule" \
  --machine-type a2-highgpu-8g --accelerator type=nvidia-tesla-a100,count=8,gpu-driver-version=default \
  --num-nodes 0 --total-min-nodes 0 --total-max-nodes 4
pool elastic-spot "node-role=elastic,gpu-type=l4,gpu-count=1,spot=true" "workload=elastic:NoSchedule,cloud.google.com/gke-spot=true:NoSchedule" \
  --machine-type g2-standard-8 --accelerator type=nvidia-l4,count=1,gpu-driver-version=default --spot \
  --num-nodes 0 --total-min-nodes 0 --total-max-nodes 32
pool elastic-on-demand "node-role=elastic,gpu-type=l4,gpu-count=1,spot=false" "workload=elastic:NoSchedule" \
  --machine-type g2-standard-8 --accelerator type=nvidia-l4,count=1,gpu-driver-version=default \
  --num-nodes 0 --total-min-nodes 0 --total-max-nodes 16
