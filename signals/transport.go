package signals

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
)

// largestAnswer bounds one answer in bytes; 20,000 rows with long labels need about 8 MiB.
const largestAnswer = 64 << 20

// transport adds headers and credentials to every request and bounds the answer.
type transport struct {
	next         http.RoundTripper
	headers      map[string]string
	tokenFile    string
	username     string
	passwordFile string
	largest      int64
	secrets      secrets
}

// exchange is what an attempt learns about its HTTP exchange beyond the client library's error.
type exchange struct {
	status     int
	retryAfter string
	// date is when the server says that it answered; zero if it does not, or if the answer comes from a cache.
	date time.Time
	// decoding is set while the attempt is one of those that decode a large answer.
	decoding bool
}

type exchangeKey struct{}

func withExchange(ctx context.Context, e *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

func newTransport(o Options) (*transport, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = o.MaxConcurrent
	base.MaxConnsPerHost = 2 * o.MaxConcurrent
	config, err := clientTLS(o.TLS)
	if err != nil {
		return nil, err
	}
	base.TLSClientConfig = config
	t := &transport{
		next: base, headers: o.Headers, tokenFile: o.BearerTokenFile, username: o.Username, passwordFile: o.PasswordFile,
		largest: o.largest,
	}
	for _, value := range o.Headers {
		t.secrets.add(value)
	}
	if err := t.authorize(&http.Request{Header: http.Header{}}); err != nil {
		return nil, err
	}
	return t, nil
}

func clientTLS(o TLS) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read prometheus.tls.caFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("prometheus.tls.caFile %s holds no PEM certificate", o.CAFile)
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, fmt.Errorf("prometheus.tls needs certFile and keyFile together")
	}
	if o.CertFile == "" {
		return config, nil
	}
	load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("load prometheus.tls.certFile and keyFile: %w", err)
		}
		return &pair, nil
	}
	if _, err := load(nil); err != nil {
		return nil, err
	}
	// Read again for each handshake: short-lived certificates are replaced on disk.
	config.GetClientCertificate = load
	return config, nil
}

// authorize reads the files each time, because tokens of service accounts are replaced on disk about every hour.
func (t *transport) authorize(request *http.Request) error {
	if t.tokenFile != "" {
		token, err := secretOf(t.tokenFile)
		if err != nil {
			return fmt.Errorf("read prometheus.bearerTokenFile: %w", err)
		}
		t.secrets.add(token)
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if t.username != "" {
		password, err := secretOf(t.passwordFile)
		if err != nil {
			return fmt.Errorf("read prometheus.passwordFile: %w", err)
		}
		request.SetBasicAuth(t.username, password)
		t.secrets.add(password, strings.TrimPrefix(request.Header.Get("Authorization"), "Basic "))
	}
	return nil
}

func secretOf(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	content, err := os.ReadFile(path)
	return strings.TrimSpace(string(content)), err
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, value := range t.headers {
		if strings.EqualFold(name, "Host") {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	if err := t.authorize(request); err != nil {
		return nil, &Error{class: Refused, cause: err}
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if e, ok := request.Context().Value(exchangeKey{}).(*exchange); ok {
		e.status, e.retryAfter = response.StatusCode, response.Header.Get("Retry-After")
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil && response.Header.Get("Age") == "" {
			e.date = date
		}
	}
	response.Body = &boundedBody{body: response.Body, left: t.largest}
	return response, nil
}

// largeAnswer is from which size on an answer waits for its turn to be decoded: a hundred rows or two.
const largeAnswer = 16 << 10

// inTurn lets only some large answers be decoded at the same time. Decoding 10,000 rows takes a processor for a tenth of a
// second; a tick that decodes as many answers as there are processors keeps everybody else waiting for that long.
type inTurn struct {
	api.Client
	decoders chan struct{}
}

// Do implements [api.Client]. The library decodes what it returns; the attempt gives the turn back after that.
func (c inTurn) Do(ctx context.Context, request *http.Request) (*http.Response, []byte, error) {
	response, body, err := c.Client.Do(ctx, request)
	e, ok := ctx.Value(exchangeKey{}).(*exchange)
	if err != nil || !ok || e.decoding || len(body) < largeAnswer {
		return response, body, err
	}
	select {
	case c.decoders <- struct{}{}:
		e.decoding = true
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	return response, body, nil
}

func (t *transport) close() {
	if base, ok := t.next.(*http.Transport); ok {
		base.CloseIdleConnections()
	}
}

// boundedBody fails, rather than ends, when an answer is too large: half an answer must not look like a whole one.
type boundedBody struct {
	body io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, failf(Refused, "the answer is too large; group the query by fewer labels")
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }

// retryDelay reads a Retry-After in seconds; dates are ignored, a jittered delay serves as well.
func (e *exchange) retryDelay() time.Duration {
	if e.retryAfter == "" {
		return 0
	}
	delay, err := time.ParseDuration(e.retryAfter + "s")
	if err != nil || delay < 0 {
		return 0
	}
	return delay
}
