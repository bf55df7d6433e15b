package caclient

import (
	"github.com/warmpool/warmpool/proto/grpcplugin"
)

// Answer is what the Cluster Autoscaler makes of a call.
type Answer struct {
	// Kept are the node group ids that go to the next filter, in the order of the answer and once per occurrence.
	Kept []string
	// Err is the error of the call; then every option is kept.
	Err error
	// Unknown are ids in the answer that no option has.
	Unknown []string
	// Empty tells that the answer had no options.
	Empty bool
}

// Chosen is the node group that is grown without asking another filter, or empty.
func (a Answer) Chosen() string {
	if len(a.Kept) == 1 {
		return a.Kept[0]
	}
	return ""
}

// Vetoed tells that no option is left: there is no scale-up in this loop.
func (a Answer) Vetoed() bool { return len(a.Kept) == 0 }

// Read interprets an answer to the given node group ids as a release does.
func Read(r Release, ids []string, answer *grpcplugin.BestOptionsResponse, err error) Answer {
	if err != nil {
		return Answer{Kept: ids, Err: err}
	}
	if len(answer.GetOptions()) == 0 {
		if r.EmptyIsVeto() {
			return Answer{Empty: true}
		}
		return Answer{Kept: ids, Empty: true}
	}
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	var a Answer
	for _, o := range answer.GetOptions() {
		if id := o.GetNodeGroupId(); known[id] {
			a.Kept = append(a.Kept, id)
		} else {
			a.Unknown = append(a.Unknown, id)
		}
	}
	if len(a.Kept) == 0 {
		a.Kept = ids
	}
	return a
}
