package lint

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"time"
)

// renewBefore is how long before its end a certificate should have been replaced.
const renewBefore = 14 * 24 * time.Hour

// certificate looks at the TLS Secrets of warmpool: their life, their authority, and the names that the Cluster Autoscaler
// calls.
func (s *scan) certificate() {
	if s.options.Now.IsZero() {
		return
	}
	s.each("Secret", func(o *Object) {
		if !strings.Contains(o.Name, "warmpool") {
			return
		}
		leaf := firstCertificate(secretData(o, "tls.crt"))
		if leaf == nil {
			return
		}
		now := s.options.Now
		switch {
		case now.After(leaf.NotAfter):
			s.report(o, "its certificate has expired at "+leaf.NotAfter.UTC().Format(time.RFC3339)+": nobody connects", "renew it")
		case now.After(leaf.NotAfter.Add(-renewBefore)):
			s.reportAs(Warning, o, "its certificate ends at "+leaf.NotAfter.UTC().Format(time.RFC3339), "renew it, and look at why that has not happened")
		}
		if authority := secretData(o, "ca.crt"); authority != "" {
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM([]byte(authority))
			at := leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2) // the life is judged above
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
				s.report(o, "its ca.crt is not the authority of its tls.crt: who trusts the one refuses the other", "issue the certificate anew, and give the Cluster Autoscaler the authority of it")
			}
		}
		s.certificateNames(o, leaf)
	})
}

func (s *scan) certificateNames(o *Object, leaf *x509.Certificate) {
	for _, a := range s.autoscalers() {
		host := hostOf(a.flags["grpc-expander-url"])
		if host == "" || !strings.Contains(host, ".") || net.ParseIP(host) != nil {
			continue
		}
		if parts := strings.Split(host, "."); o.Namespace != "" && parts[1] != o.Namespace {
			continue // a Secret for something else
		}
		if err := leaf.VerifyHostname(host); err != nil {
			s.report(o, fmt.Sprintf("the Cluster Autoscaler calls %s, the certificate is for %s: it refuses to connect", host, strings.Join(leaf.DNSNames, ", ")),
				"issue it for every name it is called by, NAME.NAMESPACE.svc among them")
		}
	}
}

func hostOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = strings.TrimPrefix(rest, "/") // dns:///host:port, or a scheme that does not belong there
	}
	if host, _, err := net.SplitHostPort(url); err == nil {
		return host
	}
	return url
}

// secretData reads a key of a Secret in either form.
func secretData(o *Object, key string) string {
	if text := textAt(o.Fields, "stringData", key); text != "" {
		return text
	}
	data, err := base64.StdEncoding.DecodeString(textAt(o.Fields, "data", key))
	if err != nil {
		return ""
	}
	return string(data)
}

func firstCertificate(text string) *x509.Certificate {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return leaf
}
