package demo

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/wire"
)

// The service of the demo; demo.yaml configures it under the same names.
const (
	namespace    = "ai-prod"
	service      = "llm-7b"
	scaledObject = "llm-7b"
	smallest     = 2
	largest      = 12
	// historyDays is how long the gateway has been counting before the day begins.
	historyDays = 28
)

// machine is a node group of the demo with the node that it would add.
type machine struct {
	id, role, instance string
	cpus, memoryGiB    int
	gpus               int
	gpu                string
	spot               bool
	hourlyCost         float64
	max                int
}

var machines = []machine{
	{"inference-g5", "inference", "g5.xlarge", 4, 16, 1, "nvidia-a10g", false, 1.006, 5},
	{"elastic-spot-g5", "elastic", "g5.xlarge", 4, 16, 1, "nvidia-a10g", true, 0.352, 8},
	{"elastic-g5", "elastic", "g5.xlarge", 4, 16, 1, "nvidia-a10g", false, 1.006, 8},
	{"training-p4d", "training", "p4d.24xlarge", 96, 1152, 8, "nvidia-a100", false, 21.958, 1},
	{"cpu-m6i", "cpu", "m6i.xlarge", 4, 16, 0, "", false, 0.192, 6},
}

// template is the node as the Cluster Autoscaler sends it.
func (m machine) template() *corev1.Node {
	capacity := "ON_DEMAND"
	if m.spot {
		capacity = "SPOT"
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "template-node-for-" + m.id, Labels: map[string]string{
			"node-role": m.role, "spot": strconv.FormatBool(m.spot), "node.kubernetes.io/instance-type": m.instance,
			"eks.amazonaws.com/capacityType": capacity, "topology.kubernetes.io/zone": "demo-1a", "kubernetes.io/arch": "amd64",
		}},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(strconv.Itoa(m.cpus)),
			corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dGi", m.memoryGiB)),
			corev1.ResourcePods:   resource.MustParse("58"),
		}},
	}
	if m.gpus > 0 {
		n.Labels["k8s.amazonaws.com/accelerator"] = m.gpu
		n.Status.Capacity[sim.GPU] = resource.MustParse(strconv.Itoa(m.gpus))
		n.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	}
	n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(strconv.Itoa(m.cpus*1000-100) + "m")
	n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse(fmt.Sprintf("%dMi", m.memoryGiB*1024-1300))
	return n
}

// groups are the node groups of the virtual cluster, with the times at which spot has no capacity.
func groups(start time.Time) []sim.GroupSpec {
	var out []sim.GroupSpec
	for _, m := range machines {
		g := sim.GroupSpec{Group: wire.Group(m.id, m.template()), HourlyCost: m.hourlyCost, Max: m.max, Spot: m.spot}
		if m.spot {
			g.Stock = spotStock(start)
		}
		out = append(out, g)
	}
	return out
}

// spotStock is without capacity from 10:20 to 12:10 and from 18:30 to 19:50.
func spotStock(start time.Time) *trace.Availability {
	a := &trace.Availability{Name: "demo", GPUsPerNode: 1, Start: start, Step: 10 * time.Minute, Available: make([]bool, 144)}
	for i := range a.Available {
		at := time.Duration(i) * a.Step
		morning := at >= 10*time.Hour+20*time.Minute && at < 12*time.Hour+10*time.Minute
		evening := at >= 18*time.Hour+30*time.Minute && at < 19*time.Hour+50*time.Minute
		a.Available[i] = !morning && !evening
	}
	return a
}

// shape is the share of the daily peak by the hour: users who begin at half past eight and come back after lunch. It is
// linear between the points.
var shape = []struct{ hour, share float64 }{
	{0, 0.19},
	{4, 0.15},
	{7, 0.24},
	{8.4, 0.34},
	{8.8, 0.92},
	{11.5, 0.95},
	{12.1, 0.62},
	{13.1, 0.66},
	{13.5, 1},
	{17, 0.93},
	{18.2, 0.6},
	{21, 0.42},
	{24, 0.19},
}

// peakReplicas is the rate at the height of the day, in replicas' worth of traffic at the planned load.
const peakReplicas = 8.0

// traffic is 28 days of history and the day itself, in requests per second at the gateway. The day ends with an
// evening burst that no history announces.
func traffic(start time.Time, seed uint64) *trace.Series {
	s := trace.Pattern{
		Name: "demo", Start: start.AddDate(0, 0, -historyDays), Days: historyDays + 1, Step: 5 * time.Minute,
		Mean: peakReplicas * sim.ReplicaRate(), Weekend: 0.45, Noise: 0.04,
	}.Draw(seed)
	for i := range s.Counts {
		at := s.Start.Add(time.Duration(i) * s.Step)
		s.Counts[i] *= shareAt(float64(at.Hour()) + float64(at.Minute())/60)
		if hour := at.Sub(start).Hours(); hour >= 20.5 && hour < 21 {
			s.Counts[i] *= 2
		}
	}
	return s
}

func shareAt(hour float64) float64 {
	for i := 1; i < len(shape); i++ {
		if a, b := shape[i-1], shape[i]; hour <= b.hour {
			return a.share + (b.share-a.share)*(hour-a.hour)/(b.hour-a.hour)
		}
	}
	return shape[len(shape)-1].share
}

// workload is a kind of pod.
type workload struct {
	name      string
	namespace string
	tier      string
	cpus      string
	memory    string
	gpus      int
	run       time.Duration
	model     string
	priority  int32
}

var (
	replica = workload{name: service, namespace: namespace, tier: "online", cpus: "3", memory: "12Gi", gpus: 1, model: "llama-7b", priority: 1000}
	// analytics tolerates every taint, as charts that were once made to fit do: left to itself it would take every GPU
	// node that it can make the autoscaler buy.
	analytics = workload{name: "analytics", namespace: "data", tier: "batch", cpus: "2", memory: "8Gi", gpus: 1, run: 50 * time.Minute}
	report    = workload{name: "report", namespace: "data", tier: "batch", cpus: "3", memory: "6Gi", run: 25 * time.Minute}
)

// jobs are the batch pods of the day.
var jobs = []struct {
	at    time.Duration
	kind  workload
	count int
}{
	{6*time.Hour + 10*time.Minute, report, 4},
	{10*time.Hour + 40*time.Minute, analytics, 4},
	{15*time.Hour + 30*time.Minute, analytics, 3},
	{22 * time.Hour, report, 3},
}

// pod is one pod of a workload, as the API server would hold it.
func (w workload) pod(number int, created time.Time) *corev1.Pod {
	name := fmt.Sprintf("%s-%d", w.name, number)
	isController := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.namespace, UID: types.UID(name), CreationTimestamp: metav1.NewTime(created),
			Labels: map[string]string{"app": w.name, "workload-tier": w.tier},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.name, UID: types.UID("owner-" + w.name), Controller: &isController,
			}},
		},
		Spec: corev1.PodSpec{
			Priority:    &w.priority,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "main", Image: "registry.example/" + w.name, Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(w.cpus), corev1.ResourceMemory: resource.MustParse(w.memory)},
			}}},
		},
	}
	if w.gpus > 0 {
		p.Spec.Containers[0].Resources.Requests[sim.GPU] = resource.MustParse(strconv.Itoa(w.gpus))
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{sim.GPU: resource.MustParse(strconv.Itoa(w.gpus))}
	}
	return p
}
