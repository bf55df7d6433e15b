package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warmpool/warmpool/decisions"
)

// TestPageAndInterface: the page is for everybody who reaches the listener, its data is behind the token, and without
// a token no name of the internet is answered to.
func TestPageAndInterface(t *testing.T) {
	says := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := decisions.Open(decisions.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tokenFile, host, path, bearer string
		code                          int
		want                          string
	}{
		{"", "127.0.0.1:8080", "/", "", 200, "page"},
		{"", "127.0.0.1:8080", "/assets/app.js", "", 200, "page"},
		{"", "[::1]:8080", "/api/v1/overview", "", 200, "data"},
		{"", "localhost", "/api/v1/overview", "", 200, "data"},
		{"", "127.0.0.1:8080", "/api/v1/decisions", "", 200, "decisions"},
		{"", "evil.example:8080", "/api/v1/overview", "", 403, "localhost"},
		{"", "evil.example:8080", "/metrics", "", 403, "localhost"},
		{token, "gpu.example", "/", "", 200, "page"},
		{token, "gpu.example", "/api/v1/overview", "", 401, "token"},
		{token, "gpu.example", "/api/v1/overview", "wrong", 401, "token"},
		{token, "gpu.example", "/api/v1/overview", "secret", 200, "data"},
	} {
		o := Options{AdminTokenFile: c.tokenFile, Decisions: log, Page: says("page"), API: says("data")}
		o.complete()
		s := &Server{options: o, stop: make(chan struct{})}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.host+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.bearer != "" {
			r.Header.Set("Authorization", "Bearer "+c.bearer)
		}
		w := httptest.NewRecorder()
		s.adminHandler().ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s%s with token file %q and bearer %q: %d %q, want %d %q", c.host, c.path, c.tokenFile, c.bearer, w.Code, w.Body.String(), c.code, c.want)
		}
	}
}

// TestOpenStreamsEndWithTheServer: a page that is open must not hold up the end.
func TestOpenStreamsEndWithTheServer(t *testing.T) {
	s := &Server{stop: make(chan struct{})}
	ended := make(chan struct{})
	began := make(chan struct{})
	h := s.untilStop(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}))
	go func() {
		defer close(ended)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	}()
	<-began
	close(s.stop)
	<-ended
}
