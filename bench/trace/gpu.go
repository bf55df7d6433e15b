package trace

import (
	"io"
	"strings"
	"time"
)

// GPUPod is one pod of a recorded GPU cluster.
type GPUPod struct {
	Name     string
	MilliCPU int64
	MemoryMi int64
	GPUs     int64
	// MilliGPU is the share of one card in thousandths: 1000 for whole cards, 0 without a GPU.
	MilliGPU int64
	// Models are the GPU models that the pod accepts; empty is any.
	Models []string
	// Timed is false for lists without times, which are in order of arrival.
	Timed            bool
	Created, Deleted time.Duration
}

var (
	podColumns      = []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time"}
	shortPodColumns = podColumns[:5]
)

// ReadGPUPods reads an openb pod list, also in the short form without times.
func ReadGPUPods(file string, r io.Reader) ([]GPUPod, error) {
	t, err := newTable(file, r, podColumns, shortPodColumns)
	if err != nil {
		return nil, err
	}
	return each(t, t.gpuPod)
}

func (t *table) gpuPod() (GPUPod, error) {
	p := GPUPod{Name: t.row[0], Timed: t.has("creation_time")}
	for i, into := range []*int64{&p.MilliCPU, &p.MemoryMi, &p.GPUs, &p.MilliGPU} {
		var err error
		if *into, err = t.integer(i + 1); err != nil {
			return p, err
		}
	}
	if p.GPUs == 0 && p.MilliGPU != 0 || p.GPUs > 0 && (p.MilliGPU == 0 || p.MilliGPU > 1000) {
		return p, t.fail(4, "a share of %d thousandths does not go with %d GPUs", p.MilliGPU, p.GPUs)
	}
	if !p.Timed {
		return p, nil
	}
	err := t.podTimes(&p)
	return p, err
}

func (t *table) podTimes(p *GPUPod) error {
	if spec := t.row[5]; spec != "" {
		p.Models = strings.Split(spec, "|")
	}
	created, err := t.integer(8)
	if err != nil {
		return err
	}
	deleted, err := t.integer(9)
	if err != nil {
		return err
	}
	if deleted < created {
		return t.fail(9, "deleted at %d, before it was created at %d", deleted, created)
	}
	p.Created, p.Deleted = time.Duration(created)*time.Second, time.Duration(deleted)*time.Second
	return nil
}

// GPUNode is one node of a recorded GPU cluster.
type GPUNode struct {
	Name               string
	MilliCPU, MemoryMi int64
	GPUs               int64
	Model              string
}

// ReadGPUNodes reads an openb node list.
func ReadGPUNodes(file string, r io.Reader) ([]GPUNode, error) {
	t, err := newTable(file, r, []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"})
	if err != nil {
		return nil, err
	}
	return each(t, t.gpuNode)
}

func (t *table) gpuNode() (GPUNode, error) {
	n := GPUNode{Name: t.row[0], Model: t.row[4]}
	for i, into := range []*int64{&n.MilliCPU, &n.MemoryMi, &n.GPUs} {
		var err error
		if *into, err = t.integer(i + 1); err != nil {
			return n, err
		}
	}
	if (n.GPUs == 0) != (n.Model == "") {
		return n, t.fail(4, "a node with %d GPUs has the model %q", n.GPUs, n.Model)
	}
	return n, nil
}
