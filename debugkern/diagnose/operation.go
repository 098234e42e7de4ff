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
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// operation looks for the one operation that makes a stage wrong: with an edit of it every cell of the stage
// is right, on all blocks that experiments execute, and no checker finds anything that it does not find
// without. Such an edit is the cause's remedy.
func (q *inquiry) operation(s *suspect, group []probes.Stage) error {
	st := group[0]
	doc := q.base.Report.Stage(st.String())
	if doc == nil || doc.FirstBad == nil || q.run.Plan.Stage(st).OfLaunch() {
		return nil
	}
	if q.unread(s, st) {
		return nil
	}
	b := doc.FirstBad
	all, err := q.explanations(group)
	if err != nil {
		return err
	}
	if !s.unstored {
		if s.mask, err = q.maskOf(s); err != nil {
			return err
		}
	}
	for i := range all {
		if all[i].Kind == needed.Without {
			s.drops = append(s.drops, all[i].Leaves...)
		}
	}
	masked := s.mask != nil || q.looksMasked(st)
	trials := 0 // as many as the kernel's size allows
	if s.contrast != nil {
		trials = trialsNear
	}
	var best *proof
	confirm := func(c *repair.Cure) (bool, error) {
		p, err := q.prove(c, group)
		if err != nil || p == nil {
			return false, err
		}
		if best == nil || cmp.Or(cmp.Compare(p.rank(), best.rank()), cmp.Compare(p.left(), best.left())) < 0 {
			best = p
		}
		return p.rank() <= ofSize && (p.left() == 0 || !masked), nil
	}
	res, err := repair.Search(q.ctx, q.base, repair.Question{
		Trials: trials, Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0), Cells: q.wrongCells(st, b),
		Near: s.nearest(all), Numbers: numbersOf(all), Factor: q.factorOf(st, doc),
		Values: s.whole || s.keptApart(), Masked: masked, Skipped: stale(doc) || s.skips(all),
		Coarse:  q.coarse(st, b),
		Until:   q.begun.Add(longestSearch),
		Confirm: confirm,
	})
	if err != nil {
		return q.fatal(err)
	}
	s.late = s.late || res.Late
	if proven := best != nil && best.rank() != onlyHere; s.mask != nil && (best == nil || proven ||
		s.mask.at != nil) {
		if proven {
			q.blameOn(s, best)
		}
		q.blameMask(s, proven)
		if proven || s.mask.at != nil {
			return nil
		}
	}
	found := s.left(all, doc)
	if s.unstored {
		found = nil // what the loop leaves is computed right, and not kept
	}
	if best != nil && (found == nil || best.rank() != onlyHere) {
		q.blameOn(s, best)
		wordless := best.cure.Was == "" && s.cause.why == "" && s.cause.Rewrite == nil
		if op := q.run.Plan.Stage(st).Op; wordless && op != nil && op.Op == "map" {
			return q.formula(s, st, b)
		}
		return nil
	}
	if masked, err := q.masked(s, st, doc); err != nil || masked {
		return err
	}
	if best == nil && (found == nil || found.Some) {
		known, err := q.withoutEdit(s, st, b)
		if err != nil || known {
			return err
		}
	}
	switch {
	case found != nil:
		q.explain(s, found)
	case best != nil:
		if q.blameOn(s, best); s.refuted {
			return q.formula(s, st, b)
		}
	}
	switch {
	case s.mask != nil:
		s.because(s.mask.text)
	case best == nil && found == nil && (s.contrast == nil || len(s.contrast.Foreign) == 0):
		return q.formula(s, st, b)
	}
	return nil
}

// withoutEdit looks for what the executed values say of a suspect whose cells no edit and no rule explains;
// false where that is nothing.
func (q *inquiry) withoutEdit(s *suspect, st probes.Stage, b *report.BadCell) (bool, error) {
	ways := []func(*suspect, probes.Stage, *report.BadCell) (bool, error){q.zeroFactor, q.staleRead}
	if m := s.mask; m == nil || m.at == nil && m.stage != st {
		ways = append(ways, q.unexecuted)
	}
	for _, way := range ways {
		if known, err := way(s, st, b); err != nil || known {
			return known, err
		}
	}
	return false, nil
}

// factorOf is the factor that the wrong cells of a stage all have, by the tile in which it first went wrong;
// 0 where they look like something else.
func (q *inquiry) factorOf(st probes.Stage, doc *report.Stage) float64 {
	p, b := pattern(doc), doc.FirstBad
	if p == nil || p.Name != "factor" || strings.Contains(p.Value, "fitted") {
		return 0
	}
	v, err := q.base.View(debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return 0
	}
	var product, square float64
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			if want := v.Local[r*v.Plan.Cols+c]; v.Judged(r, c, true) && isBad(v, r, c) {
				product += want * v.Got.At(r, c)
				square += want * want
			}
		}
	}
	if square == 0 || math.IsNaN(product) || math.IsInf(product, 0) {
		return 0
	}
	return product / square
}

// coarse reports whether the wrong cells of the tile in which a stage first went wrong are right to a few
// digits, as far as they are no small differences.
func (q *inquiry) coarse(st probes.Stage, b *report.BadCell) bool {
	v, err := q.base.View(debugkern.Place{Stage: st, Block: b.Block, KVTile: max(b.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return false
	}
	largest, far := 0.0, 0.0
	for r := range v.ValidRows {
		for c := range v.ValidCols {
			want := v.Local[r*v.Plan.Cols+c]
			if largest = max(largest, math.Abs(want)); v.Judged(r, c, true) && isBad(v, r, c) {
				far = max(far, math.Abs(v.Got.At(r, c)-want))
			}
		}
	}
	const digits = 1.0 / 64 // two roundings to bfloat16, or many to half
	return far <= digits*largest
}

// keptApart reports whether all that a wrong cell of a suspect lacks is what other threads have, and do not
// hand on.
func (s *suspect) keptApart() bool {
	return s.contrast != nil && len(s.contrast.Foreign) == 0 && len(s.contrast.Missing) > 0 &&
		!slices.ContainsFunc(s.contrast.Missing, func(o debugkern.Operands) bool { return o.Threads == "" })
}

// skips reports whether a wrong cell of a suspect lacks what belongs in it, and has nothing in its place, or
// nothing says what is wrong with it.
func (s *suspect) skips(all []explanation) bool {
	if s.contrast == nil {
		return len(all) == 0
	}
	return len(s.contrast.Foreign) == 0 && len(s.contrast.Missing) > 0
}

// masked makes the line that masks the scores the place of a stage whose error looks like a mask that is off;
// false where it is none, or no line is known.
func (q *inquiry) masked(s *suspect, st probes.Stage, doc *report.Stage) (bool, error) {
	b := doc.FirstBad
	if p := pattern(doc); p != nil && s.cause.why == "" && slices.Contains(masks, p.Name) {
		src, _, err := repair.MaskedAt(q.ctx, q.base, st, b.Block, max(b.KVTile, 0), [][2]int{{b.Row, b.Col}})
		if err != nil || src == nil {
			return false, q.fatal(err)
		}
		at := report.SourceOf(src)
		if !q.compares(at) { // scores that are never made, or another stage's
			return false, nil
		}
		s.cause.Place.Source = at
		s.cause.why = "the scores are masked at " + callText(at)
		s.cause.Advice = fmt.Sprintf("look at %s: the error looks like %s (%s)", callText(at), p.Name,
			p.Value)
		return true, nil
	}
	return false, nil
}

// proof is an edit that puts stages right in all blocks that experiments execute.
type proof struct {
	cure   repair.Cure
	remedy *remedy
	run    *debugkern.Run
	beyond *elsewhere
}

// Ranks of proofs.
const (
	general  = iota // no other configuration refutes the edit
	ofSize          // it is right elsewhere with the size of the plan that its number is here
	onlyHere        // another configuration stays wrong with it
)

func (p *proof) rank() int {
	switch {
	case p.beyond.wrong == "":
		return general
	case p.beyond.size != nil:
		return ofSize
	}
	return onlyHere
}

// left is how many stages are wrong with the edit: of several that put a stage right, the one that puts
// others right too is nearer to the origin.
func (p *proof) left() int { return len(wrongStages(p.run.Report)) }

// prove tries a cure on all blocks that experiments execute, under the checkers, and then in other
// configurations; nil where it is none.
func (q *inquiry) prove(c *repair.Cure, group []probes.Stage) (*proof, error) {
	p := &proof{cure: *c}
	q.inWords(&p.cure)
	p.remedy = q.remedyOf(&p.cure)
	var err error
	if p.run, err = q.try(nil, p.remedy); err != nil || p.run == nil || !q.puts(p.run, group) {
		return nil, err
	}
	if p.beyond, err = q.elsewhere(c, group); err != nil {
		return nil, err
	}
	if p.beyond.size == nil {
		p.unnamed()
	}
	return p, nil
}

// remedyOf is a cure as what puts a suspect right, with every line that it edits.
func (q *inquiry) remedyOf(c *repair.Cure) *remedy {
	first, others := q.places(c)
	return &remedy{
		text:  c.With() + " at " + linesOf(first, others),
		edits: func(*debugkern.Run) []ptx.Edit { return c.Edits },
	}
}

// unnamed takes the names of sizes of the plan out of a proof's texts: that a number is equal to one here,
// with no other configuration that requires that one, is chance.
func (p *proof) unnamed() {
	for i := range p.cure.Sizes {
		name := " (" + p.cure.Sizes[i].String() + ")"
		for _, text := range []*string{&p.cure.Was, &p.cure.Now, &p.cure.What, &p.remedy.text} {
			*text = strings.Replace(*text, name, "", 1)
		}
	}
}

// trialsNear is how many edits are tried where the operands of a wrong cell say at which line to begin.
const trialsNear = 128

// masks are fingerprints of scores that take part and should not, or the other way round.
var masks = []string{"mask", "last-tile"}

// looksMasked reports whether the cells of a stage look like scores that take part and should not, or the
// other way round.
func (q *inquiry) looksMasked(st probes.Stage) bool {
	doc := q.doc.Stage(st.String())
	if doc == nil {
		return false
	}
	p := pattern(doc)
	return p != nil && slices.Contains(masks, p.Name)
}

// wrongCells are the first wrong cell of a stage and some others of its tile: in the next column and row that
// have one, and the last. Two lines of the source may make two columns.
func (q *inquiry) wrongCells(st probes.Stage, first *report.BadCell) [][2]int {
	out := [][2]int{{first.Row, first.Col}}
	v, err := q.base.View(debugkern.Place{Stage: st, Block: first.Block, KVTile: max(first.KVTile, 0)})
	if err != nil || !v.Referenced() || !v.Got.Reached() {
		return out
	}
	var col, row, last [2]int
	for r := first.Row; r < v.ValidRows; r++ {
		for c := range v.ValidCols {
			if (r == first.Row && c <= first.Col) || !v.Judged(r, c, true) || !v.Bad(r, c, true) {
				continue
			}
			if at := [2]int{r, c}; r == first.Row && col == [2]int{} {
				col = at
			} else if r > first.Row && row == [2]int{} {
				row = at
			}
			last = [2]int{r, c}
		}
	}
	for _, c := range [][2]int{col, row, last} {
		if c != [2]int{} && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// puts reports whether a run has stages right, all of them that was judged before, without a stage or finding
// that was not wrong before.
func (q *inquiry) puts(r *debugkern.Run, group []probes.Stage) bool {
	if r.Report.Verdict == report.Failed || len(wrongStages(r.Report)) > 0 && q.worse(r) ||
		len(newErrors(r.Report, identities(errorsOf(q.base.Report)))) > 0 {
		return false
	}
	for _, st := range group {
		if now := r.Report.Stage(st.String()); now == nil || now.Local.Bad > 0 {
			return false
		}
	}
	for i := range r.Report.Stages {
		x := &r.Report.Stages[i]
		if w := q.base.Report.Stage(x.Name); w == nil || x.Local.Bad > w.Local.Bad ||
			x.Local.Cells < w.Local.Cells {
			return false
		}
	}
	return true
}

// blameOn makes an edit that was tried the remedy of a suspect, and the operation that it changes its place.
func (q *inquiry) blameOn(s *suspect, p *proof) {
	c, r := &p.cure, p.remedy
	src, at := q.placesText(c)
	change := c.What
	switch c.Kind {
	case repair.Superfluous:
		if n := q.repeated(c); n > 1 { // it is no edit of the line
			change = fmt.Sprintf("this run is right %s, in %d of the %d instructions that the line became: "+
				"look at what these do that they should not", c.With(), len(c.Edits), n)
		} else {
			change = strings.Replace(change, "without the ", "leave out the ", 1)
		}
	case repair.Rounding:
		if c.Was == "" {
			change = "compute in " + change
		}
	case repair.Missing:
		change = "add " + change
	default:
		change = strings.Replace(change, "without the ", "leave out the ", 1)
	}
	s.remedy, s.alone = r, p.run
	if p.rank() == onlyHere {
		s.refuted = true
		q.fitsHere(s, p, at)
		return
	}
	across := q.readAcross(s, c)
	s.cause.Place.Source = src
	if across != nil {
		s.storedAcross(at, across)
	} else {
		s.cause.Title += fmt.Sprintf("; made wrong at %s: %s", at, wrongly(c))
	}
	r.advice = fmt.Sprintf("at %s: %s", at, change)
	switch {
	case p.beyond.size != nil:
		n := p.beyond.size.In(q.run)
		r.advice = fmt.Sprintf("at %s: %s in place of %s; that is %.9g here, and %.9g itself leaves %s wrong", at,
			p.beyond.size, c.Was, n, n, p.beyond.wrong)
	case p.beyond.right != "":
		s.beyond = "; " + p.beyond.right + " is right with it too"
	default:
		s.beyond = "; tried with this shape and these inputs alone"
	}
	call, limit := q.callAlone(src, c), q.boundOf(src, c)
	if p.left() > 0 {
		call = nil // what is left may be another call's
	}
	served, own := q.comparedAt(src, limit, c)
	if own && served == nil {
		limit = nil // the bound is right at other lines
	}
	rewrite := q.rewrite(src, c)
	if p.rank() == general && call == nil && limit == nil && across == nil {
		s.cause.Rewrite = rewrite
	}
	switch {
	case s.cause.Rewrite != nil:
		r.advice = fmt.Sprintf("at %s: write %s", at, quote(s.cause.Rewrite.Now))
	case served != nil:
		r.advice = q.offByOne(s, limit.at, src, served, c.With())
	case call != nil:
		r.advice = q.citing("look at what is passed at "+call.At(), ": ", call) + fmt.Sprintf(
			"; %s at %s for this call alone, this run is right", c.With(), src.At())
	case across != nil:
		r.advice = q.eitherOrder(c, src, across)
	case limit != nil:
		if r.advice = q.citing(r.advice, "; the line is ", src); rewrite != nil {
			r.advice = fmt.Sprintf("at %s: this run is right with %s", at, quote(rewrite.Now))
		}
		if r.advice += "; or what is compared there is one off"; limit.at != nil {
			r.advice = q.citing(fmt.Sprintf("%s, which %s computes", r.advice, lineText(limit.at, src)), ": ",
				limit.at)
		}
	default:
		r.advice = q.citing(r.advice, "; the line is ", src) + q.givenText(c)
	}
	if first := q.beginsWith(c, src); first != nil && c.Kind == repair.Superfluous && q.repeated(c) > 1 {
		s.cause.Place.Source, s.cause.Place.Other = first.at, src
		r.advice = first.advice(q, src)
	}
	s.cause.Advice = r.advice + q.seeFirst(s.stages[0])
	doc := q.doc.Stage(s.cause.Stage)
	if looks := looksLike(doc); s.cause.why == "" && looks != "" && !strings.Contains(looks, "fitted") &&
		!strings.Contains(looks, "the number of") { // that a factor is a count may be by chance
		s.cause.why = fmt.Sprintf("%s looks like %s", s.cause.Stage, looks)
	}
}

// fitsHere words an edit that puts this run right and leaves another configuration wrong: it shows where, and
// is not what to write.
func (q *inquiry) fitsHere(s *suspect, p *proof, at string) {
	c := &p.cure
	what := "stays wrong"
	if p.beyond.breaks {
		what = "becomes wrong"
	}
	text := fmt.Sprintf("%s, this run is right and %s %s: what to write is something else", c.With(),
		p.beyond.wrong, what)
	if s.contrast != nil && s.cause.Advice != "" {
		s.cause.Advice += fmt.Sprintf("; at %s %s", at, text)
		return
	}
	src, _ := q.places(c)
	s.cause.Place.Source = src
	s.cause.Title += "; made wrong at " + at
	s.cause.Advice = q.citing(fmt.Sprintf("look at %s: %s", at, text), "; the line is ", src) +
		q.seeFirst(s.stages[0])
}

// placesText is the first of places, and all of them in words.
func (q *inquiry) placesText(c *repair.Cure) (first *report.Source, all string) {
	first, others := q.places(c)
	return first, callText(first) + andLines(others, first)
}

// andLines names further lines behind the first: " and line 9 and line 12".
func andLines(others []*report.Source, first *report.Source) (text string) {
	for _, o := range others {
		text += " and " + lineText(o, first)
	}
	return text
}

// place is the first of places.
func (q *inquiry) place(c *repair.Cure) *report.Source {
	first, _ := q.places(c)
	return first
}

// places are where a cure edits the source. Of a number these are the lines that have it, or else those that
// use the result and have it, where there are any: a compiler gives what it moves the line before which it
// puts it. Where none has the number, it is the first of these lines with an operator that the instruction
// can be.
func (q *inquiry) places(c *repair.Cure) (first *report.Source, others []*report.Source) {
	all := []*report.Source{report.SourceOf(c.Source)}
	for _, o := range c.Others {
		all = append(all, report.SourceOf(o))
	}
	if c.What == repair.Always || c.What == repair.Never || c.What == repair.OneWay {
		if headed.MatchString(bare(q.quoted(all[0]))) {
			all[0] = cmp.Or(q.conditionOf(c.At), all[0])
		}
		return all[0], all[1:]
	}
	if at := q.exchangedAt(c.What, all[0]); at != nil {
		return at, nil
	}
	if c.Kind != repair.Number && c.Kind != repair.Constant || q.quoted(all[0]) == "" {
		return all[0], all[1:]
	}
	was := c.Was[strings.LastIndex(c.Was, " ")+1:]
	number := regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.TrimPrefix(was, "-")) + `\b`)
	having := func(list []*report.Source, what *regexp.Regexp) (named []*report.Source) {
		for _, s := range list {
			if what.MatchString(q.quoted(s)) && !slices.ContainsFunc(named, func(o *report.Source) bool {
				return o.At() == s.At()
			}) {
				named = append(named, s)
			}
		}
		return named
	}
	var used []*report.Source
	for _, s := range c.UsedAt {
		used = append(used, report.SourceOf(s))
	}
	named := having(all, number)
	if len(named) == 0 {
		named = having(used, number)
	}
	if at := q.declaredAs(c, append(slices.Clone(all), used...)); len(named) == 0 && at != nil {
		return at, nil
	}
	if sign := operators[q.run.Entry().Body[c.At].Op]; len(named) == 0 && sign != nil &&
		len(having(all, sign)) == 0 {
		if named = having(used, sign); len(named) == 0 {
			named = having(q.usedIn(c), sign)
		}
	}
	if len(named) > 0 {
		all = named
	}
	return all[0], all[1:]
}

// exchangedAt is the line of the kernel's parameters of which an edit exchanges two everywhere, where the
// line that the edit is nearest to names neither; else nil.
func (q *inquiry) exchangedAt(what string, near *report.Source) *report.Source {
	a, b, ok := strings.Cut(strings.TrimSuffix(what, " exchanged"), " and ")
	line := bare(q.quoted(near))
	if !ok || !strings.HasSuffix(what, " exchanged") || hasName(line, a) || hasName(line, b) ||
		q.run.Plan.Arg(a) == nil || q.run.Plan.Arg(b) == nil {
		return nil
	}
	lines := q.run.Source(near.File)
	for n := min(near.Line, len(lines)); n > 0; n-- {
		text := bare(lines[n-1])
		if !hasName(text, a) || !hasName(text, b) {
			continue
		}
		if before := func(x, y string) bool { return nameAt(text, x) < nameAt(text, y) }; before(a, b) !=
			q.listedBefore(a, b) {
			return &report.Source{File: near.File, Line: n, Function: near.Function}
		}
		for i := n; i < len(lines); i++ { // the parameters are in the manifest's order: what uses them is not
			if use := bare(lines[i]); hasName(use, a) || hasName(use, b) {
				return &report.Source{File: near.File, Line: i + 1, Function: near.Function}
			}
		}
		break
	}
	return nil
}

// nameAt is where a name stands in a line, -1 where it does not.
func nameAt(line, name string) int {
	if at := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).FindStringIndex(line); at != nil {
		return at[0]
	}
	return -1
}

// listedBefore reports whether the manifest lists one argument before another.
func (q *inquiry) listedBefore(a, b string) bool {
	index := func(name string) int {
		return slices.IndexFunc(q.run.Plan.Args, func(x probes.Arg) bool { return x.Name == name })
	}
	return index(a) < index(b)
}

// operators are what the source may have where an instruction computes with an integer constant.
var operators = map[string]*regexp.Regexp{
	"shl": regexp.MustCompile(`\*|<<|\[`), "mul": regexp.MustCompile(`\*|<<|\[`),
	"mad": regexp.MustCompile(`\*|<<|\[`), "shr": regexp.MustCompile(`/|>>|%`),
	"and": regexp.MustCompile(`%|&`), "add": regexp.MustCompile(`\+|-|\[`),
	"sub": regexp.MustCompile(`-|\+|%`),
}

// wrongly says what stands where an edit puts something else.
func wrongly(c *repair.Cure) string {
	if c.Was != "" {
		return fmt.Sprintf("%s instead of %s", c.Was, c.Now)
	}
	return "right " + c.With()
}

// operands contrasts the first wrong cell of a stage with what the manifest says that it is made of, and with
// right cells: what all of those have too is no reason. The place becomes that of the instruction that reads
// the operand which should not be there.
func (q *inquiry) operands(s *suspect, st probes.Stage) error {
	doc := q.base.Report.Stage(st.String())
	if doc == nil || doc.FirstBad == nil || q.run.Plan.Stage(st).OfLaunch() {
		return nil
	}
	for _, says := range []func(*suspect, probes.Stage) (bool, error){q.otherType, q.otherStage, q.added} {
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
	if other, err := q.reinterpreted(s, st, b); err != nil || other {
		return err
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
		return nil // which of the stages before it misses them nobody saw
	}
	if q.ofItself(bad) {
		return nil
	}
	s.contrast = bad
	d := departure(bad)
	if s.leftover = q.leftovers(st, bad); s.leftover != nil {
		d = s.leftover.departure(bad, q.run.Plan.Work.LoopName())
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
			d.look += fmt.Sprintf("; %s looks like %s", st, looks)
		}
		s.cause.Advice = d.look + q.seeFirst(st)
	}
	return nil
}

// misplacedBy adds to the departure of a cell that has others in the place of its operands which index is
// wrong: that by which a value is stored, or how far one moves that should not.
func (q *inquiry) misplacedBy(s *suspect, st probes.Stage, b *report.BadCell, d *difference) error {
	if len(s.contrast.Foreign) == 0 || len(s.contrast.Missing) == 0 || s.contrast.Home != nil {
		return nil // what comes first says nothing
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
	sp := q.run.Plan.Stage(st)
	return sp.Op != nil && (sp.Op.Op == "rowmax" || sp.Op.Params.Word["how"] == "max")
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

// departure says in words how a cell departs from what it should be made of, and where.
func departure(c *debugkern.Contrast) difference {
	cell := fmt.Sprintf("cell (%d,%d) of %s", c.Cell.Row, c.Cell.Col, c.Cell.Stage)
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
		return misplaced(cell, c, d.at)
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
		if c.Of != nil && d.at != nil && c.Stored != nil && c.Stored.At() != d.at.At() {
			d.other = c.Stored
			d.text += fmt.Sprintf("; it is the value of cell (%d,%d)", c.Of[0], c.Of[1])
			d.look = fmt.Sprintf("look at the index by which the operand is read at %s, and at that by which the "+
				"cell is stored at %s", callText(d.at), lineText(d.other, d.at))
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
		d.text = fmt.Sprintf("%s is made of %s twice%s, and not of %s", cell, operandTexts(c.Twice), read,
			missing)
	case c.Missing[0].Summed != nil:
		d.at = c.Missing[0].Summed
		d.text = fmt.Sprintf("%s is not made of %s; the others are taken at %s and come together at %s",
			cell, missing, callText(c.Missing[0].At), callText(d.at))
		d.look = "look at the bounds of the loop round " + callText(d.at) + ", and at what skips a part of it"
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

// carriedOver is the departure of a cell whose sum has in it what was added to it before.
func carriedOver(cell string, c *debugkern.Carried) difference {
	at := callText(c.At)
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
		if o.Via != "" && !slices.Contains(via[o.Text], o.Via) {
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
