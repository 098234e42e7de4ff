package diagnose

import (
	"fmt"
	"regexp"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// A matrix descriptor has the swizzle in its highest bits, by a code that is not that of tensor maps. Where
// an operand is read with another swizzle than it was copied with, the trial gives every descriptor that has
// the wrong code the one of the copy's swizzle.

// swizzleCodes are what a matrix descriptor has in bits 62 and 63, by the bytes of the swizzle (PTX ISA,
// "wgmma", matrix descriptor format); 16: none.
var swizzleCodes = map[int]uint64{16: 0, 128: 1, 64: 2, 32: 3}

// swizzleShift is the lowest of these bits.
const swizzleShift = 62

// readSwizzled matches a finding on a layout: the swizzle of the copy, and that of the descriptor.
var readSwizzled = regexp.MustCompile(`, swizzle (?:none|(\d+)B), and the descriptor \([^)]*?(?:no|(\d+)-byte) swizzle`)

// swizzled is a swizzle that matrix descriptors have, and should not.
type swizzled struct {
	have, want int            // bytes; 16: none
	instr      []int          // that put the code in, in the entry's body
	at         *report.Source // the first of them
}

// swizzledIn reads a finding on a layout; nil where it is about another thing, or no instruction of the
// descriptors has the code.
func swizzledIn(fn *ptx.Func, list map[int]bool, message string) *swizzled {
	m := readSwizzled.FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	bytes := func(text string) int {
		if text == "" {
			return 16
		}
		return number(text)
	}
	w := &swizzled{want: bytes(m[1]), have: bytes(m[2])}
	if w.want == w.have || swizzleCodes[w.have] == 0 {
		return nil
	}
	for i, in := range fn.Body {
		if list[i] && slices.ContainsFunc(in.Args, func(o ptx.Operand) bool { return w.coded(&o) }) {
			w.instr = append(w.instr, i)
			if w.at == nil {
				w.at = blame(fn, i)
			}
		}
	}
	if w.at == nil {
		return nil
	}
	return w
}

// shiftsCode matches a line that puts a code where descriptors have that of the swizzle.
var shiftsCode = regexp.MustCompile(`(\w+)\s*<<\s*62\b`)

// coding is the line of the source that puts a code in bits 62 and 63, where there is one alone; nil where
// there is none. A compiler's debug lines have a constant wherever it is used.
func (q *inquiry) coding() (at *report.Source) {
	for _, file := range q.sourceFiles() {
		for i, line := range q.run.Source(file) {
			if !shiftsCode.MatchString(bare(line)) {
				continue
			}
			if at != nil {
				return nil
			}
			at = &report.Source{File: file, Line: i + 1}
		}
	}
	return at
}

// coded reports whether an operand is a number with the code of the swizzle that descriptors have.
func (w *swizzled) coded(o *ptx.Operand) bool {
	return o.Kind == ptx.OpInt && o.Imm>>swizzleShift == swizzleCodes[w.have]
}

// reswizzle looks for descriptors whose swizzle is not that of the copy, and tries it with that.
func (q *inquiry) reswizzle(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || s.cause.Kind != "layout" || s.cause.Finding < 0 {
		return nil
	}
	var open []int32
	for _, in := range fn.Body {
		if in.Op != "wgmma" || !in.Has("mma_async") {
			continue
		}
		for k := range in.Args {
			if o := &in.Args[k]; o.Kind == ptx.OpReg && fn.Regs[o.Reg].Type.Bits() == 64 {
				open = append(open, o.Reg)
			}
		}
	}
	w := swizzledIn(fn, q.sliced().from(open), q.doc.Findings[s.cause.Finding].Message)
	if w == nil {
		return nil
	}
	if at := q.coding(); at != nil {
		w.at = at
	}
	ok, err := q.adopt(s, q.asCopied(w, fn))
	if ok {
		s.swizzled = w
	}
	return err
}

// asCopied gives descriptors the swizzle of the copy.
func (q *inquiry) asCopied(w *swizzled, fn *ptx.Func) *remedy {
	var edits []ptx.Edit
	for _, i := range w.instr {
		edits = append(edits, ptx.Edit{
			Kind: ptx.Replace, Func: fn.Name, At: i, New: fn.Body[i].With(func(in *ptx.Instr) {
				for k := range in.Args {
					if o := &in.Args[k]; w.coded(o) {
						o.Imm = o.Imm<<2>>2 | swizzleCodes[w.want]<<swizzleShift
					}
				}
			}),
		})
	}
	advice := q.citing(fmt.Sprintf("at %s: have the swizzle in bits 62 and 63 of the matrix descriptor be %d (%s), "+
		"as the copy wrote", w.at.At(), swizzleCodes[w.want], swizzleText(w.want)), "; the line is ", w.at)
	if m := shiftsCode.FindStringSubmatch(bare(q.quoted(w.at))); m != nil {
		advice += q.valuesOf(w.at, m[1])
	}
	return &remedy{
		text: fmt.Sprintf("with code %d in place of %d in bits 62 and 63 of the matrix descriptors made at %s",
			swizzleCodes[w.want], swizzleCodes[w.have], w.at.At()),
		advice: advice,
		edits:  func(*debugkern.Run) []ptx.Edit { return edits }, at: w.at,
	}
}

// swizzleText is "128 bytes" or "none".
func swizzleText(bytes int) string {
	if bytes == 16 {
		return "none"
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// describe says which swizzle an operand is copied and read with.
func (w *swizzled) describe(f *report.Finding) string {
	return fmt.Sprintf("%s was copied with a swizzle of %s, and the matrix descriptor, with code %d in bits 62 and "+
		"63, says %s", f.Variable, swizzleText(w.want), swizzleCodes[w.have], swizzleText(w.have))
}
