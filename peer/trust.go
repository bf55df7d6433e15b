package peer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Trust is how the leader is known: by a certificate of an authority, for a name. All instances share the certificate.
type Trust struct {
	// CAFile holds the authorities (PEM); empty takes those of the system.
	CAFile string
	// ServerName is the name that the certificate has to be valid for; empty takes the first one of CertFile.
	ServerName string
	// CertFile and KeyFile are the own certificate, which is presented when the leader asks for one.
	CertFile, KeyFile string
}

// config reads the files, so that replaced ones count for the next connection.
func (t Trust) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CertFile != "" {
		own, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("own certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{own}
		if c.ServerName == "" {
			if c.ServerName, err = firstName(own.Leaf); err != nil {
				return nil, fmt.Errorf("certificate %s: %w", t.CertFile, err)
			}
		}
	}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("authority of the leader's certificate: %w; check --peer-ca", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("authority of the leader's certificate: no certificate in %s; check --peer-ca", t.CAFile)
		}
	}
	if c.ServerName == "" {
		return nil, errors.New("the name in the leader's certificate is not known; give --peer-server-name")
	}
	return c, nil
}

func firstName(leaf *x509.Certificate) (string, error) {
	for _, name := range leaf.DNSNames {
		if !strings.HasPrefix(name, "*") {
			return name, nil
		}
	}
	for _, ip := range leaf.IPAddresses {
		return ip.String(), nil
	}
	return "", errors.New("it is for no name; give --peer-server-name")
}

func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("peer token: %w; check --peer-token-file", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("peer token: %s is empty", path)
	}
	return token, nil
}
