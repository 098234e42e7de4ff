package diagnose

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// A NaN that no arithmetic made is often a constant of the text: the bits of an infinity written wrongly.

// nanConstant is a constant of the kernel that is no number as a float.
type nanConstant struct {
	bits uint32
	at   *report.Source
}

// nanConstants finds the constant that is a NaN where a finding says that no arithmetic made one, at a line
// that has a number if there is one: a compiler leaves a constant the lines that use it. nil where the kernel
// has none, or several.
func (q *inquiry) nanConstants(s *suspect) *nanConstant {
	if s.cause.Kind != "nan-origin" || s.cause.Finding < 0 ||
		!strings.Contains(q.doc.Findings[s.cause.Finding].Message, "no arithmetic") {
		return nil
	}
	fn := q.run.Entry()
	var out *nanConstant
	for i, in := range fn.Body {
		if in.Loc.Within(target.IsProbe) {
			continue
		}
		for k := range in.Args {
			bits, ok := bitsOfNaN(in, &in.Args[k])
			at := blame(fn, i)
			if !ok || at == nil {
				continue
			}
			if out != nil && out.bits != bits {
				return nil
			}
			if out == nil || !q.hasNumber(out.at) && q.hasNumber(at) {
				out = &nanConstant{bits, at}
			}
		}
	}
	return out
}

// hasNumber reports whether a line has a number of several digits.
func (q *inquiry) hasNumber(at *report.Source) bool {
	return longNumber.MatchString(bare(q.quoted(at)))
}

var longNumber = regexp.MustCompile(`\b(0[xX][\da-fA-F]{4,}|\d{4,})`)

// bitsOfNaN are the bits of a constant that is a NaN as a float. Of an integer they are taken for one where
// they look written as a float's: a small negative number has such bits too.
func bitsOfNaN(in *ptx.Instr, o *ptx.Operand) (uint32, bool) {
	bits := uint32(o.Imm)
	switch k := in.Kind(); {
	case o.Kind == ptx.OpF32:
	case o.Kind == ptx.OpInt && in.Type().Bytes() == 4 && bits&0xffff == 0 &&
		(k == isa.Move || k == isa.Store):
	default:
		return 0, false
	}
	return bits, math.IsNaN(float64(math.Float32frombits(bits)))
}

// describe makes the constant the place of the cause.
func (x *nanConstant) describe(q *inquiry, c *Cause) {
	c.why = fmt.Sprintf("the constant 0x%08x at %s is a NaN as a float; an infinity is 0x7f800000, or "+
		"0xff800000 if it is negative", x.bits, callText(x.at))
	c.Place.Source, c.Place.Other = x.at, c.Place.Source
	c.Advice = q.citing("put the number that is meant at "+callText(x.at), ": ", x.at)
}
