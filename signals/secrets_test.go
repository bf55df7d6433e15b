package signals

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

// TestServerThatRepeatsCredentials: errors and warnings with what the request carried, as proxies write them, come out
// without it, also where the text is cut in the middle.
func TestServerThatRepeatsCredentials(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, o := range map[string]Options{
		"token":    {BearerTokenFile: write("token", "planted-token-value\n")},
		"password": {Username: "u", PasswordFile: write("password", "planted-password-value\n")},
		"header":   {Headers: map[string]string{"X-Api-Key": "planted-header-value"}},
	} {
		for _, form := range []string{
			`{"status":"error","errorType":"bad_data","error":"no access with %s"}`,
			`{"status":"error","errorType":"bad_data","error":"` + strings.Repeat("x", longestDetail-8) + `%s"}`,
			`{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["tenant %s is slow"]}`,
			`not JSON: %s`,
		} {
			for _, code := range []int{200, 400, 401, 500} {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(code)
					fmt.Fprintf(w, form, r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key"))
				}))
				var log strings.Builder
				o.URL, o.Log = server.URL, slog.New(slog.NewTextHandler(&log, nil))
				r, err := NewReader(o)
				if err != nil {
					t.Fatal(err)
				}
				said := ""
				r.Read(t.Context(), time.Now(), [][]config.Query{{waitingQuery}}, func(_, _ int, _ []scaler.Sample, err error) { said += fmt.Sprint(err) })
				r.Close()
				server.Close()
				said += log.String()
				for _, secret := range []string{"planted", "cGxhbnRlZ", "dTpwbGFudGVk"} { // as it is, and in the header of basic authentication
					if strings.Contains(said, secret) {
						t.Errorf("%s, status %d, %.40s: %s", name, code, form, said)
					}
				}
			}
		}
	}
	if _, err := NewReader(Options{URL: "http://user:planted-in-address@"}); err == nil || strings.Contains(err.Error(), "planted") {
		t.Errorf("a password in a wrong address: %v", err)
	}
	_, err := config.Parse("x.yaml", []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: \"http://user:planted-in-address@prometheus:9090\"}\n"))
	if err == nil || strings.Contains(err.Error(), "planted") {
		t.Errorf("a password in the address: %v, want it refused and not repeated", err)
	}
}
