package wire_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/warmpool/warmpool/expander"
	"github.com/warmpool/warmpool/wire"
)

// podsOf is a request of one option with so many distinct pods.
func podsOf(t testing.TB, pods int, change func(*corev1.Pod)) []byte {
	t.Helper()
	option := field(nil, 1, []byte("gpu"))
	for i := range pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: strings.Repeat("x", i%50), Labels: map[string]string{"n": strings.Repeat("x", i/50)}}}
		change(pod)
		option = field(option, 5, object(t, pod))
	}
	return field(nil, 1, option)
}

// TestBudgetIsGivenBack: whatever a request is, and however it ends, the budget is whole again afterwards.
func TestBudgetIsGivenBack(t *testing.T) {
	budget := wire.NewBudget(1 << 20)
	good := podsOf(t, 20, func(*corev1.Pod) {})
	for name, message := range map[string][]byte{
		"good": good, "cut": good[:len(good)-3], "bad pod": field(nil, 1, field(field(nil, 1, []byte("gpu")), 5, []byte{0x0a, 9})),
		"bad node": field(nil, 3, field(field(nil, 1, []byte("gpu")), 2, []byte{0x0a, 9})), "empty": nil,
		"too large": podsOf(t, 300, func(p *corev1.Pod) { p.Annotations = map[string]string{"a": strings.Repeat("x", 4096)} }),
	} {
		_, stats, err := wire.Decode(wire.Bytes(message), wire.Limits{Budget: budget})
		if (err != nil) != (stats.Held == 0) && name != "empty" {
			t.Errorf("%s: error %v, %d bytes held", name, err, stats.Held)
		}
		if budget.Held() != stats.Held {
			t.Errorf("%s: %d bytes are taken, the request holds %d", name, budget.Held(), stats.Held)
		}
		budget.Return(stats.Held)
	}
}

// TestBudgetIsShared has many requests at a time that fit alone and not together.
func TestBudgetIsShared(t *testing.T) {
	budget := wire.NewBudget(1 << 20)
	message := podsOf(t, 50, func(p *corev1.Pod) { p.Annotations = map[string]string{"a": strings.Repeat("x", 4096)} })
	var wait sync.WaitGroup
	var mu sync.Mutex
	var served, refused int
	var held []int64
	for range 8 {
		wait.Go(func() {
			_, stats, err := wire.Decode(wire.Bytes(message), wire.Limits{Budget: budget})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				served++
				held = append(held, stats.Held)
			case errors.Is(err, wire.ErrLimit) && strings.Contains(err.Error(), "all requests together"):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if served == 0 || refused == 0 {
		t.Errorf("%d served and %d refused", served, refused)
	}
	for _, n := range held {
		budget.Return(n)
	}
	if budget.Held() != 0 {
		t.Errorf("%d bytes are left", budget.Held())
	}
}

// TestHeldIsAnUpperBound compares the count with the heap, for the requests that take the most memory for their length.
func TestHeldIsAnUpperBound(t *testing.T) {
	raw := func(pod []byte, n int) []byte { // n distinct pods that begin alike
		option := field(nil, 1, []byte("gpu"))
		for i := range n {
			option = field(option, 5, append(slices.Clip(pod), protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), uint64(i))...))
		}
		return field(nil, 1, option)
	}
	label := func(key string) []byte { return field(nil, 11, field(field(nil, 1, []byte(key)), 2, nil)) }
	var labels []byte
	for i := range 9000 {
		labels = append(labels, label(string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)))...)
	}
	requirement := []byte("\x0a\x00")
	for name, message := range map[string][]byte{
		"empty pods":   raw(nil, 40_000),
		"tolerations":  raw(field(nil, 2, []byte(strings.Repeat("\xb2\x01\x00", 9_000))), 60),
		"labels":       raw(field(nil, 1, labels), 60),
		"terms":        raw(field(nil, 2, field(nil, 18, field(nil, 1, field(nil, 1, []byte(strings.Repeat("\x0a\x00", 9_000)))))), 60),
		"requirements": raw(field(nil, 2, field(nil, 18, field(nil, 1, field(nil, 1, field(nil, 1, []byte(strings.Repeat(string(requirement), 9_000))))))), 60),
		"annotations":  raw(field(nil, 1, field(nil, 12, field(field(nil, 1, []byte("a")), 2, make([]byte, 1<<20)))), 40),
	} {
		var request expander.Request
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		request, stats, err := wire.Decode(wire.Bytes(message), wire.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > stats.Held {
			t.Errorf("%s: %d bytes are held, %d were counted", name, grown, stats.Held)
		} else {
			t.Logf("%s: a message of %d KiB holds %d KiB, counted as %d KiB", name, len(message)>>10, grown>>10, stats.Held>>10)
		}
		runtime.KeepAlive(request)
	}
}
