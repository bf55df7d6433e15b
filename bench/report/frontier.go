package report

import (
	"cmp"
	"slices"
)

// Frontier is what one policy can reach by tuning: lateness against GPU-hours.
type Frontier struct {
	Policy string `json:"policy"`
	// Points are in order of GPU-hours, falling.
	Points []FrontierPoint `json:"points"`
	// AtLateness holds the GPU-hours at the shares of late requests of [Targets]; nil where the policy never gets there.
	AtLateness []*float64 `json:"atLateness"`
}

// FrontierPoint is one setting.
type FrontierPoint struct {
	Knob     float64 `json:"knob"`
	Late     float64 `json:"late"`
	GPUHours float64 `json:"gpuHours"`
}

// Targets are the shares of late requests at which frontiers are compared.
var Targets = []float64{0.01, 0.001}

func newFrontier(name string, points []FrontierPoint) Frontier {
	slices.SortStableFunc(points, func(a, b FrontierPoint) int {
		if d := cmp.Compare(b.GPUHours, a.GPUHours); d != 0 {
			return d
		}
		return cmp.Compare(a.Late, b.Late)
	})
	f := Frontier{Policy: name, Points: points}
	for _, target := range Targets {
		f.AtLateness = append(f.AtLateness, hoursAt(points, target))
	}
	return f
}

// hoursAt is the smallest number of GPU-hours with at most that share late, on the lower envelope of the settings, with
// a straight line between two neighbours that lie on either side of the target.
func hoursAt(points []FrontierPoint, target float64) *float64 {
	var envelope []FrontierPoint // GPU-hours falling, lateness rising
	for _, p := range slices.Backward(points) {
		if n := len(envelope); n == 0 || p.Late < envelope[n-1].Late {
			envelope = append(envelope, p)
		}
	}
	for i, p := range envelope { // GPU-hours rising, lateness falling
		if p.Late > target {
			continue
		}
		hours := p.GPUHours
		if i > 0 {
			q := envelope[i-1]
			hours = q.GPUHours + (p.GPUHours-q.GPUHours)*(q.Late-target)/(q.Late-p.Late)
		}
		return &hours
	}
	return nil
}
