package trace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tables are the readers of everything but traffic.
var tables = []func(string, io.Reader) error{
	func(n string, r io.Reader) error { _, err := ReadCatalogue(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadCardPrices(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadGPUPods(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadGPUNodes(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadSpotEvents(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadSpotLog(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadNodeEvents(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadNodeCounts(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadQueryRange(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadAzure(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadBurstGPT(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadMooncake(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadServeGenLengths(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadAvailability(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadAvailabilityJSON(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadSpotPrices(n, r); return err },
	func(n string, r io.Reader) error { _, err := ReadSpotPriceHistory(n, r); return err },
}

// FuzzReadTables reads any file as any of the recorded kinds: what is wrong with it is said with its place.
func FuzzReadTables(f *testing.F) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil || len(content) > 64<<10 {
			continue
		}
		for kind := range tables {
			f.Add(uint8(kind), string(content[:min(len(content), 2000)])) //nolint:gosec // few kinds
		}
	}
	f.Add(uint8(0), "")
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		err := tables[int(kind)%len(tables)]("f", strings.NewReader(text))
		if format := (*FormatError)(nil); err != nil && !errors.As(err, &format) {
			t.Errorf("%v is not a FormatError", err)
		}
	})
}
