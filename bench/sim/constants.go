package sim

import "time"

// The traffic side. Service time, slots and objective are fixed by the benchmark's protocol for series without token
// counts; they stand for a 7B model with continuous batching.
const (
	// Quantum is the resolution of the request queue.
	Quantum = 100 * time.Millisecond
	// MeanServiceTime is how long a request holds a slot on average; lognormal with a coefficient of variation of 1.
	MeanServiceTime = 8 * time.Second
	// Slots is how many requests one replica holds at a time.
	Slots = 16
	// MaxWait is the objective: a request that waits longer for a slot is late.
	MaxWait = 10 * time.Second
	// Patience is when a client gives up; such a request counts as late (judgement: common gateway time-outs are 60 to
	// 300 s).
	Patience = 120 * time.Second
	// PlannedUtilization relates demand to replicas: the need is demand over this share of a replica's capacity.
	PlannedUtilization = 0.8
	// PrefillRate and DecodeTime turn token counts into service time where they are recorded, before the scaling that
	// sets the mean need: 5,000 prompt tokens a second, 25 ms an output token (judgement: a 7B model on one 24 GB card).
	PrefillRate = 5000.0
	DecodeTime  = 25 * time.Millisecond
	// RateWindow is the window of the arrival-rate query.
	RateWindow = time.Minute
	// Slot is the grid of the predictor's history.
	Slot = 5 * time.Minute
)

// Kubernetes and KEDA: their documented defaults.
const (
	// HPASync is the period of the horizontal pod autoscaler (--horizontal-pod-autoscaler-sync-period).
	HPASync = 15 * time.Second
	// HPATolerance is the change that it ignores (--horizontal-pod-autoscaler-tolerance).
	HPATolerance = 0.1
	// HPADownWindow is its default scale-down stabilisation window.
	HPADownWindow = 5 * time.Minute
	// KEDAPolling is KEDA's default pollingInterval; it only matters at zero replicas.
	KEDAPolling = 30 * time.Second
)

// The Cluster Autoscaler: its documented defaults.
const (
	// ScanInterval is the loop (--scan-interval).
	ScanInterval = 10 * time.Second
	// YoungPod and YoungGPUPod are how old the pods must be before a loop acts on them.
	YoungPod    = 2 * time.Second
	YoungGPUPod = 30 * time.Second
	// ProvisionTimeout is when a node that did not come counts as failed (--max-node-provision-time).
	ProvisionTimeout = 15 * time.Minute
	// BackoffFirst doubles per failure up to BackoffMax and is forgotten BackoffReset after the last failure.
	BackoffFirst = 5 * time.Minute
	BackoffMax   = 30 * time.Minute
	BackoffReset = 3 * time.Hour
	// ScaleDownIdle is how long a node without pods stays (--scale-down-unneeded-time).
	ScaleDownIdle = 10 * time.Minute
	// DrainInterval and DrainBelow are how often a node is emptied where pods may be moved, and how little must be used
	// of it (--scale-down-utilization-threshold).
	DrainInterval = time.Minute
	DrainBelow    = 0.5
	// MaxGroupNodes bounds a group in the placement protocol.
	MaxGroupNodes = 200
)

// Nodes and pods.
const (
	// BootMin and BootMax bound the time from order to a ready node, uniform (placement protocol); it is billed.
	BootMin = 120 * time.Second
	BootMax = 240 * time.Second
	// ImagePull is a first pull of an inference image on a node, ModelLoad loading weights from remote storage, and
	// ModelLoadCached loading them from the node's disk (judgement: 10 GB image, 15 GB of weights at 1 Gbit/s and NVMe).
	ImagePull       = 75 * time.Second
	ModelLoad       = 120 * time.Second
	ModelLoadCached = 30 * time.Second
	// StockFailure is how fast a provider reports a missing spot node; ProvisionTimeout where it reports nothing.
	StockFailure = 60 * time.Second
	// ReclaimNotice is the warning before a spot node is taken (AWS; Google Cloud and Azure give 30 s).
	ReclaimNotice = 120 * time.Second
	// LostWork bounds what a killed batch pod has to repeat (placement protocol: checkpoints every 30 minutes).
	LostWork = 30 * time.Minute
	// SpotPriceShare is the spot price relative to on-demand where no recorded price exists (placement protocol).
	SpotPriceShare = 0.35
)
