package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/wire"
)

// The errors that a Scaler or an Expander wraps, so that each becomes the status that leads the client to the right
// reaction.
var (
	// ErrUnknownService: no service of that name is configured.
	ErrUnknownService = errors.New("unknown service")
	// ErrInvalidTrigger: the metadata of a trigger cannot be used; the error names the keys, never a value.
	ErrInvalidTrigger = errors.New("invalid trigger metadata")
	// ErrUnavailable: there is no valid data yet, or it is older than it may be.
	ErrUnavailable = errors.New("no valid data")
)

// statusOf translates an error of the engine. It is the only place that does.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codeOf(err), err.Error())
}

func codeOf(err error) codes.Code {
	for _, c := range []struct {
		target error
		code   codes.Code
	}{
		{ErrUnknownService, codes.NotFound},
		{ErrInvalidTrigger, codes.InvalidArgument},
		{ErrUnavailable, codes.Unavailable},
		{wire.ErrInvalid, codes.InvalidArgument},
		{wire.ErrLimit, codes.ResourceExhausted},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
	} {
		if errors.Is(err, c.target) {
			return c.code
		}
	}
	return codes.Internal
}
