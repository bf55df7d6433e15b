package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func checkConfig(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	c := newCheckConfigCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	var out, errs bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&errs)
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestCheckConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("apiVersion: warmpool.dev/v1alpha1\nkind: Config\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "prometheus: {url: \"http://p\"}\nservices: [{name: s, namespace: n, preset: vllm, replicas: {max: 4}, forecast: {mode: \"off\"}}]\n")
	warns := write("warns.yaml", "expander: {}\n")
	bad := write("bad.yaml", "decisions: {rings: 4}\nevaluationInterval: 1\n")
	missing := filepath.Join(dir, "missing.yaml")

	stdout, stderr, err := checkConfig(t, "--queries", good, warns)
	if err != nil || !strings.Contains(stdout, good+": valid, 1 service, 0 warnings") || !strings.Contains(stdout, `sum(vllm:num_requests_waiting{namespace="n"})`) ||
		!strings.Contains(stderr, "warning isolation-not-enforceable") {
		t.Errorf("good files: %v\n%s\n%s", err, stdout, stderr)
	}
	if _, _, err := checkConfig(t, "--strict", warns); err == nil || !strings.Contains(err.Error(), "1 warning,") {
		t.Errorf("strict: %v", err)
	}
	_, stderr, err = checkConfig(t, good, bad, missing)
	if err == nil || !strings.Contains(err.Error(), "2 of 3 files") {
		t.Errorf("bad files: %v", err)
	}
	for _, want := range []string{bad + ":3: error: decisions.rings: unknown key (did you mean ring?)", bad + ":4: error: evaluationInterval: ", missing + ": error: read configuration"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the report lacks %q:\n%s", want, stderr)
		}
	}
	stdout, _, err = checkConfig(t, "-o", "json", bad)
	var reports []checkedFile
	if err == nil || json.Unmarshal([]byte(stdout), &reports) != nil || len(reports) != 1 || len(reports[0].Errors) != 2 || reports[0].Errors[0].Line != 3 {
		t.Errorf("JSON: %v\n%s", err, stdout)
	}
	if _, _, err := checkConfig(t, "-o", "xml", bad); err == nil {
		t.Error("an unknown format is no error")
	}
	if _, _, err := checkConfig(t); err == nil {
		t.Error("no file is no error")
	}
}
