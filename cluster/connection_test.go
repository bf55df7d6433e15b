package cluster

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	ktesting "k8s.io/client-go/testing"

	"github.com/warmpool/warmpool/expander"
)

// outage makes every call of the client fail, and ends the watches that stand.
type outage struct {
	mu      sync.Mutex
	down    bool
	watches []*watch.FakeWatcher
}

func (o *outage) react(ktesting.Action) (bool, runtime.Object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return true, nil, errors.New("connection refused")
	}
	return false, nil, nil
}

// watchOf serves watches that can be ended.
func (o *outage) watchOf(ktesting.Action) (bool, watch.Interface, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return true, nil, errors.New("connection refused")
	}
	w := watch.NewFake()
	o.watches = append(o.watches, w)
	return true, w, nil
}

func (o *outage) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = true
	for _, w := range o.watches {
		w.Stop()
	}
	o.watches = nil
}

func (o *outage) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = false
}

// The last view stays when the connection is lost, with its time; ages stand still; after five minutes nothing counts
// as known; and all of it ends with the outage.
func TestLostConnection(t *testing.T) {
	labels := map[string]string{"pool": "x"}
	var o outage
	inWorld(t, Options{}, func() []runtime.Object {
		return these(nodeOf("n", labels), statusOf(statusNow(groupLine("g", 2, 1, 3, "{}"))), scaledObjectOf("ai", "scaler", "", "llm"),
			podOf("ai", "up", ofDeployment("llm"), isReady), podOf("ai", "starting", ofDeployment("llm"), notReady))
	}, func(w *world) {
		w.end()
		react(&w.typed.Fake, "*", "*", o.react)
		w.typed.PrependWatchReactor("*", o.watchOf)
		view, err := New(Options{Clients: w.clients})
		w.must(err)
		w.view = view
		w.start()
		w.view.ObserveRequest(&expander.Policy{}, expander.Request{Groups: []expander.Group{templateOf("g", labels)}}, time.Now())
		if age := w.view.Age(time.Now()); age != 0 {
			t.Errorf("age %v while the connection stands", age)
		}
		o.begin()
		w.wait(2 * time.Minute)
		v, age := w.view.ExpanderView(time.Now()), w.view.Age(time.Now())
		if !v.Known || v.Groups["g"].Nodes != 1 || age < 110*time.Second || age > 2*time.Minute || !v.At.Equal(time.Now().Add(-age)) {
			t.Errorf("after two minutes: known %v, nodes %d, age %v, as of %v", v.Known, v.Groups["g"].Nodes, age, v.At)
		}
		if p := w.view.Pods("ai", "scaler"); !p.Known || p.Ready != 1 || len(p.Starting) != 1 || p.Starting[0] > 30*time.Second {
			t.Errorf("after two minutes: %+v", p)
		}
		w.wait(4 * time.Minute)
		if v := w.view.ExpanderView(time.Now()); v.Known || v.Groups["g"].Nodes != 1 {
			t.Errorf("after six minutes: known %v, nodes %d", v.Known, v.Groups["g"].Nodes)
		}
		if p := w.view.Pods("ai", "scaler"); p.Known {
			t.Errorf("after six minutes: %+v", p)
		}
		o.finish()
		w.wait(2 * time.Minute)
		if age := w.view.Age(time.Now()); age != 0 {
			t.Errorf("age %v after the outage", age)
		}
		if p := w.view.Pods("ai", "scaler"); !p.Known || p.Ready != 1 {
			t.Errorf("after the outage: %+v", p)
		}
	})
}

// A permission that is missing costs what it would tell, is said once, and makes nothing old.
func TestForbidden(t *testing.T) {
	var log bytes.Buffer
	inWorld(t, Options{}, func() []runtime.Object {
		return these(nodeOf("n", nil), scaledObjectOf("ai", "scaler", "", "llm"), podOf("ai", "up", ofDeployment("llm"), isReady))
	}, func(w *world) {
		w.end()
		refuse := func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no role"))
		}
		react(&w.typed.Fake, "list", "nodes", refuse)
		react(&w.typed.Fake, "list", "configmaps", refuse)
		view, err := New(Options{Clients: w.clients, Log: slog.New(slog.NewTextHandler(&log, nil))})
		w.must(err)
		w.view = view
		w.start()
		w.wait(10 * time.Minute)
		if p := w.view.Pods("ai", "scaler"); !p.Known || p.Ready != 1 {
			t.Errorf("pods: %+v", p)
		}
		if v := w.view.ExpanderView(time.Now()); v.Known || v.ZoneNodes != nil || w.view.Age(time.Now()) != 0 {
			t.Errorf("view: %+v, age %v", v, w.view.Age(time.Now()))
		}
		w.end()
		w.end = nil
	})
	if n := strings.Count(log.String(), "what=nodes"); n != 1 {
		t.Errorf("nodes are mentioned %d times:\n%s", n, log.String())
	}
}
