package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
)

// Machine is one row of an instance catalogue.
type Machine struct {
	Type     string
	MilliCPU int64
	MemoryMi int64
	GPUs     int64
	// GPUModel is empty where the catalogue does not say it.
	GPUModel string
	// GPUMemoryMi is per card; 0 is unknown.
	GPUMemoryMi int64
	// AllocatableMilliCPU and AllocatableMemoryMi are what pods can use; equal to the capacity where not recorded.
	AllocatableMilliCPU, AllocatableMemoryMi int64
	// HourlyCost and SpotHourlyCost are in US dollars; NaN is unknown.
	HourlyCost, SpotHourlyCost float64
}

var (
	awsColumns = []string{
		"instance_type", "vcpu", "memory_mib", "gpu_manufacturer", "gpu_name", "gpu_count", "gpu_memory_mib", "arch",
		"allocatable_cpu_milli", "allocatable_memory_mib", "allocatable_gpu", "max_pods", "ondemand_usd_per_hour_us_east_1",
	}
	gcpColumns = []string{
		"instance_type", "vcpu", "memory_gib", "gpu_name", "gpu_count", "gpu_memory_gib_each",
		"ondemand_usd_per_hour", "preemptible_usd_per_hour",
	}
	gcpPlainColumns = []string{"instance_type", "ondemand_usd_per_hour", "preemptible_usd_per_hour"}
	cardColumns     = []string{"gpu_name", "ondemand_usd_per_gpu_hour", "preemptible_usd_per_gpu_hour"}
	azureColumns    = []string{"instance_type", "vcpu", "memory_mib", "gpu_count", "arch"}
)

// ReadCatalogue reads a list of AWS, Google Cloud or Azure machines, told apart by the header. A list of attachable cards
// is one of machines with a GPU and nothing else.
func ReadCatalogue(file string, r io.Reader) ([]Machine, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	t, err := newTable(file, bytes.NewReader(text), awsColumns, gcpColumns, gcpPlainColumns, azureColumns, cardColumns)
	if err != nil {
		return nil, err
	}
	read := t.awsMachine
	switch {
	case t.has("memory_gib"):
		read = t.gcpMachine
	case t.has(cardColumns[0]) && len(t.header) == len(cardColumns):
		read = t.cardMachine
	case len(t.header) == len(gcpPlainColumns):
		read = t.n1Machine
	case len(t.header) == len(azureColumns):
		read = t.azureMachine
	}
	machines, err := each(t, read)
	for i := range machines {
		m := &machines[i]
		m.AllocatableMilliCPU = cmp.Or(m.AllocatableMilliCPU, m.MilliCPU)
		m.AllocatableMemoryMi = cmp.Or(m.AllocatableMemoryMi, m.MemoryMi)
	}
	return machines, err
}

// fields reads several numbers of the current row; an empty one is NaN.
func (t *table) fields(names ...string) (map[string]float64, error) {
	out := make(map[string]float64, len(names))
	for _, name := range names {
		v, err := t.blankNumber(t.column(name))
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

func whole(v float64) int64 {
	if math.IsNaN(v) {
		return 0
	}
	return int64(math.Round(v))
}

func (t *table) awsMachine() (Machine, error) {
	f, err := t.fields("vcpu", "memory_mib", "gpu_count", "gpu_memory_mib", "allocatable_cpu_milli", "allocatable_memory_mib", "ondemand_usd_per_hour_us_east_1")
	return Machine{
		Type: t.row[0], MilliCPU: whole(f["vcpu"] * 1000), MemoryMi: whole(f["memory_mib"]),
		GPUs: whole(f["gpu_count"]), GPUModel: t.row[t.column("gpu_name")], GPUMemoryMi: whole(f["gpu_memory_mib"]),
		AllocatableMilliCPU: whole(f["allocatable_cpu_milli"]), AllocatableMemoryMi: whole(f["allocatable_memory_mib"]),
		HourlyCost: f["ondemand_usd_per_hour_us_east_1"], SpotHourlyCost: math.NaN(),
	}, err
}

func (t *table) gcpMachine() (Machine, error) {
	f, err := t.fields("vcpu", "memory_gib", "gpu_count", "gpu_memory_gib_each", "ondemand_usd_per_hour", "preemptible_usd_per_hour")
	return Machine{
		Type: t.row[0], MilliCPU: whole(f["vcpu"] * 1000), MemoryMi: whole(f["memory_gib"] * 1024),
		GPUs: whole(f["gpu_count"]), GPUModel: t.row[t.column("gpu_name")], GPUMemoryMi: whole(f["gpu_memory_gib_each"] * 1024),
		HourlyCost: f["ondemand_usd_per_hour"], SpotHourlyCost: f["preemptible_usd_per_hour"],
	}, err
}

// n1Memory is the memory in GiB per vCPU of the N1 families, by their public definition.
var n1Memory = map[string]float64{"n1-standard": 3.75, "n1-highmem": 6.5, "n1-highcpu": 0.9}

func (t *table) n1Machine() (Machine, error) {
	f, err := t.fields("ondemand_usd_per_hour", "preemptible_usd_per_hour")
	if err != nil {
		return Machine{}, err
	}
	m := Machine{Type: t.row[0], HourlyCost: f["ondemand_usd_per_hour"], SpotHourlyCost: f["preemptible_usd_per_hour"]}
	cut := strings.LastIndex(m.Type, "-")
	var cpus int64
	if cut < 0 {
		return m, t.fail(0, "%q is not family, dash, number of CPUs", m.Type)
	}
	if _, err := fmt.Sscan(m.Type[cut+1:], &cpus); err != nil || cpus < 1 {
		return m, t.fail(0, "%q does not end with a number of CPUs", m.Type)
	}
	perCPU, ok := n1Memory[m.Type[:cut]]
	if !ok {
		return m, t.fail(0, "the family %q is not known; expected n1-standard, n1-highmem or n1-highcpu", m.Type[:cut])
	}
	m.MilliCPU, m.MemoryMi = cpus*1000, whole(perCPU*float64(cpus)*1024)
	return m, nil
}

func (t *table) cardMachine() (Machine, error) {
	f, err := t.fields(cardColumns[1:]...)
	return Machine{Type: t.row[0], GPUs: 1, GPUModel: t.row[0], HourlyCost: f[cardColumns[1]], SpotHourlyCost: f[cardColumns[2]]}, err
}

func (t *table) azureMachine() (Machine, error) {
	f, err := t.fields("vcpu", "memory_mib", "gpu_count")
	return Machine{
		Type: t.row[0], MilliCPU: whole(f["vcpu"] * 1000), MemoryMi: whole(f["memory_mib"]), GPUs: whole(f["gpu_count"]),
		HourlyCost: math.NaN(), SpotHourlyCost: math.NaN(),
	}, err
}

// CardPrice is the price of one GPU that attaches to a machine, in US dollars per hour.
type CardPrice struct {
	Model                      string
	HourlyCost, SpotHourlyCost float64
}

// ReadCardPrices reads a list of attachable GPUs.
func ReadCardPrices(file string, r io.Reader) ([]CardPrice, error) {
	t, err := newTable(file, r, cardColumns)
	if err != nil {
		return nil, err
	}
	return each(t, func() (CardPrice, error) {
		f, err := t.fields(t.header[1:]...)
		return CardPrice{Model: t.row[0], HourlyCost: f[t.header[1]], SpotHourlyCost: f[t.header[2]]}, err
	})
}
