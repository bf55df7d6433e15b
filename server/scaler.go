package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/engine"
	pb "github.com/warmpool/warmpool/proto/externalscaler"
	"github.com/warmpool/warmpool/scaler"
)

// scalerService answers KEDA. The presentation is fixed: one metric with the target 1 and the replica target as its
// value, which the autoscaler turns into exactly that number of replicas whatever is ready, unready or missing.
type scalerService struct {
	pb.UnimplementedExternalScalerServer
	scaler    Scaler
	heartbeat time.Duration
	stop      <-chan struct{} // closed when the server ends
	metrics   *metrics
}

// GetMetricSpec needs configuration only, so it answers before any source was reached: an autoscaler object that is
// made without a spec falls back to a CPU target.
func (s *scalerService) GetMetricSpec(_ context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	service, err := s.scaler.Resolve(trigger(ref))
	if err != nil {
		return nil, statusOf(err)
	}
	spec := &pb.MetricSpec{MetricName: metricName(service), TargetSize: 1, TargetSizeFloat: 1}
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{spec}}, nil
}

// GetMetrics answers the replica target as the board has it.
func (s *scalerService) GetMetrics(_ context.Context, r *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	service, d, err := s.target(r.GetScaledObjectRef())
	if err != nil {
		return nil, statusOf(err)
	}
	name := metricName(service)
	if !strings.EqualFold(r.GetMetricName(), name) {
		return nil, status.Errorf(codes.InvalidArgument, "unknown metric name: this trigger has the metric %q", name)
	}
	integer, float := scaler.Wire(d.Replicas)
	value := &pb.MetricValue{MetricName: name, MetricValue: integer, MetricValueFloat: float}
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{value}}, nil
}

// IsActive agrees with GetMetrics: active means a target above zero.
func (s *scalerService) IsActive(_ context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	_, d, err := s.target(ref)
	if err != nil {
		return nil, statusOf(err)
	}
	return &pb.IsActiveResponse{Result: d.Replicas > 0}, nil
}

// StreamIsActive sends true at once and as a heartbeat while the target is above zero, and never false: older
// releases take a false as the order to scale in, whatever other triggers say. Without a target the stream stays
// open and silent.
func (s *scalerService) StreamIsActive(ref *pb.ScaledObjectRef, out grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
	asked := trigger(ref)
	if _, err := s.scaler.Resolve(asked); err != nil {
		return statusOf(err)
	}
	defer s.metrics.streamOpened()()
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	for due, was := true, false; ; {
		active, changed := s.active(asked)
		if active && (due || !was) {
			if err := out.Send(&pb.IsActiveResponse{Result: true}); err != nil {
				return err
			}
		}
		due, was = false, active
		select {
		case <-out.Context().Done():
			return statusOf(out.Context().Err())
		case <-s.stop:
			return nil // a clean end lets the client come back at once
		case <-changed:
		case <-beat.C:
			due = true
		}
	}
}

// active tells whether the target is above zero, and when to look again. It resolves the trigger each time: that
// keeps it known, and finds it again after a reload.
func (s *scalerService) active(t engine.Trigger) (active bool, changed <-chan struct{}) {
	service, err := s.scaler.Resolve(t)
	if err != nil {
		return false, nil // until the next heartbeat
	}
	changed = s.scaler.Changed(service) // before the target is read, so that no change is missed
	d, err := s.scaler.Target(service)
	return err == nil && d.Unavailable == "" && d.Replicas > 0, changed
}

// StreamMetricSpec would announce changed specs; ours never change.
func (s *scalerService) StreamMetricSpec(*pb.ScaledObjectRef, grpc.ServerStreamingServer[pb.GetMetricSpecResponse]) error {
	return status.Error(codes.Unimplemented, "the metric spec never changes: use GetMetricSpec")
}

// target reads the board once for the trigger.
func (s *scalerService) target(ref *pb.ScaledObjectRef) (service string, d scaler.Decision, err error) {
	if service, err = s.scaler.Resolve(trigger(ref)); err != nil {
		return "", d, err
	}
	if d, err = s.scaler.Target(service); err != nil {
		return service, d, err
	}
	s.metrics.answered(&d)
	if d.Unavailable != "" {
		return service, d, fmt.Errorf("%w: %s: %s", engine.ErrNoData, d.Service, d.Unavailable)
	}
	return service, d, nil
}

func trigger(ref *pb.ScaledObjectRef) engine.Trigger {
	return engine.Trigger{Namespace: ref.GetNamespace(), ScaledObject: ref.GetName(), Metadata: ref.GetScalerMetadata()}
}

// metricName is the name of a service, the last element of its id, with the suffix -replicas, as a valid path segment without
// characters that some pipelines change.
func metricName(service string) string {
	name := service[strings.LastIndexByte(service, '/')+1:]
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, name) + "-replicas"
}
