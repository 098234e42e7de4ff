package cuda

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// examinePTX examines buffers on the device.
//
//go:embed examine.ptx
var examinePTX []byte

const (
	maxVaried = 1 << 14 // differing words of a buffer that are listed
	maxBands  = 64      // guard bands that a launch of tilescope_bands looks at
)

// examiner is what looks, on the device, at what launches have left. Its own memory is as open to a kernel
// gone astray as any: where it is damaged things look wrong that are not, so whatever it reports is looked at
// again from the host.
type examiner struct {
	compare, bands *loadedKernel
	pattern        uint64 // the bands' contents
	counts         uint64 // u64 each: what is wrong with the bands, then with each buffer compared
	room           int    // counts that there is memory for
}

// examinerFor returns it, with room for n counts.
func (w *worker) examinerFor(n int) (*examiner, error) {
	if w.examiner == nil {
		x, err := w.newExaminer()
		if err != nil {
			return nil, fmt.Errorf("what examines a launch: %w", err)
		}
		w.examiner = x
	}
	x := w.examiner
	if n > x.room {
		if x.counts != 0 {
			w.drv.memFree(x.counts)
		}
		x.counts, x.room = 0, 0
		at, err := w.reserve(uint(8 * n))
		if err != nil {
			return nil, fmt.Errorf("what examines a launch: %w", err)
		}
		x.counts, x.room = at, n
	}
	return x, nil
}

func (w *worker) newExaminer() (*examiner, error) {
	d := w.drv
	lib, _, err := d.loadLibrary(examinePTX)
	if err != nil {
		return nil, err
	}
	x := &examiner{}
	if x.compare, err = d.entryOf(lib, "tilescope_compare"); err == nil {
		x.bands, err = d.entryOf(lib, "tilescope_bands")
	}
	if err == nil {
		x.pattern, err = w.reserve(guardBytes)
	}
	if err == nil {
		err = d.check("cuMemcpyHtoD", d.copyIn(x.pattern, guardPattern, guardBytes))
	}
	if err != nil {
		d.libraryUnload(lib)
		return nil, err
	}
	return x, nil
}

// examine looks at all guard bands, and at the buffers that are to be as the first launch left them. astray
// says that a band was written to, differ which of the buffers differ.
func (l *launching) examine(compared []int) (astray bool, differ []int, err error) {
	x, err := l.w.examinerFor(1 + len(compared))
	if err != nil {
		return false, nil, err
	}
	d, stream := l.w.drv, l.w.stream
	if err := d.check("cuMemsetD8Async", d.set8Async(x.counts, 0, uint(8*(1+len(compared))),
		stream)); err != nil {
		return false, nil, err
	}
	var bands []uint64
	for _, b := range l.buffers {
		if b != nil {
			bands = append(bands, b.base, b.addr()+uint64(b.bytes))
		}
	}
	for part := range slices.Chunk(bands, maxBands) {
		list := make([]byte, 8*maxBands)
		for i, at := range part {
			binary.LittleEndian.PutUint64(list[8*i:], at)
		}
		size := binary.LittleEndian.AppendUint32(nil, guardBytes)
		if err := l.w.launchOf(x.bands, len(part), &list[0], pointer(x.pattern), &size[0],
			pointer(x.counts)); err != nil {
			return false, nil, err
		}
	}
	for i, n := range compared {
		if err := l.w.compare(x, l.buffers[n], l.golden[n], x.counts+uint64(8*(1+i)), 0, 0); err != nil {
			return false, nil, err
		}
	}
	counts := make([]byte, 8*(1+len(compared)))
	if err := d.check("cuMemcpyDtoH", d.copyOut(counts, x.counts, uint(len(counts)))); err != nil {
		return false, nil, err
	}
	for i, n := range compared {
		if binary.LittleEndian.Uint64(counts[8*(1+i):]) != 0 {
			differ = append(differ, n)
		}
	}
	return binary.LittleEndian.Uint64(counts) != 0, differ, nil
}

// launchOf launches one of the examiner's kernels, in blocks of 256.
func (w *worker) launchOf(k *loadedKernel, blocks int, params ...*byte) error {
	err := w.drv.check("cuLaunchKernel", w.drv.launch(k.fn, uint32(blocks), 1, 1, 256, 1, 1, 0, w.stream,
		params, nil))
	runtime.KeepAlive(params)
	return err
}

// compare adds the number of words that differ between two buffers to count, and lists room of them.
func (w *worker) compare(x *examiner, a, b *deviceBuffer, count, list uint64, room int) error {
	n := (a.bytes + 3) / 4
	blocks := int(min((n+255)/256, 4096))
	return w.launchOf(x.compare, blocks, pointer(a.addr()), pointer(b.addr()), pointer(uint64(n)),
		pointer(count), pointer(list), pointer(uint64(room)))
}

// keep copies buffer i on the device. A device too full for that is no failure: the capture
// is then not compared.
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
	var compared []int
	for i := range l.buffers {
		if g := l.golden[i]; g != nil && g.bytes > 0 {
			compared = append(compared, i)
		}
	}
	differ, err := l.guards(n, compared)
	if err != nil {
		return err
	}
	for _, i := range differ {
		words, total, err := l.w.differing(l.buffers[i], l.golden[i])
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
	x, err := w.examinerFor(1)
	if err != nil {
		return nil, 0, err
	}
	const list = 8 // offset of the list behind the count
	scratch, err := w.allocate(list + 8*maxVaried)
	if err != nil {
		return nil, 0, err
	}
	defer w.release([]*deviceBuffer{scratch})
	d := w.drv
	if err := d.check("cuMemsetD8Async", d.set8Async(scratch.addr(), 0, list, w.stream)); err != nil {
		return nil, 0, err
	}
	var count [list]byte
	if err = w.compare(x, a, b, scratch.addr(), scratch.addr()+list, maxVaried); err == nil {
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
