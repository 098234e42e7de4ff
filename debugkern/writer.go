package debugkern

import (
	"context"
	"math/bits"
	"sync/atomic"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// An argument belongs to no block. Who wrote one of its elements is found in two steps: the launch is
// executed once more to note which block stored to each element, and that block again to find the thread.

// blockIndex is for each element of each argument, by name, one more than the number in launch order of the
// last block that stored to it.
type blockIndex map[string]*argumentIndex

type argumentIndex struct {
	size int // bytes of an element
	last []atomic.Uint32
}

// indexer watches one block.
type indexer struct {
	view   target.View
	index  blockIndex
	number uint32
	last   *argumentIndex // of the allocation [lo, hi), which most stores are to
	lo, hi uint64
}

// View implements target.Viewer.
func (x *indexer) View(v target.View) { x.view = v }

// Interests implements target.Interested.
func (x *indexer) Interests() target.ClassSet {
	return target.Classes(target.ClassStore, target.ClassAtomic, target.ClassAsyncLand)
}

// Event implements target.Observer.
func (x *indexer) Event(e *target.Event) {
	if e.Space != target.SpaceGlobal || e.Addr == nil {
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		addr := e.Addr[bits.TrailingZeros32(m)]
		if addr < x.lo || addr >= x.hi {
			x.lo, x.hi, _ = x.view.Extent(addr)
			name, _ := x.view.Name(target.SpaceGlobal, x.lo)
			x.last = x.index[name]
		}
		if x.last == nil || x.view.Strays(e.PC, e.Space, addr) {
			continue
		}
		first, end := int(addr-x.lo), int(addr-x.lo)+e.Bytes
		for i := first / x.last.size; i*x.last.size < end && i < len(x.last.last); i++ {
			raise(&x.last.last[i], x.number)
		}
	}
}

// raise makes a at least n: whichever block comes first, the highest number stays.
func raise(a *atomic.Uint32, n uint32) {
	for {
		old := a.Load()
		if old >= n || a.CompareAndSwap(old, n) {
			return
		}
	}
}

// writers returns the index of the run, which the first call makes by executing the launch again.
func (st *runState) writers(ctx context.Context) (blockIndex, error) {
	return st.indexed.Get(ctx, struct{}{}, func() (blockIndex, error) {
		k, err := st.stepper(ctx)
		if err != nil {
			return nil, err
		}
		index, bytes := blockIndex{}, int64(0)
		for i := range st.r.plan.Args {
			if a := &st.r.plan.Args[i]; a.Pointer {
				bytes = budget.Add(bytes, budget.Mul(4, int64(a.MemoryElems())))
			}
		}
		release, err := st.session.mem.Reserve("who wrote the arguments", bytes)
		if err != nil {
			return nil, err
		}
		for i := range st.r.plan.Args {
			if a := &st.r.plan.Args[i]; a.Pointer {
				index[a.Name] = &argumentIndex{
					size: max(a.DType.Size(), 1), last: make([]atomic.Uint32, a.MemoryElems()),
				}
			}
		}
		budget.Until(st.session.mem, st, release)
		l := *st.launch
		l.Observe = func(block probes.Dim3) target.Observer {
			return &indexer{index: index, number: uint32(l.Grid.Linear(block)) + 1}
		}
		l.Discard = func() {
			for _, a := range index {
				clear(a.last)
			}
		}
		if _, err := k.Launch(ctx, &l); err != nil {
			return nil, err
		}
		return index, nil
	})
}

// lastWriter is the last block, in launch order, that stored to an element of an argument, by its place in
// memory; ok is false where none did.
func (st *runState) lastWriter(
	ctx context.Context, arg string, element int,
) (block probes.Dim3, ok bool, err error) {
	index, err := st.writers(ctx)
	if err != nil {
		return block, false, err
	}
	a := index[arg]
	if a == nil || element >= len(a.last) {
		return block, false, nil
	}
	n := a.last[element].Load()
	if n == 0 {
		return block, false, nil
	}
	return st.r.plan.Grid.At(int(n - 1)), true, nil
}

// memoryWriter finds who wrote a cell of an argument last; nil for one that holds what was
// there before the launch.
func (r *Run) memoryWriter(
	ctx context.Context, tracer target.CellTracer, sp *probes.StagePlan, c Cell,
) (*target.WriteSite, error) {
	element := c.Row*sp.Cols + c.Col
	if sp.Capture.Before || element >= probes.Elems(sp.Capture.Dims) {
		return nil, nil
	}
	element = probes.Place(element, sp.Capture.Dims, sp.Capture.Strides)
	block, ok, err := r.state.lastWriter(ctx, sp.Capture.Output, element)
	if err != nil || !ok {
		return nil, err
	}
	size := sp.DType.Size()
	w, err := tracer.WhoWrote(ctx, r.state.launch, block, target.TracedCell{
		Arg: sp.Capture.Output, Offset: uint64(element * size), Size: size,
	})
	if w != nil {
		w.Block = &block
	}
	return w, err
}
