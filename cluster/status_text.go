package cluster

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const textHead = "Cluster-autoscaler status at "

func isTextStatus(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), textHead) }

// pairPattern finds the counts of a line, such as "registered=3".
var pairPattern = regexp.MustCompile(`([A-Za-z]+)=(-?\d+)`)

// textReader goes through the text line by line: a group begins with its name, and each of its parts with the part's
// state and counts, followed by two times.
type textReader struct {
	out   Status
	group *GroupStatus
	// part is the part of the group that the last lines were about: Health, ScaleUp or ScaleDown.
	part  string
	state string
	code  string
	note  string
}

func parseTextStatus(text string) (Status, error) {
	r := &textReader{}
	inGroups := false
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(line, textHead):
			r.out.At = parseTime(strings.TrimSuffix(strings.TrimPrefix(line, textHead), ":"))
			r.out.Running = true
		case line == "NodeGroups:":
			inGroups = true
		case !ok || !inGroups:
		case key == "Name":
			r.begin(value)
		case r.group != nil:
			r.read(key, value)
		}
	}
	r.end()
	if r.out.At.IsZero() && len(r.out.Groups) == 0 {
		return Status{}, fmt.Errorf("%w: neither a time nor a node group", errStatus)
	}
	return r.out, nil
}

func (r *textReader) begin(name string) {
	r.end()
	if name == "" {
		return
	}
	g := unknownStatus()
	g.Name = name
	r.group = &g
}

func (r *textReader) end() {
	if r.group != nil {
		r.out.Groups = append(r.out.Groups, *r.group)
	}
	*r = textReader{out: r.out}
}

func (r *textReader) read(key, value string) {
	switch key {
	case "Health", "ScaleUp", "ScaleDown":
		r.part = key
		state, _, _ := strings.Cut(value, " ")
		r.state, r.code, r.note = state, "", ""
		counts := map[string]int{}
		for _, pair := range pairPattern.FindAllStringSubmatch(value, -1) {
			if n, err := strconv.Atoi(pair[2]); err == nil {
				counts[pair[1]] = n
			}
		}
		r.take(counts)
	case "ErrorCode":
		r.code = value
		r.hold("")
	case "ErrorMessage":
		r.note = value
		r.hold("")
	case "LastTransitionTime":
		r.hold(value)
	}
}

// take reads the first line of a part.
func (r *textReader) take(counts map[string]int) {
	set := func(name string, to *int) {
		if n, ok := counts[name]; ok && n >= 0 {
			*to = n
		}
	}
	g := r.group
	switch r.part {
	case "Health":
		g.Healthy = r.state != "Unhealthy"
		for name, to := range map[string]*int{
			"ready": &g.Ready, "registered": &g.Registered, "cloudProviderTarget": &g.Target, "minSize": &g.Min,
			"maxSize": &g.Max, "notStarted": &g.NotStarted, "longUnregistered": &g.LongUnregistered,
		} {
			set(name, to)
		}
	case "ScaleUp":
		g.Growing = r.state == "InProgress"
		set("cloudProviderTarget", &g.Target)
		r.hold("")
	}
}

// hold notes a backoff with what is known of it so far.
func (r *textReader) hold(since string) {
	if r.part != "ScaleUp" {
		return
	}
	at := parseTime(since)
	if at.IsZero() && r.group.Backoff != nil {
		at = r.group.Backoff.Since
	}
	r.group.Backoff = backoff(r.state, r.code, r.note, at)
}
