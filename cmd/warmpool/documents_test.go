package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var updateDocuments = flag.Bool("update-documents", false, "write the output of commands into the documents")

var shellBlock = regexp.MustCompile("(?s)```sh[^\n]*\n(.*?)```")

// TestDocumentedCommands parses every call of warmpool in the documents: its command and flags exist.
func TestDocumentedCommands(t *testing.T) {
	n := 0
	check := func(path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlock.FindAllStringSubmatch(string(data), -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				if args, ok := callOf(line); ok {
					n++
					if err := parses(args); err != nil {
						t.Errorf("%s: %s%v", path, line, err)
					}
				}
			}
		}
	}
	check("../../README.md")
	for _, folder := range []string{"../../docs", "../../deploy"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") {
				check(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 10 {
		t.Errorf("only %d calls found: the test checks little", n)
	}
}

// callOf splits a line that begins with warmpool into its arguments.
func callOf(line string) ([]string, bool) {
	line = strings.TrimPrefix(strings.TrimSpace(line), "bin/")
	line, called := strings.CutPrefix(line, "warmpool ")
	if !called {
		return nil, false
	}
	var args []string
	for _, word := range shellWord.FindAllString(line, -1) {
		if slices.ContainsFunc([]string{"#", "|", ">", "&", ";"}, func(end string) bool { return strings.HasPrefix(word, end) }) {
			break
		}
		args = append(args, strings.Trim(word, `"'`))
	}
	return args, true
}

// shellWord is a word, or one in quotes.
var shellWord = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s"']+`)

func parses(args []string) error {
	command, rest, err := newRootCommand().Find(args)
	if err != nil {
		return err
	}
	if !command.Runnable() {
		return fmt.Errorf("%s does nothing by itself", command.CommandPath())
	}
	if err := command.ParseFlags(rest); err != nil && err != pflag.ErrHelp { //nolint:errorlint // pflag returns it bare
		return err
	}
	if command.Args == nil {
		return nil
	}
	return command.Args(command, command.Flags().Args())
}

// TestDocumentedBacktest holds the output in the how-to page against what the command prints.
func TestDocumentedBacktest(t *testing.T) {
	var series bytes.Buffer
	series.WriteString("timestamp,requests\n")
	at := time.Date(2027, 1, 4, 0, 0, 0, 0, time.UTC)
	for i := range 28 * 288 {
		load := 600 + 500*math.Sin(2*math.Pi*(float64(i%288)/288-0.3))
		if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
			load *= 0.5
		}
		// Noise of about 6 % that is the same on every machine.
		noise := math.Sin(float64(i)*1.7) + math.Sin(float64(i)*2.9+1) + math.Sin(float64(i)*0.83+2)
		fmt.Fprintf(&series, "%s,%.1f\n", at.Format(time.RFC3339), load*(1+0.05*noise))
		at = at.Add(5 * time.Minute)
	}
	file := filepath.Join(t.TempDir(), "requests_5m.csv")
	if err := os.WriteFile(file, series.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	printed, err := execBacktest("--series", file, "--lead", "15m", "--max-short", "2%", "--time-zone", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const path = "../../docs/howto/reading-a-backtest.md"
	want := "```\n" + strings.TrimSpace(printed) + "\n```\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(data), "<!-- generated: backtest -->\n")
	got, after, found := strings.Cut(rest, "<!-- end -->")
	switch {
	case !found:
		t.Fatalf("%s has no markers", path)
	case *updateDocuments:
		text := before + "<!-- generated: backtest -->\n" + want + "<!-- end -->" + after
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	case got != want:
		t.Errorf("%s is out of date; run the test with -update-documents:\n%s", path, cmp.Diff(got, want))
	}
}
