package raw

import (
	"fmt"
	"slices"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec for every other message
	"google.golang.org/grpc/mem"
)

// Bytes is a message that is serialised already. A client that uses the [Codec] sends it without copying.
type Bytes []byte

// Codec is the protobuf codec, except that a [Request] keeps the received buffers instead of decoding them, and
// [Bytes] are sent as they are. Servers install it with grpc.ForceServerCodecV2, clients with grpc.ForceCodecV2.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2("proto")} }

type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(Bytes); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	out, err := c.CodecV2.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("marshal %T: %w", v, err)
	}
	return out, nil
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*Request)
	if !ok {
		if err := c.CodecV2.Unmarshal(data, v); err != nil {
			return fmt.Errorf("unmarshal %T: %w", v, err)
		}
		return nil
	}
	data.Ref() // freed by the request
	r.buffers, r.size = slices.Clone(data), int64(data.Len())
	return nil
}
