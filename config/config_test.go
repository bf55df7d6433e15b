package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// head opens every file of the tests.
const head = "apiVersion: warmpool.dev/v1alpha1\nkind: Config\n"

func parseText(t *testing.T, text string) (*Config, error) {
	t.Helper()
	return parse("test.yaml", []byte(text), func(path string) ([]byte, error) { return nil, os.ErrNotExist })
}

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := parseText(t, text)
	if err != nil {
		t.Fatalf("unexpected errors:\n%v", err)
	}
	return c
}

func full(t *testing.T) *Config {
	t.Helper()
	c, err := Load(filepath.Join("testdata", "full.yaml"))
	if err != nil {
		t.Fatalf("the annotated configuration does not parse:\n%v", err)
	}
	return c
}

func warningCodes(c *Config) string {
	var codes []string
	for _, w := range c.Warnings {
		codes = append(codes, w.Code)
	}
	return strings.Join(codes, " ")
}

func TestFullPrint(t *testing.T) {
	c := full(t)
	for _, w := range c.Warnings {
		t.Log(w)
	}
	for _, q := range c.Services[0].Queries {
		t.Log(q.Signal, q.Expr, "\n", q.Alone, "\n", q.AgeExpr, q.Match)
	}
	t.Logf("%+v", c.Services[0].Policy)
	t.Logf("%+v", c.Expander.Workloads)
	t.Logf("%+v", c.Expander.Pools)
}
