package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warmpool/warmpool/expander"
)

func TestReadCatalogue(t *testing.T) {
	types := map[string]expander.InstanceType{"old": {Name: "old", MilliCPU: 1000, HourlyCost: 9}}
	err := readCatalogue(strings.NewReader("# a remark\nInstance_Type,vcpu,memory_gib,gpu_name,gpu_count,gpu_memory_gib_each,ondemand_usd_per_hour_us_east_1,preemptible_usd_per_hour,arch\n"+
		"g,4,16.5,l4,1,24,0.7,0.2,amd64\nold,,8,,,,,,\n"), types)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]expander.InstanceType{
		"g":   {Name: "g", MilliCPU: 4000, Memory: 16*gibibyte + gibibyte/2, GPUs: 1, GPUModel: "l4", GPUMemory: 24 * gibibyte, HourlyCost: 0.7, SpotHourlyCost: 0.2},
		"old": {Name: "old", MilliCPU: 1000, Memory: 8 * gibibyte, HourlyCost: 9},
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadCatalogueErrors(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"is empty"}},
		{"no key", "gpu_name,ondemand_usd_per_gpu_hour\nt4,0.3\n", []string{"no column instance_type"}},
		{"nothing known", "instance_type,colour\na,red\n", []string{"no column that is known"}},
		{"every wrong row", "instance_type,vcpu\na,many\nb,-1\n,3\na,1\nc,NaN\n", []string{"line 2: vcpu", "line 3: vcpu", "line 4: instance_type is empty", "line 5: a is there twice", "line 6: vcpu"}},
		{"ragged", "instance_type,vcpu\na,1,2\n", []string{"wrong number of fields"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := readCatalogue(strings.NewReader(test.text), map[string]expander.InstanceType{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// TestBuiltInCatalogue checks what must hold for every row, and one row of each cloud against its published definition.
func TestBuiltInCatalogue(t *testing.T) {
	types := builtInTypes()
	for name, x := range types {
		if x.MilliCPU < 1000 || x.Memory < gibibyte || x.GPUs < 1 || x.GPUs > 16 || x.GPUModel == "" || x.GPUMemory < 8*gibibyte || x.HourlyCost != 0 {
			t.Errorf("%s: %+v", name, x)
		}
	}
	for _, want := range []expander.InstanceType{
		{Name: "g4dn.12xlarge", MilliCPU: 48000, Memory: 192 * gibibyte, GPUs: 4, GPUModel: "t4", GPUMemory: 16 * gibibyte},
		{Name: "a2-highgpu-8g", MilliCPU: 96000, Memory: 680 * gibibyte, GPUs: 8, GPUModel: "nvidia-tesla-a100", GPUMemory: 40 * gibibyte},
		{Name: "Standard_NC24ads_A100_v4", MilliCPU: 24000, Memory: 220 * gibibyte, GPUs: 1, GPUModel: "a100", GPUMemory: 80 * gibibyte},
	} {
		if diff := cmp.Diff(want, types[want.Name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
}

// TestRecordedCatalogues reads the published catalogues of three clouds where they are at hand, and holds the built-in
// facts against them.
func TestRecordedCatalogues(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "traces", "catalog")
	for file, rows := range map[string]int{"aws_gpu_instance_types.csv": 73, "gcp_gpu_instance_types.csv": 17, "gcp_n1_prices.csv": 22, "azure_gpu_instance_types.csv": 42} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Skipf("the recorded catalogues are not here: %v", err)
		}
		types := map[string]expander.InstanceType{}
		if err := readCatalogue(strings.NewReader(string(data)), types); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if len(types) != rows {
			t.Errorf("%s: %d types, want %d", file, len(types), rows)
		}
		for name, recorded := range types {
			own, ok := builtInTypes()[name]
			if !ok || file == "gcp_n1_prices.csv" {
				continue
			}
			if own.MilliCPU != recorded.MilliCPU || own.Memory != recorded.Memory || own.GPUs != recorded.GPUs || (recorded.GPUMemory > 0 && own.GPUMemory != recorded.GPUMemory) {
				t.Errorf("%s: built in %+v, recorded %+v", name, own, recorded)
			}
		}
	}
}

func TestCatalogueInConfiguration(t *testing.T) {
	read := func(path string) ([]byte, error) {
		if path != filepath.Join("etc", "prices.csv") {
			return nil, os.ErrNotExist
		}
		return []byte("instance_type,hourly_cost\ng5.xlarge,1.5\n"), nil
	}
	text := head + "catalogue: {files: [prices.csv]}\nexpander: {}\n"
	c, err := parse("etc/config.yaml", []byte(text), read)
	if err != nil {
		t.Fatal(err)
	}
	if x := c.Expander.InstanceTypes["g5.xlarge"]; x.HourlyCost != 1.5 || x.GPUs != 1 {
		t.Errorf("g5.xlarge: %+v, want the price added to the built-in facts", x)
	}
	other, err := parse("etc/config.yaml", []byte(text), func(string) ([]byte, error) { return []byte("instance_type,hourly_cost\ng5.xlarge,1.6\n"), nil })
	if err != nil || other.Hash == c.Hash {
		t.Errorf("another price has the same hash %s (%v)", c.Hash, err)
	}
	if _, err := parse("etc/config.yaml", []byte(strings.ReplaceAll(text, "prices", "none")), read); err == nil || !strings.Contains(err.Error(), "catalogue.files[0]") {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzReadCatalogue(f *testing.F) {
	f.Add("instance_type,vcpu\na,1\n")
	f.Add("\ufeffinstance_type,gpu_count\n\"a\nb\",1e3\n")
	f.Fuzz(func(t *testing.T, text string) {
		types := map[string]expander.InstanceType{}
		if err := readCatalogue(strings.NewReader(text), types); err != nil {
			return
		}
		for name, x := range types {
			if x.Name != name || x.MilliCPU < 0 || x.Memory < 0 || x.GPUs < 0 || x.GPUMemory < 0 || x.HourlyCost < 0 {
				t.Errorf("an impossible type: %+v", x)
			}
		}
	})
}
