package config

import (
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
)

var plainLabels = labelsFile{Namespace: "namespace", Pod: "pod", GPUNamespace: "exported_namespace", GPUPod: "exported_pod"}

func TestForceNamespace(t *testing.T) {
	tests := []struct{ name, query, want, err string }{
		{name: "bare name", query: `up`, want: `up{namespace="ml"}`},
		{name: "own namespace stays", query: `up{namespace="ml"}`, want: `up{namespace="ml"}`},
		{name: "other matchers stay", query: `sum(rate(a:b{x="y"}[5m] offset 1m))`, want: `sum(rate(a:b{x="y",namespace="ml"}[5m] offset 1m))`},
		{name: "every selector", query: `a / on(b) group_left(c) d`, want: `a{namespace="ml"} / on(b) group_left(c) d{namespace="ml"}`},
		{name: "subquery", query: `max_over_time(sum(a)[1m:15s])`, want: `max_over_time((sum(a{namespace="ml"}))[1m:15s])`},
		{name: "name as a matcher", query: `{__name__=~"a|b"}`, want: `{__name__=~"a|b",namespace="ml"}`},
		{name: "GPU exporter", query: `avg(DCGM_FI_DEV_GPU_UTIL)`, want: `avg(DCGM_FI_DEV_GPU_UTIL{exported_namespace="ml"})`},
		{name: "GPU exporter by pattern", query: `{__name__=~"DCGM_.*"}`, want: `{__name__=~"DCGM_.*",namespace="ml"}`},
		{name: "GPU exporter, not its name", query: `{__name__!="DCGM_X"}`, want: `{__name__!="DCGM_X",namespace="ml"}`},
		{name: "alternatives", query: `{a="b" or c="d"}`, want: `{a="b",namespace="ml" or c="d",namespace="ml"}`},
		{name: "hidden in a string", query: `label_replace(a, "x", "} or up{", "y", "z")`, want: `label_replace(a{namespace="ml"}, "x", "} or up{", "y", "z")`},
		{name: "hidden in a comment", query: "a # }\n + b", want: `a{namespace="ml"} + b{namespace="ml"}`},
		{name: "templates", query: `WITH (a = b + b, c = a + a) c`, err: "word with"},
		{name: "another namespace", query: `up{namespace="bank"}`, err: "must not have a matcher on namespace"},
		{name: "any namespace", query: `up{namespace=~".*"}`, err: "must not have a matcher on namespace"},
		{name: "not this namespace", query: `up{namespace!="ml"}`, err: "must not have a matcher on namespace"},
		{name: "one alternative of another namespace", query: `{namespace="ml" or namespace="bank"}`, err: "must not have a matcher on namespace"},
		{name: "no series", query: `vector(1)`, err: "reads no series"},
		{name: "a number", query: `3`, err: "reads no series"},
		{name: "syntax", query: `sum(`, err: "not valid PromQL"},
		{name: "empty selector", query: `{}`, err: ""},
		{name: "too long", query: strings.Repeat("a+", 1100) + "a", err: "longer than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := forceNamespace(test.query, "ml", plainLabels)
			switch {
			case test.want == "" && err == nil:
				if !strings.Contains(got, `namespace="ml"`) {
					t.Errorf("got %s without error", got)
				}
			case test.want == "":
				if !strings.Contains(err.Error(), test.err) {
					t.Errorf("got error %v, want %s", err, test.err)
				}
			case err != nil:
				t.Error(err)
			case !sameQuery(t, got, test.want):
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// sameQuery compares in the printed form of the parser, which places spaces and parentheses in its own way.
func sameQuery(t *testing.T, a, b string) bool {
	t.Helper()
	parsed, err := metricsql.Parse(b)
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return a == string(parsed.AppendString(nil))
}

// TestForceNamespaceQuotes makes sure that a namespace cannot end the string it is put into.
func TestForceNamespaceQuotes(t *testing.T) {
	for _, namespace := range []string{`a"} or up{x="`, "a\n", `a\`} {
		got, err := forceNamespace("up", namespace, plainLabels)
		if err != nil {
			continue
		}
		expr, err := metricsql.Parse(got)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := expr.(*metricsql.MetricExpr); !ok || len(m.LabelFilterss) != 1 || len(m.LabelFilterss[0]) != 2 {
			t.Errorf("namespace %q became %s", namespace, got)
		}
	}
}

func FuzzForceNamespace(f *testing.F) {
	for _, query := range []string{
		"up", `sum by (a) (rate({__name__=~"x"}[5m:1m] @ end() offset -3m)) > bool on(b) group_left(c) y`, `a{b!~"c\"d"} or {namespace="ml"}`,
		`WITH (x = {namespace="bank"}) sum(x)`, "{`a`=`b`}", `{"a.b", c='d'}`, `label_replace(up, "namespace", "ml", "", "")`,
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		got, err := forceNamespace(query, "ml", plainLabels)
		if err != nil {
			return
		}
		expr, err := metricsql.Parse(got)
		if err != nil {
			t.Fatalf("%q became %q: %v", query, got, err)
		}
		metricsql.VisitAll(expr, func(e metricsql.Expr) {
			m, ok := e.(*metricsql.MetricExpr)
			if !ok {
				return
			}
			for _, filters := range m.LabelFilterss {
				if !restrictedTo(filters, "ml") {
					t.Errorf("%q became %q, where %v may read another namespace", query, got, filters)
				}
			}
			if len(m.LabelFilterss) == 0 {
				t.Errorf("%q became %q with an open selector", query, got)
			}
		})
	})
}

// restrictedTo tells whether the matchers hold only for series of a namespace.
func restrictedTo(filters []metricsql.LabelFilter, namespace string) bool {
	for _, f := range filters {
		if (f.Label == "namespace" || f.Label == "exported_namespace") && f.Value == namespace && !f.IsNegative && !f.IsRegexp {
			return true
		}
	}
	return false
}
