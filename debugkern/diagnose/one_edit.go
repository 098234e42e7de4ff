package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// One edit of the source spoils several stages, and has findings at several places. Two suspects come from
// one edit where the change that puts one right puts the other right too, where their first departing
// operation is one line and departs in the same way, or where findings of one kind lie on one line or in one
// loop.

// ofOneEdit reports whether something shows that two suspects have one edit as their origin.
func (q *inquiry) ofOneEdit(a, b *suspect) bool {
	return a.overrun != nil && a.overrun == b.overrun ||
		q.sameCalls(a, b) || leftAlike(a, b) || sameRule(a, b) ||
		q.curedBy(a, b) || q.curedBy(b, a) || sameDeparture(a, b) || q.sameLine(a, b) ||
		q.sameHandshake(a, b) || q.sameRegion(a, b) || sameLayout(a, b) || sameLayout(b, a) || moved(a, b) ||
		moved(b, a) ||
		tookBeyond(a, b) || tookBeyond(b, a) || q.sameWriter(a, b) || q.sameMask(a, b) || q.sameMask(b, a) ||
		q.hidden(a, b) || q.hidden(b, a) ||
		q.beyondOperand(a, b) || q.takesUnset(a, b) || q.takesUnset(b, a) ||
		q.takesCopy(a, b) || q.takesCopy(b, a) || q.goesOn(a, b) || q.goesOn(b, a)
}

// goesOn reports whether a loop reads past an array, and writes elements of an output that other blocks
// write: it counts too far.
func (q *inquiry) goesOn(past, race *suspect) bool {
	a, b := past.cause.Place.Source, race.cause.Place.Source
	if past.cause.Kind != outOfBounds || race.cause.Kind != "race" || a == nil || b == nil ||
		a.File != b.File || race.cause.Finding < 0 || !q.doc.Findings[race.cause.Finding].Across {
		return false
	}
	lines := q.run.Source(a.File)
	x, y := loopsRound(lines, a.Line), loopsRound(lines, b.Line)
	return len(x) > 0 && len(y) > 0 && x[0] == y[0]
}

// sameRule reports whether one line, whatever called it, gives two stages what becomes right by one rule.
func sameRule(a, b *suspect) bool {
	x, y := a.rule, b.rule
	return x != nil && y != nil && x.Kind == y.Kind && x.Op == y.Op && x.at != nil && y.at != nil &&
		x.at.File == y.at.File && x.at.Line == y.at.Line
}

// tookBeyond reports whether a line reads outside of a tensor, and what it reads within has no part in a
// stage either: one index of it is wrong.
func tookBeyond(finding, s *suspect) bool {
	at := finding.cause.Place.Source
	if finding.cause.Kind != outOfBounds || at == nil || s.contrast == nil {
		return false
	}
	return slices.ContainsFunc(s.contrast.Foreign, func(o debugkern.Operands) bool {
		return o.At != nil && o.At.File == at.File && o.At.Line == at.Line &&
			o.Of == finding.cause.Place.Variable
	})
}

// sameHandshake reports whether two suspects are of mbarriers, or of one and of a race with a bulk copy,
// which mbarriers order: the barriers of a pipeline wait for each other, and one that is off throws all of
// them off.
func (q *inquiry) sameHandshake(a, b *suspect) bool {
	bulk := func(s *suspect) bool {
		return s.cause.Kind == "race" && slices.ContainsFunc(
			[]*report.Source{s.cause.Place.Source, s.cause.Place.Other}, func(at *report.Source) bool {
				return q.anyAt(at, func(in *ptx.Instr) bool { return in.Kind() == isa.BulkCopy })
			})
	}
	x, y := a.cause.Kind == "mbarrier", b.cause.Kind == "mbarrier"
	return x && (y || bulk(b)) || y && bulk(a)
}

// sameRegion reports whether two tiles of inputs lack what belongs in the same part of them.
func (q *inquiry) sameRegion(a, b *suspect) bool {
	lacks := func(s *suspect) bool {
		if s.cause.Kind != kindStage || s.contrast == nil || len(s.contrast.Foreign) > 0 {
			return false
		}
		sp := q.run.Plan.Stage(s.stages[0])
		return sp != nil && sp.Loaded && s.cause.Region != ""
	}
	return lacks(a) && lacks(b) && a.cause.Region == b.cause.Region
}

// sameLayout reports whether the operands of a stage are wrong at the line where a checker finds that data
// lies otherwise than the instruction takes it.
func sameLayout(layout, s *suspect) bool {
	return layout.cause.Kind == "layout" && layout.cause.Place.Source != nil && s.contrast != nil &&
		len(s.contrast.Foreign) > 0 && s.contrast.Foreign[0].At != nil &&
		s.contrast.Foreign[0].At.At() == layout.cause.Place.Source.At()
}

// moved reports whether a stage lacks an input that another stage has too much: the operation was moved
// from the one to the other.
func moved(lacks, has *suspect) bool {
	return lacks.contrast != nil && len(lacks.contrast.Foreign) == 0 &&
		slices.ContainsFunc(lacks.contrast.Missing, func(o debugkern.Operands) bool {
			return slices.Contains(has.drops, o.Of)
		})
}

// takesCopy reports whether the first wrong cell of s is made of what a wrong stage of another suspect is
// made of, in the place of that stage: the thread has its own copy of the value, which nobody captured, and
// that is wrong as well. s is then an effect of it.
func (q *inquiry) takesCopy(of, s *suspect) bool {
	x := s.contrast
	if of.cause.Kind != kindStage || x == nil || len(x.Foreign) == 0 || len(x.Missing) == 0 {
		return false
	}
	from := probes.StageSet(nil)
	for _, m := range x.Missing {
		if !slices.Contains(of.stages, probes.Stage(m.Of)) {
			return false
		}
		from = from.Union(q.ancestors(probes.Stage(m.Of)))
	}
	if slices.ContainsFunc(x.Foreign, func(f debugkern.Operands) bool {
		return !from.Has(probes.Stage(f.Of))
	}) {
		return false
	}
	s.effect = true
	return true
}

// curedBy reports whether an edit that was tried and puts cure's suspect right leaves nothing of another.
func (q *inquiry) curedBy(cure, s *suspect) bool {
	return cure.remedy != nil && cure.remedy.edits != nil && cure.alone != nil &&
		cure.alone.Report.Verdict != report.Failed && !q.stands(s, cure.alone)
}

// rightWith is the suspect whose edit, which was found for another stage, puts the stages of s right too.
func (q *inquiry) rightWith(s *suspect) *suspect {
	for _, o := range q.suspects {
		if o != s && o.cause.Kind == kindStage && q.curedBy(o, s) {
			return o
		}
	}
	return nil
}

// sameDeparture reports whether the first wrong cells of two stages are made of wrong operands that come in
// at one line, whatever called it, and are as far from where they belong.
func sameDeparture(a, b *suspect) bool {
	if a.contrast == nil || b.contrast == nil {
		return false
	}
	x, y := departureOf(a.contrast), departureOf(b.contrast)
	return x.at != nil && y.at != nil && x.at.File == y.at.File && x.at.Line == y.at.Line &&
		x.kind == y.kind && slices.Equal(x.shift, y.shift)
}

// departed is how a cell departs from what it should be made of, without the names of what it is made of.
type departed struct {
	at    *report.Source
	kind  string // foreign, missing, twice
	shift []int  // index by index, how far the operands are from those that belong there
}

// indices are the numbers in the text of operands, without those of a name.
var indices = regexp.MustCompile(`\[[^\]]*\]|@\d+`)

var digits = regexp.MustCompile(`\d+`)

func departureOf(c *debugkern.Contrast) departed {
	numbers := func(list []debugkern.Operands) (out []int) {
		for _, o := range list {
			for _, part := range indices.FindAllString(o.Text, -1) {
				for _, d := range digits.FindAllString(part, -1) {
					n, _ := strconv.Atoi(d)
					out = append(out, n)
				}
			}
		}
		return out
	}
	var d departed
	list := c.Missing
	switch {
	case len(c.Foreign) > 0:
		d.kind, list = "foreign", c.Foreign
	case len(c.Twice) > 0:
		d.kind, list = "twice", c.Twice
	case len(c.Missing) > 0:
		d.kind = "missing"
	default:
		return d
	}
	d.at = list[0].At
	are, belong := numbers(list), numbers(c.Missing)
	if d.kind == "missing" || len(are) != len(belong) {
		d.shift = append(append(are, -1), belong...)
		return d
	}
	for i := range are {
		d.shift = append(d.shift, are[i]-belong[i])
	}
	return d
}

// sameLine reports whether two suspects are findings of one kind on one line, whatever called it, or in one
// iteration of the same innermost loop.
func (q *inquiry) sameLine(a, b *suspect) bool {
	if a.cause.Finding < 0 || b.cause.Finding < 0 || a.cause.Kind != b.cause.Kind ||
		!slices.Contains([]string{"out-of-bounds", "misaligned"}, a.cause.Kind) {
		return false
	}
	for _, i := range a.cause.Findings {
		for _, j := range b.cause.Findings {
			x, y := &q.doc.Findings[i], &q.doc.Findings[j]
			if x.Kind != y.Kind || x.Kind != a.cause.Kind || x.Source == nil || y.Source == nil {
				continue
			}
			if x.Source.File == y.Source.File && x.Source.Line == y.Source.Line ||
				slices.Equal(x.Warps, y.Warps) && x.Block == y.Block && q.inOneLoop(x.Source, y.Source) {
				return true
			}
		}
	}
	return false
}

// storedTogether reports whether two outputs are not written whole, by stores in one loop.
func (q *inquiry) storedTogether(a, b *suspect) bool {
	if a.cause.Kind != "unwritten" || b.cause.Kind != "unwritten" {
		return false
	}
	x, y := q.storeOf(a.cause.Place.Variable), q.storeOf(b.cause.Place.Variable)
	return x != nil && y != nil && q.inOneLoop(x, y)
}

// sameCalls reports whether two suspects are findings of one kind, of synchronisation, whose two sides are in
// one function each that is called at the same two places: what it does there to one array it does to the
// other.
func (q *inquiry) sameCalls(a, b *suspect) bool {
	if a.cause.Finding < 0 || b.cause.Finding < 0 || a.cause.Kind != b.cause.Kind ||
		!slices.Contains(racing, a.cause.Kind) {
		return false
	}
	x, y := &q.doc.Findings[a.cause.Finding], &q.doc.Findings[b.cause.Finding]
	return calledAlike(x.Source, y.Source) && calledAlike(x.Other, y.Other) ||
		calledAlike(x.Source, y.Other) && calledAlike(x.Other, y.Source)
}

// calledAlike reports whether two places are in one function, inlined at the same place of the kernel's text.
func calledAlike(a, b *report.Source) bool {
	if a == nil || b == nil {
		return false
	}
	x, y := a.Calls.Sites(), b.Calls.Sites()
	if len(x) == 0 || len(y) == 0 || x[0] != y[0] {
		return false
	}
	within := func(s *report.Source, sites []target.Site) string {
		if len(sites) > 1 {
			return sites[1].Function
		}
		return s.Function
	}
	return within(a, x) == within(b, y)
}

// inOneLoop reports whether an access of each line has the same innermost loop around it.
func (q *inquiry) inOneLoop(a, b *report.Source) bool {
	fn := q.run.Entry()
	if fn == nil {
		return false
	}
	if q.loops == nil {
		q.loops = innermost(fn)
	}
	for _, i := range accessesAt(fn, a) {
		for _, j := range accessesAt(fn, b) {
			if l := q.loops[i]; l >= 0 && l == q.loops[j] {
				return true
			}
		}
	}
	return false
}

// innermost is, for each instruction, the head block of the smallest loop around it; -1: none.
func innermost(fn *ptx.Func) []int {
	g := cfg.New(fn)
	loops := g.Loops()
	out := make([]int, len(fn.Body))
	for i := range out {
		out[i] = -1
		for head, body := range loops {
			if body[g.Of[i]] && (out[i] < 0 || len(body) < len(loops[out[i]])) {
				out[i] = head
			}
		}
	}
	return out
}

// apart reports whether an edit that was tried separates two suspects: it puts one right, and leaves the
// other as wrong as it was. The reference in the place of a stage separates nothing: what made the stage
// wrong may make the other wrong as well.
func (q *inquiry) apart(a, b *suspect) bool {
	separates := func(a, b *suspect) bool {
		return a.remedy != nil && a.remedy.changes() && a.alone != nil && q.stands(b, a.alone)
	}
	return separates(a, b) || separates(b, a)
}

// inseparable names pairs of causes, by number, that no edit that was tried separates: "1 and 2".
func (q *inquiry) inseparable() []string {
	var out []string
	causes := q.doc.Causes
	for i := range causes {
		for j := i + 1; j < len(causes); j++ {
			a, b := &causes[i], &causes[j]
			if !a.AlsoFound && !b.AlsoFound && a.of != nil && b.of != nil && !q.apart(a.of, b.of) {
				out = append(out, fmt.Sprintf("%d and %d", i+1, j+1))
			}
		}
	}
	return out
}

// hidden reports whether a suspect's cells are wrong by the comparison by which another one's mask is off, or
// lack scores of the rows in which it hides some.
func (q *inquiry) hidden(mask, s *suspect) bool {
	m := mask.mask
	if m == nil || m.at == nil || s.cause.Kind != kindStage || s.mask != nil && s.mask.at != nil {
		return false
	}
	if len(s.compares) > 0 {
		at := q.comparedAtLine(s.compares[0])
		return at != nil && at.At() == m.at.At()
	}
	doc := q.doc.Stage(s.cause.Stage)
	if m.shown || doc == nil || doc.FirstBad == nil || doc.FirstBad.Block != m.block || s.contrast == nil ||
		len(s.contrast.Foreign) > 0 || len(s.contrast.Missing) == 0 {
		return false
	}
	_, off := m.rows[doc.FirstBad.Row]
	return off && max(doc.FirstBad.KVTile, 0) == m.kv && !slices.ContainsFunc(s.contrast.Missing,
		func(o debugkern.Operands) bool { return o.Of != s.contrast.Missing[0].Of })
}
