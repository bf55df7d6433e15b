package server

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
)

// get reads a page of the admin listener without TLS.
func (r *running) get(t testing.TB, path, token string) (status int, body string) {
	t.Helper()
	return r.send(t, http.MethodGet, path, token, "")
}

// send sends a request to the admin listener without TLS, with the token if there is one.
func (r *running) send(t testing.TB, method, path, token, body string) (status int, answer string) {
	t.Helper()
	status, answer, err := r.ask(t, nil, method, path, token, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

// secureGet reads a page of the admin listener over TLS, with certificates or without. Status 0 is a connection that
// failed, for the reason in body.
func (r *running) secureGet(t testing.TB, path, token string, certificates ...tls.Certificate) (status int, body string) {
	t.Helper()
	status, body, err := r.ask(t, &tls.Config{RootCAs: r.ca.pool(), ServerName: serverName, Certificates: certificates}, http.MethodGet, path, token, "")
	if err != nil {
		return 0, err.Error()
	}
	return status, body
}

// ask fails only where no answer arrives. Without a configuration of TLS it asks in plaintext.
func (r *running) ask(t testing.TB, config *tls.Config, method, path, token, body string) (status int, answer string, err error) {
	t.Helper()
	scheme := "http"
	if config != nil {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(t.Context(), method, scheme+"://"+r.Addr("admin").String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), nil
}
