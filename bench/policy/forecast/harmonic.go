package forecast

import (
	"math"
	"math/cmplx"
	"sort"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Harmonic continues the strongest waves of the last week, or of the last day
// while there is no week, as the signal-processing predictors of several
// autoscalers do.
type Harmonic struct {
	past
	grid Grid
	// Waves that are kept besides the mean.
	Waves int
	// Shortest period of a wave, in intervals.
	Shortest int

	transforms map[int]*fourier.FFT
	kept       []wave
	length     int
	upTo       int // values that kept was made from
}

type wave struct {
	index     int
	amplitude complex128
}

// NewHarmonic keeps up to 40 waves of at least two hours.
func NewHarmonic(g Grid) *Harmonic {
	return &Harmonic{grid: g, Waves: 40, Shortest: 4 * g.window(), transforms: map[int]*fourier.FFT{}}
}

// Forecast evaluates the kept waves at the target, at least 0.
func (f *Harmonic) Forecast(ahead int) float64 {
	if len(f.values) < f.grid.PerDay {
		return f.last
	}
	if f.upTo != len(f.values) {
		f.fit()
	}
	at := float64(f.length - 1 + ahead)
	v := 0.0
	for _, w := range f.kept {
		angle := 2 * math.Pi * float64(w.index) * at / float64(f.length)
		v += real(w.amplitude * cmplx.Rect(1, angle))
	}
	return max(0, v)
}

func (f *Harmonic) fit() {
	f.upTo, f.length = len(f.values), f.grid.PerDay
	if len(f.values) >= 7*f.grid.PerDay {
		f.length *= 7
	}
	window := make([]float64, f.length)
	last := f.last
	for i := range window {
		if y := f.values[len(f.values)-f.length+i]; !math.IsNaN(y) {
			last = y
		}
		window[i] = last
	}
	if f.transforms[f.length] == nil {
		f.transforms[f.length] = fourier.NewFFT(f.length)
	}
	spectrum := f.transforms[f.length].Coefficients(nil, window)
	f.kept = f.kept[:0]
	for i, c := range spectrum {
		if i > 0 && f.length/i < f.Shortest {
			break
		}
		scale := 2.0
		if i == 0 {
			scale = 1
		}
		f.kept = append(f.kept, wave{i, c * complex(scale/float64(f.length), 0)})
	}
	rest := f.kept[1:]
	sort.SliceStable(rest, func(a, b int) bool { return cmplx.Abs(rest[a].amplitude) > cmplx.Abs(rest[b].amplitude) })
	f.kept = f.kept[:min(len(f.kept), f.Waves+1)]
}
