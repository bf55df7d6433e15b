package lint

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/scaler/keda"
)

var update = flag.Bool("update", false, "write generated files")

var now = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// certificate makes the data of a Secret: a leaf of its own authority, or of another one.
func testCertificate(t *testing.T, names []string, notAfter time.Time, foreign bool) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issue := func(template, parent *x509.Certificate) string {
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(9, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, DNSNames: names, NotBefore: now.AddDate(-1, 0, 0), NotAfter: notAfter}
	parent := authority
	if foreign {
		parent = &x509.Certificate{SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "another authority"}}
	}
	data, err := json.Marshal(map[string]string{"ca.crt": issue(authority, authority), "tls.crt": issue(leaf, parent)})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// findings lints a text and returns severity, code and object of each finding.
func findings(t *testing.T, text string, options Options) (short []string, full []Finding) {
	t.Helper()
	objects, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) == 0 {
		t.Fatal("no objects")
	}
	full = Run(NewSet(objects), options)
	for _, f := range full {
		short = append(short, fmt.Sprintf("%s %s %s", f.Severity, f.Code, f.Object))
		if f.Reason == "" || f.Fix == "" || f.Source == "" {
			t.Errorf("a finding without reason, fix or source: %+v", f)
		}
	}
	return short, full
}

const svc = "warmpool-expander.warmpool.svc"

// TestRules changes one thing about a sound cluster at a time. Without a finding the change is a false alarm avoided.
func TestRules(t *testing.T) {
	data, err := os.ReadFile("testdata/sound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	good := testCertificate(t, []string{svc, svc + ".cluster.local"}, now.AddDate(1, 0, 0), false)
	provoked, quiet := map[string]bool{}, map[string]bool{}
	for _, c := range ruleCases {
		t.Run(c.code+"/"+c.name, func(t *testing.T) {
			text, certificate := string(data), good
			for i := 0; i+1 < len(c.change); i += 2 {
				if !strings.Contains(text, c.change[i]) {
					t.Fatalf("the sound cluster has no %q to change", c.change[i])
				}
				text = strings.Replace(text, c.change[i], c.change[i+1], 1)
			}
			if c.certificate != nil {
				certificate = c.certificate(t)
			}
			text = strings.Replace(text, "CERTIFICATE", certificate, 1)
			options := c.options
			if options.Now.IsZero() {
				options.Now = now
			}
			got, full := findings(t, text, options)
			var want []string
			for _, w := range c.want {
				severity, object, _ := strings.Cut(w, " ")
				want = append(want, severity+" "+c.code+" "+object)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%+v", diff, full)
			}
			for _, f := range full {
				if !strings.Contains(f.Reason, c.says) {
					t.Errorf("the reason does not say %q: %s", c.says, f.Reason)
				}
			}
		})
		if len(c.want) > 0 {
			provoked[c.code] = true
		} else {
			quiet[c.code] = true
		}
	}
	for _, r := range Rules {
		if !provoked[r.Code] || !quiet[r.Code] {
			t.Errorf("rule %s: provoked %v, a false alarm avoided %v", r.Code, provoked[r.Code], quiet[r.Code])
		}
	}
}

type ruleCase struct {
	code, name string
	// change are pairs of what to replace and by what.
	change []string
	// want are severity and object of each finding, all with the code of the case.
	want        []string
	says        string
	options     Options
	certificate func(*testing.T) string
}

const (
	chat = "Deployment ml/chat"
	so   = "ScaledObject ml/chat"
	ca   = "Deployment kube-system/cluster-autoscaler"
	eks  = "ClusterConfig gpu"
)

var ruleCases = []ruleCase{
	{code: "pdb-blocks-drain", name: "minAvailable equals the minimum", change: []string{"{maxUnavailable: 1,", "{minAvailable: 2,"}, want: []string{"error PodDisruptionBudget ml/chat"}},
	{code: "pdb-blocks-drain", name: "a share that rounds up to all", change: []string{"{maxUnavailable: 1,", "{minAvailable: 80%,"}, want: []string{"error PodDisruptionBudget ml/chat"}},
	{code: "pdb-blocks-drain", name: "maxUnavailable 0", change: []string{"{maxUnavailable: 1,", "{maxUnavailable: 0,"}, want: []string{"error PodDisruptionBudget ml/chat"}},
	{code: "pdb-blocks-drain", name: "one below the minimum", change: []string{"{maxUnavailable: 1,", "{minAvailable: 1,"}},
	{code: "pdb-blocks-drain", name: "a share that leaves one", change: []string{"{maxUnavailable: 1,", "{minAvailable: 50%,"}},
	{code: "pdb-blocks-drain", name: "of something that is not here", change: []string{"{maxUnavailable: 1, selector: {matchLabels: {app: chat}}", "{minAvailable: 9, selector: {matchLabels: {app: other}}"}},

	{code: "anti-affinity-above-nodes", name: "16 replicas on 10 nodes", change: []string{
		"preferredDuringSchedulingIgnoredDuringExecution:\n            - weight: 10\n              podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: chat}}}",
		"requiredDuringSchedulingIgnoredDuringExecution:\n            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: chat}}}",
	}, want: []string{"error " + chat}, says: "at most 10 nodes"},
	{code: "anti-affinity-above-nodes", name: "enough nodes", change: []string{
		"preferredDuringSchedulingIgnoredDuringExecution:\n            - weight: 10\n              podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: chat}}}",
		"requiredDuringSchedulingIgnoredDuringExecution:\n            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: chat}}}",
		"maxSize: 10", "maxSize: 16",
	}},
	{code: "anti-affinity-above-nodes", name: "hard over zones", change: []string{
		"preferredDuringSchedulingIgnoredDuringExecution:\n            - weight: 10\n              podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: chat}}}",
		"requiredDuringSchedulingIgnoredDuringExecution:\n            - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: chat}}}",
	}},

	{code: "toleration-missing", name: "the pool's taint", change: []string{"        - {key: workload, operator: Equal, value: inference, effect: NoSchedule}\n", ""}, want: []string{"error " + chat}, says: "workload=inference:NoSchedule"},
	{code: "toleration-missing", name: "another effect", change: []string{"value: inference, effect: NoSchedule}\n", "value: inference, effect: NoExecute}\n"}, want: []string{"error " + chat}},
	{code: "toleration-missing", name: "one of two pools is enough", change: []string{"nodeSelector: {node-role: inference}\n", "\n"}},
	{code: "toleration-missing", name: "a pool that is not here", change: []string{"nodeSelector: {node-role: inference}\n      tolerations", "nodeSelector: {node-role: elsewhere}\n      tolerations"}},

	{code: "toleration-too-broad", name: "everything", change: []string{"- {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}", "- {operator: Exists}"}, want: []string{"warning " + chat}, says: "every taint"},
	{code: "toleration-too-broad", name: "no GPU", change: []string{"      containers: [{name: web", "      tolerations: [{key: nvidia.com/gpu, operator: Exists}]\n      containers: [{name: web"}, want: []string{"warning Deployment ml/web"}, says: "asks for no GPU"},
	{code: "toleration-too-broad", name: "staying on failing nodes", change: []string{"      containers: [{name: web", "      tolerations: [{operator: Exists, effect: NoExecute}]\n      containers: [{name: web"}},

	{code: "gpu-limit-without-request", name: "limit alone", change: []string{"requests: {cpu: \"3\", memory: 24Gi, nvidia.com/gpu: 1}", "requests: {cpu: \"3\", memory: 24Gi}"}, want: []string{"warning " + chat}},
	{code: "gpu-limit-without-request", name: "request alone", change: []string{"limits: {memory: 24Gi, nvidia.com/gpu: 1}", "limits: {memory: 24Gi}"}, want: []string{"error " + chat}, says: "refused"},
	{code: "gpu-limit-without-request", name: "they differ", change: []string{"limits: {memory: 24Gi, nvidia.com/gpu: 1}", "limits: {memory: 24Gi, nvidia.com/gpu: 2}", `requests.nvidia.com/gpu: "16"`, `requests.nvidia.com/gpu: "32"`}, want: []string{"error " + chat}, says: "refused"},
	{code: "gpu-limit-without-request", name: "only the CPU has no limit"},

	{code: "gpu-memory-missing", name: "no annotation", change: []string{"annotations: {gpu.ai/memory-required: 16Gi}", "annotations: {}"}, want: []string{"warning " + chat}},
	{code: "gpu-memory-missing", name: "no quantity", change: []string{"memory-required: 16Gi", "memory-required: 16 GB"}, want: []string{"error " + chat}, says: "no quantity"},
	{code: "gpu-memory-missing", name: "no unit", change: []string{"memory-required: 16Gi", "memory-required: \"16\""}, want: []string{"warning " + chat}, says: "16 bytes"},
	{code: "gpu-memory-missing", name: "by GPU", change: []string{"gpu.ai/memory-required: 16Gi", "gpu.ai/memory-per-gpu: 16Gi"}},

	{code: "quota-below-replicas", name: "below the smallest", change: []string{`requests.nvidia.com/gpu: "16"`, `requests.nvidia.com/gpu: "1"`}, want: []string{"error ResourceQuota ml/gpus"}},
	{code: "quota-below-replicas", name: "below the largest", change: []string{`requests.nvidia.com/gpu: "16"`, `requests.nvidia.com/gpu: "15"`}, want: []string{"warning ResourceQuota ml/gpus"}},
	{code: "quota-below-replicas", name: "of another namespace", change: []string{"metadata: {name: gpus, namespace: ml}\nspec: {hard: {requests.nvidia.com/gpu: \"16\"}}", "metadata: {name: gpus, namespace: other}\nspec: {hard: {requests.nvidia.com/gpu: \"1\"}}"}},

	{code: "limit-range-below-pod", name: "eight asked, four allowed", change: []string{`max: {nvidia.com/gpu: "8"}`, `max: {nvidia.com/gpu: "4"}`}, want: []string{"error Job research/train"}},
	{code: "limit-range-below-pod", name: "as many as asked for"},

	{code: "priority-class-missing", name: "a name that does not exist", change: []string{"priorityClassName: serving", "priorityClassName: urgent"}, want: []string{"error " + chat}},
	{code: "priority-class-missing", name: "none beside batch work", change: []string{"      priorityClassName: serving\n", ""}, want: []string{"warning " + chat}, says: "batch"},
	{code: "priority-class-missing", name: "a class of the system", change: []string{"priorityClassName: serving", "priorityClassName: system-node-critical"}},

	{code: "readiness-probe-missing", name: "none", change: []string{"          readinessProbe: {httpGet: {path: /health, port: 8000}}\n", ""}, want: []string{"error " + chat}},
	{code: "readiness-probe-missing", name: "a Job needs none"},

	{code: "probe-shorter-than-load", name: "a short startup probe", change: []string{"failureThreshold: 180", "failureThreshold: 6"}, want: []string{"warning " + chat}, says: "after 30s"},
	{code: "probe-shorter-than-load", name: "a liveness probe alone", change: []string{"startupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 5, failureThreshold: 180}", "livenessProbe: {httpGet: {path: /health, port: 8000}}"}, want: []string{"warning " + chat}, says: "liveness"},
	{code: "probe-shorter-than-load", name: "a liveness probe that waits", change: []string{"startupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 5, failureThreshold: 180}", "livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 300}"}},
	{code: "probe-shorter-than-load", name: "a larger model", options: Options{ModelLoad: 20 * time.Minute}, want: []string{"warning " + chat}},

	{code: "grace-period-short", name: "the default", change: []string{"      terminationGracePeriodSeconds: 120\n", ""}, want: []string{"warning " + chat}, says: "30s"},
	{code: "grace-period-short", name: "longer answers", options: Options{LongestAnswer: 5 * time.Minute}, want: []string{"warning " + chat}},
	{code: "grace-period-short", name: "just enough", change: []string{"terminationGracePeriodSeconds: 120", "terminationGracePeriodSeconds: 60"}},

	{code: "gpu-pods-spread", name: "over hosts", change: []string{"      nodeSelector: {node-role: inference}", "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]\n      nodeSelector: {node-role: inference}"}, want: []string{"warning " + chat}},
	{code: "gpu-pods-spread", name: "a scheduler that spreads", change: []string{"type: MostAllocated", "type: LeastAllocated"}, want: []string{"warning KubeSchedulerConfiguration "}},
	{code: "gpu-pods-spread", name: "over zones", change: []string{"      nodeSelector: {node-role: inference}", "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]\n      nodeSelector: {node-role: inference}"}},

	{code: "two-scalers", name: "a ScaledObject and an HPA", change: []string{"kind: Deployment, name: web}", "kind: Deployment, name: chat}", `requests.nvidia.com/gpu: "16"`, `requests.nvidia.com/gpu: "20"`}, want: []string{"error HorizontalPodAutoscaler ml/web"}},
	{code: "two-scalers", name: "the one that KEDA made"},
	{code: "two-scalers", name: "two variants of one object", change: []string{"---\napiVersion: autoscaling/v2", "---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: chat, namespace: ml}\nspec: {scaleTargetRef: {name: chat}, minReplicaCount: 2, maxReplicaCount: 16}\n---\napiVersion: autoscaling/v2"}},

	{code: "value-metric", name: "Value", change: []string{"metricType: AverageValue", "metricType: Value"}, want: []string{"error " + so}},
	{code: "value-metric", name: "of another scaler", change: []string{"metricType: AverageValue\n      metadata: {scalerAddress: \"warmpool-scaler.warmpool.svc:9444\", service: chat}", "metricType: Value\n      metadata: {scalerAddress: \"other:1\"}"}},

	{code: "tolerance-default", name: "on the way down", change: []string{"stabilizationWindowSeconds: 300, tolerance: \"0\",", "stabilizationWindowSeconds: 300,"}, want: []string{"warning " + so}, says: "in scaleDown:"},
	{code: "tolerance-default", name: "not zero", change: []string{"stabilizationWindowSeconds: 0, tolerance: \"0\",", "stabilizationWindowSeconds: 0, tolerance: \"0.05\","}, want: []string{"warning " + so}},
	{code: "tolerance-default", name: "few replicas always follow", change: []string{"stabilizationWindowSeconds: 300, tolerance: \"0\",", "stabilizationWindowSeconds: 300,", "maxReplicaCount: 16", "maxReplicaCount: 9"}},
	{code: "tolerance-default", name: "a release that cannot say it", change: []string{"stabilizationWindowSeconds: 300, tolerance: \"0\",", "stabilizationWindowSeconds: 300,"}, options: Options{KEDA: keda.Version{Major: 2, Minor: 17}}},

	{code: "fallback", name: "static below what runs", change: []string{"{behavior: currentReplicasIfHigher, failureThreshold: 3, replicas: 4}", "{failureThreshold: 3, replicas: 1}"}, want: []string{"error " + so}},
	{code: "fallback", name: "below the live count", change: []string{"{behavior: currentReplicasIfHigher, failureThreshold: 3, replicas: 4}", "{failureThreshold: 3, replicas: 4}", "spec:\n  selector: {matchLabels: {app: chat}}", "spec:\n  replicas: 9\n  selector: {matchLabels: {app: chat}}"}, want: []string{"error " + so}, says: "9 are typical"},
	{code: "fallback", name: "static", change: []string{"{behavior: currentReplicasIfHigher, failureThreshold: 3, replicas: 4}", "{failureThreshold: 3, replicas: 4}"}, want: []string{"warning " + so}},
	{code: "fallback", name: "to zero", change: []string{"failureThreshold: 3, replicas: 4}", "failureThreshold: 3, replicas: 0}"}, want: []string{"error " + so}},
	{code: "fallback", name: "none", change: []string{"  fallback: {behavior: currentReplicasIfHigher, failureThreshold: 3, replicas: 4}\n", ""}},

	{code: "scale-up-window", name: "a minute", change: []string{"stabilizationWindowSeconds: 0,", "stabilizationWindowSeconds: 60,"}, want: []string{"warning " + so}},
	{code: "scale-up-window", name: "the default is none", change: []string{"stabilizationWindowSeconds: 0, ", ""}},

	{code: "scale-down-window", name: "off", change: []string{"stabilizationWindowSeconds: 300", "stabilizationWindowSeconds: 0"}, want: []string{"error " + so}},
	{code: "scale-down-window", name: "short", change: []string{"stabilizationWindowSeconds: 300", "stabilizationWindowSeconds: 30"}, want: []string{"warning " + so}},
	{code: "scale-down-window", name: "added to ours", change: []string{"stabilizationWindowSeconds: 300", "stabilizationWindowSeconds: 1800"}, want: []string{"warning " + so}, says: "add up"},
	{code: "scale-down-window", name: "the default", change: []string{"stabilizationWindowSeconds: 300, ", ""}},

	{code: "behavior-too-slow", name: "one pod a minute", change: []string{"{type: Pods, value: 16, periodSeconds: 15}", "{type: Pods, value: 1, periodSeconds: 60}"}, want: []string{"warning " + so}, says: "13m0s"},
	{code: "behavior-too-slow", name: "disabled", change: []string{"stabilizationWindowSeconds: 0,", "stabilizationWindowSeconds: 0, selectPolicy: Disabled,"}, want: []string{"warning " + so}, says: "never"},
	{code: "behavior-too-slow", name: "the defaults of Kubernetes", change: []string{", policies: [{type: Pods, value: 16, periodSeconds: 15}]", ""}},

	{code: "accelerator-label-missing", name: "of a pool", change: []string{", k8s.amazonaws.com/accelerator: nvidia}", "}"}, want: []string{"error " + eks}, says: "elastic-spot"},
	{code: "accelerator-label-missing", name: "of a node", change: []string{"{name: n1, labels: {k8s.amazonaws.com/accelerator: nvidia-a10g}}", "{name: n1}"}, want: []string{"error Node n1"}},
	{code: "accelerator-label-missing", name: "of a node of another provider", change: []string{"{name: n1, labels: {k8s.amazonaws.com/accelerator: nvidia-a10g}}", "{name: n1, labels: {cloud.google.com/gke-accelerator: nvidia-l4}}"}},

	{code: "template-incomplete", name: "no GPU tag", change: []string{"taints: [{key: workload, value: elastic, effect: NoSchedule}]\n    tags: {k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu: \"1\"}", "taints: [{key: workload, value: elastic, effect: NoSchedule}]"}, want: []string{"error " + eks}},
	{code: "template-incomplete", name: "no tag for a label", change: []string{"    k8s.io/cluster-autoscaler/node-template/label/node-role: training\n", ""}, want: []string{"error InstanceGroup training"}, says: "label/node-role"},
	{code: "template-incomplete", name: "no tag for a taint", change: []string{"    k8s.io/cluster-autoscaler/node-template/taint/workload: training:NoSchedule\n", ""}, want: []string{"error InstanceGroup training"}, says: "taint/workload"},
	{code: "template-incomplete", name: "no memory", change: []string{"    capacity.cluster-autoscaler.kubernetes.io/memory: 16Gi\n", ""}, want: []string{"error MachineDeployment edge"}, says: "kubernetes.io/memory"},
	{code: "template-incomplete", name: "never at zero", change: []string{"maxSize: 10\n    labels: {node-role: inference, k8s.amazonaws.com/accelerator: nvidia-a10g}\n    taints: [{key: workload, value: inference, effect: NoSchedule}, {key: nvidia.com/gpu, value: present, effect: NoSchedule}]\n    tags: {k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu: \"1\"}", "maxSize: 10\n    labels: {node-role: inference, k8s.amazonaws.com/accelerator: nvidia-a10g}\n    taints: [{key: workload, value: inference, effect: NoSchedule}, {key: nvidia.com/gpu, value: present, effect: NoSchedule}]"}},

	{code: "spot-pool-min", name: "one", change: []string{"spot: true\n    minSize: 0", "spot: true\n    minSize: 1"}, want: []string{"warning " + eks}},
	{code: "spot-pool-min", name: "an on-demand pool may have one"},

	{code: "inference-pool-min-zero", name: "zero", change: []string{"minSize: 2", "minSize: 0"}, want: []string{"warning " + eks}},
	{code: "inference-pool-min-zero", name: "elastic and training pools go to zero"},

	{code: "price-unknown", name: "no price", change: []string{", hourlyCost: 1.006}", "}"}, want: []string{"warning Config "}},
	{code: "price-unknown", name: "a CPU pool needs none"},

	{code: "priority-expander", name: "a glob", change: []string{"[^elastic-spot$]", `["*spot*"]`}, want: []string{"error ConfigMap kube-system/cluster-autoscaler-priority-expander"}, says: "does not compile"},
	{code: "priority-expander", name: "look-ahead", change: []string{"[^elastic-spot$]", `["^(?!spot)"]`}, want: []string{"error ConfigMap kube-system/cluster-autoscaler-priority-expander"}},
	{code: "priority-expander", name: "everything first", change: []string{"50: [^elastic-spot$]", "50: [.*]"}, want: []string{"error ConfigMap kube-system/cluster-autoscaler-priority-expander"}, says: "never count"},
	{code: "priority-expander", name: "nothing for the rest", change: []string{"    10: [.*]\n", ""}, want: []string{"warning ConfigMap kube-system/cluster-autoscaler-priority-expander"}},
	{code: "priority-expander", name: "negative", change: []string{"10: [.*]", "10: [.*]\n    -5: [x]"}, want: []string{"error ConfigMap kube-system/cluster-autoscaler-priority-expander"}},
	{code: "priority-expander", name: "two patterns for one pool", change: []string{"20: [^inference$]", "20: [spot]"}, want: []string{"warning ConfigMap kube-system/cluster-autoscaler-priority-expander"}, says: "anywhere"},
	{code: "priority-expander", name: "not a map", change: []string{"  priorities: |\n", "  priority: |\n"}, want: []string{"error ConfigMap kube-system/cluster-autoscaler-priority-expander"}},
	{code: "priority-expander", name: "another ConfigMap", change: []string{"{name: cluster-autoscaler-priority-expander,", "{name: something,"}},

	{code: "expander-flags", name: "not first", change: []string{"--expander=grpc,least-waste", "--expander=least-waste,grpc"}, want: []string{"error " + ca}, says: "least-waste decides"},
	{code: "expander-flags", name: "alone", change: []string{"--expander=grpc,least-waste", "--expander=grpc"}, want: []string{"warning " + ca}},
	{code: "expander-flags", name: "not at all", change: []string{"--expander=grpc,least-waste", "--expander=least-waste"}, want: []string{"error " + ca}},
	{code: "expander-flags", name: "a scheme", change: []string{"url=warmpool", "url=https://warmpool"}, want: []string{"error " + ca}, says: "scheme"},
	{code: "expander-flags", name: "no certificate", change: []string{"            - --grpc-expander-cert=/etc/warmpool/ca.crt\n", ""}, want: []string{"error " + ca}},
	{code: "expander-flags", name: "old documents", change: []string{"--grpc-expander-url=", "--grpcExpanderURL="}, want: []string{"error " + ca}},
	{code: "expander-flags", name: "balancing", change: []string{"--balance-similar-node-groups=false", "--balance-similar-node-groups=true"}, want: []string{"warning " + ca}},
	{code: "expander-flags", name: "balancing by a label", change: []string{"--balance-similar-node-groups=false", "--balance-similar-node-groups=true\n            - --balancing-label=pool"}},
	{code: "expander-flags", name: "flags in two words", change: []string{"--expander=grpc,least-waste", "--expander\n            - grpc,least-waste"}},

	{code: "certificate", name: "expired", certificate: func(t *testing.T) string { return testCertificate(t, []string{svc}, now.AddDate(0, 0, -1), false) }, want: []string{"error Secret warmpool/warmpool-tls"}},
	{code: "certificate", name: "ends soon", certificate: func(t *testing.T) string { return testCertificate(t, []string{svc}, now.AddDate(0, 0, 3), false) }, want: []string{"warning Secret warmpool/warmpool-tls"}},
	{code: "certificate", name: "another name", certificate: func(t *testing.T) string {
		return testCertificate(t, []string{"warmpool"}, now.AddDate(1, 0, 0), false)
	}, want: []string{"error Secret warmpool/warmpool-tls"}, says: svc},
	{code: "certificate", name: "another authority", certificate: func(t *testing.T) string { return testCertificate(t, []string{svc}, now.AddDate(1, 0, 0), true) }, want: []string{"error Secret warmpool/warmpool-tls"}, says: "authority"},
	{code: "certificate", name: "a wildcard", certificate: func(t *testing.T) string {
		return testCertificate(t, []string{"*.warmpool.svc"}, now.AddDate(1, 0, 0), false)
	}},
}

// TestAlone checks manifests that need no others, and what must stay quiet without them.
func TestAlone(t *testing.T) {
	const (
		service = "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: chat, namespace: ml, annotations: {serving.kserve.io/autoscalerClass: CLASS}}\n" +
			"spec: {predictor: {annotations: {gpu.ai/memory-required: 16Gi}, model: {resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}}}\n---\n" +
			"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: chat, namespace: ml}\nspec: {scaleTargetRef: {name: chat-predictor}, minReplicaCount: 1, maxReplicaCount: 5}\n"
		groups = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: big, namespace: ml}\n" +
			"spec: {replicas: 1, leaderWorkerTemplate: {size: 2, leaderTemplate: TEMPLATE, workerTemplate: TEMPLATE}}\n---\n" +
			"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: big, namespace: ml}\nspec: {minAvailable: LEAST, selector: {matchLabels: {app: big}}}\n"
		template  = "{metadata: {labels: {app: big}}, spec: {containers: [{name: c, image: i}]}}"
		scheduler = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: plain}]\n"
		list      = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {capacity: {nvidia.com/gpu: \"1\"}}}\n"
		values    = "extraArgs: {expander: \"least-waste,grpc\", grpc-expander-url: \"w.ns.svc:9443\", grpc-expander-cert: /ca.crt}\n"
	)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"KServe's own autoscaler":      {strings.ReplaceAll(service, "CLASS", "hpa"), []string{"error two-scalers InferenceService ml/chat"}},
		"KServe told to leave it":      {strings.ReplaceAll(service, "CLASS", "external"), nil},
		"budget over a whole group":    {strings.NewReplacer("TEMPLATE", template, "LEAST", "1").Replace(groups), nil},
		"budget that needs the group":  {strings.NewReplacer("TEMPLATE", template, "LEAST", "2").Replace(groups), []string{"error pdb-blocks-drain PodDisruptionBudget ml/big"}},
		"a scheduler without GPUs":     {scheduler, nil},
		"a list, as kubectl prints it": {list, []string{"error accelerator-label-missing Node n1"}},
		"values of the chart":          {values, []string{"error expander-flags Values cluster-autoscaler"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, full := findings(t, c.text, Options{})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%+v", diff, full)
			}
		})
	}
}

// FuzzParse lints whatever can be read: it must not fail, and say the same twice.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"../deploy/examples/scaledobject-from-zero.yaml", "../deploy/examples/kserve.yaml", "../deploy/examples/nodepools/clusterapi.yaml"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := Parse("fuzz.yaml", data)
		if err != nil {
			return
		}
		first := Run(NewSet(objects), Options{Now: now})
		if second := Run(NewSet(objects), Options{Now: now}); !cmp.Equal(first, second) {
			t.Errorf("two runs differ: %s", cmp.Diff(first, second))
		}
	})
}

// TestReference generates the table of rules in docs/lint.md.
func TestReference(t *testing.T) {
	var table strings.Builder
	table.WriteString("| code | severity | finds |\n|---|---|---|\n")
	for _, r := range Rules {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.Code, r.Severity, r.Finds)
	}
	path := filepath.Join("..", "docs", "lint.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := bytes.Cut(data, []byte("<!-- generated: rules -->\n"))
	got, after, found := bytes.Cut(rest, []byte("<!-- end -->"))
	switch {
	case !found:
		t.Fatalf("%s has no markers", path)
	case string(got) == table.String():
	case *update:
		text := slices.Concat(before, []byte("<!-- generated: rules -->\n"), []byte(table.String()), []byte("<!-- end -->"), after)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date; run the test with -update:\n%s", path, cmp.Diff(string(got), table.String()))
	}
}

// TestExamples lints everything that we hand out.
func TestExamples(t *testing.T) {
	var objects []*Object
	err := filepath.WalkDir("../deploy/examples", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, err := Parse(path, data)
		objects = append(objects, found...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	set := NewSet(objects)
	if len(set.workloads) < 3 || len(set.pools) < 12 || len(set.scaledObjects) < 4 || len(set.autoscalers()) < 1 {
		t.Errorf("%d workloads, %d pools, %d ScaledObjects, %d autoscalers: the test checks little", len(set.workloads), len(set.pools), len(set.scaledObjects), len(set.autoscalers()))
	}
	for _, f := range Run(set, Options{Now: time.Now()}) {
		t.Errorf("%s: %s %s: %s: %s", f.Source, f.Severity, f.Code, f.Object, f.Reason)
	}
}
