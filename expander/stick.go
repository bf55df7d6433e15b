package expander

// stick finds the group that was chosen a moment ago for most of the pods that an option serves now: the loop right
// after a scale-up still reports them, and a second group must not be grown for them.
func (d *draft) stick(w int) (int, *Choice) {
	memory := d.policy.memory(w)
	if memory.StickFor <= 0 {
		return -1, nil
	}
	pods := map[int]int{}
	for pod, latest := range d.latest {
		if latest >= 0 && d.shapes[d.shapeOf[pod]].workload == w {
			pods[latest]++
		}
	}
	best := -1
	for latest, n := range pods {
		c := &d.history.Choices[latest]
		recent := d.now.Sub(c.At) <= memory.StickFor && !c.Failed && c.Observed == (d.policy.Mode != Active)
		if recent && 2*n > d.standings[w].pods && (best < 0 || latest > best) {
			best = latest
		}
	}
	if best < 0 {
		return -1, nil
	}
	choice := &d.history.Choices[best]
	for _, i := range d.plans[w].valid {
		if _, dropped := d.plans[w].rejected[i]; !dropped && d.options[i].GroupID == choice.Group {
			return i, choice
		}
	}
	return -1, nil
}
