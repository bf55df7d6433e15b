package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/warmpool/warmpool/bench/sim"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

// The colours of the speakers.
const (
	plainText = ""
	dim       = "\x1b[2m"
	bold      = "\x1b[1m"
	green     = "\x1b[32m"
	yellow    = "\x1b[33m"
	red       = "\x1b[31m"
	blue      = "\x1b[36m"
	reset     = "\x1b[0m"
)

// narrator writes one line for everything worth knowing. Errors of the writer are kept, not acted on: the demo is not
// worth less to the server because its reader went away.
type narrator struct {
	out    io.Writer
	colour bool
	err    error
	// said is when a line about a choice was last written: the same question comes every ten seconds.
	said map[string]time.Time
}

// repeatAfter is how long an equal line is left out.
const repeatAfter = time.Hour

func newNarrator(out io.Writer) *narrator {
	f, ok := out.(*os.File)
	return &narrator{out: out, colour: ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "", said: map[string]time.Time{}}
}

func (n *narrator) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(n.out, format, args...); err != nil && n.err == nil {
		n.err = err
	}
}

// paint colours a text on a terminal.
func (n *narrator) paint(colour, text string) string {
	if !n.colour || colour == plainText {
		return text
	}
	return colour + text + reset
}

// say writes one line: the virtual clock, who speaks, and what.
func (n *narrator) say(at time.Time, colour, who, format string, args ...any) {
	n.printf("%s  %s %s\n", n.paint(dim, at.Format("15:04")), n.paint(colour, fmt.Sprintf("%-11s", who)), fmt.Sprintf(format, args...))
}

// target tells of a changed replica target.
func (n *narrator) target(at time.Time, before, after int, d *scaler.Decision) {
	arrow := "up"
	if after < before {
		arrow = "down"
	}
	n.say(at, blue, "KEDA asked", "how many replicas? %s  %s", n.paint(bold, fmt.Sprintf("%d → %d (%s)", before, after, arrow)), why(d))
}

// why is the reason of a replica target in a newcomer's words.
func why(d *scaler.Decision) string {
	if d == nil {
		return ""
	}
	switch d.Binding {
	case "forecast":
		if d.Forecast != nil && d.Forecast.Text != "" {
			text, _, _ := strings.Cut(d.Forecast.Text, "; ")
			return "because of the forecast: " + text
		}
	case "queue", "rate", "utilisation":
		for _, v := range d.Votes {
			if v.Name == d.Binding && v.Text != "" {
				return "because of the " + v.Name + ": " + v.Text
			}
		}
	}
	return d.Text
}

// choice tells of one call of BestOptions.
func (n *narrator) choice(at time.Time, o offer, kept []string, d *expander.Decision) {
	waiting := map[string]int{}
	for _, p := range o.pods {
		waiting[p.Labels["app"]]++
	}
	var who []string
	for _, name := range []string{service, analytics.name, report.name} {
		if waiting[name] > 0 {
			who = append(who, fmt.Sprintf("%d × %s", waiting[name], name))
		}
	}
	answer := strings.Join(kept, ", ")
	switch {
	case len(kept) == 0:
		answer = "none of them"
	case len(kept) == len(o.loop.Options) && len(kept) > 1:
		answer = "any of them"
	}
	question := fmt.Sprintf("%s need a node; one of %s?", strings.Join(who, ", "), strings.Join(o.ids(), ", "))
	if last, ok := n.said[question+answer]; ok && at.Sub(last) < repeatAfter {
		return
	}
	n.said[question+answer] = at
	n.say(at, green, "CA asked", "%s %s%s", question, n.paint(bold, answer), n.reasons(d))
}

// rejections explains reason codes in words.
var rejections = map[string]string{
	expander.RejectedIsolation: "not theirs", expander.RejectedExclusive: "reserved", expander.RejectedStage: "not yet their turn",
	expander.RejectedFailure: "failed lately", expander.RejectedCPUPods: "no GPU needed", expander.RejectedMixedPods: "no GPU needed",
	expander.RejectedOther: "another workload first",
}

func (n *narrator) reasons(d *expander.Decision) string {
	if d == nil {
		return ""
	}
	var parts []string
	for _, w := range d.Workloads {
		if w.Served && w.Stage > 1 {
			text := fmt.Sprintf("stage %d", w.Stage)
			if w.StageReason != "" {
				text += ", " + w.StageReason
			}
			parts = append(parts, text)
		}
	}
	for _, c := range d.Candidates {
		if c.Rejected == "" {
			continue
		}
		code, _, _ := strings.Cut(c.Rejected, ":")
		text, ok := rejections[code]
		if !ok {
			text = c.Rejected
		}
		parts = append(parts, c.ID+" "+text)
	}
	if len(parts) == 0 {
		return ""
	}
	return n.paint(dim, "  ("+strings.Join(parts, "; ")+")")
}

// events tells of what happened to nodes in one step, those of one kind together. Pods are left out, there are too many.
func (n *narrator) events(events []sim.Event) {
	for _, kind := range []sim.EventKind{sim.NodeReady, sim.NodeFailed, sim.NodeNotified, sim.NodeReclaimed, sim.NodeRemoved} {
		var nodes []string
		var at time.Time
		for _, e := range events {
			if e.Kind == kind {
				nodes, at = append(nodes, e.Node), e.At
			}
		}
		if len(nodes) > 0 {
			n.nodes(at, kind, strings.Join(nodes, ", "))
		}
	}
}

func (n *narrator) nodes(at time.Time, kind sim.EventKind, names string) {
	switch kind {
	case sim.NodeReady:
		n.say(at, plainText, "up", "%s", names)
	case sim.NodeFailed:
		n.say(at, red, "no capacity", "%s never came", names)
	case sim.NodeNotified:
		n.say(at, yellow, "reclaim", "the cloud takes %s back in %s", names, sim.ReclaimNotice)
	case sim.NodeReclaimed:
		n.say(at, red, "lost", "%s", names)
	case sim.NodeRemoved:
		n.say(at, dim, "removed", "%s, empty for 10 min", names)
	}
}

// status is the line that comes every two hours.
func (n *narrator) status(at time.Time, w *world) {
	t := w.queue.Record()
	u := w.cluster.Usage()
	n.say(at, plainText, "status", "%s", n.paint(bold, fmt.Sprintf("%.1f requests/s, %d of %d replicas ready, %d waiting, %s on time so far, %.0f GPU-hours, $%.0f",
		w.load.Rate(at.Add(-sim.RateWindow), at), len(w.readyBefore), w.replicas, w.queue.Waiting(), onTime(t), u.GPUHours, u.Cost)))
}

func onTime(t sim.Traffic) string {
	if t.Requests == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100*(1-float64(t.Late)/float64(t.Requests)))
}
