package cuda

import (
	"errors"
	"fmt"
)

const (
	guardBytes = 16 << 10 // before and behind every device buffer; a tile of 32×64 floats fits twice
	poolLimit  = 1 << 30
	// unwrittenByte is what memory that nobody wrote reads as, as in the emulator.
	unwrittenByte = 0xff
	// probingByte is what outputs start as in the launch that distinguishes an element that was never written
	// from one that was written with the bytes it had.
	probingByte = 0x00
)

// guardPattern is what the bands hold. Neighbouring bytes differ, and none is a byte that
// kernels like to write.
var guardPattern = func() []byte {
	g := make([]byte, guardBytes)
	x := uint32(0x9e3779b9)
	for i := range g {
		for {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			if b := byte(x >> 11); b != 0 && b != 0xff {
				g[i] = b
				break
			}
		}
	}
	return g
}()

// deviceBuffer is device memory between two guard bands.
type deviceBuffer struct {
	base  uint64 // of the allocation; the buffer starts guardBytes later
	bytes int64
	init  []byte // contents before each launch; nil: unwrittenByte, or fill
	zero  bool   // fill, not unwrittenByte
	fill  byte
}

func (b *deviceBuffer) addr() uint64 { return b.base + guardBytes }

// allocate takes a buffer from the pool, or makes one.
func (w *worker) allocate(bytes int64) (*deviceBuffer, error) {
	if w.bare {
		return w.allocateBare(bytes)
	}
	if free := w.pool[bytes]; len(free) > 0 {
		base := free[len(free)-1]
		w.pool[bytes] = free[:len(free)-1]
		w.pooled -= bytes
		return &deviceBuffer{base: base, bytes: bytes}, nil
	}
	b := &deviceBuffer{bytes: bytes}
	var err error
	// the comparison reads whole words
	if b.base, err = w.reserve(uint(bytes + 2*guardBytes + 4)); err != nil {
		return nil, fmt.Errorf("a buffer of %d bytes: %w", bytes, err)
	}
	if err := w.guard(b); err != nil {
		w.drv.memFree(b.base)
		return nil, err
	}
	return b, nil
}

// reserve allocates memory, at the cost of what is kept for reuse.
func (w *worker) reserve(size uint) (at uint64, err error) {
	err = w.drv.check("cuMemAlloc", w.drv.memAlloc(&at, size))
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == cuOutOfMemory && w.pooled > 0 {
		w.drain()
		err = w.drv.check("cuMemAlloc", w.drv.memAlloc(&at, size))
	}
	return at, err
}

// release puts buffers into the pool. After a failure that lost the context nothing of this matters any more.
func (w *worker) release(buffers []*deviceBuffer) {
	for _, b := range buffers {
		w.pool[b.bytes] = append(w.pool[b.bytes], b.base)
		w.pooled += b.bytes
	}
	if w.pooled > poolLimit {
		w.drain()
	}
}

func (w *worker) drain() {
	for _, free := range w.pool {
		for _, base := range free {
			w.drv.memFree(base)
		}
	}
	clear(w.pool)
	w.pooled = 0
}

// guard writes both bands.
func (w *worker) guard(b *deviceBuffer) error {
	if err := w.drv.check("cuMemcpyHtoD", w.drv.copyIn(b.base, guardPattern, guardBytes)); err != nil {
		return err
	}
	return w.drv.check("cuMemcpyHtoD", w.drv.copyIn(b.addr()+uint64(b.bytes), guardPattern, guardBytes))
}

// checkGuards reads both bands of buffer number n, reports what was written to them, and repairs them.
func (w *worker) checkGuards(n int, b *deviceBuffer, launch int) ([]overrun, error) {
	var found []overrun
	band := make([]byte, guardBytes)
	for _, after := range []bool{false, true} {
		at := b.base
		if after {
			at = b.addr() + uint64(b.bytes)
		}
		if err := w.drv.check("cuMemcpyDtoH", w.drv.copyOut(band, at, guardBytes)); err != nil {
			return nil, err
		}
		first, last, count := -1, -1, 0
		for i, v := range band {
			if v != guardPattern[i] {
				if first < 0 {
					first = i
				}
				last = i
				count++
			}
		}
		if count == 0 {
			continue
		}
		o := overrun{Buffer: n, After: after, First: int64(first), Bytes: count, Launch: launch}
		if !after {
			o.First = int64(guardBytes - 1 - last)
		}
		found = append(found, o)
	}
	if found != nil {
		return found, w.guard(b)
	}
	return nil, nil
}

// reset has the buffer given its contents before the next launch, in the stream's order. probing turns
// unwritten bytes, or initial contents, into others.
func (w *worker) reset(b *deviceBuffer, probing bool) error {
	if b.bytes == 0 {
		return nil
	}
	if b.init != nil {
		data := b.init
		if probing {
			data = complement(data)
		}
		// pageable: copied before it returns
		return w.drv.check("cuMemcpyHtoDAsync", w.drv.copyInAsync(b.addr(), data, uint(b.bytes), w.stream))
	}
	if w.unset && !b.zero {
		return nil
	}
	v := byte(unwrittenByte)
	if probing {
		v = probingByte
	}
	if b.zero {
		v = b.fill
	}
	return w.drv.check("cuMemsetD8Async", w.drv.set8Async(b.addr(), v, uint(b.bytes), w.stream))
}

func complement(b []byte) []byte {
	out := make([]byte, len(b))
	for i, v := range b {
		out[i] = ^v
	}
	return out
}

// fetch copies a whole buffer to the host.
func (w *worker) fetch(b *deviceBuffer) ([]byte, error) {
	out := make([]byte, b.bytes)
	if b.bytes == 0 {
		return out, nil
	}
	return out, w.drv.check("cuMemcpyDtoH", w.drv.copyOut(out, b.addr(), uint(b.bytes)))
}
