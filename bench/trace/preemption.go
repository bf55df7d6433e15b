package trace

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"
)

// EventKind is what happened to a spot instance.
type EventKind string

// The kinds of spot events.
const (
	Created        EventKind = "created"
	Running        EventKind = "running"
	NotRunning     EventKind = "not_running"
	CreationFailed EventKind = "creation_failed"
	Deleted        EventKind = "deleted"
)

// SpotEvent is one event of one spot instance. GPUs, GPU and Zone are empty until the recording names them.
type SpotEvent struct {
	At       time.Time
	Instance string
	Kind     EventKind
	GPUs     int64
	GPU      string
	Zone     string
}

var eventKinds = map[string]EventKind{
	"created": Created, "running": Running, "not_running": NotRunning, "creation_failed": CreationFailed, "deleted": Deleted,
}

// ReadSpotEvents reads "timestamp,instance,event,gpus,gpu_type,zone".
func ReadSpotEvents(file string, r io.Reader) ([]SpotEvent, error) {
	t, err := newTable(file, r, []string{"timestamp", "instance", "event", "gpus", "gpu_type", "zone"})
	if err != nil {
		return nil, err
	}
	return each(t, t.spotEvent)
}

func (t *table) spotEvent() (SpotEvent, error) {
	at, err := t.moment(time.RFC3339)
	if err != nil {
		return SpotEvent{}, err
	}
	kind, ok := eventKinds[t.row[2]]
	if !ok {
		return SpotEvent{}, t.fail(2, "%q is not a known event", t.row[2])
	}
	e := SpotEvent{At: at, Instance: t.row[1], Kind: kind, GPU: t.row[4], Zone: t.row[5]}
	if t.row[3] != "" {
		e.GPUs, err = t.integer(3)
	}
	return e, err
}

// The lines of the log of a program that keeps preemptible instances asked for.
var (
	logLine     = regexp.MustCompile(`^\[([^\]]+)\] (.+)$`)
	logCreated  = regexp.MustCompile(`^Created instance (\S+) with (\d+) GPU\(s\) of type (\S+) in zone (\S+)$`)
	logState    = regexp.MustCompile(`^Instance (\S+) (running|not running) in zone (\S+)$`)
	logFailed   = regexp.MustCompile(`^Instance (\S+) creation failed$`)
	logDeletion = regexp.MustCompile(`^Successfully deleted instance (\S+)$`)
)

// ReadSpotLog reads the preemptible-instance log of Narayanan et al.
func ReadSpotLog(file string, r io.Reader) ([]SpotEvent, error) {
	var out []SpotEvent
	scan := bufio.NewScanner(r)
	for line := 1; scan.Scan(); line++ {
		if scan.Text() == "" {
			continue
		}
		parts := logLine.FindStringSubmatch(scan.Text())
		if parts == nil {
			return nil, &FormatError{File: file, Line: line, Column: 1, Problem: "expected [time] and a message"}
		}
		at, err := time.Parse(time.RFC3339, parts[1])
		if err != nil {
			return nil, &FormatError{File: file, Line: line, Column: 2, Problem: fmt.Sprintf("%q is not an RFC 3339 time", parts[1])}
		}
		e, ok := logEvent(parts[2])
		if !ok {
			return nil, &FormatError{File: file, Line: line, Column: len(parts[1]) + 4, Problem: fmt.Sprintf("the message %q is not known", parts[2])}
		}
		e.At = at.UTC()
		out = append(out, e)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return out, nil
}

func logEvent(message string) (SpotEvent, bool) {
	if m := logCreated.FindStringSubmatch(message); m != nil {
		n, err := strconv.ParseInt(m[2], 10, 64)
		return SpotEvent{Instance: m[1], Kind: Created, GPUs: n, GPU: m[3], Zone: m[4]}, err == nil
	}
	if m := logState.FindStringSubmatch(message); m != nil {
		kind := Running
		if m[2] != "running" {
			kind = NotRunning
		}
		return SpotEvent{Instance: m[1], Kind: kind, Zone: m[3]}, true
	}
	if m := logFailed.FindStringSubmatch(message); m != nil {
		return SpotEvent{Instance: m[1], Kind: CreationFailed}, true
	}
	if m := logDeletion.FindStringSubmatch(message); m != nil {
		return SpotEvent{Instance: m[1], Kind: Deleted}, true
	}
	return SpotEvent{}, false
}

// NodeCount is how many spot nodes ran from a moment on.
type NodeCount struct {
	At    time.Duration
	Nodes int64
}

// ReadNodeEvents reads Bamboo's spot groups: rows without a header of milliseconds, add or remove, and node name. The
// result is the number of running nodes after each moment with a change.
func ReadNodeEvents(file string, r io.Reader) ([]NodeCount, error) {
	t := headlessTable(file, r, 3)
	running := map[string]bool{}
	var out []NodeCount
	for row, err := range t.rows() {
		if err != nil {
			return nil, err
		}
		ms, err := t.integer(0)
		if err != nil {
			return nil, err
		}
		at := time.Duration(ms) * time.Millisecond
		switch node := row[2]; {
		case row[1] == "add" && !running[node]:
			running[node] = true
		case row[1] == "remove" && running[node]:
			delete(running, node)
		default:
			return nil, t.fail(1, "%q of %s makes no sense here; expected add of an absent node or remove of a running one", row[1], node)
		}
		if out, err = t.count(out, at, int64(len(running))); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// count appends a count, replacing one of the same moment.
func (t *table) count(out []NodeCount, at time.Duration, nodes int64) ([]NodeCount, error) {
	if n := len(out); n > 0 {
		switch last := out[n-1].At; {
		case at < last:
			return nil, t.fail(0, "%s is before the row before it", t.row[0])
		case at == last:
			out = out[:n-1]
		}
	}
	return append(out, NodeCount{At: at, Nodes: nodes}), nil
}

// ReadNodeCounts reads "seconds,running_nodes", or rows without a header of date, time of day and running instances,
// counted from the first row on.
func ReadNodeCounts(file string, r io.Reader) ([]NodeCount, error) {
	br := bufio.NewReader(r)
	head, err := br.Peek(1)
	if err != nil {
		return nil, &FormatError{File: file, Line: 1, Problem: "the file is empty"}
	}
	if head[0] == 's' {
		t, err := newTable(file, br, []string{"seconds", "running_nodes"})
		if err != nil {
			return nil, err
		}
		return t.counts(1, func() (time.Duration, error) {
			sec, err := t.number(0)
			return time.Duration(sec * float64(time.Second)), err
		})
	}
	t := headlessTable(file, br, 3)
	var start time.Time
	return t.counts(2, func() (time.Duration, error) {
		at, err := time.Parse(plainTime, t.row[0]+" "+t.row[1])
		if err != nil {
			return 0, t.fail(0, "%q and %q are not a date and a time of day", t.row[0], t.row[1])
		}
		if start.IsZero() {
			start = at
		}
		return at.Sub(start), nil
	})
}

func (t *table) counts(column int, at func() (time.Duration, error)) ([]NodeCount, error) {
	var out []NodeCount
	for _, err := range t.rows() {
		if err != nil {
			return nil, err
		}
		when, err := at()
		if err != nil {
			return nil, err
		}
		nodes, err := t.integer(column)
		if err != nil {
			return nil, err
		}
		if out, err = t.count(out, when, nodes); err != nil {
			return nil, err
		}
	}
	return out, nil
}
