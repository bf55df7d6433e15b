package soak

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	pb "github.com/warmpool/warmpool/proto/externalscaler"
)

// constant is the least that an external scaler can do.
type constant struct {
	pb.UnimplementedExternalScalerServer
}

func (constant) GetMetrics(_ context.Context, r *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricName: r.GetMetricName(), MetricValue: 3, MetricValueFloat: 3}}}, nil
}

// ServeConstant answers every GetMetrics with the same, on one address without and one with TLS, until a server fails.
// It is what the latency of the real server is compared with: the same protocol, transport and machine.
func ServeConstant(plain, encrypted, cert, key string) error {
	creds, err := credentials.NewServerTLSFromFile(cert, key)
	if err != nil {
		return fmt.Errorf("constant server: %w", err)
	}
	ended := make(chan error, 2)
	for address, options := range map[string][]grpc.ServerOption{plain: nil, encrypted: {grpc.Creds(creds)}} {
		if err := onLoopback(address); err != nil {
			return err
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("constant server: %w", err)
		}
		s := grpc.NewServer(options...)
		pb.RegisterExternalScalerServer(s, constant{})
		go func() { ended <- s.Serve(l) }()
	}
	return <-ended
}
