package promtest

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// ScrapeInterval is how often targets are scraped.
const ScrapeInterval = 100 * time.Millisecond

// Start runs a Prometheus that scrapes the targets, named by their jobs, until the test ends. It returns its address.
func Start(t testing.TB, targets map[string]*Target) (url string) {
	t.Helper()
	binary := find(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, configuration(targets), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	command := exec.Command(binary, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	awaitReady(t, "http://"+address+"/-/ready")
	return "http://" + address
}

func find(t testing.TB) string {
	t.Helper()
	if binary := os.Getenv("WARMPOOL_PROMETHEUS"); binary != "" {
		return binary
	}
	binary, err := exec.LookPath("prometheus")
	if err == nil {
		return binary
	}
	const remedy = "no prometheus in PATH: apt-get install prometheus, or name the binary in WARMPOOL_PROMETHEUS"
	if os.Getenv("WARMPOOL_REQUIRE_PROMETHEUS") != "" {
		t.Fatal(remedy)
	}
	t.Skip(remedy)
	return ""
}

func configuration(targets map[string]*Target) []byte {
	text := fmt.Appendf(nil, "global: {scrape_interval: %dms, scrape_timeout: %[1]dms}\nscrape_configs:\n", ScrapeInterval.Milliseconds())
	for _, job := range slices.Sorted(maps.Keys(targets)) {
		text = fmt.Appendf(text, "- {job_name: %q, honor_labels: true, static_configs: [{targets: [%q]}]}\n",
			job, strings.TrimPrefix(targets[job].server.URL, "http://"))
	}
	return text
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func awaitReady(t testing.TB, url string) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for range 600 {
		if response, err := http.Get(url); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		<-ticker.C
	}
	t.Fatal("Prometheus did not become ready within 30 s")
}
