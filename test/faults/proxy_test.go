package faults

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxy stands between two parts and breaks their connections on demand.
type proxy struct {
	toxi *toxiproxy.Proxy

	mu   sync.Mutex
	next int
}

func newProxy(t testing.TB, name string, upstream net.Addr) *proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{toxi: toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream.String())}
	if err := p.toxi.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.toxi.Stop)
	return p
}

// address is where clients connect to; it stays the same over cuts.
func (p *proxy) address() string { return p.toxi.Listen }

// cut refuses connections and ends those that are open, until the returned function is called.
func (p *proxy) cut(t testing.TB) (mend func()) {
	p.toxi.Stop()
	return func() {
		t.Helper()
		// Another process may have been given the port for a moment.
		var err error
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if err = p.toxi.Start(); err == nil {
				return
			}
		}
		t.Errorf("the proxy cannot listen on %s again: %v", p.toxi.Listen, err)
	}
}

// toxic breaks what comes from the upstream in the way that the proxy's library calls by that name, until the returned
// function is called.
func (p *proxy) toxic(t testing.TB, kind, attributes string) (mend func()) {
	t.Helper()
	p.mu.Lock()
	p.next++
	name := fmt.Sprintf("%s-%d", kind, p.next)
	p.mu.Unlock()
	text := fmt.Sprintf(`{"name": %q, "type": %q, "stream": "downstream", "attributes": %s}`, name, kind, attributes)
	if _, err := p.toxi.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		t.Fatalf("toxic %s: %v", text, err)
	}
	return func() {
		if err := p.toxi.Toxics.RemoveToxic(context.Background(), name); err != nil {
			t.Errorf("toxic %s: %v", name, err)
		}
	}
}
