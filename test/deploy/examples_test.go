package deploy

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/warmpool/warmpool/config"
)

const examples = root + "/deploy/examples"

// known are the kinds that the examples use, by API version, and who serves them. Kinds of a file for a tool, which no API
// server takes, say so.
var known = map[string]string{
	"v1/Namespace": "Kubernetes", "v1/ResourceQuota": "Kubernetes", "v1/LimitRange": "Kubernetes", "v1/Service": "Kubernetes", "v1/ServiceAccount": "Kubernetes",
	"apps/v1/Deployment": "Kubernetes", "policy/v1/PodDisruptionBudget": "Kubernetes",
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding": "Kubernetes", "rbac.authorization.k8s.io/v1/RoleBinding": "Kubernetes",
	"keda.sh/v1alpha1/ScaledObject": "KEDA", "keda.sh/v1alpha1/TriggerAuthentication": "KEDA",
	"leaderworkerset.x-k8s.io/v1/LeaderWorkerSet": "LeaderWorkerSet", "serving.kserve.io/v1beta1/InferenceService": "KServe",
	"cluster.x-k8s.io/v1beta1/MachineDeployment": "Cluster API",
	"monitoring.coreos.com/v1/PodMonitor":        "Prometheus operator", "monitoring.coreos.com/v1/ServiceMonitor": "Prometheus operator",
	"kops.k8s.io/v1alpha2/InstanceGroup": "the tool kops", "eksctl.io/v1alpha5/ClusterConfig": "the tool eksctl",
	"kubescheduler.config.k8s.io/v1/KubeSchedulerConfiguration": "the file of kube-scheduler", "warmpool.dev/v1alpha1/Config": "the file of warmpool",
}

// An object of an example.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	raw []byte
}

// objects reads the objects of a file.
func objects(t *testing.T, path string) []object {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []object
	for r := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data))); ; {
		raw := make([]byte, len(data)+1)
		n, err := r.Read(raw)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		o := object{raw: raw[:n]}
		if err := sigsyaml.Unmarshal(o.raw, &o); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, o)
	}
}

// manifests are the example files that hold objects; values of other charts and Prometheus' own file hold none.
func manifests(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(examples, func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".values.yaml") && d.Name() != "prometheus.yaml" {
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) < 10 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

func TestExamplesHaveKnownKinds(t *testing.T) {
	for _, path := range manifests(t) {
		for _, o := range objects(t, path) {
			if known[o.APIVersion+"/"+o.Kind] == "" {
				t.Errorf("%s: unknown kind %s %s", path, o.APIVersion, o.Kind)
			}
		}
	}
}

// Objects of Kubernetes itself have no field that their type does not know.
func TestExamplesHaveKnownFields(t *testing.T) {
	types := map[string]func() any{
		"Deployment": func() any { return &appsv1.Deployment{} }, "PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} },
		"ResourceQuota": func() any { return &corev1.ResourceQuota{} }, "LimitRange": func() any { return &corev1.LimitRange{} }, "Service": func() any { return &corev1.Service{} },
	}
	checked := 0
	for _, path := range manifests(t) {
		for _, o := range objects(t, path) {
			if into := types[o.Kind]; into != nil {
				checked++
				if err := sigsyaml.UnmarshalStrict(o.raw, into()); err != nil {
					t.Errorf("%s: %s %s: %v", path, o.Kind, o.Metadata.Name, err)
				}
			}
		}
	}
	if checked < 6 {
		t.Errorf("only %d objects were checked", checked)
	}
}

// A scaledObject is what matters of a ScaledObject here.
type scaledObject struct {
	Spec struct {
		MinReplicaCount *int `json:"minReplicaCount"`
		MaxReplicaCount int  `json:"maxReplicaCount"`
		Fallback        struct {
			Behavior         string `json:"behavior"`
			FailureThreshold int    `json:"failureThreshold"`
			Replicas         int    `json:"replicas"`
		} `json:"fallback"`
		Advanced struct {
			HPA struct {
				Behavior struct{ ScaleUp, ScaleDown rules } `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type, MetricType  string
			Metadata          map[string]string `json:"metadata"`
			AuthenticationRef struct {
				Name string `json:"name"`
			} `json:"authenticationRef"`
		} `json:"triggers"`
	} `json:"spec"`
}

type rules struct {
	Tolerance                  string `json:"tolerance"`
	StabilizationWindowSeconds int    `json:"stabilizationWindowSeconds"`
	Policies                   []struct {
		Type          string `json:"type"`
		Value         int    `json:"value"`
		PeriodSeconds int    `json:"periodSeconds"`
	} `json:"policies"`
}

// Every trigger resolves to a service of the example configuration, and the object around it lets the target through
// exactly, at once, and safely.
func TestExampleScaledObjects(t *testing.T) {
	c, err := config.Load(examples + "/warmpool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("the example configuration has warnings: %v", c.Warnings)
	}
	found := map[string]int{}
	for _, path := range manifests(t) {
		for _, o := range objects(t, path) {
			if o.Kind != "ScaledObject" {
				continue
			}
			var so scaledObject
			if err := sigsyaml.Unmarshal(o.raw, &so); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			found[so.Spec.Triggers[0].Type]++
			checkScaledObject(t, path, c, o, so)
		}
	}
	if found["external"] == 0 || found["external-push"] < 3 {
		t.Errorf("triggers by type: %v", found)
	}
}

func checkScaledObject(t *testing.T, path string, c *config.Config, o object, so scaledObject) {
	t.Helper()
	trigger, behavior, fallback := so.Spec.Triggers[0], so.Spec.Advanced.HPA.Behavior, so.Spec.Fallback
	service, err := c.ServiceFromMetadata(o.Metadata.Namespace, o.Metadata.Name, trigger.Metadata)
	if err != nil {
		t.Errorf("%s: %s: %v", path, o.Metadata.Name, err)
		return
	}
	if service.Policy.Min != *so.Spec.MinReplicaCount || service.Policy.Max != so.Spec.MaxReplicaCount {
		t.Errorf("%s: %s: limits %d to %d, the service has %d to %d", path, o.Metadata.Name, *so.Spec.MinReplicaCount, so.Spec.MaxReplicaCount, service.Policy.Min, service.Policy.Max)
	}
	for what, ok := range map[string]bool{
		"metric type AverageValue":               trigger.MetricType == "AverageValue",
		"TLS with the authority":                 trigger.Metadata["enableTLS"] == "true" && trigger.AuthenticationRef.Name == "warmpool",
		"tolerances 0":                           behavior.ScaleUp.Tolerance == "0" && behavior.ScaleDown.Tolerance == "0",
		"no wait on the way up":                  behavior.ScaleUp.StabilizationWindowSeconds == 0,
		"a window of 300 s on the way down":      behavior.ScaleDown.StabilizationWindowSeconds == 300,
		"one step up":                            len(behavior.ScaleUp.Policies) == 1 && behavior.ScaleUp.Policies[0].Type == "Pods" && behavior.ScaleUp.Policies[0].Value >= so.Spec.MaxReplicaCount,
		"one step down":                          len(behavior.ScaleDown.Policies) == 1 && behavior.ScaleDown.Policies[0].Type == "Percent" && behavior.ScaleDown.Policies[0].Value == 100,
		"a fallback that never removes replicas": fallback.Behavior == "currentReplicasIfHigher" && fallback.FailureThreshold == 3 && fallback.Replicas >= max(1, *so.Spec.MinReplicaCount),
	} {
		if !ok {
			t.Errorf("%s: %s: not there: %s", path, o.Metadata.Name, what)
		}
	}
}

// The node pools of every provider are the pools of the configuration, with the taint that keeps others off.
func TestNodePoolsAgree(t *testing.T) {
	files, err := filepath.Glob(examples + "/nodepools/*")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(`"`, "", ": ", "=", "\n", " ", ",", " ").Replace(string(data))
		for _, want := range []string{"node-role=inference", "node-role=training", "node-role=elastic", "spot=true", "spot=false"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no label %s", path, want)
			}
		}
		for _, want := range []string{"inference", "training", "elastic"} {
			if !strings.Contains(text, "workload="+want+":NoSchedule") && !strings.Contains(text, "key=workload  value="+want+"  effect=NoSchedule") {
				t.Errorf("%s: no taint workload=%s", path, want)
			}
		}
	}
}

func TestScriptsParse(t *testing.T) {
	scripts, err := filepath.Glob(examples + "/nodepools/*.sh")
	if err != nil || len(scripts) != 2 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, path := range scripts {
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
}

func TestPrometheusReadsTheExample(t *testing.T) {
	promtool := filepath.Join(root, ".cache", "bin", "promtool")
	if _, err := os.Stat(promtool); err != nil {
		if os.Getenv("WARMPOOL_REQUIRE_PROMETHEUS") != "" {
			t.Fatal("promtool is not built: make .cache/bin/promtool")
		}
		t.Skip("promtool is not built: make test")
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "config", "--syntax-only", examples+"/monitoring/prometheus.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
