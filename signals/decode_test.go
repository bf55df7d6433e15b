package signals

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
)

// byLibrary decodes as the client library does.
func byLibrary(body []byte) (model.Value, error) {
	if strings.HasPrefix(string(body), quickVector) {
		return resultOfLibrary[model.Vector](body)
	}
	return resultOfLibrary[model.Matrix](body)
}

func resultOfLibrary[V model.Value](body []byte) (V, error) {
	var answer struct {
		Data struct {
			Result V `json:"result"`
		} `json:"data"`
	}
	err := json.Unmarshal(body, &answer)
	return answer.Data.Result, err
}

const (
	quickVector = `{"status":"success","data":{"resultType":"vector","result":[`
	quickMatrix = `{"status":"success","data":{"resultType":"matrix","result":[`
)

var quickAnswers = []string{
	quickVector + `]}}`,
	quickVector + `{"metric":{},"value":[1800000000,"1"]}]}}` + "\n",
	quickVector + `{"metric":{"a":"b","model_name":"größe/7b"},"value":[1800000000.1,"NaN"]},{"metric":{"a":""},"value":[0.05,"-Inf"]}]}}`,
	quickMatrix + `{"metric":{"a":"b"},"values":[[1800000000.123,"1.5e3"],[1800000015.12,"+Inf"]]},{"metric":{},"values":[[5,"0"]]}]}}`,
}

// otherAnswers are left to the library, whether it understands them or not.
var otherAnswers = []string{
	"", "{}", quickVector, quickVector + `]}} `, quickVector + `],"stats":{}}}`,
	quickVector + `]},"warnings":["partial"]}`,
	quickVector + ` ]}}`, quickVector + `,]}}`,
	quickVector + `{"metric":{"a":"\u0062"},"value":[1,"1"]}]}}`,
	quickVector + `{"metric":{"a":"b","a":"c"},"value":[1,"1"]}]}}`,
	quickVector + `{"metric":{"a b":"c"},"value":[1,"1"]}]}}`,
	quickVector + "{\"metric\":{\"a\":\"\xff\"},\"value\":[1,\"1\"]}]}}",
	quickVector + `{"metric":{},"value":[1,1]}]}}`,
	quickVector + `{"metric":{},"value":[1,"0x1p-2"]}]}}`,
	quickVector + `{"metric":{},"value":[1,"1_0"]}]}}`,
	quickVector + `{"metric":{},"value":[1,"1e999"]}]}}`,
	quickVector + `{"metric":{},"value":[1.2345,"1"]}]}}`,
	quickVector + `{"metric":{},"value":[-1,"1"]}]}}`,
	quickVector + `{"metric":{},"value":[01,"1"]}]}}`,
	quickVector + `{"metric":{},"value":[1.,"1"]}]}}`,
	quickVector + `{"metric":{},"value":[1e3,"1"]}]}}`,
	quickVector + `{"metric":{},"histogram":[1,{"count":"1","sum":"1"}]}]}}`,
	quickMatrix + `{"metric":{},"values":[]}]}}`,
	quickMatrix + `{"metric":{},"values":[[1,"1"]],"histograms":[]}]}}`,
	`{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`,
	`{"status":"error","errorType":"bad_data","error":"no"}`,
}

// TestQuickly: what is decoded quickly is what the library makes of it.
func TestQuickly(t *testing.T) {
	for _, body := range quickAnswers {
		if !sameAsLibrary(t, []byte(body)) {
			t.Errorf("%s is left to the library", body)
		}
	}
	for _, body := range otherAnswers {
		if _, ok := quickly([]byte(body)); ok {
			t.Errorf("%s is not left to the library", body)
		}
	}
}

// sameAsLibrary compares the two, and tells whether the quick way was taken.
func sameAsLibrary(t *testing.T, body []byte) bool {
	t.Helper()
	got, ok := quickly(body)
	if !ok {
		return false
	}
	want, err := byLibrary(body)
	if err != nil {
		t.Fatalf("%q is no answer for the library: %v", body, err)
	}
	if a, b := written(got), written(want); a != b {
		t.Errorf("%q became\n%s, by the library\n%s", body, a, b)
	}
	return true
}

// written is every bit of a value.
func written(v model.Value) string {
	var out strings.Builder
	point := func(at model.Time, value model.SampleValue) {
		fmt.Fprintf(&out, " %d:%x", int64(at), math.Float64bits(float64(value)))
	}
	switch v := v.(type) {
	case model.Vector:
		for _, s := range v {
			fmt.Fprintf(&out, "\n%q", fmt.Sprint(s.Metric))
			point(s.Timestamp, s.Value)
		}
	case model.Matrix:
		for _, s := range v {
			fmt.Fprintf(&out, "\n%q", fmt.Sprint(s.Metric))
			for _, p := range s.Values {
				point(p.Timestamp, p.Value)
			}
		}
	}
	return out.String()
}

// FuzzQuickly holds the quick way against the library.
func FuzzQuickly(f *testing.F) {
	for _, body := range append(append([]string{}, quickAnswers...), otherAnswers...) {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { sameAsLibrary(t, body) })
}

// BenchmarkDecode is the past of 1,000 services: forty points each.
func BenchmarkDecode(b *testing.B) {
	var text strings.Builder
	text.WriteString(quickMatrix)
	for row := range 1000 {
		if row > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"metric":{"namespace":"team-%d","model_name":"m%d"},"values":[`, row%20, row)
		for i := range 40 {
			if i > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, `[%d,"%d.5"]`, 1_800_000_000+15*i, i)
		}
		text.WriteString("]}")
	}
	text.WriteString("]}}")
	body := []byte(text.String())
	for name, decode := range map[string]func() bool{
		"quickly": func() bool { _, ok := quickly(body); return ok },
		"library": func() bool { _, err := byLibrary(body); return err == nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if !decode() {
					b.Fatal("not decoded")
				}
			}
		})
	}
}
