package cluster

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each status is read as its golden file says.
func TestParseStatus(t *testing.T) {
	files, err := statusFiles()
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			status, err := ParseStatus(string(text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(status, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := file + ".golden"
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseStatusRefuses(t *testing.T) {
	for _, text := range []string{"", "hello", "- a\n- b", "a: b", "Cluster-autoscaler status at yesterday:\n", strings.Repeat("x", maxStatusBytes+1)} {
		if s, err := ParseStatus(text); !errors.Is(err, errStatus) {
			t.Errorf("%.20q: %+v, %v", text, s, err)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	files, _ := statusFiles()
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text))
		}
	}
	f.Add("Cluster-autoscaler status at 2026-03-04 10:20:30 +0000 UTC:\nNodeGroups:\n  Name: \n  Health: (=1\n ScaleUp: Backoff\n")
	f.Add("nodeGroups:\n- name: a\n  health: {nodeCounts: {registered: {unready: []}}, maxSize: -5}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStatus(text)
		if err != nil {
			if !errors.Is(err, errStatus) || len(s.Groups) > 0 {
				t.Fatalf("%v, %+v", err, s)
			}
			return
		}
		for _, g := range s.Groups {
			if g.Name == "" {
				t.Error("a group without a name")
			}
			for _, n := range []int{g.Ready, g.Registered, g.Target, g.Min, g.Max, g.NotStarted, g.LongUnregistered} {
				if n < -1 {
					t.Errorf("%s: count %d", g.Name, n)
				}
			}
			if g.Backoff != nil && (g.Growing || g.Backoff.Class == "") {
				t.Errorf("%s: backoff %+v while growing %v", g.Name, g.Backoff, g.Growing)
			}
		}
	})
}

// Quota is told from stock by the code, and by the message only where the code says nothing.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		code, message string
		want          expander.FailureClass
	}{
		{"QUOTA_EXCEEDED", "Quota 'GPUS_ALL_REGIONS' exceeded", expander.FailureQuota},
		{"RESOURCE_POOL_EXHAUSTED", "", expander.FailureStock},
		{"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "does not have enough resources", expander.FailureStock},
		{"INSUFFICIENT_CAPACITY", "quota is fine", expander.FailureStock},
		{"placeholder-cannot-be-fulfilled", "AWS cannot provision any more instances", expander.FailureStock},
		{"InsufficientInstanceCapacity", "", expander.FailureStock},
		{"UnfulfillableCapacity", "", expander.FailureStock},
		{"VcpuLimitExceeded", "", expander.FailureQuota},
		{"MaxSpotInstanceCountExceeded", "", expander.FailureQuota},
		{"InstanceLimitExceeded", "", expander.FailureQuota},
		{"SkuNotAvailable", "", expander.FailureStock},
		{"OverconstrainedAllocationRequest", "", expander.FailureStock},
		{"ZonalAllocationFailed", "", expander.FailureStock},
		{"OperationNotAllowed", "Operation could not be completed as it results in exceeding approved Total Regional Cores quota", expander.FailureQuota},
		{"cloudProviderError", "Out of host capacity.", expander.FailureStock},
		{"OTHER", "permission denied", expander.FailureOther},
		{"", "", expander.FailureOther},
	} {
		if got := classify(c.code, c.message); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.code, c.message, got, c.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	want := time.Date(2026, 3, 4, 10, 20, 30, 500_000_000, time.UTC)
	for _, text := range []string{
		"2026-03-04T10:20:30.5Z", "2026-03-04 10:20:30.5 +0000 UTC", "2026-03-04 10:20:30.5 +0000 UTC m=+7.5",
		"2026-03-04 12:20:30.5 +0200 CEST", "2026-03-04T11:20:30.5+01:00",
	} {
		if got := parseTime(text); !got.Equal(want) {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := parseTime("soon"); !got.IsZero() {
		t.Errorf("soon: %v", got)
	}
}

func statusFiles() ([]string, error) {
	texts, err := filepath.Glob("testdata/status/*.txt")
	yamls, errYAML := filepath.Glob("testdata/status/*.yaml")
	return append(texts, yamls...), errors.Join(err, errYAML)
}
