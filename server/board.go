package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/warmpool/warmpool/engine"
	pb "github.com/warmpool/warmpool/proto/warmpool/v1"
)

// Board is the engine's part of the exchange between instances.
type Board interface {
	// Subscribe follows the board; see [engine.Engine.Subscribe].
	Subscribe() (*engine.Subscription, error)
	// Ask takes triggers that another instance was asked for.
	Ask(triggers []engine.Trigger) error
	// AllOperations and MergeOperations exchange overrides and freezes.
	AllOperations() *engine.Operations
	MergeOperations(engine.Operations) error
}

var _ Board = (*engine.Engine)(nil)

const (
	// boardBeat is how often a follower hears of the leader when nothing changes.
	boardBeat = 5 * time.Second
	// boardPart is the size of a message of the board, in bytes, below what a client accepts by default.
	boardPart = 1 << 20
)

// boardService streams the board to the other instances.
type boardService struct {
	pb.UnimplementedBoardServiceServer
	board     Board
	instance  string
	tokenFile string
	names     func() []string // of the certificate that is served now
	logger    *slog.Logger
	stop      <-chan struct{} // closed when the server ends
}

// Follow streams the board until the follower leaves or this instance no longer computes.
func (b *boardService) Follow(stream grpc.BidiStreamingServer[pb.FollowRequest, pb.FollowResponse]) error {
	if err := b.admit(stream.Context()); err != nil {
		return err
	}
	sub, err := b.board.Subscribe()
	if err != nil {
		return statusOf(err)
	}
	defer sub.Close()
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	go func() { cancel(b.listen(stream)) }() // ends with the stream
	go func() {
		select {
		case <-b.stop:
			cancel(engine.ErrNotLeading)
		case <-ctx.Done():
		}
	}()
	out := boardStream{stream: stream, instance: b.instance}
	for {
		u, err := sub.Next(ctx, boardBeat)
		if ctx.Err() != nil {
			return statusOf(context.Cause(ctx))
		}
		if err != nil {
			return statusOf(err)
		}
		if err := out.send(u, b.board.AllOperations()); err != nil {
			return err
		}
	}
}

// listen takes what the follower says, until it says nothing more.
func (b *boardService) listen(stream grpc.BidiStreamingServer[pb.FollowRequest, pb.FollowResponse]) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return status.Error(codes.Canceled, "the follower has left")
		}
		asked := make([]engine.Trigger, len(r.GetAsked()))
		for i, t := range r.GetAsked() {
			asked[i] = engine.Trigger{Namespace: t.GetNamespace(), ScaledObject: t.GetScaledObject(), Metadata: t.GetMetadata()}
		}
		if err := b.board.Ask(asked); err != nil {
			b.logger.Warn("triggers that another instance was asked for are not evaluated", "instance", r.GetInstance(), "error", err)
		}
		if text := r.GetOperationsJson(); len(text) > 0 {
			var o engine.Operations
			if err = json.Unmarshal(text, &o); err == nil {
				err = b.board.MergeOperations(o)
			}
			if err != nil {
				b.logger.Error("overrides and freezes of another instance are not taken over", "instance", r.GetInstance(), "error", err)
			}
		}
	}
}

// admit lets other instances in: with the token when there is one, else with a verified client certificate that carries
// a name of the server's own, as instances do that share it, or from this machine. Those of KEDA are not enough.
func (b *boardService) admit(ctx context.Context) error {
	if b.tokenFile != "" {
		token, err := readToken(b.tokenFile)
		if err != nil {
			b.logger.Error("other instances are refused", "error", err)
			return status.Error(codes.Unavailable, "the server cannot read its peer token")
		}
		given := ""
		if all := metadata.ValueFromIncomingContext(ctx, "authorization"); len(all) == 1 {
			given = strings.TrimPrefix(all[0], "Bearer ")
		}
		if !sameToken(token, given) {
			return status.Error(codes.Unauthenticated, "the peer token is missing or another one: all instances need the same --peer-token-file")
		}
		return nil
	}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return status.Error(codes.Unauthenticated, "unknown peer")
	}
	if leaf := leafOf(ctx); leaf != nil && hasName(leaf, b.names()) {
		return nil
	}
	if host, _, err := net.SplitHostPort(p.Addr.String()); err == nil && net.ParseIP(host).IsLoopback() {
		return nil
	}
	return status.Error(codes.Unauthenticated, "the board is for other instances: give all of them the same --peer-token-file")
}

// boardStream cuts updates into messages.
type boardStream struct {
	stream     grpc.ServerStreamingServer[pb.FollowResponse]
	instance   string
	sequence   uint64
	operations *engine.Operations // those that were sent last
}

func (s *boardStream) send(u engine.Update, operations *engine.Operations) error {
	next := s.head(u)
	if operations != s.operations {
		text, err := json.Marshal(operations)
		if err != nil {
			return statusOf(fmt.Errorf("encode overrides and freezes: %w", err))
		}
		next.OperationsJson, s.operations = text, operations
	}
	size := 0
	for i := range u.Entries {
		entry, err := boardEntry(&u.Entries[i])
		if err != nil {
			return statusOf(err)
		}
		if one := proto.Size(entry); size > 0 && size+one > boardPart {
			if err := s.stream.Send(next); err != nil {
				return err
			}
			next, size = s.head(u), 0
		}
		next.Entries = append(next.Entries, entry)
		size += proto.Size(entry)
	}
	if !u.Tick.IsZero() {
		next.Tick = timestamppb.New(u.Tick) // with the last part: then all of the tick has arrived
	}
	return s.stream.Send(next)
}

func (s *boardStream) head(u engine.Update) *pb.FollowResponse {
	s.sequence++
	return &pb.FollowResponse{
		Instance: s.instance, Term: u.Term, Sequence: s.sequence, Sent: timestamppb.New(u.Sent), ConfigHash: u.ConfigHash,
	}
}

func boardEntry(p *engine.Published) (*pb.BoardEntry, error) {
	decision, err := json.Marshal(p.Decision)
	if err != nil {
		return nil, fmt.Errorf("encode the decision for %s: %w", p.ID, err)
	}
	entry := &pb.BoardEntry{Id: p.ID, DecisionJson: decision, Keep: durationpb.New(p.Keep), StateJson: p.State, StateVersion: engine.StateVersion}
	if t := p.Trigger; t != nil {
		entry.Trigger = &pb.Trigger{Namespace: t.Namespace, ScaledObject: t.ScaledObject, Metadata: t.Metadata}
	}
	return entry, nil
}

// checkBoard finds what is wrong with the options of the exchange between instances.
func (o *Options) checkBoard() error {
	switch {
	case o.Board == nil:
		return nil
	case o.Scaler == nil || o.ScalerListen == "":
		return errors.New("the board for other instances is served on the TLS listener of the scaler: give --scaler-listen")
	case o.PeerTokenFile != "":
		if _, err := readToken(o.PeerTokenFile); err != nil {
			return fmt.Errorf("%w: check --peer-token-file", err)
		}
	}
	return nil
}
