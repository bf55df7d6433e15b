package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/engine"
)

// FuzzOrder sends any body to the calls that change something: the answer is a status, never a server error.
func FuzzOrder(f *testing.F) {
	c, err := config.Parse("test.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:9090}\nservices: []\n"))
	if err != nil {
		f.Fatal(err)
	}
	e, err := engine.New(engine.Options{Config: c})
	if err != nil {
		f.Fatal(err)
	}
	mux := http.NewServeMux()
	(&operationPages{operations: e, known: true}).register(mux)
	paths := []string{"/api/v1/overrides", "/api/v1/freeze"}
	f.Add(uint8(0), `{"service":"ml/chat","min":3,"for":"3h","reason":"launch","by":"me"}`, "format=text")
	f.Add(uint8(0), `{"service":"ml/chat","max":-3,"from":"2026-08-03T00:00:00Z","to":"2026-08-02T00:00:00Z","reason":""}`, "")
	f.Add(uint8(1), `{"half":"expander","on":true,"reason":"x"}`, "")
	f.Add(uint8(1), `{"half":"\u0000","on":null}`, "%")
	f.Fuzz(func(t *testing.T, which uint8, body, query string) {
		request := httptest.NewRequest(http.MethodPost, paths[int(which)%len(paths)], strings.NewReader(body))
		request.URL.RawQuery = query
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, request)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
