package lease

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	v1 "k8s.io/api/coordination/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apiServer holds one Lease with the API server's optimistic concurrency.
type apiServer struct {
	mu      sync.Mutex
	lease   *v1.Lease
	version int
}

// client is one instance's way to the API server, which can be cut.
type client struct {
	coordination.LeaseInterface // the methods that leader election does not call
	server                      *apiServer
	mu                          sync.Mutex
	// down fails every request, hang lets it wait for its deadline.
	down, hang bool
}

func (c *client) set(down, hang bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down, c.hang = down, hang
}

func (c *client) Leases(string) coordination.LeaseInterface { return c }

func (c *client) reach(ctx context.Context) error {
	c.mu.Lock()
	down, hang := c.down, c.hang
	c.mu.Unlock()
	switch {
	case hang:
		<-ctx.Done()
		return ctx.Err()
	case down:
		return errors.New("connection refused")
	}
	return nil
}

func (c *client) Get(ctx context.Context, _ string, _ metav1.GetOptions) (*v1.Lease, error) {
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.server.lease == nil {
		return nil, kerrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "warmpool")
	}
	return c.server.lease.DeepCopy(), nil
}

func (c *client) Create(ctx context.Context, l *v1.Lease, _ metav1.CreateOptions) (*v1.Lease, error) {
	return c.put(ctx, l, "")
}

func (c *client) Update(ctx context.Context, l *v1.Lease, _ metav1.UpdateOptions) (*v1.Lease, error) {
	return c.put(ctx, l, l.ResourceVersion)
}

func (c *client) put(ctx context.Context, l *v1.Lease, expected string) (*v1.Lease, error) {
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	present := ""
	if c.server.lease != nil {
		present = c.server.lease.ResourceVersion
	}
	if present != expected {
		return nil, kerrors.NewConflict(schema.GroupResource{Resource: "leases"}, "warmpool", errors.New("changed"))
	}
	c.server.version++
	stored := l.DeepCopy()
	stored.ResourceVersion = strconv.Itoa(c.server.version)
	c.server.lease = stored
	return stored.DeepCopy(), nil
}

// member is an instance in a test.
type member struct {
	*client
	name   string
	stop   context.CancelFunc
	done   chan error
	mu     sync.Mutex
	leader Leader
	log    []string
}

// council checks at every report that no two lead.
type council struct {
	mu      sync.Mutex
	leading map[string]bool
	t       *testing.T
}

func (c *council) join(server *apiServer, name string) *member {
	m := &member{client: &client{server: server}, name: name, done: make(chan error, 1)}
	e, err := New(Options{Client: m.client, Namespace: "ns", Name: "warmpool", Self: Identity{name, "10.0.0.1:9444"}})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	m.stop = cancel
	go func() {
		m.done <- e.Run(ctx, func(l Leader) {
			c.mu.Lock()
			c.leading[name] = l.Self
			n := 0
			for _, leads := range c.leading {
				if leads {
					n++
				}
			}
			c.mu.Unlock()
			if n > 1 {
				c.t.Errorf("%v: two instances lead", time.Now())
			}
			m.mu.Lock()
			m.leader = l
			m.log = append(m.log, fmt.Sprintf("%s/%d", l.Name, l.Term))
			m.mu.Unlock()
		})
	}()
	return m
}

func (m *member) knows() Leader {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leader
}

func TestOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{}
		c := &council{leading: map[string]bool{}, t: t}
		a := c.join(server, "a")
		time.Sleep(time.Second)
		b := c.join(server, "b")
		time.Sleep(5 * time.Second)
		if l := a.knows(); !l.Self || l.Name != "a" {
			t.Fatalf("a knows %+v, want to lead", l)
		}
		if l := b.knows(); l.Self || l.Name != "a" || l.Address != "10.0.0.1:9444" {
			t.Fatalf("b knows %+v, want a", l)
		}
		term := a.knows().Term

		// A clean end hands over with the next try.
		a.stop()
		if err := <-a.done; err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		if l := b.knows(); !l.Self || l.Term <= term {
			t.Fatalf("after the end of a b knows %+v, want to lead in a later term than %d", l, term)
		}

		// The leader loses the API server: it stops by itself before another one may start, whether requests fail or hang.
		for _, hang := range []bool{false, true} {
			old, next := b, c.join(server, map[bool]string{false: "c", true: "d"}[hang])
			time.Sleep(5 * time.Second)
			if l := next.knows(); l.Name != old.name {
				t.Fatalf("%s knows %+v, want %s", next.name, l, old.name)
			}
			old.set(true, hang)
			time.Sleep(10500 * time.Millisecond)
			if l := old.knows(); l.Self {
				t.Errorf("hang %v: %s leads without the API server: %+v", hang, old.name, l)
			}
			time.Sleep(16 * time.Second) // tries are up to 4.4 s apart, and the Lease runs out 15 s after the one that saw it last
			if l := next.knows(); !l.Self {
				t.Errorf("hang %v: %s knows %+v, want to lead", hang, next.name, l)
			}
			old.set(false, false)
			time.Sleep(15 * time.Second)
			if l := old.knows(); l.Self || l.Name != next.name {
				t.Errorf("hang %v: %s is back and knows %+v, want %s", hang, old.name, l, next.name)
			}
			old.stop()
			<-old.done
			b = next
		}
		b.stop()
		<-b.done
	})
}

// TestSilentHolder is an instance that dies: nobody leads for a while, and those who look say so.
func TestSilentHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{}
		c := &council{leading: map[string]bool{}, t: t}
		a := c.join(server, "a")
		time.Sleep(3 * time.Second)
		watcher := c.join(server, "w")
		time.Sleep(3 * time.Second)
		a.set(true, false)
		watcher.set(true, false) // it cannot take the Lease either
		time.Sleep(20 * time.Second)
		if l := watcher.knows(); l != (Leader{}) {
			t.Errorf("20 s after the last renewal: %+v, want nobody", l)
		}
		a.stop()
		watcher.stop()
		<-a.done
		<-watcher.done
	})
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no client":      {Namespace: "ns", Name: "n", Self: Identity{"a", "h:1"}},
		"no name":        {Client: &client{}, Namespace: "ns", Self: Identity{"a", "h:1"}},
		"at sign":        {Client: &client{}, Namespace: "ns", Name: "n", Self: Identity{"a@b", "h:1"}},
		"no address":     {Client: &client{}, Namespace: "ns", Name: "n", Self: Identity{"a", ""}},
		"all interfaces": {Client: &client{}, Namespace: "ns", Name: "n", Self: Identity{"a", "0.0.0.0:9444"}},
		"deadline":       {Client: &client{}, Namespace: "ns", Name: "n", Self: Identity{"a", "h:1"}, RenewDeadline: time.Minute},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, id := range []Identity{{"pod-1", "10.0.0.3:9444"}, {"pod-1", "[::1]:9444"}} {
		if got := ParseIdentity(id.String()); got != id {
			t.Errorf("%v became %v", id, got)
		}
	}
}
