package operations

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	dto "github.com/prometheus/client_model/go"
)

// foreign are the metrics of others that alerts and dashboards may use, with the labels that they may rely on.
var foreign = map[string][]string{
	"DCGM_FI_DEV_FB_USED":                  {"gpu", "Hostname", "namespace", "pod", "exported_namespace", "exported_pod"},
	"DCGM_FI_DEV_FB_FREE":                  {"gpu", "Hostname", "namespace", "pod", "exported_namespace", "exported_pod"},
	"DCGM_FI_DEV_GPU_TEMP":                 {"gpu", "Hostname"},
	"DCGM_FI_DEV_SM_CLOCK":                 {"gpu", "Hostname"},
	"DCGM_FI_DEV_GPU_UTIL":                 {"gpu", "Hostname"},
	"kube_pod_status_phase":                {"namespace", "pod", "phase"},
	"kube_pod_container_resource_requests": {"namespace", "pod", "container", "resource"},
	"kube_pod_owner":                       {"namespace", "pod", "owner_kind"},
	"vllm:num_requests_waiting":            {"namespace", "pod", "model_name"},
	"vllm:num_requests_running":            {"namespace", "pod"},
	"sglang:num_running_reqs":              {"namespace", "pod"},
	"process_resident_memory_bytes":        {},
	"go_goroutines":                        {},
}

// target are the labels that every scrape adds.
var target = []string{"instance", "job"}

// expression is one query with the place where it stands.
type expression struct{ place, text string }

// TestExpressions parses every query of alerts, dashboards and runbooks, and looks up each metric and label in what the
// program registers.
func TestExpressions(t *testing.T) {
	known := registered(t)
	var all []expression
	for _, r := range alertRules(t) {
		all = append(all, expression{r.Alert, r.Expr})
	}
	all = append(all, dashboardExpressions(t)...)
	for _, e := range all {
		checkExpression(t, e, known)
	}
	if len(all) < 30 {
		t.Errorf("only %d expressions found: the test checks little", len(all))
	}
}

// TestBlocksOfPromQL checks the queries of the documents in the same way, each line of a block by itself.
func TestBlocksOfPromQL(t *testing.T) {
	known := registered(t)
	n := 0
	for path, text := range documents(t) {
		for _, block := range promqlBlock.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(block[1]) {
				if line = strings.TrimSpace(line); line != "" {
					checkExpression(t, expression{path, line}, known)
					n++
				}
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d queries found in documents", n)
	}
}

var promqlBlock = regexp.MustCompile("(?s)```promql\n(.*?)```")

func checkExpression(t *testing.T, e expression, known map[string]metric) {
	t.Helper()
	parsed, err := metricsql.Parse(e.text)
	if err != nil {
		t.Errorf("%s: %s: %v", e.place, e.text, err)
		return
	}
	labels := map[string]bool{}
	metricsql.VisitAll(parsed, func(x metricsql.Expr) {
		m, ok := x.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		for _, filters := range m.LabelFilterss {
			name, used := "", []string{}
			for _, f := range filters {
				if f.Label == "__name__" {
					name = f.Value
				} else {
					used = append(used, f.Label)
				}
			}
			allowed, found := labelsOf(name, known)
			if !found {
				t.Errorf("%s: there is no metric %q", e.place, name)
				continue
			}
			for _, l := range used {
				if !slices.Contains(allowed, l) {
					t.Errorf("%s: %s has no label %q, only %v", e.place, name, l, allowed)
				}
			}
			for _, l := range allowed {
				labels[l] = true
			}
		}
	})
	metricsql.VisitAll(parsed, func(x metricsql.Expr) {
		for _, l := range grouping(x) {
			if !labels[l] {
				t.Errorf("%s: grouped by %q, which no metric of the expression has: %v", e.place, l, slices.Sorted(maps.Keys(labels)))
			}
		}
	})
}

// grouping are the labels that an aggregation or a matching of vectors names.
func grouping(x metricsql.Expr) []string {
	switch x := x.(type) {
	case *metricsql.AggrFuncExpr:
		if strings.EqualFold(x.Modifier.Op, "by") {
			return x.Modifier.Args
		}
	case *metricsql.BinaryOpExpr:
		if strings.EqualFold(x.GroupModifier.Op, "on") {
			return x.GroupModifier.Args
		}
	}
	return nil
}

func labelsOf(name string, known map[string]metric) ([]string, bool) {
	if labels, ok := foreign[name]; ok {
		return slices.Concat(labels, target), true
	}
	if m, ok := known[name]; ok && m.kind != dto.MetricType_HISTOGRAM {
		return slices.Concat(m.labels, target), true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, cut := strings.CutSuffix(name, suffix)
		if m, ok := known[base]; cut && ok && m.kind == dto.MetricType_HISTOGRAM {
			return slices.Concat(m.labels, target, []string{"le"}), true
		}
	}
	return nil, false
}

// dashboard is the part of a Grafana dashboard that is checked.
type dashboard struct {
	Title      string  `json:"title"`
	UID        string  `json:"uid"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name, Type, Query string
		} `json:"list"`
	} `json:"templating"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct {
		Defaults struct{ Unit string }
	} `json:"fieldConfig"`
	Targets []struct {
		RefID, Expr, LegendFormat string
	} `json:"targets"`
}

var variable = regexp.MustCompile(`\$(\w+)|\$\{(\w+)\}`)

// dashboardExpressions reads the queries of all dashboards and checks what surrounds them.
func dashboardExpressions(t *testing.T) []expression {
	t.Helper()
	files, err := filepath.Glob(root + "/deploy/dashboards/*.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	var all []expression
	uids := map[string]bool{}
	for _, file := range files {
		var d dashboard
		if err := json.Unmarshal(read(t, file), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := filepath.Base(file)
		if d.UID == "" || uids[d.UID] {
			t.Errorf("%s: uid %q is empty or taken", name, d.UID)
		}
		uids[d.UID] = true
		variables := map[string]bool{"__rate_interval": true, "__range": true, "datasource": true}
		for _, v := range d.Templating.List {
			variables[v.Name] = true
			if query, ok := strings.CutPrefix(v.Query, "label_values("); ok {
				expr, label, _ := strings.Cut(strings.TrimSuffix(query, ")"), ", ")
				all = append(all, expression{name + " variable " + v.Name, fmt.Sprintf("count by (%s) (%s)", label, substitute(expr))})
			}
		}
		all = append(all, checkPanels(t, name, &d, variables)...)
	}
	return all
}

func checkPanels(t *testing.T, name string, d *dashboard, variables map[string]bool) (all []expression) {
	t.Helper()
	ids := map[int]bool{}
	for i, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if ids[p.ID] || p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%s: panel %d (%s) has an id that is taken, or no title, description, unit or query", name, p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W == 0 || p.GridPos.H == 0 {
			t.Errorf("%s: panel %q does not fit the grid of 24 columns", name, p.Title)
		}
		for _, q := range d.Panels[:i] {
			if p.GridPos.X < q.GridPos.X+q.GridPos.W && q.GridPos.X < p.GridPos.X+p.GridPos.W &&
				p.GridPos.Y < q.GridPos.Y+q.GridPos.H && q.GridPos.Y < p.GridPos.Y+p.GridPos.H {
				t.Errorf("%s: panels %q and %q overlap", name, p.Title, q.Title)
			}
		}
		for _, target := range p.Targets {
			for _, v := range variable.FindAllStringSubmatch(target.Expr, -1) {
				if !variables[v[1]+v[2]] {
					t.Errorf("%s: panel %q uses the variable %s, which is not defined", name, p.Title, v[0])
				}
			}
			all = append(all, expression{name + " panel " + p.Title, substitute(target.Expr)})
		}
	}
	return all
}

// substitute puts values in place of Grafana's variables.
func substitute(expr string) string {
	expr = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(expr)
	return variable.ReplaceAllString(expr, "x")
}
