package wire

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Numbers are the same with any hash, the worst one included: equality is decided by the bytes.
func TestDistinctNumbers(t *testing.T) {
	hashes := map[string]func([]byte) uint64{
		"constant": func([]byte) uint64 { return 7 },
		"length":   func(b []byte) uint64 { return uint64(len(b)) },
		"seeded":   newDistinct().hash,
	}
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d := newDistinct()
				d.hash = hash
				seen := map[string]int32{}
				for i, s := range rapid.SliceOf(rapid.SampledFrom([]string{"", "a", "b", "ab", "ba", "abc"})).Draw(t, "strings") {
					scratch := []byte(s)
					got := d.number(scratch)
					clear(scratch) // the copy must not change with it
					want, known := seen[s]
					if !known {
						want = int32(len(seen))
						seen[s] = want
					}
					if got != want {
						t.Fatalf("string %d, %q: number %d, want %d", i, s, got, want)
					}
				}
				for s, n := range seen {
					if string(d.items[n]) != s {
						t.Fatalf("number %d is %q, want %q", n, d.items[n], s)
					}
				}
			})
		})
	}
}

func TestDistinctKeepsLargeAndSmall(t *testing.T) {
	d := newDistinct()
	for i := range 300 {
		d.number(bytes.Repeat(fmt.Appendf(nil, "%d,", i), 1+i*20))
	}
	for i := range 300 {
		if want := bytes.Repeat(fmt.Appendf(nil, "%d,", i), 1+i*20); !bytes.Equal(d.items[i], want) {
			t.Fatalf("item %d changed", i)
		}
	}
}
