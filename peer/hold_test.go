package peer

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/proto/externalscaler"
	pb "github.com/warmpool/warmpool/proto/warmpool/v1"
)

// pair is a leader with a follower that has its board.
func pair(t *testing.T, skew time.Duration) (w *world, leader, follower *instance, dir string) {
	t.Helper()
	w, dir = newWorld(), credentialsDir(t)
	c := configuration(t, 50)
	leader, follower = start(t, w, "a", dir, 0, c), start(t, w, "b", dir, skew, c)
	leader.lead(1)
	follower.follow(leader)
	_, _ = follower.ask(reference) // makes it known
	eventually(t, func() bool { return len(leader.engine.Board()) == 2 }, leader.logs.String)
	w.set(7, false)
	for range 5 { // past the minute without history
		tick(t, w, leader, follower)
		w.pass(interval)
	}
	if n, err := follower.ask(reference); err != nil || n != 7 {
		t.Fatalf("the follower answers %d, %v; want 7\n%s", n, err, follower.logs)
	}
	return w, leader, follower, dir
}

// TestHoldsWithoutLeader lets the leader die and nobody take over: the board is held as long as the last decision of a
// single instance would be, counted from when it came and not by clocks that differ, and then there is no answer.
func TestHoldsWithoutLeader(t *testing.T) {
	for _, skew := range []time.Duration{0, 30 * time.Second, -30 * time.Second} {
		w, leader, follower, _ := pair(t, skew)
		leader.kill()
		follower.follow(nil)
		w.pass(-interval) // back to the last tick
		keep := 60*time.Second + interval
		w.pass(keep)
		if n, err := follower.ask(reference); err != nil || n != 7 {
			t.Errorf("skew %v, after %v: %d, %v; want 7 held", skew, keep, n, err)
		}
		w.pass(time.Second)
		if n, err := follower.ask(reference); status.Code(err) != codes.Unavailable {
			t.Errorf("skew %v, a second later: %d, %v; want Unavailable", skew, n, err)
		}
		// It comes back with the next leader, and is not lower for the gap.
		follower.lead(2)
		w.set(1, false)
		tick(t, w, follower)
		w.pass(interval)
		if n, err := follower.ask(reference); err != nil || n != 7 {
			t.Errorf("skew %v, after the gap: %d, %v; want 7 for a whole window", skew, n, err)
		}
	}
}

// TestLongGapNeverLowers is a new leader long after the last board: the state is too old to go on from, and its answer
// still starts a whole window.
func TestLongGapNeverLowers(t *testing.T) {
	w, leader, follower, _ := pair(t, 0)
	leader.kill()
	follower.follow(nil)
	w.pass(20 * time.Minute)
	follower.lead(2)
	w.set(1, false)
	for at := time.Duration(0); at < 2*time.Minute; at += interval {
		tick(t, w, follower)
		if n, err := follower.ask(reference); err != nil && status.Code(err) != codes.Unavailable || err == nil && n < 7 {
			t.Fatalf("%v after the change: %d, %v; want at least 7, or no answer while the history cannot be read", at, n, err)
		}
		w.pass(interval)
	}
	for range 40 {
		tick(t, w, follower)
		w.pass(interval)
	}
	if n, err := follower.ask(reference); err != nil || n != 1 {
		t.Errorf("long after: %d, %v; want 1", n, err)
	}
}

// TestSilentLeader cuts a follower off from a leader that goes on: it may not contradict the leader for long.
func TestSilentLeader(t *testing.T) {
	w, leader, follower, _ := pair(t, 0)
	follower.stopFollowing() // the Lease still names a, whose board does not arrive
	w.set(20, false)
	leader.engine.Tick(t.Context(), leader.clock())
	if n, err := follower.ask(reference); err != nil || n != 7 {
		t.Errorf("at once: %d, %v; want 7", n, err)
	}
	w.pass(2*interval + time.Second)
	if n, err := follower.ask(reference); status.Code(err) != codes.Unavailable {
		t.Errorf("two intervals later: %d, %v; want Unavailable, the leader has moved on to 20", n, err)
	}
}

// TestOldLeader is a split: an instance that still takes itself for the leader cannot move one that knows a later term.
func TestOldLeader(t *testing.T) {
	w, old, follower, dir := pair(t, 0)
	next := start(t, w, "c", dir, 0, configuration(t, 50))
	next.lead(2)
	next.engine.Tick(t.Context(), w.at())
	follower.follow(next)
	eventually(t, func() bool { s, _ := follower.engine.Instances(); return s.Term == 2 }, follower.logs.String)
	w.set(30, false)
	old.engine.Tick(t.Context(), w.at())
	follower.follow(old) // as if an old Lease had been read
	eventually(t, func() bool { return strings.Contains(follower.logs.String(), "term 2 is known") }, follower.logs.String)
	if n, err := follower.ask(reference); err != nil || n != 7 {
		t.Errorf("the follower answers %d, %v; want 7 and not the 30 of an old leader", n, err)
	}
	if _, err := old.engine.Subscribe(); err != nil {
		t.Fatal(err)
	}
	if err := old.engine.Receive(engine.Update{Term: 2}); err == nil {
		t.Error("an instance that leads took a board")
	}
}

// TestConfigurationAhead is a trigger that only the leader's configuration knows: all instances answer it.
func TestConfigurationAhead(t *testing.T) {
	w, leader, follower, _ := pair(t, 0)
	none, err := engineConfigWithout(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.engine.Reload(none); err != nil {
		t.Fatal(err)
	}
	if n, err := follower.ask(reference); err != nil || n != 7 {
		t.Errorf("the follower's configuration lost the service first: %d, %v; want 7 as the leader says", n, err)
	}
	late := start(t, w, "c", filepath.Dir(follower.trust.CAFile), 0, none)
	late.follow(leader)
	tick(t, w, leader, follower, late)
	if n, err := late.ask(reference); err != nil || n != 7 {
		t.Errorf("a new follower that never knew the service: %d, %v; want 7", n, err)
	}
	if got := statusHash(late); got == late.engine.Status().ConfigHash {
		t.Errorf("the status does not tell the two configurations apart: %s", got)
	}
}

// TestAskedElsewhereIsKept lets KEDA ask the follower alone, for longer than an unasked trigger is known: the leader goes
// on evaluating it, and forgets it when nobody asks any more.
func TestAskedElsewhereIsKept(t *testing.T) {
	w, leader, follower, _ := pair(t, 0)
	// Ticks are left out one at a time only: after a longer gap nobody could ask, and nothing is forgotten.
	minutes := func(n int) {
		for range 2 * n {
			w.pass(2 * interval)
			tick(t, w, leader, follower)
		}
	}
	for range 5 {
		minutes(20)
		if _, err := follower.ask(reference); err != nil && status.Code(err) != codes.Unavailable {
			t.Fatal(err)
		}
		follower.follow(leader) // reports, as it does twice a minute
		eventually(t, func() bool {
			leader.engine.Tick(t.Context(), leader.clock())
			return len(leader.engine.Board()) == 2 && follower.engine.LastTick().Equal(leader.engine.LastTick())
		}, leader.logs.String)
	}
	minutes(100)
	if n := len(leader.engine.Board()); n != 1 {
		t.Errorf("%d services on the leader's board after hours without a question, want the configured one", n)
	}
}

// TestPushFollows opens the push stream on the follower: it wakes with the leader's board.
func TestPushFollows(t *testing.T) {
	w, leader, follower, _ := pair(t, 0)
	id, err := follower.engine.Resolve(engine.Trigger{Namespace: "ml", ScaledObject: "chat", Metadata: reference.GetScalerMetadata()})
	if err != nil {
		t.Fatal(err)
	}
	changed := follower.engine.Changed(id)
	stream, err := follower.client.StreamIsActive(t.Context(), reference)
	if err != nil {
		t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || !first.GetResult() {
		t.Errorf("the stream of the follower begins with %v, %v; want true", first, err)
	}
	w.set(9, false)
	tick(t, w, leader, follower)
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Error("a change of the leader's board did not wake the follower's streams")
	}
}

// TestOperationsSpread sets an override and a freeze on a follower: the leader obeys, and so does the next one.
func TestOperationsSpread(t *testing.T) {
	w, leader, follower, _ := pair(t, 0)
	set, err := follower.engine.SetOverride(engine.Override{
		Service: "ml/chat", Min: new(12), To: w.at().Add(time.Hour), Reason: "launch", Who: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(leader.engine.Operations().Overrides) == 1 }, leader.logs.String)
	tick(t, w, leader, follower)
	for _, i := range []*instance{leader, follower} {
		if n, err := i.ask(reference); err != nil || n != 12 {
			t.Errorf("%s with the override: %d, %v; want 12", i.name, n, err)
		}
	}
	if _, err := leader.engine.ClearOverride(set.ID, "test", "done"); err != nil {
		t.Fatal(err)
	}
	if _, err := leader.engine.SetFreeze(engine.Freeze{Half: engine.HalfScaler, On: true, Reason: "incident", Who: "test"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		o := follower.engine.Operations()
		return len(o.Overrides) == 0 && len(o.Freezes) == 1 && o.Freezes[0].On
	}, follower.logs.String)
	w.pass(interval)
	w.set(40, false)
	tick(t, w, leader, follower)
	if n, err := follower.ask(reference); err != nil || n != 12 {
		t.Errorf("frozen: %d, %v; want 12", n, err)
	}
	leader.kill()
	follower.lead(2)
	w.pass(interval)
	tick(t, w, follower)
	if n, err := follower.ask(reference); err != nil || n != 12 {
		t.Errorf("frozen, with another leader: %d, %v; want 12", n, err)
	}
}

// TestBoardIsForInstances tries to read the board without the token, with a wrong one, and by another name.
func TestBoardIsForInstances(t *testing.T) {
	_, leader, follower, dir := pair(t, 0)
	for name, token := range map[string]string{"none": "", "wrong": "Bearer guess", "empty": "Bearer "} {
		conn, err := grpc.NewClient("passthrough:///"+leader.address(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
			InsecureSkipVerify: true, //nolint:gosec // the server is the one under test
		})))
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", token)
		}
		stream, err := pb.NewBoardServiceClient(conn).Follow(ctx)
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("token %s: %v, want Unauthenticated", name, err)
		}
		conn.Close()
	}
	// A server that does not have the certificate never sees the token.
	for name, trust := range map[string]Trust{
		"another name":      {CAFile: leader.trust.CAFile, ServerName: "other.ns.svc"},
		"another authority": {CAFile: filepath.Join(credentialsDir(t), "ca.crt"), ServerName: "warmpool-scaler.ns.svc"},
		"no authority":      {CAFile: filepath.Join(dir, "missing.crt"), ServerName: "warmpool-scaler.ns.svc"},
		"no name":           {CAFile: leader.trust.CAFile},
	} {
		o := Options{Engine: follower.engine, Trust: trust, TokenFile: follower.token, Log: discard(), Clock: time.Now, Report: time.Hour}
		if err := o.follow(t.Context(), leader.address()); err == nil {
			t.Errorf("%s: followed", name)
		} else if status.Code(err) == codes.Unauthenticated {
			t.Errorf("%s: the token was sent: %v", name, err)
		}
	}
	if err := os.WriteFile(leader.token, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Engine: follower.engine, Trust: follower.trust, Log: discard(), Clock: time.Now, Report: time.Hour}
	if err := o.follow(t.Context(), leader.address()); status.Code(err) != codes.Unavailable {
		t.Errorf("with an empty token file on the leader: %v, want Unavailable", err)
	}
}

// TestNotLeading asks an instance for the board that does not compute.
func TestNotLeading(t *testing.T) {
	_, leader, follower, _ := pair(t, 0)
	o := Options{Engine: follower.engine, Trust: leader.trust, TokenFile: leader.token, Log: discard(), Clock: time.Now, Report: time.Hour}
	if err := o.follow(t.Context(), follower.address()); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("%v, want FailedPrecondition", err)
	}
}

// TestLargeBoard sends more than one message holds, and asks for more than one message holds.
func TestLargeBoard(t *testing.T) {
	w, dir := newWorld(), credentialsDir(t)
	c := configuration(t, 50)
	leader, follower := start(t, w, "a", dir, 0, c), start(t, w, "b", dir, 0, c)
	leader.lead(1)
	follower.follow(leader)
	const triggers = 2000
	for n := range triggers {
		ref := &externalscaler.ScaledObjectRef{Namespace: "ml", Name: fmt.Sprint("chat-", n), ScalerMetadata: map[string]string{"service": "chat"}}
		if _, err := follower.engine.Resolve(engine.Trigger{Namespace: ref.GetNamespace(), ScaledObject: ref.GetName(), Metadata: ref.GetScalerMetadata()}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { return len(leader.engine.Board()) == triggers+1 }, leader.logs.String)
	w.set(7, false)
	for range 6 {
		tick(t, w, leader, follower)
		w.pass(interval)
	}
	answered := 0
	for _, line := range follower.engine.Board() {
		if line.Decision != nil && line.Decision.Replicas == 7 {
			answered++
		}
	}
	if answered != triggers {
		t.Errorf("%d of %d services arrived", answered, triggers)
	}
}
