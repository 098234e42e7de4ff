package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// Several elements that are accessed at once are within one row only where a row is a whole number of such
// pieces. Else rows begin in the middle of a piece, which is then misaligned, and the last piece of a row
// takes elements of the next: one cause, whatever the finding.

// widthKinds are the kinds of findings of which accesses wider than an element may be the cause.
var widthKinds = []string{"misaligned", outOfBounds}

// wide says of a suspect that its accesses take more elements at once than rows are a multiple of, or numbers
// of a larger type than the elements, and what to do; "" where they do not.
func (q *inquiry) wide(s *suspect) (text, advice string) {
	fn := q.run.Entry()
	if fn == nil || s.cause.Finding < 0 || !slices.Contains(widthKinds, s.cause.Kind) {
		return "", ""
	}
	f := &q.doc.Findings[s.cause.Finding]
	l, ok := q.layoutOf(f.Variable)
	if !ok || f.Source == nil || len(l.dims) < 2 {
		return "", ""
	}
	row := l.strides[len(l.dims)-2]
	all := q.accessed(fn, access{at: f.Source, variable: f.Variable})
	slices.SortStableFunc(all, func(a, b int) int {
		return accessBytes(fn.Body[b]) - accessBytes(fn.Body[a])
	})
	for _, i := range all {
		in := fn.Body[i]
		n := int64(accessBytes(in))
		if n <= l.size {
			continue
		}
		verb := "reads"
		if in.Kind().Writes() {
			verb = "writes"
		}
		if t := in.Type(); t.Float() && int64(t.Bytes()) > l.size {
			text = fmt.Sprintf("%s %d of type %s, of %d bytes each, where elements of %s have %d: it takes the "+
				"place of %d of them", verb, n/int64(t.Bytes()), t, t.Bytes(), f.Variable, l.size, n/l.size)
			return text, fmt.Sprintf("convert to the type of %s, and access as many of its elements", f.Variable)
		}
		if row%n == 0 {
			continue
		}
		text = fmt.Sprintf("%s %d elements of %s at once, and its rows have %d, which is no multiple of %d: "+
			"rows begin in the middle of such a piece", verb, n/l.size, f.Variable, l.dims[len(l.dims)-1],
			n/l.size)
		return text, "access single elements, or several at once only where rows are a multiple of them"
	}
	return "", ""
}

// widened notes that a suspect's accesses go across the ends of rows.
func (q *inquiry) widened(s *suspect) error {
	if text, advice := q.wide(s); text != "" {
		at := q.doc.Findings[s.cause.Finding].Source
		s.across, s.explained = true, callText(at)+" "+text
		s.cause.Advice = q.citing(advice, ": ", at)
	}
	return nil
}

// accessBytes is how many bytes of memory one lane accesses by a load or store; 0 for other instructions.
func accessBytes(in *ptx.Instr) int {
	if k := in.Kind(); k != isa.Load && k != isa.Store {
		return 0
	}
	n := 1
	for i := range in.Args {
		n = max(n, len(in.Args[i].Elems))
	}
	return n * in.Type().Bytes()
}
