package cuda

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdEncoder compresses chunks of buffers, each by itself. Its methods may be used from several goroutines.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderConcurrency(2))
	if err != nil {
		panic("BUG: zstd: " + err.Error())
	}
	return e
})

// zstdDecoder decodes them. What a chunk says it decodes to is bounded before memory is allocated.
var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(frameMax), zstd.WithDecoderConcurrency(2))
	if err != nil {
		panic("BUG: zstd: " + err.Error())
	}
	return d
})

// readChunk reads the body of a frame of a buffer's bytes to the end of buf, which grows, and which may have
// at most limit bytes then.
func readChunk(r io.Reader, h header, buf []byte, limit int64) ([]byte, error) {
	at := len(buf)
	if h.kind == frameData {
		if int64(at)+int64(h.length) > limit {
			return buf, fmt.Errorf("more than %d bytes of buffer %d", limit, h.stream)
		}
		buf = grow(buf, int(h.length), limit)
		_, err := io.ReadFull(r, buf[at:])
		return buf, err
	}
	body := make([]byte, h.length)
	if _, err := io.ReadFull(r, body); err != nil {
		return buf, err
	}
	out, err := unpack(body)
	if err != nil {
		return buf, fmt.Errorf("compressed frame of buffer %d: %w", h.stream, err)
	}
	if int64(at)+int64(len(out)) > limit {
		return buf, fmt.Errorf("more than %d bytes of buffer %d", limit, h.stream)
	}
	buf = grow(buf, len(out), limit)
	copy(buf[at:], out)
	return buf, nil
}

// grow makes a buffer n bytes longer. Memory at least doubles, up to limit bytes.
func grow(buf []byte, n int, limit int64) []byte {
	at := len(buf)
	if cap(buf)-at < n {
		more := make([]byte, at, min(max(int64(at+n), 2*int64(cap(buf))), max(limit, int64(at+n))))
		copy(more, buf)
		buf = more
	}
	return buf[:at+n]
}

// lanes is into how many planes the bytes of numbers are sorted before they are compressed: those of a place
// in its number together, where exponents are alike and low bits are noise. Of halves it is two times two.
const lanes = 4

// sampleBytes is what of a chunk decides whether it is sorted.
const sampleBytes = 16 << 10

// pack compresses a chunk: a byte that is 1 or lanes, then as many Zstandard frames, of the bytes as they are
// or one of each plane, so that each has statistics of its own.
func pack(chunk []byte) []byte {
	out := make([]byte, 0, len(chunk)+64)
	sample := chunk[:min(len(chunk), sampleBytes)]
	if len(packPlanes(sample, nil)) < len(zstdEncoder().EncodeAll(sample, nil)) {
		return packPlanes(chunk, append(out, lanes))
	}
	return zstdEncoder().EncodeAll(chunk, append(out, 1))
}

func packPlanes(chunk, out []byte) []byte {
	sorted, n := planes(chunk), len(chunk)/lanes
	for i := range lanes {
		end := n * (i + 1)
		if i == lanes-1 {
			end = len(sorted)
		}
		out = zstdEncoder().EncodeAll(sorted[n*i:end], out)
	}
	return out
}

// unpack is pack's inverse.
func unpack(body []byte) ([]byte, error) {
	if len(body) == 0 || body[0] != 1 && body[0] != lanes {
		return nil, errors.New("malformed packed frame")
	}
	out, err := zstdDecoder().DecodeAll(body[1:], make([]byte, 0, packBytes))
	if err == nil && body[0] == lanes {
		out = joined(out)
	}
	return out, err
}

// planes sorts bytes by their index modulo lanes. What is left over stays at the end.
func planes(b []byte) []byte {
	n := len(b) / lanes
	out := make([]byte, len(b))
	for i := range n {
		out[i], out[n+i], out[2*n+i], out[3*n+i] = b[lanes*i], b[lanes*i+1], b[lanes*i+2], b[lanes*i+3]
	}
	copy(out[lanes*n:], b[lanes*n:])
	return out
}

// joined is the inverse of planes.
func joined(b []byte) []byte {
	n := len(b) / lanes
	out := make([]byte, len(b))
	for i := range n {
		out[lanes*i], out[lanes*i+1], out[lanes*i+2], out[lanes*i+3] = b[i], b[n+i], b[2*n+i], b[3*n+i]
	}
	copy(out[lanes*n:], b[lanes*n:])
	return out
}
