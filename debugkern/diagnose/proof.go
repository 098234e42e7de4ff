package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// An edit that is proven: what it comes to, what is blamed for it, and which lines of the source it is about.

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
	if c.Kind == repair.Number && computesMore(p.run, q.base) && !q.lacksTerms() {
		return nil, nil // nothing lacks what the kernel then computes more: it is right by what comes later
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
		text:   c.With() + " at " + linesOf(first, others),
		bounds: c.What == repair.OneOff,
		edits:  func(*debugkern.Run) []ptx.Edit { return c.Edits },
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

// blameOn makes an edit that was tried the remedy of a suspect, and the operation that it changes its place.
func (q *inquiry) blameOn(s *suspect, p *proof) {
	c, r := &p.cure, p.remedy
	src, at := q.placesText(c)
	change := c.What
	copies := 1 // of what an edit leaves out in some of them, which is no edit of the line
	if c.Kind == repair.Superfluous {
		copies = q.repeated(c)
	}
	switch c.Kind {
	case repair.Superfluous:
		if copies > 1 {
			change = fmt.Sprintf("this run is right %s, in %d of the %d instructions that the line became: "+
				"look at what these do that they should not", c.With(), len(c.Edits), copies)
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
	passed := q.operandOf(src, c)
	switch {
	case across != nil:
		s.storedAcross(at, across)
	case passed != nil:
		s.cause.Title += "; made wrong by what is passed at " + passed.At()
	default:
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
	call, limit := cmp.Or(passed, q.callAlone(src, c)), q.boundOf(src, c)
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
		r.advice = fmt.Sprintf("at %s: write %s", at, quoteCode(s.cause.Rewrite.Now))
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
	if copies > 1 {
		if times := q.inTurn(c); times > 1 {
			q.blameLoop(s, c, times)
		}
		if first := q.beginsWith(c, src); first != nil {
			s.cause.Place.Source, s.cause.Place.Other = first.at, src
			r.advice = first.advice(q, src)
		}
	}
	s.cause.Advice = r.advice + q.seeFirst(s.stages[0])
	doc := q.doc.Stage(s.cause.Stage)
	if looks := looksLike(doc); s.cause.why == "" && looks != "" && !strings.Contains(looks, "fitted") &&
		!strings.Contains(looks, "the number of") { // that a factor is a count may be by chance
		s.cause.why = fmt.Sprintf("%s %s", s.cause.Stage, looks)
	}
}

// blameLoop words a cure without some of the instructions that a line became, where they do the same in turn
// to one value: a loop that was unrolled, or a line that is there twice, does it too often.
func (q *inquiry) blameLoop(s *suspect, c *repair.Cure, times int) {
	src, at := q.placesText(c)
	often := "less often"
	if times == 2 {
		often = "once"
	}
	word := repair.Word(q.run.Entry().Body[c.At].Op)
	s.cause.Title, _, _ = strings.Cut(s.cause.Title, "; made wrong at ")
	s.cause.Title += fmt.Sprintf("; made wrong at %s: the %s is done %d times in turn to one value", at, word, times)
	s.remedy.text = fmt.Sprintf("with the %s done %s at %s", word, often, at)
	loop := q.loopRound(src)
	if loop == nil || writtenTimes(q.run.Entry().Body[c.At].Op, q.quoted(src)) >= times {
		s.remedy.advice = q.citing(fmt.Sprintf("do the %s at %s %s: it is done %d times in turn to one value", word,
			at, often, times), "; the line is ", src)
		return
	}
	s.cause.Place.Other = loop
	s.remedy.advice = q.citing(fmt.Sprintf("look at how often the loop at %s runs: the %s at %s is done "+
		"%d times in turn to one value, and %s is right", loop.At(), word, lineText(src, loop), times, often),
		"; the line is ", loop)
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
	if strings.HasPrefix(c.What, repair.Chosen) {
		return q.choiceOf(c, all[0]), all[1:]
	}
	if at := q.exchangedAt(c.What, all[0]); at != nil {
		return at, nil
	}
	if at := q.calling(c, all[0]); at != nil {
		return at, all[1:]
	}
	if c.Kind != repair.Number && c.Kind != repair.Constant || q.quoted(all[0]) == "" {
		return all[0], all[1:]
	}
	was := c.Was[strings.LastIndex(c.Was, " ")+1:]
	number := literalOf(strings.TrimPrefix(was, "-"))
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

// functions match the calls that a compiler makes one instruction of, by its name in PTX.
var functions = map[string]*regexp.Regexp{
	"sqrt": regexp.MustCompile(`\b(?:__f)?sqrt(?:f|_r[nzud])?\(`), "rsqrt": regexp.MustCompile(`rsqrt`),
	"tanh": regexp.MustCompile(`\btanhf?\(`), "sin": regexp.MustCompile(`\b(?:__)?sinf?\(`),
	"cos": regexp.MustCompile(`\b(?:__)?cosf?\(`),
}

// calling is the line that calls the function which an edit leaves out, where that of the instruction does
// not: a compiler gives what it moves the line before which it puts it. It is the first that uses the result
// and calls it, or the only one of the file; nil where the instruction's own does, or none is known.
func (q *inquiry) calling(c *repair.Cure, own *report.Source) *report.Source {
	calls := functions[q.run.Entry().Body[c.At].Op]
	if calls == nil || c.Kind != repair.Superfluous || calls.MatchString(bare(q.quoted(own))) {
		return nil
	}
	for _, s := range c.UsedAt {
		if at := report.SourceOf(s); calls.MatchString(bare(q.quoted(at))) {
			return at
		}
	}
	var only *report.Source
	for i, line := range q.run.Source(own.File) {
		if calls.MatchString(bare(line)) {
			if only != nil {
				return nil
			}
			only = &report.Source{File: own.File, Line: i + 1}
		}
	}
	return only
}

// literalOf matches a number in a source, with the suffix that says its type.
func literalOf(number string) *regexp.Regexp {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(number) + `[fFuUlL]*\b`)
}

// choiceOf is the line that has the condition of a choice which an edit leaves out: its own, or else the
// first that uses what is chosen, or that one was called from.
func (q *inquiry) choiceOf(c *repair.Cure, own *report.Source) *report.Source {
	places := placesOf(own)
	for _, s := range c.UsedAt {
		places = append(places, placesOf(report.SourceOf(s))...)
	}
	for _, p := range places {
		if q.comparesIn(p) || strings.Contains(bare(q.quoted(p)), "?") {
			return p
		}
	}
	return own
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
