package record

import (
	"context"
	"math/bits"
	"sync"

	"tilescope/debugkern/bundle"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// bitmap has a bit for each byte of a memory.
type bitmap []uint64

func newBitmap(n int64) bitmap { return make(bitmap, (n+63)/64) }

// set marks n bytes from at on.
func (b bitmap) set(at, n int64) {
	for i := at; i < at+n && i>>6 < int64(len(b)); i++ {
		b[i>>6] |= 1 << (i & 63)
	}
}

func (b bitmap) has(i int64) bool { return b[i>>6]>>(i&63)&1 != 0 }

// ranges lists the stretches of bytes that are marked, of a memory of n bytes.
func (b bitmap) ranges(n int64) []bundle.Range {
	var out []bundle.Range
	for i := int64(0); i < n; {
		word := b[i>>6] >> (i & 63)
		if word == 0 {
			i = (i | 63) + 1
			continue
		}
		i += int64(bits.TrailingZeros64(word))
		from := i
		for i < n && b.has(i) {
			i++
		}
		out = append(out, bundle.Range{from, i - from})
	}
	return out
}

// touched is what a launch read and wrote of each memory, by its name.
type touched struct {
	mu          sync.Mutex
	read, wrote map[string]bitmap
}

func newTouched(memory []bundle.Memory) *touched {
	t := &touched{}
	t.clear(memory)
	return t
}

func (t *touched) clear(memory []bundle.Memory) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read, t.wrote = map[string]bitmap{}, map[string]bitmap{}
	for i := range memory {
		m := &memory[i]
		t.read[m.Name], t.wrote[m.Name] = newBitmap(m.Bytes()), newBitmap(m.Bytes())
	}
}

// watch executes a launch and notes which bytes of its memory are read and written.
func (t *touched) watch(
	ctx context.Context, k target.Kernel, l *target.Launch, memory []bundle.Memory,
) error {
	one := *l
	one.Observe = func(probes.Dim3) target.Observer { return &observer{t: t, extents: map[uint64]string{}} }
	one.Discard = func() { t.clear(memory) }
	_, err := k.Launch(ctx, &one)
	return err
}

// observer notes what one block accesses in global memory.
type observer struct {
	t       *touched
	view    target.View
	extents map[uint64]string // memory by its first address
}

// View implements target.Viewer.
func (o *observer) View(v target.View) { o.view = v }

// Interests implements target.Interested.
func (o *observer) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAtomic, target.ClassAsync,
		target.ClassBulkRead)
}

// Event implements target.Observer.
func (o *observer) Event(e *target.Event) {
	addr, read, wrote := e.Addr, e.Class != target.ClassStore, e.Class == target.ClassStore ||
		e.Class == target.ClassAtomic
	switch {
	case e.Class == target.ClassBulkRead:
		o.bulk(e.Transfer)
		return
	case e.Class == target.ClassAsync:
		addr = e.Addr2
	case e.Space != target.SpaceGlobal:
		return
	}
	for lane := range 32 {
		if addr == nil || e.Mask>>lane&1 == 0 {
			continue
		}
		if e.Class == target.ClassAsync && !copies(o.view, e, lane) {
			continue
		}
		o.note(addr[lane], max(e.Bytes, 1), read, wrote)
	}
}

// copies reports whether a lane of a cp.async reads its source: not where it is ignored, or has 0 bytes.
func copies(view target.View, e *target.Event, lane int) bool {
	for i := 3; i < len(e.Instr.Args); i++ {
		switch op := &e.Instr.Args[i]; {
		case op.Kind == ptx.OpInt && op.Imm == 0:
			return false
		case op.Kind != ptx.OpReg:
		case e.Func.Regs[op.Reg].Type.Bits() == 64: // a cache policy
		default:
			v := view.Register(e.Warp, e.Func, op.Reg)[lane]
			ignored := e.Func.Regs[op.Reg].Type == ptx.Pred // else it is the number of bytes
			if ignored && (v != 0) != op.Neg || !ignored && uint32(v) == 0 {
				return false
			}
		}
	}
	return true
}

// bulk notes what a bulk or tensor copy reads from global memory, or writes there. A reduction reads both.
func (o *observer) bulk(t *target.Transfer) {
	t.Pieces(func(to, from uint64, n int) {
		if t.From == target.SpaceGlobal && from != target.Filled {
			o.note(from, n, true, false)
		}
		if t.To == target.SpaceGlobal {
			o.note(to, n, t.Element > 0, true)
		}
	})
}

// note marks bytes at an address.
func (o *observer) note(addr uint64, n int, read, wrote bool) {
	lo, hi, _ := o.view.Extent(addr)
	if hi == 0 {
		return // out of bounds, which has a finding when the bundle is checked
	}
	name, ok := o.extents[lo]
	if !ok {
		name, _ = o.view.Name(target.SpaceGlobal, lo)
		o.extents[lo] = name
	}
	t := o.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if read {
		t.read[name].set(int64(addr-lo), int64(n))
	}
	if wrote {
		t.wrote[name].set(int64(addr-lo), int64(n))
	}
}
