package soak

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sums adds up the series of each metric of a text exposition.
func sums(text io.Reader) (map[string]float64, error) {
	found := map[string]float64{}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if line == "" || line[0] == '#' || space < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(line[:space], "{")
		found[name] += value
	}
	return found, lines.Err()
}

// Reading is the state of the server at one time after its start.
type Reading struct {
	At time.Duration
	// Resident is its memory by the kernel, Heap the part of Go's heap that the last garbage collection found in use,
	// in bytes.
	Resident, Heap float64
	Goroutines     float64
	Descriptors    float64
	// Processor is the time it has used.
	Processor time.Duration
	// BoardAge is the age of the last whole evaluation, in seconds.
	BoardAge float64
	Skipped  float64
}

// The metrics of a reading.
var readMetrics = []string{"go_memstats_next_gc_bytes", "go_goroutines", "warmpool_board_age_seconds", "warmpool_ticks_skipped_total"}

func (s *Server) read(started time.Time) (Reading, error) {
	var r Reading
	values, err := s.ReadMetrics(readMetrics...)
	if err != nil {
		return r, err
	}
	used, err := resourcesOf(s.ID())
	if err != nil {
		return r, err
	}
	return Reading{
		At: time.Since(started), Resident: float64(used.resident), Descriptors: float64(used.descriptor),
		Processor: time.Duration(used.processor * float64(time.Second)),
		// The next collection begins at twice the live heap of the last one, as GOGC is 100.
		Heap: values["go_memstats_next_gc_bytes"] / 2, Goroutines: values["go_goroutines"],
		BoardAge: values["warmpool_board_age_seconds"], Skipped: values["warmpool_ticks_skipped_total"],
	}, nil
}

// Growth is how a quantity changed over the measured time.
type Growth struct {
	// First and Last are medians of the first and the last quarter, Most is the largest reading.
	First, Last, Most float64
	// PerHour is the median of the slopes between all pairs of readings: a single peak does not move it.
	PerHour float64
}

func growthOf(readings []Reading, of func(Reading) float64) Growth {
	quarter := max(1, len(readings)/4)
	values := make([]float64, len(readings))
	for i, r := range readings {
		values[i] = of(r)
	}
	if len(values) == 0 {
		return Growth{}
	}
	g := Growth{First: median(values[:quarter]), Last: median(values[len(values)-quarter:]), Most: slices.Max(values)}
	var slopes []float64
	for i := range readings {
		for j := i + 1; j < len(readings); j++ {
			if hours := (readings[j].At - readings[i].At).Hours(); hours > 0 {
				slopes = append(slopes, (values[j]-values[i])/hours)
			}
		}
	}
	if len(slopes) > 0 {
		g.PerHour = median(slopes)
	}
	return g
}

// leaked tells whether a quantity grew by more than a share of itself and more than a fixed amount, both in the measured
// time and by its slope: what goes up and down may end high by chance, or lean by chance, but hardly both.
func (g Growth) leaked(measured time.Duration, share, amount float64) bool {
	allowed := max(share*g.First, amount)
	return g.Last-g.First > allowed && g.PerHour*measured.Hours() > allowed
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile is the value that a share of the values does not exceed; NaN without any.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
