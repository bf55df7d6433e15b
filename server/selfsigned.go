package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// selfSignedFor is the life of a trial certificate.
const selfSignedFor = 365 * 24 * time.Hour

// SelfSigned makes a certificate for trials, with an authority of its own, and writes ca.crt, tls.crt and tls.key
// into the directory, which is made if it does not exist. The key of the authority is not kept. Files that still are
// valid for all hosts are used again, so that clients can keep their ca.crt over restarts.
func SelfSigned(dir string, hosts []string) (TLSFiles, error) {
	files := TLSFiles{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	if usable(files, filepath.Join(dir, "ca.crt"), hosts) {
		return files, nil
	}
	if len(hosts) == 0 {
		return TLSFiles{}, errors.New("self-signed certificate: no host name or address to make it for")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return TLSFiles{}, fmt.Errorf("self-signed certificate: %w", err)
	}
	if err := refuseForeign(dir); err != nil {
		return TLSFiles{}, err
	}
	ca, leaf, key, err := issue(hosts, time.Now())
	if err != nil {
		return TLSFiles{}, fmt.Errorf("self-signed certificate: %w", err)
	}
	for _, f := range []struct {
		name, kind string
		der        []byte
		mode       fs.FileMode
	}{
		{"ca.crt", "CERTIFICATE", ca, 0o644}, {"tls.crt", "CERTIFICATE", leaf, 0o644}, {"tls.key", "PRIVATE KEY", key, 0o600},
	} {
		data := pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der})
		if err := os.WriteFile(filepath.Join(dir, f.name), data, f.mode); err != nil {
			return TLSFiles{}, fmt.Errorf("self-signed certificate: %w", err)
		}
	}
	return files, nil
}

// selfSignedName marks the authority of our trial certificates.
const selfSignedName = "warmpool trial authority"

// refuseForeign keeps a mistyped directory from costing somebody a real certificate.
func refuseForeign(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("self-signed certificate: %w", err)
	}
	if leaf, err := parseCertificate(data); err == nil && leaf.Issuer.CommonName == selfSignedName {
		return nil
	}
	return fmt.Errorf("self-signed certificate: %s holds a certificate that is not ours and is not overwritten: give another directory, or use it with --tls-cert and --tls-key", dir)
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

func usable(files TLSFiles, caFile string, hosts []string) bool {
	m, err := files.read()
	if err != nil {
		return false
	}
	data, err := os.ReadFile(caFile)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(data) {
		return false
	}
	for _, host := range hosts {
		// Renewed a month before its end.
		at := x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: time.Now().Add(30 * 24 * time.Hour)}
		if _, err := m.cert.Leaf.Verify(at); err != nil {
			return false
		}
	}
	return true
}

// issue makes an authority and one server certificate of it, all in DER.
func issue(hosts []string, now time.Time) (ca, leaf, leafKey []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: selfSignedName},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfSignedFor), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	if ca, err = x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey); err != nil {
		return nil, nil, nil, err
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1), Subject: pkix.Name{CommonName: hosts[0]},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else {
			server.DNSNames = append(server.DNSNames, host)
		}
	}
	if leaf, err = x509.CreateCertificate(rand.Reader, server, authority, key.Public(), caKey); err != nil {
		return nil, nil, nil, err
	}
	if leafKey, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return nil, nil, nil, err
	}
	return ca, leaf, leafKey, nil
}
