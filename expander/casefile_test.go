package expander_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// The case file: see the header of testdata/cases.yaml for the meaning of every field.
type caseFile struct {
	Cases []json.RawMessage `json:"cases"`
}

type caseSpec struct {
	prose
	ID       string        `json:"id"`
	Kind     string        `json:"kind"`
	Given    caseGiven     `json:"given"`
	Baseline *caseBaseline `json:"baseline"`
	Expect   caseExpect    `json:"expect"`
}

// prose is what a reader needs and no test does.
type prose struct {
	Source  string `json:"source"`
	Symptom string `json:"symptom"`
	Why     string `json:"why"`
}

type caseGiven struct {
	CAVersion     string         `json:"caVersion"`
	Provider      string         `json:"provider"`
	Balance       bool           `json:"balanceSimilarNodeGroups"`
	Groups        []caseGroup    `json:"groups"`
	Pods          []casePods     `json:"pods"`
	Policy        casePolicy     `json:"policy"`
	Steps         []caseStep     `json:"steps"`
	ExistingNodes map[string]int `json:"existingNodes"`
	PodSets       int            `json:"podSets"`
	Variants      []caseVariant  `json:"variants"`
	Repeat        int            `json:"repeat"`
	Clients       []struct {
		CAVersion string `json:"caVersion"`
	} `json:"clients"`
	ClusterView string      `json:"clusterView"`
	AlertAfter  duration    `json:"alertAfter"`
	Timeline    []caseEvent `json:"timeline"`
}

type caseGroup struct {
	ID           string            `json:"id"`
	Pool         string            `json:"pool"`
	Node         map[string]any    `json:"node"`
	Allocatable  map[string]any    `json:"allocatable"`
	Resources    map[string]int64  `json:"resources"`
	Labels       map[string]string `json:"labels"`
	Taints       []caseTaint       `json:"taints"`
	CapacityType string            `json:"capacityType"`
	Price        float64           `json:"pricePerHour"`
	NodeCount    *int              `json:"nodeCount"`
	CurrentNodes *int              `json:"currentNodes"`
	QuotaGroup   string            `json:"quotaGroup"`
	Pods         []string          `json:"pods"`
}

type caseTaint struct {
	Key, Value, Effect, Operator string
}

type casePods struct {
	Set            string            `json:"set"`
	Count          int               `json:"count"`
	Model          string            `json:"model"`
	Requests       map[string]any    `json:"requests"`
	Annotations    map[string]string `json:"annotations"`
	NodeSelector   map[string]string `json:"nodeSelector"`
	Tolerations    []caseTaint       `json:"tolerations"`
	Age            duration          `json:"age"` // of single requests, which have no earlier one to be measured by
	ResourceClaims []struct {
		Name     string `json:"name"`
		Template string `json:"template"`
	} `json:"resourceClaims"`
	Prefers []struct {
		Label  string `json:"label"`
		Value  string `json:"value"`
		Weight int32  `json:"weight"`
	} `json:"prefers"`
}

type casePolicy struct {
	CPUPods       string             `json:"cpuPodsOnAcceleratorGroups"`
	GPUMemory     string             `json:"gpuMemory"`
	Rank          []string           `json:"rank"`
	Tolerance     map[string]float64 `json:"tolerance"`
	ZoneCap       map[string]int     `json:"zoneCap"`
	Tiers         []caseTier         `json:"tiers"`
	Escalate      caseEscalate       `json:"escalate"`
	FailureMemory *caseMemory        `json:"failureMemory"`
	Pools         map[string]struct {
		Exclusive bool `json:"exclusive"`
	} `json:"pools"`
	Workloads []struct {
		Name     string     `json:"name"`
		Sets     []string   `json:"sets"`
		Priority int32      `json:"priority"`
		Stages   [][]string `json:"stages"`
	} `json:"workloads"`
	TrustTemplateCache []string `json:"trustTemplateCache"`
}

type caseTier struct {
	CapacityType string `json:"capacityType"`
	Label        string `json:"label"`
	Value        string `json:"value"`
	Any          bool   `json:"any"`
}

type caseEscalate struct {
	Attempts  int      `json:"attempts"`
	FirstSeen duration `json:"firstSeen"`
}

type caseMemory struct {
	SingleGPU duration `json:"singleGPU"`
	MultiGPU  duration `json:"multiGPU"`
	Factor    float64  `json:"factor"`
	Max       duration `json:"max"`
	StickFor  duration `json:"stickFor"`
	Quota     duration `json:"quota"`
	Suspected duration `json:"suspected"`
}

type caseStep struct {
	At          duration            `json:"at"`
	Pods        []string            `json:"pods"`
	Options     map[string]int      `json:"options"`
	Ages        map[string]duration `json:"ages"`
	CreatedAgo  map[string]duration `json:"createdAgo"` // must not matter: a Pod of this package has no such field
	Note        string              `json:"note"`
	PodSubset   map[string]int      `json:"podSubset"`
	FreshPods   anyOf               `json:"freshPods"`
	Registered  map[string]int      `json:"registered"`
	ClusterView json.RawMessage     `json:"clusterView"`
	Policy      struct {
		TrustTemplateCache []string `json:"trustTemplateCache"`
	} `json:"policy"`
	Status []struct {
		Group string `json:"group"`
		State string `json:"state"`
		Class string `json:"class"`
		Code  string `json:"errorCode"` // the class is our reading of it, which package cluster tests
	} `json:"status"`
	Events []struct {
		At    duration `json:"at"`
		Group string   `json:"group"`
		Event string   `json:"event"`
		Class string   `json:"class"`
	} `json:"events"`
}

type caseVariant struct {
	Name         string         `json:"name"`
	CurrentNodes map[string]int `json:"currentNodes"`
}

type caseEvent struct {
	At         duration `json:"at"`
	Event      string   `json:"event"`
	Group      string   `json:"group"`
	ScaleUp    string   `json:"scaleUp"`
	Target     int      `json:"cloudProviderTarget"`
	Registered int      `json:"registered"`
	Count      int      `json:"count"`
	Chosen     string   `json:"chosen"`
	Oldest     duration `json:"oldest"`
}

type caseBaseline struct {
	LeastWaste []string           `json:"leastWaste"`
	Scores     map[string]float64 `json:"scores"`
}

// caseExpect is one expected answer, or a list of stall reports (detect).
type caseExpect struct {
	outcome
	Steps     []outcome       `json:"steps"`
	Variants  []outcome       `json:"variants"`
	PerClient []clientOutcome `json:"perClient"`
	SimilarTo *struct {
		Group   string   `json:"group"`
		Similar []string `json:"similar"`
	} `json:"similarTo"`
	NoWarningsFor       []string `json:"noWarningsFor"`
	SamePodsSameAnswer  bool     `json:"samePodsSameAnswer"`
	SameAnswerEveryTime bool     `json:"sameAnswerEveryTime"`
	SubsetOfOptions     bool     `json:"answerSubsetOfOptions"`
	Writes              int      `json:"writesToClusterOrCloud"` // a pure function has no way to make one
	detect              []stallExpect
}

type outcome struct {
	Name            string            `json:"name"`
	Outcome         string            `json:"outcome"`
	Groups          []string          `json:"groups"`
	OneOf           []string          `json:"oneOf"`
	EachAtLeastOnce bool              `json:"eachAtLeastOnce"`
	Warnings        []string          `json:"warnings"`
	Rejected        map[string]string `json:"rejected"`
	Served          []string          `json:"served"`
	Unserved        []string          `json:"unserved"`
	IgnoredForAge   []string          `json:"ignoredForAge"`
	PodClass        map[string]string `json:"podClass"`
}

type clientOutcome struct {
	CAVersion string `json:"caVersion"`
	outcome
}

type stallExpect struct {
	At           duration       `json:"at"`
	Stalled      bool           `json:"stalled"`
	PhantomNodes map[string]int `json:"phantomNodes"`
}

func (e *caseExpect) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &e.detect)
	}
	type plain caseExpect
	return strict(data, (*plain)(e))
}

// duration reads Go durations.
type duration struct{ time.Duration }

func (d *duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read duration %s: %w", data, err)
	}
	parsed, err := time.ParseDuration(text)
	d.Duration = parsed
	return err
}

// anyOf is true for all, or a list of names.
type anyOf struct {
	all   bool
	names []string
}

func (a *anyOf) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, &a.names)
	}
	return json.Unmarshal(data, &a.all)
}

func loadCases(t testing.TB) []caseSpec {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file caseFile
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	specs := make([]caseSpec, len(file.Cases))
	for i, raw := range file.Cases {
		var head struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if specs[i].ID = head.ID; elsewhere[head.ID] != "" {
			continue
		}
		if err := strict(raw, &specs[i]); err != nil {
			t.Fatalf("case %s: %v", head.ID, err)
		}
	}
	return specs
}

// strict decodes JSON and refuses fields that the tests would silently pass over.
func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
