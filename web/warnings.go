package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// Severity is how much a warning matters.
type Severity string

// The severities: somebody has to act now, somebody should look, and good to know.
const (
	SeverityCritical Severity = "critical"
	SeverityWarning  Severity = "warning"
	SeverityInfo     Severity = "info"
)

func (s Severity) rank() int {
	return slices.Index([]Severity{SeverityInfo, SeverityWarning, SeverityCritical}, s)
}

func graver(a, b Severity) Severity {
	if a.rank() < b.rank() {
		return b
	}
	return a
}

// Warning is something that somebody should know, with what to do about it.
type Warning struct {
	Severity Severity `json:"severity"`
	// Code is the stable name of the kind of warning.
	Code string `json:"code"`
	// Subject is the service, the node group or the part that it is about.
	Subject string `json:"subject"`
	Text    string `json:"text"`
	Remedy  string `json:"remedy"`
	// Service or Group is the id of what it is about, to link to.
	Service string `json:"service,omitempty"`
	Group   string `json:"group,omitempty"`
}

// shownWarnings bounds the list of each code, so that one dead metric store does not hide everything else.
const shownWarnings = 20

// warningsOf collects all warnings, the gravest first.
func warningsOf(s *engine.Status, board []engine.Line, p *engine.Pools, stats decisions.Stats) []Warning {
	all := append(statusWarnings(s, stats), poolWarnings(p)...)
	all = append(all, packingWarnings(p.Packing)...)
	for _, l := range board {
		all = append(all, serviceWarnings(l)...)
	}
	slices.SortStableFunc(all, func(a, b Warning) int { return cmp.Compare(b.Severity.rank(), a.Severity.rank()) })
	return bounded(all)
}

// bounded keeps the first warnings of each code and says how many more there are.
func bounded(all []Warning) []Warning {
	out, of := []Warning{}, map[string]int{}
	for _, w := range all {
		if of[w.Code]++; of[w.Code] <= shownWarnings {
			out = append(out, w)
		}
	}
	for i, w := range out {
		if more := of[w.Code] - shownWarnings; more > 0 && (i+1 == len(out) || !slices.ContainsFunc(out[i+1:], func(x Warning) bool { return x.Code == w.Code })) {
			out[i].Text += fmt.Sprintf(" (and %d more like this)", more)
		}
	}
	return out
}

func statusWarnings(s *engine.Status, stats decisions.Stats) []Warning {
	var out []Warning
	add := func(severity Severity, code, subject, text, remedy string) {
		out = append(out, Warning{Severity: severity, Code: code, Subject: subject, Text: text, Remedy: remedy})
	}
	if late(s) && !s.LastTick.IsZero() {
		add(SeverityCritical, "board-old", "evaluation", "the services were last evaluated "+span(s.Now.Sub(s.LastTick))+" ago",
			"Look for \"evaluation took longer than its interval\" in the log and at how fast the metric store answers. Meanwhile answers end after staleAfter, and KEDA keeps the replicas.")
	}
	if s.ReloadFailed {
		add(SeverityCritical, "config-reload-failed", s.ConfigName, "the configuration file as it is now cannot be used; "+s.ConfigHash+" stays in force",
			"Run warmpool check-config on the file: it lists every mistake with its line.")
	}
	if s.FailOpen > 0 {
		add(SeverityWarning, "fail-open", "expander", count(uint64(s.FailOpen), "request")+" kept every option because of a fault of warmpool since the start",
			"Search the log for level=ERROR and report it; warmpool_expander_fail_open_total says the cause.")
	}
	if s.FrozenScaler {
		add(SeverityWarning, "frozen", "scaler", "every replica target is frozen: "+cmp.Or(s.FrozenReason, "no reason given"),
			"When the incident is over: warmpool freeze off scaler, or remove freeze.scaler from the configuration.")
	}
	if !s.Source {
		add(SeverityCritical, "no-metric-store", "signals", "no metric store is configured: no service can get an answer", "Set prometheus.url in the configuration.")
	}
	for _, b := range s.Broken {
		add(SeverityCritical, "broken-trigger", b.ID, "the trigger no longer resolves: "+b.Error, "Mend the trigger's metadata or put its service back into the configuration; until then KEDA keeps the replicas or uses its fallback.")
	}
	for _, w := range s.Warnings {
		add(SeverityInfo, "config:"+w.Code, fmt.Sprintf("%s line %d", w.Path, w.Line), w.Message, "Change "+w.Path+" in "+s.ConfigName+", or leave it if that is meant.")
	}
	if stats.FileErrors > 0 || stats.FileLost > 0 {
		add(SeverityWarning, "log-file", "decision log", fmt.Sprintf("%d decisions were not written to the file", stats.FileLost), "Check space and permissions of decisions.file; the newest decisions are still in memory.")
	}
	return out
}

// packingWarnings tells of node groups whose pods are spread over more nodes than they need.
func packingWarnings(packing []engine.Packing) []Warning {
	var out []Warning
	for i := range packing {
		p := &packing[i]
		if !p.Spreads {
			continue
		}
		w := Warning{
			Severity: SeverityWarning, Code: "gpus-spread", Subject: p.Pool, Group: p.Pool, Text: "pods are spread, not packed: " + p.Text,
			Remedy: "Use the scheduler settings in deploy/examples/scheduler: they fill nodes one after the other, so that the others empty and go.",
		}
		if p.Pool == "" {
			w.Subject = fmt.Sprintf("nodes with %d GPUs", p.PerNode)
		}
		if p.SparePerHour > 0 {
			w.Text += fmt.Sprintf(", $%.2f an hour less", p.SparePerHour)
		}
		out = append(out, w)
	}
	return out
}

func poolWarnings(p *engine.Pools) []Warning {
	var out []Warning
	if !p.Configured {
		return nil
	}
	if p.Frozen {
		out = append(out, Warning{
			Severity: SeverityWarning, Code: "frozen-expander", Subject: "expander", Text: "the expander passes every request through",
			Remedy: "When the incident is over: warmpool freeze off expander, or remove freeze.expander from the configuration.",
		})
	}
	if p.Mode == expander.Observe {
		out = append(out, Warning{
			Severity: SeverityInfo, Code: "observe", Subject: "expander", Text: "observe mode: choices are recorded, every option is answered",
			Remedy: "Look at what would have been saved on the page of the pools, then set expander.mode to active.",
		})
	}
	for i := range p.Groups {
		g := &p.Groups[i]
		if g.Held != nil {
			out = append(out, Warning{
				Severity: SeverityWarning, Code: "group-held", Subject: g.ID, Group: g.ID, Text: heldText(g.Held),
				Remedy: "Nothing has to be done: the next stage is used until then. " + remedyOf(g.Held.Class),
			})
		}
		if g.Backoff != nil {
			out = append(out, Warning{
				Severity: SeverityWarning, Code: "group-backoff", Subject: g.ID, Group: g.ID,
				Text:   "the Cluster Autoscaler is backing off from it: " + strings.TrimSpace(g.Backoff.Code+" "+g.Backoff.Message),
				Remedy: remedyOf(g.Backoff.Class),
			})
		}
	}
	return out
}

func heldText(f *expander.FailureState) string {
	sure := "suspected"
	if f.Proven {
		sure = "proven"
	}
	return fmt.Sprintf("held back until %s after a failure (%s, %s)", clock(f.Until), strings.ToLower(string(f.Class)), sure)
}

func remedyOf(c expander.FailureClass) string {
	switch c {
	case expander.FailureStock:
		return "The provider has no capacity: add zones or instance types to the group if this happens often."
	case expander.FailureQuota:
		return "The quota of the account is used up: ask the provider for more."
	}
	return "Look at the events and the status ConfigMap of the Cluster Autoscaler for the provider's message."
}

// serviceWarnings are those of one line of the board.
func serviceWarnings(l engine.Line) []Warning {
	d := l.Decision
	if d == nil {
		return nil
	}
	var out []Warning
	subject := l.Namespace + "/" + nameOf(l.ID)
	add := func(severity Severity, code, text, remedy string) {
		out = append(out, Warning{Severity: severity, Code: code, Subject: subject, Text: text, Remedy: remedy, Service: l.ID})
	}
	if d.Unavailable != "" {
		add(SeverityCritical, "no-answer", "there is no answer: "+d.Unavailable,
			"KEDA keeps the replicas or uses its fallback. Mend the signals below: their errors say what is wrong.")
	}
	for _, s := range d.Signals {
		if s.Error != "" && (slices.Contains(d.Missing, s.Signal) || slices.Contains(d.Stale, s.Signal)) {
			add(SeverityWarning, "signal-"+string(s.Signal), string(s.Signal)+" has "+ageText(s.Age)+": "+s.Error,
				"Run the query of this signal in the metric store. Until it is back the target does not fall.")
		}
	}
	if d.Stuck > 0 {
		add(SeverityWarning, "stuck", plural(d.Stuck, "replica")+" stuck while starting",
			"kubectl describe one of the pods that are not ready: an image, a volume or a node that does not come. "+plural(d.Surge, "replica")+" ordered in their place.")
	}
	if d.Limited == "max" {
		add(SeverityWarning, "at-maximum", fmt.Sprintf("more is needed than the maximum of %d allows (%d)", d.Max, d.Need),
			"Raise replicas.max if there are nodes and quota for it, or use an override for a launch.")
	}
	for _, reason := range d.Reasons {
		if w, ok := reasonWarnings[reason]; ok {
			add(w.severity, reason, w.text, w.remedy)
		}
	}
	if d.Override != nil {
		text := fmt.Sprintf("an override sets %d to %d replicas", d.Min, d.Max)
		add(SeverityInfo, "override", text+because(d.Override.Reason), "It ends at "+d.Override.To.UTC().Format(time.RFC3339)+".")
	}
	return out
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

func ageText(age float64) string {
	if age < 0 {
		return "never been read"
	}
	return "no valid reading for " + span(time.Duration(age*float64(time.Second)))
}

// reasonWarnings are the reason codes that somebody can do something about.
var reasonWarnings = map[string]struct {
	severity     Severity
	text, remedy string
}{
	scaler.ReasonCapacityUnknown: {
		SeverityWarning, "what one replica carries is not known yet: only waiting requests can ask for replicas",
		"Give perReplica.concurrency and perReplica.serviceTime, or wait until they are learnt from the service's own metrics.",
	},
	scaler.ReasonReadyUnknown: {
		SeverityWarning, "GPU utilisation cannot vote without the number of ready replicas",
		"Give warmpool access to the cluster (--kubeconfig or its service account).",
	},
	scaler.ReasonMisses: {
		SeverityWarning, "three prewarms within a day were for load that did not come: the forecast is not used",
		"Look at the forecast on the page of the service; add a holiday, correct the time zone, or leave the forecast in shadow.",
	},
	scaler.ReasonPrewarmLimit: {
		SeverityInfo, "the forecast asked for more than forecast.maxPrewarm allows", "Raise forecast.maxPrewarm if such peaks are real.",
	},
	scaler.ReasonSupply: {
		SeverityWarning, "no pool can deliver a node now: the target goes no higher than one surge above what is there",
		"Look at the pools: which group is held back and until when. Another stage, another zone or a larger quota helps.",
	},
	scaler.ReasonFreeze: {SeverityInfo, "the target is frozen", "When the incident is over: warmpool freeze off scaler, or remove the freeze from the configuration."},
}

// outlookWarnings are those of a forecast that is configured and not in use.
func outlookWarnings(d engine.Detail) []Warning {
	o := d.Outlook
	if o == nil || o.Configured != "active" || o.Mode == "active" {
		return nil
	}
	why := o.Waiting
	if why == "" {
		why = strings.Join(o.Reasons, ", ")
	}
	return []Warning{{
		Severity: SeverityInfo, Code: "forecast-not-used", Subject: d.Namespace + "/" + nameOf(d.ID), Service: d.ID,
		Text: "the forecast is configured as active and not used: " + why, Remedy: "Nothing, if it is the first day; else look at the rate query of forecast.rate and its history.",
	}}
}
