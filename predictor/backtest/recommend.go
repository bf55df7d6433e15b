package backtest

import (
	"fmt"
	"math"

	"github.com/warmpool/warmpool/predictor"
)

const (
	worthwhile   = 0.03 // saving from which the predictor is worth turning on
	scaleSkill   = 0.02 // cost within which reactive with scale and price is as good
	fewShort     = 20   // short steps below which a comparison is noise
	usualWeekday = 7    // days from which every weekday was seen
)

// recommend decides what to do with the service.
func (r *Result) recommend() {
	d := &r.Details
	ours, reactive := d.Predictor.Open.CostAt(d.MaxShort), d.Reactive.Open.CostAt(d.MaxShort)
	scaled := d.Scaled.Open.CostAt(d.MaxShort)
	d.Saving = 1 - ours/reactive
	flat := r.WAPE > 0.98*d.LastValueWAPE && ours > (1-scaleSkill)*scaled
	switch {
	case math.IsNaN(d.Saving):
		r.Mode, d.Reason = string(predictor.Reactive), predictor.NoData
	case flat:
		r.Mode, d.Reason = string(predictor.Shadow), predictor.NoTimeOfDaySkill
	case d.Saving < worthwhile:
		r.Mode, d.Reason = string(predictor.Shadow), predictor.SkillBelow3
	default:
		r.Mode, d.Reason = string(predictor.Active), predictor.OK
	}
}

// Recommendation says in words what to do, with the numbers behind it.
func (r *Result) Recommendation() string {
	d := &r.Details
	days := float64(r.Points) * d.Series.Step.Hours() / 24
	base := fmt.Sprintf("over %.1f scored days at lead %v", days, d.Lead)
	switch d.Reason {
	case predictor.NoTimeOfDaySkill:
		return fmt.Sprintf("Keep shadow: no daily pattern. %s, the forecast errs by %.1f %% and the last value by %.1f %%; its orders cost as much as a reactive policy with the same price rule.",
			sentence(base), 100*r.WAPE, 100*d.LastValueWAPE)
	case predictor.NoData:
		return "Stay reactive: nothing could be scored."
	case predictor.SkillBelow3:
		return fmt.Sprintf("Keep shadow: at target %s the predictor saves only %.1f %% of the replica-hours of a reactive policy with the same shortage, %s.%s",
			percent(d.MaxShort), 100*d.Saving, base, r.caution())
	}
	return fmt.Sprintf("Enable at target %s: %.0f %% fewer replica-hours than reactive with the same shortage (%.2f against %.2f times the oracle), %s.%s",
		percent(d.MaxShort), 100*d.Saving, d.Predictor.Open.CostAt(d.MaxShort), d.Reactive.Open.CostAt(d.MaxShort), base, r.caution())
}

func (r *Result) caution() string {
	d := &r.Details
	text := ""
	if n := d.MaxShort * float64(r.Points); n < fewShort {
		text += fmt.Sprintf(" Only %.0f short steps at that target: a longer history says more.", n)
	}
	if days := float64(len(d.Series.Values)) * d.Series.Step.Hours() / 24; days < 2*usualWeekday {
		text += " With less than two weeks no weekday was scored after it had been seen."
	}
	return text
}

// Summary lists the figures below the recommendation.
func (r *Result) Summary() string {
	d := &r.Details
	return fmt.Sprintf(`%s

steered to %s short without hindsight   reactive   predictor     oracle
  replica-hours                       %10.1f  %10.1f  %8.1f
  under-provisioned                   %9.2f%%  %9.2f%%
at exactly %s short
  cost over oracle                    %10.2f  %10.2f      1.00
forecast   WAPE %.1f %% (last value %.1f %%)   MASE %.2f   0.9 bound covers %.1f %%   pinball %.4g   %d points
`, r.Recommendation(), percent(d.MaxShort), r.Hours.Reactive, r.Hours.Predictive, r.Hours.Oracle,
		100*r.Short.Reactive, 100*r.Short.Predictive, percent(d.MaxShort),
		d.Reactive.Open.CostAt(d.MaxShort), d.Predictor.Open.CostAt(d.MaxShort),
		100*r.WAPE, 100*d.LastValueWAPE, r.MASE, 100*r.Coverage, r.Pinball, r.Points)
}

func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

func sentence(s string) string { return string(s[0]-'a'+'A') + s[1:] }
