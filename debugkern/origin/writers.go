package origin

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Writers says which blocks of a launch stored to each element of its arguments.
type Writers struct {
	launch *target.Launch
	args   []*elements // by index in the launch's arguments; nil of a scalar
	named  map[string]*elements
	// latest is the highest number of a block that has stored. Where one with a lower number stores after
	// it, blocks take turns: what one reads of another is not what that one leaves.
	latest atomic.Uint32
	turns  atomic.Bool
}

// elements are those of one argument.
type elements struct {
	size  int
	last  []atomic.Uint32 // one more than the number of the block that stored last
	again []atomic.Uint32 // bits: that block stored to it more than once
	mu    sync.Mutex
	all   map[int][]uint32 // the blocks that stored to an element, sorted, where there are several
}

// IndexWriters executes a launch to note which blocks store to the elements of its arguments. Errors are
// those of target.Kernel.Launch.
func IndexWriters(ctx context.Context, k target.Kernel, l *target.Launch) (*Writers, error) {
	w := &Writers{launch: l, named: map[string]*elements{}}
	need := int64(0)
	for i := range l.Args {
		if n := int64(count(&l.Args[i])); n > 0 {
			need = budget.Add(need, budget.Add(budget.Mul(4, n), n/8))
		}
	}
	release, err := l.Memory.Reserve("who wrote the arguments", need)
	if err != nil {
		return nil, err
	}
	budget.Until(l.Memory, w, release)
	for i := range l.Args {
		a := &l.Args[i]
		var x *elements
		if n := count(a); a.Buffer != nil {
			x = &elements{
				size: max(a.Buffer.DType.Size(), 1), last: make([]atomic.Uint32, n),
				again: make([]atomic.Uint32, (n+31)/32), all: map[int][]uint32{},
			}
			if w.named[a.Name] == nil {
				w.named[a.Name] = x
			}
		}
		w.args = append(w.args, x)
	}
	one := *l
	one.Observe = func(block probes.Dim3) target.Observer {
		return &indexer{w: w, number: uint32(l.Grid.Linear(block)) + 1}
	}
	one.Discard = w.reset
	if _, err := k.Launch(ctx, &one); err != nil {
		return nil, err
	}
	return w, nil
}

// count is how many elements of memory an argument has.
func count(a *target.Arg) int {
	if a.Buffer == nil {
		return 0
	}
	return max(a.Buffer.Bytes, len(a.Buffer.Init)) / max(a.Buffer.DType.Size(), 1)
}

// reset forgets what was noted.
func (w *Writers) reset() {
	for _, x := range w.args {
		if x != nil {
			clear(x.last)
			clear(x.again)
			clear(x.all)
		}
	}
	w.latest.Store(0)
	w.turns.Store(false)
}

// Last is the number, in launch order, of the block that stored to an element last; ok is false where none
// did.
func (w *Writers) Last(e Element) (block int, ok bool) {
	x := w.of(e)
	if x == nil {
		return 0, false
	}
	n := x.last[e.At].Load()
	return int(n) - 1, n > 0
}

// Arg is the index of the argument of a name in the launch; -1 where it has none.
func (w *Writers) Arg(name string) int {
	return slices.IndexFunc(w.launch.Args, func(a target.Arg) bool {
		return a.Name == name && a.Buffer != nil
	})
}

func (w *Writers) of(e Element) *elements {
	if e.Arg < 0 || e.Arg >= len(w.args) {
		return nil
	}
	x := w.args[e.Arg]
	if x == nil || e.At < 0 || e.At >= len(x.last) {
		return nil
	}
	return x
}

// before finds which block wrote what another one reads of an element and did not write itself: from, or
// (other is false) none did. ok is false where that cannot be said, since blocks take turns and write it
// several times.
func (w *Writers) before(e Element, reader int) (from int, other, ok bool) {
	x := w.of(e)
	if x == nil {
		return 0, false, true
	}
	last := int(x.last[e.At].Load()) - 1
	if last < 0 || last == reader && x.all[e.At] == nil {
		return 0, false, true
	}
	several := x.all[e.At]
	if !w.turns.Load() { // one block after the other
		for i := len(several) - 1; i >= 0; i-- {
			if n := int(several[i]) - 1; n < reader {
				return n, true, true
			}
		}
		return last, several == nil && last < reader, true
	}
	if several != nil || x.again[e.At/32].Load()>>(e.At%32)&1 != 0 {
		return 0, false, false
	}
	return last, true, true
}

// stored notes that a block stores to an element.
func (x *elements) stored(at int, number uint32) {
	old := x.last[at].Swap(number)
	switch {
	case old == number:
		x.again[at/32].Or(1 << (at % 32))
	case old != 0:
		x.mu.Lock()
		for _, n := range []uint32{old, number} {
			if i, known := slices.BinarySearch(x.all[at], n); !known {
				x.all[at] = slices.Insert(x.all[at], i, n)
			}
		}
		x.mu.Unlock()
	}
}

// indexer watches one block.
type indexer struct {
	view   target.View
	w      *Writers
	number uint32
	x      *elements // of the allocation [lo, hi), which most stores are to
	lo, hi uint64
}

// View implements target.Viewer.
func (x *indexer) View(v target.View) { x.view = v }

// Interests implements target.Interested.
func (x *indexer) Interests() target.ClassSet {
	return target.Classes(target.ClassStore, target.ClassAtomic, target.ClassAsyncLand, target.ClassBulkLand)
}

// Event implements target.Observer.
func (x *indexer) Event(e *target.Event) {
	if e.Space != target.SpaceGlobal || e.Addr == nil {
		return
	}
	if old := x.w.latest.Load(); old > x.number {
		x.w.turns.Store(true)
	} else if old < x.number {
		x.w.latest.CompareAndSwap(old, x.number)
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		addr := e.Addr[bits.TrailingZeros32(m)&31]
		if addr < x.lo || addr >= x.hi {
			x.lo, x.hi, _ = x.view.Extent(addr)
			name, _ := x.view.Name(target.SpaceGlobal, x.lo)
			x.x = x.w.named[name]
		}
		if x.x == nil || x.view.Strays(e.PC, e.Space, addr) {
			continue
		}
		first, end := int(addr-x.lo), int(addr-x.lo)+e.Bytes
		for i := first / x.x.size; i*x.x.size < end && i < len(x.x.last); i++ {
			x.x.stored(i, x.number)
		}
	}
}
