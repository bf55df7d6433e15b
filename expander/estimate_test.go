package expander_test

import (
	"testing"

	"github.com/warmpool/warmpool/expander"
)

// The price of a GPU is learnt from groups of the same model that have a price and GPUs: neither from one whose model is
// not known, as the model of the other may be any, nor from one whose template shows no GPU to divide the price by.
func TestGPUPriceIsLearntFromTheSameModel(t *testing.T) {
	const model = "cloud.google.com/gke-accelerator"
	labels := func(model, value, pool string) map[string]string {
		all := onDemandLabels()
		all[model], all["pool"] = value, pool
		return all
	}
	for _, test := range []struct {
		name          string
		priced, other expander.Group
		learnt        bool
	}{
		{"same model", groupOf("priced", small, labels(model, "nvidia-l4", "p")), groupOf("other", small, labels(model, "nvidia-l4", "")), true},
		{"other model", groupOf("priced", small, labels(model, "nvidia-l4", "p")), groupOf("other", small, labels(model, "nvidia-h100", "")), false},
		{"no model", groupOf("priced", small, labels("x", "", "p")), groupOf("other", small, labels("x", "", "")), false},
		{"no GPU in the template", groupOf("priced", gpuResources(8, 32, 0), labels(model, "nvidia-l4", "p")), groupOf("other", small, labels(model, "nvidia-l4", "")), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.priced.Taints = []expander.Taint{{Key: "reserved", Effect: "NoSchedule"}} // the pod's need is measured on the other
			score := func(hourly float64) float64 {
				policy := active()
				policy.Pools = []expander.Pool{{Name: "p", Match: expander.PoolMatch{Labels: map[string]string{"pool": "p"}}, HourlyCost: hourly}}
				d := selectOnce(policy, expander.View{}, offer([]expander.Pod{gpuPod("a")}, test.priced, test.other))
				for _, c := range d.Candidates {
					if c.ID == "other" && c.Score != nil {
						return *c.Score
					}
				}
				t.Fatalf("no score of the group without a price:\n%s", table(d))
				return 0
			}
			cheap, dear := score(1), score(50)
			if learnt := cheap != dear; learnt != test.learnt {
				t.Errorf("scores %v and %v, learnt from the price: %v, want %v", cheap, dear, learnt, test.learnt)
			}
		})
	}
}
