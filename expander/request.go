package expander

// Request is one call of the Cluster Autoscaler: the options it simulated and the node templates it knows.
type Request struct {
	// Pods holds each distinct pod once; options refer to it by index.
	Pods []Pod
	// Options holds one entry for each group that could grow now, in the order of the request.
	Options []Option
	// Groups holds every node template, including groups that have no option now.
	Groups []Group
}

// Option is one way to grow: NodeCount new nodes of a group, on which Pods would run.
type Option struct {
	GroupID   string
	NodeCount int
	// Pods are indices into Request.Pods. It is empty when the sender could not serialise the pods of this option:
	// then the pods are unknown, not absent.
	Pods []int
}

// Group is a node group with the template of a node it would add.
type Group struct {
	ID          string
	Labels      map[string]string
	Taints      []Taint
	Capacity    Resources
	Allocatable Resources
}

// Resources are amounts as the scheduler counts them.
type Resources struct {
	MilliCPU int64
	// Memory is in bytes.
	Memory int64
	// Extended holds every other countable resource by name, such as nvidia.com/gpu.
	Extended map[string]int64
}

// Pod is a pending pod, reduced to what a choice of node group can depend on.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	// OwnerUID is the controller of the pod, or empty.
	OwnerUID      string
	Labels        map[string]string
	Annotations   map[string]string
	Priority      int32
	PriorityClass string
	// Requests are what the scheduler counts: init containers, sidecars, overhead and pod-level requests included.
	Requests Resources
	// Claims is the number of dynamic resource claims; with it the pod wants an accelerator, of unknown amount unless
	// Devices tells.
	Claims int
	// Devices are the whole GPUs that the claims ask for, by device class. The request does not carry claims: only a
	// cluster view can look them up. Nil is unknown.
	Devices      map[string]int64
	Tolerations  []Toleration
	NodeSelector map[string]string
	// Required holds the required node affinity terms; any one of them suffices. Empty means no requirement.
	Required []Term
	// Preferred holds the soft node affinity terms.
	Preferred []PreferredTerm
}

// Taint is a node taint.
type Taint struct{ Key, Value, Effect string }

// Toleration is a pod toleration. Operator is Equal (also when empty) or Exists; an empty Effect matches all.
type Toleration struct{ Key, Operator, Value, Effect string }

// Term is one node selector term: every requirement must hold.
type Term struct{ Requirements []Requirement }

// Requirement compares one node label. Operator is In, NotIn, Exists, DoesNotExist, Gt or Lt.
type Requirement struct {
	Key, Operator string
	Values        []string
}

// PreferredTerm is a soft node affinity term with its weight from 1 to 100.
type PreferredTerm struct {
	Term   Term
	Weight int32
}
