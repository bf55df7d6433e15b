package main

import (
	"fmt"
	"io"
)

// What the method reached on these series when it was specified, without the
// outlier mask: to find mistakes by their differences. Cost at 2 % for the short
// lead, 30 and 60 minutes; 0 where the grid has no short lead.
var reference = map[string][3]float64{
	"m-large_allclients":               {1.39, 1.48, 1.68},
	"m-large_client142":                {1.28, 1.36, 1.47},
	"m-large_client149":                {1.64, 1.98, 2.21},
	"m-large_client56":                 {1.24, 1.30, 1.37},
	"m-mid_client30":                   {1.12, 1.28, 1.60},
	"m-mid_client36":                   {3.15, 3.18, 3.47},
	"m-mid_client40":                   {1.17, 1.29, 1.46},
	"m-mid_client60":                   {1.72, 1.89, 2.00},
	"m-mid_client71":                   {1.19, 1.33, 1.69},
	"m-mid_client73":                   {1.02, 1.20, 1.08},
	"m-small_client38":                 {2.88, 3.19, 3.62},
	"m-small_client41":                 {1.13, 1.29, 1.50},
	"m-small_client8":                  {1.11, 1.12, 1.14},
	"crane_input0":                     {1.08, 1.10, 1.16},
	"crane_input11":                    {1.61, 1.70, 1.85},
	"crane_input13":                    {1.05, 1.07, 1.11},
	"crane_input2":                     {1.44, 1.45, 1.44},
	"crane_input6":                     {1.74, 2.03, 2.74},
	"crane_input15_first7d":            {1.06, 1.09, 1.13},
	"nasa_http_1995-07":                {1.46, 1.48, 1.50},
	"worldcup98_1998-05-01_1998-06-10": {1.11, 1.13, 1.15},
	"Twitter_volume_GOOG":              {2.27, 2.38, 2.48},
	"elb_request_count_8c0756":         {3.22, 3.20, 3.32},
	"nyc_taxi_2014-07_2014-10":         {0, 1.10, 1.14},
}

// referenceMedians are medians over the same series.
var referenceMedians = []struct {
	name string
	read metric
	want [3]float64
}{
	{"WAPE, median", wape, [3]float64{0.122, 0.155, 0.170}},
	{"cost at 2 %, median", cost(0.02), [3]float64{1.28, 1.35, 1.50}},
	{"cost at 0.5 %, median", cost(0.005), [3]float64{1.56, 1.69, 1.97}},
	{"ratio to reactive at 2 %, median", ratio(0.02), [3]float64{0.89, 0.76, 0.66}},
	{"ratio to reactive at 0.5 %, median", ratio(0.005), [3]float64{0.75, 0.73, 0.64}},
	{"closed loop at 2 %, median", closed(0.02), [3]float64{1.27, 1.29, 1.49}},
}

func printReference(w io.Writer, results []result) {
	fmt.Fprint(w, "## Against the method as specified, on the same series: measured (specified)\n\n")
	fmt.Fprintln(w, "| figure | short | 30 min | 60 min |\n|---|---|---|---|")
	for _, m := range referenceMedians {
		fmt.Fprintf(w, "| %s |", m.name)
		for lead := range leadNames {
			fmt.Fprintf(w, " %.3f (%.3g) |", collect(results, warmpool, lead, m.read).median(), m.want[lead])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| ratio to reactive at 2 %, geometric mean |")
	for lead, want := range [3]float64{0.824, 0.632, 0.536} {
		fmt.Fprintf(w, " %.3f (%.3g) |", collect(results, warmpool, lead, ratio(0.02)).geometric(), want)
	}
	fmt.Fprint(w, "\n\n")
}

// specified writes the reference of a series like result.triple.
func specified(name string) string {
	want, ok := reference[name]
	switch {
	case !ok:
		return ""
	case want[0] == 0:
		return fmt.Sprintf(" (–/%.2f/%.2f)", want[1], want[2])
	}
	return fmt.Sprintf(" (%.2f/%.2f/%.2f)", want[0], want[1], want[2])
}
