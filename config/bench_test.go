package config

import (
	"fmt"
	"strings"
	"testing"
)

func manyServices(n int) string {
	var text strings.Builder
	text.WriteString(head + "prometheus: {url: \"http://p\"}\nservices:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {name: s%d, namespace: n, preset: vllm, replicas: {max: 4}, selector: {model_name: m%d}, forecast: {timeZone: Europe/Berlin}}\n", i, i)
	}
	return text.String()
}

// BenchmarkParse reads a file of 10,000 services.
func BenchmarkParse(b *testing.B) {
	data := []byte(manyServices(10_000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := parse("bench.yaml", data, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkServiceFromMetadata resolves one trigger against a file of 1,000 services.
func BenchmarkServiceFromMetadata(b *testing.B) {
	c, err := parse("bench.yaml", []byte(manyServices(1000)), nil)
	if err != nil {
		b.Fatal(err)
	}
	metadata := map[string]string{"scalerAddress": "x:1", "service": "s999", "maxReplicas": "9", "forecastTimeZone": "Asia/Tokyo"}
	for b.Loop() {
		if _, err := c.ServiceFromMetadata("n", "so", metadata); err != nil {
			b.Fatal(err)
		}
	}
}
