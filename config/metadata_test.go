package config

import (
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/scaler"
)

const llama = head + `
prometheus: {url: "http://p:9090"}
services:
  - name: llama
    namespace: ml
    replicas: {min: 1, max: 8}
    preset: vllm
    selector: {model_name: m1}
    queries: {rate: "sum(rate(gateway_requests_total[2m]))"}
    forecast: {timeZone: UTC}
`

// TestTriggerMetadata is keda-2571: secrets of a TriggerAuthentication do not reach an external scaler, so users put them
// into the metadata, where they arrive in clear.
func TestTriggerMetadata(t *testing.T) {
	const address = "scaler.warmpool.svc:9000"
	base := map[string]string{"scalerAddress": address, "service": "llama"}
	with := func(kv ...string) map[string]string {
		m := map[string]string{}
		maps.Copy(m, base)
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	rows := []struct {
		name       string
		metadata   map[string]string
		allow      string
		errorNames []string
		contain    string
	}{
		{name: "secrets", metadata: with("prometheusPassword", "s3cr3t-value", "tokenFromEnv", "resolved-token"), errorNames: []string{"prometheusPassword", "tokenFromEnv"}},
		{name: "secret in a label's place", metadata: with("selector", "s3cr3t-value=m7"), errorNames: []string{"selector"}},
		{name: "known FromEnv", metadata: map[string]string{"scalerAddress": address, "serviceFromEnv": "llama"}},
		{name: "query not allowed", metadata: with("waitingQuery", `sum(vllm:num_requests_waiting{namespace="bank"})`), errorNames: []string{"waitingQuery"}},
		{name: "query allowed", metadata: with("waitingQuery", `sum(vllm:num_requests_waiting{model_name="m7"})`), allow: "metadata: {allowQueries: [ml]}\n", contain: `namespace="ml"`},
		{name: "namespace cannot be changed", metadata: with("preset", "vllm", "model", "m7", "namespace", "bank"), contain: `namespace="ml"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c := mustParse(t, llama+row.allow)
			s, err := c.ServiceFromMetadata("ml", "llama-scaler", row.metadata)
			if len(row.errorNames) > 0 {
				var found *Errors
				if !errors.As(err, &found) || len(found.Problems) != len(row.errorNames) {
					t.Fatalf("got %v, want problems with %v", err, row.errorNames)
				}
				for i, name := range row.errorNames {
					if found.Problems[i].Path != name {
						t.Errorf("problem %d is with %s, want %s", i, found.Problems[i].Path, name)
					}
				}
				for _, value := range []string{"s3cr3t-value", "resolved-token", "bank"} {
					if strings.Contains(err.Error(), value) {
						t.Errorf("the error shows the value %q: %v", value, err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range s.Queries {
				if strings.Contains(q.Alone+q.Expr, "bank") || q.Match["namespace"] == "bank" {
					t.Errorf("query %s reads another namespace: %+v", q.Signal, q)
				}
				if q.Signal == scaler.Waiting && !strings.Contains(q.Alone, row.contain) {
					t.Errorf("waiting is %s, want %s in it", q.Alone, row.contain)
				}
				if q.By != nil && q.Match["namespace"] != "ml" {
					t.Errorf("query %s takes the row of namespace %q", q.Signal, q.Match["namespace"])
				}
			}
			if row.name == "known FromEnv" {
				if diff := cmp.Diff(c.Services[0], s, cmp.Comparer(sameLocation)); diff != "" {
					t.Errorf("serviceFromEnv differs from the entry (-entry +trigger):\n%s", diff)
				}
			}
		})
	}
}

func sameLocation(a, b *time.Location) bool { return a.String() == b.String() }

func TestTriggerMetadataMerges(t *testing.T) {
	c := mustParse(t, llama)
	s, err := c.ServiceFromMetadata("ml", "so", map[string]string{"service": "llama", "maxReplicas": "20", "model": "m2", "scaleDownMaxStep": "10%"})
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Policy; p.Name != "llama" || p.Min != 1 || p.Max != 20 || p.ScaleDown.MaxStep != 0.1 {
		t.Errorf("got %s %d..%d step %g, want llama 1..20 step 0.1", p.Name, p.Min, p.Max, p.ScaleDown.MaxStep)
	}
	if got := s.Queries[0].Match["model_name"]; got != "m2" {
		t.Errorf("model %q, want m2", got)
	}
	if c.Services[0].Queries[0].Match["model_name"] != "m1" || c.Services[0].Policy.Max != 8 {
		t.Error("the entry of the file changed")
	}
	if s.Policy.Hash == c.Services[0].Policy.Hash {
		t.Error("another policy has the same hash")
	}
}

func TestTriggerMetadataAlone(t *testing.T) {
	c := mustParse(t, llama)
	s, err := c.ServiceFromMetadata("team-b", "chat", map[string]string{"preset": "sglang", "model": "qwen", "maxReplicas": "6", "forecastHolidays": "2027-12-25, 2027-01-01"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Holiday{{2027, time.January, 1, ""}, {2027, time.December, 25, ""}}
	if diff := cmp.Diff(want, s.Forecast.Holidays); diff != "" {
		t.Errorf("holidays:\n%s", diff)
	}
	if s.Policy.Namespace != "team-b" || s.Policy.Name != "chat" || s.Policy.Min != 1 || s.Policy.Max != 6 {
		t.Errorf("got %s/%s %d..%d", s.Policy.Namespace, s.Policy.Name, s.Policy.Min, s.Policy.Max)
	}
}

func TestTriggerMetadataUnknownService(t *testing.T) {
	c := mustParse(t, llama)
	for _, namespace := range []string{"ml", "bank"} {
		_, err := c.ServiceFromMetadata(namespace, "so", map[string]string{"service": map[string]string{"ml": "gone", "bank": "llama"}[namespace]})
		if !errors.Is(err, ErrUnknownService) {
			t.Errorf("namespace %s: got %v, want ErrUnknownService", namespace, err)
		}
	}
}

// TestTriggerMetadataForEveryNamespace lets an entry without a namespace serve any trigger, in the trigger's namespace.
func TestTriggerMetadataForEveryNamespace(t *testing.T) {
	c := mustParse(t, strings.Replace(llama, "    namespace: ml\n", "", 1))
	for _, namespace := range []string{"a", "b"} {
		s, err := c.ServiceFromMetadata(namespace, "so", map[string]string{"service": "llama"})
		if err != nil {
			t.Fatal(err)
		}
		if s.Policy.Namespace != namespace || s.Queries[0].Match["namespace"] != namespace {
			t.Errorf("got namespace %s, row %v; want %s", s.Policy.Namespace, s.Queries[0].Match, namespace)
		}
	}
}

// TestTriggerMetadataEveryErrorAtOnce also checks that no error repeats a value.
func TestTriggerMetadataEveryErrorAtOnce(t *testing.T) {
	c := mustParse(t, llama)
	metadata := map[string]string{
		"preset": "vlllm-xyzzy", "minReplicas": "xyzzy", "maxReplicas": "0xyzzy", "staleAfter": "90xyzzy", "forecastTimeZone": "Xyzzy/Zone", "gpuScaleUp": "7.77",
		"selector": "xyzzy", "maxReplica": "xyzzy", "authTokenFromEnv": "xyzzy", "forecastHolidays": "xyzzy", "waitingQuery": "xyzzy",
	}
	_, err := c.ServiceFromMetadata("ml", "so", metadata)
	var found *Errors
	if !errors.As(err, &found) {
		t.Fatalf("got %v", err)
	}
	paths := map[string]bool{}
	for _, p := range found.Problems {
		paths[strings.TrimSuffix(p.Path, "[0]")] = true
	}
	for key := range metadata {
		if !paths[key] {
			t.Errorf("no problem names %s; there are:\n%v", key, err)
		}
	}
	for _, value := range []string{"xyzzy", "Xyzzy", "7.77"} {
		if strings.Contains(err.Error(), value) {
			t.Errorf("a value is shown:\n%v", err)
		}
	}
	if !strings.Contains(err.Error(), "did you mean maxReplicas?") {
		t.Errorf("no suggestion for maxReplica:\n%v", err)
	}
}

// TestFlatKeysReachEveryLeaf makes sure that everything a service can say in the file can be said in metadata.
func TestFlatKeysReachEveryLeaf(t *testing.T) {
	elsewhere := map[string]string{"name": "service", "namespace": "the ScaledObject's", "selector": "selector and model"}
	flat := flatKeys()
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		for _, f := range orderedFields(typ) {
			here := join(path, f.key)
			switch {
			case flat[here].name != "" || elsewhere[here] != "":
			case f.typ.Kind() == reflect.Struct && len(orderedFields(f.typ)) > 0:
				walk(f.typ, here)
			default:
				t.Errorf("%s has no flat key", here)
			}
		}
	}
	walk(reflect.TypeFor[serviceFile](), "")
	if len(flatKeyByName()) != len(flat) {
		t.Error("two keys share a flat name")
	}
}

func FuzzServiceFromMetadata(f *testing.F) {
	f.Add("service", "llama", "maxReplicas", "12")
	f.Add("preset", "triton", "maxReplicas", "3")
	f.Add("waitingQuery", `sum(a{namespace="x"} or b)`, "maxReplicas", "3")
	f.Add("selector", `a=b,c="d`, "forecastTimeZone", "+02:00")
	f.Add("tokenFromEnv", "secret", "forecastHolidays", "2027-02-30,")
	c, err := parse("test.yaml", []byte(llama+"metadata: {allowQueries: [ml]}\n"), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		s, err := c.ServiceFromMetadata("ml", "so", map[string]string{k1: v1, k2: v2, "preset": "vllm"})
		if err != nil {
			for _, v := range []string{v1, v2} {
				if len(v) > 8 && v != k1 && v != k2 && !strings.Contains(strings.Join(metadataKeys(), " "), v) && strings.Contains(err.Error(), v) &&
					!strings.Contains(k1+k2, v) {
					t.Errorf("the error shows the value %q: %v", v, err)
				}
			}
			return
		}
		if s.Policy.Min > s.Policy.Max || s.Policy.Max < 1 || s.Forecast.Location == nil || len(s.Queries) == 0 {
			t.Errorf("an impossible service: %+v", s)
		}
		for _, q := range s.Queries {
			if q.By == nil && !strings.Contains(q.Expr, "namespace=") && q.Expr != c.Services[0].Queries[0].Expr {
				if q.Signal == scaler.Rate && q.Expr == "sum(rate(gateway_requests_total[2m]))" {
					continue // the operator's own
				}
				t.Errorf("query %s is not restricted: %s", q.Signal, q.Expr)
			}
		}
	})
}
