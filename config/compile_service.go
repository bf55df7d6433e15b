package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the image has no zone files, and a zone that is not found must not become UTC

	"github.com/warmpool/warmpool/scaler"
)

func (c *compiler) compileServices(compiled *Config) {
	f := c.source
	overrides := c.overrides()
	seen, shared := map[string]int{}, map[string]string{}
	for i := range f.Services {
		s := &f.Services[i]
		path := at("services", i)
		c.uniqueService(seen, s, i)
		b := &serviceBuilder{report: c.report, file: f, entry: s, path: path, shared: shared}
		compiled.Services = append(compiled.Services, b.build(overrides))
		c.checkProfile(path, s)
	}
	c.checkOverrideNames(seen)
	compiled.byName = seen
}

func (c *compiler) uniqueService(seen map[string]int, s *serviceFile, i int) {
	if s.Namespace != "" && !c.has(at("services", i)+".namespace") {
		c.checkNamespace(at("services", i)+".namespace", s.Namespace)
	}
	if !serviceName.MatchString(s.Name) {
		if !c.has(at("services", i) + ".name") {
			c.errorf(at("services", i)+".name", "%smust be %s", c.got(s.Name), serviceNameRule)
		}
		return
	}
	key := serviceKey(s.Namespace, s.Name)
	if first, ok := seen[key]; ok {
		c.errorf(at("services", i)+".name", "%q is already the name of services[%d] in the same namespace; names must differ", s.Name, first)
		return
	}
	seen[key] = i
}

// serviceName is what can be a part of a metric name of the autoscaler.
var serviceName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$`)

const serviceNameRule = "a name of letters, digits, dots, underscores and dashes, at most 100, that begins and ends with a letter or digit"

// namespaceName is what Kubernetes accepts.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (c *compiler) checkNamespace(path, name string) {
	if !namespaceName.MatchString(name) {
		c.errorf(path, "%sis no namespace: small letters, digits and dashes, at most 63; patterns are not possible", c.got(name))
	}
}

func serviceKey(namespace, name string) string { return namespace + "/" + name }

func (c *compiler) checkProfile(path string, s *serviceFile) {
	from := s.Forecast.ProfileFrom
	if from == "" {
		return
	}
	path += ".forecast.profileFrom"
	if from == s.Name {
		c.errorf(path, "names the service itself; name a sibling with the same daily rhythm, or remove the key")
		return
	}
	var names []string
	for _, other := range c.source.Services {
		if other.Namespace == s.Namespace && other.Name == from {
			return
		}
		if other.Namespace == s.Namespace && other.Name != s.Name && other.Name != "" {
			names = append(names, other.Name)
		}
	}
	c.errorf(path, "%sis no service of namespace %s%s", c.got(from), s.Namespace, suggest(from, names))
}

// serviceBuilder compiles one service, from the file or from a trigger.
type serviceBuilder struct {
	*report
	file  *file
	entry *serviceFile
	path  string
	// shared is where expressions are kept that services share.
	shared map[string]string
}

func (b *serviceBuilder) queryBuilder() *queryBuilder {
	q := newQueryBuilder(b.file.Prometheus.Labels, b.entry)
	q.shared = b.shared
	return q
}

// keyPath is where a key of the service is reported: under its entry in the file, by its flat key in metadata.
func (b *serviceBuilder) keyPath(key string) string {
	if b.secret {
		if flat, ok := flatKeys()[key]; ok {
			return flat.name
		}
		return key
	}
	return b.path + "." + key
}

func (b *serviceBuilder) build(overrides map[string][]scaler.Override) Service {
	s := b.entry
	b.checkReplicas()
	queries, sources := b.queries()
	forecast := b.forecast()
	service := Service{
		Policy: scaler.Policy{
			Namespace: s.Namespace, Name: s.Name, Min: s.Replicas.Min, Max: s.Replicas.Max,
			Concurrency: s.PerReplica.Concurrency.Value, ServiceTime: time.Duration(s.PerReplica.ServiceTime.Value),
			RatePerReplica: s.PerReplica.Rate.Value, MaxUtilization: s.PerReplica.MaxUtilization,
			WaitProbability: float64(s.PerReplica.WaitProbability), LatencyObjective: time.Duration(s.PerReplica.LatencyObjective),
			DrainTime: time.Duration(s.QueueDepth.DrainTime), Sources: sources, QueuePerReplica: s.QueueDepth.TargetPerReplica,
			Utilization:  utilizationRule(s.GPUUtilization),
			Forecast:     scaler.ForecastLimit{MaxPrewarm: float64(s.Forecast.MaxPrewarm), MaxUtilization: s.Forecast.MaxUtilization},
			Startup:      scaler.StartupRule{Lead: time.Duration(s.Startup.Lead.Value), Prior: time.Duration(s.Startup.Prior)},
			ScaleDown:    scaler.ScaleDown{Window: max(shortestWindow, time.Duration(s.ScaleDown.Window)), MaxStep: float64(s.ScaleDown.MaxStep), Period: time.Duration(s.ScaleDown.Period)},
			IdleAfter:    time.Duration(s.Activation.IdleAfter),
			StaleAfter:   time.Duration(s.StaleAfter),
			Frozen:       b.file.Freeze.Scaler,
			FrozenReason: b.file.Freeze.Reason,
		},
		Queries: queries, Forecast: forecast, Pods: b.pods(),
		Overrides: append(slices.Clone(overrides[s.Name]), overrides[serviceKey(s.Namespace, s.Name)]...),
	}
	slices.SortFunc(service.Overrides, func(x, y scaler.Override) int { return x.From.Compare(y.From) })
	if len(service.Overrides) == 1 {
		service.Policy.Override = &service.Overrides[0]
	}
	service.Policy.Hash = hashOf(s, service.Overrides, b.file.Freeze.Scaler, b.file.Freeze.Reason, b.file.Prometheus.Labels)
	return service
}

// shortestWindow stands for a scale-down window of 0s: the core takes that for no window at all, and there is always one,
// as long as the lead.
const shortestWindow = time.Second

func utilizationRule(g gpuUtilizationFile) scaler.UtilizationRule {
	return scaler.UtilizationRule{
		ScaleUp: g.ScaleUp, ScaleDown: g.ScaleDown, Samples: g.Samples,
		MaxUpCount: g.MaxUp.Count, MaxUpPercent: g.MaxUp.Percent, MaxUpPeriod: time.Duration(g.MaxUp.Period),
	}
}

func (b *serviceBuilder) checkReplicas() {
	s := b.entry
	if s.Replicas.Min > s.Replicas.Max && s.Replicas.Max > 0 {
		b.errorf(b.keyPath("replicas.min"), "must not be above the largest target (%d > %d)", s.Replicas.Min, s.Replicas.Max)
	}
	if s.GPUUtilization.ScaleDown >= s.GPUUtilization.ScaleUp {
		b.errorf(b.keyPath("gpuUtilization.scaleDown"), "must be below scaleUp (%g), or both votes hold at once", s.GPUUtilization.ScaleUp)
	}
	if every := b.file.EvaluationInterval; s.StaleAfter < every {
		b.errorf(b.keyPath("staleAfter"), "must be at least evaluationInterval (%s): otherwise every source is always missing", every)
	}
	lead, known := s.Startup.Lead.Value, "startup.lead"
	if lead == 0 {
		lead, known = s.Startup.Prior, "startup.prior"
	}
	if s.ScaleDown.Window < lead {
		b.warnf("window-below-lead", b.keyPath("scaleDown.window"), "%s is shorter than %s (%s): a replica would be removed before its successor could be there; "+
			"the lead is used", s.ScaleDown.Window, known, lead)
	}
	if s.Replicas.Min == 0 && s.Replicas.Max > 0 && !b.demandAtZero() {
		b.warnf("no-demand-at-zero", b.keyPath("replicas.min"), "preset %s is measured on the replicas themselves: without any, nothing tells that there is demand, and "+
			"the service never leaves zero unless the forecast wakes it; give queries.waiting or queries.rate from the gateway, or set min to 1", s.Preset)
	}
}

// demandAtZero tells whether queue or traffic can be seen while there is no replica.
func (b *serviceBuilder) demandAtZero() bool {
	q := b.entry.Queries
	if (q.Waiting != "" && q.Waiting != noQuery) || (q.Rate != "" && q.Rate != noQuery) {
		return true
	}
	for _, s := range presets[b.entry.Preset].signals {
		if s.signal == scaler.Waiting && !s.whenReady && q.Waiting != noQuery {
			return true
		}
	}
	return false
}

// queries puts together the preset's queries and the written ones.
func (b *serviceBuilder) queries() ([]Query, []scaler.Source) {
	s := b.entry
	b.checkSelector()
	found := b.queryBuilder().presetQueries(presets[s.Preset])
	var queries []Query
	var sources []scaler.Source
	voting := false
	for _, signal := range signalOrder {
		x, ok := found[signal]
		if expr, key := s.Queries.of(signal); expr != "" {
			if ok = expr != noQuery; ok {
				x = written(signal, expr)
				b.checkQuery(b.keyPath("queries."+key), expr)
			}
		}
		if !ok {
			continue
		}
		if signal == scaler.Utilization && b.asksForUtilization() {
			x.source.Optional = false
		}
		voting = voting || (signal != scaler.KVCache && signal != scaler.Latency)
		queries, sources = append(queries, x.query), append(sources, x.source)
	}
	if !voting && !b.has(b.keyPath("preset")) {
		b.errorf(b.keyPath("preset"), "gives no signal to scale by; choose the preset of the engine, or write at least one of the queries waiting, running, rate and gpuUtilization")
	}
	return queries, sources
}

// asksForUtilization tells whether somebody wrote down that GPU utilisation counts: then its absence is a failure.
func (b *serviceBuilder) asksForUtilization() bool {
	for key, flat := range flatKeys() {
		if strings.HasPrefix(key, "gpuUtilization.") && b.given(flat.name) {
			return true
		}
	}
	return b.given(b.path+".gpuUtilization") || b.given(b.path+".queries.gpuUtilization") || b.given("gpuUtilizationQuery")
}

func (b *serviceBuilder) checkQuery(path, expr string) {
	if b.secret {
		return // parsed when the namespace was forced on it
	}
	if strings.TrimSpace(expr) == "" {
		b.errorf(path, "must not be blank; write a query, none to leave the signal out, or remove the key")
		return
	}
	if err := checkPromQL(expr); err != nil {
		b.warnf("query-syntax", path, "this does not look like PromQL: %v", err)
	}
}

func (b *serviceBuilder) checkSelector() {
	s := b.entry
	for _, name := range slices.Sorted(maps.Keys(s.Selector)) {
		path := b.keyPath("selector")
		if !b.secret { // in metadata the names are part of a value
			path = join(path, name)
		}
		switch {
		case !labelName.MatchString(name) || strings.HasPrefix(name, "__"):
			b.errorf(path, "is no label name: letters, digits and underscores, not beginning with a digit or two underscores")
		case name == b.file.Prometheus.Labels.Namespace:
			b.errorf(path, "is set from the namespace of the service; remove it here")
		case s.Selector[name] == "":
			b.errorf(path, "must not be empty: it would match the series without the label")
		}
	}
	if len(s.Selector) > 0 && s.Preset == noQuery {
		b.warnf("selector-unused", b.keyPath("selector"), "without a preset there is no query to add it to; put the matchers into the queries")
	}
}
