package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warmpool/warmpool/test/deploy"
)

// The commands of the documents do what they say, in their order, on a control plane of their own.
func TestDocuments(t *testing.T) {
	e := running(t)
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	p, err := startPlane(t.Context(), t.TempDir(), e.binaries, filepath.Join(root, "deploy/examples/scheduler/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	if err := p.applyKEDATypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.applyText(t.Context(), plainNode); err != nil {
		t.Fatal(err)
	}
	// The working directory has the repository's folder and takes what the commands write.
	work, tools := t.TempDir(), t.TempDir()
	links := map[string]string{
		filepath.Join(work, "deploy"): filepath.Join(repository, "deploy"), filepath.Join(tools, "warmpool"): e.warmpool.binary,
		filepath.Join(tools, "kubectl"): filepath.Join(e.binaries, "kubectl"), filepath.Join(tools, "helm"): filepath.Join(repository, ".cache", "bin", "helm"),
	}
	for link, target := range links {
		if target, err = filepath.Abs(target); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "PATH="+tools+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
	for _, name := range []string{"install.md", "uninstall.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := deploy.Blocks(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if b.Test != "run" {
				continue
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail")
			cmd.Dir, cmd.Env, cmd.Stdin = work, env, strings.NewReader(b.Text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("docs/%s, line %d: %v\n%s\n%s", name, b.Line, err, b.Text, out)
			}
		}
	}
}
