package decisions

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzRead damages a log file in any way: reading never fails or panics, and what it yields is a whole record that the
// renderers can show.
func FuzzRead(f *testing.F) {
	for _, r := range []Record{OfExpander(fullChoice()), OfScaler(target(start, "ml/a", 3))} {
		line, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(line, '\n'))
		f.Add(append(line[:len(line)/2], '\n'))
	}
	f.Add([]byte("{}\n\nnull\n[]\n{\"expander\":{},\"scaler\":{}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := openLog(t, Options{Ring: 4})
		err := Read(bytes.NewReader(data), func(r Record) {
			var b bytes.Buffer
			var err error
			if r.Expander != nil {
				err = WriteExpander(&b, *r.Expander)
			} else {
				err = WriteScaler(&b, *r.Scaler)
			}
			if err != nil || b.Len() == 0 {
				t.Errorf("%v: %q", err, b.String())
			}
			l.restore(r)
		})
		if err != nil {
			t.Errorf("Read: %v", err)
		}
		l.List(Filter{})
	})
}

// BenchmarkAdd is what a choice among 60 groups costs the engine with ten watchers that do not read.
func BenchmarkAdd(b *testing.B) {
	l := openLog(b, Options{})
	for range 10 {
		b.Cleanup(l.Watch(Filter{}).Close)
	}
	d := fullChoice()
	for len(d.Candidates) < 60 {
		d.Candidates = append(d.Candidates, d.Candidates[1])
	}
	b.ReportAllocs()
	for b.Loop() {
		l.AddExpander(d)
	}
}
