package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/proto/externalscaler"
	"github.com/warmpool/warmpool/proto/grpcplugin"
)

// clients are a KEDA and a Cluster Autoscaler, behind the proxy at the edge.
type clients struct {
	w       *world
	request *grpcplugin.BestOptionsRequest
	groups  []string
	conn    *grpc.ClientConn
	// fresh is above zero while every round of calls has a connection of its own; clock, if set, is the clients' own.
	fresh int
	clock func() time.Time
}

// callFor is how long a client waits for an answer. Real ones wait for 3 s and 5 s: they have a machine of their own.
const callFor = 30 * time.Second

func newClients(w *world) *clients {
	data, err := os.ReadFile(filepath.Join("..", "..", "wire", "testdata", "captures", "ca136-001.bin"))
	w.must(err)
	c := &clients{w: w, request: &grpcplugin.BestOptionsRequest{}}
	w.must(proto.Unmarshal(data, c.request))
	for _, o := range c.request.GetOptions() {
		if !slices.Contains(c.groups, o.GetNodeGroupId()) {
			c.groups = append(c.groups, o.GetNodeGroupId())
		}
	}
	c.connect()
	w.t.Cleanup(func() { c.conn.Close() })
	return c
}

func (c *clients) connect() {
	authority, err := os.ReadFile(filepath.Join(c.w.tlsDir, "ca.crt"))
	c.w.must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	if c.conn != nil {
		c.conn.Close()
	}
	c.conn, err = grpc.NewClient("passthrough:///"+c.w.edgeProxy.address(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: roots, ServerName: "localhost", Time: c.clock, MinVersion: tls.VersionTLS12,
	})))
	c.w.must(err)
}

// answer is what a client gets: a value, or a status that is not OK.
type answer struct {
	value int
	code  codes.Code
}

// round is everything that clients get between two ticks.
type round struct {
	keda map[string]answer
	// kept are the node groups that are left to the Cluster Autoscaler, and chose tells that warmpool chose among them.
	kept  []string
	chose bool
	ca    codes.Code
}

func (c *clients) ask() round {
	if c.fresh > 0 {
		c.connect()
	}
	r := round{keda: map[string]answer{}}
	for _, service := range services {
		r.keda[service] = c.metrics(service)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callFor)
	defer cancel()
	reply, err := grpcplugin.NewExpanderClient(c.conn).BestOptions(ctx, c.request)
	read := caclient.Read(caclient.V1_35_0, c.groups, reply, err)
	r.kept, r.ca, r.chose = read.Kept, status.Code(err), len(read.Kept) < len(c.groups)
	return r
}

// metrics is KEDA's call, and IsActive must agree with it.
func (c *clients) metrics(service string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), callFor)
	defer cancel()
	client := externalscaler.NewExternalScalerClient(c.conn)
	ref := refOf(service)
	got, err := client.GetMetrics(ctx, &externalscaler.GetMetricsRequest{ScaledObjectRef: ref, MetricName: service + "-replicas"})
	if err != nil {
		return answer{-1, status.Code(err)}
	}
	a := answer{int(got.GetMetricValues()[0].GetMetricValue()), codes.OK}
	active, err := client.IsActive(ctx, ref)
	if err == nil && active.GetResult() != (a.value > 0) {
		c.w.t.Errorf("%s: %s: IsActive is %v and the target %d", c.w.name, service, active.GetResult(), a.value)
	}
	return a
}

func refOf(service string) *externalscaler.ScaledObjectRef {
	return &externalscaler.ScaledObjectRef{Namespace: "ml", Name: service, ScalerMetadata: map[string]string{"service": service}}
}
