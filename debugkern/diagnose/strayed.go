package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/probes"
)

// A read past the end of a tensor is seldom one of too many: where the reads that are in bounds are wrong as
// well, blocks begin at the wrong element, and no bound helps. How far the first element moves from block to
// block, in the kernel and by the manifest, says of which index of the block too much comes in.

// strayed finds out whether the reads of a suspect begin at another element than they should.
func (q *inquiry) strayed(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.cause.Kind != outOfBounds || s.cause.Finding < 0 || s.strays != nil {
		return nil
	}
	f := &q.doc.Findings[s.cause.Finding]
	a := q.run.Plan.Arg(f.Variable)
	if a == nil || a.Role == probes.RoleOutput || f.Source == nil {
		return nil
	}
	own := access{at: f.Source, variable: f.Variable}
	if q.writes(own) {
		return nil
	}
	var err error
	s.strays, err = q.base.Strays(q.ctx, f.Block, f.Variable, q.accessed(fn, own))
	return q.fatal(err)
}

// straysText says at which element a block's reads begin and should, and how far that moves; list are the
// definitions of the index.
func (q *inquiry) straysText(s *suspect, list []definition) string {
	f, x := &q.doc.Findings[s.cause.Finding], s.strays
	text := fmt.Sprintf("block %s begins with %s, where %s belongs", f.Block, x.Read, x.Belongs)
	for i, step := range x.Steps[:min(len(x.Steps), mostSteps)] {
		text += "; " + step.Text()
		if i == 0 && step.Pair == "" {
			text += q.movesText(x.Moves, step, list)
		}
	}
	return text
}

// movesText says which summands of an address make up a step.
func (q *inquiry) movesText(moves []debugkern.Move, step debugkern.Step, list []definition) string {
	sum := 0
	var parts []string
	for _, m := range moves {
		name := q.termName(debugkern.Term{At: m.At}, list)
		if at := blame(q.run.Entry(), m.At); name == "" && at != nil {
			name = "what is computed at " + at.At()
			if d := declared.FindStringSubmatch(q.quoted(at)); d != nil {
				name = d[1] + " of " + at.At()
			}
		}
		if name == "" {
			return ""
		}
		sum += m.By
		parts = append(parts, fmt.Sprintf("%d by %s", m.By, name))
	}
	if sum != step.Got || len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, " and ")
}

// straysAdvice is the advice about reads that begin at the wrong element.
func (q *inquiry) straysAdvice(s *suspect) string {
	var axes []string
	for _, step := range s.strays.Steps {
		if !slices.Contains(axes, step.Along) {
			axes = append(axes, step.Along)
		}
	}
	f := &q.doc.Findings[s.cause.Finding]
	text := q.citing(fmt.Sprintf("look at how %s comes into the index of %s at %s",
		strings.Join(axes, " and "), f.Variable, callText(f.Source)), ": ", f.Source)
	for _, m := range s.strays.Moves {
		at := blame(q.run.Entry(), m.At)
		if at != nil && at.At() != f.Source.At() && blockAxisOf(q.run.Entry().Body[m.At]) == "" {
			text += q.citing("; "+at.At()+" has a part in it", ": ", at)
		}
	}
	return text
}
