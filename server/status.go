package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/warmpool/warmpool/engine"
	"github.com/warmpool/warmpool/wire"
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
		{engine.ErrUnknownService, codes.NotFound},
		{engine.ErrInvalidTrigger, codes.InvalidArgument},
		{engine.ErrNoData, codes.Unavailable},
		{engine.ErrTooMany, codes.ResourceExhausted},
		{engine.ErrBusy, codes.ResourceExhausted},
		{engine.ErrNotLeading, codes.FailedPrecondition},
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
