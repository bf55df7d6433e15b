package main

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"

	"golang.org/x/sync/errgroup"
)

func main() {
	if err := replay(); err != nil {
		fmt.Fprintln(os.Stderr, "spot benchmark:", err)
		os.Exit(1)
	}
}

// headrooms are the shares of the need that the scaler keeps on top; they make the curve of each policy. What the
// predictor orders has a margin of its own, so that its curve begins lower.
var headrooms = []float64{-0.1, 0.05, 0.2, 0.4, 0.7, 1.2, 1.9}

func (p policy) headrooms() []float64 {
	if p.forecast {
		return append([]float64{-0.4, -0.3, -0.2}, headrooms...)
	}
	return headrooms
}

func replay() error {
	dir := flag.String("traces", "../shared/traces", "directory of the recordings")
	replicas := flag.Float64("replicas", 8, "mean need of every service")
	wantedPolicies := flag.String("policies", "", "only policies whose name matches this regular expression, and those that they are compared with")
	wantedConditions := flag.String("conditions", "", "only conditions whose name matches this regular expression")
	out := flag.String("out", "", "write the document here; it needs all policies and conditions")
	flag.Parse()
	choose, err := newSelection(*wantedPolicies, *wantedConditions)
	if err != nil {
		return err
	}
	services, err := loadServices(*dir, *replicas)
	if err != nil {
		return err
	}
	rooms, err := loadRooms(*dir)
	if err != nil {
		return err
	}
	scored, firm, err := servable(services, rooms)
	if err != nil {
		return err
	}
	r := results{}
	for _, c := range settings {
		if r[c.name], err = measureAll(c, choose.plays, scored, rooms); err != nil {
			return err
		}
	}
	r[settings[0].name][indexOf(firmName)] = firm
	var text bytes.Buffer
	printDocument(&text, r, len(scored), len(services)-len(scored), *replicas)
	if *out == "" {
		_, err = os.Stdout.Write(text.Bytes())
		return err
	}
	return os.WriteFile(*out, text.Bytes(), 0o644)
}

// selection is what is played.
type selection struct{ policies, conditions *regexp.Regexp }

func newSelection(policies, conditions string) (s selection, err error) {
	if s.policies, err = regexp.Compile(policies); err != nil {
		return s, fmt.Errorf("-policies: %w", err)
	}
	if s.conditions, err = regexp.Compile(conditions); err != nil {
		return s, fmt.Errorf("-conditions: %w", err)
	}
	return s, nil
}

// plays tells whether a policy is wanted; those that others are compared with always are. On-demand nodes alone have been
// played by then, see [servable].
func (s selection) plays(c conditions, p policy) bool {
	compared := p.name == plainName || p.name == ruleUName
	return p.name != firmName && c.plays(p) && s.conditions.MatchString(c.name) && (compared || s.policies.MatchString(p.name))
}

// servable are the series that on-demand nodes alone can serve, with how they do; the others have nothing to compare with.
func servable(services []service, rooms map[string][]int) (scored []service, firm []curve, err error) {
	alone := func(_ conditions, p policy) bool { return p.name == firmName }
	played, err := measureAll(settings[0], alone, services, rooms)
	if err != nil {
		return nil, nil, err
	}
	for i, c := range played[indexOf(firmName)] {
		if !math.IsNaN(c.at(record.shortShare, shortLimit)) {
			scored, firm = append(scored, services[i]), append(firm, c)
		}
	}
	return scored, firm, nil
}

// measureAll plays every policy on every series with every headroom.
func measureAll(c conditions, plays func(conditions, policy) bool, services []service, rooms map[string][]int) ([][]curve, error) {
	played := make([][]curve, len(policies))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for p := range policies {
		if !plays(c, policies[p]) {
			continue
		}
		played[p] = make([]curve, len(services))
		for s := range services {
			group.Go(func() error {
				here := shifted(rooms, services[s].seed)
				points := make(curve, 0, len(headrooms))
				for _, h := range policies[p].headrooms() {
					points = append(points, run(policies[p], c, services[s], here, h))
					if points.enough() {
						break
					}
				}
				played[p][s] = points
				return nil
			})
		}
	}
	return played, group.Wait()
}
