package config

import (
	"testing"
	"time"
)

// TestFarExponents refuses at once what the parser of Kubernetes would calculate with for minutes.
func TestFarExponents(t *testing.T) {
	for _, text := range []string{"1e-1000000000", "1E1000000000", "-1e-999999999", "1e-99999", "1e99999999999999999999"} {
		started := time.Now()
		var b byteSize
		if err := b.parseText(text); err == nil {
			t.Errorf("%s is read as %d bytes", text, b)
		}
		if took := time.Since(started); took > time.Second {
			t.Errorf("%s took %v", text, took)
		}
	}
	for text, want := range map[string]byteSize{"64Mi": 64 << 20, "1e6": 1e6, "0": 0, "2G": 2e9} {
		var b byteSize
		if err := b.parseText(text); err != nil || b != want {
			t.Errorf("%s: %d, %v, want %d", text, b, err, want)
		}
	}
}

// TestZonesAreShared loads a time zone once, however many triggers name it.
func TestZonesAreShared(t *testing.T) {
	c := mustParse(t, head)
	metadata := map[string]string{"preset": "vllm", "maxReplicas": "3", "forecastTimeZone": "America/St_Johns"}
	first, err := c.ServiceFromMetadata("a", "x", metadata)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.ServiceFromMetadata("b", "y", metadata)
	if err != nil || first.Forecast.Location != second.Forecast.Location {
		t.Errorf("two copies of one zone, error %v", err)
	}
	if _, err := zone("Nowhere/Land"); err == nil {
		t.Error("an unknown zone is known")
	}
	if _, kept := zones.Load("Nowhere/Land"); kept {
		t.Error("an unknown zone is kept")
	}
}

// TestExpanderKeys compiles what the contract's file does not show.
func TestExpanderKeys(t *testing.T) {
	c := mustParse(t, head+`
expander:
  sharingByPriorityClass: {batch: time-slicing, online: exclusive}
  failureMemory: {provisionTime: 20m}
  workloads:
    - {name: short, stages: [{any: true}], match: {namespaces: [a]}, failureMemory: 10m}
    - {name: own, stages: [{any: true}], match: {namespaces: [b]}, failureMemory: {provisionTime: 5m}}
`)
	p := c.Expander
	if got := p.SharingByPriorityClass; len(got) != 2 || got["batch"] != "time-slicing" || got["online"] != "exclusive" {
		t.Errorf("sharing by priority class: %v", got)
	}
	if p.Failures.ProvisionTime != 20*time.Minute || p.Workloads[0].Failures.ProvisionTime != 20*time.Minute || p.Workloads[1].Failures.ProvisionTime != 5*time.Minute {
		t.Errorf("provision times %v, %v, %v", p.Failures.ProvisionTime, p.Workloads[0].Failures.ProvisionTime, p.Workloads[1].Failures.ProvisionTime)
	}
	if _, err := parse("c.yaml", []byte(head+"expander: {sharingByPriorityClass: {batch: sometimes}}\n"), nil); err == nil {
		t.Error("sharing sometimes was taken")
	}
}
