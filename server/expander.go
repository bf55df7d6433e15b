package server

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/expander"
	pb "github.com/warmpool/warmpool/proto/grpcplugin"
	"github.com/warmpool/warmpool/wire"
	"github.com/warmpool/warmpool/wire/raw"
)

// expanderService answers the Cluster Autoscaler.
type expanderService struct {
	expander Expander
	metrics  *metrics
	budget   *wire.Budget
}

// heldBytes is what all requests in flight may hold together, as they are decoded.
const heldBytes = 320 << 20

// BestOptions decodes the request while it arrives and answers ids only.
func (s *expanderService) BestOptions(ctx context.Context, r *raw.Request) (*pb.BestOptionsResponse, error) {
	s.metrics.requestBytes.Observe(float64(r.Size()))
	request, stats, err := wire.Decode(r, wire.Limits{Budget: s.budget})
	if err != nil {
		return nil, statusOf(err)
	}
	defer s.budget.Return(stats.Held)
	d, err := s.expander.BestOptions(ctx, request)
	if err != nil {
		return nil, statusOf(err)
	}
	if err := checkAnswer(d, request); err != nil {
		return nil, statusOf(err)
	}
	s.metrics.chose(d)
	answer := &pb.BestOptionsResponse{}
	for _, id := range d.Answer {
		answer.Options = append(answer.Options, &pb.Option{NodeGroupId: id})
	}
	return answer, nil
}

// checkAnswer finds the mistakes that would be worst for the client: an empty answer stops every scale-up, and an id
// twice or unknown makes its choice a matter of chance. As an error it keeps every option instead.
func checkAnswer(d expander.Decision, r expander.Request) error {
	if len(d.Answer) == 0 && len(r.Options) > 0 && d.Outcome != expander.Veto {
		return fmt.Errorf("the outcome is %s but no node group is answered", d.Outcome)
	}
	known := make(map[string]bool, len(r.Options))
	for _, o := range r.Options {
		known[o.GroupID] = true
	}
	for _, id := range d.Answer {
		if !known[id] {
			return fmt.Errorf("the answer has the node group %q twice, or it was not asked for", id)
		}
		known[id] = false
	}
	return nil
}

// countFailures counts the calls after which the Cluster Autoscaler goes on as if the server were not there, refused
// ones included.
func (s *Server) countFailures(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	answer, err := next(ctx, req)
	if err != nil && info.FullMethod == pb.Expander_BestOptions_FullMethodName {
		s.metrics.failed.WithLabelValues(status.Code(err).String()).Inc()
	}
	return answer, err
}
