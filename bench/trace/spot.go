package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// Availability tells over time whether one more spot node could be had.
type Availability struct {
	// Name is zone, GPU model and GPUs per node.
	Name        string
	GPU         string
	GPUsPerNode int64
	Start       time.Time
	Step        time.Duration
	Available   []bool
}

// At tells whether a node can be had; outside the recording it repeats from the start.
func (a *Availability) At(at time.Time) bool {
	period := time.Duration(len(a.Available)) * a.Step
	from := at.Sub(a.Start) % period
	if from < 0 {
		from += period
	}
	return a.Available[from/a.Step]
}

// Share is the share of the time in which a node could be had.
func (a *Availability) Share() float64 {
	n := 0
	for _, ok := range a.Available {
		if ok {
			n++
		}
	}
	return float64(n) / float64(len(a.Available))
}

// ReadAvailability reads "timestamp,zone,gpu,gpus_per_node,available", several types in one file, each on a regular grid.
func ReadAvailability(file string, r io.Reader) ([]*Availability, error) {
	t, err := newTable(file, r, []string{"timestamp", "zone", "gpu", "gpus_per_node", "available"})
	if err != nil {
		return nil, err
	}
	var out []*Availability
	last := map[string]time.Time{}
	for row, err := range t.rows() {
		if err != nil {
			return nil, err
		}
		at, err := t.moment(time.RFC3339)
		if err != nil {
			return nil, err
		}
		perNode, err := t.integer(3)
		if err != nil {
			return nil, err
		}
		free, err := strconv.ParseBool(row[4])
		if err != nil {
			return nil, t.fail(4, "%q is not 0 or 1", row[4])
		}
		name := fmt.Sprintf("%s_%s_%d", row[1], row[2], perNode)
		i := slices.IndexFunc(out, func(a *Availability) bool { return a.Name == name })
		if i < 0 {
			out = append(out, &Availability{Name: name, GPU: row[2], GPUsPerNode: perNode, Start: at})
			i = len(out) - 1
		} else if gap := at.Sub(last[name]); out[i].Step == 0 && gap > 0 {
			out[i].Step = gap
		} else if gap != out[i].Step {
			return nil, t.fail(0, "%s is %s after the row before it; the grid of %s is %s", row[0], gap, name, out[i].Step)
		}
		last[name] = at
		out[i].Available = append(out[i].Available, free)
	}
	return out, nil
}

// ReadAvailabilityJSON reads one window of the original format: a list in which 0 means available and 1 means not, the
// reverse of what one expects. Dates are not published; it is said to begin at the Unix epoch plus start_time steps.
func ReadAvailabilityJSON(file string, r io.Reader) (*Availability, error) {
	var body struct {
		Metadata struct {
			Gap   float64 `json:"gap_seconds"`
			Start int64   `json:"start_time"`
		} `json:"metadata"`
		Data []int `json:"data"`
	}
	if err := json.NewDecoder(r).Decode(&body); err != nil {
		return nil, jsonError(file, err)
	}
	if body.Metadata.Gap <= 0 || len(body.Data) == 0 {
		return nil, &FormatError{File: file, Line: 1, Problem: "metadata.gap_seconds above 0 and data are both needed"}
	}
	step := time.Duration(body.Metadata.Gap * float64(time.Second))
	a := &Availability{Name: file, Start: time.Unix(0, 0).UTC().Add(time.Duration(body.Metadata.Start) * step), Step: step}
	for i, v := range body.Data {
		if v != 0 && v != 1 {
			return nil, &FormatError{File: file, Line: 1, Problem: fmt.Sprintf("data[%d] is %d; expected 0 or 1", i, v)}
		}
		a.Available = append(a.Available, v == 0)
	}
	return a, nil
}

// SpotPrice is one change of a spot price; it holds until the next change of the same zone and type.
type SpotPrice struct {
	At         time.Time
	Zone       string
	Type       string
	HourlyCost float64
}

// ReadSpotPrices reads "timestamp,zone,instance_type,price_usd_per_hour".
func ReadSpotPrices(file string, r io.Reader) ([]SpotPrice, error) {
	t, err := newTable(file, r, []string{"timestamp", "zone", "instance_type", "price_usd_per_hour"})
	if err != nil {
		return nil, err
	}
	return each(t, t.spotPrice)
}

func (t *table) spotPrice() (SpotPrice, error) {
	at, err := t.moment(time.RFC3339)
	if err != nil {
		return SpotPrice{}, err
	}
	price, err := t.number(3)
	return SpotPrice{At: at, Zone: t.row[1], Type: t.row[2], HourlyCost: price}, err
}

// ReadSpotPriceHistory reads the answer of AWS' describe-spot-price-history, newest first; the result is oldest first.
func ReadSpotPriceHistory(file string, r io.Reader) ([]SpotPrice, error) {
	var body struct {
		History []struct {
			Zone  string    `json:"AvailabilityZone"`
			Type  string    `json:"InstanceType"`
			Price string    `json:"SpotPrice"`
			At    time.Time `json:"Timestamp"`
		} `json:"SpotPriceHistory"`
	}
	if err := json.NewDecoder(r).Decode(&body); err != nil {
		return nil, jsonError(file, err)
	}
	var out []SpotPrice
	for i, h := range body.History {
		price, err := strconv.ParseFloat(h.Price, 64)
		if err != nil || !(price > 0) || h.Zone == "" || h.Type == "" {
			return nil, &FormatError{File: file, Line: 1, Problem: fmt.Sprintf("SpotPriceHistory[%d] needs zone, type and a price above 0, not %q", i, h.Price)}
		}
		out = append(out, SpotPrice{At: h.At.UTC(), Zone: h.Zone, Type: h.Type, HourlyCost: price})
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b SpotPrice) int { return a.At.Compare(b.At) })
	return out, nil
}
