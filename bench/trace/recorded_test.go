package trace

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// recordedDir is the directory of recorded traces, which is no part of the repository: $WARMPOOL_TRACES, or a directory
// beside it.
func recordedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WARMPOOL_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "traces")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded traces at %s; set WARMPOOL_TRACES", dir)
	}
	return dir
}

func TestManifestMatchesRecordedFiles(t *testing.T) {
	m, err := ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]bool{}
	for _, s := range m.Sources {
		sources[s.ID] = true
		if len(s.Commit) != 40 || s.Licence == "" || s.Repository == "" {
			t.Errorf("source %s is incomplete", s.ID)
		}
	}
	for _, f := range m.Files {
		if !sources[f.Source] || f.Original == "" || len(f.SHA256) != 64 {
			t.Errorf("%s is incomplete", f.Path)
		}
	}
	if err := m.Verify(recordedDir(t)); err != nil {
		t.Error(err)
	}
}

// TestVerifyNamesProblems checks a directory with one changed file and the rest missing.
func TestVerifyNamesProblems(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Files: []ManifestFile{{Path: "a.csv", SHA256: "0"}, {Path: "b.csv", Original: "data/b.csv", Source: "S1"}}}
	err := m.Verify(dir)
	sum, _ := fileSum(filepath.Join(dir, "a.csv"))
	want := "a.csv has sha256 " + sum + "; the manifest says 0\nb.csv is missing: fetch data/b.csv from its source S1"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestRecordedTraffic reads every traffic file of the manifest.
func TestRecordedTraffic(t *testing.T) {
	dir := recordedDir(t)
	m, _ := ReadManifest()
	read := 0
	for _, f := range m.Files {
		traffic := f.Normalised || f.Path == "llm/AzureLLMInferenceTrace_conv.csv" || filepath.Ext(f.Path) == ".gz" ||
			filepath.Dir(f.Path) == "nab/original" || f.Path == "crane/original_input0.csv" || f.Path == "web/worldcup98_original_format_excerpt.csv" ||
			(filepath.Dir(filepath.Dir(f.Path)) == "servegen/original/language" && filepath.Ext(f.Path) == ".csv")
		if !traffic {
			continue
		}
		got, err := ReadTraffic(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			t.Errorf("%s: %v", f.Path, err)
			continue
		}
		if got.Series != nil && !(got.Series.MeanRate() > 0) {
			t.Errorf("%s: mean rate %v", f.Path, got.Series.MeanRate())
		}
		read++
	}
	if read < 45 {
		t.Errorf("only %d traffic files were read", read)
	}
}

// TestOriginalsAgreeWithNormalised imports a series in both forms.
func TestOriginalsAgreeWithNormalised(t *testing.T) {
	dir := recordedDir(t)
	for original, normalised := range map[string]string{
		"servegen/original/language/m-large/chunk-56-trace.csv": "servegen/servegen_m-large_client56_10m.csv",
		"nab/original/elb_request_count_8c0756.csv":             "nab/elb_request_count_8c0756_5m.csv",
		"nab/original/Twitter_volume_GOOG.csv":                  "nab/Twitter_volume_GOOG_5m.csv",
		"crane/original_input0.csv":                             "crane/crane_input0_1m.csv",
	} {
		a, err := ReadTraffic(filepath.Join(dir, original))
		if err != nil {
			t.Errorf("%s: %v", original, err)
			continue
		}
		b, err := ReadTraffic(filepath.Join(dir, normalised))
		if err != nil {
			t.Errorf("%s: %v", normalised, err)
			continue
		}
		if a.Series.Step != b.Series.Step || len(a.Series.Counts) != len(b.Series.Counts) {
			t.Errorf("%s: %d steps of %s, normalised %d of %s", original, len(a.Series.Counts), a.Series.Step, len(b.Series.Counts), b.Series.Step)
			continue
		}
		for i := range a.Series.Counts {
			x, y := a.Series.Counts[i], b.Series.Counts[i]
			if math.IsNaN(x) != math.IsNaN(y) || math.Abs(x-y) > 0.5+1e-3*y {
				t.Errorf("%s: interval %d is %v, normalised %v", original, i, x, y)
				break
			}
		}
	}
	azure, err := Read(filepath.Join(dir, "llm/AzureLLMInferenceTrace_conv.csv"), ReadAzure)
	if err != nil {
		t.Fatal(err)
	}
	if len(azure.List) != 19366 || azure.Span().Round(time.Minute) != 58*time.Minute {
		t.Errorf("Azure: %d requests in %s", len(azure.List), azure.Span())
	}
}

// TestRecordedOriginals reads every other original and checks its size and a fact that the source states.
func TestRecordedOriginals(t *testing.T) {
	dir := recordedDir(t)
	at := func(p string) string { return filepath.Join(dir, filepath.FromSlash(p)) }
	check := func(what string, got, want int, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", what, got, err, want)
		}
	}
	pods, err := Read(at("gpu/openb_pod_list_default.csv"), ReadGPUPods)
	check("pods", len(pods), 8152, err)
	short, err := Read(at("gpu/openb_pod_list_multigpu20.csv"), ReadGPUPods)
	check("pods without times", len(short), 8324, err)
	all, err := Read(at("gpu/openb_node_list_all_node.csv"), ReadGPUNodes)
	check("nodes", len(all), 1523, err)
	gpu, err := Read(at("gpu/openb_node_list_gpu_node.csv"), ReadGPUNodes)
	check("GPU nodes", len(gpu), 1213, err)
	for file, want := range map[string]int{"aws_gpu_instance_types": 73, "gcp_gpu_instance_types": 17, "gcp_n1_prices": 22, "azure_gpu_instance_types": 42} {
		machines, err := Read(at("catalog/"+file+".csv"), ReadCatalogue)
		check(file, len(machines), want, err)
	}
	cards, err := Read(at("catalog/gcp_attachable_gpu_prices.csv"), ReadCardPrices)
	check("cards", len(cards), 5, err)
	available, err := Read(at("spot/aws_spot_availability_2022_us-west-2a.csv"), ReadAvailability)
	check("availability", len(available), 4, err)
	if len(available) == 4 && math.Abs(available[0].Share()-0.95) > 0.01 {
		t.Errorf("%s is available %.3f of the time; the source says 0.95", available[0].Name, available[0].Share())
	}
	window, err := Read(at("spot/original_frontier_cs/us-west-2a_k80_1_17.json"), ReadAvailabilityJSON)
	if err != nil || window.Share() < 0.5 {
		t.Errorf("window: %v, %v", window, err)
	}
	prices, err := Read(at("spot/aws_spot_price_history_us-east-1.csv"), ReadSpotPrices)
	check("prices", len(prices), 2145, err)
	for _, kind := range []string{"p2.xlarge", "p3.2xlarge", "p3.8xlarge"} {
		if history, err := Read(at("spot/original_describe_spot_price_history/us-east-1_"+kind+".json"), ReadSpotPriceHistory); err != nil || len(history) < 100 {
			t.Errorf("%s: %d prices, %v", kind, len(history), err)
		}
	}
	log, err := Read(at("spot/gcp_preemptible_persistent_2020-03-01.log"), ReadSpotLog)
	check("spot log", len(log), 4521, err)
	events, err := Read(at("spot/gcp_preemptible_events_2020-03-01.csv"), ReadSpotEvents)
	check("spot events", len(events), 4521, err)
	for i := range min(len(log), len(events)) {
		if !log[i].At.Equal(events[i].At) || log[i].Kind != events[i].Kind || log[i].Instance != events[i].Instance {
			t.Errorf("event %d differs: %+v and %+v", i, log[i], events[i])
			break
		}
	}
	bamboo, err := Read(at("spot/bamboo_g4dn-trace.csv"), ReadNodeEvents)
	if err != nil || len(bamboo) == 0 {
		t.Errorf("bamboo: %v", err)
	}
	minutes, err := Read(at("spot/bamboo_g4dn_running_1m.csv"), ReadNodeCounts)
	check("bamboo minutes", len(minutes), 647, err)
	a100, err := Read(at("spot/bamboo_gcloud_a100x1-east1b.txt"), ReadNodeCounts)
	check("A100 counts", len(a100), 268, err)
	lengths, err := Read(at("servegen/original/language/m-large/chunk-106-dataset.json"), ReadServeGenLengths)
	if err != nil || len(lengths) == 0 {
		t.Errorf("lengths: %d, %v", len(lengths), err)
	}
}
