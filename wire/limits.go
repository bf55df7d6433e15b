package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Limits bounds what one request may make us hold. A field that is 0 has its default.
type Limits struct {
	// Options is the largest number of options; default 5000.
	Options int
	// Groups is the largest number of node templates; default 10000.
	Groups int
	// Pods is the largest number of distinct pods; default 50000.
	Pods int
	// PodEntries is the largest number of pods summed over all options, repetitions included; default 4000000.
	PodEntries int
	// Fields is the largest number of fields, as far as they are kept, in all distinct pods and nodes together, because a
	// few bytes on the wire may be a hundred in memory; default 1500000, and 10000 are the most in one object.
	Fields int
	// Held is about the most bytes that the request may take in memory; default 256 MiB, enough for some 15,000 distinct
	// pods of 5 KiB.
	Held int
	// GroupsHeld is the part of Held that node templates may take, because those of the last request are kept; default
	// 64 MiB, enough for some 6,000 of them.
	GroupsHeld int
	// Budget bounds all requests together; nil does not.
	Budget *Budget
	// ObjectBytes is the size of the largest pod or node; default 2 MiB, above what etcd stores.
	ObjectBytes int
	// IDBytes is the length of the longest node group id; default 1024.
	IDBytes int
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		value    *int
		standard int
	}{
		{&l.Options, 5000},
		{&l.Groups, 10_000},
		{&l.Pods, 50_000},
		{&l.PodEntries, 4_000_000},
		{&l.Fields, 1_500_000},
		{&l.Held, 256 << 20},
		{&l.GroupsHeld, 64 << 20},
		{&l.ObjectBytes, 2 << 20},
		{&l.IDBytes, 1024},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	return l
}

// Stats is what a request was made of.
type Stats struct {
	// Bytes is the length of the message.
	Bytes int64
	// Options and Groups count the options and node templates.
	Options, Groups int
	// PodEntries counts the pods of all options in the fields that were used; DistinctPods counts each pod once.
	PodEntries, DistinctPods int
	// OptionsWithoutPods counts options whose pods are unknown.
	OptionsWithoutPods int
	// Held is about how many bytes the request takes in memory. They are taken from [Limits.Budget] until they are returned.
	Held int64
	// Typed and AsBytes tell which generations of the protocol were filled: 1.24 to 1.34.1 fill Typed, 1.34.2 to
	// 1.34.5 both, 1.35 and newer AsBytes.
	Typed, AsBytes bool
}

// ErrInvalid is the kind of every [Error] about bytes that are no BestOptions request.
var ErrInvalid = errors.New("invalid request")

// ErrLimit is the kind of every [Error] about a request that is beyond its [Limits].
var ErrLimit = errors.New("request beyond the limits")

// Error is a fault in the content of a request.
type Error struct {
	// Kind is ErrInvalid or ErrLimit.
	Kind error
	// Option is the index of the option in the request, or -1.
	Option int
	// GroupID is the node group id, as far as it was known when the fault was found.
	GroupID string
	// Field is the part that is wrong, such as pod[3].
	Field string
	// Err says what is wrong with it.
	Err error
}

// Error names the place and the fault.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind.Error())
	if e.Option >= 0 {
		fmt.Fprintf(&b, ": option %d", e.Option)
	}
	if e.GroupID != "" {
		fmt.Fprintf(&b, ": node group %q", e.GroupID)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

func invalidf(format string, args ...any) *Error {
	return &Error{Kind: ErrInvalid, Option: -1, Err: fmt.Errorf(format, args...)}
}

func beyond(what string, limit int) *Error {
	return &Error{Kind: ErrLimit, Option: -1, Err: fmt.Errorf("more than %d %s", limit, what)}
}

// inField and inOption add the place to a fault where it is not known more precisely; other errors pass.
func inField(err error, field string) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Field == "" {
		e.Field = field
	}
	return err
}

func inOption(err error, option int, groupID string) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Option < 0 {
		e.Option, e.GroupID = option, groupID
	}
	return err
}
