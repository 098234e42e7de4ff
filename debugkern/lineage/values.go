package lineage

import (
	"context"
	"fmt"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// looker is an observer that wants no events: it looks at registers where the block stands.
type looker struct{ view target.View }

func (l *looker) View(v target.View)         { l.view = v }
func (l *looker) Interests() target.ClassSet { return 0 }
func (l *looker) Event(*target.Event)        {}

// Values executes the block again, as far as it takes, and returns the bits of values: those of the bytes
// that each Ref names, from the lowest on. k is the kernel that was recorded. Errors are those of Record.
func (t *Trace) Values(ctx context.Context, k target.Kernel, refs []Ref) ([]uint64, error) {
	return t.ValuesIn(ctx, k, t.launch, refs)
}

// ValuesIn is Values in another launch of the kernel: one whose buffers have other contents. Where the
// contents change which instructions execute, the values are not those that the Refs name.
func (t *Trace) ValuesIn(
	ctx context.Context, k target.Kernel, launch *target.Launch, refs []Ref,
) ([]uint64, error) {
	bits, _, err := t.valuesAt(ctx, k, launch, refs)
	return bits, err
}

// ValuesAt is Values, with the iteration of the block's loop over tiles in which each value was made, -1
// where it was in none.
func (t *Trace) ValuesAt(ctx context.Context, k target.Kernel, refs []Ref) (bits []uint64, tiles []int,
	err error) {
	return t.valuesAt(ctx, k, t.launch, refs)
}

func (t *Trace) valuesAt(ctx context.Context, k target.Kernel, launch *target.Launch, refs []Ref) (
	bits []uint64, tiles []int, err error) {
	s, ok := k.(target.Stepper)
	if !ok {
		return nil, nil, target.ErrNoTracer
	}
	one := *launch
	one.Observe, one.Discard = nil, nil
	b, err := s.Open(&one, t.id)
	if err != nil {
		return nil, nil, fmt.Errorf("values of block %s: %w", t.id, err)
	}
	w, ok := b.(target.Walkable)
	if !ok {
		return nil, nil, target.ErrNoTracer
	}
	look := &looker{}
	b.Observe(look)
	order, when := make([]int, len(refs)), make([]int, len(refs))
	for i := range order {
		order[i], when[i] = i, t.when(refs[i])
	}
	slices.SortFunc(order, func(i, j int) int { return when[i] - when[j] })
	out, tiles := make([]uint64, len(refs)), make([]int, len(refs))
	clock := uint64(0)
	for _, i := range order {
		step := t.steps.at(when[i])
		if next := uint64(step.clock) + 1; next > clock {
			clock = next
			if _, err := w.RunTo(ctx, clock, nil); err != nil {
				if f, fault := err.(*target.Fault); !fault || f.Err != nil {
					return nil, nil, err
				}
			}
		}
		step = t.steps.at(int(refs[i].Step))
		out[i], tiles[i] = t.bits(look.view, step, refs[i]), w.KVTile(int(step.warp), int(step.pc))
	}
	return out, tiles, nil
}

// made reports whether a piece of a bulk copy is not what its source has: it is filled, or combined with what
// memory had.
func (t *Trace) made(r Ref) bool {
	s := t.steps.at(int(r.Step))
	if !t.flows[s.pc].bulk || s.kind == stepLand || s.n < 2 {
		return false
	}
	_, combined := t.combined[uint32(r.Step)]
	return combined || t.accesses.at(int(s.aux)+1).mask>>(r.Lane&31)&1 == 0
}

// when is the step after which a value can be seen: its own, or that in which a bulk copy writes what its
// source does not have.
func (t *Trace) when(r Ref) int {
	if t.made(r) {
		return min(t.landing(int(r.Step)), t.steps.n-1)
	}
	return int(r.Step)
}

// bits is what a lane has of a value, the step just executed.
func (t *Trace) bits(v target.View, s *step, r Ref) uint64 {
	f := &t.flows[s.pc]
	if r.Index == InMemory {
		src, lo := t.storedFrom(s, f, r)
		if src.reg >= 0 { // before the store executed it was the same
			return cutBits(v.Register(int(s.warp), t.funcs[t.owner[s.pc]], src.reg)[r.Lane], lo, int(r.N))
		}
		if src.form == fromImmediate && f.kind == flowStore {
			return cutBits(src.bits, lo, int(r.N))
		}
		var b [8]byte
		a := (&walker{t: t}).accessOf(s, int(r.Lane))
		if f.kind == flowCopy && a != nil && !t.made(r) { // its destination does not have it yet
			a = t.accesses.at(int(s.aux) + 1)
		}
		if a == nil {
			return 0
		}
		v.Memory(a.space, t.addr(a, int(r.Lane))+uint64(r.Lo), int(s.warp), int(r.Lane), b[:min(int(r.N), 8)])
		x := uint64(0)
		for i := 7; i >= 0; i-- {
			x = x<<8 | uint64(b[i])
		}
		return x
	}
	if int(r.Index) >= len(f.dst) || f.dst[r.Index].reg < 0 {
		return 0
	}
	x := v.Register(int(s.warp), t.funcs[t.owner[s.pc]], f.dst[r.Index].reg)[r.Lane]
	return cutBits(x, int(r.Lo), int(r.N))
}

// storedFrom is the register, of the lane itself, that bytes of a store are of, and its first byte; register
// -1 where there is none.
func (t *Trace) storedFrom(s *step, f *flow, r Ref) (src source, lo int) {
	src = source{reg: -1, form: fromSpecial}
	switch f.kind {
	case flowStore:
		size := min(f.size, 8)
		return f.src[int(r.Lo)/size], int(r.Lo) % size
	case flowStoreTile:
		f.tileParts(t.accesses.at(int(s.aux)+int(r.Part)), func(reg, at, size, off int) {
			if int(r.Lo) >= off && int(r.Lo) < off+size {
				src, lo = f.src[reg], at+int(r.Lo)-off
			}
		})
	}
	return src, lo
}

func cutBits(x uint64, lo, n int) uint64 {
	x >>= 8 * min(lo, 7)
	if n < 8 {
		x &= 1<<(8*n) - 1
	}
	return x
}

// Type is the type of what a value holds, as the instruction says: of a result its type, of what is moved
// that of the bits alone. Of packed numbers it is that of one.
func (t *Trace) Type(r Ref) ptx.Type {
	in := t.flows[t.steps.at(int(r.Step)).pc].in
	ts := in.Types()
	if len(ts) == 0 {
		return ptx.TypeNone
	}
	typ := ts[len(ts)-1]
	f := &t.flows[t.steps.at(int(r.Step)).pc]
	product := f.kind == flowProduct || f.kind == flowAsyncProduct
	if f.form != nil && (product || len(ts) > 1 && in.Op == "cvt") {
		typ = ts[0]
	}
	return typ.Single()
}
