package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	tutorialPath = "../../docs/tutorial.md"
	// patience is how long something may take that takes a second on an idle machine.
	patience = 3 * time.Minute
)

// tutorial is the document's blocks by step, in a directory that looks like a checkout.
type tutorial struct {
	t     *testing.T
	dir   string
	steps map[string][]block
	ports *strings.Replacer
	admin string
}

type block struct{ kind, text string }

var (
	stepHeading = regexp.MustCompile(`(?m)^## (\d+)\. .*$`)
	anyBlock    = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
)

// newTutorial reads the document. The ports that it names may be taken, so free ones stand in for them.
func newTutorial(t *testing.T) *tutorial {
	t.Helper()
	data, err := os.ReadFile(tutorialPath)
	if err != nil {
		t.Fatal(err)
	}
	tut := &tutorial{t: t, dir: t.TempDir(), steps: map[string][]block{}}
	text := string(data)
	headings := stepHeading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		for _, b := range anyBlock.FindAllStringSubmatch(text[h[1]:end], -1) {
			number := text[h[2]:h[3]]
			tut.steps[number] = append(tut.steps[number], block{b[1], b[2]})
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := exec.LookPath("warmpool") // the test binary, put there by testscript
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tut.dir, "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"bin/warmpool": binary, "wire": filepath.Join(root, "wire"), "cmd": filepath.Join(root, "cmd"), "deploy": filepath.Join(root, "deploy"),
	} {
		if err := os.Symlink(target, filepath.Join(tut.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	var pairs []string
	for _, port := range []string{"8080", "9443", "9444"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, free, _ := net.SplitHostPort(l.Addr().String())
		l.Close()
		pairs = append(pairs, ":"+port, ":"+free)
		if port == "8080" {
			tut.admin = "http://127.0.0.1:" + free
		}
	}
	tut.ports = strings.NewReplacer(pairs...)
	return tut
}

// shell is the block of a step that is a shell script.
func (tut *tutorial) shell(step string, n int) string {
	tut.t.Helper()
	for _, b := range tut.steps[step] {
		if b.kind != "sh" {
			continue
		}
		if n == 0 {
			return tut.ports.Replace(b.text)
		}
		n--
	}
	tut.t.Fatalf("step %s of the tutorial has fewer blocks: the test has to follow it", step)
	return ""
}

func (tut *tutorial) command(ctx context.Context, script string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "-c", script)
	c.Dir = tut.dir
	c.Env = append(os.Environ(), "HOME="+tut.dir, "LC_ALL=C")
	return c
}

// run runs a script as somebody would paste it, and wants pieces of what it prints.
func (tut *tutorial) run(script string, want ...string) string {
	tut.t.Helper()
	out, err := tut.output(script)
	if missing := missingFrom(out, want); len(missing) > 0 {
		tut.t.Errorf("%q is not in what it prints (%v):\n%s\n%s", missing, err, script, out)
	}
	return out
}

// ask runs a script that asks a server until it prints the pieces: the server may not have come so far yet.
func (tut *tutorial) ask(script string, want ...string) {
	tut.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if out, _ := tut.output(script); len(missingFrom(out, want)) == 0 {
			return
		}
	}
	tut.run(script, want...)
}

func (tut *tutorial) output(script string) (string, error) {
	ctx, cancel := context.WithTimeout(tut.t.Context(), patience)
	defer cancel()
	out, err := tut.command(ctx, script).CombinedOutput()
	return string(out), err
}

func missingFrom(text string, want []string) (missing []string) {
	for _, w := range want {
		if !strings.Contains(text, w) {
			missing = append(missing, w)
		}
	}
	return missing
}

// serve starts a script whose last command serves, and returns when that is ready. The server gets what Ctrl-C sends.
func (tut *tutorial) serve(script string) (stop func()) {
	tut.t.Helper()
	c := tut.command(context.WithoutCancel(tut.t.Context()), script)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		tut.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	stop = func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGINT)
		if err := <-ended; err != nil {
			tut.t.Errorf("after Ctrl-C: %v\n%s", err, out.String())
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			tut.t.Fatalf("it ended by itself: %v\n%s", err, out.String())
		default:
		}
		answer, err := http.Get(tut.admin + "/api/v1/overview") //nolint:noctx // a loop with a deadline
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return stop
			}
		}
		if time.Now().After(deadline) {
			stop()
			tut.t.Fatalf("it does not serve: %v", err)
		}
	}
}

// TestTutorial runs the tutorial's commands as they are printed, and holds its outputs against what they print. Not run
// here: the minute and a half of make demo, which the test of bench/demo plays faster, and step 7, which is make e2e.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute")
	}
	tut := newTutorial(t)

	stop := tut.serve(tut.shell("1", 1))
	tut.ask(tut.shell("1", 2), ">  ", "VOTE", "ai-prod/llm-7b", "elastic-spot-g5  pool elastic-spot, spot", "reasons:")
	stop()

	printed := tut.run(tut.shell("2", 0))
	for _, b := range tut.steps["2"] {
		if b.kind == "" && !strings.Contains(printed, b.text) {
			t.Errorf("step 2 shows\n%s\nand it prints\n%s", b.text, printed)
		}
	}

	tut.run(tut.shell("3", 0), "hourlyCosts", "hourlyCost", "actve", "l40", "valid", "1 warning")
	broken := strings.SplitAfter(tut.shell("3", 0), "\n")
	tut.run(strings.Join(broken[:2], "")+"echo code $?", "code 1")

	t.Run("serve", func(t *testing.T) { tut.stepServe(t) })

	tut.run(tut.shell("5", 0), "Enable at target 2 %", "at lead 15m0s", "at lead 2m0s", "oracle")
	if _, err := os.Stat(filepath.Join(tut.dir, ".warmpool/backtest/index.html")); err != nil {
		t.Error(err)
	}

	tut.run(tut.shell("6", 0), "0 errors, 0 warnings", "2 errors, 1 warning", "error fallback", "error value-metric", "warning tolerance-default")
}

// stepServe is step 4: a server in one terminal, calls in the other.
func (tut *tutorial) stepServe(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl, which the tutorial names")
	}
	defer func(outer *testing.T) { tut.t = outer }(tut.t)
	tut.t = t
	// The default address of the admin listener may be taken, too.
	stop := tut.serve(strings.Replace(tut.shell("4", 0), " --scaler-listen", " --admin-listen "+strings.TrimPrefix(tut.admin, "http://")+" --scaler-listen", 1))
	defer stop()
	ask, observe := tut.shell("4", 1), tut.shell("4", 2)
	const wait = "sleep 15; ask"
	if !strings.Contains(observe, wait) {
		t.Fatalf("the test has to follow the tutorial: no %q", wait)
	}
	// However long the reload takes here.
	observe = strings.Replace(observe, wait, `until [ "$(ask | wc -l)" -gt 1 ]; do sleep 0.2; done; ask`, 1)
	out := tut.run(ask+"echo now\n"+observe, "now")
	before, after, _ := strings.Cut(out, "now")
	if before != "gpu-l4\n" {
		t.Errorf("active: the answer is %q", before)
	}
	for _, group := range []string{"gpu-l4", "gpu-a100", "gpu-h100"} {
		if !strings.Contains(after, group) {
			t.Errorf("observe: %s is not in %q", group, after)
		}
	}
	tut.ask(tut.shell("4", 3), "gpu-l4  pool l4", "chose gpu-l4")
	tut.ask(tut.shell("4", 4), "no answer: every source has been missing for longer than the hold time", "waiting")
}
