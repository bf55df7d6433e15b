package config

import (
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/scaler"
)

const onePool = "pools: [{name: p, match: {labels: {a: b}}}]\n"

func TestWarnings(t *testing.T) {
	const prometheus = "prometheus: {url: \"http://p\"}\n"
	service := func(rest string) string {
		return prometheus + "services: [{name: s, namespace: n, preset: vllm, queries: {rate: r}, replicas: {max: 4, min: 1}" + rest + "}]\n"
	}
	const utc = ", forecast: {timeZone: UTC}"
	tests := []struct{ name, text, want string }{
		{"nothing to say", service(utc), ""},
		{"veto on an old autoscaler", "caVersion: \"1.31\"\n" + onePool + "expander: {}\n", "isolation-not-enforceable"},
		{"veto on an autoscaler that is not named", onePool + "expander: {}\n", "isolation-not-enforceable"},
		{"veto on a new one", "caVersion: v1.32.1\n" + onePool + "expander: {}\n", ""},
		{"no veto wanted", onePool + "expander: {whenAllRejected: PassThrough}\n", ""},
		{"pool behind a wider one", "pools: [{name: p, match: {labels: {a: b}}}, {name: q, match: {labels: {a: b, c: d}}}]\n", "pool-unreachable"},
		{"pool before a wider one", "pools: [{name: p, match: {labels: {a: b, c: d}}}, {name: q, match: {labels: {a: b}}}]\n", "pools-overlap"},
		{"pools apart", "pools: [{name: p, match: {labels: {a: b}}}, {name: q, match: {labels: {a: c}}}]\n", ""},
		{"exclusive pool in no stage", "caVersion: \"1.36\"\npools: [{name: p, exclusive: true, match: {labels: {a: b}}}]\nexpander: {}\n", "pool-unused"},
		{"workload behind one that takes all", "caVersion: \"1.36\"\n" + onePool + "expander: {workloads: [{name: a, stages: [{any: true}]}, {name: b, match: {namespaces: [x]}, stages: [{any: true}]}]}\n", "workload-unreachable"},
		{"workload behind one with the same namespaces", "caVersion: \"1.36\"\n" + onePool + "expander: {workloads: [{name: a, match: {namespaces: [x, y]}, stages: [{any: true}]}, {name: b, match: {namespaces: [y], podLabels: {k: v}}, stages: [{any: true}]}]}\n", "workload-unreachable"},
		{"workload behind one with other namespaces", "caVersion: \"1.36\"\n" + onePool + "expander: {workloads: [{name: a, match: {namespaces: [x]}, stages: [{any: true}]}, {name: b, match: {namespaces: [x, y]}, stages: [{any: true}]}]}\n", ""},
		{"pool in two stages", "caVersion: \"1.36\"\n" + onePool + "expander: {workloads: [{name: a, stages: [{pools: [p]}, {pools: [p]}]}]}\n", "pool-listed-twice"},
		{"escalation to nowhere", "caVersion: \"1.36\"\n" + onePool + "expander: {workloads: [{name: a, stages: [{pools: [p], escalate: {attempts: 1}}]}]}\n", "escalate-of-last-stage"},
		{"window below the prior", service(utc + ", scaleDown: {window: 2m}"), "window-below-lead"},
		{"window below the lead", service(utc + ", startup: {lead: 12m}"), "window-below-lead"},
		{"zero with a gateway rate", strings.Replace(service(utc), "min: 1", "min: 0", 1), ""},
		{"zero without", strings.Replace(strings.Replace(service(", forecast: {mode: \"off\"}"), "queries: {rate: r}", "queries: {}", 1), "min: 1", "min: 0", 1), "no-demand-at-zero"},
		{"no history", strings.Replace(service(utc), "queries: {rate: r}", "queries: {}", 1), "forecast-without-history"},
		{"history from the engine", strings.Replace(service(", forecast: {timeZone: UTC, rate: engine}"), "queries: {rate: r}", "queries: {}", 1), ""},
		{"no zone named", service(""), "time-zone-by-default"},
		{"zone does not matter", service(", forecast: {mode: \"off\"}"), ""},
		{"not PromQL", strings.Replace(service(utc), "rate: r", "rate: \"sum(\"", 1), "query-syntax"},
		{"override of a trigger", prometheus + "overrides: [{service: a/b, from: 2027-03-02T00:00:00Z, to: 2027-03-03T00:00:00Z, min: 1, reason: x}]\n", "override-without-service"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := mustParse(t, head+test.text)
			if got := warningCodes(c); got != test.want {
				t.Errorf("warnings %q, want %q", got, test.want)
			}
			for _, w := range c.Warnings {
				if w.Line < 3 || w.Path == "" || w.Message == "" {
					t.Errorf("warning without a place: %+v", w)
				}
			}
		})
	}
}

// TestNoWindow: a scale-down window of nothing is as long as the lead, as the warning says, from the file and from metadata.
func TestNoWindow(t *testing.T) {
	c := mustParse(t, head+"prometheus: {url: \"http://p\"}\nservices: [{name: s, namespace: n, preset: vllm, perReplica: {concurrency: 4}, replicas: {max: 9}, "+
		"forecast: {mode: \"off\"}, startup: {lead: 4m}, scaleDown: {window: 0s, maxStep: 0%}}]\n")
	if got := warningCodes(c); got != "window-below-lead" {
		t.Errorf("warnings %q", got)
	}
	fromTrigger, err := c.ServiceFromMetadata("n", "object", map[string]string{"preset": "vllm", "maxReplicas": "9", "concurrency": "4", "scaleDownWindow": "0s", "scaleDownMaxStep": "0%", "startupLead": "4m"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2027, 2, 15, 9, 0, 0, 0, time.UTC)
	for name, policy := range map[string]scaler.Policy{"file": c.Services[0].Policy, "metadata": fromTrigger.Policy} {
		policy.Sources = []scaler.Source{{Signal: scaler.Running}}
		var state scaler.State
		for _, step := range []struct {
			after   time.Duration
			running float64
			want    int
		}{{0, 24, 8}, {4 * time.Minute, 1, 8}, {4*time.Minute + time.Second, 1, 1}} {
			now := at.Add(step.after)
			in := scaler.Inputs{Signals: map[scaler.Signal][]scaler.Sample{scaler.Running: {{At: now, Value: step.running}}}, CurrentReplicas: -1}
			var d scaler.Decision
			d, state = scaler.Evaluate(policy, state, in, now)
			if d.Replicas != step.want {
				t.Errorf("%s: %d replicas after %v, want %d", name, d.Replicas, step.after, step.want)
			}
		}
	}
}

// TestTimeZones is keda-932: a zone that is not known is an error at load, never UTC by accident.
func TestTimeZones(t *testing.T) {
	t.Setenv("ZONEINFO", "/nonexistent")
	for zone, mentions := range map[string][]string{
		"Europe/Berlin": nil, "Asia/Kolkata": nil, "UTC": nil, "Europe/Atlantis": {"Europe/Atlantis", "timezone", "timeZone"}, "": {"timezone", "timeZone"},
		"+02:00": {"+02:00", "timezone", "timeZone"}, "Local": {"Local", "timezone"}, "../etc/passwd": {"timezone"},
	} {
		_, err := parseText(t, head+"prometheus: {url: \"http://p\"}\nservices: [{name: s, namespace: n, preset: vllm, replicas: {max: 1}, forecast: {timeZone: \""+zone+"\"}}]\n")
		if (err != nil) != (mentions != nil) {
			t.Errorf("zone %q: got %v", zone, err)
			continue
		}
		for _, word := range mentions {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("zone %q: %q does not mention %s", zone, err, word)
			}
		}
	}
}

func TestOverrides(t *testing.T) {
	const start = head + "prometheus: {url: \"http://p\"}\nservices: [{name: s, namespace: n, preset: vllm, replicas: {max: 4}}]\noverrides:\n"
	c := mustParse(t, start+"  - {service: n/s, from: 2027-03-02T00:00:00Z, to: 2027-03-03T00:00:00Z, min: 2, reason: launch}\n"+
		"  - {service: s, from: 2027-03-01T08:00:00+01:00, to: 2027-03-02T00:00:00Z, max: 3, reason: incident}\n")
	s := c.Services[0]
	if len(s.Overrides) != 2 || s.Overrides[0].Reason != "incident" || *s.Overrides[1].Min != 2 {
		t.Fatalf("overrides: %+v", s.Overrides)
	}
	for at, want := range map[string]string{"2027-03-01T06:59:59Z": "", "2027-03-01T07:00:00Z": "incident", "2027-03-02T00:00:00Z": "launch", "2027-03-03T00:00:00Z": ""} {
		var i instant
		if err := i.parseText(at); err != nil {
			t.Fatal(err)
		}
		got := ""
		if o := s.OverrideAt(i.Time); o != nil {
			got = o.Reason
		}
		if got != want {
			t.Errorf("at %s: %q, want %q", at, got, want)
		}
	}
	if _, err := parseText(t, start+"  - {service: n/s, from: 2027-03-02T00:00:00Z, to: 2027-03-03T00:00:00Z, min: 2, reason: a}\n"+
		"  - {service: s, from: 2027-03-02T12:00:00Z, to: 2027-03-04T00:00:00Z, max: 3, reason: b}\n"); err == nil || !strings.Contains(err.Error(), "overlaps") {
		t.Errorf("overlapping overrides: %v", err)
	}
}
