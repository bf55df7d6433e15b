package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/decisions"
	"github.com/warmpool/warmpool/expander"
	warmpoolv1 "github.com/warmpool/warmpool/proto/warmpool/v1"
	"github.com/warmpool/warmpool/scaler"
)

func TestAdminPages(t *testing.T) {
	r := run(t, nil)
	at := time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)
	cost := 2.5
	choice := r.log.AddExpander(expander.Decision{
		Time: at, Outcome: expander.Selected, Selected: []string{"gpu-l4"}, Mode: expander.Observe,
		Candidates: []expander.Candidate{{ID: "gpu-l4", NodeCount: 1, Cost: &cost}}, LeastWaste: expander.LeastWasteBaseline{Groups: []string{"cpu"}, Cost: &cost},
	})
	r.log.AddScaler(scaler.Decision{Time: at.Add(time.Second), Service: "ml/llama", Replicas: 4, Reasons: []string{"queue"}})
	for _, test := range []struct {
		path string
		code int
		want string
	}{
		{"/healthz", 200, "ok"},
		{"/readyz", 200, "ok"},
		{"/metrics", 200, "warmpool_decisions_recorded_total 2"},
		{"/metrics", 200, `grpc_server_handled_total{grpc_code="OK",grpc_method="GetMetrics",grpc_service="externalscaler.ExternalScaler",grpc_type="unary"} 0`},
		{"/api/v1/decisions?kind=scaler", 200, `"subject":"ml/llama"`},
		{"/api/v1/decisions?subject=nobody", 200, `{"decisions":[]}`},
		{"/api/v1/decisions?format=text", 200, "ml/llama: 4 replicas"},
		{"/api/v1/decisions?kind=x", 400, "kind must be"},
		{"/api/v1/decisions?limit=0", 400, "limit must be"},
		{"/api/v1/decisions/" + choice.ID, 200, `"selected":["gpu-l4"]`},
		{"/api/v1/decisions/" + choice.ID + "?format=text", 200, "would have chosen gpu-l4"},
		{"/api/v1/decisions/0", 404, "no such decision"},
		{"/api/v1/comparison", 200, `"compared":1`},
		{"/api/v1/comparison?from=2026-08-04T00:00:00Z", 200, `"days":[]`},
		{"/api/v1/comparison?from=monday", 400, "from must be"},
		{"/api/v1/comparison?format=text", 200, "1 choice in 1 day"},
		{"/nowhere", 404, "not found"},
	} {
		if code, body := r.get(t, test.path, ""); code != test.code || !strings.Contains(body, test.want) {
			t.Errorf("%s: %d\n%s\nwant %d with %q", test.path, code, body, test.code, test.want)
		}
	}
	var list struct{ Decisions []decisions.Record }
	if _, body := r.get(t, "/api/v1/decisions", ""); json.Unmarshal([]byte(body), &list) != nil || len(list.Decisions) != 2 || list.Decisions[0].Kind != decisions.KindScaler {
		t.Errorf("list: %+v, want the newest first", list)
	}
}

func TestAdminToken(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, func(o *Options, _ *authority) { o.AdminTokenFile = token; o.AdminListen = "127.0.0.1:0" })
	for _, test := range []struct {
		path, token string
		code        int
	}{
		{"/healthz", "", 200},
		{"/readyz", "", 200},
		{"/metrics", "", 401},
		{"/metrics", "wrong", 401},
		{"/metrics", "first", 200},
		{"/api/v1/decisions", "", 401},
	} {
		if code, _ := r.get(t, test.path, test.token); code != test.code {
			t.Errorf("%s with %q: %d, want %d", test.path, test.token, code, test.code)
		}
	}
	client := warmpoolv1.NewDecisionServiceClient(r.dial(t, "admin", plaintext()))
	if _, err := client.List(t.Context(), &warmpoolv1.ListRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC without the token: %v", err)
	}
	with := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer first")
	if _, err := client.List(with, &warmpoolv1.ListRequest{}); err != nil {
		t.Errorf("gRPC with the token: %v", err)
	}
	if err := os.WriteFile(token, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _ := r.get(t, "/metrics", "first"); code != 401 {
		t.Errorf("the old token: %d", code)
	}
	if err := os.Remove(token); err != nil {
		t.Fatal(err)
	}
	if code, _ := r.get(t, "/metrics", ""); code != 503 {
		t.Errorf("without the file: %d", code)
	}
}

func TestDecisionService(t *testing.T) {
	r := run(t, nil)
	conn := r.dial(t, "admin", plaintext())
	client := warmpoolv1.NewDecisionServiceClient(conn)
	watch, err := client.Watch(t.Context(), &warmpoolv1.WatchRequest{Kind: warmpoolv1.Kind_KIND_SCALER})
	if err != nil {
		t.Fatal(err)
	}
	for r.log.Stats().Watchers == 0 {
		time.Sleep(time.Millisecond)
	}
	r.log.AddExpander(expander.Decision{Time: time.Now(), Outcome: expander.Selected, Selected: []string{"gpu-l4"}})
	rec := r.log.AddScaler(scaler.Decision{Time: time.Now(), Service: "ml/llama", Replicas: 4, PolicyHash: "abc", Reasons: []string{"queue"}})
	got, err := watch.Recv()
	if err != nil {
		t.Fatal(err)
	}
	d := got.GetDecision()
	if d.GetId() != rec.ID || d.GetSubject() != "ml/llama" || d.GetConfigHash() != "abc" || !strings.Contains(d.GetDetailJson(), `"replicas":4`) {
		t.Errorf("watched %v", d)
	}
	list, err := client.List(t.Context(), &warmpoolv1.ListRequest{Kind: warmpoolv1.Kind_KIND_EXPANDER})
	if err != nil || len(list.GetDecisions()) != 1 || list.GetDecisions()[0].GetSubject() != "gpu-l4" {
		t.Errorf("List: %v, %v", list, err)
	}
	if _, err := client.Get(t.Context(), &warmpoolv1.GetRequest{Id: rec.ID}); err != nil {
		t.Errorf("Get: %v", err)
	}
	if _, err := client.Get(t.Context(), &warmpoolv1.GetRequest{Id: "x"}); status.Code(err) != codes.NotFound {
		t.Errorf("Get of nothing: %v", err)
	}
	if _, err := client.List(t.Context(), &warmpoolv1.ListRequest{Limit: 1001}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("List above the limit: %v", err)
	}

	info, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := info.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	if answer, err := info.Recv(); err != nil || !strings.Contains(answer.String(), "warmpool.v1.DecisionService") {
		t.Errorf("reflection: %v, %v", answer, err)
	}
	if err := info.CloseSend(); err != nil {
		t.Fatal(err)
	}
	public, err := grpc_reflection_v1.NewServerReflectionClient(r.dial(t, "scaler")).ServerReflectionInfo(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := public.Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("reflection on the scaler's listener: %v", err)
	}

	r.end() // with the watch open
	if _, err := watch.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the watch at the end of the server: %v, want a clean end", err)
	}
}
