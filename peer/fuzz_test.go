package peer

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/warmpool/warmpool/proto/warmpool/v1"
)

// FuzzUpdate takes any message for one of the leader: it is a whole update or an error.
func FuzzUpdate(f *testing.F) {
	for _, r := range []*pb.FollowResponse{
		{},
		{Instance: "a", Term: 3, Sent: timestamppb.Now(), Tick: timestamppb.Now(), Entries: []*pb.BoardEntry{{
			Id: "ml/chat", DecisionJson: []byte(`{"Service":"ml/chat","Replicas":3}`), Keep: durationpb.New(1e9), StateJson: []byte(`{"N":3}`), StateVersion: 1,
			Trigger: &pb.Trigger{Namespace: "ml", ScaledObject: "o", Metadata: map[string]string{"service": "chat"}},
		}}},
		{Entries: []*pb.BoardEntry{{DecisionJson: []byte(`{`)}, nil}},
		{Sent: &timestamppb.Timestamp{Seconds: 1 << 62, Nanos: -5}, Entries: []*pb.BoardEntry{{Keep: &durationpb.Duration{Seconds: 1 << 62}, DecisionJson: []byte("null")}}},
	} {
		data, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r pb.FollowResponse
		if proto.Unmarshal(data, &r) != nil {
			return
		}
		u, err := update(&r)
		if err == nil && len(u.Entries) != len(r.GetEntries()) {
			t.Errorf("%d entries of %d", len(u.Entries), len(r.GetEntries()))
		}
	})
}
