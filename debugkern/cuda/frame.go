package cuda

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// The worker protocol, version 4.
//
// Two streams of frames, one each way; standard input and output here, any pair of byte streams elsewhere. A
// frame is a header of 16 bytes, little endian, and a body:
//
//	length u32   bytes of the body, at most 4 MiB
//	kind   u16
//	stream u16   of frameData and framePacked: which of the request's buffers the bytes belong to
//	id     u64   the request that the frame belongs to
//
// The worker opens with frameHello (JSON hello). Then the parent sends requests: frameRequest (JSON request,
// which says how many bytes each of its buffers has), followed by the buffers as frameData, stream by stream,
// in order. The worker answers with any number of frameProgress (JSON progress; it also says "still alive")
// and frameData, and ends the request with frameResult (JSON result) or frameError (JSON failure).
// frameCancel asks the worker to end a request early, with a failure that says cancelled. How many bytes each
// answered stream has follows from the request. In place of frameData either side may send framePacked, whose
// body is Zstandard frames (RFC 8878) of at most 4 MiB together, see pack. framePing is answered by
// framePong of the same id at any time. Requests are sent one after the other, each when the one before has
// ended; save for load: any number of those may be under way at the same time, each answered when it is done.
//
// After a failure that says fatal the device's context is lost: the worker ends. Where the parent's stream
// ends, the worker ends at once, whatever the device is doing. A worker over a link (WorkerOptions.Linked)
// precedes frameHello with the line linkMark, since a login script may print text first, packs what it
// answers, and also ends where it hears nothing for silenceLimit.
const protocolVersion = 4

// linkMark is the line that precedes a worker's frames on a link.
const linkMark = "\ntilescope worker\n"

type frameKind uint16

const (
	frameHello frameKind = iota + 1
	frameRequest
	frameData
	frameProgress
	frameResult
	frameError
	frameCancel
	framePacked
	framePing
	framePong
)

const (
	frameHeader = 16
	frameMax    = 4 << 20
	chunkBytes  = 1 << 20   // of streamed buffers
	packBytes   = 256 << 10 // of those that are compressed: over a slow link each is a sign of life
)

type header struct {
	length uint32
	kind   frameKind
	stream uint16
	id     uint64
}

// frameWriter writes whole frames; it may be used from several goroutines.
type frameWriter struct {
	mu   sync.Mutex
	w    io.Writer
	pack bool          // buffers are compressed where that makes them smaller
	raw  *atomic.Int64 // counts bytes of buffers before that; nil: they are not counted
}

func (f *frameWriter) write(kind frameKind, stream uint16, id uint64, body []byte) error {
	if len(body) > frameMax {
		return fmt.Errorf("BUG: frame of %d bytes", len(body))
	}
	var h [frameHeader]byte
	le := binary.LittleEndian
	le.PutUint32(h[0:], uint32(len(body)))
	le.PutUint16(h[4:], uint16(kind))
	le.PutUint16(h[6:], stream)
	le.PutUint64(h[8:], id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.w.Write(h[:]); err != nil {
		return err
	}
	if len(body) == 0 {
		return nil
	}
	_, err := f.w.Write(body)
	return err
}

func (f *frameWriter) json(kind frameKind, id uint64, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	return f.write(kind, 0, id, body)
}

// data streams one buffer in chunks; sent, where it is given, is called after each.
func (f *frameWriter) data(stream int, id uint64, buf []byte, sent func() error) error {
	for len(buf) > 0 {
		n := min(len(buf), chunkBytes)
		if f.pack {
			n = min(n, packBytes)
		}
		kind, body := frameData, buf[:n]
		if f.pack {
			if packed := pack(body); len(packed) < n {
				kind, body = framePacked, packed
			}
		}
		if err := f.write(kind, uint16(stream), id, body); err != nil {
			return err
		}
		if f.raw != nil {
			f.raw.Add(int64(n))
		}
		buf = buf[n:]
		if sent != nil {
			if err := sent(); err != nil {
				return err
			}
		}
	}
	return nil
}

// pieces streams one buffer that lies in pieces, in whole chunks: small ones cost time and compress badly.
func (f *frameWriter) pieces(stream int, id uint64, pieces [][]byte) error {
	chunk := make([]byte, 0, chunkBytes)
	for _, piece := range pieces {
		for len(piece) > 0 {
			n := min(len(piece), cap(chunk)-len(chunk))
			chunk, piece = append(chunk, piece[:n]...), piece[n:]
			if len(chunk) < cap(chunk) {
				continue
			}
			if err := f.data(stream, id, chunk, nil); err != nil {
				return err
			}
			chunk = chunk[:0]
		}
	}
	return f.data(stream, id, chunk, nil)
}

// readHeader reads a frame's header; the body is still to be read. io.EOF between frames is
// the end of the stream.
func readHeader(r io.Reader) (header, error) {
	var b [frameHeader]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return header{}, err
	}
	le := binary.LittleEndian
	h := header{le.Uint32(b[0:]), frameKind(le.Uint16(b[4:])), le.Uint16(b[6:]), le.Uint64(b[8:])}
	if h.length > frameMax || h.kind < frameHello || h.kind > framePong {
		return header{}, fmt.Errorf("malformed frame: kind %d, %d bytes", h.kind, h.length)
	}
	return h, nil
}

// readJSON reads the body of a frame into v.
func readJSON(r io.Reader, h header, v any) error {
	var body bytes.Buffer // grows with what arrives, whatever the header says
	if n, err := io.CopyN(&body, r, int64(h.length)); err != nil {
		if errors.Is(err, io.EOF) && n > 0 {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if err := json.Unmarshal(body.Bytes(), v); err != nil {
		return fmt.Errorf("malformed frame of kind %d: %w", h.kind, err)
	}
	return nil
}
