package lease

import "testing"

// FuzzParseIdentity reads any holder of a Lease; one of ours survives unchanged.
func FuzzParseIdentity(f *testing.F) {
	for _, seed := range []string{"warmpool-0@10.0.0.7:9444", "", "@", "a@b@c", "other controller_uuid"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		i := ParseIdentity(text)
		if i.check() == nil && ParseIdentity(i.String()) != i {
			t.Errorf("%q became %+v", text, i)
		}
	})
}
