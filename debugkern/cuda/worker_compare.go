package cuda

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// comparePTX compares two buffers on the device.
//
//go:embed compare.ptx
var comparePTX []byte

// maxVaried is how many differing words of a buffer are listed.
const maxVaried = 1 << 14

// keep copies buffer i on the device. A device too full for that is no failure: the capture is then not compared.
func (l *launching) keep(i int) error {
	g, err := l.w.allocate(l.buffers[i].bytes)
	if e := (*Error)(nil); errors.As(err, &e) && e.Code == cuOutOfMemory {
		l.out.Uncompared = append(l.out.Uncompared, i)
		return nil
	}
	if err != nil {
		return err
	}
	l.golden[i] = g
	if g.bytes == 0 {
		return nil
	}
	return l.w.drv.check("cuMemcpyDtoD", l.w.drv.copyOver(g.addr(), l.buffers[i].addr(), uint(g.bytes)))
}

func (l *launching) closeGolden() {
	for _, g := range l.golden {
		l.w.release([]*deviceBuffer{g})
	}
}

// again launches for the n-th time and compares what it leaves with the first.
func (l *launching) again(n int) error {
	if err := l.run(n, false); err != nil {
		return err
	}
	if err := l.guards(n); err != nil {
		return err
	}
	for i := range l.buffers {
		g := l.golden[i]
		if g == nil || g.bytes == 0 {
			continue
		}
		words, total, err := l.w.differing(l.buffers[i], g)
		if err != nil {
			return err
		}
		if total > 0 {
			l.vary(i, n, words, total)
		}
	}
	return nil
}

// vary merges what launch n left different in buffer i into the report.
func (l *launching) vary(i, n int, words []int64, total int64) {
	at := slices.IndexFunc(l.out.Varied, func(v variation) bool { return v.Buffer == i })
	if at < 0 {
		at = len(l.out.Varied)
		l.out.Varied = append(l.out.Varied, variation{Buffer: i, Launch: n})
	}
	v := &l.out.Varied[at]
	v.Total = max(v.Total, total)
	v.Words = mergeWords(append(v.Words, words...))
}

// mergeWords sorts words and joins the byte masks of those listed twice.
func mergeWords(words []int64) []int64 {
	slices.Sort(words)
	out := words[:0]
	for _, w := range words {
		if n := len(out); n > 0 && out[n-1]>>4 == w>>4 {
			out[n-1] |= w
			continue
		}
		out = append(out, w)
	}
	return out[:min(len(out), maxVaried)]
}

// differing compares two buffers on the device; words are as a variation lists them.
func (w *worker) differing(a, b *deviceBuffer) (words []int64, total int64, err error) {
	if w.compare == nil {
		if w.compare, _, err = w.loadKernel("tilescope_compare", comparePTX, false); err != nil {
			return nil, 0, fmt.Errorf("load the comparison: %w", err)
		}
	}
	const list = 8 // offset of the list behind the count
	scratch, err := w.allocate(list + 8*maxVaried)
	if err != nil {
		return nil, 0, err
	}
	defer w.release([]*deviceBuffer{scratch})
	d := w.drv
	if err := d.check("cuMemsetD8", d.set8(scratch.addr(), 0, list)); err != nil {
		return nil, 0, err
	}
	n := (a.bytes + 3) / 4
	blocks := uint32(min((n+255)/256, 4096))
	params := []*byte{
		pointer(a.addr()), pointer(b.addr()), pointer(uint64(n)), pointer(scratch.addr()), pointer(scratch.addr() + list), pointer(maxVaried),
	}
	err = d.check("cuLaunchKernel", d.launch(w.compare.fn, blocks, 1, 1, 256, 1, 1, 0, w.stream, params, nil))
	runtime.KeepAlive(params)
	var count [list]byte
	if err == nil {
		err = d.check("cuMemcpyDtoH", d.copyOut(count[:], scratch.addr(), list))
	}
	if total = int64(binary.LittleEndian.Uint64(count[:])); err != nil || total == 0 {
		return nil, 0, err
	}
	raw := make([]byte, 8*min(total, maxVaried))
	if err := d.check("cuMemcpyDtoH", d.copyOut(raw, scratch.addr()+list, uint(len(raw)))); err != nil {
		return nil, 0, err
	}
	for i := 0; i < len(raw); i += 8 {
		words = append(words, int64(binary.LittleEndian.Uint64(raw[i:])))
	}
	return words, total, nil
}
