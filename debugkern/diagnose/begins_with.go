package diagnose

import (
	"fmt"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
)

// A run that is right without the first of the operations that a loop's line became has no operation too
// many: what the loop begins with is wrong.

// neutral is what an operation has to begin with to give its other operand.
var neutral = map[string]string{"add": "0", "mul": "1", "max": "minus infinity", "min": "infinity"}

// beginning is what the operations of a line begin with, and where that is computed.
type beginning struct {
	op, with string
	at       *report.Source
}

// beginsWith finds what a cure leaves out of the first operation that a line became: the value that its other
// operand is put together with; nil where that is not computed at another line.
func (q *inquiry) beginsWith(c *repair.Cure, src *report.Source) *beginning {
	fn := q.run.Entry()
	in := fn.Body[c.At]
	if len(c.Edits) != 1 || c.Edits[0].New == nil || len(in.Args) != 3 || neutral[in.Op] == "" {
		return nil
	}
	left := -1
	for k := 1; k < 3; k++ {
		if o, kept := &in.Args[k], c.Edits[0].New.Args; o.Kind == ptx.OpReg && len(kept) == 2 &&
			(kept[1].Kind != ptx.OpReg || kept[1].Reg != o.Reg) {
			left = k
		}
	}
	if left < 0 {
		return nil
	}
	at := given(fn, in.Args[left].Reg, c.At)
	made := blame(fn, at)
	if made == nil || made.At() == src.At() {
		return nil
	}
	return &beginning{in.Op, neutral[in.Op], made}
}

// advice says what to change, next to the line of the operations.
func (b *beginning) advice(q *inquiry, src *report.Source) string {
	return q.citing(fmt.Sprintf("look at what %s gives, which the first %s at %s begins with: it has to begin "+
		"with %s", callText(b.at), repair.Word(b.op), lineText(src, b.at), b.with), ": ", b.at)
}
