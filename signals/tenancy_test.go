package signals

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
	"github.com/warmpool/warmpool/signals/promtest"
)

const tenant = "ml"

// node is a part of a query as Prometheus parses it.
type node map[string]any

// parse gives what the server takes a query for, or nil when it is refused.
func parse(t *testing.T, server, query string) node {
	t.Helper()
	response, err := http.PostForm(server+"/api/v1/parse_query", url.Values{"query": {query}})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode == http.StatusNotFound {
		if os.Getenv("WARMPOOL_REQUIRE_PROMETHEUS") != "" {
			t.Fatal("the Prometheus in PATH does not show how it parses a query; it has to be 3.0 or newer")
		}
		t.Skip("the Prometheus in PATH does not show how it parses a query")
	}
	var answer struct {
		Status, Error string
		Data          node
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if answer.Status != "success" && !strings.Contains(answer.Error, "parse error") {
		t.Fatalf("%q: %s", query, text)
	}
	return answer.Data
}

// walk calls do for every part of a query.
func walk(part any, do func(node)) {
	switch p := part.(type) {
	case map[string]any:
		do(p)
		for _, name := range slices.Sorted(maps.Keys(p)) {
			walk(p[name], do)
		}
	case []any:
		for _, one := range p {
			walk(one, do)
		}
	}
}

// selectors are the parts that read series.
func selectors(query node) []node {
	var all []node
	walk(map[string]any(query), func(n node) {
		if n["matchers"] != nil && (n["type"] == "vectorSelector" || n["type"] == "matrixSelector") {
			all = append(all, n)
		}
	})
	return all
}

// forced tells whether a selector reads series of the tenant only.
func forced(selector node) bool {
	matchers, _ := selector["matchers"].([]any)
	return slices.ContainsFunc(matchers, func(m any) bool {
		one, _ := m.(map[string]any)
		return (one["name"] == "namespace" || one["name"] == "exported_namespace") && one["type"] == "=" && one["value"] == tenant
	})
}

// shape is a query without the values of its matchers.
func shape(query node) string {
	walk(map[string]any(query), func(n node) {
		if _, ok := n["value"].(string); ok && n["name"] != nil && n["name"] != "__name__" {
			n["value"] = ""
		}
	})
	text, err := json.Marshal(query)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// hostile are texts that would do harm if they were not quoted.
var hostile = []string{
	`"} or up{x="`, "x`} or up{y=`z", `\`, `\"`, `x\"} or vector(1) #`, "a\nb", "a\x00b", "\xff\xfe", `') or ('`, "$m", "{$m}", " $by ", " $perPod ", "%s", "%!d(x)",
	`bank"}`, `{namespace="bank"}`, `.*`, `a|b`, "ünï", "\u2028", " ", strings.Repeat(`"`, 500), `# comment`, `x",namespace=~".*`, `\x22} or up{`, `\u0022`,
}

// TestHostileMetadataKeepsTheShape: whatever the values of trigger metadata are, Prometheus takes each query for the one that
// harmless values give, with nothing but the values of matchers changed, and every restricted selector reads the own namespace.
func TestHostileMetadataKeepsTheShape(t *testing.T) {
	server := promtest.Start(t, nil)
	c, err := config.Parse("test.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9}\n"))
	if err != nil {
		t.Fatal(err)
	}
	compile := func(preset, service, model, team string) (config.Service, error) {
		metadata := map[string]string{"preset": preset, "maxReplicas": "3", "service": service, "forecastRate": "engine"}
		if preset == "tgi" {
			metadata["selector"] = "model=" + model + ",team=" + team
		} else {
			metadata["model"], metadata["selector"] = model, "team="+team
		}
		return c.ServiceFromMetadata(tenant, "object", metadata)
	}
	queries, refused := 0, 0
	for _, preset := range []string{"vllm", "sglang", "tgi", "triton", "nim", "ray-serve", "epp", "micrometer"} {
		harmless, err := compile(preset, "s", "m", "search")
		if err != nil {
			t.Fatal(err)
		}
		want, known := map[string]string{}, map[string]string{}
		for i, text := range texts(harmless) {
			known[fmt.Sprint(i)] = text
			want[fmt.Sprint(i)] = shape(parse(t, server, text))
		}
		for _, bad := range hostile {
			for place, values := range map[string][3]string{"service": {bad, "m", "search"}, "model": {"s", bad, "search"}, "selector": {"s", "m", bad}} {
				s, err := compile(preset, values[0], values[1], values[2])
				if err != nil {
					refused++
					continue
				}
				for i, text := range texts(s) {
					queries++
					if text == known[fmt.Sprint(i)] {
						continue // nothing of the metadata is in it
					}
					got := parse(t, server, text)
					if diff := cmp.Diff(want[fmt.Sprint(i)], shape(got)); diff != "" {
						t.Errorf("%s, %s %q: %s is another query (-harmless +hostile):\n%s", preset, place, bad, text, diff)
					}
				}
				for _, q := range s.Queries {
					for _, part := range selectors(parse(t, server, q.Alone)) {
						if !forced(part) {
							t.Errorf("%s, %s %q: %s reads other namespaces with %v", preset, place, bad, q.Alone, part["matchers"])
						}
					}
					if q.Match["namespace"] != tenant {
						t.Errorf("%s, %s %q: rows of %q are taken", preset, place, bad, q.Match["namespace"])
					}
				}
			}
		}
	}
	t.Logf("%d queries have the shape of the harmless ones, %d metadata were refused", queries, refused)
	if queries < 1000 || refused == 0 {
		t.Error("too few to mean anything")
	}
}

// texts are all queries of a service.
func texts(s config.Service) []string {
	var all []string
	for _, q := range s.Queries {
		all = append(all, q.Expr, q.Alone)
		if q.AgeExpr != "" {
			all = append(all, q.AgeExpr)
		}
	}
	if rate := s.Forecast.Rate; rate != nil {
		all = append(all, rate.Expr, rate.Alone)
	}
	return all
}

// anyQuery draws a query that tries to read what it should not.
func anyQuery(r *rand.Rand, depth int) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	quoted := func() string {
		return pick(`"%s"`, "'%s'", "`%s`")
	}
	value := fmt.Sprintf(quoted(), pick("bank", "ml", ".*", "", "x", `\x62ank`, "} or up{", "a,b"))
	matcher := pick("namespace", "a", "__name__", "exported_namespace", `"namespace"`, `"a.b"`, "'x'", "job") + pick("=", "!=", "=~", "!~") + value
	inside := pick("", matcher, matcher+","+pick(`a="b"`, `namespace="ml"`, matcher), matcher+" or "+matcher, `"up"`, `"up",`+matcher, `'a.b'`)
	if depth <= 0 {
		return pick("up", "DCGM_FI_DEV_GPU_UTIL", `{__name__="up"}`, "up{"+inside+"}", "{"+inside+"}", "a:b{"+inside+"}", `{"up"}`, "vector(1)", "1", `up{`+inside+`} # {`, "namespace", "on", "by")
	}
	a, b := anyQuery(r, depth-1), anyQuery(r, depth-1-r.IntN(2))
	return pick(
		a+" "+pick("+", "or", "and on()", "unless", "* on (namespace) group_left (x)", "> bool", "atan2", "default", "ifnot")+" "+b,
		pick("sum", "sum by (namespace)", "topk(3, ", "count_values(\"namespace\", ", "quantile(0.5, ", "absent", "scalar", "rate", "max_over_time", "timestamp", "info", "union", "label_set")+"("+a+")"+pick("", ")"),
		a+pick("[5m]", "[5m:1m]", "[5m:]", "[1i]", "[5m] offset 1h", "[5m:1m] @ end()", " offset -1d", " @ 5", " @ start()", " keep_metric_names", " limit 5"),
		"rate("+a+"[5m])", `label_replace(`+a+`, "namespace", "ml", "", "")`, "("+a+")", "-"+a, a+"\n#"+b, "absent_over_time("+a+"[1m])", "info("+a+", {"+inside+"})",
	)
}

// TestRawQueriesStayInTheirNamespace: of whatever a namespace that may carry raw queries writes, every selector that Prometheus
// sees in what warmpool makes of it is restricted to that namespace.
func TestRawQueriesStayInTheirNamespace(t *testing.T) {
	server := promtest.Start(t, nil)
	c, err := config.Parse("test.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9}\nmetadata: {allowQueries: [ml]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	taken, understood, selected := 0, 0, 0
	for i := range 3000 {
		text := anyQuery(r, i%4)
		s, err := c.ServiceFromMetadata(tenant, "object", map[string]string{"preset": "none", "maxReplicas": "3", "waitingQuery": text})
		if err != nil {
			continue
		}
		for _, q := range s.Queries {
			if q.Signal != scaler.Waiting {
				continue
			}
			for _, expr := range []string{q.Expr, q.Alone, q.AgeExpr} {
				if expr == "" {
					continue
				}
				taken++
				parsed := parse(t, server, expr)
				if parsed == nil {
					continue // Prometheus refuses it
				}
				understood++
				for _, part := range selectors(parsed) {
					selected++
					if !forced(part) {
						t.Errorf("%q became %q, which reads other namespaces with %v", text, expr, part["matchers"])
					}
				}
			}
		}
	}
	t.Logf("%d queries were taken, Prometheus understands %d of them with %d selectors, all restricted", taken, understood, selected)
	if understood < 1000 || selected < 1000 {
		t.Error("too few to mean anything")
	}
	if _, err := c.ServiceFromMetadata("bank", "object", map[string]string{"preset": "none", "maxReplicas": "3", "waitingQuery": "up"}); err == nil {
		t.Error("a namespace that is not on the list may carry queries")
	}
}

// TestMetadataNamesNoServer: no key of trigger metadata chooses where queries go or what is sent with them.
func TestMetadataNamesNoServer(t *testing.T) {
	c, err := config.Parse("test.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"serverAddress", "prometheus", "prometheusUrl", "url", "address", "headers", "customHeaders", "bearerToken", "authModes", "tenant", "cortexOrgID", "namespaceOverride"} {
		_, err := c.ServiceFromMetadata(tenant, "object", map[string]string{"preset": "vllm", "maxReplicas": "3", key: "http://elsewhere"})
		if err == nil || !strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s: %v, want that the key is not known", key, err)
		}
	}
	s, err := c.ServiceFromMetadata(tenant, "object", map[string]string{"preset": "vllm", "maxReplicas": "3", "namespace": "bank", "scalerAddress": "elsewhere:1"})
	if err != nil || s.Policy.Namespace != tenant {
		t.Errorf("the key namespace: %v, %v, want %s", s.Policy.Namespace, err, tenant)
	}
	for _, q := range s.Queries {
		if q.Match["namespace"] != tenant {
			t.Errorf("%s takes rows of %q", q.Signal, q.Match["namespace"])
		}
	}
}
