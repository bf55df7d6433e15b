package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLedger(t *testing.T) {
	for path, want := range map[string]struct {
		code int
		body string
	}{
		"/api/v1/ledger":          {http.StatusOK, `[{"service":"ml/chat"`},
		"/api/v1/ledger/ml/chat":  {http.StatusOK, `{"service":"ml/chat"`},
		"/api/v1/ledger/ml/other": {http.StatusNotFound, "no such service"},
	} {
		recorded := httptest.NewRecorder()
		API(&fakeEngine{}, nil).ServeHTTP(recorded, httptest.NewRequest(http.MethodGet, path, nil))
		body := strings.Join(strings.Fields(recorded.Body.String()), "")
		if recorded.Code != want.code || !strings.Contains(body, strings.ReplaceAll(want.body, " ", "")) {
			t.Errorf("%s: %d %s", path, recorded.Code, recorded.Body)
		}
	}
}
