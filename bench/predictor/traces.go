package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	benchtrace "github.com/warmpool/warmpool/bench/trace"
	"github.com/warmpool/warmpool/predictor"
	"github.com/warmpool/warmpool/predictor/backtest"
)

// trace is a recorded series with what is known about its clock.
type trace struct {
	backtest.Series
	calendar predictor.Calendar
	group    string
	season   float64 // autocorrelation at a day or a week, the larger
}

// shortestTrace is what a season of a day and a scored half need.
const shortestTrace = 6 * 24 * time.Hour

var ratePattern = regexp.MustCompile(`_(10s|15s|1m|5m|10m|30m)\.csv(\.gz)?$`)

// rateHeader opens every rate series; other files lie beside them.
const rateHeader = "timestamp,requests"

var errNoRates = errors.New("not a rate series")

// loadTraces reads every rate series of at least six days under dir.
func loadTraces(dir string) ([]trace, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ratePattern.MatchString(path) {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for traces: %w", err)
	}
	sort.Strings(paths)
	var out []trace
	for _, path := range paths {
		t, err := loadTrace(path)
		if errors.Is(err, errNoRates) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if time.Duration(len(t.Values))*t.Step >= shortestTrace {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no rate series of at least six days in %s: want files such as web_5m.csv", dir)
	}
	return out, nil
}

func loadTrace(path string) (trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return trace{}, fmt.Errorf("open trace: %w", err)
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			return trace{}, fmt.Errorf("unzip trace %s: %w", path, err)
		}
		in = unzipped
	}
	text := bufio.NewReader(in)
	if head, _ := text.Peek(len(rateHeader)); !bytes.Equal(head, []byte(rateHeader)) {
		return trace{}, errNoRates
	}
	name := ratePattern.ReplaceAllString(filepath.Base(path), "")
	raw, err := backtest.ReadCSV(text, strings.TrimPrefix(name, "servegen_"))
	if err != nil {
		return trace{}, err
	}
	grid, err := raw.Grid()
	if err != nil {
		return trace{}, err
	}
	t := trace{Series: grid}
	// The dates of the ServeGen recordings are invented: no weekday in them.
	t.calendar.OneDayType = strings.HasPrefix(name, "servegen_")
	if strings.HasPrefix(name, "nasa_") {
		if t.calendar.Location, err = predictor.LoadLocation("America/New_York"); err != nil {
			return trace{}, err
		}
	}
	t.season = seasonality(grid)
	t.group = benchtrace.KindOf(t.season)
	return t, nil
}

// seasonality is the autocorrelation of 10-minute means at a day or a week.
func seasonality(s backtest.Series) float64 {
	per := max(1, int(10*time.Minute/s.Step))
	var coarse []float64
	for i := 0; i+per <= len(s.Values); i += per {
		sum, n := 0.0, 0
		for _, v := range s.Values[i : i+per] {
			if !math.IsNaN(v) {
				sum += v
				n++
			}
		}
		coarse = append(coarse, sum/float64(n))
	}
	day := int(24 * time.Hour / (s.Step * time.Duration(per)))
	return benchtrace.DayOrWeek(coarse, day)
}
