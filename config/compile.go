package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/warmpool/warmpool/expander"
)

// compiler checks what single values cannot tell and builds the compiled form. It goes on after every problem.
type compiler struct {
	*report
	source *file
	name   string
	read   fileReader
	// catalogueText is what the catalogue files hold: it is part of the hash.
	catalogueText []string
	files         []string
}

func (c *compiler) compile() *Config {
	f := c.source
	if f.Rebalance.Mode == Swap && !f.Spot.OnDemandFirstScaleIn {
		c.errorf("rebalance.mode", "swap has fall-back replicas go first, which spot.onDemandFirstScaleIn turns off; turn that on, or set the mode to advise")
	}
	c.checkPrometheus()
	types := c.catalogue()
	compiled := &Config{
		Name:               c.name,
		Files:              c.files,
		EvaluationInterval: time.Duration(f.EvaluationInterval),
		ActivationInterval: time.Duration(f.ActivationInterval),
		CAVersion:          f.CAVersion,
		Prometheus:         prometheusOf(f.Prometheus),
		Metadata:           Metadata{AllowQueries: f.Metadata.AllowQueries},
		Freeze:             Freeze(f.Freeze),
		Spot:               Spot(f.Spot),
		Rebalance:          Rebalance(f.Rebalance),
		Decisions:          Decisions(f.Decisions),
		source:             f,
	}
	c.checkNamespaces("metadata.allowQueries", f.Metadata.AllowQueries)
	compiled.Hash = hashOf(f, c.catalogueText)
	c.compileExpander(compiled, types)
	c.compileServices(compiled)
	return compiled
}

func prometheusOf(p prometheusFile) Prometheus {
	return Prometheus{
		URL: p.URL, Timeout: time.Duration(p.Timeout), MaxConcurrent: p.MaxConcurrent, Headers: p.Headers,
		BearerTokenFile: p.BearerTokenFile, Username: p.BasicAuth.Username, PasswordFile: p.BasicAuth.PasswordFile,
		TLS: TLS(p.TLS),
	}
}

func (c *compiler) checkPrometheus() {
	p := c.source.Prometheus
	const path = "prometheus"
	if p.URL == "" {
		if len(c.source.Services) > 0 && !c.has(path) {
			c.errorf(path+".url", "is required, because there are services: the address of the metric store, such as http://prometheus.monitoring:9090")
		}
	} else {
		c.checkURL(path+".url", p.URL)
	}
	for _, key := range slices.Sorted(mapsKeys(p.Headers)) {
		switch headerPath := join(path+".headers", key); {
		case !httpguts.ValidHeaderFieldName(key):
			c.errorf(headerPath, "is no valid header name")
		case !httpguts.ValidHeaderFieldValue(p.Headers[key]):
			c.errorf(headerPath, "has characters that a header must not have")
		case strings.EqualFold(key, "authorization") && (p.BearerTokenFile != "" || p.BasicAuth.Username != ""):
			c.errorf(headerPath, "is also made from bearerTokenFile or basicAuth; keep one of them")
		}
	}
	if p.BearerTokenFile != "" && p.BasicAuth.Username != "" {
		c.errorf(path+".basicAuth", "bearerTokenFile is given too; keep one of them")
	}
	c.bothOrNone(path+".basicAuth", "username", p.BasicAuth.Username, "passwordFile", p.BasicAuth.PasswordFile)
	c.bothOrNone(path+".tls", "certFile", p.TLS.CertFile, "keyFile", p.TLS.KeyFile)
	c.checkLabels(p.Labels)
}

func (c *compiler) checkLabels(l labelsFile) {
	for _, x := range []struct{ key, value string }{{"namespace", l.Namespace}, {"pod", l.Pod}, {"gpuNamespace", l.GPUNamespace}, {"gpuPod", l.GPUPod}, {"stateNamespace", l.StateNamespace}, {"statePod", l.StatePod}} {
		if !labelName.MatchString(x.value) {
			c.errorf("prometheus.labels."+x.key, "%smust be a label name: letters, digits and underscores, not beginning with a digit", c.got(x.value))
		}
	}
}

func (c *compiler) checkURL(path, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		c.errorf(path, "must be an http or https address, such as http://prometheus.monitoring:9090")
	case u.User != nil:
		c.errorf(path, "must not hold a password: it would be logged; use basicAuth")
	case u.RawQuery != "" || u.Fragment != "":
		c.errorf(path, "must not hold a query or a fragment")
	}
}

func (c *compiler) bothOrNone(path, firstKey, first, secondKey, second string) {
	if (first == "") != (second == "") {
		c.errorf(path, "needs both %s and %s, or neither", firstKey, secondKey)
	}
}

// checkNames reports empty and doubled entries of a list of names.
func (c *compiler) checkNames(path string, names []string, what string) {
	seen := map[string]int{}
	for i, name := range names {
		at := path + "[" + strconv.Itoa(i) + "]"
		if first, ok := seen[name]; ok {
			c.errorf(at, "%q is listed twice, first at %s[%d]; remove one", name, path, first)
		}
		seen[name] = i
		if name == "" {
			c.errorf(at, "must not be empty; write a %s or remove the entry", what)
		}
	}
}

func (c *compiler) checkNamespaces(path string, names []string) {
	c.checkNames(path, names, "namespace")
	for i, name := range names {
		if name != "" {
			c.checkNamespace(at(path, i), name)
		}
	}
}

// vetoSupported tells whether the Cluster Autoscaler takes an empty answer for a veto, which it does from 1.32 on. A
// version that is not given is not relied on.
func (c *compiler) vetoSupported() bool {
	text := c.source.CAVersion
	if text == "" {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	numbers := make([]int, len(parts))
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || len(parts) < 2 || len(parts) > 3 {
			c.errorf("caVersion", "%smust be a release of the Cluster Autoscaler, such as \"1.36\"", c.got(text))
			return false
		}
		numbers[i] = n
	}
	if numbers[0] != 1 || numbers[1] < 24 {
		c.errorf("caVersion", "%smust be 1.24 or newer: earlier releases have no gRPC expander", c.got(text))
	}
	return numbers[1] >= 32
}

func capacityTypeOf(text string) expander.CapacityType { return expander.CapacityType(text) }

func sortedWarnings(warnings []Warning) []Warning {
	slices.SortStableFunc(warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Code, b.Code))
	})
	return warnings
}

func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
