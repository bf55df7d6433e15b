package peer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/warmpool/warmpool/engine"
	pb "github.com/warmpool/warmpool/proto/warmpool/v1"
)

// Engine is the engine's part.
type Engine interface {
	// Receive puts a part of the leader's board on this one.
	Receive(u engine.Update) error
	// News tells that a trigger was asked for that was not known, or that an operator ordered something; Asked lists the
	// triggers that were asked for since a time.
	News() <-chan struct{}
	Asked(since time.Time) []engine.Trigger
	// AllOperations and MergeOperations exchange overrides and freezes.
	AllOperations() *engine.Operations
	MergeOperations(engine.Operations) error
}

var _ Engine = (*engine.Engine)(nil)

// Options of a follower.
type Options struct {
	Engine   Engine
	Instance string
	// Trust is how the leader is known.
	Trust Trust
	// TokenFile holds the token that all instances share; empty sends none. It is read for each connection.
	TokenFile string
	// Report is how often the leader hears of the triggers that this instance was asked for, 30 s by default. It has to be
	// well below the time after which a trigger is forgotten. New ones are reported at once.
	Report time.Duration
	// Retry is the time between two tries to reach the leader, 1 s by default.
	Retry time.Duration
	// Clock is that of the engine, time.Now by default.
	Clock func() time.Time
	// ConfigHash tells the configuration that is loaded; it may be nil.
	ConfigHash func() string
	Log        *slog.Logger
}

// Follow follows the leader at an address until the context ends, over as many connections as that takes.
func Follow(ctx context.Context, o Options, address string) {
	o.Report, o.Retry = cmp.Or(o.Report, 30*time.Second), cmp.Or(o.Retry, time.Second)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	said := ""
	for ctx.Err() == nil {
		err := o.follow(ctx, address)
		if ctx.Err() != nil {
			return
		}
		if text := o.withoutToken(err.Error()); text != said { // once for each kind of trouble
			said = text
			o.Log.Warn("the board of the leader does not arrive", "address", address, "error", text)
		}
		timer := time.NewTimer(o.Retry)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// withoutToken hides the token in what the other side, or a proxy before it, answered.
func (o *Options) withoutToken(text string) string {
	if o.TokenFile == "" {
		return text
	}
	token, err := readToken(o.TokenFile)
	if err != nil {
		return text // it was not sent
	}
	return strings.ReplaceAll(text, token, "***")
}

// follow is one connection. It always ends with an error.
func (o *Options) follow(ctx context.Context, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	settings, err := o.Trust.config()
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(settings)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 15 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestPart)))
	if err != nil {
		return fmt.Errorf("leader at %s: %w", address, err)
	}
	defer func() { _ = conn.Close() }() // nothing is left to be lost
	if o.TokenFile != "" {
		token, err := readToken(o.TokenFile)
		if err != nil {
			return err
		}
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	stream, err := pb.NewBoardServiceClient(conn).Follow(ctx)
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	context.AfterFunc(inner, cancel) // what ends one direction ends the other
	group.Go(func() error { return o.receive(stream) })
	group.Go(func() error {
		if err := o.report(inner, stream); !errors.Is(err, io.EOF) {
			return err
		}
		return nil // the stream is over, and receiving says why
	})
	return group.Wait()
}

// largestPart is well above what the leader puts into one message, should a single entry be larger than that.
const largestPart = 16 << 20

func (o *Options) receive(stream pb.BoardService_FollowClient) error {
	first := true
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		if first {
			first = false
			o.Log.Info("following", "leader", r.GetInstance(), "term", r.GetTerm(), "config", r.GetConfigHash())
		}
		if text := r.GetOperationsJson(); len(text) > 0 {
			var all engine.Operations
			if err := json.Unmarshal(text, &all); err != nil {
				return fmt.Errorf("overrides and freezes of the leader: %w", err)
			}
			if err := o.Engine.MergeOperations(all); err != nil {
				o.Log.Error("overrides and freezes of the leader are not stored here", "error", err)
			}
		}
		u, err := update(r)
		if err != nil {
			return err
		}
		if err := o.Engine.Receive(u); err != nil {
			return err
		}
	}
}

func update(r *pb.FollowResponse) (engine.Update, error) {
	u := engine.Update{Leader: r.GetInstance(), Term: r.GetTerm(), Sent: r.GetSent().AsTime(), ConfigHash: r.GetConfigHash()}
	if r.GetTick() != nil {
		u.Tick = r.GetTick().AsTime()
	}
	for _, entry := range r.GetEntries() {
		p := engine.Published{ID: entry.GetId(), Keep: entry.GetKeep().AsDuration()}
		if t := entry.GetTrigger(); t != nil {
			p.Trigger = &engine.Trigger{Namespace: t.GetNamespace(), ScaledObject: t.GetScaledObject(), Metadata: t.GetMetadata()}
		}
		if err := json.Unmarshal(entry.GetDecisionJson(), &p.Decision); err != nil {
			return u, fmt.Errorf("decision for %s from the leader: %w", p.ID, err)
		}
		if entry.GetStateVersion() == engine.StateVersion {
			p.State = entry.GetStateJson()
		}
		u.Entries = append(u.Entries, p)
	}
	return u, nil
}

const (
	// reportSize bounds a message to the leader, which accepts 64 KiB.
	reportSize = 32 << 10
	// reportOverrides is how many overrides fit into one; each is below 1 KiB.
	reportOverrides = 30
)

// longMemory is what a new leader is told of: a trigger that was asked for longer ago is known to it, or will be asked for
// again.
const longMemory = 15 * time.Minute

// report tells the leader what this instance was asked for, at once when it is new and else from time to time.
func (o *Options) report(ctx context.Context, stream pb.BoardService_FollowClient) error {
	tick := time.NewTicker(o.Report)
	defer tick.Stop()
	since := o.Clock().Add(-longMemory) // a new leader may not know them
	var told *engine.Operations
	for {
		asked := o.Engine.Asked(since)
		since = o.Clock().Add(-time.Second) // times are whole seconds
		if err := o.tell(stream, asked); err != nil {
			return err
		}
		if all := o.Engine.AllOperations(); all != told {
			if err := o.tellOperations(stream, all); err != nil {
				return err
			}
			told = all
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-o.Engine.News():
		}
	}
}

func (o *Options) head() *pb.FollowRequest {
	r := &pb.FollowRequest{Instance: o.Instance}
	if o.ConfigHash != nil {
		r.ConfigHash = o.ConfigHash()
	}
	return r
}

func (o *Options) tell(stream pb.BoardService_FollowClient, asked []engine.Trigger) error {
	next, size := o.head(), 0
	for _, t := range asked {
		one := len(t.Namespace) + len(t.ScaledObject) + 16
		for key, value := range t.Metadata {
			one += len(key) + len(value) + 12
		}
		if size > 0 && size+one > reportSize {
			if err := stream.Send(next); err != nil {
				return err
			}
			next, size = o.head(), 0
		}
		next.Asked = append(next.Asked, &pb.Trigger{Namespace: t.Namespace, ScaledObject: t.ScaledObject, Metadata: t.Metadata})
		size += one
	}
	return stream.Send(next)
}

func (o *Options) tellOperations(stream pb.BoardService_FollowClient, all *engine.Operations) error {
	part := engine.Operations{Freezes: all.Freezes}
	for rest := all.Overrides; ; {
		n := min(len(rest), reportOverrides)
		part.Overrides, rest = rest[:n], rest[n:]
		text, err := json.Marshal(part)
		if err != nil {
			return fmt.Errorf("encode overrides and freezes: %w", err)
		}
		next := o.head()
		next.OperationsJson = text
		if err := stream.Send(next); err != nil {
			return err
		}
		if len(rest) == 0 {
			return nil
		}
	}
}
