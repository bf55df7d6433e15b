package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/warmpool/warmpool/scaler"
)

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// signalOrder is the order of a service's queries.
var signalOrder = []scaler.Signal{scaler.Waiting, scaler.Running, scaler.Rate, scaler.Latency, scaler.Utilization, scaler.KVCache}

// noQuery leaves a signal out of a preset.
const noQuery = "none"

// queryBuilder makes the queries of one service.
type queryBuilder struct {
	labels    labelsFile
	namespace string
	selector  map[string]string
	// names are the labels that the shared expressions are grouped by: the namespace and the selector's, sorted.
	names []string
	// shared holds the expressions that do not depend on the service, by template and names; nil renders them afresh.
	shared map[string]string
}

func newQueryBuilder(labels labelsFile, s *serviceFile) *queryBuilder {
	b := &queryBuilder{labels: labels, namespace: s.Namespace, selector: s.Selector}
	b.names = append([]string{labels.Namespace}, slices.Sorted(maps.Keys(s.Selector))...)
	return b
}

func (b *queryBuilder) match() map[string]string {
	match := maps.Clone(b.selector)
	if match == nil {
		match = map[string]string{}
	}
	match[b.labels.Namespace] = b.namespace
	return match
}

// query renders a template for all services of its preset, and for this one alone.
func (b *queryBuilder) query(s presetSignal) Query {
	return Query{
		Signal: s.signal, Expr: b.render(s.expr, false), Alone: b.render(s.expr, true), AgeExpr: b.render(ageTemplate(s.newest), false),
		By: b.names, Match: b.match(), PerReadyPod: s.perReadyPod, Scale: scaleOf(s.scale),
	}
}

func scaleOf(scale float64) float64 {
	if scale == 0 {
		return 1
	}
	return scale
}

// ageTemplate gives the time of the newest sample of a series. timestamp drops the name, so a choice of names has to be
// one series for each name first; only the endpoint picker has one, and no release exports both.
func ageTemplate(newest string) string { return "max $by (timestamp(" + newest + "))" }

// common gives an expression that services share, and the same string to all of them.
func (b *queryBuilder) common(key string, render func() string) string {
	key += "\x00" + strings.Join(b.names, "\x00")
	if expr, ok := b.shared[key]; ok {
		return expr
	}
	expr := render()
	if b.shared != nil {
		b.shared[key] = expr
	}
	return expr
}

func (b *queryBuilder) render(template string, alone bool) string {
	if !alone {
		return b.common(template, func() string { return b.fill(template, false) })
	}
	return b.fill(template, true)
}

func (b *queryBuilder) fill(template string, alone bool) string {
	by, perPod, matchers := " by ("+strings.Join(b.names, ", ")+") ", " by ("+strings.Join(append(slices.Clone(b.names), b.labels.Pod, "instance"), ", ")+") ", ""
	if alone {
		by, perPod, matchers = "", " by ("+b.labels.Pod+", instance) ", b.matchers()
	}
	if matchers == "" {
		template = strings.NewReplacer("{$m}", "", ",$m}", "}").Replace(template)
	}
	return strings.NewReplacer(" $by ", by, " $perPod ", perPod, "$m", matchers).Replace(template)
}

// matchers restricts a query to this service. Values are quoted, so that they cannot become a part of the query.
func (b *queryBuilder) matchers() string {
	parts := []string{b.labels.Namespace + "=" + strconv.Quote(b.namespace)}
	for _, name := range b.names[1:] {
		parts = append(parts, name+"="+strconv.Quote(b.selector[name]))
	}
	return strings.Join(parts, ",")
}

// utilization is the mean GPU utilisation of the pods that serve. A pod's GPUs are averaged first, so that pods weigh the
// same; the join with a series of the engine keeps the pods of this service that have begun to serve, because a pod that
// loads its model shows idle GPUs.
func (b *queryBuilder) utilization(p preset) Query {
	return Query{
		Signal:  scaler.Utilization,
		Expr:    b.common("utilization "+p.presence, func() string { return b.joined(p, "avg", "%s", false) }),
		Alone:   b.joined(p, "avg", "%s", true),
		AgeExpr: b.common("age of utilization "+p.presence, func() string { return b.joined(p, "max", "timestamp(%s)", false) }),
		By:      b.names, Match: b.match(), Scale: p.gpuUnit,
	}
}

func (b *queryBuilder) joined(p preset, aggregate, of string, alone bool) string {
	namespace, pod := b.labels.Namespace, b.labels.Pod
	theirs, theirPod := namespace, pod
	if p.exporter {
		theirs, theirPod = b.labels.GPUNamespace, b.labels.GPUPod
	}
	metric := p.gpu
	if alone {
		metric += "{" + theirs + "=" + strconv.Quote(b.namespace) + "}"
	}
	perPod := aggregate + " by (" + theirs + ", " + theirPod + ") (" + strings.Replace(of, "%s", metric, 1) + ")"
	perPod = relabel(relabel(perPod, theirs, namespace), theirPod, pod)
	names, presence := b.names, p.presence
	if alone {
		names, presence = names[:1], presence+"{"+b.matchers()+"}"
	}
	join := perPod + " * on (" + namespace + ", " + pod + ") group_right () group by (" + strings.Join(names, ", ") + ", " + pod + ") (" + presence + ")"
	if alone {
		return aggregate + "(" + join + ")"
	}
	return aggregate + " by (" + strings.Join(b.names, ", ") + ") (" + join + ")"
}

func relabel(expr, from, to string) string {
	if from == to {
		return expr
	}
	return "label_replace(" + expr + ", " + strconv.Quote(to) + `, "$1", ` + strconv.Quote(from) + `, "(.+)")`
}

// source pairs a query with what its absence means.
type sourced struct {
	query  Query
	source scaler.Source
}

// presetQueries gives the preset's query of every signal that it has.
func (b *queryBuilder) presetQueries(p preset) map[scaler.Signal]sourced {
	out := map[scaler.Signal]sourced{}
	for _, s := range p.signals {
		out[s.signal] = sourced{b.query(s), scaler.Source{Signal: s.signal, OnlyWhenReady: s.whenReady, Optional: s.optional}}
	}
	if p.gpu != "" {
		out[scaler.Utilization] = sourced{b.utilization(p), scaler.Source{Signal: scaler.Utilization, OnlyWhenReady: true, Optional: true}}
	}
	return out
}

// written is a query as somebody wrote it: it must give one sample.
func written(signal scaler.Signal, expr string) sourced {
	return sourced{Query{Signal: signal, Expr: expr, Alone: expr, Scale: 1}, scaler.Source{Signal: signal, Optional: signal == scaler.KVCache || signal == scaler.Latency}}
}

func (q queriesFile) of(signal scaler.Signal) (expr, key string) {
	switch signal {
	case scaler.Waiting:
		return q.Waiting, "waiting"
	case scaler.Running:
		return q.Running, "running"
	case scaler.Rate:
		return q.Rate, "rate"
	case scaler.Latency:
		return q.Latency, "latency"
	case scaler.Utilization:
		return q.GPUUtilization, "gpuUtilization"
	default:
		return q.KVCache, "kvCache"
	}
}
