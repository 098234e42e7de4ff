package diagnose

import (
	"fmt"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// A tensor whose rows are padded in one place and not in another is wrong by the step from block to block: it
// is longer than that of a dimension, and no multiple of it.

// skew is a summand of an address that counts blocks by a step which is longer than a dimension's, and no
// multiple of it or of an outer one's.
type skew struct {
	term    debugkern.Term
	of      string // the variable
	axis    int    // the dimension
	by, own int64  // the two steps, in elements
}

// skewed finds such a summand, of accesses that leave a variable; nil where there is none. counts reports
// whether a term is the index of a block.
func (l *layout) skewed(list []debugkern.Reach, counts func(debugkern.Term) bool) *skew {
	for i := range list {
		r := &list[i]
		if r.Offset >= 0 && r.Offset < l.total() {
			continue
		}
		for _, t := range r.Terms {
			if t.Value == 0 || !counts(t) {
				continue
			}
			for a := len(l.dims) - 2; a >= 0; a-- {
				if s := l.strides[a]; l.dims[a] > 1 && t.Factor > s && l.axis(t.Factor) > a {
					return &skew{term: t, axis: a, by: t.Factor / l.size, own: s / l.size}
				}
			}
		}
	}
	return nil
}

// skewText says of a summand that it counts blocks by the step of no dimension.
func (q *inquiry) skewText(k *skew) string {
	x := excess{rank: len(ordinals)}
	return fmt.Sprintf("one %s further the address in %s is %d elements further, and %s of %s moves it by %d",
		blockAxisOf(q.run.Entry().Body[k.term.At]), k.of, k.by, x.index(k.axis), k.of, k.own)
}

// blockAxisOf is the index of the block that an instruction gives, as the source has it; "" where it gives
// another value.
func blockAxisOf(in *ptx.Instr) string {
	if axis := axisOf(in, "%ctaid"); axis != "" {
		return blockAxis + axis
	}
	return ""
}

// axisOf is the axis of which an instruction copies a special register; "" where it is none of this name.
func axisOf(in *ptx.Instr, register string) string {
	if in.Kind() != isa.Move || len(in.Args) != 2 || in.Args[1].Kind != ptx.OpSpecial ||
		in.Args[1].Name != register || in.Args[1].Comp < 0 {
		return ""
	}
	return string("xyzw"[in.Args[1].Comp])
}
