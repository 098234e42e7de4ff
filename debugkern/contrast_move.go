package debugkern

import (
	"context"
	"slices"

	"tilescope/debugkern/lineage"
)

// flips are the changes of an element's bytes by which it is tried whether a cell depends on it.
var flips = []byte{0x55, 0xaa, 0x80}

// mostMoved is of how many elements of a cell that is tried: a cell that looks up more is made of too much
// for the question to matter.
const mostMoved = 16

// moves reports whether bytes at a place change where an element of an argument has another value. An address
// may be computed from a word of which it takes some bits: lineage follows bytes.
func (c *contrast) moves(ctx context.Context, at lineage.Place, l lineage.Leaf) (bool, error) {
	way := c.trace.Carried(at)
	if len(way) == 0 || c.moved >= mostMoved {
		return true, nil
	}
	c.moved++
	was, err := c.trace.Values(ctx, c.x.kernel, way[:1])
	if err != nil {
		return false, err
	}
	for _, flip := range flips {
		launch := *c.x.st.launch
		launch.Args = slices.Clone(launch.Args)
		b := *launch.Args[l.Arg].Buffer
		size := max(b.DType.Size(), 1)
		if b.Init == nil || (l.Element+1)*size > len(b.Init) {
			return true, nil
		}
		b.Init = slices.Clone(b.Init)
		for i := l.Element * size; i < (l.Element+1)*size; i++ {
			b.Init[i] ^= flip
		}
		launch.Args[l.Arg].Buffer = &b
		now, err := c.trace.ValuesIn(ctx, c.x.kernel, &launch, way[:1])
		if err != nil || now[0] != was[0] {
			return true, ctx.Err()
		}
	}
	return false, nil
}

// moving leaves out the foreign elements of less than a word without which a cell is the same: a word is
// loaded as a whole, and shifts and masks take one of its elements.
func (c *contrast) moving(
	ctx context.Context, at lineage.Place, a *actual, foreign []operandKey,
) (out []operandKey, err error) {
	for _, k := range foreign {
		if k.stage >= 0 || c.x.st.launch.Args[k.arg].Buffer == nil ||
			c.x.st.launch.Args[k.arg].Buffer.DType.Size() >= wordBytes || len(foreign) > mostMoved {
			out = append(out, k)
			continue
		}
		moves, err := c.moves(ctx, at, lineage.Leaf{Kind: lineage.LeafElement, Arg: k.arg, Element: k.at})
		if err != nil {
			return nil, err
		}
		if moves {
			out = append(out, k)
		} else {
			delete(a.of, k)
		}
	}
	return out, nil
}

// wordBytes is the size of a register, of which a smaller element may be a part.
const wordBytes = 4
