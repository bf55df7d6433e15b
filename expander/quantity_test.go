package expander_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/warmpool/warmpool/expander"
)

func TestParseQuantity(t *testing.T) {
	for text, want := range map[string]int64{
		"140Gi": 140 << 30, "80Gi": 80 << 30, "46068Mi": 46068 << 20, "1": 1, "0": 0, "1.5Ki": 1536, "80e9": 80e9, "80E9": 80e9,
		"512M": 512e6, "2k": 2000, "1E": 1e18, "1Ei": 1 << 60, ".5Gi": 1 << 29, "100m": 1, "1e-3": 1, "-2Gi": -2 << 30, "+3": 3, "7.": 7,
	} {
		if got, err := expander.ParseQuantity(text); err != nil || got != want {
			t.Errorf("ParseQuantity(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Gi", ".", "1gi", "1 Gi", " 1", "1Gi ", "1K", "1e", "1e99", "1e--3", "--1", "1.2.3", "9223372036854775808", "100Ei", "NaN", "0x10", "1_000", "１Gi"} {
		if got, err := expander.ParseQuantity(text); !errors.Is(err, expander.ErrQuantity) {
			t.Errorf("ParseQuantity(%q) = %d, %v, want an error", text, got, err)
		}
	}
}

// TestFarExponents refuses at once what the parser of Kubernetes would calculate with for minutes: annotations of pods
// reach it.
func TestFarExponents(t *testing.T) {
	for _, text := range []string{"1e-1000000000", "1E1000000000", "-1e-999999999", "1e-99999", "1" + strings.Repeat("0", 1_000_000), "0." + strings.Repeat("0", 1_000_000) + "1"} {
		started := time.Now()
		if got, err := expander.ParseQuantity(text); !errors.Is(err, expander.ErrQuantity) {
			t.Errorf("ParseQuantity(%.20q) = %d, %v, want an error", text, got, err)
		}
		if took := time.Since(started); took > time.Second {
			t.Errorf("ParseQuantity(%.20q) took %v", text, took)
		}
	}
}

// FuzzParseQuantity compares with the Kubernetes parser: what is read must be what Kubernetes reads.
func FuzzParseQuantity(f *testing.F) {
	for _, seed := range []string{"140Gi", "1.5Ki", "80e9", "100m", "-1n", "1E", "1Ei", ".5", "7.", "1e-3", "+1", "1e99", "9223372036854775807", "1u", "0.0000000001", "+", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := expander.ParseQuantity(text)
		if err != nil && (len(text) >= 20 || strings.ContainsAny(text, "eE") || !strings.ContainsAny(text, "0123456789")) {
			// Long numbers, far exponents and signs without a digit, which Kubernetes takes for 0, are refused on purpose. The
			// other parser is not asked: it would calculate with a far exponent for minutes.
			return
		}
		q, theirs := resource.ParseQuantity(text)
		if err != nil {
			// Any other size that Kubernetes reads is read. Its value of what does not fit is 0; the comparison knows better.
			if theirs == nil && q.CmpInt64(1<<60) < 0 && q.CmpInt64(-1<<60) > 0 {
				t.Fatalf("ParseQuantity(%q) fails with %v, Kubernetes reads %d", text, err, q.Value())
			}
			return
		}
		if theirs != nil {
			t.Fatalf("ParseQuantity(%q) = %d, but Kubernetes says %v", text, got, theirs)
		}
		if want := q.Value(); got != want && got>>62 == 0 {
			t.Fatalf("ParseQuantity(%q) = %d, Kubernetes %d", text, got, want)
		}
	})
}
