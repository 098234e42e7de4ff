// Package origin says which elements of a launch's arguments an element of an argument is made of.
//
// The one idea: a lineage is of one block. Where a block reads what another one wrote, its lineage goes on in
// that block, so an element is made of the leaves of several lineages, each with how often it enters on the
// whole way.
//
// It must not know expectations, manifests or references, and executes through target.Kernel alone.
package origin

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Element is an element of an argument, by its place in memory: Arg indexes target.Launch.Args.
type Element struct{ Arg, At int }

// Entry is an element that another is made of by value, as the launch found it. Times is in how many ways it
// enters; saturating.
type Entry struct {
	Element
	Times uint64
}

// Follower follows elements of one launch's arguments. It is not safe for concurrent use.
type Follower struct {
	k      target.Kernel
	l      *target.Launch
	w      *Writers
	traces []*record // the one that was used last is the last
	// Work is how many warp instructions were executed and how many values were visited so far. Most is how
	// many there may be, 0: any number.
	Work, Most int
}

// record is a block's trace, and what its instructions read, by their line (see readBy).
type record struct {
	*lineage.Trace
	reads map[string]map[Element]bool
}

// Limits of one element and of what a follower holds.
const (
	mostNodes   = 1 << 20 // values of one element in one block
	mostBlocks  = 1 << 10 // blocks of one element
	storedSteps = 1 << 21 // steps of traces that are not executed again
)

// New returns a follower of a launch that w was made of. The kernel must be a target.Stepper; where blocks
// share memory, the launch must say so (target.Launch.Ordered).
func New(k target.Kernel, l *target.Launch, w *Writers) *Follower {
	return &Follower{k: k, l: l, w: w}
}

// Made is what an element is made of.
type Made struct {
	Block   probes.Dim3 // that wrote the element last
	Entries []Entry     // sorted by argument and element
	// Incomplete says why not everything that enters is listed; "" where it is.
	Incomplete string
	parts      []*part
}

// part is a lineage within one block: one of an element that the block left.
type part struct {
	block probes.Dim3
	trace *record
	graph *lineage.Graph
	ways  []way // by leaf; nil: not looked for yet
}

// pending is elements that a block left and that are still to be followed, with how often each enters.
type pending map[int]map[Element]uint64 // by the block's number

// Element follows an element of an argument. ok is false where no block wrote it. Errors are those of
// lineage.Record.
func (f *Follower) Element(ctx context.Context, e Element) (m *Made, ok bool, err error) {
	last, ok := f.w.Last(e)
	if !ok {
		return nil, false, nil
	}
	m = &Made{Block: f.l.Grid.At(last)}
	todo, times := pending{last: {e: 1}}, map[Element]uint64{}
	blocks := 0
	for len(todo) > 0 {
		if blocks++; blocks > mostBlocks {
			m.Incomplete = fmt.Sprintf("more than %d blocks made it", mostBlocks)
			break
		}
		if f.Most > 0 && f.Work > f.Most {
			m.Incomplete = fmt.Sprintf("to follow it takes more than %d instructions and values", f.Most)
			break
		}
		block := 0
		for n := range todo {
			block = max(block, n)
		}
		list := todo[block]
		delete(todo, block)
		if err := f.within(ctx, m, block, list, todo, times); err != nil {
			return nil, true, err
		}
	}
	for e, n := range times {
		m.Entries = append(m.Entries, Entry{e, n})
	}
	slices.SortFunc(m.Entries, func(a, b Entry) int { return compare(a.Element, b.Element) })
	return m, true, nil
}

func compare(a, b Element) int {
	if a.Arg != b.Arg {
		return a.Arg - b.Arg
	}
	return a.At - b.At
}

// within follows elements that one block left.
func (f *Follower) within(
	ctx context.Context, m *Made, block int, list map[Element]uint64, todo pending, times map[Element]uint64,
) error {
	t, err := f.trace(ctx, block)
	if err != nil {
		return err
	}
	elements := make([]Element, 0, len(list))
	for e := range list {
		elements = append(elements, e)
	}
	slices.SortFunc(elements, compare)
	for _, e := range elements {
		size := f.size(e.Arg)
		addr, ok := t.Address(e.Arg, e.At*size)
		if !ok {
			m.Incomplete = fmt.Sprintf("block %s did not write %s", t.Block(), f.name(e))
			continue
		}
		at := lineage.Place{Space: target.SpaceGlobal, Addr: addr, N: size, At: -1}
		g, err := t.Walk(ctx, at, lineage.Query{Nodes: mostNodes})
		if err != nil {
			return err
		}
		f.Work += len(g.Nodes)
		if g.Truncated {
			m.Incomplete = fmt.Sprintf("%s is made of more than %d values", f.name(e), mostNodes)
		}
		m.parts = append(m.parts, &part{block: t.Block(), trace: t, graph: g})
		f.leaves(m, block, g, list[e], todo, times)
	}
	return nil
}

// leaves adds what a lineage ends at: elements as the launch found them, or as another block left them.
func (f *Follower) leaves(
	m *Made, block int, g *lineage.Graph, weight uint64, todo pending, times map[Element]uint64,
) {
	for _, n := range g.Elements() {
		ways := product(weight, n.Times[lineage.ByValue])
		if ways == 0 || n.Kind != lineage.LeafElement && n.Kind != lineage.LeafElsewhere {
			continue
		}
		e := Element{n.Arg, n.Element}
		from, other, ok := block, false, true
		if f.l.Ordered { // else no block reads what another one wrote
			from, other, ok = f.w.before(e, block)
		}
		switch {
		case !ok:
			m.Incomplete = fmt.Sprintf("block %s reads %s, which other blocks write meanwhile",
				f.l.Grid.At(block), f.name(e))
		case other:
			if todo[from] == nil {
				todo[from] = map[Element]uint64{}
			}
			todo[from][e] = sum(todo[from][e], ways)
		default:
			times[e] = sum(times[e], ways)
		}
	}
}

func product(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return ^uint64(0)
	}
	return lo
}

func sum(a, b uint64) uint64 {
	if s, over := bits.Add64(a, b, 0); over == 0 {
		return s
	}
	return ^uint64(0)
}

// trace returns the record of a block, which is executed unless it was a moment ago.
func (f *Follower) trace(ctx context.Context, block int) (*record, error) {
	id := f.l.Grid.At(block)
	for i, t := range f.traces {
		if t.Block() == id {
			f.traces = append(slices.Delete(f.traces, i, i+1), t)
			return t, nil
		}
	}
	recorded, err := lineage.Record(ctx, f.k, f.l, id, lineage.Options{})
	if err != nil {
		return nil, err
	}
	t := &record{recorded, map[string]map[Element]bool{}}
	f.Work += t.Len()
	if f.l.Ordered { // the blocks before it were executed again, too
		f.Work += t.Len() * block
	}
	f.traces = append(f.traces, t)
	stored := 0
	for i := len(f.traces) - 1; i >= 0; i-- {
		if stored += f.traces[i].Len(); stored > storedSteps && i < len(f.traces)-1 {
			f.traces = slices.Delete(f.traces, 0, i+1)
			break
		}
	}
	return t, nil
}

func (f *Follower) size(arg int) int { return max(f.l.Args[arg].Buffer.DType.Size(), 1) }

func (f *Follower) name(e Element) string {
	a := &f.l.Args[e.Arg]
	return a.Name + lineage.Box(a.Buffer.Dims, []int{e.At})
}
