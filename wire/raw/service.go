package raw

import (
	"context"

	"google.golang.org/grpc"

	"github.com/warmpool/warmpool/proto/grpcplugin"
)

// Handler answers BestOptions. The request is not valid after it has returned.
type Handler interface {
	BestOptions(ctx context.Context, req *Request) (*grpcplugin.BestOptionsResponse, error)
}

// RegisterExpander registers the grpcplugin.Expander service. A nil gate has the default [Bounds].
//
// Unary interceptors run as for any other method, with a *Request in place of the message, and before any of its
// bytes have been read. Requests that the gate refuses pass them too, so that logs and metrics count the refusals.
func RegisterExpander(s grpc.ServiceRegistrar, h Handler, gate *LargeGate) {
	if gate == nil {
		gate = NewLargeGate(Bounds{})
	}
	desc := grpcplugin.Expander_ServiceDesc
	desc.HandlerType = (*Handler)(nil)
	desc.Methods = []grpc.MethodDesc{{MethodName: "BestOptions", Handler: method(gate)}}
	s.RegisterService(&desc, h)
}

// method receives a request, passes it through the interceptors and the gate, and frees it.
func method(gate *LargeGate) grpc.MethodHandler {
	return func(srv any, ctx context.Context, receive func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		req, direct, err := open(ctx)
		if !direct {
			req = &Request{}
			err = receive(req)
		}
		if req == nil {
			req = &Request{}
		}
		defer req.free()
		handle := func(ctx context.Context, _ any) (any, error) {
			if err != nil {
				return nil, err
			}
			leave, err := gate.Enter(ctx, req.size)
			if err != nil {
				return nil, err
			}
			defer leave()
			return srv.(Handler).BestOptions(ctx, req) //nolint:forcetypeassert // RegisterService has checked it
		}
		if intercept == nil {
			return handle(ctx, req)
		}
		info := &grpc.UnaryServerInfo{Server: srv, FullMethod: grpcplugin.Expander_BestOptions_FullMethodName}
		return intercept(ctx, req, info, handle)
	}
}
