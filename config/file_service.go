package config

// serviceFile is one service. Leaves with a meta tag can be written in the metadata of a trigger under that flat key.
type serviceFile struct {
	Name      string            `key:"name" required:"true" doc:"what triggers refer to (metadata service: NAME) and decisions show"`
	Namespace string            `key:"namespace" default:"\"\"" doc:"namespace of the workload; the queries of presets are forced to it. Empty: every namespace may refer to the entry, and the namespace is the trigger's"`
	Replicas  replicasFile      `key:"replicas" required:"true" doc:"limits of the target"`
	Preset    string            `key:"preset" meta:"preset" default:"none" enum:"vllm|sglang|tgi|triton|nim|ray-serve|epp|micrometer|none" doc:"the engine or gateway whose metrics are read; none: only the queries given here"`
	Selector  map[string]string `key:"selector" doc:"label matchers added to the preset's queries, such as {model_name: llama-7b}"`
	Queries   queriesFile       `key:"queries" doc:"PromQL that replaces single queries of the preset; none leaves a signal out. Run as written: each must give one sample"`

	PerReplica     perReplicaFile     `key:"perReplica" doc:"what one replica carries; by concurrency when a running count exists, else by rate"`
	QueueDepth     queueDepthFile     `key:"queueDepth" doc:"waiting requests"`
	GPUUtilization gpuUtilizationFile `key:"gpuUtilization" doc:"votes from GPU utilisation"`
	Startup        startupFile        `key:"startup" doc:"how long a new replica takes, end to end"`
	Forecast       forecastFile       `key:"forecast" doc:"the time-of-day predictor"`
	ScaleDown      scaleDownFile      `key:"scaleDown" doc:"limits of the way down"`
	Activation     activationFile     `key:"activation" doc:"the way to zero"`
	StaleAfter     duration           `key:"staleAfter" meta:"staleAfter" default:"90s" min:"5s" max:"1h" doc:"a source older than that is missing: the target then never falls; when every source is missing, the answer is an error"`
}

type replicasFile struct {
	Min int `key:"min" meta:"minReplicas" default:"1" min:"0" max:"100000" doc:"smallest target; 0 allows scaling to zero"`
	Max int `key:"max" meta:"maxReplicas" required:"true" min:"1" max:"100000" doc:"largest target"`
}

type queriesFile struct {
	Waiting        string `key:"waiting" meta:"waitingQuery" default:"\"\"" doc:"requests that wait"`
	Running        string `key:"running" meta:"runningQuery" default:"\"\"" doc:"requests that hold a slot"`
	Rate           string `key:"rate" meta:"rateQuery" default:"\"\"" doc:"arrivals per second at the gateway, queued and rejected requests included, never the served ones"`
	Latency        string `key:"latency" meta:"latencyQuery" default:"\"\"" doc:"seconds a request holds a slot"`
	GPUUtilization string `key:"gpuUtilization" meta:"gpuUtilizationQuery" default:"\"\"" doc:"mean GPU utilisation of the ready pods, from 0 to 1"`
	KVCache        string `key:"kvCache" meta:"kvCacheQuery" default:"\"\"" doc:"mean use of the KV cache, from 0 to 1"`
}

type perReplicaFile struct {
	Concurrency      learnedNumber   `key:"concurrency" meta:"concurrency" default:"16" doc:"requests that one replica holds within its objective"`
	ServiceTime      learnedDuration `key:"serviceTime" meta:"serviceTime" default:"learned" doc:"how long a request holds a slot"`
	Rate             learnedNumber   `key:"rate" meta:"ratePerReplica" default:"learned" doc:"requests per second that one replica serves"`
	MaxUtilization   float64         `key:"maxUtilization" meta:"maxUtilization" default:"0.85" min:"0.05" max:"1" doc:"planned share of a replica's capacity"`
	WaitProbability  share           `key:"waitProbability" meta:"waitProbability" default:"0%" max:"99%" doc:"above 0: Erlang C staffing in place of maxUtilization, with at most this share of requests waiting"`
	LatencyObjective duration        `key:"latencyObjective" meta:"latencyObjective" default:"0s" max:"24h" doc:"latency that learned concurrency has to stay below; 0s: concurrency is not learned"`
}

type queueDepthFile struct {
	TargetPerReplica float64  `key:"targetPerReplica" meta:"queueTargetPerReplica" default:"5" min:"0.01" max:"100000" doc:"waiting requests per replica that are tolerated; waiting alone votes up only"`
	DrainTime        duration `key:"drainTime" meta:"queueDrainTime" default:"60s" min:"1s" max:"1h" doc:"how fast a backlog has to be worked off (rate form)"`
}

type gpuUtilizationFile struct {
	ScaleUp   float64   `key:"scaleUp" meta:"gpuScaleUp" default:"0.8" min:"0.01" max:"1" doc:"vote up from this share on, if the queue, the slots or the KV cache agree"`
	ScaleDown float64   `key:"scaleDown" meta:"gpuScaleDown" default:"0.3" min:"0" max:"1" doc:"vote down below this share, if the queue is empty"`
	Samples   int       `key:"samples" meta:"gpuSamples" default:"3" min:"1" max:"100" doc:"samples in a row that must agree"`
	MaxUp     maxUpFile `key:"maxUp" doc:"what this vote alone may add; the larger of count and percent"`
}

type maxUpFile struct {
	Count   int      `key:"count" meta:"gpuMaxUpCount" default:"4" min:"0" max:"100000" doc:"replicas"`
	Percent float64  `key:"percent" meta:"gpuMaxUpPercent" default:"100" min:"0" max:"10000" doc:"percent of the present target, without the sign"`
	Period  duration `key:"period" meta:"gpuMaxUpPeriod" default:"60s" min:"1s" max:"1h" doc:"within this time"`
}

type startupFile struct {
	Lead  learnedDuration `key:"lead" meta:"startupLead" default:"learned" doc:"time from the order to a serving replica; learned per GPU type, warm and cold"`
	Prior duration        `key:"prior" meta:"startupPrior" default:"5m" min:"1s" max:"6h" doc:"assumed until enough starts were seen"`

	Metrics  string `key:"metrics" meta:"startupMetrics" default:"none" enum:"none|kube-state-metrics" doc:"where ready and starting pods, start times and the present replicas come from while warmpool has no access to the cluster; kube-state-metrics is read through the metric store, with the same queries for all services"`
	Workload string `key:"workload" meta:"startupWorkload" default:"\"\"" doc:"name of the Deployment, StatefulSet, LeaderWorkerSet or Rollout in kube-state-metrics; empty: the name of the service"`
}

type forecastFile struct {
	Mode           string        `key:"mode" meta:"forecastMode" default:"shadow" enum:"off|shadow|active|auto" doc:"off; shadow computes and shows; active uses it; auto leaves shadow when the record is good enough"`
	Rate           string        `key:"rate" meta:"forecastRate" default:"gateway" enum:"gateway|engine" doc:"where the history of arrivals comes from: gateway is queries.rate, or the preset's counter if the preset is a gateway's; engine is the preset's own counters, which do not see what the gateway rejects"`
	MaxShort       share         `key:"maxShort" meta:"forecastMaxShort" default:"1%" min:"0.01%" max:"50%" doc:"share of time slots that may be short of replicas"`
	Cost           costFile      `key:"cost" doc:"states the price of a shortage in place of maxShort; both parts or none"`
	TimeZone       string        `key:"timeZone" meta:"forecastTimeZone" default:"Asia/Shanghai" doc:"IANA time zone in which days begin, such as Europe/Berlin"`
	Holidays       []holidayFile `key:"holidays" meta:"forecastHolidays" doc:"days that are like weekends; each a date, or {date, name}"`
	ProfileFrom    string        `key:"profileFrom" meta:"forecastProfileFrom" default:"\"\"" doc:"service of the same namespace whose daily shape is borrowed while the history is short"`
	MaxUtilization float64       `key:"maxUtilization" meta:"forecastMaxUtilization" default:"0" min:"0" max:"1" doc:"planned share of a replica's capacity while the forecast is used, where that is above perReplica.maxUtilization; fewer slots get more spare. 0: the same share with and without a forecast"`
	MaxPrewarm     share         `key:"maxPrewarm" meta:"forecastMaxPrewarm" default:"50%" doc:"largest part of replicas.max that the forecast alone may add"`
}

type costFile struct {
	ReplicaHour float64 `key:"replicaHour" meta:"forecastCostReplicaHour" default:"0" min:"0" max:"1000000000" doc:"cost of one replica for an hour"`
	ShortStep   float64 `key:"shortStep" meta:"forecastCostShortStep" default:"0" min:"0" max:"1000000000" doc:"cost of one time slot that is short of replicas, in the same currency"`
}

type scaleDownFile struct {
	Window  duration `key:"window" meta:"scaleDownWindow" default:"10m" max:"24h" doc:"the largest target computed in this time counts; at least the lead"`
	MaxStep share    `key:"maxStep" meta:"scaleDownMaxStep" default:"20%" doc:"largest part of the target that one step removes, at least one replica; 0%: no limit"`
	Period  duration `key:"period" meta:"scaleDownPeriod" default:"5m" max:"24h" doc:"time between two steps"`
}

type activationFile struct {
	IdleAfter duration `key:"idleAfter" meta:"idleAfter" default:"15m" min:"15s" max:"168h" doc:"to zero (replicas.min 0) only when queue and traffic were zero that long and no need is forecast within the lead"`
}
