package diagnose

import (
	"fmt"
	"regexp"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
)

// An index that goes round a ring of buffers leaves the array where it counts more of them than there are.
// The trial takes it modulo the extent that the array has.

// wrapped tries the index by which a suspect's accesses leave a shared array modulo its extent.
func (q *inquiry) wrapped(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || s.cause.Kind != outOfBounds || s.cause.Finding < 0 {
		return nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	if f.Space != "shared" {
		return nil
	}
	if err := q.beyond(s); err != nil {
		return err
	}
	x := s.excess
	if x == nil || x.exchange >= 0 || len(x.terms) != 1 || x.factors[0] != 1 {
		return nil
	}
	r := q.remainder(fn, x)
	if r == nil {
		return nil
	}
	if ok, err := q.adopt(s, r); !ok {
		return err
	}
	list := q.definitions(access{at: f.Source, variable: f.Variable})
	s.explained = q.because(x, list)
	d := q.termDefinition(x.terms[0], list)
	if d == nil {
		s.cause.Advice = fmt.Sprintf("take %s of %s modulo %d", x.index(x.axis), x.of, x.extent)
		return nil
	}
	extent := q.extentText(x.of, f.Source.Outermost().File, x.axis, x.extent)
	s.cause.Title += fmt.Sprintf("; %s is given at %s", d.name, d.at.At())
	s.cause.Place.Source, s.cause.Place.Other = &d.at, s.cause.Place.Source
	s.cause.Advice = fmt.Sprintf("at %s: %s must stay below %s, of which %s has %d", d.at.At(), d.name,
		extent, x.of, x.extent)
	if s.cause.Rewrite = q.moduloRewrite(d, extent); s.cause.Rewrite != nil {
		s.cause.Advice += ": write " + quote(s.cause.Rewrite.Now)
	} else {
		s.cause.Advice = q.citing(s.cause.Advice, "; the line is ", &d.at)
	}
	return nil
}

// goesRound are the operations by which compilers make an index that goes round.
var goesRound = []string{"rem", "and", "xor"}

// remainder takes an index that goes round modulo its extent where it is computed; nil where it does not go
// round, or is in no one register.
func (q *inquiry) remainder(fn *ptx.Func, x *excess) *remedy {
	at := x.terms[0].At
	to := fn.Body[at].Dests(nil)
	if len(to) != 1 || at+1 >= len(fn.Body) || !slices.Contains(goesRound, fn.Body[at].Op) {
		return nil
	}
	kind := "u32"
	if fn.Regs[to[0]].Type.Bytes() == 8 {
		kind = "u64"
	}
	register := ptx.RegisterOf(to[0])
	edit := ptx.Edit{Kind: ptx.Insert, Func: fn.Name, At: at + 1, New: &ptx.Instr{
		Op: "rem", Mods: []string{kind},
		Args: []ptx.Operand{register, register, ptx.IntegerOf(int64(x.extent))},
	}}
	return &remedy{
		text:  fmt.Sprintf("with %s of %s modulo %d", x.index(x.axis), x.of, x.extent),
		edits: func(*debugkern.Run) []ptx.Edit { return []ptx.Edit{edit} },
	}
}

var modulus = regexp.MustCompile(`%\s*(\w+)`)

// moduloRewrite is the line of a definition with an extent in the place of what it takes its value modulo;
// nil where it does so in not exactly one place, or in no one's.
func (q *inquiry) moduloRewrite(d *definition, extent string) *Rewrite {
	line := q.quoted(&d.at)
	all := modulus.FindAllStringSubmatchIndex(bare(line), -1)
	if len(all) != 1 || len(modulus.FindAllString(valueOn(q.run.Source(d.at.File), d), -1)) != 1 {
		return nil
	}
	lo, hi := all[0][2], all[0][3]
	if line[lo:hi] == extent {
		return nil
	}
	return &Rewrite{d.at.File, d.at.Line, line, line[:lo] + extent + line[hi:]}
}

// extentText is how the declaration of a shared array writes an extent of it; the number where that is not
// found.
func (q *inquiry) extentText(variable, file string, axis, n int) string {
	array := declarationOf(variable)
	for _, line := range q.run.Source(file) {
		m := array.FindStringSubmatch(bare(line))
		if m == nil {
			continue
		}
		all := dimension.FindAllStringSubmatch(m[1], -1)
		if l, ok := q.layoutOf(variable); !ok || len(all) != len(l.dims) || l.dims[axis] != n ||
			q.declaredOtherwise(variable, file) != nil {
			break
		}
		return all[axis][1]
	}
	return fmt.Sprint(n)
}
