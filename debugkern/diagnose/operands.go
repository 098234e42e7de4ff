package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// What the first wrong cell of a stage is made of, and what it should be made of instead.

// operands contrasts the first wrong cell of a stage with what the manifest says that it is made of, and with
// right cells: what all of those have too is no reason. The place becomes that of the instruction that reads
// the operand which should not be there.
func (q *inquiry) operands(s *suspect, st probes.Stage) error {
	doc := q.base.Report.Stage(st.String())
	if doc == nil || doc.FirstBad == nil || q.run.Plan.Stage(st).OfLaunch() {
		return nil
	}
	for _, says := range []func(*suspect, probes.Stage) (bool, error){
		q.otherType, q.otherSize, q.otherStage, q.added,
	} {
		if ok, err := says(s, st); err != nil || ok {
			return err
		}
	}
	b := doc.FirstBad
	cells := [][2]int{{b.Row, b.Col}}
	if !q.largest(st) {
		cells = append(cells, q.rightCells(st, b.Block, b.KVTile)...)
	}
	list, err := q.base.Contrast(q.ctx, st, b.Block, max(b.KVTile, 0), cells)
	if err != nil {
		return q.fatal(err)
	}
	bad := &list[0]
	if away, err := q.storedAway(s, st, b.Block); err != nil || away {
		return err
	}
	for _, says := range []func(*suspect, probes.Stage, *report.BadCell) (bool, error){
		q.copiedByOthers, q.reinterpreted, q.unconverted,
	} {
		if other, err := says(s, st, b); err != nil || other {
			return err
		}
	}
	departs := 0
	for i := range list[1:] {
		if alike(bad, &list[1+i]) {
			departs++
		}
	}
	if s.whole = bad.Known && bad.Empty(); bad.Empty() || departs > 0 && departs == len(list)-1 {
		return nil
	}
	if bad.Wholly && len(q.unseen(q.before(st))) > 0 {
		return nil // it is not known which of the stages before it misses them: not all were captured
	}
	if q.ofItself(bad) {
		return nil
	}
	s.contrast = bad
	d := q.departure(bad)
	if s.leftover = q.leftovers(st, bad); s.leftover != nil {
		d = s.leftover.departure(q, bad, q.run.Plan.Work.LoopName())
	}
	if over := q.laidOver(st, b, bad); over != nil {
		d = *over
	}
	if err := q.misplacedBy(s, st, b, &d); err != nil {
		return err
	}
	s.cause.Proof = append(s.cause.Proof, d.text)
	s.cause.why = d.text
	if err := q.writtenElsewhere(s, st); err != nil {
		return err
	}
	if d.at != nil {
		s.cause.Place.Source, s.cause.Place.Other = d.at, d.other
		d.look = q.citing(q.citing(d.look, ": ", d.at), "; ", d.other)
		if looks := looksLike(doc); looks != "" && d.other == nil && !strings.Contains(looks, "fitted") {
			d.look += fmt.Sprintf("; %s %s", st, looks)
		}
		s.cause.Advice = d.look + q.seeFirst(st)
	}
	return nil
}

// misplacedBy adds to the departure of a cell that has others in the place of its operands which index is
// wrong: that by which a value is stored, or how far one moves that should not.
func (q *inquiry) misplacedBy(s *suspect, st probes.Stage, b *report.BadCell, d *difference) error {
	if c := s.contrast; len(c.Foreign) == 0 || len(c.Missing) == 0 || c.Home != nil || c.Overwritten != nil ||
		c.Of != nil && c.Of[0] != b.Row && c.Of[1] != b.Col {
		return nil // what comes first says nothing, or the operands are read as the other cell needs them
	}
	if q.ofOneColumn(s.contrast) {
		if stored, err := q.misstored(s, st, b, d); err != nil || stored {
			return err
		}
	}
	steps, err := q.base.Steps(q.ctx, st, b.Block, max(b.KVTile, 0))
	if err != nil {
		return q.fatal(err)
	}
	s.steps = stepsOf(steps, s.contrast)
	for _, step := range s.steps[:min(len(s.steps), mostSteps)] {
		d.text += "; " + step.Text()
		if step.Got == 0 && step.Along == q.run.Plan.Work.TileName() {
			d.text += q.advances(d.at)
		}
	}
	return nil
}

// ofOneColumn reports whether a cell has a value of another row of a stage that has one a row.
func (q *inquiry) ofOneColumn(c *debugkern.Contrast) bool {
	return slices.ContainsFunc(c.Foreign, func(f debugkern.Operands) bool {
		sp := q.run.Plan.Stage(probes.Stage(f.Of))
		return sp != nil && sp.Cols == 1 && slices.ContainsFunc(c.Missing, func(m debugkern.Operands) bool {
			return m.Of == f.Of
		})
	})
}

// ofItself reports whether a contrast names operands as foreign that what is missing became on the way, or
// that have its name: the two lists then differ in nothing that a reader could look for.
func (q *inquiry) ofItself(c *debugkern.Contrast) bool {
	if len(c.Foreign) == 0 || len(c.Missing) == 0 {
		return false
	}
	return operandTexts(c.Foreign) == operandTexts(c.Missing) ||
		!slices.ContainsFunc(c.Foreign, func(f debugkern.Operands) bool {
			return !slices.ContainsFunc(c.Missing, func(m debugkern.Operands) bool {
				return f.Of != m.Of && q.ancestors(probes.Stage(f.Of)).Has(probes.Stage(m.Of))
			})
		})
}

// mostSteps is how many wrong steps of an index a story names.
const mostSteps = 2

// largest reports whether a stage is a maximum: a cell may be right although operands are missing,
// those that are smaller.
func (q *inquiry) largest(st probes.Stage) bool {
	return q.run.Plan.Stage(st).Op.Largest()
}

// alike reports whether two cells depart from what they should be made of in the same way.
func alike(a, b *debugkern.Contrast) bool {
	count := func(list []debugkern.Operands) (n int) {
		for _, o := range list {
			n += o.N
		}
		return n
	}
	return count(a.Foreign) == count(b.Foreign) && count(a.Missing) == count(b.Missing) &&
		count(a.Twice) == count(b.Twice) && (a.Pair == nil) == (b.Pair == nil) &&
		(a.Padding == nil) == (b.Padding == nil)
}

// difference is in what a cell departs from what it should be made of.
type difference struct {
	text  string         // in words, with the places
	look  string         // where to look, as an advice
	at    *report.Source // nil: not known
	other *report.Source // of two places that may be wrong the second; nil: there is one
}

// ofAnother adds to the departure of a cell that has another cell's value as a whole that its operands may be
// read by a wrong index, or it may be stored by one: by that alone, where operands of several stages are the
// other cell's.
func (d *difference) ofAnother(c *debugkern.Contrast, of, cell string) {
	d.text += "; it is the value of " + of
	switch {
	case slices.ContainsFunc(c.Foreign, func(o debugkern.Operands) bool { return o.Of != c.Foreign[0].Of }):
		d.at = c.Stored
		d.look = fmt.Sprintf("look at the index by which the value of %s is stored in %s at %s", of, cell,
			callText(c.Stored))
	case c.Stored.At() == d.at.At():
		d.look = fmt.Sprintf("look at the index by which the cell is stored at %s, and at that by which its operand "+
			"is read there", callText(d.at))
	default:
		d.other = c.Stored
		d.look = fmt.Sprintf("look at the index by which the operand is read at %s, and at that by which the "+
			"cell is stored at %s", callText(d.at), lineText(d.other, d.at))
	}
}

// departure says in words how a cell departs from what it should be made of, and where.
func (q *inquiry) departure(c *debugkern.Contrast) difference {
	cell := q.cell(c.Cell.Stage, c.Cell.Row, c.Cell.Col)
	var d difference
	for _, list := range [][]debugkern.Operands{c.Foreign, c.Twice, c.Missing} {
		if len(list) > 0 && d.at == nil {
			d.at = list[0].At
		}
	}
	read, others := "", ""
	if d.at != nil {
		at := callText(d.at)
		read, others = ", taken at "+at, "; the others come in at "+at
		d.look = takenAdvice + " at " + at
		if len(c.Foreign) == 0 && len(c.Twice) == 0 {
			d.look = "look at how the operands come together from " + at + " on"
		}
	}
	switch foreign, missing := operandTexts(c.Foreign), operandTexts(c.Missing); {
	case c.Padding != nil:
		d.at = c.Padding.Stored
		d.text = fmt.Sprintf("%s is made of %s too, which lies past the last row or column and is %.6g, where what "+
			"adds nothing belongs", cell, c.Padding.Text, c.Padding.Value)
		if d.at != nil {
			d.text += ", stored at " + callText(d.at)
			d.look = "look at what is stored past the last row or column at " + callText(d.at)
		}
	case c.Pair != nil:
		return paired(cell, c.Pair)
	case c.Home != nil && len(c.Foreign) > 0 && d.at != nil:
		return q.misplaced(cell, c, d.at)
	case c.Overwritten != nil:
		return storedOver(cell, foreign, missing, c.Overwritten)
	case c.Filled != nil && len(c.Foreign) == 0 && len(c.Twice) == 0:
		d.at = c.Filled
		d.text = fmt.Sprintf("%s is not made of %s: the copy at %s reads less than it writes, and fills the rest, "+
			"which has its place, with zeros", cell, missing, callText(d.at))
		d.look = "look at how many bytes are read by the copy at " + callText(d.at)
	case c.Exchange != nil && d.at != nil && len(c.Missing) > 0:
		d.text = fmt.Sprintf("%s is made of %s, which the exchange at %s brings from %s, where %s of %s belongs",
			cell, foreign, callText(d.at), c.Exchange.From, missing, c.Exchange.Meant)
		d.look = "look at which lanes exchange at " + callText(d.at)
	case len(c.Foreign) > 0 && len(c.Missing) > 0:
		d.text = fmt.Sprintf("%s is made of %s%s, where %s belongs", cell, foreign, read, missing)
		if at := c.Foreign[0].Unread; at != nil {
			d.text += fmt.Sprintf(", which %s loads into a register that nothing reads", callText(at))
		}
		if c.Of != nil && d.at != nil && c.Stored != nil {
			d.ofAnother(c, q.ownCell(c.Cell.Stage, c.Of[0], c.Of[1]),
				q.ownCell(c.Cell.Stage, c.Cell.Row, c.Cell.Col))
		}
	case c.Again && d.at != nil:
		d.text = fmt.Sprintf("%s is made of %s twice: in %s of the iteration before, and in what is added up at %s",
			cell, foreign, c.Cell.Stage, callText(d.at))
		d.look = fmt.Sprintf("look at where the sum at %s is set to 0, which belongs before every iteration",
			callText(d.at))
	case len(c.Foreign) > 0 && c.Carried != nil:
		return carriedOver(fmt.Sprintf("%s is made of %s too", cell, foreign), c.Carried)
	case len(c.Foreign) > 0:
		d.text = fmt.Sprintf("%s is made of %s too%s, which has no part in it", cell, foreign, read)
	case len(c.Twice) > 0:
		often := "twice"
		if c.Oftener {
			often = "two times and more"
		}
		d.text = fmt.Sprintf("%s is made of %s %s%s, and not of %s", cell, operandTexts(c.Twice), often, read,
			missing)
	case c.Anew != nil:
		return begunAnew(cell, missing, c.Anew)
	case c.Chosen != nil:
		return leftByChoice(cell, missing, c.Chosen)
	case c.Missing[0].Summed != nil:
		d.at = c.Missing[0].Summed
		d.text = fmt.Sprintf("%s is not made of %s; the others are taken at %s and come together at %s",
			cell, missing, callText(c.Missing[0].At), callText(d.at))
		d.look = "look at what comes together at " + callText(d.at) + ", and at the bounds of the loop " +
			"round it, if it lies in one"
	case c.Wholly:
		d.text = fmt.Sprintf("%s is not made of %s at all", cell, missing)
		if d.at != nil {
			d.text += "; in right cells they come in at " + callText(d.at)
			d.look = "look at which cells " + callText(d.at) + " is executed for"
		}
	case c.Missing[0].Aside:
		d.text = fmt.Sprintf("%s is not made of %s, which %s have themselves: at %s they take what others have and "+
			"leave that out", cell, missing, c.Missing[0].Threads, callText(d.at))
		d.look = "take both at " + callText(d.at) + ", what the thread has and what others have"
	case c.Missing[0].Stored != "" && c.Missing[0].StoredAt != nil && d.at != nil:
		m := &c.Missing[0]
		which := "which is in"
		if m.N > 1 || len(c.Missing) > 1 {
			which = "the first of which has a part in"
		}
		d.text = fmt.Sprintf("%s is not made of %s, %s %s, stored at %s: %s reads others alone", cell, missing, which,
			m.Stored, lineText(m.StoredAt, d.at), callText(d.at))
		d.look = fmt.Sprintf("read what is stored in %s too: look at which elements are read at %s, and at what "+
			"skips a part of them", m.Stored, callText(d.at))
	case c.Missing[0].Threads != "":
		d.text = fmt.Sprintf("%s is not made of %s, which %s have and %s does not bring there", cell, missing,
			c.Missing[0].Threads, callText(d.at))
		if own := c.Missing[0].Own; own != "" {
			d.text += ": it brings " + own
		}
		d.look = "look at which threads hand on what they have at " + callText(d.at)
	default:
		d.text = fmt.Sprintf("%s is not made of %s%s", cell, loadedTexts(c.Missing, d.at), others)
	}
	return d
}

// loadedTexts is operandTexts with the lines that load them, where these are others than a place.
func loadedTexts(list []debugkern.Operands, other *report.Source) string {
	line := func(o *debugkern.Operands) string {
		if o.Loaded == nil || other != nil && o.Loaded.At() == other.At() {
			return ""
		}
		return callText(o.Loaded)
	}
	all := line(&list[0])
	if !slices.ContainsFunc(list, func(o debugkern.Operands) bool { return line(&o) != all }) {
		if all != "" {
			all = fmt.Sprintf(", which %s loads", all)
		}
		return operandTexts(list) + all
	}
	texts := make([]string, len(list))
	for i := range list {
		if texts[i] = operandTexts(list[i : i+1]); line(&list[i]) != "" {
			texts[i] += fmt.Sprintf(" (loaded at %s)", line(&list[i]))
		}
	}
	return strings.Join(texts, ", ")
}

// storedOver is the departure of a cell that reads what was stored over its operands.
func storedOver(cell, foreign, missing string, x *debugkern.Overwritten) difference {
	in := "there"
	if x.In != "" {
		in = "in " + x.In
	}
	store, read := callText(x.Store), callText(x.Read)
	return difference{
		at: x.Store, other: x.Read,
		text: fmt.Sprintf("%s is made of %s, read at %s, where %s belongs: that lay %s, and %s has stored the other "+
			"over it before it was read", cell, foreign, read, missing, in, store),
		look: fmt.Sprintf("store at %s behind what reads at %s, or to another place", store,
			lineText(x.Read, x.Store)),
	}
}

// leftByChoice is the departure of a cell in which of several operands only the largest or smallest enters.
func leftByChoice(cell, missing string, x *debugkern.Chosen) difference {
	which := "largest"
	if x.Op == "min" {
		which = "smallest"
	}
	d := difference{at: x.At}
	if x.Used != nil && x.At != nil && x.Used.At() != x.At.At() {
		d.at, d.other = x.Used, x.At
	}
	if d.at == nil {
		return d
	}
	d.text = fmt.Sprintf("%s is not made of %s: of what is compared at %s only the %s enters, where all of it belongs",
		cell, missing, callText(x.At), which)
	if d.other != nil {
		d.text += ", taken at " + callText(d.at)
	}
	d.look = fmt.Sprintf("at %s take all that is compared at %s, each by itself, and not the %s of it",
		callText(d.at), lineText(x.At, d.at), which)
	if d.other == nil {
		d.look = fmt.Sprintf("add all that is compared at %s, each by itself", callText(d.at))
	}
	return d
}

// begunAnew is the departure of a cell whose sum begins anew behind a part of its terms.
func begunAnew(cell, missing string, x *debugkern.Anew) difference {
	d := difference{at: x.At}
	d.text = fmt.Sprintf("%s is not made of %s: they are read before, and the sum at %s begins anew behind them",
		cell, missing, callText(x.At))
	d.look = fmt.Sprintf("look at where the sum at %s begins, which belongs before the first of its terms alone",
		callText(x.At))
	if x.Set != nil {
		d.at, d.other = x.Set, x.At
		d.text += ", with what is set at " + lineText(x.Set, x.At)
		d.look = fmt.Sprintf("look at %s, where the sum at %s is set to what it begins with: that belongs before the "+
			"first of its terms alone", callText(x.Set), lineText(x.At, x.Set))
	}
	return d
}

// carriedOver is the departure of a cell whose sum has in it what was added to it before.
func carriedOver(cell string, c *debugkern.Carried) difference {
	at := callText(c.At)
	if c.Op == "max" || c.Op == "min" {
		word := repair.Word(c.Op)
		return difference{
			at: c.At, other: c.Used,
			text: fmt.Sprintf("%s, which has no part in it: the %s at %s goes on from an earlier one, which %s uses",
				cell, word, at, lineText(c.Used, c.At)),
			look: fmt.Sprintf("look at which earlier %s the one at %s goes on from", word, at),
		}
	}
	return difference{
		at: c.At, other: c.Used,
		text: fmt.Sprintf("%s, which has no part in it: the sum at %s goes on from one that is used at %s", cell,
			at, lineText(c.Used, c.At)),
		look: fmt.Sprintf("look at where the sum at %s is set to 0, which belongs before every sum", at),
	}
}

// paired is the departure of a cell that multiplies operands of two terms.
func paired(cell string, p *debugkern.Pair) difference {
	products := "1 product"
	if p.N != 1 {
		products = fmt.Sprintf("%d products", p.N)
	}
	if p.Sums {
		return difference{
			at: p.At,
			text: fmt.Sprintf("%s multiplies sums at %s, and with them %s with %s, where %s alone belongs", cell,
				callText(p.At), p.A.Text, p.B.Text, p.With.Text),
			look: fmt.Sprintf("multiply before the addition at %s: each element with its own, and add the products",
				callText(p.At)),
		}
	}
	d := difference{at: p.At}
	d.text = fmt.Sprintf("%s multiplies %s with %s, where %s belongs, in %s", cell, p.A.Text, p.B.Text,
		p.With.Text, products)
	if p.A.At != nil && p.B.At != nil {
		d.text += fmt.Sprintf("; they are read at %s and %s", callText(p.A.At), lineText(p.B.At, p.A.At))
	}
	switch {
	case d.at != nil:
		d.look = fmt.Sprintf(
			"look at the order in which elements are taken at %s, and in which they were stored",
			callText(d.at))
	case p.A.At != nil && p.B.At != nil:
		d.at, d.other = p.A.At, p.B.At
		d.look = fmt.Sprintf("look at whether the elements taken at %s and %s belong together", callText(d.at),
			lineText(d.other, d.at))
	}
	return d
}

// operandTexts names operands, the first three lists of them.
func operandTexts(list []debugkern.Operands) string {
	var out []string
	via := map[string][]string{}
	for _, o := range list {
		if o.Via != "" && o.Via != o.Of && !slices.Contains(via[o.Text], o.Via) {
			via[o.Text] = append(via[o.Text], o.Via)
		}
	}
	for _, o := range list {
		text := o.Text
		if names := via[text]; len(names) > 0 {
			text += " by way of " + strings.Join(names, " and ")
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if n := len(out); n > 3 {
		out = append(out[:3], fmt.Sprintf("%d more", n-3))
	}
	return strings.Join(out, ", ")
}

// rightCells are some cells of a stage's tile that are within their bounds, spread over it; none where nearly
// all are wrong, for then others may be right by chance.
func (q *inquiry) rightCells(st probes.Stage, block probes.Dim3, kv int) [][2]int {
	v, err := q.base.View(debugkern.Place{Stage: st, Block: block, KVTile: max(kv, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() || 10*v.Verdict.Bad >= 9*v.ValidRows*v.ValidCols {
		return nil
	}
	var all [][2]int
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			if v.Judged(r, c, true) && !v.Bad(r, c, true) {
				all = append(all, [2]int{r, c})
			}
		}
	}
	const most = 6
	if len(all) <= most {
		return all
	}
	out := make([][2]int, most)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(most-1)]
	}
	return out
}
