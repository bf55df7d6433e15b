package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// verifiedLeaf is the client certificate that the handshake has verified, or nil.
func verifiedLeaf(state *tls.ConnectionState) *x509.Certificate {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return nil
	}
	return state.VerifiedChains[0][0]
}

func leafOf(ctx context.Context) *x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil
	}
	return verifiedLeaf(&info.State)
}

// namesOf are the subject alternative names of a certificate: DNS names, URIs such as SPIFFE ids, addresses and mail
// addresses. The common name is none of them.
func namesOf(c *x509.Certificate) []string {
	names := append([]string{}, c.DNSNames...)
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return append(names, c.EmailAddresses...)
}

// hasName tells whether a certificate carries one of the names, whole; an asterisk stands for nothing.
func hasName(c *x509.Certificate, names []string) bool {
	for _, name := range namesOf(c) {
		for _, wanted := range names {
			if name == wanted || !strings.Contains(wanted, "://") && strings.EqualFold(name, wanted) || sameAddress(name, wanted) {
				return true
			}
		}
	}
	return false
}

func sameAddress(a, b string) bool {
	ip := net.ParseIP(a)
	return ip != nil && ip.Equal(net.ParseIP(b))
}

// clientCertificate refuses scaler calls without a verified client certificate, or with one of another name. On a
// shared listener the handshake cannot ask for one, because the Cluster Autoscaler has none to give.
func (s *Server) clientCertificate(ctx context.Context, method string) error {
	if !ofScaler(method) {
		return nil
	}
	leaf := leafOf(ctx)
	switch {
	case leaf == nil:
		return status.Error(codes.Unauthenticated, "a client certificate is required: set tlsClientCert and tlsClientKey in the TriggerAuthentication")
	case len(s.options.ClientNames) > 0 && !hasName(leaf, s.options.ClientNames):
		return status.Errorf(codes.PermissionDenied, "the client certificate is valid, but none of its names %q is allowed: see --client-names", namesOf(leaf))
	}
	return nil
}
