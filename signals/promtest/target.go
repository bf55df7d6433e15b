package promtest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Target is a scrape target, such as a fake inference server or GPU exporter.
type Target struct {
	server  *httptest.Server
	mu      sync.Mutex
	text    string
	scrapes chan struct{}
}

// NewTarget listens on the loopback interface until the test ends.
func NewTarget(t testing.TB) *Target {
	t.Helper()
	target := &Target{scrapes: make(chan struct{})}
	target.server = httptest.NewServer(http.HandlerFunc(target.serve))
	t.Cleanup(target.server.Close)
	return target
}

func (t *Target) serve(w http.ResponseWriter, _ *http.Request) {
	select {
	case t.scrapes <- struct{}{}:
	default:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte(t.text))
}

// Set changes the metrics, in the text format, and returns when they are stored. One scrape may have begun before the
// change, the second sees it, and the third only begins when the second is stored.
func (t *Target) Set(tb testing.TB, text string) {
	tb.Helper()
	t.mu.Lock()
	t.text = text
	t.mu.Unlock()
	t.Await(tb, 3)
}

// Await returns after a number of scrapes.
func (t *Target) Await(tb testing.TB, scrapes int) {
	tb.Helper()
	for range scrapes {
		select {
		case <-t.scrapes:
		case <-time.After(20 * time.Second):
			tb.Fatal("Prometheus does not scrape")
		}
	}
}
