package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/needed"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// mostInFormula is how many operations a formula of a story has at most.
const mostInFormula = 20

// formula adds to the reason of a suspect by which formula its first wrong cell is computed, where few
// operations make it, and which the manifest has. It is asked where nothing else says what is wrong.
func (q *inquiry) formula(s *suspect, st probes.Stage, b *report.BadCell) error {
	cells, err := q.base.Formation(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
	if err != nil || len(cells) == 0 {
		return q.fatal(err)
	}
	s.invalid = slices.ContainsFunc(cells[0].Values, func(v needed.Value) bool {
		return v.Name == debugkern.InvalidAccess
	})
	text, ok := cells[0].Formula(mostInFormula)
	text = byTwo.ReplaceAllString(sourceNames.Replace(text), "exp($1)")
	ok = ok && strings.ContainsAny(text, "+-*/^(")
	right, says := q.manifestFormula(st), ""
	switch {
	case ok && text == right: // it is as it should be but for roundings, of which a formula has none
	case ok && right != "":
		says = fmt.Sprintf("%s is computed as %s, and the manifest has %s", q.cell(st, b.Row, b.Col), text,
			right)
	case ok:
		says = fmt.Sprintf("%s is computed as %s", q.cell(st, b.Row, b.Col), text)
	case right != "" && s.cause.why == "":
		says = fmt.Sprintf("the manifest has %s = %s", st, right)
	}
	if !ok && s.cause.Kind == kindStage {
		at, how, err := q.throughInteger(st, b)
		if err != nil {
			return err
		}
		if at != nil {
			says = strings.TrimPrefix(fmt.Sprintf("%s; a number that it is made of is rounded to an integer at %s (%s)",
				says, callText(at), how), "; ")
			s.rounded, s.cause.Place.Source, s.cause.Place.Other = at, at, s.cause.Place.Source
			look := "look at " + callText(at) + ", and at what is computed with the integer"
			s.cause.Advice = q.citing(look, ": ", at)
		}
	}
	if says != "" && !slices.Contains(s.cause.Proof, says) {
		s.because(says)
	}
	return nil
}

// byTwo matches an exponential that is computed as a power of two.
var byTwo = regexp.MustCompile(`2\^\(\(([^()]*)\)\*1\.4427\)`)

// sourceNames are the names of special registers in the source.
var sourceNames = strings.NewReplacer("%tid.", "threadIdx.", "%ctaid.", "blockIdx.", "%ntid.", "blockDim.",
	"%nctaid.", "gridDim.")

// manifestFormula is what the manifest has a stage computed as; "" for what it reads, or has no formula for.
func (q *inquiry) manifestFormula(st probes.Stage) string {
	n := q.run.Plan.Stage(st).Op
	if n == nil || n.Op == "load" {
		return ""
	}
	return debugkern.Formula(n)
}

// throughInteger is where a number that a wrong cell is made of is rounded to an integer, and by which
// instruction; nil where none is.
func (q *inquiry) throughInteger(st probes.Stage, b *report.BadCell) (*report.Source, string, error) {
	ops, err := q.base.Slice(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
	if err != nil {
		return nil, "", q.fatal(err)
	}
	fn := q.run.Entry()
	for _, o := range ops {
		in := fn.Body[o.At]
		t := in.Types()
		if in.Kind() == isa.Convert && len(t) > 1 && !t[0].Float() && t[len(t)-1].Float() &&
			!in.Loc.Within(target.IsProbe) && !integral(fn, o.At) {
			return blame(fn, o.At), in.Opcode(), nil
		}
	}
	return nil, "", nil
}

// integral reports whether what an instruction converts was rounded to an integer before, as by floor: the
// conversion changes nothing then.
func integral(fn *ptx.Func, at int) bool {
	in := fn.Body[at]
	from := in.Args[len(in.Args)-1]
	for i := at - 1; i >= 0 && from.Kind == ptx.OpReg; i-- {
		by := fn.Body[i]
		if !slices.Contains(by.Dests(nil), from.Reg) {
			continue
		}
		t := by.Types()
		return by.Kind() == isa.Convert && len(t) > 1 && t[0].Float() && t[len(t)-1].Float() &&
			(by.Has("rmi") || by.Has("rpi") || by.Has("rzi") || by.Has("rni"))
	}
	return false
}
