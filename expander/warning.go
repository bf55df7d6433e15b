package expander

import "slices"

// Codes of warnings, as they appear in Decision.Warnings; most go on with a group id after a colon.
const (
	WarnGroupWithoutOption = "group-without-option"
	WarnOptionWithoutPods  = "option-without-pods"
	WarnOptionWithoutNode  = "option-without-node"
	WarnNotEnforceable     = "isolation-not-enforceable"
	WarnCPUPods            = "cpu-pods-on-accelerator-group"
	WarnVetoedCPUPods      = "vetoed-cpu-pods-on-accelerator-group"
	WarnGPUMemory          = "gpu-memory-too-small"
	WarnCache              = "cache-label-unproven"
	WarnUnknownCount       = "accelerator-count-unknown"
	WarnUnclassified       = "unclassified-group"
	WarnZoneCap            = "zone-cap-exceeded"
	WarnSharing            = "sharing-mismatch"
	WarnShape              = "gpu-shape-mismatch"
	WarnFailure            = "all-options-failed-recently"
)

func (d *draft) warn(code string) {
	if !slices.Contains(d.warnings, code) {
		d.warnings = append(d.warnings, code)
	}
}

// warnGroups reports what the request itself is missing.
func (d *draft) warnGroups() {
	offered := make(map[string]bool, len(d.options))
	for i := range d.options {
		o := &d.options[i]
		offered[o.GroupID] = true
		if len(o.pods) == 0 {
			d.warn(WarnOptionWithoutPods)
		}
		if o.group < 0 {
			d.warn(WarnOptionWithoutNode)
		}
	}
	for i := range d.groups {
		if id := d.groups[i].ID; !offered[id] {
			offered[id] = true // once, without a search through thousands of warnings
			d.warnings = append(d.warnings, WarnGroupWithoutOption+":"+id)
		}
	}
}

// warnChoice reports what is wrong with the choice although nothing better was left.
func (d *draft) warnChoice() {
	if d.chosen < 0 || d.servedBy < 0 {
		return
	}
	o, g := &d.options[d.chosen], d.facts(d.chosen)
	for _, check := range []struct {
		code string
		bad  bool
	}{
		{WarnCPUPods, d.policy.CPUPods != CPUPodsAllow && g.hasAccelerator && !o.accelerated},
		{WarnGPUMemory + ":" + g.ID, d.tooSmallFor(d.servedBy, d.chosen)},
		{WarnZoneCap + ":" + g.ID, d.overZoneCap(d.servedBy, d.chosen)},
		{WarnSharing + ":" + g.ID, d.sharesOtherwise(d.servedBy, d.chosen)},
		{WarnShape + ":" + g.ID, d.lacksCards(d.servedBy, d.chosen)},
		{WarnUnknownCount, o.uncounted},
		{WarnFailure, slices.Contains(d.plans[d.servedBy].relaxed, RejectedFailure)},
	} {
		if check.bad {
			d.warn(check.code)
		}
	}
	for _, c := range d.policy.criteria(d.servedBy) {
		if c.Name == ModelCache {
			d.warnCaches()
		}
	}
}

func (d *draft) warnCaches() {
	for i := range d.options {
		if d.options[i].group >= 0 && d.unprovenCache(i) {
			d.warn(WarnCache + ":" + d.options[i].GroupID)
		}
	}
}
