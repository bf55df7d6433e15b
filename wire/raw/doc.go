// Package raw serves grpcplugin.Expander/BestOptions without ever holding the whole request.
//
// [RegisterExpander] registers the method with its unary interceptors as usual, but the handler gets a [Request]
// that reads the message from the stream while it is decoded: each piece goes back to the transport's pool before
// the next one is read.
//
// # What is bounded, and what is not
//
// The length of a gRPC message comes first, in five bytes. [LargeGate] decides on those: a request that is refused
// gets ResourceExhausted at once, and of its bytes only those are held that fit the stream's flow-control window,
// which does not open before somebody reads. Per admitted request there is one piece of 1 MiB plus the window
// (64 KiB at first; gRPC raises it up to 16 MiB with the measured bandwidth, and grpc.StaticStreamWindowSize fixes
// it), plus what the decoder keeps: the distinct pods and nodes, at most the length of the message.
// So for all calls together it is InFlight × Limit for large ones and Small for the others, in the worst case of a
// sender that repeats nothing; a Cluster Autoscaler's request stays far below that. Not bounded here: the windows
// of streams that were opened and not read. Set grpc.MaxConcurrentStreams and limit the connections of the listener
// for that. grpc.MaxRecvMsgSize does not apply to this method; Limit does.
//
// A large request must carry a deadline, because a sender that stalls holds the place of a large request for as
// long as it may take.
//
// # Depending on the transport
//
// The direct way needs two methods that the transport stream of grpc-go has but does not promise. Where they are
// missing the request is received as a whole by the [Codec], which then has to be installed with
// grpc.ForceServerCodecV2, and the gate counts it after receipt. A test fails if the direct way is lost.
package raw
