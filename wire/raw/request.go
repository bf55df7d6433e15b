package raw

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// pieceSize is how much of a message is read at once. Reading more than a window opens the window by as much, so the
// sender need not wait for every window; and a piece that was just received is still in the processor's cache, which
// larger pieces lose.
const pieceSize = 1 << 20

// Request is an undecoded message. It is a wire.Source, can be read once, and only until the handler returns.
type Request struct {
	size   int64
	stream transportStream
	// unread is what has still to come from the stream.
	unread int64
	// buffers are received and not yet read; held is the one that was handed out last.
	buffers mem.BufferSlice
	held    mem.Buffer
}

// Size is the length of the message in bytes.
func (r *Request) Size() int64 { return r.size }

// Next returns the next piece, valid until the next call, or io.EOF. An error of the stream is a gRPC status.
func (r *Request) Next() ([]byte, error) {
	r.release()
	if len(r.buffers) == 0 {
		if r.unread == 0 {
			return nil, io.EOF
		}
		n := min(r.unread, pieceSize)
		buffers, err := r.stream.Read(int(n))
		if err != nil {
			return nil, streamError(err)
		}
		r.buffers, r.unread = buffers, r.unread-n
	}
	r.held, r.buffers = r.buffers[0], r.buffers[1:]
	return r.held.ReadOnlyData(), nil
}

func (r *Request) release() {
	if r.held != nil {
		r.held.Free()
		r.held = nil
	}
}

// free gives everything back that was received.
func (r *Request) free() {
	r.release()
	r.buffers.Free()
	r.buffers, r.unread = nil, 0
}

// transportStream is what we use of the stream below a call.
type transportStream interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
}

// open reads the length of the message, and nothing else of it. It returns false without a usable stream.
func open(ctx context.Context) (*Request, bool, error) {
	stream, ok := grpc.ServerTransportStreamFromContext(ctx).(transportStream)
	if !ok {
		return nil, false, nil
	}
	var header [5]byte
	if err := stream.ReadMessageHeader(header[:]); err != nil {
		return nil, true, streamError(err)
	}
	if header[0] != 0 {
		return nil, true, status.Error(codes.Unimplemented, "compressed requests are not supported: send BestOptions uncompressed")
	}
	size := int64(binary.BigEndian.Uint32(header[1:]))
	return &Request{size: size, stream: stream, unread: size}, true, nil
}

func streamError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Error(codes.InvalidArgument, "the request ends before its announced length")
	}
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	return status.FromContextError(fmt.Errorf("read request: %w", err)).Err()
}
