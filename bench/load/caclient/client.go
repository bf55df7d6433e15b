package caclient

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire/raw"
)

// Deadline is the time the Cluster Autoscaler gives one call, connecting included.
const Deadline = 5 * time.Second

// Client is a connection of one Cluster Autoscaler.
type Client struct {
	release Release
	conn    *grpc.ClientConn
}

// Dial prepares a connection to url, a host and port as in --grpc-expander-url. The certificate is the content of
// --grpc-expander-cert: PEM with the roots to trust. It returns at once; connecting is part of the first call.
func Dial(url string, certificate []byte, r Release, extra ...grpc.DialOption) (*Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		return nil, errors.New("the expander certificate holds no PEM certificate")
	}
	return dial(url, r, append(extra, grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(roots, ""))))
}

// DialWith is Dial with other transport credentials, for servers without TLS in benchmarks.
func DialWith(url string, creds credentials.TransportCredentials, r Release) (*Client, error) {
	return dial(url, r, []grpc.DialOption{grpc.WithTransportCredentials(creds)})
}

func dial(url string, r Release, options []grpc.DialOption) (*Client, error) {
	// The Cluster Autoscaler's dial call hands the address to the operating system without the resolver of gRPC.
	conn, err := grpc.NewClient("passthrough:///"+url, append(options,
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(r.ReceiveLimit())),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
	)...)
	if err != nil {
		return nil, fmt.Errorf("dial expander %s: %w", url, err)
	}
	return &Client{release: r, conn: conn}, nil
}

// Close ends the connection.
func (c *Client) Close() error {
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("close connection: %w", err)
	}
	return nil
}

// BestOptions asks for one loop. The error is about the loop itself; that of the call is in the answer.
func (c *Client) BestOptions(ctx context.Context, l Loop) (Answer, error) {
	req, err := l.Message(c.release)
	if err != nil {
		return Answer{}, fmt.Errorf("build request: %w", err)
	}
	ids := make([]string, 0, len(l.Options))
	for i := range l.Options {
		ids = append(ids, l.Options[i].GroupID)
	}
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	resp, err := grpcplugin.NewExpanderClient(c.conn).BestOptions(ctx, req)
	return Read(c.release, ids, resp, err), nil
}

// Send sends a serialised request as it is, such as a capture or garbage, and returns the bare answer.
func (c *Client) Send(ctx context.Context, message []byte) (*grpcplugin.BestOptionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	resp := &grpcplugin.BestOptionsResponse{}
	err := c.conn.Invoke(ctx, grpcplugin.Expander_BestOptions_FullMethodName, raw.Bytes(message), resp,
		grpc.ForceCodecV2(raw.Codec()))
	if err != nil {
		return nil, err //nolint:wrapcheck // a gRPC status, as the Cluster Autoscaler sees it
	}
	return resp, nil
}
