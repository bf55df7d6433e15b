package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/warmpool/warmpool/config"
)

// checkConfigFlags are the flags of check-config.
type checkConfigFlags struct {
	output          string
	strict, queries bool
}

func newCheckConfigCommand() *cobra.Command {
	var f checkConfigFlags
	c := &cobra.Command{
		Use:   "check-config FILE...",
		Short: "Check configuration files and report every error at once",
		Long: `check-config compiles configuration files the way serve does and reports everything that is wrong, each problem with
its line, its key, what is allowed and the remedy. Warnings are about what is allowed and probably not meant. It needs
no cluster and no network.`,
		Example: `  warmpool check-config warmpool.yaml
  warmpool check-config --queries warmpool.yaml    # what each service reads from Prometheus, ready to be typed there
  warmpool check-config --strict -o json *.yaml    # for a pipeline: warnings fail, too`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error { return f.run(c, files) },
	}
	flags := c.Flags()
	flags.StringVarP(&f.output, "output", "o", "text", "`format` of the report: text or json")
	flags.BoolVar(&f.strict, "strict", false, "fail on warnings, too")
	flags.BoolVar(&f.queries, "queries", false, "show the queries of every service")
	return c
}

// checkedFile is the report on one file.
type checkedFile struct {
	File     string           `json:"file"`
	Valid    bool             `json:"valid"`
	Hash     string           `json:"hash,omitempty"`
	Services int              `json:"services"`
	Errors   []checkedProblem `json:"errors"`
	Warnings []checkedProblem `json:"warnings"`
	Queries  []checkedQuery   `json:"queries,omitempty"`
}

type checkedProblem struct {
	Code    string `json:"code,omitempty"`
	Line    int    `json:"line,omitempty"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

type checkedQuery struct {
	Service string `json:"service"`
	Signal  string `json:"signal"`
	Query   string `json:"query"`
}

func (f *checkConfigFlags) run(c *cobra.Command, files []string) error {
	if f.output != "text" && f.output != "json" {
		return usageError{c.CommandPath(), fmt.Errorf("-o %q: must be text or json", f.output)}
	}
	var reports []checkedFile
	invalid, warned := 0, 0
	for _, file := range files {
		report := f.check(file)
		reports = append(reports, report)
		warned += len(report.Warnings)
		if !report.Valid {
			invalid++
		}
	}
	if err := f.print(c.OutOrStdout(), c.ErrOrStderr(), reports); err != nil {
		return err
	}
	switch {
	case invalid > 0:
		return fmt.Errorf("not valid: %d of %s", invalid, counted(len(files), "file"))
	case f.strict && warned > 0:
		return fmt.Errorf("%s, and --strict is set", counted(warned, "warning"))
	}
	return nil
}

func (f *checkConfigFlags) check(file string) checkedFile {
	report := checkedFile{File: file, Errors: []checkedProblem{}, Warnings: []checkedProblem{}}
	compiled, err := config.Load(file)
	var found *config.Errors
	switch {
	case errors.As(err, &found):
		for _, p := range found.Problems {
			report.Errors = append(report.Errors, checkedProblem{Line: p.Line, Path: p.Path, Message: p.Message})
		}
		return report
	case err != nil:
		report.Errors = append(report.Errors, checkedProblem{Message: err.Error()})
		return report
	}
	report.Valid, report.Hash, report.Services = true, compiled.Hash, len(compiled.Services)
	for _, w := range compiled.Warnings {
		report.Warnings = append(report.Warnings, checkedProblem{Code: w.Code, Line: w.Line, Path: w.Path, Message: w.Message})
	}
	if f.queries {
		report.Queries = queriesOf(compiled)
	}
	return report
}

func queriesOf(compiled *config.Config) []checkedQuery {
	var out []checkedQuery
	for _, s := range compiled.Services {
		name := s.Policy.Namespace + "/" + s.Policy.Name
		for _, q := range s.Queries {
			out = append(out, checkedQuery{Service: name, Signal: string(q.Signal), Query: q.Alone})
		}
		if rate := s.Forecast.Rate; rate != nil {
			out = append(out, checkedQuery{Service: name, Signal: "forecast history", Query: rate.Alone})
		}
	}
	return out
}

// print writes problems to stderr, in the form that editors can jump to, and everything else to stdout.
func (f *checkConfigFlags) print(stdout, stderr io.Writer, reports []checkedFile) error {
	if f.output == "json" {
		encoder := json.NewEncoder(stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(reports)
	}
	for _, r := range reports {
		for _, p := range r.Errors {
			fmt.Fprintln(stderr, p.text(r.File, "error"))
		}
		for _, p := range r.Warnings {
			fmt.Fprintln(stderr, p.text(r.File, "warning "+p.Code))
		}
		if r.Valid {
			fmt.Fprintf(stdout, "%s: valid, %s, %s, hash %s\n", r.File, counted(r.Services, "service"), counted(len(r.Warnings), "warning"), r.Hash)
		}
		service := ""
		for _, q := range r.Queries {
			if q.Service != service {
				service = q.Service
				fmt.Fprintf(stdout, "\n%s\n", service)
			}
			fmt.Fprintf(stdout, "  %s\n    %s\n", q.Signal, q.Query)
		}
	}
	return nil
}

func (p checkedProblem) text(file, kind string) string {
	text := file
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d", file, p.Line)
	}
	text += ": " + kind + ": "
	if p.Path != "" {
		text += p.Path + ": "
	}
	return text + p.Message
}

// counted is a number with its noun: one file, two files.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
