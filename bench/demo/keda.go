package demo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	pb "github.com/warmpool/warmpool/proto/externalscaler"
)

// callTimeout bounds a call of the virtual KEDA, so that a server that hangs cannot hang the demo.
const callTimeout = 5 * time.Second

// keda asks as KEDA does for one trigger: specification, value and activity, one after the other on one connection,
// and the stream of an external-push trigger beside them.
type keda struct {
	conn *grpc.ClientConn
	api  pb.ExternalScalerClient
	ref  *pb.ScaledObjectRef
	// pushes counts the messages of the stream.
	pushes atomic.Int64
}

// dialKEDA connects with a file of trusted roots, as a TriggerAuthentication with caCert does.
func dialKEDA(address, caFile string) (*keda, error) {
	creds, err := credentials.NewClientTLSFromFile(caFile, "")
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	if err != nil {
		return nil, fmt.Errorf("dial scaler %s: %w", address, err)
	}
	return &keda{conn: conn, api: pb.NewExternalScalerClient(conn), ref: &pb.ScaledObjectRef{
		Name: scaledObject, Namespace: namespace,
		ScalerMetadata: map[string]string{"scalerAddress": address, "enableTLS": "true", "service": service},
	}}, nil
}

// poll is one round of an autoscaler query; the value is the replica target.
func (k *keda) poll(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	spec, err := k.api.GetMetricSpec(ctx, k.ref)
	if err != nil {
		return 0, fmt.Errorf("GetMetricSpec: %w", err)
	}
	if len(spec.GetMetricSpecs()) != 1 {
		return 0, fmt.Errorf("GetMetricSpec answered %d metrics, expected one", len(spec.GetMetricSpecs()))
	}
	metric := spec.GetMetricSpecs()[0]
	values, err := k.api.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: k.ref, MetricName: metric.GetMetricName()})
	if err != nil {
		return 0, fmt.Errorf("GetMetrics: %w", err)
	}
	active, err := k.api.IsActive(ctx, k.ref)
	if err != nil {
		return 0, fmt.Errorf("IsActive: %w", err)
	}
	if len(values.GetMetricValues()) != 1 {
		return 0, fmt.Errorf("GetMetrics answered %d values, expected one", len(values.GetMetricValues()))
	}
	v := values.GetMetricValues()[0].GetMetricValueFloat()
	if (v > 0) != active.GetResult() {
		return 0, errors.New("value and activity disagree")
	}
	return v / metric.GetTargetSizeFloat(), nil
}

// listen keeps the push stream open until the context ends. An error ends it: the polls go on without.
func (k *keda) listen(ctx context.Context) {
	stream, err := k.api.StreamIsActive(ctx, k.ref)
	if err != nil {
		return
	}
	for {
		if _, err := stream.Recv(); err != nil {
			return
		}
		k.pushes.Add(1)
	}
}
