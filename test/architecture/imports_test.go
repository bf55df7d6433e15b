package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/warmpool/warmpool/"

// A rule says what packages below a folder may import of this module, directly or through others, and what they must
// never reach at all.
type rule struct {
	folder string
	// may are the folders of this module that it may depend on, itself always included.
	may []string
	// never are packages outside of this module that must not be among the direct imports.
	never  []string
	reason string
}

var pure = []string{
	"os", "os/exec", "io/ioutil", "net", "net/http", "context", "log", "log/slog", "syscall", "flag",
	"google.golang.org/", "k8s.io/", "sigs.k8s.io/", "github.com/prometheus/", "github.com/spf13/", "go.etcd.io/",
}

var rules = []rule{
	{"expander", nil, pure, "a core is a function of its arguments"},
	{"scaler", nil, pure, "a core is a function of its arguments"},
	{"predictor", nil, pure, "a core is a function of its arguments"},
	{"link", nil, pure, "a core is a function of its arguments"},
	{"config", []string{"expander", "scaler", "predictor"}, []string{"google.golang.org/grpc", "k8s.io/client-go"}, "a file becomes policies, nothing else"},
	{"decisions", []string{"expander", "scaler", "predictor"}, []string{"google.golang.org/grpc", "k8s.io/client-go"}, "the log knows decisions, not their makers"},
	{"wire", []string{"expander", "proto"}, []string{"k8s.io/client-go"}, "bytes become options, nothing else"},
	{"signals", []string{"config", "expander", "scaler", "predictor"}, []string{"google.golang.org/grpc", "k8s.io/client-go"}, "one reader of Prometheus"},
	{"lint", []string{"config", "expander", "scaler", "predictor"}, []string{"google.golang.org/grpc", "k8s.io/client-go", "net/http"}, "objects in, findings out; the command reads files and clusters"},
	{"cluster", []string{"expander", "scaler", "predictor", "link", "wire", "proto"}, []string{"google.golang.org/grpc"}, "one reader of the cluster"},
	{"engine", []string{"expander", "scaler", "predictor", "link", "config", "decisions"}, []string{"google.golang.org/grpc", "k8s.io/client-go"}, "the engine declares the interfaces it needs"},
	{"server", []string{"proto", "wire", "engine", "decisions", "expander", "scaler", "predictor", "link", "config", "web"}, []string{"k8s.io/client-go"}, "handlers read the board only"},
	{"lease", nil, []string{"google.golang.org/grpc"}, "who computes is decided without knowing what"},
	{"peer", []string{"proto", "engine", "decisions", "expander", "scaler", "predictor", "link", "config"}, []string{"k8s.io/"}, "the follower's side of the board"},
	{"web", []string{"engine", "decisions", "expander", "scaler", "predictor", "link", "config"}, []string{"google.golang.org/", "k8s.io/"}, "the page shows what the engine decided"},
	{"bench/trace", []string{"expander", "scaler", "predictor"}, []string{"google.golang.org/grpc"}, "the replay needs no server"},
	{"bench/sim", []string{"expander", "scaler", "predictor", "link", "config", "engine", "decisions", "wire", "proto", "bench/trace", "bench/policy"}, []string{"google.golang.org/grpc"}, "the replay drives the engine, not the server"},
	{"bench/policy", []string{"expander", "scaler", "predictor", "link", "config", "engine", "decisions", "wire", "proto", "bench/trace", "bench/sim"}, []string{"google.golang.org/grpc"}, "the replay drives the engine, not the server"},
	{"bench/spot", []string{"expander", "scaler", "predictor", "link", "bench/trace", "bench/sim"}, []string{"google.golang.org/grpc"}, "the replay drives the rules, not the server"},
	{"bench/report", []string{"expander", "scaler", "predictor", "link", "config", "engine", "decisions", "bench/trace", "bench/sim", "bench/policy"}, []string{"google.golang.org/grpc"}, "a report reads results"},
}

// Direct imports that a layer must not have although it may reach them through the layer below.
var notDirectly = map[string][]string{
	"server": {"config", "signals", "cluster"},
	"web":    {"config", "signals", "cluster"},
	"peer":   {"config", "signals", "cluster", "server"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestImportDirection(t *testing.T) {
	packages := list(t)
	seen := map[string]bool{}
	for _, p := range packages {
		folder := strings.TrimPrefix(p.ImportPath, module)
		r, ok := ruleOf(folder)
		if !ok {
			continue
		}
		seen[r.folder] = true
		for _, dep := range p.Deps {
			if !strings.HasPrefix(dep, module) {
				continue
			}
			inner := strings.TrimPrefix(dep, module)
			if !below(inner, r.folder) && !slices.ContainsFunc(r.may, func(f string) bool { return below(inner, f) }) {
				t.Errorf("%s depends on %s: %s", folder, inner, r.reason)
			}
		}
		for _, imp := range p.Imports {
			for _, never := range r.never {
				if imp == strings.TrimSuffix(never, "/") || strings.HasPrefix(imp, strings.TrimSuffix(never, "/")+"/") && (strings.HasSuffix(never, "/") || strings.Contains(never, ".")) {
					t.Errorf("%s imports %s: %s", folder, imp, r.reason)
				}
			}
			for _, banned := range notDirectly[r.folder] {
				if below(strings.TrimPrefix(imp, module), banned) && strings.HasPrefix(imp, module) {
					t.Errorf("%s imports %s directly: %s", folder, banned, r.reason)
				}
			}
		}
	}
	for _, core := range []string{"expander", "scaler", "predictor", "link"} {
		if !seen[core] {
			t.Errorf("no package found below %s: the test checks nothing", core)
		}
	}
}

// The cores must not even reach the clock's and the network's packages through something harmless looking.
func TestCoresReachNoNetwork(t *testing.T) {
	for _, p := range list(t) {
		folder := strings.TrimPrefix(p.ImportPath, module)
		if !below(folder, "expander") && !below(folder, "scaler") && !below(folder, "predictor") && !below(folder, "link") {
			continue
		}
		for _, banned := range []string{"net", "net/http", "os/exec", "log/slog", "context"} {
			if slices.Contains(p.Deps, banned) {
				t.Errorf("%s reaches %s through its dependencies: a core is a function of its arguments", folder, banned)
			}
		}
	}
}

func ruleOf(folder string) (rule, bool) {
	for _, r := range rules {
		if below(folder, r.folder) {
			return r, true
		}
	}
	return rule{}, false
}

func below(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

func list(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Deps", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
	return packages
}
