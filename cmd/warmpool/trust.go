package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/pflag"
)

// trustFlags say whom a client of the admin listener trusts, and who it is.
type trustFlags struct{ authority, cert, key string }

func (f *trustFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.authority, "server-ca", os.Getenv("WARMPOOL_SERVER_CA"), "`file` with the authority of an https server (PEM), or $WARMPOOL_SERVER_CA; without it the system's")
	flags.StringVar(&f.cert, "client-cert", os.Getenv("WARMPOOL_CLIENT_CERT"), "`file` with a client certificate (PEM) in place of the token, or $WARMPOOL_CLIENT_CERT")
	flags.StringVar(&f.key, "client-key", os.Getenv("WARMPOOL_CLIENT_KEY"), "`file` with its key (PEM), or $WARMPOOL_CLIENT_KEY")
}

// client is a client with that trust.
func (f *trustFlags) client() (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.authority != "" {
		text, err := os.ReadFile(f.authority)
		if err != nil {
			return nil, fmt.Errorf("--server-ca: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--server-ca: %s holds no PEM certificate", f.authority)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("--client-cert and --client-key belong together: give both")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("--client-cert, --client-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the default transport was replaced")
	}
	transport := base.Clone()
	transport.TLSClientConfig = config
	return &http.Client{Transport: transport}, nil
}
