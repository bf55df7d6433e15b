package operations

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	alertsFile = root + "/deploy/alerts/warmpool.yaml"
	chartFile  = root + "/deploy/helm/warmpool/files/alerts.yaml"
	runbooks   = "https://github.com/warmpool/warmpool/blob/main/docs/runbooks/"
)

// ruleFile is the part of a Prometheus rule file that is used.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func alertRules(t *testing.T) []rule {
	t.Helper()
	var file ruleFile
	if err := yaml.UnmarshalStrict(read(t, alertsFile), &file); err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("no rules found: the test checks nothing")
	}
	return rules
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestChartHasTheAlerts keeps the chart's copy equal: a chart can only hold its own files.
func TestChartHasTheAlerts(t *testing.T) {
	want := read(t, alertsFile)
	if *update {
		if err := os.WriteFile(chartFile, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if string(read(t, chartFile)) != string(want) {
		t.Errorf("%s is not the same as %s; run the test with -update", chartFile, alertsFile)
	}
}

// TestAlertsAreComplete asks of each rule what the person who is woken by it needs.
func TestAlertsAreComplete(t *testing.T) {
	pages := map[string]bool{}
	for _, r := range alertRules(t) {
		if s := r.Labels["severity"]; s != "warning" && s != "critical" {
			t.Errorf("%s: severity %q", r.Alert, s)
		}
		if !strings.HasPrefix(r.Alert, "Warmpool") || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s: the name has no prefix, or summary or description are missing", r.Alert)
		}
		page, ours := strings.CutPrefix(r.Annotations["runbook_url"], runbooks)
		if !ours || page != r.Alert+".md" {
			t.Errorf("%s: runbook_url is %q", r.Alert, r.Annotations["runbook_url"])
			continue
		}
		pages[page] = true
		text := string(read(t, filepath.Join(root, "docs/runbooks", page)))
		for _, heading := range []string{"# " + r.Alert, "## What it means", "## What users see", "## Check", "## Fix", "## Silence"} {
			if !strings.Contains(text, heading+"\n") {
				t.Errorf("%s has no %q", page, heading)
			}
		}
	}
	files, err := os.ReadDir(root + "/docs/runbooks")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !pages[f.Name()] {
			t.Errorf("docs/runbooks/%s belongs to no alert", f.Name())
		}
	}
}

// ruleTests is the part of a promtool test file that is used.
type ruleTests struct {
	Tests []struct {
		AlertRuleTest []struct {
			Alertname string `json:"alertname"`
			ExpAlerts []any  `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

// TestAlertsFire runs the unit tests of the rules and asks that each rule fires in one and stays quiet in another.
func TestAlertsFire(t *testing.T) {
	files, err := filepath.Glob(root + "/deploy/alerts/*_test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d test files, %v", len(files), err)
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		var tests ruleTests
		if err := yaml.Unmarshal(read(t, file), &tests); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, test := range tests.Tests {
			for _, a := range test.AlertRuleTest {
				if len(a.ExpAlerts) > 0 {
					fires[a.Alertname] = true
				} else {
					quiet[a.Alertname] = true
				}
			}
		}
	}
	for _, r := range alertRules(t) {
		if !fires[r.Alert] || !quiet[r.Alert] {
			t.Errorf("%s: tested that it fires %v, that it does not %v", r.Alert, fires[r.Alert], quiet[r.Alert])
		}
	}
	promtool := findPromtool(t)
	for _, args := range [][]string{{"check", "rules", "--lint=all", alertsFile}, append([]string{"test", "rules"}, files...)} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args[:2], " "), err, out)
		}
	}
}

func findPromtool(t *testing.T) string {
	t.Helper()
	binary, err := exec.LookPath("promtool")
	if err == nil {
		return binary
	}
	const remedy = "no promtool in PATH: run make test, which builds it, or apt-get install prometheus"
	if os.Getenv("WARMPOOL_REQUIRE_PROMETHEUS") != "" {
		t.Fatal(remedy)
	}
	t.Skip(remedy)
	return ""
}
