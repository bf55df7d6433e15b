package server

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/warmpool/warmpool/decisions"
	pb "github.com/warmpool/warmpool/proto/warmpool/v1"
)

// decisionService reads the decision log over gRPC.
type decisionService struct {
	pb.UnimplementedDecisionServiceServer
	log  *decisions.Log
	stop <-chan struct{} // closed when the server ends
}

var kinds = map[pb.Kind]decisions.Kind{
	pb.Kind_KIND_UNSPECIFIED: "",
	pb.Kind_KIND_EXPANDER:    decisions.KindExpander,
	pb.Kind_KIND_SCALER:      decisions.KindScaler,
	pb.Kind_KIND_OPERATION:   decisions.KindOperation,
}

// List returns recorded decisions, newest first.
func (s *decisionService) List(_ context.Context, r *pb.ListRequest) (*pb.ListResponse, error) {
	kind, ok := kinds[r.GetKind()]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "unknown kind %d", r.GetKind())
	}
	if r.GetLimit() < 0 || r.GetLimit() > 1000 {
		return nil, status.Errorf(codes.InvalidArgument, "limit %d: it must be between 1 and 1000, or 0 for 100", r.GetLimit())
	}
	answer := &pb.ListResponse{}
	filter := decisions.Filter{Kind: kind, Subject: r.GetSubject(), Reason: r.GetReason(), Limit: int(r.GetLimit())}
	for _, rec := range s.log.List(filter) {
		d, err := message(rec)
		if err != nil {
			return nil, statusOf(err)
		}
		answer.Decisions = append(answer.Decisions, d)
	}
	return answer, nil
}

// Get returns one decision in full.
func (s *decisionService) Get(_ context.Context, r *pb.GetRequest) (*pb.GetResponse, error) {
	rec, ok := s.log.Get(r.GetId())
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no decision %q in memory", r.GetId())
	}
	d, err := message(rec)
	if err != nil {
		return nil, statusOf(err)
	}
	return &pb.GetResponse{Decision: d}, nil
}

// Watch streams decisions as they are recorded, until the client or the server ends.
func (s *decisionService) Watch(r *pb.WatchRequest, out grpc.ServerStreamingServer[pb.WatchResponse]) error {
	kind, ok := kinds[r.GetKind()]
	if !ok {
		return status.Errorf(codes.InvalidArgument, "unknown kind %d", r.GetKind())
	}
	ctx, cancel := context.WithCancel(out.Context())
	defer cancel()
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	w := s.log.Watch(decisions.Filter{Kind: kind, Subject: r.GetSubject()})
	defer w.Close()
	for {
		rec, dropped, err := w.Next(ctx)
		if errors.Is(err, decisions.ErrClosed) || err != nil && out.Context().Err() == nil {
			return nil // the end of the server, not of the call
		}
		if err != nil {
			return statusOf(err)
		}
		d, err := message(rec)
		if err != nil {
			return statusOf(err)
		}
		if err := out.Send(&pb.WatchResponse{Decision: d, Dropped: dropped}); err != nil {
			return err
		}
	}
}

// message translates a record; the detail is the decision value itself.
func message(r decisions.Record) (*pb.Decision, error) {
	var detail any = r.Scaler
	kind := pb.Kind_KIND_SCALER
	switch r.Kind {
	case decisions.KindExpander:
		detail, kind = r.Expander, pb.Kind_KIND_EXPANDER
	case decisions.KindOperation:
		detail, kind = r.Operation, pb.Kind_KIND_OPERATION
	case decisions.KindScaler:
	}
	data, err := json.Marshal(detail)
	if err != nil {
		return nil, err
	}
	return &pb.Decision{
		Id: r.ID, Time: timestamppb.New(r.Time), Kind: kind, Subject: r.Subject, Summary: r.Summary,
		Reasons: r.Reasons, ConfigHash: r.ConfigHash, DetailJson: string(data),
	}, nil
}
