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
