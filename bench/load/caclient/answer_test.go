package caclient_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warmpool/warmpool/bench/load/caclient"
	"github.com/warmpool/warmpool/proto/grpcplugin"
)

var errCall = errors.New("unavailable")

func answer(ids ...string) *grpcplugin.BestOptionsResponse {
	r := &grpcplugin.BestOptionsResponse{}
	for _, id := range ids {
		r.Options = append(r.Options, &grpcplugin.Option{NodeGroupId: id})
	}
	return r
}

func TestRead(t *testing.T) {
	all := []string{"a", "b", "c"}
	for _, tc := range []struct {
		name    string
		release caclient.Release
		answer  *grpcplugin.BestOptionsResponse
		err     error
		want    caclient.Answer
		chosen  string
		vetoed  bool
	}{
		{"one id is a choice", caclient.V1_35_0, answer("b"), nil, caclient.Answer{Kept: []string{"b"}}, "b", false},
		{"an error keeps all", caclient.V1_35_0, answer("b"), errCall, caclient.Answer{Kept: all, Err: errCall}, "", false},
		{"empty keeps all before 1.32", caclient.Release{Minor: 31, Patch: 5}, answer(), nil, caclient.Answer{Kept: all, Empty: true}, "", false},
		{"empty is a veto from 1.32 on", caclient.V1_32_0, answer(), nil, caclient.Answer{Empty: true}, "", true},
		{"no message is an empty answer", caclient.V1_32_0, nil, nil, caclient.Answer{Empty: true}, "", true},
		{"unknown ids are dropped", caclient.V1_35_0, answer("x", "c"), nil, caclient.Answer{Kept: []string{"c"}, Unknown: []string{"x"}}, "c", false},
		{"only unknown ids keep all", caclient.V1_35_0, answer("x", "y"), nil, caclient.Answer{Kept: all, Unknown: []string{"x", "y"}}, "", false},
		{"an id twice is no choice", caclient.V1_24_0, answer("a", "a"), nil, caclient.Answer{Kept: []string{"a", "a"}}, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := caclient.Read(tc.release, all, tc.answer, tc.err)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Chosen() != tc.chosen || got.Vetoed() != tc.vetoed {
				t.Errorf("chosen %q, vetoed %v", got.Chosen(), got.Vetoed())
			}
		})
	}
}

func TestReleases(t *testing.T) {
	for _, tc := range []struct {
		release      string
		typed, bytes bool
		veto         bool
		limit        int
	}{
		{"1.24.0", true, false, false, 4 << 20},
		{"1.26.8", true, false, false, 4 << 20},
		{"1.27.1", true, false, false, 128 << 20},
		{"1.31.5", true, false, false, 128 << 20},
		{"1.32.0", true, false, true, 128 << 20},
		{"1.34.1", true, false, true, 128 << 20},
		{"1.34.2", true, true, true, 128 << 20},
		{"1.34.5", true, true, true, 128 << 20},
		{"1.35.0", false, true, true, 128 << 20},
		{"1.36.1", false, true, true, 128 << 20},
	} {
		r, err := caclient.ParseRelease(tc.release)
		if err != nil || r.String() != tc.release {
			t.Errorf("%s: read as %s, error %v", tc.release, r, err)
		}
		if r.SendsTyped() != tc.typed || r.SendsBytes() != tc.bytes || r.EmptyIsVeto() != tc.veto || r.ReceiveLimit() != tc.limit {
			t.Errorf("%s: typed %v, bytes %v, veto %v, limit %d", r, r.SendsTyped(), r.SendsBytes(), r.EmptyIsVeto(), r.ReceiveLimit())
		}
	}
	for _, bad := range []string{"", "1.23.0", "1.34", "v1.34.2", "1.34.2-rc1", "2.0.0"} {
		if r, err := caclient.ParseRelease(bad); err == nil {
			t.Errorf("%q was read as %s", bad, r)
		}
	}
}
