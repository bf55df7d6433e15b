package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/warmpool/warmpool/scaler/hpa"
	"github.com/warmpool/warmpool/scaler/keda"
)

func (s *scan) twoScalers() {
	for _, w := range s.workloads {
		var names []string
		for _, o := range w.scaledBy {
			if !slices.Contains(names, o.String()) { // the same object twice is one, in two variants
				names = append(names, o.String())
			}
		}
		if class := w.Annotations["serving.kserve.io/autoscalerClass"]; w.Kind == "InferenceService" && len(names) > 0 && class != "external" && class != "none" {
			s.report(w.Object, fmt.Sprintf("KServe makes an autoscaler of its own beside %s", names[0]), "annotate it with serving.kserve.io/autoscalerClass: external")
		}
		if len(names) < 2 {
			continue
		}
		s.report(w.scaledBy[len(w.scaledBy)-1], fmt.Sprintf("%s is scaled by %s: they overwrite each other's count every few seconds", w, strings.Join(names, " and ")),
			"keep one; a ScaledObject may have several triggers, CPU among them")
	}
}

// ourScaledObjects calls yield for those that ask warmpool.
func (s *Set) ourScaledObjects(yield func(*scaledObject)) {
	for _, so := range s.scaledObjects {
		if so.ours() {
			yield(so)
		}
	}
}

func (s *scan) valueMetric() {
	s.ourScaledObjects(func(so *scaledObject) {
		for i := range so.Spec.Triggers {
			if t := &so.Spec.Triggers[i]; t.ours() && t.MetricType == string(autoscalingv2.ValueMetricType) {
				s.report(so.Object, "metricType Value multiplies by the ready pods: while models load a target of 6 becomes 12 or 0",
					"set metricType: AverageValue")
			}
		}
	})
}

// stickyFrom is the smallest count at which the default tolerance of 10 % ignores a change by one.
const stickyFrom = 10

func (s *scan) toleranceDefault() {
	s.ourScaledObjects(func(so *scaledObject) {
		if so.largest() < stickyFrom || s.options.KEDA.Before(2, 18) {
			return // small counts always follow; older releases cannot say it
		}
		b, missing := so.behavior(), []string{}
		if b == nil || b.ScaleUp == nil || b.ScaleUp.Tolerance == nil || !b.ScaleUp.Tolerance.IsZero() {
			missing = append(missing, "scaleUp")
		}
		if b == nil || b.ScaleDown == nil || b.ScaleDown.Tolerance == nil || !b.ScaleDown.Tolerance.IsZero() {
			missing = append(missing, "scaleDown")
		}
		if len(missing) > 0 {
			s.report(so.Object, fmt.Sprintf("no tolerance of 0 in %s: from %d replicas on the autoscaler ignores changes up to 10 %%", strings.Join(missing, " and "), stickyFrom),
				`set tolerance: "0" for both directions (Kubernetes 1.35, or the feature gate HPAConfigurableTolerance)`)
		}
	})
}

// judged is what the model of KEDA says about a ScaledObject.
func (s *scan) judged(so *scaledObject) []keda.Finding {
	subject := keda.Subject{Version: s.options.KEDA, Min: so.smallest(), Typical: so.smallest()}
	for _, w := range s.targets(so.Namespace, so.target()) {
		subject.Typical = max(subject.Typical, w.replicas)
	}
	if f := so.Spec.Fallback; f != nil {
		behavior := keda.Behavior(f.Behavior)
		if behavior == "" {
			behavior = keda.Static
		}
		subject.Fallback = &keda.Fallback{Behavior: behavior, Replicas: f.Replicas}
	}
	if b := so.behavior(); b != nil && b.ScaleDown != nil && b.ScaleDown.StabilizationWindowSeconds != nil {
		window := time.Duration(*b.ScaleDown.StabilizationWindowSeconds) * time.Second
		subject.ScaleDownWindow = &window
	}
	return keda.Lint(subject)
}

func (s *scan) fallback() {
	s.ourScaledObjects(func(so *scaledObject) {
		for _, f := range s.judged(so) {
			if strings.HasPrefix(f.Code, "fallback") {
				reason, fix, _ := strings.Cut(f.Text, ": ")
				s.reportAs(Severity(f.Level), so.Object, reason, fix)
			}
		}
	})
}

func (s *scan) scaleUpWindow() {
	s.ourScaledObjects(func(so *scaledObject) {
		b := so.behavior()
		if b == nil || b.ScaleUp == nil || b.ScaleUp.StabilizationWindowSeconds == nil || *b.ScaleUp.StabilizationWindowSeconds == 0 {
			return
		}
		s.report(so.Object, fmt.Sprintf("the autoscaler waits %d s before it follows upwards: a prewarm comes that much later", *b.ScaleUp.StabilizationWindowSeconds),
			"set scaleUp.stabilizationWindowSeconds: 0; warmpool damps what needs damping")
	})
}

// ownWindow is the autoscaler's default on the way down. Longer ones add up with that of warmpool.
const ownWindow = 300

func (s *scan) scaleDownWindow() {
	s.ourScaledObjects(func(so *scaledObject) {
		for _, f := range s.judged(so) {
			if strings.HasPrefix(f.Code, "hpa-window") {
				reason, fix, _ := strings.Cut(f.Text, ": ")
				s.reportAs(Severity(f.Level), so.Object, reason, fix)
			}
		}
		b := so.behavior()
		if b != nil && b.ScaleDown != nil && b.ScaleDown.StabilizationWindowSeconds != nil && *b.ScaleDown.StabilizationWindowSeconds > ownWindow {
			s.report(so.Object, fmt.Sprintf("the autoscaler holds the largest target of %d s, after warmpool has held its own window: the two add up", *b.ScaleDown.StabilizationWindowSeconds),
				"set scaleDown.stabilizationWindowSeconds: 300 and the window in warmpool's policy")
		}
	})
}

func (s *scan) behaviorTooSlow() {
	s.ourScaledObjects(func(so *scaledObject) {
		from, to := max(so.smallest(), 1), so.largest()
		took := climb(so.behavior(), from, to)
		if took > s.options.Lead {
			text := "never, because scaling up is disabled"
			if took != forever {
				text = fmt.Sprintf("after %v", took)
			}
			s.report(so.Object, fmt.Sprintf("from %d to %d replicas the autoscaler gets %s: a prewarm has %v", from, to, text, s.options.Lead),
				fmt.Sprintf("set scaleUp.policies: [{type: Pods, value: %d, periodSeconds: 15}]", to))
		}
	})
}

const (
	forever = time.Duration(math.MaxInt64)
	longest = time.Hour
)

// climb is how long a horizontal pod autoscaler takes from one count to another under a behaviour, after the sync that
// acts first.
func climb(b *autoscalingv2.HorizontalPodAutoscalerBehavior, from, to int) time.Duration {
	spec := hpa.Spec{Min: from, Max: to, Behavior: behaviorOf(b)}
	want := []hpa.Metric{{Type: hpa.AverageValue, Value: float64(to), Target: 1}}
	var state hpa.State
	start := time.Unix(0, 0)
	n := from
	for took := time.Duration(0); took <= longest; took += hpa.SyncPeriod {
		n, state = hpa.Sync(spec, state, hpa.Scale{Spec: n, Status: n, Ready: n}, want, start.Add(took))
		if n >= to {
			return took
		}
	}
	return forever
}

// behaviorOf is the part of a behaviour that limits the way up; the window is judged by itself.
func behaviorOf(b *autoscalingv2.HorizontalPodAutoscalerBehavior) *hpa.Behavior {
	if b == nil || b.ScaleUp == nil {
		return nil
	}
	up := hpa.Rules{}
	if choice := b.ScaleUp.SelectPolicy; choice != nil {
		up.Select = hpa.Select(*choice)
	}
	for _, p := range b.ScaleUp.Policies {
		up.Policies = append(up.Policies, hpa.Policy{Type: hpa.PolicyType(p.Type), Value: int(p.Value), Period: time.Duration(p.PeriodSeconds) * time.Second})
	}
	return &hpa.Behavior{ScaleUp: up}
}
