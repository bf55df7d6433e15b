package config

// The values of the two fixed keys at the head of a file.
const (
	apiVersion = "warmpool.dev/v1alpha1"
	kind       = "Config"
)

// file is the configuration file as it is written. See field for the tags.
type file struct {
	APIVersion string `key:"apiVersion" required:"true" enum:"warmpool.dev/v1alpha1" doc:"the version of this format, warmpool.dev/v1alpha1"`
	Kind       string `key:"kind" required:"true" enum:"Config" doc:"always Config"`

	Prometheus         prometheusFile `key:"prometheus" doc:"the metric store: any server with the Prometheus HTTP API"`
	EvaluationInterval duration       `key:"evaluationInterval" default:"15s" min:"1s" max:"10m" doc:"how often every service is evaluated; aligned to the wall clock, the same on every instance"`
	ActivationInterval duration       `key:"activationInterval" default:"1s" min:"100ms" max:"1m" doc:"how often a service at zero is looked at for the push stream"`
	CAVersion          string         `key:"caVersion" default:"\"\"" doc:"release of the Cluster Autoscaler, such as 1.36; an empty answer is a veto from 1.32 on. Not given: it is not relied on"`

	Pools                 []poolFile       `key:"pools" doc:"what the node groups are; the first match wins, overlaps are reported"`
	Catalogue             catalogueFile    `key:"catalogue" doc:"facts and prices by instance type"`
	Accelerators          acceleratorsFile `key:"accelerators" doc:"what is known of GPUs"`
	UnknownCapacityTypeIs string           `key:"unknownCapacityTypeIs" default:"\"\"" enum:"|on-demand|spot" doc:"capacity type of groups whose labels do not say it; empty: it stays unknown"`
	Classify              []classifyFile   `key:"classify" doc:"capacity type by node group id, used only when no label speaks"`

	Expander *expanderFile `key:"expander" doc:"who may grow what; without this section the expander has no opinion"`

	Services  []serviceFile  `key:"services" doc:"how many replicas; a service may also live wholly in the metadata of its trigger"`
	Metadata  metadataFile   `key:"metadata" doc:"what the metadata of triggers may hold"`
	Overrides []overrideFile `key:"overrides" doc:"limits of a service for a while, for launches and incidents; audited"`
	Freeze    freezeFile     `key:"freeze" doc:"one switch per half"`

	Spot      spotFile      `key:"spot" doc:"what the two halves do for each other on spot capacity; it acts once there is a cluster view"`
	Rebalance rebalanceFile `key:"rebalance" doc:"moving services from fall-back to spot nodes"`
	Decisions decisionsFile `key:"decisions" doc:"the decision log"`
}

type prometheusFile struct {
	URL             string            `key:"url" default:"\"\"" doc:"address, such as http://prometheus.monitoring:9090; needed as soon as there is a service"`
	Timeout         duration          `key:"timeout" default:"2s" min:"50ms" max:"1m" doc:"of one query"`
	MaxConcurrent   int               `key:"maxConcurrent" default:"8" min:"1" max:"1000" doc:"queries in flight at one time"`
	Headers         map[string]string `key:"headers" doc:"added to every request, such as X-Scope-OrgID"`
	BearerTokenFile string            `key:"bearerTokenFile" default:"\"\"" doc:"file with a bearer token, read again when it changes"`
	BasicAuth       basicAuthFile     `key:"basicAuth" doc:"user name and password"`
	TLS             tlsFile           `key:"tls" doc:"certificates for an https address"`
	Labels          labelsFile        `key:"labels" doc:"the label names that the scrape configuration gives to the workload's namespace and pod"`
}

type basicAuthFile struct {
	Username     string `key:"username" default:"\"\"" doc:"user name"`
	PasswordFile string `key:"passwordFile" default:"\"\"" doc:"file with the password, read again when it changes"`
}

type tlsFile struct {
	CAFile   string `key:"caFile" default:"\"\"" doc:"PEM file of the authorities that may sign the server; empty: the system's"`
	CertFile string `key:"certFile" default:"\"\"" doc:"PEM file of the client certificate"`
	KeyFile  string `key:"keyFile" default:"\"\"" doc:"PEM file of the client key"`
}

type labelsFile struct {
	Namespace    string `key:"namespace" default:"namespace" doc:"namespace label of the series of engines and gateways"`
	Pod          string `key:"pod" default:"pod" doc:"pod label of the series of engines"`
	GPUNamespace string `key:"gpuNamespace" default:"exported_namespace" doc:"namespace label of the series of the DCGM exporter; namespace when it is scraped with honorLabels"`
	GPUPod       string `key:"gpuPod" default:"exported_pod" doc:"pod label of the series of the DCGM exporter; pod when it is scraped with honorLabels"`

	StateNamespace string `key:"stateNamespace" default:"namespace" doc:"namespace label of the series of kube-state-metrics; exported_namespace when it is scraped without honorLabels"`
	StatePod       string `key:"statePod" default:"pod" doc:"pod label of the series of kube-state-metrics; exported_pod when it is scraped without honorLabels"`
}

type catalogueFile struct {
	Files []string `key:"files" doc:"CSV files, relative to this file; a later one overrides an earlier one and all of them the built-in facts"`
}

type acceleratorsFile struct {
	ExtraResources []string           `key:"extraResources" doc:"extended resource names that count as GPUs besides the built-in vendor list"`
	Worth          map[string]float64 `key:"worth" doc:"GPU model to speed relative to 1.0: what a more expensive card is worth"`
	MemoryKeys     memoryKeysFile     `key:"memoryKeys" doc:"the keys of GPU memory demand and supply"`
}

type memoryKeysFile struct {
	PodTotal  string `key:"podTotal" default:"gpu.ai/memory-required" doc:"annotation or label of a pod: GPU memory over all its GPUs, a quantity"`
	PodPerGPU string `key:"podPerGPU" default:"gpu.ai/memory-per-gpu" doc:"annotation or label of a pod: GPU memory on each GPU, a quantity"`
	NodeTotal string `key:"nodeTotal" default:"gpu.ai/memory-total" doc:"label of a node: memory of one card, a quantity; used before nvidia.com/gpu.memory"`
}

type classifyFile struct {
	IDPattern    pattern `key:"idPattern" required:"true" doc:"RE2 on the node group id"`
	CapacityType string  `key:"capacityType" required:"true" enum:"reserved|on-demand|spot" doc:"how these nodes are paid for"`
}

type metadataFile struct {
	AllowQueries []string `key:"allowQueries" doc:"namespaces whose triggers may carry raw queries; none: presets only"`
}

type overrideFile struct {
	Service string  `key:"service" required:"true" doc:"NAME of an entry of services, or NAMESPACE/NAME of any service"`
	From    instant `key:"from" required:"true" doc:"first moment"`
	To      instant `key:"to" required:"true" doc:"end, after from"`
	Min     *int    `key:"min" min:"0" max:"100000" doc:"smallest target meanwhile"`
	Max     *int    `key:"max" min:"0" max:"100000" doc:"largest target meanwhile"`
	Reason  string  `key:"reason" required:"true" doc:"why, for the record"`
}

type freezeFile struct {
	Expander bool   `key:"expander" default:"false" doc:"pass every request of the Cluster Autoscaler through"`
	Scaler   bool   `key:"scaler" default:"false" doc:"hold every replica target"`
	Reason   string `key:"reason" default:"\"\"" doc:"why, for the record"`
}

type spotFile struct {
	OnDemandFirstScaleIn bool `key:"onDemandFirstScaleIn" default:"true" doc:"write controller.kubernetes.io/pod-deletion-cost so that fall-back nodes empty first"`
	ReplaceAtNotice      bool `key:"replaceAtNotice" default:"true" doc:"a reclaim notice orders the replacement at once"`
	HoldAfterLoss        bool `key:"holdAfterLoss" default:"true" doc:"a spot group that lost a tenth of its nodes within five minutes is left alone as after a suspected failure"`
	SuspectNodes         bool `key:"suspectNodes" default:"true" doc:"a node on its way for longer than its pool's learnt boot time counts as missing, once"`
}

type rebalanceFile struct {
	Mode string `key:"mode" default:"off" enum:"off|advise|swap" doc:"off, advise, or swap (make before break, gated by observed losses)"`
}

type decisionsFile struct {
	Ring int    `key:"ring" default:"10000" min:"1" max:"1000000" doc:"decisions kept in memory"`
	File string `key:"file" default:"\"\"" doc:"JSON lines file that every decision is appended to; empty: none"`
}
