package signals

import (
	"context"
	"errors"
	"fmt"
	"net"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// Class says what kind of failure an [Error] is; it is a label value of metrics.
type Class string

// The classes. Unreachable to Answer, and Skew, concern a whole request, Empty to Age one service's row of it.
const (
	// Unreachable is a connection that failed or broke off.
	Unreachable Class = "unreachable"
	// Timeout is a request, or its turn, that did not come in time.
	Timeout Class = "timeout"
	// Throttled is status 429.
	Throttled Class = "throttled"
	// Unavailable is a status from 500 on.
	Unavailable Class = "unavailable"
	// Refused is any other status that is not 2xx: a wrong query, missing rights, a wrong address.
	Refused Class = "refused"
	// Answer is a body that is too large or not an answer of the API.
	Answer Class = "answer"
	// WrongType is a result that is no number, such as a range vector, a string or a histogram.
	WrongType Class = "wrong-type"
	// Empty is a result without a row for the service.
	Empty Class = "empty"
	// Ambiguous is a result with several rows for one service.
	Ambiguous Class = "ambiguous"
	// Invalid is NaN, an infinity or a negative value.
	Invalid Class = "invalid"
	// Skew is an answer from another time: the clocks of the store and of this machine are too far apart.
	Skew Class = "skew"
	// Age is a sample whose age is unknown.
	Age Class = "age"
)

// Error is why a query has no valid reading.
type Error struct {
	class  Class
	detail string
	cause  error
}

// Error names the class first, so that equal causes read alike.
func (e *Error) Error() string {
	if e.cause == nil {
		return string(e.class) + ": " + e.detail
	}
	if e.detail == "" {
		return fmt.Sprintf("%s: %v", e.class, e.cause)
	}
	return fmt.Sprintf("%s: %s: %v", e.class, e.detail, e.cause)
}

// Unwrap returns what the client library reported, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Class is the kind of failure as a metric label.
func (e *Error) Class() string { return string(e.class) }

func failf(class Class, format string, args ...any) *Error {
	return &Error{class: class, detail: fmt.Sprintf(format, args...)}
}

// longestDetail bounds what a foreign server can write into our records.
const longestDetail = 200

// requestError turns an error of the client library into one of ours. status is the HTTP status, 0 without an answer;
// hide takes out of a foreign text what must not be shown.
func requestError(err error, status int, hide func(string) string) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	var network net.Error
	var reply *promv1.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.As(err, &network) && network.Timeout():
		return failf(Timeout, "no answer in time; is the server overloaded, or prometheus.timeout too short?")
	case status == 429:
		return failf(Throttled, "the server refuses so many requests (status 429)")
	case status >= 500:
		return failf(Unavailable, "status %d%s", status, shortDetail(err, hide))
	case status >= 300:
		return failf(Refused, "status %d%s", status, shortDetail(err, hide))
	case status >= 200 && errors.As(err, &reply):
		return failf(Answer, "not an answer of the Prometheus API: %s", shorten(hide(reply.Msg)))
	case status >= 200:
		return &Error{class: Unreachable, detail: "the answer broke off", cause: err}
	default:
		return &Error{class: Unreachable, cause: err}
	}
}

func shortDetail(err error, hide func(string) string) string {
	var reply *promv1.Error
	if errors.As(err, &reply) && reply.Msg != "" {
		return ": " + shorten(hide(reply.Msg))
	}
	return ""
}

func shorten(text string) string {
	if len(text) <= longestDetail {
		return text
	}
	return text[:longestDetail] + "..."
}

// retryable tells whether another attempt may help. A timeout is not repeated: it would load a slow server twice.
func (e *Error) retryable() bool {
	switch e.class {
	case Unreachable, Throttled, Unavailable:
		return true
	default:
		return false
	}
}
