package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warmpool/warmpool/decisions"
)

// TestOperateARunningServer sets, lists and clears an override and a freeze from the command line.
func TestOperateARunningServer(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startService(t, "apiVersion: warmpool.dev/v1alpha1\nkind: Config\nprometheus: {url: http://127.0.0.1:1}\nservices: []\n",
		"--admin-listen", "127.0.0.1:0", "--admin-token-file", token)
	address := "http://" + s.server.Addr("admin").String()
	warmpool := func(args ...string) (code int, out, err string) {
		var stdout, stderr bytes.Buffer
		code = run(append(args, "--server", address), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"override", "set", "ml/llama", "--min", "12", "--for", "3h", "--reason", "launch", "--by", "alice"}, exitFailed, "bearer token"},
		{[]string{"override", "set", "ml/llama", "--min", "12", "--for", "3h", "--reason", "launch", "--by", "alice", "--admin-token-file", token}, 0, "ml/llama  min 12 max -"},
		{[]string{"override", "set", "ml/llama", "--min", "12", "--reason", "launch", "--admin-token-file", token}, exitFailed, "to is required"},
		{[]string{"override", "set", "ml/llama", "--to", "tomorrow", "--admin-token-file", token}, exitUsage, "must be a time"},
		{[]string{"override", "set", "--admin-token-file", token}, exitUsage, "accepts 1 arg"},
		{[]string{"override", "list", "--admin-token-file", token}, 0, "launch  by alice (admin token from"},
		{[]string{"override", "list", "-o", "json", "--admin-token-file", token}, 0, `"persistent":true`},
		{[]string{"override", "list", "-o", "yaml"}, exitUsage, "text or json"},
		{[]string{"override", "clear", "nothing", "--admin-token-file", token}, exitFailed, "unknown override"},
		{[]string{"freeze", "on", "expander", "--reason", "incident", "--admin-token-file", token}, 0, "expander  freeze on"},
		{[]string{"freeze", "off", "expander", "--reason", "over", "--admin-token-file", token}, 0, "expander  freeze off"},
		{[]string{"freeze", "on", "everything", "--reason", "r", "--admin-token-file", token}, exitUsage, "expander or scaler"},
	} {
		code, out, errOut := warmpool(test.args...)
		if code != test.code || !strings.Contains(out+errOut, test.want) {
			t.Errorf("%v: exit %d, %q %q; want %d with %q", test.args, code, out, errOut, test.code, test.want)
		}
	}
	id := s.engine.Operations().Overrides[0].ID
	if code, out, errOut := warmpool("override", "clear", id, "--reason", "done", "--admin-token-file", token); code != 0 || !strings.Contains(out, "done") {
		t.Errorf("clear: exit %d, %q %q", code, out, errOut)
	}
	if left := s.engine.Operations().Overrides; len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	if n := len(s.log.List(decisions.Filter{Kind: decisions.KindOperation})); n != 4 {
		t.Errorf("%d operations recorded, want 4", n)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"override", "list", "--server", "http://127.0.0.1:1"}, &stdout, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "--server has to be") {
		t.Errorf("without a server: exit %d, %q", code, stderr.String())
	}
}
