package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/VictoriaMetrics/metricsql"
)

// maxQuery bounds a query that comes with a trigger.
const maxQuery = 2048

// templates are the parser's WITH expressions. They are no PromQL, and nested ones grow without bound when expanded, so a
// query with the word anywhere is not parsed at all.
var templates = regexp.MustCompile(`(?i)\bwith\b`)

// checkPromQL finds a syntax error. The parser knows a superset of PromQL but may lag behind its newest syntax, so what
// it does not know is doubtful rather than wrong.
func checkPromQL(query string) error {
	if templates.MatchString(query) {
		return nil
	}
	_, err := metricsql.Parse(query)
	return err
}

// forceNamespace restricts every series that a query reads to one namespace. The query is printed again from its parsed
// form, so nothing can be in the result that the parser did not see. Series of the GPU exporter carry the workload's
// namespace under another label. Errors never repeat the query.
func forceNamespace(query, namespace string, labels labelsFile) (string, error) {
	if len(query) > maxQuery {
		return "", fmt.Errorf("must not be longer than %d characters", maxQuery)
	}
	if templates.MatchString(query) {
		return "", errors.New("must not have the word with, not even in a label value")
	}
	expr, err := metricsql.Parse(query)
	if err != nil {
		return "", errors.New("is not valid PromQL")
	}
	selectors, err := restrict(expr, namespace, labels)
	if err != nil {
		return "", err
	}
	if selectors == 0 {
		return "", errors.New("reads no series that the namespace could be forced on")
	}
	text := string(expr.AppendString(nil))
	again, err := metricsql.Parse(text)
	if err != nil {
		return "", errors.New("cannot be given a namespace matcher")
	}
	if n, err := restrict(again, namespace, labels); err != nil || n != selectors || string(again.AppendString(nil)) != text {
		return "", errors.New("cannot be given a namespace matcher")
	}
	return text, nil
}

// restrict adds the matcher to every selector that does not have it yet and counts them.
func restrict(expr metricsql.Expr, namespace string, labels labelsFile) (int, error) {
	selectors := 0
	var failure error
	metricsql.VisitAll(expr, func(e metricsql.Expr) {
		m, ok := e.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		selectors++
		if len(m.LabelFilterss) == 0 {
			failure = errors.New("has a selector without a name or a matcher")
			return
		}
		for i, filters := range m.LabelFilterss {
			restricted, err := withNamespace(filters, namespace, labels)
			if err != nil {
				failure = err
			}
			m.LabelFilterss[i] = restricted
		}
	})
	return selectors, failure
}

func withNamespace(filters []metricsql.LabelFilter, namespace string, labels labelsFile) ([]metricsql.LabelFilter, error) {
	label := labels.Namespace
	for _, f := range filters {
		if f.Label == "__name__" && !f.IsRegexp && !f.IsNegative && strings.HasPrefix(f.Value, "DCGM_") {
			label = labels.GPUNamespace
		}
	}
	for _, f := range filters {
		if f.Label != label {
			continue
		}
		if f.IsRegexp || f.IsNegative || f.Value != namespace {
			return filters, fmt.Errorf("must not have a matcher on %s: it is set to the namespace of the ScaledObject", label)
		}
		return filters, nil
	}
	return append(filters, metricsql.LabelFilter{Label: label, Value: namespace}), nil
}
