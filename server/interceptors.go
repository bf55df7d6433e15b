package server

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// interceptors are what every call goes through: counted and logged outermost, so that a panic is seen as the error
// that it became.
func (s *Server) interceptors() []grpc.ServerOption {
	onPanic := recovery.WithRecoveryHandlerContext(func(_ context.Context, p any) error {
		s.metrics.panics.Inc()
		s.options.Logger.Error("panic in a handler, the call failed", "panic", p, "stack", string(debug.Stack()))
		return status.Error(codes.Internal, "internal error, see the server's log")
	})
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.metrics.calls.UnaryServerInterceptor(), s.logUnary, s.countFailures, recovery.UnaryServerInterceptor(onPanic), boundUnary),
		grpc.ChainStreamInterceptor(s.metrics.calls.StreamServerInterceptor(), s.logStream, recovery.StreamServerInterceptor(onPanic)),
	}
}

func (s *Server) logUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	start := time.Now()
	answer, err := next(ctx, req)
	s.logCall(ctx, info.FullMethod, start, err)
	return answer, err
}

func (s *Server) logStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	start := time.Now()
	err := next(srv, stream)
	s.logCall(stream.Context(), info.FullMethod, start, err)
	return err
}

// logCall writes one line for a call, at the debug level when nothing is wrong. No part of the request is in it.
// Failures that repeat are thinned out.
func (s *Server) logCall(ctx context.Context, method string, start time.Time, err error) {
	level, code := slog.LevelDebug, status.Code(err)
	switch code {
	case codes.OK, codes.Canceled, codes.Unimplemented:
	default:
		level = slog.LevelWarn
	}
	if !s.options.Logger.Enabled(ctx, level) {
		return
	}
	left := 0
	if level > slog.LevelDebug {
		var due bool
		if left, due = s.failures.admit(method + " " + code.String()); !due {
			return
		}
	}
	from := ""
	if p, ok := peer.FromContext(ctx); ok {
		from = p.Addr.String()
	}
	attrs := []slog.Attr{
		slog.String("method", method), slog.String("code", code.String()),
		slog.Duration("took", time.Since(start)), slog.String("peer", from),
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", status.Convert(err).Message()))
	}
	if left > 0 {
		attrs = append(attrs, slog.Int("like_it_not_logged", left))
	}
	s.options.Logger.LogAttrs(ctx, level, "call", attrs...)
}

func ofScaler(method string) bool {
	const prefix = "/externalscaler.ExternalScaler/"
	return strings.HasPrefix(method, prefix)
}

func (s *Server) requireClientCertificates() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := s.clientCertificate(ctx, info.FullMethod); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := s.clientCertificate(stream.Context(), info.FullMethod); err != nil {
				return err
			}
			return next(srv, stream)
		}),
	}
}
