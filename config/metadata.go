package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxMetadata bounds the keys and values that a trigger may send, which anybody who may write a ScaledObject chooses.
const (
	maxMetadataKeys  = 200
	maxMetadataValue = 8192
)

// ServiceFromMetadata resolves a trigger of the ScaledObject namespace/name. The metadata may name a service of the file
// (service: NAME), hold a whole policy in flat keys, or both, and then the metadata wins. Every query is restricted to
// the namespace.
//
// The error is [ErrUnknownService] (wrapped) when a service is named that neither the file nor the metadata describes;
// otherwise it is an [*Errors] with every problem. No error holds a value of the metadata.
func (c *Config) ServiceFromMetadata(namespace, name string, metadata map[string]string) (Service, error) {
	r := &report{lines: map[string]int{}, secret: true}
	t := &trigger{report: r, config: c, namespace: namespace, name: name, metadata: metadata}
	t.checkKeys()
	entry := t.entry()
	t.apply(entry)
	if t.unknown && len(r.problems) == 0 {
		return Service{}, fmt.Errorf("%s/%s: %w: the configuration has no service of the given name in this namespace; add it to services, "+
			"or describe it here with preset and maxReplicas", namespace, name, ErrUnknownService)
	}
	b := &serviceBuilder{report: r, file: c.source, entry: entry}
	compiler := &compiler{report: &report{lines: map[string]int{}}, source: c.source}
	service := b.build(compiler.overrides())
	if err := r.err(namespace + "/" + name); err != nil {
		return Service{}, err
	}
	return service, nil
}

// trigger is the metadata of one trigger while it is read.
type trigger struct {
	*report
	config          *Config
	namespace, name string
	metadata        map[string]string
	// inFile is set when the metadata builds on an entry of the file; unknown when it names one that is not there and
	// describes none itself.
	inFile, unknown bool
}

// value gives a key, or the same key with FromEnv.
func (t *trigger) value(key string) string {
	if v := t.metadata[key]; v != "" {
		return v
	}
	return t.metadata[key+"FromEnv"]
}

// checkKeys names the keys that are not known.
func (t *trigger) checkKeys() {
	if len(t.metadata) > maxMetadataKeys {
		t.errorf("", "more than %d keys", maxMetadataKeys)
		return
	}
	known := metadataKeys()
	for _, key := range slices.Sorted(maps.Keys(t.metadata)) {
		t.lines[key] = 0
		_, isKnown := slices.BinarySearch(known, key)
		switch {
		case len(t.metadata[key]) > maxMetadataValue:
			t.errorf(key, "is longer than %d bytes", maxMetadataValue)
		case isKnown:
		case strings.HasSuffix(key, "FromEnv"):
			t.errorf(key, "is not accepted: it arrives with the value of the variable, which may be a secret; only serviceFromEnv and modelFromEnv are")
		default:
			t.errorf(safeKey(key), "unknown key%s; see docs/metadata.md for all of them", suggest(key, known))
		}
	}
	for _, key := range []string{"service", "model"} {
		if t.metadata[key] != "" && t.metadata[key+"FromEnv"] != "" {
			t.errorf(key+"FromEnv", "is given beside %s; keep one of them", key)
		}
	}
}

// safeKey keeps a key that is no word out of logs and terminals.
func safeKey(key string) string {
	if plainKey.MatchString(key) && len(key) <= 100 {
		return key
	}
	if len(key) > 100 {
		key = key[:100]
	}
	return fmt.Sprintf("%q", key)
}

// entry gives the service to build on: a copy of the entry in the file, or the defaults.
func (t *trigger) entry() *serviceFile {
	named := t.value("service")
	if s := t.config.entry(t.namespace, named); s != nil {
		entry := *s
		entry.Namespace, entry.Selector = t.namespace, maps.Clone(s.Selector)
		t.inFile = true
		return &entry
	}
	var entry serviceFile
	d := &decoder{report: t.report}
	d.setDefaults(reflect.ValueOf(&entry).Elem())
	entry.Name, entry.Namespace = t.name, t.namespace
	if named != "" {
		entry.Name = named
		t.unknown = t.metadata["preset"] == "" && !t.hasQuery()
	}
	if !serviceName.MatchString(entry.Name) {
		t.errorf("service", "must be %s", serviceNameRule)
	}
	return &entry
}

func (t *trigger) hasQuery() bool {
	for key := range t.metadata {
		if strings.HasSuffix(key, "Query") {
			return true
		}
	}
	return false
}

// apply sets every flat key that the metadata gives.
func (t *trigger) apply(entry *serviceFile) {
	v := reflect.ValueOf(entry).Elem()
	for _, key := range slices.Sorted(maps.Keys(t.metadata)) {
		k, ok := flatKeyByName()[key]
		if !ok || len(t.metadata[key]) > maxMetadataValue {
			continue
		}
		t.applyKey(k, v.FieldByIndex(k.index))
	}
	if !t.unknown && !t.inFile && t.metadata["maxReplicas"] == "" {
		t.errorf("maxReplicas", "is required: %s", flatKeyByName()["maxReplicas"].field.doc)
	}
	t.applySelector(entry)
}

func (t *trigger) applyKey(k flatKey, target reflect.Value) {
	text := strings.TrimSpace(t.metadata[k.name])
	d := &decoder{report: t.report}
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if k.field.typ.Kind() == reflect.Slice {
		node = &yaml.Node{Kind: yaml.SequenceNode}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: part})
			}
		}
	}
	if strings.HasPrefix(k.path, "queries.") && text != noQuery {
		t.applyQuery(k, target, text)
		return
	}
	before := len(t.problems)
	d.decode(node, target, k.name)
	if len(t.problems) == before {
		d.checkTags(target, k.field, k.name)
	}
}

// applyQuery takes a raw query if the namespace may carry one, and restricts it to the namespace.
func (t *trigger) applyQuery(k flatKey, target reflect.Value, text string) {
	if !slices.Contains(t.config.Metadata.AllowQueries, t.namespace) {
		t.errorf(k.name, "raw queries are not allowed from this namespace: the configuration would have to list it in metadata.allowQueries; a preset needs no permission")
		return
	}
	restricted, err := forceNamespace(text, t.namespace, t.config.source.Prometheus.Labels)
	if err != nil {
		t.errorf(k.name, "%v", err)
		return
	}
	target.SetString(restricted)
}

func (t *trigger) applySelector(entry *serviceFile) {
	if text := t.metadata["selector"]; text != "" {
		selector, err := parseSelector(text)
		if err != nil {
			t.errorf("selector", "%v", err)
			return
		}
		entry.Selector = selector
	}
	model := t.value("model")
	if model == "" {
		return
	}
	label := presets[entry.Preset].modelLabel
	if label == "" {
		t.errorf("model", "has no label in this preset; use selector, or choose one of the presets vllm, sglang, triton, nim, ray-serve, epp and micrometer")
		return
	}
	if entry.Selector == nil {
		entry.Selector = map[string]string{}
	}
	entry.Selector[label] = model
}

func parseSelector(text string) (map[string]string, error) {
	selector := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"`)
		if !ok || name == "" || value == "" || strings.HasSuffix(name, "!") || strings.HasPrefix(value, "~") {
			return nil, errors.New("must be a list such as model_name=llama-7b,team=search; only = is possible")
		}
		if _, twice := selector[name]; twice {
			return nil, errors.New("names a label twice")
		}
		selector[name] = value
	}
	return selector, nil
}

// entry finds a service of the file for a namespace: one of its own, or one that is there for every namespace.
func (c *Config) entry(namespace, name string) *serviceFile {
	if i, ok := c.byName[serviceKey(namespace, name)]; ok {
		return &c.source.Services[i]
	}
	if i, ok := c.byName[serviceKey("", name)]; ok {
		return &c.source.Services[i]
	}
	return nil
}
