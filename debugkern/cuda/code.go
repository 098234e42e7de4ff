package cuda

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"tilescope/debugkern/cache"
)

// code is what the driver has assembled a module to: a cubin, and what its compiler said of registers and spills.
type code struct {
	Image []byte
	Log   string
}

// codeFormat changes whenever the same text is handed to the driver otherwise than before, or its code kept otherwise.
const codeFormat = "code/1"

func (b *Backend) codeKey(text []byte) cache.Key {
	var h cache.Hasher
	h.Add(codeFormat, b.device.Arch, b.driver, b.device.Name, string(text))
	return h.Key()
}

// recall returns the code that was kept of a text for this device and driver, nil where there is none.
func (b *Backend) recall(text []byte) *code {
	data, ok := b.cfg.Cache.Get(b.codeKey(text))
	if !ok || len(data) < 4 {
		return nil
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n > uint64(len(data)-4) {
		return nil
	}
	return &code{Log: string(data[4 : 4+n]), Image: data[4+n:]}
}

// remember keeps the log behind its length, then the image.
func (b *Backend) remember(text []byte, c *code) {
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(c.Log)))
	b.cfg.Cache.Put(b.codeKey(text), append(append(data, c.Log...), c.Image...))
}

// salted is a module's text with a comment at its end that no text before had: the driver, which keeps a cache of its own and
// says nothing of what it finds there, has to compile, and tells.
func salted(text []byte) []byte {
	salt := make([]byte, 8)
	_, _ = rand.Read(salt) // it never fails
	out := append(make([]byte, 0, len(text)+32), text...)
	out = append(out, "\n// tilescope "...)
	return append(hex.AppendEncode(out, salt), '\n')
}

// assemble has the worker's driver compile PTX for the device. It waits for nobody's turn, and launches go on beside it: the
// worker assembles on threads of its own.
func (b *Backend) assemble(ctx context.Context, text []byte) (*code, error) {
	for n := 1; ; n++ {
		p, err := b.worker(ctx)
		if err != nil {
			return nil, err
		}
		x := &exchange{request: &request{Assemble: &assembleOp{}}, buffers: [][]byte{salted(text)}, limit: max(b.cfg.Timeout, startTimeout), apart: true}
		err = p.exchange(ctx, x)
		if err == nil && (x.result.Assemble == nil || len(x.body) == 0) {
			err = errors.New("malformed answer")
		}
		if err == nil {
			return &code{Image: x.body, Log: x.result.Assemble.Log}, nil
		}
		if ctxErr(err) {
			return nil, err
		}
		lost := lostContext(err)
		if lost || useless(p, err) {
			b.dropIf(p)
		}
		if (lost || outside(err)) && n < attempts {
			continue
		}
		return nil, err
	}
}

// lostContext reports that a call failed for what a kernel has done: nothing that assembling can bring about.
func lostContext(err error) bool {
	var remote *remoteError
	if !errors.As(err, &remote) {
		return false
	}
	_, known := faults[remote.Code]
	return known
}

// worker returns the process that serves the backend, with its device open; the turn is waited for only where there is none.
func (b *Backend) worker(ctx context.Context) (*process, error) {
	if p := b.running.Load(); p != nil {
		return p, nil
	}
	if err := b.acquire(ctx); err != nil {
		return nil, err
	}
	defer b.release()
	err := b.ensure(ctx)
	return b.proc, err
}

// dropIf ends a worker where it is still the backend's.
func (b *Backend) dropIf(p *process) {
	<-b.turn
	defer b.release()
	if b.proc == p {
		b.drop()
	}
}
