package lint

import (
	"cmp"
	"slices"
	"time"

	"github.com/warmpool/warmpool/scaler/keda"
)

// Severity is how bad a finding is.
type Severity string

// The severities. An error loses capacity or blocks something for certain, a warning does so in common situations.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one setting with what is wrong about it and the remedy.
type Finding struct {
	// Object is kind, namespace and name, such as Deployment ml/chat.
	Object string `json:"object"`
	// Source is the file, with its line where the document begins; "cluster" for a live one.
	Source   string   `json:"source"`
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Reason   string   `json:"reason"`
	Fix      string   `json:"fix"`
}

// Options say what manifests do not tell.
type Options struct {
	// KEDA is the release in use; the newest one if zero.
	KEDA keda.Version
	// ModelLoad is how long a model takes to load, 2 min if 0.
	ModelLoad time.Duration
	// LongestAnswer is the longest generation, 60 s if 0: a replica that ends must be able to finish it.
	LongestAnswer time.Duration
	// Lead is how soon the replicas of a prewarm have to be asked for by the autoscaler, 2 min if 0.
	Lead time.Duration
	// Now is for certificates; no certificate is checked if it is zero.
	Now time.Time
}

func (o Options) withDefaults() Options {
	if o.KEDA == (keda.Version{}) {
		o.KEDA = keda.Version{Major: 2, Minor: 19}
	}
	o.ModelLoad = cmp.Or(o.ModelLoad, 2*time.Minute)
	o.LongestAnswer = cmp.Or(o.LongestAnswer, time.Minute)
	o.Lead = cmp.Or(o.Lead, 2*time.Minute)
	return o
}

// Rule is one kind of mistake.
type Rule struct {
	Code     string
	Severity Severity
	// Finds is what it is about, for the reference.
	Finds string
	check func(*scan)
}

// scan is one run of one rule.
type scan struct {
	*Set
	options  Options
	rule     *Rule
	findings []Finding
}

func (s *scan) report(o *Object, reason, fix string) { s.reportAs(s.rule.Severity, o, reason, fix) }

func (s *scan) reportAs(severity Severity, o *Object, reason, fix string) {
	s.findings = append(s.findings, Finding{
		Object: o.String(), Source: o.Source, Code: s.rule.Code, Severity: severity, Reason: reason, Fix: fix,
	})
}

// Run applies every rule. Findings are ordered by severity, object and code.
func Run(set *Set, options Options) []Finding {
	findings := []Finding{}
	for i := range Rules {
		s := scan{Set: set, options: options.withDefaults(), rule: &Rules[i]}
		s.rule.check(&s)
		findings = append(findings, s.findings...)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Source, b.Source), cmp.Compare(a.Reason, b.Reason))
	})
	return slices.Compact(findings)
}
