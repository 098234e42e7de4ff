package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/needed"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Where the operands of wrong cells are those that belong there, an operation is wrong. Which one, and what
// it should have given, follows from the cells backwards: needed.Explain. What it says holds for all wrong
// cells that were followed, and is where edits are tried first; where none puts the stage right, it is what
// the story says.

// explanation is what wrong cells of a stage say about the operation that made them wrong.
type explanation struct {
	needed.Explanation
	stage probes.Stage
	at    *report.Source
	// call is the line of the kernel's own text that calls the code at, where other lines call that too; else
	// nil
	call *report.Source
	by   *report.Source // of the other value, where another instruction gave it; nil: it has a name
	// function is the logarithm whose last operation gave the value; "": it is not known that one did
	function string
}

// explanations lists those of a suspect's stages, the best first.
func (q *inquiry) explanations(group []probes.Stage) ([]explanation, error) {
	var all []explanation
	names := repair.Constants(q.run.Plan)
	for _, st := range group {
		doc := q.base.Report.Stage(st.String())
		if doc == nil || doc.FirstBad == nil || q.run.Plan.Stage(st).OfLaunch() {
			continue
		}
		tiles, err := q.formed(st, doc.FirstBad)
		if err != nil {
			return nil, err
		}
		list := needed.Explain(slices.Concat(tiles...), names)
		if len(list) == 0 { // in the first tile what is carried has its initial value
			list = slices.DeleteFunc(needed.Explain(tiles[len(tiles)-1], names),
				func(e needed.Explanation) bool { return !slices.Contains(exact, e.Kind) })
		}
		for _, e := range list {
			in, at := e.Site()
			if in == nil || at < 0 {
				continue
			}
			x := explanation{
				Explanation: e, stage: st, call: q.oneCall(at),
				at: report.SourceOf(target.Blame(q.run.Entry(), at)),
			}
			if e.By != nil {
				if e.By.At < 0 {
					continue
				}
				x.by = report.SourceOf(target.Blame(q.run.Entry(), e.By.At))
			}
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b explanation) int { return a.Compare(&b.Explanation) })
	return all, nil
}

// formed are wrong cells of the first tile of a block that a stage is wrong in, and of the last one, each
// with some right ones: what holds in the first tile alone is no rule.
func (q *inquiry) formed(st probes.Stage, first *report.BadCell) ([][]needed.Cell, error) {
	kv := max(first.KVTile, 0)
	tiles := []int{kv}
	if sp := q.run.Plan.Stage(st); sp.PerTile {
		lo, n := q.base.Tiles(first.Block)
		for last := lo + n - 1; last > kv; last-- {
			if q.base.Tile(debugkern.Place{Stage: st, Block: first.Block, KVTile: last}).Bad > 0 {
				tiles = append(tiles, last)
				break
			}
		}
	}
	var out [][]needed.Cell
	for _, kv := range tiles {
		cells, err := q.base.Formation(q.ctx, st, first.Block, kv, q.spread(st, first.Block, kv))
		if err != nil {
			return nil, q.fatal(err)
		}
		out = append(out, cells)
	}
	return out, nil
}

// numbersOf are what explanations say of constants.
func numbersOf(all []explanation) []float64 {
	var out []float64
	for i := range all {
		if all[i].Kind == needed.Constant && !slices.Contains(out, all[i].X) {
			out = append(out, all[i].X)
		}
	}
	return out
}

// exact are the kinds of explanations that say more than which elements a cell is made of, or what its stage
// looks like.
var exact = []needed.Kind{
	needed.Exchanged, needed.Without, needed.Once, needed.Exact, needed.Equal, needed.Operator,
	needed.Partial,
}

// lacksTerm reports whether a pattern is a term too few or too many, and that in all wrong cells: it says
// what is wrong, and an explanation where.
func lacksTerm(p *report.Fingerprint) bool { return p != nil && p.Name == "term" && p.Explains == 1 }

// left is the best explanation that a search for edits leaves: another constant was tried. Where a stage
// looks like a mistake of its operator, that says more, unless another operation of the same operands is all
// that a formula needs. Where a cell is not made of what it should be, or its
// stage is off by a factor, it takes an exact one of that stage.
func (s *suspect) left(all []explanation, doc *report.Stage) *explanation {
	p := pattern(doc)
	if p != nil && strings.Contains(p.Value, "fitted") {
		p = nil // what is fitted says that the cells go with their rows, and nothing else
	}
	if p != nil && p.Name != "factor" && p.Name != "term" {
		i := slices.IndexFunc(all, func(e explanation) bool {
			return e.Kind == needed.Operator && !e.Some && e.stage.String() == doc.Name
		})
		if p.Name != "expression" || i < 0 {
			return nil
		}
		return &all[i]
	}
	term := lacksTerm(p)
	other := !term && (s.contrast != nil || p != nil)
	for i := range all {
		e := &all[i]
		if e.Kind == needed.Partial && s.contrast != nil {
			continue // it is right of what it is made of
		}
		if term && (e.Kind == needed.Constant || e.stage.String() != doc.Name) {
			continue
		}
		if e.Kind == needed.Constant ||
			other && (!slices.Contains(exact, e.Kind) || e.stage.String() != doc.Name) {
			continue
		}
		return e
	}
	return nil
}

// notOf leaves out explanations of stages that are computed from a wrong one: what makes that wrong is
// earlier.
func (q *inquiry) notOf(st probes.Stage, all []explanation) []explanation {
	return slices.DeleteFunc(slices.Clone(all), func(e explanation) bool {
		sp := q.run.Plan.Stage(e.stage)
		return e.stage != st && sp != nil && slices.Contains(sp.Operands, st)
	})
}

// nearest is where edits are tried first: the place of the best explanation, else of the suspect.
func (s *suspect) nearest(all []explanation) *report.Source {
	if len(all) == 0 {
		return s.cause.Place.Source
	}
	return all[0].at
}

// oneCall is the line of the kernel's own text that an instruction was inlined into, where the function that
// it is of is called at other lines too; else nil.
func (q *inquiry) oneCall(at int) *report.Source {
	fn := q.run.Entry()
	in := fn.Body[at]
	if in.Loc == nil || in.Loc.InlinedAt == nil {
		return nil
	}
	own := in.Loc.Outermost()
	for _, o := range fn.Body {
		if o.Loc != nil && o.Op == in.Op && o.Loc.Line == in.Loc.Line && o.Loc.Name == in.Loc.Name {
			if l := o.Loc.Outermost(); l.Line != own.Line || l.Name != own.Name {
				return report.SourceOf(&target.Source{File: own.Name, Line: own.Line})
			}
		}
	}
	return nil
}

// mostFollowed is how many wrong cells of a tile are followed backwards.
const mostFollowed = 12

// spread are wrong cells of a stage's tile, from all over it, and some right ones.
func (q *inquiry) spread(st probes.Stage, block probes.Dim3, kv int) [][2]int {
	v, err := q.base.View(debugkern.Place{Stage: st, Block: block, KVTile: kv})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return nil
	}
	var bad [][2]int
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			if v.Judged(r, c, true) && v.Bad(r, c, true) {
				bad = append(bad, [2]int{r, c})
			}
		}
	}
	out := bad
	if n := len(bad); n > mostFollowed {
		out = nil
		for i := range mostFollowed {
			out = append(out, bad[i*(n-1)/(mostFollowed-1)])
		}
	}
	return append(out, q.rightCells(st, block, kv)...)
}

// explain makes an explanation the reason of a suspect, unless what its cells are made of says it already.
func (q *inquiry) explain(s *suspect, e *explanation) {
	if x := s.contrast; x != nil {
		d := q.departure(x)
		missing := slices.ContainsFunc(x.Missing, func(o debugkern.Operands) bool {
			return strings.HasPrefix(e.Name, o.Of+"[")
		})
		if !lacksTerm(pattern(q.doc.Stage(s.cause.Stage))) &&
			(d.at != nil && d.at.At() == e.at.At() || missing) {
			return
		}
		s.cause.Proof = slices.DeleteFunc(s.cause.Proof, func(line string) bool { return line == d.text })
		s.contrast = nil
	}
	if e.Some && e.Kind != needed.Exact {
		s.cause.because(e.why()) // the operation is as it should be, and not what it is done for or with
		return
	}
	s.rule = e
	was, now := e.otherBase(q.quoted(e.at))
	e.function = was
	s.cause.Place.Source, s.cause.Place.Other = e.blamed(), e.by
	if e.call != nil {
		s.cause.Place.Other = e.at
	}
	s.cause.Title += "; made wrong at " + e.place()
	s.cause.why = e.why()
	if looks := looksLike(q.doc.Stage(s.cause.Stage)); looks != "" && !strings.Contains(looks, "fitted") &&
		e.Kind != needed.Operator {
		s.cause.why += fmt.Sprintf("; %s %s", s.cause.Stage, looks)
	}
	s.cause.Proof = append(s.cause.Proof, s.cause.why)
	change := q.citing(e.change(), "; the line is ", e.at)
	if was != "" {
		change = fmt.Sprintf("at %s: write %s in place of %s: what it gives has to be multiplied by %.6g%s",
			e.place(), now, was, e.X, numberName(e))
	}
	if other := q.rightMadeAt(e); other != "" {
		change = fmt.Sprintf("for %s alone, as %s, which is right, is made at the same line and needs it: %s",
			e.stage, other, change)
	}
	s.cause.Advice = change + q.seeFirst(s.stages[0])
}

// rightMadeAt is a stage, every cell of which is right in the block of the first wrong cell, that the
// operation of an explanation makes too; "" where there is none.
func (q *inquiry) rightMadeAt(e *explanation) string {
	_, at := e.Site()
	doc := q.base.Report.Stage(e.stage.String())
	if doc == nil || doc.FirstBad == nil {
		return ""
	}
	b := doc.FirstBad
	for i := range q.run.Plan.Stages {
		st := q.run.Plan.Stages[i].Stage
		if x := q.base.Report.Stage(st.String()); st == e.stage || q.run.Plan.Stages[i].Loaded || x == nil ||
			x.Local.Cells == 0 || x.Local.Bad > 0 {
			continue
		}
		ops, err := q.base.Slice(q.ctx, st, b.Block, max(b.KVTile, 0), [][2]int{{0, 0}})
		if err != nil {
			continue
		}
		if slices.ContainsFunc(ops, func(op debugkern.Operation) bool { return op.At == at }) {
			return st.String()
		}
	}
	return ""
}

// bases are logarithms with what their results have to be multiplied by to be those of another base.
var bases = map[string]struct {
	by  float64
	now string
}{
	"log2f": {math.Ln2, "logf"}, "__log2f": {math.Ln2, "__logf"}, "logf": {math.Log2E, "log2f"},
	"__logf": {math.Log2E, "__log2f"}, "log10f": {math.Ln10, "logf"},
}

// otherBase is the logarithm of a line, and that of the base by which the line is right; "" where what is to
// be multiplied is none. A compiler makes several operations of a logarithm, and the last of them is at its
// line.
func (e *explanation) otherBase(line string) (was, now string) {
	if e.Kind != needed.Scaled {
		return "", ""
	}
	for f, b := range bases {
		calls := regexp.MustCompile(`\b`+f+`\(`).FindAllString(bare(line), -1)
		if len(calls) == 1 && math.Abs(e.X/b.by-1) < 1e-5 {
			return f, b.now
		}
	}
	return "", ""
}

// blamed is the line to look at first.
func (e *explanation) blamed() *report.Source { return cmp.Or(e.call, e.at) }

// place is where the operation stands, a call first whose callee is right elsewhere.
func (e *explanation) place() string {
	if e.call == nil {
		return callText(e.at)
	}
	inside := &report.Source{File: e.at.File, Line: e.at.Line}
	return fmt.Sprintf("%s (in what it calls, at %s)", e.call.At(), lineText(inside, e.call))
}

// why says what the operation gave, and what it would have had to give.
func (e *explanation) why() string {
	if e.Kind == needed.Exact {
		text := fmt.Sprintf("worked out from %d wrong cells, each would be right if %s: %.6g in the place of "+
			"%.6g in the first of them", e.Cells, e.rounding("did not round to "+e.Type.String()),
			(e.Need.Lo+e.Need.Hi)/2, e.Got)
		if e.Some {
			text += "; some cells that are right would be wrong then"
		}
		return text
	}
	text := fmt.Sprintf("%s would have to be %s", e.subject(), e.rule())
	if e.convertsBits() {
		return fmt.Sprintf("worked out backwards from %d wrong cells, the bits of %s are converted as if they "+
			"were an integer: %.6g in the first of them", e.Cells, e.subject(), e.Got)
	}
	if e.Kind == needed.Once {
		text = fmt.Sprintf("%s has %s in it %d times, and would have to have it once", e.subject(), e.term(),
			e.Most)
	}
	if text = fmt.Sprintf("worked out backwards from %d wrong cells, %s", e.Cells, text); e.Need.Loose() {
		text += fmt.Sprintf("; it gives %.6g in the first of them", e.Got)
	} else {
		text += fmt.Sprintf(": %s in the place of %.6g in the first of them", between(e.Need), e.Got)
	}
	if e.Some {
		text += "; cells that are right have the operation too, and need it as it is: for which cells it is " +
			"done, or with what, is wrong, and not the operation"
	}
	return text
}

// between is a range as the number that it is to four digits, or as its ends.
func between(r needed.Range) string {
	short := func(x float64) string { return fmt.Sprintf("%.4g", x) }
	if mid := short((r.Lo + r.Hi) / 2); short(r.Lo) == mid && short(r.Hi) == mid {
		return mid
	}
	return fmt.Sprintf("%.6g to %.6g", r.Lo, r.Hi)
}

// subject names the value that is not what it should be.
func (e *explanation) subject() string {
	v, at := e.Value, e.blamed().At()
	switch {
	case e.Kind == needed.Once:
		return "the sum at " + e.line(v, e.blamed())
	case e.Kind == needed.Constant:
		return fmt.Sprintf("the constant %.9g at %s", e.Got, at)
	case v.Instr == nil || (e.Kind == needed.Equal || e.Kind == needed.Result) && e.User != nil:
		text := fmt.Sprintf("the %s operand of the %s at %s", repair.Ordinal(e.Arg),
			wordOf(e.User.Op()), at)
		if v.Name != "" {
			text += ", " + v.Name + ","
		}
		return text
	}
	text := fmt.Sprintf("the result of the %s at %s", wordOf(v.Op()), at)
	if e.function != "" {
		return fmt.Sprintf("the result of %s at %s", e.function, at)
	}
	if v.Op() == "mov" { // of bits that were put together otherwise
		text = "what is computed at " + at
	}
	if e.Times > 1 {
		text += fmt.Sprintf(" (%s of %d that make the cell)", e.which(), e.Times)
	}
	return text
}

// which is the number of an operation that makes the cell several times.
func (e *explanation) which() string {
	if e.Time < 5 {
		return "the " + repair.Ordinal(e.Time)
	}
	return fmt.Sprintf("number %d", e.Time)
}

// other names the other value of a rule.
func (e *explanation) other() string {
	if e.by != nil {
		return fmt.Sprintf("the result of the %s at %s", wordOf(e.By.Instr.Op), lineText(e.by, e.at))
	}
	return e.Name
}

// rule is what the value should be.
func (e *explanation) rule() string {
	switch e.Kind {
	case needed.Constant:
		return fmt.Sprintf("%.9g", e.X)
	case needed.Partial:
		return e.Name
	case needed.Equal, needed.Result:
		return e.other()
	case needed.Without:
		text := fmt.Sprintf("its %s operand alone", repair.Ordinal(e.Which))
		if len(e.Leaves) > 0 {
			text += ", without " + e.Leaves[0]
		}
		return text
	case needed.Exchanged:
		return "that of its operands exchanged"
	case needed.Operator:
		return fmt.Sprintf("that of the %s of its operands", wordOf(e.Op))
	case needed.Function:
		return e.Op + " of what it is"
	case needed.Combined:
		return fmt.Sprintf("%s %s", combining[e.Op], e.other())
	case needed.Scaled:
		return fmt.Sprintf("%.6g%s times what it is", e.X, numberName(e))
	}
	return fmt.Sprintf("%.6g%s", e.X, numberName(e))
}

// convertsBits reports whether the bits of the value, which is a number, are converted as if they were an
// integer, and the number itself belongs there.
func (e *explanation) convertsBits() bool {
	if e.Kind != needed.Without || e.Value.Op() != "cvt" || e.User == nil || e.User.Op() != "cvt" {
		return false
	}
	made, taken := e.Value.Instr.Types(), e.User.Instr.Types()
	return len(made) == 2 && made[0].Float() && len(taken) == 2 && taken[0].Float() && taken[1].Integer()
}

// numberName is the name of an explanation's number in brackets, where that says more than the number.
func numberName(e *explanation) string {
	if e.Name == "" || e.Name == fmt.Sprint(e.X) {
		return ""
	}
	return " (" + e.Name + ")"
}

// combining are operations with another value in words.
var combining = map[string]string{
	"mul": "multiplied by", "div": "divided by", "add": "increased by", "sub": "reduced by",
}

// change is the explanation as an advice.
func (e *explanation) change() string {
	at := e.place()
	switch e.Kind {
	case needed.Constant:
		return fmt.Sprintf("at %s: %.9g in place of %.9g", at, e.X, e.Got)
	case needed.Partial:
		return fmt.Sprintf("at %s: %s has to be %s", at, e.gives(), e.Name)
	case needed.Equal, needed.Result:
		text := fmt.Sprintf("at %s: take %s", at, e.other())
		if e.Value.Name != "" {
			text += " in place of " + e.Value.Name
		} else if e.User != nil {
			text += fmt.Sprintf(" as the %s operand of the %s", repair.Ordinal(e.Arg),
				wordOf(e.User.Op()))
		}
		return text
	case needed.Without:
		if e.convertsBits() {
			return fmt.Sprintf("at %s: take the bits as they are, in place of converting them", at)
		}
		if e.Times > 2 {
			return fmt.Sprintf("look at the %s at %s, %s of the %d that make the cell: %s is right there",
				wordOf(e.Value.Op()), at, e.which(), e.Times, e.rule())
		}
		return fmt.Sprintf("at %s: leave out the %s: %s", at, wordOf(e.Value.Op()), e.rule())
	case needed.Once:
		if e.Lanes {
			return fmt.Sprintf("look at the addition at %s, which adds up what the lanes have: %s is the same "+
				"in all of them, and belongs in the sum once, added after that", at, e.term())
		}
		return fmt.Sprintf("look at the addition at %s: both of its operands have %s in them, which belongs "+
			"in one of them", at, e.term())
	case needed.Exact:
		return fmt.Sprintf("at %s: in float, where the result is %s", at, e.Type)
	case needed.Exchanged:
		return fmt.Sprintf("at %s: exchange the operands of the %s", at, wordOf(e.Value.Op()))
	case needed.Operator:
		return fmt.Sprintf("at %s: the %s in place of the %s", at, wordOf(e.Op), wordOf(e.Value.Op()))
	case needed.Function:
		return fmt.Sprintf("at %s: %s, where x is %s", at, e.Op, e.gives())
	case needed.Combined:
		return fmt.Sprintf("at %s: %s has to be %s %s", at, e.gives(), combining[e.Op], e.other())
	case needed.Scaled:
		return fmt.Sprintf("at %s: %s has to be multiplied by %.6g%s", at, e.gives(), e.X, numberName(e))
	}
	return fmt.Sprintf("at %s: %.6g%s in place of %s", at, e.X, numberName(e), e.gives())
}

// line is where a value is made, as it is written next to another line.
func (e *explanation) line(v *needed.Value, other *report.Source) string {
	if v == nil || v.Instr == nil || v.At < 0 {
		return lineText(e.at, other)
	}
	return lineText(report.SourceOf(&target.Source{File: v.Instr.Loc.Name, Line: v.Instr.Loc.Line}), other)
}

// term names what is in a sum more than once.
func (e *explanation) term() string {
	v := e.By
	if v.Instr == nil {
		return v.Name
	}
	text := "the result of the " + wordOf(v.Op())
	if e.Product {
		text = "the product"
	}
	text += " at " + e.line(v, e.blamed())
	if len(e.Leaves) > 0 && len(e.Leaves) < 4 {
		text += fmt.Sprintf(" (of %s)", strings.Join(e.Leaves, ", "))
	}
	return text
}

// rounding names the operations whose rounding is too coarse.
func (e *explanation) rounding(do string) string {
	if e.Where == nil {
		return fmt.Sprintf("the operations from %s on %s", e.place(), do)
	}
	return fmt.Sprintf("the %s at %s (%d times in the cell) %s", wordOf(e.Where.Op()), e.place(),
		e.Times, do)
}

// gives names the value by what stands at its line.
func (e *explanation) gives() string {
	if e.Value.Instr == nil {
		return e.Value.Name
	}
	if e.Value.Op() == "mov" {
		return "the value"
	}
	return fmt.Sprintf("what the %s there gives", wordOf(e.Value.Op()))
}

// wordOf is how the source writes an operation on real numbers. What a compiler makes of bits, as the sign
// of a tanh, stands in no source: it is an operation.
func wordOf(op string) string {
	switch op {
	case "or", "and", "xor", "not", "lop3", "prmt", "selp", "shl", "shr", "bfi", "bfe":
		return "operation"
	}
	return repair.Word(op)
}
