package lint

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// pool is a node group as its manifest describes it.
type pool struct {
	*Object
	name     string
	provider provider
	// smallest and largest are its sizes; -1 is unknown.
	smallest, largest int
	labels            map[string]string
	taints            []corev1.Taint
	gpus              int64
	instanceTypes     []string
	spot              bool
	// missing is what a template from zero would lack.
	missing []string
}

// provider is where a pool is.
type provider string

const (
	aws        provider = "aws"
	clusterAPI provider = "clusterapi"
)

// acceleratorLabels are what the Cluster Autoscaler recognises a node with accelerators by before these are advertised.
var acceleratorLabels = map[provider]string{
	aws: "k8s.amazonaws.com/accelerator", clusterAPI: "cluster-api/accelerator",
}

func poolsOf(o *Object) []*pool {
	switch {
	case o.Kind == "ClusterConfig" && strings.HasPrefix(o.APIVersion, "eksctl.io/"):
		return append(eksctlPools(o, "managedNodeGroups", true), eksctlPools(o, "nodeGroups", false)...)
	case o.Kind == "InstanceGroup" && strings.HasPrefix(o.APIVersion, "kops.k8s.io/"):
		return kopsPool(o)
	case (o.Kind == "MachineDeployment" || o.Kind == "MachinePool" || o.Kind == "MachineSet") && strings.HasPrefix(o.APIVersion, "cluster.x-k8s.io/"):
		return clusterAPIPool(o)
	}
	return nil
}

const (
	awsTemplate      = "k8s.io/cluster-autoscaler/node-template/"
	machineTemplate  = "capacity.cluster-autoscaler.kubernetes.io/"
	machineSizes     = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
	gpuResource      = "nvidia.com/gpu"
	awsTemplateGPUs  = awsTemplate + "resources/"
	awsTemplateLabel = awsTemplate + "label/"
	awsTemplateTaint = awsTemplate + "taint/"
)

// nodeGroup is a group of eksctl, or of kops, as far as it is judged.
type nodeGroup struct {
	Name             string            `json:"name"`
	InstanceType     string            `json:"instanceType"`
	InstanceTypes    []string          `json:"instanceTypes"`
	MinSize          *int              `json:"minSize"`
	MaxSize          *int              `json:"maxSize"`
	Spot             bool              `json:"spot"`
	PropagateASGTags bool              `json:"propagateASGTags"`
	Labels           map[string]string `json:"labels"`
	Taints           []corev1.Taint    `json:"taints"`
	Tags             map[string]string `json:"tags"`
}

func sizeOf(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

func eksctlPools(o *Object, key string, managed bool) (pools []*pool) {
	list, _ := at(o.Fields, key).([]any)
	for _, entry := range list {
		g, ok := decode[nodeGroup](entry)
		if !ok {
			continue
		}
		p := &pool{
			Object: o, name: g.Name, provider: aws, smallest: sizeOf(g.MinSize), largest: sizeOf(g.MaxSize),
			labels: g.Labels, taints: g.Taints, spot: g.Spot || saysSpot(g.Labels), instanceTypes: g.InstanceTypes,
		}
		if g.InstanceType != "" {
			p.instanceTypes = append(p.instanceTypes, g.InstanceType)
		}
		p.readTags(g.Tags)
		// The autoscaler asks the service for labels and taints of a managed group, for resources never.
		p.needTags(g.Tags, managed || g.PropagateASGTags)
		pools = append(pools, p)
	}
	return pools
}

func kopsPool(o *Object) []*pool {
	spec := at(o.Fields, "spec")
	if role := textAt(spec, "role"); role != "" && role != "Node" {
		return nil
	}
	p := &pool{Object: o, name: o.Name, provider: aws, smallest: -1, largest: -1}
	if n, ok := numberAt(spec, "minSize"); ok {
		p.smallest = int(n)
	}
	if n, ok := numberAt(spec, "maxSize"); ok {
		p.largest = int(n)
	}
	p.labels, _ = decode[map[string]string](at(spec, "nodeLabels"))
	texts, _ := decode[[]string](at(spec, "taints"))
	p.taints = taintsOf(texts)
	p.instanceTypes, _ = decode[[]string](at(spec, "mixedInstancesPolicy", "instances"))
	if machine := textAt(spec, "machineType"); machine != "" {
		p.instanceTypes = append(p.instanceTypes, machine)
	}
	above, mixed := numberAt(spec, "mixedInstancesPolicy", "onDemandAboveBase")
	p.spot = saysSpot(p.labels) || mixed && above == 0 || textAt(spec, "maxPrice") != ""
	tags, _ := decode[map[string]string](at(spec, "cloudLabels"))
	p.readTags(tags)
	p.needTags(tags, false)
	return []*pool{p}
}

func clusterAPIPool(o *Object) []*pool {
	if o.Annotations[machineSizes+"max-size"] == "" {
		return nil // not for the autoscaler
	}
	p := &pool{Object: o, name: o.Name, provider: clusterAPI, smallest: number(o.Annotations[machineSizes+"min-size"]), largest: number(o.Annotations[machineSizes+"max-size"])}
	p.labels = map[string]string{}
	for pair := range strings.SplitSeq(o.Annotations[machineTemplate+"labels"], ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			p.labels[key] = value
		}
	}
	p.taints = taintsOf(strings.Split(o.Annotations[machineTemplate+"taints"], ","))
	p.gpus = max(0, int64(number(o.Annotations[machineTemplate+"gpu-count"])))
	p.spot = saysSpot(p.labels)
	required := []string{"cpu", "memory"}
	if p.hasGPU() {
		required = append(required, "gpu-type", "gpu-count", "labels")
	}
	for _, key := range required {
		if o.Annotations[machineTemplate+key] == "" {
			p.missing = append(p.missing, "annotation "+machineTemplate+key)
		}
	}
	return []*pool{p}
}

// readTags takes the GPU count from the tags of an Auto Scaling group.
func (p *pool) readTags(tags map[string]string) {
	for tag, value := range tags {
		if resource, ok := strings.CutPrefix(tag, awsTemplateGPUs); ok && isAccelerator(resource) {
			p.gpus = max(p.gpus, int64(number(value)))
		}
	}
}

// needTags lists the tags that a template from zero would be built from and that are not there.
func (p *pool) needTags(tags map[string]string, described bool) {
	if !p.hasGPU() {
		return
	}
	if p.gpus == 0 {
		p.missing = append(p.missing, "tag "+awsTemplateGPUs+gpuResource)
	}
	if described {
		return
	}
	for key := range p.labels {
		if _, ok := tags[awsTemplateLabel+key]; !ok {
			p.missing = append(p.missing, "tag "+awsTemplateLabel+key)
		}
	}
	for _, taint := range p.taints {
		if _, ok := tags[awsTemplateTaint+taint.Key]; !ok {
			p.missing = append(p.missing, "tag "+awsTemplateTaint+taint.Key)
		}
	}
}

// gpuFamilies are the beginnings of AWS instance types with accelerators.
var gpuFamilies = []string{"p2.", "p3.", "p3dn.", "p4d.", "p4de.", "p5.", "p5e.", "p5en.", "p6", "g3.", "g3s.", "g4ad.", "g4dn.", "g5.", "g5g.", "g6.", "g6e.", "gr6.", "inf1.", "inf2.", "trn1.", "trn1n.", "trn2."}

// hasGPU tells a pool with accelerators by what it says, or by what its machines are.
func (p *pool) hasGPU() bool {
	if p.gpus > 0 {
		return true
	}
	for _, label := range acceleratorLabels {
		if _, ok := p.labels[label]; ok {
			return true
		}
	}
	for _, t := range p.taints {
		if isAccelerator(t.Key) {
			return true
		}
	}
	for _, machine := range p.instanceTypes {
		for _, family := range gpuFamilies {
			if strings.HasPrefix(machine, family) {
				return true
			}
		}
	}
	return false
}

// tier is the tier of a pool by its label or taint; empty is unknown.
func (p *pool) tier() string {
	for _, key := range []string{"node-role", "workload-tier"} {
		if tier := p.labels[key]; tier != "" {
			return tier
		}
	}
	for _, t := range p.taints {
		if t.Key == "workload" {
			return t.Value
		}
	}
	return ""
}

func saysSpot(labels map[string]string) bool {
	if labels["spot"] == "true" {
		return true
	}
	for _, key := range []string{"eks.amazonaws.com/capacityType", "karpenter.sh/capacity-type", "lifecycle", "node.kubernetes.io/lifecycle", "kubernetes.azure.com/scalesetpriority"} {
		if value := strings.ToLower(labels[key]); value == "spot" || value == "ec2spot" {
			return true
		}
	}
	return labels["cloud.google.com/gke-spot"] == "true" || labels["cloud.google.com/gke-preemptible"] == "true"
}

// taintsOf reads taints written as key=value:Effect.
func taintsOf(texts []string) (taints []corev1.Taint) {
	for _, text := range texts {
		rest, effect, ok := strings.Cut(strings.TrimSpace(text), ":")
		if !ok {
			continue
		}
		key, value, _ := strings.Cut(rest, "=")
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints
}

// number reads a whole number; -1 if it is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
