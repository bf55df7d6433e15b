package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/scaler"
)

type api struct {
	engine  Engine
	log     *decisions.Log
	streams chan struct{} // one place for each open stream
}

const (
	// shownServices is how many lines the overview carries; more are read from the list of services.
	shownServices = 100
	mostServices  = 1000
	// recentChanges and recentChoices are how many records come with a service and a node group.
	recentChanges = 20
	recentChoices = 10
)

// Line is a service in a list: parts of its decision under the same names.
type Line struct {
	ID              string    `json:"id"`
	Namespace       string    `json:"namespace"`
	Name            string    `json:"name"`
	ScaledObject    string    `json:"scaledObject,omitempty"`
	Evaluated       bool      `json:"evaluated"`
	Time            time.Time `json:"time,omitzero"`
	Unavailable     string    `json:"unavailable,omitempty"`
	Replicas        int       `json:"replicas"`
	Active          bool      `json:"active"`
	Ready           int       `json:"ready"`
	Starting        int       `json:"starting"`
	Stuck           int       `json:"stuck,omitempty"`
	CurrentReplicas int       `json:"currentReplicas"`
	Min             int       `json:"min"`
	Max             int       `json:"max"`
	Binding         string    `json:"binding"`
	Limited         string    `json:"limited,omitempty"`
	HeldByTolerance bool      `json:"heldByTolerance,omitempty"`
	// Why is the vote that binds and what kept the target from following it, in one line; Text says everything.
	Why     string   `json:"why"`
	Text    string   `json:"text"`
	Reasons []string `json:"reasons"`
	// Trouble is the gravest of the service's warnings, or empty.
	Trouble Severity `json:"trouble,omitempty"`
}

func lineOf(l engine.Line) Line {
	out := Line{ID: l.ID, Namespace: l.Namespace, Name: nameOf(l.ID), ScaledObject: l.ScaledObject, Reasons: []string{}, CurrentReplicas: -1}
	d := l.Decision
	if d == nil {
		return out
	}
	out.Evaluated, out.Time, out.Unavailable, out.Replicas, out.Active = true, d.Time, d.Unavailable, d.Replicas, d.Active
	out.Ready, out.Starting, out.Stuck, out.CurrentReplicas, out.Min, out.Max = d.Ready, d.Starting, d.Stuck, d.CurrentReplicas, d.Min, d.Max
	out.Binding, out.Limited, out.HeldByTolerance, out.Text = d.Binding, d.Limited, d.HeldByTolerance, d.Text
	out.Why = whyOf(d)
	out.Reasons = append(out.Reasons, d.Reasons...)
	for _, w := range serviceWarnings(l) {
		out.Trouble = graver(out.Trouble, w.Severity)
	}
	return out
}

// whyOf is the first clause of the binding vote, with the limit that applied last.
func whyOf(d *scaler.Decision) string {
	if d.Unavailable != "" {
		return d.Unavailable
	}
	why := d.Binding
	if i := slices.IndexFunc(d.Votes, func(v scaler.Vote) bool { return v.Name == d.Binding && v.Text != "" }); i >= 0 {
		clause, _, _ := strings.Cut(d.Votes[i].Text, ";")
		why += ": " + clause
	}
	if d.Limited != "" {
		why += "; limited by " + d.Limited
	}
	return why
}

// board lists the services that are evaluated: a configured one that triggers refer to stands in for nothing.
func (a *api) board() []engine.Line {
	all := a.engine.Board()
	adopted := map[string]bool{}
	for _, l := range all {
		if l.ScaledObject != "" {
			adopted[l.Namespace+"/"+nameOf(l.ID)] = true
		}
	}
	return slices.DeleteFunc(all, func(l engine.Line) bool { return l.ScaledObject == "" && adopted[l.ID] })
}

// nameOf is the name of the service in an id: what follows the last slash.
func nameOf(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// Overview is the first page.
type Overview struct {
	Status   engine.Status `json:"status"`
	Health   []Health      `json:"health"`
	Warnings []Warning     `json:"warnings"`
	Services []Line        `json:"services"`
	// Totals are over all services, shown or not.
	Totals Totals `json:"totals"`
}

// Totals adds up the board.
type Totals struct {
	Services int `json:"services"`
	// Answered is how many services have an answer, Trouble how many a warning that is more than a remark.
	Answered int `json:"answered"`
	Trouble  int `json:"trouble"`
	Replicas int `json:"replicas"`
	Ready    int `json:"ready"`
	Starting int `json:"starting"`
}

func (a *api) overview(w http.ResponseWriter, _ *http.Request) {
	status, board, pools := a.engine.Status(), a.board(), a.engine.Pools()
	o := Overview{Status: status, Services: []Line{}}
	o.Health = healthOf(&status, board, &pools, a.stats())
	o.Warnings = warningsOf(&status, board, &pools, a.stats())
	lines := make([]Line, len(board))
	for i := range board {
		lines[i] = lineOf(board[i])
		o.Totals.add(&lines[i])
	}
	// What needs somebody comes first, so that it is seen whatever the number of services.
	slices.SortStableFunc(lines, func(x, y Line) int { return cmp.Compare(y.Trouble.rank(), x.Trouble.rank()) })
	o.Services = append(o.Services, lines[:min(len(lines), shownServices)]...)
	answer(w, o)
}

func (t *Totals) add(l *Line) {
	t.Services++
	if l.Trouble.rank() > SeverityInfo.rank() {
		t.Trouble++
	}
	if l.Evaluated && l.Unavailable == "" {
		t.Answered++
		t.Replicas += l.Replicas
	}
	t.Ready += l.Ready
	t.Starting += l.Starting
}

func (a *api) stats() decisions.Stats {
	if a.log == nil {
		return decisions.Stats{}
	}
	return a.log.Stats()
}

// services lists the board in the order of ids.
func (a *api) services(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := shownServices
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostServices {
			fail(w, http.StatusBadRequest, "limit must be a number from 1 to 1000")
			return
		}
		limit = n
	}
	state := q.Get("state")
	if state != "" && state != "trouble" {
		fail(w, http.StatusBadRequest, "state must be trouble or left out")
		return
	}
	out := struct {
		Services []Line `json:"services"`
		// Next is the id to go on after; empty at the end.
		Next string `json:"next,omitempty"`
	}{Services: []Line{}}
	for _, l := range a.board() {
		if l.ID <= q.Get("after") || !strings.Contains(strings.ToLower(l.ID), strings.ToLower(q.Get("q"))) {
			continue
		}
		line := lineOf(l)
		if state == "trouble" && line.Trouble.rank() <= SeverityInfo.rank() {
			continue
		}
		if len(out.Services) == limit {
			out.Next = out.Services[limit-1].ID
			break
		}
		out.Services = append(out.Services, line)
	}
	answer(w, out)
}

// Service is one service in full.
type Service struct {
	ID           string `json:"id"`
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	ScaledObject string `json:"scaledObject,omitempty"`
	// Configured tells that the service is in the configuration file and that no trigger asks for it under this id.
	Configured bool `json:"configured"`
	// Now is the engine's clock.
	Now time.Time `json:"now"`
	// Decision is the one in force; nil before the first evaluation.
	Decision *scaler.Decision `json:"decision"`
	Points   []engine.Point   `json:"points"`
	// Outlook is nil without a forecast.
	Outlook  *engine.Outlook `json:"outlook"`
	Warnings []Warning       `json:"warnings"`
	// Recent are the newest recorded changes, newest first, without their details.
	Recent []Record `json:"recent"`
}

// Record is a [decisions.Record] without its detail, for lists.
type Record struct {
	ID      string         `json:"id"`
	Time    time.Time      `json:"time"`
	Kind    decisions.Kind `json:"kind"`
	Subject string         `json:"subject"`
	Summary string         `json:"summary"`
	Reasons []string       `json:"reasons"`
}

func recordOf(r decisions.Record) Record {
	return Record{r.ID, r.Time, r.Kind, r.Subject, r.Summary, append([]string{}, r.Reasons...)}
}

func (a *api) service(w http.ResponseWriter, r *http.Request) {
	d, ok := a.engine.Detail(r.PathValue("id"))
	if !ok {
		fail(w, http.StatusNotFound, "no such service: it may be forgotten, or its trigger may have changed; GET /api/v1/services lists those that are known")
		return
	}
	out := Service{
		ID: d.ID, Namespace: d.Namespace, Name: nameOf(d.ID), ScaledObject: d.ScaledObject, Configured: d.Configured,
		Now: a.engine.Status().Now, Decision: d.Decision, Points: d.Points, Outlook: d.Outlook,
		Warnings: append([]Warning{}, serviceWarnings(d.Line)...), Recent: []Record{},
	}
	out.Warnings = append(out.Warnings, outlookWarnings(d)...)
	if a.log != nil && d.Decision != nil {
		for _, rec := range a.log.List(decisions.Filter{Kind: decisions.KindScaler, Subject: d.Decision.Service, Limit: recentChanges}) {
			out.Recent = append(out.Recent, recordOf(rec))
		}
	}
	answer(w, out)
}

func (a *api) pools(w http.ResponseWriter, _ *http.Request) { answer(w, a.engine.Pools()) }

// Group is one node group with the choices that it took part in.
type Group struct {
	engine.NodeGroup
	// Mode is the expander's, ViewKnown tells whether nodes can be counted.
	Mode      expander.Mode `json:"mode"`
	ViewKnown bool          `json:"viewKnown"`
	// Last is the newest choice in which the group was an option; nil without one in memory.
	Last *decisions.Record `json:"last"`
	// Recent are the newest choices in which it was an option, newest first.
	Recent []Record `json:"recent"`
}

func (a *api) group(w http.ResponseWriter, r *http.Request) {
	id, pools := r.PathValue("id"), a.engine.Pools()
	at := slices.IndexFunc(pools.Groups, func(g engine.NodeGroup) bool { return g.ID == id })
	if at < 0 {
		fail(w, http.StatusNotFound, "no such node group in the last request or the view of the cluster; GET /api/v1/pools lists those that are known")
		return
	}
	out := Group{NodeGroup: pools.Groups[at], Mode: pools.Mode, ViewKnown: pools.ViewKnown, Recent: []Record{}}
	for _, rec := range a.choices() {
		if !slices.ContainsFunc(rec.Expander.Candidates, func(c expander.Candidate) bool { return c.ID == id }) {
			continue
		}
		if out.Last == nil {
			out.Last = &rec
		}
		if out.Recent = append(out.Recent, recordOf(rec)); len(out.Recent) == recentChoices {
			break
		}
	}
	answer(w, out)
}

func (a *api) choices() []decisions.Record {
	if a.log == nil {
		return nil
	}
	return a.log.List(decisions.Filter{Kind: decisions.KindExpander, Limit: 1000})
}

func (a *api) situation(w http.ResponseWriter, r *http.Request) {
	s, ok := a.engine.Situation(r.PathValue("id"))
	if !ok {
		fail(w, http.StatusNotFound, "what this choice depended on is not kept any more: only the newest requests are")
		return
	}
	answer(w, s)
}

func answer(w http.ResponseWriter, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		fail(w, http.StatusInternalServerError, "encode: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // a client that went away
}

func fail(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	data, _ := json.Marshal(map[string]string{"error": message}) // strings cannot fail
	_, _ = w.Write(append(data, '\n'))
}
