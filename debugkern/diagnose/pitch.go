package diagnose

import (
	"fmt"
	"go/constant"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// A matrix that is loaded or stored as rows of another length than those of its array runs into the next part
// of the array, or past its end, and leaves out elements between its rows. The leading dimension is compared
// with the array's last extent before an index or a bound is looked for.

// pitch is a line that loads or stores matrices of an array with a leading dimension that is not the length
// of the array's rows.
type pitch struct {
	at     report.Source
	of     string // the array
	instr  []int  // of the line, in the entry's body
	is, be int    // the leading dimension, and the length of a row
	axis   int    // the array's last dimension
}

// pitchKinds are the kinds of findings that a wrong leading dimension explains.
var pitchKinds = []string{outOfBounds, "race", "uninitialised", "misaligned"}

// pitched looks for a wrong leading dimension behind a suspect's findings, and tries the right one.
func (q *inquiry) pitched(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || s.cause.Finding < 0 || !slices.Contains(pitchKinds, s.cause.Kind) {
		return nil
	}
	for _, v := range s.cause.Place.Variables {
		for _, p := range q.pitches(fn, v) {
			ok, err := q.adopt(s, q.repitched(fn, p))
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			s.explained = fmt.Sprintf("a row of %s has %d elements, and the rows of the matrix at %s are "+
				"taken %d apart", p.of, p.be, p.at.At(), p.is)
			if *s.cause.Place.Source != p.at {
				s.cause.Place.Source, s.cause.Place.Other = &p.at, s.cause.Place.Source
			}
			s.cause.Rewrite, s.cause.Advice = q.pitchRewrite(p)
			return nil
		}
	}
	return nil
}

// pitches lists the lines that load or store matrices of a shared array with rows of another length than the
// array has.
func (q *inquiry) pitches(fn *ptx.Func, variable string) []*pitch {
	var out []*pitch
	l, ok := q.layoutOf(variable)
	if !ok || len(l.dims) < 2 {
		return nil
	}
	axis := len(l.dims) - 1
	for i, in := range fn.Body {
		if !in.Kind().MovesFragment() || in.Space() != ptx.SpaceShared && in.Space() != ptx.SpaceGeneric ||
			int64(in.Type().Bytes()) != l.size || fromProbe(in.Loc) {
			continue
		}
		n, ok := leadingDimension(fn, i)
		if !ok || n == l.dims[axis] {
			continue
		}
		own := []int{i}
		if !slices.Contains(q.basesOf(fn, own, q.addressOf(fn, own)), variable) {
			continue
		}
		src := blame(fn, i)
		if src == nil {
			continue
		}
		k := slices.IndexFunc(out, func(p *pitch) bool { return p.at == *src && p.is == n })
		if k < 0 {
			k = len(out)
			out = append(out, &pitch{at: *src, of: variable, is: n, be: l.dims[axis], axis: axis})
		}
		out[k].instr = append(out[k].instr, i)
	}
	return out
}

// leadingDimension is the number of elements from row to row of a matrix that an instruction loads or stores;
// ok is false where it has none, or the text does not show it.
func leadingDimension(fn *ptx.Func, at int) (n int, ok bool) {
	switch last := fn.Body[at].Args[len(fn.Body[at].Args)-1]; last.Kind {
	case ptx.OpInt:
		return int(last.Imm), true
	case ptx.OpReg:
		def := lastBefore(fn, last.Reg, at)
		if def < 0 || len(fn.Body[def].Args) < 2 || fn.Body[def].Op != "mov" ||
			fn.Body[def].Args[1].Kind != ptx.OpInt {
			return 0, false
		}
		return int(fn.Body[def].Args[1].Imm), true
	}
	return 0, false
}

// repitched gives the matrices of a line the rows of their array.
func (q *inquiry) repitched(fn *ptx.Func, p *pitch) *remedy {
	var edits []ptx.Edit
	for _, i := range p.instr {
		edits = append(edits, ptx.Edit{Kind: ptx.Replace, Func: fn.Name, At: i,
			New: fn.Body[i].With(func(in *ptx.Instr) {
				in.Args[len(in.Args)-1] = ptx.IntegerOf(int64(p.be))
			})})
	}
	return &remedy{
		text:  fmt.Sprintf("with rows %d elements apart at %s", p.be, p.at.At()),
		edits: func(*debugkern.Run) []ptx.Edit { return edits },
	}
}

// pitchRewrite is the line of a wrong leading dimension with the right one, and the advice: the argument that
// comes to the wrong one becomes the last extent of the array's declaration. The rewrite is nil where not
// exactly one does.
func (q *inquiry) pitchRewrite(p *pitch) (*Rewrite, string) {
	advice := fmt.Sprintf("at %s: a leading dimension of %d in place of %d, which is not the length of a "+
		"row of %s", p.at.At(), p.be, p.is, p.of)
	own, lines := p.at.Outermost(), q.run.Source(p.at.File)
	line := q.quoted(&own)
	be := q.extentText(p.of, own.File, p.axis, p.be)
	var found []string
	for _, arg := range argumentsOf(line, p.of) {
		if n, ok := q.evaluate(arg, lines, 0, map[string]constant.Value{}); ok && n == p.is {
			found = append(found, arg)
		}
	}
	if len(found) != 1 || strings.Count(line, ", "+found[0]) != 1 {
		return nil, q.citing(advice, "; the line is ", &own)
	}
	now := strings.Replace(line, ", "+found[0], ", "+be, 1)
	return &Rewrite{own.File, own.Line, line, now}, advice + ": write " + quote(now)
}

// argumentsOf are the arguments of the call on a line that is given an array; nil where none is.
func argumentsOf(line, array string) []string {
	for _, at := range called.FindAllStringIndex(line, -1) {
		list := arguments(upTo(line[at[1]:]))
		if len(list) > 1 && slices.ContainsFunc(list, func(a string) bool { return hasName(a, array) }) {
			return list
		}
	}
	return nil
}
