package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Object is one decoded manifest.
type Object struct {
	Source              string
	APIVersion, Kind    string
	Namespace, Name     string
	Labels, Annotations map[string]string
	Fields              map[string]any
	raw                 []byte
}

// String is kind, namespace and name.
func (o *Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	return o.Kind + " " + name
}

// kindHelmValues marks a document that is no object but the values of the Cluster Autoscaler's chart.
const kindHelmValues = "Values"

// NewObject takes a decoded manifest; the source is for findings. A document that is no object of Kubernetes gives nil.
func NewObject(source string, fields map[string]any) (*Object, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name        string            `json:"name"`
			Namespace   string            `json:"namespace"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if found := farExponent.Find(raw); found != nil {
		return nil, fmt.Errorf("%s: %s is no quantity that a cluster would accept", source, found)
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("%s: the head of the object cannot be read: %w", source, err)
	}
	o := &Object{
		Source: source, APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: head.Metadata.Name,
		Labels: head.Metadata.Labels, Annotations: head.Metadata.Annotations, Fields: fields, raw: raw,
	}
	if head.Kind == "" {
		if args, ok := fields["extraArgs"].(map[string]any); !ok || args["expander"] == nil {
			return nil, nil
		}
		o.Kind, o.Name = kindHelmValues, "cluster-autoscaler"
	}
	return o, nil
}

// farExponent is a quantity that the parser of Kubernetes would need seconds, or more memory than there is, for.
var farExponent = regexp.MustCompile(`"[-+]?[0-9.]+[eE][-+]?[0-9]{7,}"`)

// Parse reads the manifests of one file, several documents and lists included. Documents that are no objects of
// Kubernetes, such as the values of other charts, are left out.
func Parse(name string, data []byte) ([]*Object, error) {
	var objects []*Object
	var errs []error
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	for {
		var node yamlv3.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return objects, errors.Join(append(errs, fmt.Errorf("%s: %w", name, err))...)
		}
		found, err := fromNode(name, &node)
		objects, errs = append(objects, found...), append(errs, err)
	}
	return objects, errors.Join(errs...)
}

func fromNode(name string, node *yamlv3.Node) ([]*Object, error) {
	line := node.Line
	if len(node.Content) > 0 {
		line = node.Content[0].Line
	}
	source := fmt.Sprintf("%s:%d", name, line)
	text, err := yamlv3.Marshal(node)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		if node.Kind == yamlv3.DocumentNode && len(node.Content) > 0 && node.Content[0].Kind != yamlv3.MappingNode {
			return nil, nil // a list or a text: not ours
		}
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return expand(source, fields)
}

// expand takes lists apart.
func expand(source string, fields map[string]any) ([]*Object, error) {
	items, isList := fields["items"].([]any)
	if kind, _ := fields["kind"].(string); !isList || len(kind) < 4 || kind[len(kind)-4:] != "List" {
		o, err := NewObject(source, fields)
		if o == nil || err != nil {
			return nil, err
		}
		return []*Object{o}, nil
	}
	var objects []*Object
	for _, item := range items {
		if one, ok := item.(map[string]any); ok {
			found, err := expand(source, one)
			if err != nil {
				return objects, err
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// decode reads an object, or a part of one, into a type; ok is false if it does not fit.
func decode[T any](fields any) (value T, ok bool) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return value, false
	}
	return value, json.Unmarshal(raw, &value) == nil
}

// at follows a path of keys; nil if it ends early.
func at(fields any, path ...string) any {
	for _, key := range path {
		m, ok := fields.(map[string]any)
		if !ok {
			return nil
		}
		fields = m[key]
	}
	return fields
}

func textAt(fields any, path ...string) string {
	text, _ := at(fields, path...).(string)
	return text
}

// numberAt reads a number; ok is false if there is none.
func numberAt(fields any, path ...string) (int64, bool) {
	switch n := at(fields, path...).(type) {
	case float64:
		return int64(n), true
	case int64:
		return n, true
	case int:
		return int64(n), true
	}
	return 0, false
}
