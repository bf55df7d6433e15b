package server

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/link"
	pb "github.com/warmpool/warmpool/proto/warmpool/v1"
)

// Ledgers tells what services run on. It is the engine's part of LedgerService.
type Ledgers interface {
	// Ledgers lists those of all services whose replicas are known, in the order of their ids.
	Ledgers() []link.Ledger
	// Ledger is that of one service; false for one that is not known.
	Ledger(id string) (link.Ledger, bool)
}

var _ Ledgers = (*engine.Engine)(nil)

// ledgerService tells over gRPC what services run on.
type ledgerService struct {
	pb.UnimplementedLedgerServiceServer
	ledgers Ledgers
}

// ListLedgers returns all that are known.
func (s *ledgerService) ListLedgers(context.Context, *pb.ListLedgersRequest) (*pb.ListLedgersResponse, error) {
	answer := &pb.ListLedgersResponse{}
	for _, l := range s.ledgers.Ledgers() {
		m, err := ledgerMessage(&l)
		if err != nil {
			return nil, statusOf(err)
		}
		answer.Ledgers = append(answer.Ledgers, m)
	}
	return answer, nil
}

// GetLedger returns that of one service.
func (s *ledgerService) GetLedger(_ context.Context, r *pb.GetLedgerRequest) (*pb.GetLedgerResponse, error) {
	l, ok := s.ledgers.Ledger(r.GetService())
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no service %q; ListLedgers names those that are known", r.GetService())
	}
	m, err := ledgerMessage(&l)
	if err != nil {
		return nil, statusOf(err)
	}
	return &pb.GetLedgerResponse{Ledger: m}, nil
}

func ledgerMessage(l *link.Ledger) (*pb.Ledger, error) {
	detail, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	m := &pb.Ledger{
		Service: l.Service, Known: l.Known, Workload: l.Workload, Target: int32(l.Target), Text: l.Text, HourlyCost: l.HourlyCost,
		Reserved: int32(l.Count(link.Reserved)), OnDemand: int32(l.Count(link.OnDemand)), Spot: int32(l.Count(link.Spot)),
		Other: int32(l.Count(link.Unknown)), Doomed: int32(l.Doomed.Replicas), DetailJson: string(detail),
	}
	if l.Known {
		m.Time = timestamppb.New(l.At)
	}
	for _, o := range l.OnTheWay {
		m.OnTheWay += int32(o.Replicas)
		m.Late += int32(o.Late)
	}
	for _, f := range l.FellBack {
		m.FellBack += int32(f.Replicas)
	}
	return m, nil
}
