package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/warmpool/warmpool/lint"
	"github.com/warmpool/warmpool/scaler/keda"
)

// lintFlags are the flags of lint.
type lintFlags struct {
	files                    []string
	kubeconfig, output, keda string
	modelLoad, longestAnswer time.Duration
	strict                   bool
}

func newLintCommand() *cobra.Command {
	var f lintFlags
	c := &cobra.Command{
		Use:   "lint -f DIR | --kubeconfig F",
		Short: "Find settings of manifests or a cluster that lose GPU time",
		Long: `lint finds settings that cost GPU time or keep warmpool from doing what it decided: budgets that block every drain,
scalers without tolerance, node groups that cannot start from zero. Each finding has the object, the reason and the
remedy. It exits with 1 when it finds an error. A live cluster is only read; what may not be read is left out and named.`,
		Example: `  warmpool lint -f deploy/
  warmpool lint -f chat.yaml -f nodepools/ -o json --strict    # for a pipeline: warnings fail, too
  warmpool lint --kubeconfig ~/.kube/config --model-load 8m`,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "`file` or folder with manifests; can be given several times")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` of a live cluster")
	flags.StringVarP(&f.output, "output", "o", "text", "`format` of the report: text or json")
	flags.StringVar(&f.keda, "keda-version", "2.19", "`release` of KEDA in use")
	flags.DurationVar(&f.modelLoad, "model-load", 2*time.Minute, "how `long` a model takes to load")
	flags.DurationVar(&f.longestAnswer, "longest-answer", time.Minute, "how `long` the longest generation takes")
	flags.BoolVar(&f.strict, "strict", false, "fail on warnings, too")
	return c
}

func (f *lintFlags) check() (keda.Version, error) {
	var errs []error
	if f.output != "text" && f.output != "json" {
		errs = append(errs, fmt.Errorf("-o %q: must be text or json", f.output))
	}
	if (len(f.files) == 0) == (f.kubeconfig == "") {
		errs = append(errs, errors.New("give either -f with manifests or --kubeconfig with a cluster"))
	}
	if f.modelLoad <= 0 || f.longestAnswer <= 0 {
		errs = append(errs, errors.New("--model-load and --longest-answer must be above zero"))
	}
	version, err := keda.ParseVersion(f.keda)
	if err != nil {
		errs = append(errs, fmt.Errorf("--keda-version: %w", err))
	}
	return version, errors.Join(errs...)
}

func (f *lintFlags) run(c *cobra.Command) error {
	version, err := f.check()
	if err != nil {
		return usageError{c.CommandPath(), err}
	}
	var objects []*lint.Object
	if f.kubeconfig != "" {
		var skipped []string
		if objects, skipped, err = clusterObjects(c.Context(), f.kubeconfig); err != nil {
			return err
		}
		for _, note := range skipped {
			fmt.Fprintln(c.ErrOrStderr(), "left out:", note)
		}
	} else if objects, err = manifests(f.files); err != nil {
		return err
	}
	if len(objects) == 0 {
		return errors.New("no objects of Kubernetes found: there is nothing to check")
	}
	findings := lint.Run(lint.NewSet(objects), lint.Options{
		KEDA: version, ModelLoad: f.modelLoad, LongestAnswer: f.longestAnswer, Now: time.Now(),
	})
	if err := f.print(c, findings, len(objects)); err != nil {
		return err
	}
	switch bad, warned := lint.Count(findings); {
	case bad == 1:
		return errors.New("1 error found")
	case bad > 0:
		return fmt.Errorf("%d errors found", bad)
	case f.strict && warned > 0:
		return fmt.Errorf("%s found, and --strict is set", counted(warned, "warning"))
	}
	return nil
}

func (f *lintFlags) print(c *cobra.Command, findings []lint.Finding, objects int) error {
	if f.output == "text" {
		return lint.WriteText(c.OutOrStdout(), findings, objects)
	}
	encoder := json.NewEncoder(c.OutOrStdout())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"objects": objects, "findings": findings})
}

// manifests reads files, and the files with manifests in folders. Templates of a chart are none before they are rendered.
func manifests(paths []string) ([]*lint.Object, error) {
	var objects []*lint.Object
	var errs []error
	read := func(path string) {
		data, err := os.ReadFile(path)
		if err == nil {
			var found []*lint.Object
			found, err = lint.Parse(path, data)
			objects = append(objects, found...)
		}
		errs = append(errs, err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !info.IsDir() {
			read(path)
			continue
		}
		errs = append(errs, filepath.WalkDir(path, func(inner string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && isChartTemplates(inner) {
				return fs.SkipDir
			}
			if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(inner)) {
				read(inner)
			}
			return err
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("manifests cannot be read (give plain or rendered ones, no templates): %w", err)
	}
	return objects, nil
}

func isChartTemplates(folder string) bool {
	if filepath.Base(folder) != "templates" {
		return false
	}
	_, err := os.Stat(filepath.Join(filepath.Dir(folder), "Chart.yaml"))
	return err == nil
}
