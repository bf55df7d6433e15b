package wire_test

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/warmpool/warmpool/bench/load"
	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire"
)

// BenchmarkDecode compares the obvious handler with ours on a message that has been received already: the generated
// unmarshal, then every pod and node, then a score; against Decode and the same score. "cpu-ms/op" is the processor
// time of the process, garbage collection included, "peak-MiB" the most heap above that of the message.
func BenchmarkDecode(b *testing.B) {
	for _, w := range []load.Wave{
		{Groups: 60, Pods: 500, PodBytes: 5120},
		{Groups: 30, Pods: 500, PodBytes: 5120},
		{Groups: 15, Pods: 500, PodBytes: 5120},
		{Groups: 60, Pods: 250, PodBytes: 5120},
		{Groups: 60, Pods: 125, PodBytes: 5120},
	} {
		in := message(b, w.Loop(), caclient.V1_35_0)
		name := fmt.Sprintf("groups=%d/pods=%d", w.Groups, w.Pods)
		b.Run(name+"/obvious", func(b *testing.B) { measure(b, in, obvious) })
		b.Run(name+"/ours", func(b *testing.B) { measure(b, in, ours) })
	}
}

// measure runs one handler, once for its peak of memory and then for time.
func measure(b *testing.B, in []byte, handle func([]byte) (float64, error)) {
	b.Helper()
	peak := peakHeap(func() {
		if score, err := handle(in); err != nil || score <= 0 {
			b.Fatalf("score %v, error %v", score, err)
		}
	})
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	runtime.GC()
	start := processorTime()
	for b.Loop() {
		if _, err := handle(in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processorTime()-start)/float64(b.N)/1e6, "cpu-ms/op")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

// obvious is what one writes first.
func obvious(in []byte) (float64, error) {
	var req grpcplugin.BestOptionsRequest
	if err := proto.Unmarshal(in, &req); err != nil {
		return 0, err
	}
	nodes := map[string]*corev1.Node{}
	for id, b := range req.GetNode() {
		nodes[id] = &corev1.Node{}
		if err := nodes[id].Unmarshal(b); err != nil {
			return 0, err
		}
	}
	options := make(map[string][]*corev1.Pod, len(req.GetOptions()))
	for _, o := range req.GetOptions() {
		for _, b := range o.GetPod() {
			pod := &corev1.Pod{}
			if err := pod.Unmarshal(b); err != nil {
				return 0, err
			}
			options[o.GetNodeGroupId()] = append(options[o.GetNodeGroupId()], pod)
		}
	}
	best := 0.0
	for _, o := range req.GetOptions() {
		var gpus int64
		for _, p := range options[o.GetNodeGroupId()] {
			q := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})["nvidia.com/gpu"]
			gpus += q.Value()
		}
		q := nodes[o.GetNodeGroupId()].Status.Allocatable["nvidia.com/gpu"]
		best = max(best, float64(gpus)/float64(int64(o.GetNodeCount())*q.Value()))
	}
	return best, nil
}

func ours(in []byte) (float64, error) {
	req, _, err := wire.Decode(pieces(in, 16_384), wire.Limits{})
	if err != nil {
		return 0, err
	}
	perNode := map[string]int64{}
	for _, g := range req.Groups {
		perNode[g.ID] = g.Allocatable.Extended["nvidia.com/gpu"]
	}
	best := 0.0
	for _, o := range req.Options {
		var gpus int64
		for _, p := range o.Pods {
			gpus += req.Pods[p].Requests.Extended["nvidia.com/gpu"]
		}
		best = max(best, float64(gpus)/float64(int64(o.NodeCount)*perNode[o.GroupID]))
	}
	return best, nil
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakHeap is the most heap that work needs above what there is.
func peakHeap(work func()) uint64 {
	read := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	runtime.GC()
	before, most := read(), uint64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		most = max(most, read())
		select {
		case <-done:
			return max(most, read()) - min(before, most)
		case <-ticker.C:
		}
	}
}

// BenchmarkPod compares ways to decode one distinct pod.
func BenchmarkPod(b *testing.B) {
	pod := object(b, load.Wave{Groups: 1, Pods: 1, PodBytes: 5120}.Loop().Options[0].Pods[0])
	in := field(nil, 1, field(field(nil, 1, []byte("g")), 5, pod))
	b.Run("reduced", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := wire.Decode(wire.Bytes(in), wire.Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("full", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p corev1.Pod
			if err := p.Unmarshal(pod); err != nil {
				b.Fatal(err)
			}
			wire.Pod(&p)
		}
	})
}
