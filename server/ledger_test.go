package server

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/link"
	warmpoolv1 "github.com/warmpool/warmpool/proto/warmpool/v1"
)

type oneLedger link.Ledger

func (o oneLedger) Ledgers() []link.Ledger { return []link.Ledger{link.Ledger(o)} }

func (o oneLedger) Ledger(id string) (link.Ledger, bool) { return link.Ledger(o), id == o.Service }

func TestLedgerService(t *testing.T) {
	at := time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC)
	l := link.Ledger{
		Service: "ml/chat/chat", At: at, Known: true, Workload: "online", Target: 7, HourlyCost: 2.7, Text: "no capacity until about 09:10 UTC",
		Holdings: []link.Holding{
			{Capacity: link.Spot, Pool: "spot-a", Replicas: 2},
			{Capacity: link.OnDemand, Pool: "od-a", Replicas: 2},
			{Capacity: link.Reserved, Pool: "paid", Replicas: 1},
			{Pool: "?", Replicas: 1},
		},
		OnTheWay: []link.OnTheWay{{Pool: "spot-a", Replicas: 1, Late: 1}, {Replicas: 2}}, Doomed: link.Doomed{Replicas: 1},
		FellBack: []link.FellBack{{Pool: "od-a", Replicas: 2, Why: "spot-a failed with STOCK at 08:50 UTC"}},
		Needs:    []link.Need{{At: at.Add(time.Hour), Replicas: 9}},
	}
	r := run(t, func(o *Options, _ *authority) { o.Ledgers = oneLedger(l) })
	client := warmpoolv1.NewLedgerServiceClient(r.dial(t, "admin", plaintext()))
	list, err := client.ListLedgers(t.Context(), &warmpoolv1.ListLedgersRequest{})
	if err != nil || len(list.GetLedgers()) != 1 {
		t.Fatalf("ListLedgers: %v, %v", list, err)
	}
	one, err := client.GetLedger(t.Context(), &warmpoolv1.GetLedgerRequest{Service: "ml/chat/chat"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*warmpoolv1.Ledger{list.GetLedgers()[0], one.GetLedger()} {
		got := []int32{m.GetReserved(), m.GetOnDemand(), m.GetSpot(), m.GetOther(), m.GetOnTheWay(), m.GetLate(), m.GetDoomed(), m.GetFellBack(), m.GetTarget()}
		for i, want := range []int32{1, 2, 2, 1, 3, 1, 1, 2, 7} {
			if got[i] != want {
				t.Errorf("counts %v, number %d should be %d", got, i, want)
			}
		}
		if !m.GetKnown() || !m.GetTime().AsTime().Equal(at) || m.GetHourlyCost() != 2.7 || m.GetWorkload() != "online" || m.GetText() != l.Text {
			t.Errorf("%v", m)
		}
		var detail link.Ledger
		if err := json.Unmarshal([]byte(m.GetDetailJson()), &detail); err != nil || len(detail.Needs) != 1 || !strings.Contains(detail.FellBack[0].Why, "STOCK") {
			t.Errorf("detail %+v, %v", detail, err)
		}
	}
	if _, err := client.GetLedger(t.Context(), &warmpoolv1.GetLedgerRequest{Service: "nobody"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown service: %v", err)
	}
}
