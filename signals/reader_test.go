package signals

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/warmpool/warmpool/config"
	"github.com/warmpool/warmpool/scaler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTestReader(t *testing.T, o Options) *Reader {
	t.Helper()
	r, err := NewReader(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func vector(rows ...string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(rows, ",") + `]}}`
}

func vectorRow(value string, labels ...string) string {
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%q:%q", labels[i], labels[i+1]))
	}
	return fmt.Sprintf(`{"metric":{%s},"value":[1700000000,%q]}`, strings.Join(pairs, ","), value)
}

func query(expr string, match ...string) config.Query {
	q := config.Query{Signal: scaler.Waiting, Expr: expr}
	if len(match) > 0 {
		q.Match = map[string]string{}
		for i := 0; i < len(match); i += 2 {
			q.Match[match[i]] = match[i+1]
		}
	}
	return q
}

// TestOneRequestForATemplate asks 500 services with one template, which is two expressions with its age query.
func TestOneRequestForATemplate(t *testing.T) {
	var mu sync.Mutex
	var exprs []string
	const services = 500
	at := time.Unix(1700000000, 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		exprs = append(exprs, r.FormValue("query"))
		mu.Unlock()
		if r.FormValue("time") != "1700000000" {
			t.Errorf("asked for time %q, want the tick", r.FormValue("time"))
		}
		var rows []string
		for i := range services {
			value := fmt.Sprint(i)
			if r.FormValue("query") == "age" {
				value = fmt.Sprint(1700000000 - i%60)
			}
			rows = append(rows, vectorRow(value, "model_name", fmt.Sprintf("m%d", i)))
		}
		fmt.Fprint(w, vector(rows...))
	}))
	defer server.Close()
	r := newTestReader(t, Options{URL: server.URL})
	asked := make([][]config.Query, services+1)
	for i := range asked {
		q := query("load", "model_name", fmt.Sprintf("m%d", i))
		q.AgeExpr = "age"
		asked[i] = []config.Query{q}
	}
	got := readAll(t.Context(), t, r, at, asked...)
	if len(exprs) != 2 {
		t.Errorf("%d requests for %d services of one template, want 2", len(exprs), services)
	}
	for i := range services {
		if got[i][0].value() != float64(i) {
			t.Fatalf("service %d got %v (%v)", i, got[i][0].value(), got[i][0].err)
		}
		if age := at.Sub(got[i][0].samples[0].At); age != time.Duration(i%60)*time.Second {
			t.Fatalf("service %d: age %v, want %ds", i, age, i%60)
		}
	}
	if got[services][0].class() != "empty" {
		t.Errorf("a service without a row got %s", got[services][0].class())
	}
}

// TestFaults covers answers that are no reading. Every one must leave the healthy query of the same tick alone.
func TestFaults(t *testing.T) {
	var requests atomic.Int32
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("query") {
		case "good":
			fmt.Fprint(w, vector(vectorRow("5")))
			return
		case "hang":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			return
		}
		requests.Add(1)
		switch r.FormValue("query") {
		case "503":
			http.Error(w, "no", http.StatusServiceUnavailable)
		case "429":
			http.Error(w, "slow down", http.StatusTooManyRequests)
		case "once":
			if requests.Load() == 1 {
				http.Error(w, "no", http.StatusBadGateway)
				return
			}
			fmt.Fprint(w, vector(vectorRow("6")))
		case "400":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"status":"error","errorType":"bad_data","error":"parse error"}`)
		case "302":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "truncated":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"vec`)
		case "html":
			fmt.Fprint(w, "<html>Sign in</html>")
		case "matrix":
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
		case "null":
			fmt.Fprint(w, `{"status":"success","data":null}`)
		case "huge":
			_, _ = w.Write(make([]byte, 5000))
		case "histogram":
			fmt.Fprint(w, vector(`{"metric":{},"histogram":[1700000000,{"count":"2","sum":"3","buckets":[]}]}`))
		}
	}))
	defer server.Close()
	defer close(hang)
	for _, c := range []struct {
		expr, class string
		requests    int32
	}{
		{"503", "unavailable", attempts},
		{"429", "throttled", attempts},
		{"once", "ok", 2},
		{"400", "refused", 1},
		{"302", "refused", 1},
		{"truncated", "unreachable", attempts},
		{"html", "answer", 1},
		{"matrix", "wrong-type", 1},
		{"null", "answer", 1},
		{"huge", "refused", 1},
		{"histogram", "wrong-type", 1},
		{"hang", "timeout", 0},
	} {
		t.Run(c.expr, func(t *testing.T) {
			requests.Store(0)
			timeout := 20 * time.Second
			if c.expr == "hang" {
				timeout = 300 * time.Millisecond
			}
			r := newTestReader(t, Options{URL: server.URL, Timeout: timeout, largest: 4000})
			got := readAll(t.Context(), t, r, time.Now(), []config.Query{query("good")}, []config.Query{query(c.expr)})
			if got[1][0].class() != c.class {
				t.Errorf("class %s (%v), want %s", got[1][0].class(), got[1][0].err, c.class)
			}
			if requests.Load() != c.requests {
				t.Errorf("%d requests, want %d", requests.Load(), c.requests)
			}
			if got[0][0].value() != 5 {
				t.Errorf("the healthy query got %v (%v)", got[0][0].value(), got[0][0].err)
			}
		})
	}
}

// TestUnreachable names the address and is a failure of the query, not of the program.
func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(closed.URL, "http://")
	closed.Close()
	r := newTestReader(t, Options{URL: "http://" + address})
	got := readAll(t.Context(), t, r, time.Now(), []config.Query{query("x")})[0][0]
	if got.class() != "unreachable" || !strings.Contains(got.err.Error(), address) {
		t.Errorf("got %v, want unreachable with the address", got.err)
	}
}

// TestSuspectsLast lets eight hanging queries and one good one share two turns: once the eight are known, the good
// one is reported first.
func TestSuspectsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := newReader(Options{URL: "http://prometheus"}.withDefaults(), roundTripper(func(req *http.Request) (*http.Response, error) {
			_ = req.ParseForm()
			if strings.HasPrefix(req.FormValue("query"), "slow") {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return reply(vector(vectorRow("1"))), nil
		}), func() {})
		if err != nil {
			t.Fatal(err)
		}
		var services [][]config.Query
		for i := range 16 {
			services = append(services, []config.Query{query(fmt.Sprintf("slow%d", i))})
		}
		services = append(services, []config.Query{query("good")})
		goodAfter := func() time.Duration {
			started := time.Now()
			var took time.Duration
			r.Read(t.Context(), started, services, func(s, _ int, _ []scaler.Sample, err error) {
				if s == 16 && err == nil {
					took = time.Since(started)
				}
			})
			return took
		}
		if first := goodAfter(); first != 4*time.Second {
			t.Errorf("behind 16 unknown slow queries with 8 turns of 2 s: %v, want 4s", first)
		}
		if second := goodAfter(); second != 0 {
			t.Errorf("with the slow ones known: %v, want 0", second)
		}
	})
}

// TestDeadline lets no attempt begin or wait beyond the deadline of the whole read.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := newReader(Options{URL: "http://prometheus", MaxConcurrent: 1}.withDefaults(),
			roundTripper(func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}), func() {})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		started := time.Now()
		got := readAll(ctx, t, r, started, []config.Query{query("a")}, []config.Query{query("b")}, []config.Query{query("c")})
		if took := time.Since(started); took != 3*time.Second {
			t.Errorf("read took %v, want the deadline of 3s", took)
		}
		for i := range got {
			if got[i][0].class() != "timeout" {
				t.Errorf("query %d: %v", i, got[i][0].err)
			}
		}
	})
}

func TestCredentials(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	var seen http.Header
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		fmt.Fprint(w, vector(vectorRow("1")))
	}))
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	writePEM(t, ca, "CERTIFICATE", server.Certificate().Raw)
	r := newTestReader(t, Options{
		URL: server.URL, BearerTokenFile: token, Headers: map[string]string{"X-Scope-OrgID": "tenant"}, TLS: TLS{CAFile: ca},
	})
	for _, want := range []string{"first", "second"} {
		write(want)
		got := readAll(t.Context(), t, r, time.Now(), []config.Query{query("x")})[0][0]
		if got.err != nil {
			t.Fatal(got.err)
		}
		if seen.Get("Authorization") != "Bearer "+want || seen.Get("X-Scope-OrgID") != "tenant" {
			t.Errorf("headers %v, want token %s and the tenant", seen, want)
		}
	}
	for _, o := range []Options{
		{URL: strings.Replace(server.URL, "https://", "https://user:second@", 1)},
		{URL: server.URL, Username: "user", PasswordFile: token},
	} {
		o.TLS.CAFile = ca
		readAll(t.Context(), t, newTestReader(t, o), time.Now(), []config.Query{query("x")})
		request := http.Request{Header: seen}
		if user, password, _ := request.BasicAuth(); user != "user" || password != "second" {
			t.Errorf("basic authentication sent %q and %q", user, password)
		}
	}
	stranger := newTestReader(t, Options{URL: server.URL})
	if got := readAll(t.Context(), t, stranger, time.Now(), []config.Query{query("x")})[0][0]; got.class() != "unreachable" {
		t.Errorf("a server with an unknown CA was read: %v", got)
	}
}

// TestClientCertificate replaces the pair on disk between two connections: the server must see the new one.
func TestClientCertificate(t *testing.T) {
	var seen string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.TLS.PeerCertificates[0].Subject.CommonName
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, vector(vectorRow("1")))
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	files := TLS{
		CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"),
	}
	writePEM(t, files.CAFile, "CERTIFICATE", server.Certificate().Raw)
	writePair(t, files, "first")
	r := newTestReader(t, Options{URL: server.URL, TLS: files})
	for _, name := range []string{"first", "second"} {
		writePair(t, files, name)
		if got := readAll(t.Context(), t, r, time.Now(), []config.Query{query("x")})[0][0]; got.err != nil {
			t.Fatal(got.err)
		}
		if seen != name {
			t.Errorf("the server saw %q, want %q", seen, name)
		}
	}
}

func writePair(t *testing.T, files TLS, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, files.CertFile, "CERTIFICATE", certificate)
	writePEM(t, files.KeyFile, "PRIVATE KEY", secret)
}

func writePEM(t *testing.T, path, kind string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReadersShareMetrics counts the requests of a reader and of its successor in one metric.
func TestReadersShareMetrics(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, vector(vectorRow("1")))
	}))
	defer server.Close()
	registry := prometheus.NewRegistry()
	for range 2 {
		r := newTestReader(t, Options{URL: server.URL, Metrics: registry})
		readAll(t.Context(), t, r, time.Now(), []config.Query{query("x")})
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "warmpool_prometheus_requests_total" {
			if n := f.GetMetric()[0].GetCounter().GetValue(); n != 2 {
				t.Errorf("%v requests counted, want 2", n)
			}
			return
		}
	}
	t.Error("no metric of requests")
}

func TestOptionsAreChecked(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for name, c := range map[string]struct {
		options Options
		names   string
	}{
		"no address":   {Options{URL: "prometheus:9090"}, "prometheus.url"},
		"no token":     {Options{URL: "http://p", BearerTokenFile: missing}, "bearerTokenFile"},
		"no CA":        {Options{URL: "http://p", TLS: TLS{CAFile: missing}}, "caFile"},
		"half a pair":  {Options{URL: "http://p", TLS: TLS{CertFile: missing}}, "certFile and keyFile"},
		"no such pair": {Options{URL: "http://p", TLS: TLS{CertFile: missing, KeyFile: missing}}, "certFile"},
	} {
		if _, err := NewReader(c.options); err == nil || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: error %v does not name %s", name, err, c.names)
		}
	}
	_, err := NewReader(Options{URL: "ftp://user:secret@host"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v shows the password", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := f(r)
	if e, ok := r.Context().Value(exchangeKey{}).(*exchange); ok && err == nil {
		e.status = response.StatusCode
	}
	return response, err
}
