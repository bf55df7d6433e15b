package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/engine"
)

// operated is a server over a real engine, with a token file or without one.
func operated(t *testing.T, token bool) (*running, *engine.Engine) {
	t.Helper()
	c, err := config.Parse("test.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9090}\nservices: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	var e *engine.Engine
	r := run(t, func(o *Options, a *authority) {
		if e, err = engine.New(engine.Options{Config: c, Decisions: o.Decisions}); err != nil {
			t.Fatal(err)
		}
		o.Operations = e
		if token {
			o.AdminTokenFile = filepath.Join(a.dir, "token")
			if err := os.WriteFile(o.AdminTokenFile, []byte("s3cret"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	return r, e
}

func TestOperationPages(t *testing.T) {
	r, e := operated(t, true)
	order := `{"service":"ml/chat","min":3,"for":"2h","reason":"launch","by":"alice"}`
	for _, test := range []struct {
		method, path, token, body string
		code                      int
		want                      string
	}{
		{"POST", "/api/v1/overrides", "", order, 401, "bearer token"},
		{"POST", "/api/v1/overrides", "guess", order, 401, "bearer token"},
		{"GET", "/api/v1/overrides", "", "", 401, "bearer token"},
		{"POST", "/api/v1/freeze", "", `{"half":"scaler","on":true,"reason":"r"}`, 401, "bearer token"},
		{"DELETE", "/api/v1/overrides/x", "", "", 401, "bearer token"},
		{"POST", "/api/v1/overrides", "s3cret", order, 200, `"service":"ml/chat","min":3`},
		{"POST", "/api/v1/overrides", "s3cret", "{", 400, "JSON object"},
		{"POST", "/api/v1/overrides", "s3cret", `{"services":"x"}`, 400, "unknown field"},
		{"POST", "/api/v1/overrides", "s3cret", `{"service":"x"}`, 400, "changes nothing"},
		{"POST", "/api/v1/overrides", "s3cret", `{"service":"x","for":"soon"}`, 400, "for must be"},
		{"POST", "/api/v1/overrides", "s3cret", `{"service":"x","for":"1h","to":"2026-08-03T12:00:00Z"}`, 400, "not both"},
		{"POST", "/api/v1/overrides", "s3cret", `{"service":"x","by":"a\nb"}`, 400, "printable"},
		{"POST", "/api/v1/overrides", "s3cret", `{"service":"` + strings.Repeat("x", 20<<10) + `"}`, 400, "too large"},
		{"DELETE", "/api/v1/overrides/x", "s3cret", "", 404, "unknown override"},
		{"POST", "/api/v1/freeze", "s3cret", `{"half":"scaler","reason":"r"}`, 400, "on is required"},
		{"POST", "/api/v1/freeze", "s3cret", `{"half":"both","on":true,"reason":"r"}`, 400, "expander or scaler"},
		{"POST", "/api/v1/freeze", "s3cret", `{"half":"scaler","on":true,"reason":"incident"}`, 200, `"on":true`},
		{"GET", "/api/v1/freeze?format=text", "s3cret", "", 200, "scaler  freeze on"},
		{"GET", "/api/v1/overrides?format=text", "s3cret", "", 200, "ml/chat  min 3 max -"},
		{"GET", "/api/v1/decisions?kind=operation", "s3cret", "", 200, `"action":"override-set"`},
	} {
		if code, body := r.send(t, test.method, test.path, test.token, test.body); code != test.code || !strings.Contains(body, test.want) {
			t.Errorf("%s %s %s = %d %q, want %d with %q", test.method, test.path, test.body, code, body, test.code, test.want)
		}
	}
	set := e.Operations().Overrides
	if len(set) != 1 || set[0].To.Sub(set[0].From).Round(time.Second) != 2*time.Hour || !strings.HasPrefix(set[0].Who, "alice (admin token from 127.0.0.1:") {
		t.Fatalf("overrides: %+v", set)
	}
	code, body := r.send(t, "DELETE", "/api/v1/overrides/"+set[0].ID+"?reason=over&by=bob", "s3cret", "")
	var answer struct {
		Override   engine.Override `json:"override"`
		Persistent bool            `json:"persistent"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != 200 || !answer.Override.Cleared || answer.Persistent || answer.Override.Reason != "over" {
		t.Errorf("clear: %d %q, %v", code, body, err)
	}
	if len(e.Operations().Overrides) != 0 {
		t.Error("the override is still in force")
	}
	if _, text := r.send(t, "GET", "/api/v1/decisions?kind=operation&format=text", "s3cret", ""); !strings.Contains(text, "override-cleared by bob (admin token from") ||
		!strings.Contains(text, "freeze-on by admin token from") {
		t.Errorf("the record of operations: %s", text)
	}
	records := r.log.List(decisions.Filter{Kind: decisions.KindOperation})
	for _, rec := range records {
		if code, text := r.send(t, "GET", "/api/v1/decisions/"+rec.ID+"?format=text", "s3cret", ""); code != 200 || !strings.Contains(text, rec.Operation.Action) {
			t.Errorf("record %s: %d %q", rec.ID, code, text)
		}
	}
}

// TestNoTokenNoWriting reads without a token on the loopback interface and never writes.
func TestNoTokenNoWriting(t *testing.T) {
	r, e := operated(t, false)
	if code, body := r.send(t, "GET", "/api/v1/overrides", "", ""); code != 200 || !strings.Contains(body, `{"overrides":[],"persistent":false}`) {
		t.Errorf("reading: %d %q", code, body)
	}
	for _, c := range [][3]string{
		{"POST", "/api/v1/overrides", `{"service":"ml/chat","min":3,"for":"2h","reason":"launch"}`},
		{"DELETE", "/api/v1/overrides/x", ""},
		{"POST", "/api/v1/freeze", `{"half":"scaler","on":true,"reason":"r"}`},
	} {
		if code, body := r.send(t, c[0], c[1], "anything", c[2]); code != 403 || !strings.Contains(body, "--admin-token-file") {
			t.Errorf("%s %s: %d %q, want 403 with the remedy", c[0], c[1], code, body)
		}
	}
	if o := e.Operations(); len(o.Overrides)+len(o.Freezes) > 0 {
		t.Errorf("something was written: %+v", o)
	}
}
