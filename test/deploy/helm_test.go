package deploy

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root  = "../.."
	chart = root + "/deploy/helm/warmpool"
)

var update = flag.Bool("update", false, "write the golden files")

// helm runs Helm as the Makefile builds it.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	binary, err := filepath.Abs(filepath.Join(root, ".cache", "bin", "helm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		if os.Getenv("WARMPOOL_REQUIRE_HELM") != "" {
			t.Fatal("Helm is not built: make .cache/bin/helm")
		}
		t.Skip("Helm is not built: make test")
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=/dev/null", "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String() + stderr.String(), err
	}
	return out.String(), nil
}

// valueSets are the named sets of values under testdata.
func valueSets(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d sets of values, %v", len(files), err)
	}
	return files
}

func render(t *testing.T, values string, more ...string) string {
	t.Helper()
	out, err := helm(t, append([]string{"template", "warmpool", chart, "--namespace", "warmpool", "--values", values}, more...)...)
	if err != nil {
		t.Fatalf("helm template with %s: %v\n%s", values, err, out)
	}
	return out
}

func TestChartLints(t *testing.T) {
	for _, values := range valueSets(t) {
		if out, err := helm(t, "lint", "--strict", "--values", values, chart); err != nil {
			t.Errorf("%s: %v\n%s", values, err, out)
		}
	}
}

// generated is what the chart makes anew each time: keys, certificates and the token of the replicas.
var generated = regexp.MustCompile(`(?m)^(  (?:ca\.crt|tls\.crt|tls\.key|token): ).*$`)

func TestChartTemplates(t *testing.T) {
	for _, values := range valueSets(t) {
		name := strings.TrimSuffix(filepath.Base(values), ".yaml")
		t.Run(name, func(t *testing.T) {
			got := generated.ReplaceAllString(render(t, values), "${1}GENERATED")
			golden := filepath.Join("testdata", "golden", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got, -update writes it):\n%s", golden, diff)
			}
		})
	}
}

// Values that cannot work are refused before anything is installed, and the message says what is wrong.
func TestChartRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		set        []string
	}{
		{"unknown key", "replicaCount", []string{"replicaCount=2"}},
		{"unknown key inside", "tokens", []string{"admin.tokens=x"}},
		{"no replica", "replicas", []string{"replicas=0"}},
		{"topology", "topology", []string{"topology=both"}},
		{"privileged port", "port", []string{"expander.port=443"}},
		{"digest", "digest", []string{"image.digest=latest"}},
		{"no memory limit", "memory", []string{"resources.limits.memory=null"}},
		{"reserved taint without label", "podLabel", []string{"admissionPolicy.enabled=true", "admissionPolicy.reservedTaints[0].key=workload", "admissionPolicy.reservedTaints[0].value=inference"}},
		{"nothing to serve", "nothing is left to serve", []string{"expander.enabled=false", "scaler.enabled=false"}},
		{"no issuer", "issuerRef", []string{"tls.mode=certManager"}},
		{"no secret", "secretName", []string{"tls.mode=secret"}},
		{"metrics without token", "tokenSecret", []string{"serviceMonitor.enabled=true"}},
		{"a rule without its permission", "rbac.podDeletionCost", []string{"config.spot.onDemandFirstScaleIn=true"}},
		{"expander without section", "config.expander", []string{"config.expander=null"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := []string{"template", "warmpool", chart, "--namespace", "warmpool"}
			for _, s := range tc.set {
				args = append(args, "--set", s)
			}
			out, err := helm(t, args...)
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("error %v, want %q in it:\n%s", err, tc.want, out)
			}
		})
	}
}

// The chart ships the alerts that are tested; a chart cannot reach outside of its folder.
func TestChartCarriesTheAlerts(t *testing.T) {
	want, err := os.ReadFile(root + "/deploy/alerts/warmpool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := chart + "/files/alerts.yaml"
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from deploy/alerts/warmpool.yaml (error %v): -update copies it", path, err)
	}
}
