package debugkern

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Where blocks share memory, a block's lineage ends at what others wrote. It goes on in those blocks: which
// they are, a launch shows in which they all execute in order again.

const (
	mostBlocks = 4 // other blocks that one leaf is followed to
	mostAcross = 8 // blocks from the cell's own to the last
)

// across goes on, for every leaf that other blocks wrote, in those blocks.
func (x *ancestry) across(
	ctx context.Context, doc *report.Lineage, trace *lineage.Trace, tree *lineage.Tree, depth int,
) error {
	if depth == mostAcross {
		return nil
	}
	for _, f := range tree.Folds {
		if f.Leaf == nil || f.Leaf.Kind != lineage.LeafElsewhere {
			continue
		}
		from, err := x.writersFor(ctx, trace.Block(), f.Leaf.Arg, f.Elements)
		if err != nil {
			return err
		}
		n := &doc.Nodes[f.ID]
		n.Op = fmt.Sprintf("%s, written by %s", n.Element, blocksText(from))
		for i, b := range from {
			if i == mostBlocks {
				doc.Truncated = true
				break
			}
			if err := x.follow(ctx, doc, f, b, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow appends what a block made the elements of a leaf of.
func (x *ancestry) follow(
	ctx context.Context, doc *report.Lineage, f *lineage.Fold, b blockElements, depth int,
) error {
	trace, err := lineage.Record(ctx, x.kernel, x.st.launch, b.block, lineage.Options{})
	if err != nil {
		return err
	}
	size := max(x.st.launch.Args[f.Leaf.Arg].Buffer.DType.Size(), 1)
	var places []lineage.Place
	for _, e := range b.elements {
		if addr, ok := trace.Address(f.Leaf.Arg, e*size); ok {
			places = append(places, lineage.Place{Space: target.SpaceGlobal, Addr: addr, N: size, At: -1})
		}
	}
	g, err := trace.WalkAll(ctx, places, lineage.Query{Address: x.ask.Address, Control: x.ask.Control})
	if err != nil {
		return err
	}
	block := [3]int(b.block)
	tree, _, err := x.add(ctx, doc, trace, g, &block, nil)
	if err != nil {
		return err
	}
	n := &doc.Nodes[f.ID]
	for _, root := range tree.Roots {
		n.Of = append(n.Of, root.ID)
		n.Uses = append(n.Uses, report.LineageUse{Of: root.ID, Operand: -1, Kind: lineage.ByValue.String()})
	}
	return x.across(ctx, doc, trace, tree, depth+1)
}

// blockElements is elements that one block wrote.
type blockElements struct {
	block    probes.Dim3
	elements []int
}

func blocksText(list []blockElements) string {
	switch len(list) {
	case 0:
		return "another block"
	case 1:
		return fmt.Sprintf("block %s", list[0].block)
	}
	return fmt.Sprintf("%d blocks, block %s first", len(list), list[0].block)
}

// writersFor finds which blocks wrote elements of an argument last before a block read them, in launch order.
func (x *ancestry) writersFor(
	ctx context.Context, reader probes.Dim3, arg int, elements []int,
) ([]blockElements, error) {
	w := &elementWriters{
		name: x.st.launch.Args[arg].Name, size: max(x.st.launch.Args[arg].Buffer.DType.Size(), 1),
		last: make([]int, len(elements)), read: make([]int, len(elements)), elements: elements,
	}
	w.reset()
	l := *x.st.launch
	l.Ordered, l.Only = true, nil // one block at a time, as they execute where they share memory
	l.Observe = func(block probes.Dim3) target.Observer {
		return &elementWatcher{w: w, block: l.Grid.Linear(block), reads: block == reader}
	}
	l.Discard = w.reset
	if _, err := x.kernel.Launch(ctx, &l); err != nil {
		return nil, err
	}
	by := map[int]*blockElements{}
	var order []int
	for i, b := range w.read {
		if b < 0 || l.Grid.At(b) == reader {
			continue
		}
		if by[b] == nil {
			by[b] = &blockElements{block: l.Grid.At(b)}
			order = append(order, b)
		}
		by[b].elements = append(by[b].elements, elements[i])
	}
	slices.Sort(order)
	var out []blockElements
	for _, b := range order {
		out = append(out, *by[b])
	}
	return out, nil
}

// elementWriters is for some elements of an argument the block that wrote each last, and the one that had
// when the reader read it last; -1 for none.
type elementWriters struct {
	name       string
	size       int
	elements   []int
	last, read []int
}

func (w *elementWriters) reset() {
	for i := range w.last {
		w.last[i], w.read[i] = -1, -1
	}
}

// elementWatcher watches one block.
type elementWatcher struct {
	w      *elementWriters
	block  int
	reads  bool // it is the block whose reading counts
	view   target.View
	lo, hi uint64 // of the argument
}

// View implements target.Viewer.
func (x *elementWatcher) View(v target.View) { x.view = v }

// Interests implements target.Interested.
func (x *elementWatcher) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAtomic, target.ClassAsync)
}

// Event implements target.Observer.
func (x *elementWatcher) Event(e *target.Event) {
	addrs := e.Addr
	if e.Class == target.ClassAsync {
		addrs = e.Addr2
	} else if e.Space != target.SpaceGlobal {
		return
	}
	if addrs == nil {
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		addr := addrs[bits.TrailingZeros32(m)&31]
		if x.hi == 0 {
			lo, hi, _ := x.view.Extent(addr)
			if name, _ := x.view.Name(target.SpaceGlobal, lo); name == x.w.name {
				x.lo, x.hi = lo, hi
			}
		}
		if addr < x.lo || addr >= x.hi {
			continue
		}
		first, end := int(addr-x.lo)/x.w.size, (int(addr-x.lo)+e.Bytes-1)/x.w.size
		from, _ := slices.BinarySearch(x.w.elements, first)
		for i := from; i < len(x.w.elements) && x.w.elements[i] <= end; i++ {
			if x.reads && e.Class != target.ClassStore {
				x.w.read[i] = x.w.last[i]
			}
			if e.Class == target.ClassStore || e.Class == target.ClassAtomic {
				x.w.last[i] = x.block
			}
		}
	}
}
