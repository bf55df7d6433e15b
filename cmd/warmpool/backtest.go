package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // images without zone data

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/predictor/backtest"
)

// backtestFlags are the flags of backtest.
type backtestFlags struct {
	series, config, service             string
	maxShort, zone, holidays, forecasts string
	report, output                      string
	lead, span                          time.Duration
	perReplica                          float64
}

func newBacktestCommand() *cobra.Command {
	var f backtestFlags
	c := &cobra.Command{
		Use:   "backtest --series F.csv | --config F --service S",
		Short: "Measure on recorded traffic what the predictor would have saved",
		Long: `backtest walks forward through recorded traffic without looking ahead and compares the predictor with a
reactive policy and an oracle: replica-hours, time under-provisioned, forecast errors. It ends with a recommendation.

The series is a CSV file (timestamp,value; RFC 3339, start of the interval; an empty value is missing; .gz is read), or
the rate of a configured service, read from its Prometheus.`,
		Example: `  warmpool backtest --series requests_1m.csv --lead 15m --max-short 2% --time-zone Europe/Berlin
  warmpool backtest --config warmpool.yaml --service chat/llama --report out -o json`,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringVar(&f.series, "series", "", "CSV `file` of the traffic")
	flags.StringVar(&f.config, "config", "", "configuration `file`")
	flags.StringVar(&f.service, "service", "", "configured service: `NAME` or NAMESPACE/NAME")
	flags.DurationVar(&f.lead, "lead", 15*time.Minute, "time from an order to a ready replica")
	flags.StringVar(&f.maxShort, "max-short", "", "`share` of time that may be under-provisioned (default 1%, or the service's)")
	flags.Float64Var(&f.perReplica, "per-replica", 0, "load one replica carries, in the unit of the series (default mean/8, or the service's)")
	flags.StringVar(&f.zone, "time-zone", "UTC", "IANA time `zone` of the users (default UTC, or the service's)")
	flags.StringVar(&f.holidays, "holidays", "", "`file` with a date such as 2026-12-25 at the start of each line")
	flags.DurationVar(&f.span, "span", 35*24*time.Hour, "history that is read from Prometheus")
	flags.StringVar(&f.forecasts, "forecasts", "", "write every forecast to this CSV `file`")
	flags.StringVar(&f.report, "report", "", "write a page with plots to this `directory`")
	flags.StringVarP(&f.output, "output", "o", "text", "`format` of the result: text or json")
	return c
}

func (f *backtestFlags) run(c *cobra.Command) error {
	if err := f.check(); err != nil {
		return usageError{c.CommandPath(), err}
	}
	series, options, err := f.input(c)
	if err != nil {
		return err
	}
	options.Leads = []time.Duration{f.lead}
	result, err := backtest.Run(series, options, progress(c.ErrOrStderr()))
	if err != nil {
		return err
	}
	if err := f.files(result, options.Calendar); err != nil {
		return err
	}
	return writeResult(c.OutOrStdout(), f.output, result)
}

func (f *backtestFlags) check() error {
	switch {
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("-o %q: it must be text or json", f.output)
	case (f.series == "") == (f.config == ""):
		return errors.New("give either --series or --config with --service")
	case (f.config == "") != (f.service == ""):
		return errors.New("--config and --service belong together")
	case f.lead <= 0 || f.lead > 12*time.Hour:
		return fmt.Errorf("--lead %v: it must be above 0 and at most 12h", f.lead)
	case f.perReplica < 0 || math.IsNaN(f.perReplica) || math.IsInf(f.perReplica, 0):
		return fmt.Errorf("--per-replica %v: it must be above 0", f.perReplica)
	}
	_, err := share(f.maxShort)
	return err
}

// share reads 2% or 0.02; nothing is 0.
func share(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return 0, fmt.Errorf("--max-short %q: it must be a share such as 2%% or 0.02, above 0 and below 100%%", text)
	}
	return v, nil
}

// input gives the series and the options that follow from flags and configuration.
func (f *backtestFlags) input(c *cobra.Command) (backtest.Series, backtest.Options, error) {
	target, err := share(f.maxShort)
	if err != nil {
		return backtest.Series{}, backtest.Options{}, err
	}
	zone, err := predictor.LoadLocation(f.zone)
	if err != nil {
		return backtest.Series{}, backtest.Options{}, fmt.Errorf("--time-zone: %w", err)
	}
	options := backtest.Options{MaxShort: target, PerReplica: f.perReplica}
	options.Calendar.Location = zone
	if options.Calendar.Holidays, err = readHolidays(f.holidays); err != nil {
		return backtest.Series{}, options, err
	}
	var series backtest.Series
	if f.series != "" {
		series, err = readSeries(f.series)
	} else {
		series, err = f.recorded(c.Context(), c.Flags().Changed("time-zone"), &options)
	}
	if options.MaxShort == 0 {
		options.MaxShort = 0.01
	}
	return series, options, err
}

func readSeries(path string) (backtest.Series, error) {
	file, err := os.Open(path)
	if err != nil {
		return backtest.Series{}, fmt.Errorf("open series: %w", err)
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			return backtest.Series{}, fmt.Errorf("unzip series %s: %w", path, err)
		}
		in = unzipped
	}
	return backtest.ReadCSV(in, filepath.Base(path))
}

// readHolidays reads a date at the start of each line; the rest of it is a name. # begins a remark.
func readHolidays(path string) ([]time.Time, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read holidays: %w", err)
	}
	var out []time.Time
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '\r' })
		if len(fields) == 0 || (i == 0 && fields[0] == "date") {
			continue
		}
		day, err := time.Parse(time.DateOnly, fields[0])
		if err != nil {
			return nil, fmt.Errorf("holidays %s, line %d: %q is not a date such as 2026-12-25", path, i+1, fields[0])
		}
		out = append(out, day)
	}
	return out, nil
}

// progress draws a bar if w is a terminal and says nothing otherwise.
func progress(w io.Writer) func(done, total int) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("walking forward"),
				progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
		}
		_ = bar.Set(done) // a bar that cannot be drawn is no failure of the backtest
	}
}

// files writes what was asked for beside the result.
func (f *backtestFlags) files(r *backtest.Result, cal predictor.Calendar) error {
	if f.forecasts != "" {
		if err := writeFile(f.forecasts, r.WriteForecasts); err != nil {
			return err
		}
	}
	if f.report == "" {
		return nil
	}
	if err := os.MkdirAll(f.report, 0o755); err != nil {
		return fmt.Errorf("make report directory: %w", err)
	}
	return writeFile(filepath.Join(f.report, "index.html"), func(w io.Writer) error { return r.WriteReport(w, cal.Location) })
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := write(file); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), file.Close())
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func writeResult(w io.Writer, format string, r *backtest.Result) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
		return nil
	}
	_, err := io.WriteString(w, r.Summary())
	return err
}
