package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"warmpool": main})
}

// TestScripts runs the command line as a user does. Each script has a fresh directory and an address that is in use.
func TestScripts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() }) // the scripts run in parallel, after this function
	captures, err := os.ReadFile("../../wire/testdata/captures/ca136-001.bin")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("TAKEN", taken.Addr().String())
			return os.WriteFile(e.WorkDir+"/request.binpb", captures, 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"free":    freeAddress,
			"httpget": httpGet,
		},
	})
}

// freeAddress sets a variable to an address that nobody listens on.
func freeAddress(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv(name, l.Addr().String())
		ts.Check(l.Close())
	}
}

// httpGet waits until a page answers with 200 and has a text: httpget URL TEXT.
func httpGet(ts *testscript.TestScript, _ bool, args []string) {
	var last string
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(args[0])
		if err != nil {
			last = err.Error()
			continue
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		ts.Check(err)
		if last = string(body); response.StatusCode == http.StatusOK && strings.Contains(last, args[1]) {
			return
		}
	}
	ts.Fatalf("%s has no %q:\n%s", args[0], args[1], last)
}
