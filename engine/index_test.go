package engine

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestTriggerIndexAgainstKeys finds a trigger by the quick way exactly when its key, which is made of everything that
// makes a difference, is the same.
func TestTriggerIndexAgainstKeys(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "b", "ab", "service", "scalerAddress", "unsafeSsl"})
	draw := rapid.Custom(func(t *rapid.T) Trigger {
		return Trigger{
			Namespace: word.Draw(t, "namespace"), ScaledObject: word.Draw(t, "object"),
			Metadata: rapid.MapOfN(word, word, 0, 4).Draw(t, "metadata"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var x triggerIndex
		x.init()
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if rapid.Bool().Draw(t, "alike") {
			b = Trigger{a.Namespace, a.ScaledObject, maps.Clone(a.Metadata)}
			if b.Metadata == nil {
				b.Metadata = map[string]string{}
			}
			b.Metadata["scalerAddress"] = "elsewhere:1"
		}
		one := &service{trigger: &a}
		x.put(one)
		same := a.key() == b.key() && a.Namespace == b.Namespace && a.ScaledObject == b.ScaledObject
		if found, ok := x.get(&b); ok != same || (ok && found != one) {
			t.Fatalf("%v and %v: found %v, same key %v", a, b, ok, same)
		}
		if _, ok := x.get(&a); !ok {
			t.Fatal("it does not find what was put in")
		}
		// Another trigger with the same hash must not be taken for it, nor dropped with it.
		x.byHash.put(x.hash(&b), one)
		if _, ok := x.get(&b); ok != same {
			t.Fatalf("%v was taken for %v", b, a)
		}
		x.drop(&service{trigger: &b})
		x.drop(one)
		if _, ok := x.get(&a); ok {
			t.Fatal("it is still there")
		}
	})
}

// TestResolveMakesNoGarbage is what KEDA does three times for each scaled object every 15 s.
func TestResolveMakesNoGarbage(t *testing.T) {
	e, _ := fleet(t, 50)
	trigger := *e.services.list()[25].trigger
	allocations := testing.AllocsPerRun(100, func() {
		id, err := e.Resolve(trigger)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.services.get(id); !ok {
			t.Fatal("not there")
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}
