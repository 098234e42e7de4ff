package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// An access that a checker finds wrong is seldom wrong itself: what computes its index is, or what decides
// how often it executes. Edits of these are tried; one with which the finding is gone and nothing is wrong is
// the cause, and its line the place.

// accessKinds are the kinds of findings that an index or a bound explains.
var accessKinds = []string{
	"out-of-bounds", "misaligned", "overlap", "uninitialised", "unwritten", "race", "not-captured",
	"loop-ended",
}

// How many edits are tried for one suspect, and for how many suspects: a trial under the checkers takes as
// long as ten of those that repair makes for a stage.
const (
	mostAccessTrials = 16
	mostSearched     = 1
)

// mostAccesses is how many findings of a suspect give the instructions that a search begins with.
const mostAccesses = 4

// access looks for the edit of an index, a bound or a condition that makes a suspect's findings go, and with
// which as much is right as any trial can show: of a race only where a reference judges what the kernel
// computes, since a race is gone as well where what races is not executed any more.
func (q *inquiry) access(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || s.across || s.cause.Finding < 0 ||
		!slices.Contains(accessKinds, s.cause.Kind) ||
		s.cause.Kind == "race" && !(s.exclusive && q.run.Report.Referenced()) ||
		len(q.run.Selection.Faults) > 0 || q.throughNull(s) {
		return nil
	}
	accesses := q.accessesOf(s)
	if len(accesses) == 0 || q.searched == mostSearched {
		return nil
	}
	q.searched++
	group := wrongStages(q.base.Report)
	var best *proof
	lacking := report.Uncaptures(s.cause.Kind)
	// Of a race it is known who shares cells with whom, which says more than the line of an edit.
	quick, trials := lacking || len(group) > 0 && s.cause.Kind != "race", mostAccessTrials
	if quick {
		trials = 0
	}
	res, err := repair.Search(q.ctx, q.base, repair.Question{
		Block: q.wrongBlock(s, group), Accesses: accesses, Trials: trials, Quick: quick,
		Stray:   s.cause.Kind == string(target.OutOfBounds) || s.cause.Kind == string(target.Misaligned),
		Until:   q.begun.Add(longestSearch),
		Skipped: lacking || s.cause.Kind == "unwritten" || s.cause.Kind == "uninitialised",
		Watch:   func(t *debugkern.Trial) { t.Check = checkers },
		Right:   func(r *debugkern.Run) bool { return q.cured(s, r) && q.noWorse(r) },
		Confirm: func(c *repair.Cure) (bool, error) {
			p := &proof{cure: *c, beyond: &elsewhere{}}
			if q.unnamed(c) {
				return false, nil
			}
			q.inWords(&p.cure)
			p.remedy = q.remedyOf(&p.cure)
			var err error
			if p.run, err = q.try(nil, p.remedy); err != nil || p.run == nil || !q.cured(s, p.run) ||
				!q.noWorse(p.run) || !q.better(p.run) {
				return false, err
			}
			if len(group) > 0 {
				if p.beyond, err = q.elsewhere(c, group); err != nil || p.beyond.wrong != "" {
					return false, err
				}
			} else if _, ok, err := q.inOther(p.remedy); err != nil || !ok {
				return false, err // what is found goes with what the kernel does elsewhere too
			}
			if best == nil || p.left() < best.left() {
				best = p
			}
			return p.left() == 0, nil
		},
	})
	if err != nil {
		return q.fatal(err)
	}
	s.tried, s.late = s.tried+res.Tried, s.late || res.Late
	if best != nil {
		q.blameAccess(s, best)
	}
	return nil
}

// throughNull reports accesses through a null pointer: what is passed is wrong, and an edit that makes such a
// finding go is one with which the access is not executed.
func (q *inquiry) throughNull(s *suspect) bool {
	return strings.Contains(q.doc.Findings[s.cause.Finding].Message, target.ThroughNull)
}

// wrongBlock is the block of a suspect, or where nothing is wrong in that, the first in which a stage is.
func (q *inquiry) wrongBlock(s *suspect, group []probes.Stage) probes.Dim3 {
	own := s.cause.Place.Block
	if slices.ContainsFunc(group, func(st probes.Stage) bool { return q.wrongIn(q.base, st, own) }) {
		return own
	}
	for _, st := range group {
		if doc := q.base.Report.Stage(st.String()); doc != nil && doc.FirstBad != nil {
			return doc.FirstBad.Block
		}
	}
	return own
}

// better reports whether a trial leaves fewer stages wrong than the run has, or the run has none and the
// trial fewer findings.
func (q *inquiry) better(r *debugkern.Run) bool {
	was, now := len(wrongStages(q.base.Report)), len(wrongStages(r.Report))
	if was > 0 {
		return now < was
	}
	return len(errorsOf(r.Report)) < len(errorsOf(q.base.Report))
}

// noWorse reports whether no stage of a trial has more wrong cells than in the run, and none fewer right
// ones.
func (q *inquiry) noWorse(r *debugkern.Run) bool {
	whole := len(r.Blocks()) == len(q.base.Blocks())
	for i := range r.Report.Stages {
		x := &r.Report.Stages[i]
		was := q.base.Report.Stage(x.Name)
		if was == nil {
			continue
		}
		right, before := x.Local.Cells-x.Local.Bad, was.Local.Cells-was.Local.Bad
		if x.Local.Bad > was.Local.Bad || whole && right < before {
			return false
		}
		// Of an argument what is not written any more is not compared.
		if sp := q.run.Plan.Stage(probes.Stage(x.Name)); whole && sp != nil && sp.OfLaunch() &&
			x.Local.Cells < was.Local.Cells {
			return false
		}
	}
	return true
}

// accessesOf lists the instructions of a suspect's findings: of elements that are never written those that
// write the others, and of a tensor's those that read them too.
func (q *inquiry) accessesOf(s *suspect) []int {
	fn := q.run.Entry()
	var out []int
	add := func(i int) {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	places := func(at *report.Source, writes bool) {
		if at == nil {
			return
		}
		for _, i := range instructionsAt(fn, at) {
			k := fn.Body[i].Kind()
			if fn.Body[i].Space() != ptx.SpaceParam && !fromProbe(fn.Body[i].Loc) &&
				(k.Writes() || !writes && k.Reads()) {
				add(i)
			}
		}
	}
	if report.Uncaptures(s.cause.Kind) {
		return storesOfProbes(fn)
	}
	for n, i := range s.cause.Findings {
		if n == mostAccesses {
			break
		}
		f := &q.doc.Findings[i]
		if f.Kind == "uninitialised" || f.Kind == "unwritten" {
			for _, w := range q.writersOf(s, f.Variable) {
				add(w)
			}
			if f.Kind == "uninitialised" && f.Space == target.SpaceGlobal.String() {
				places(f.Source, false)
			}
			continue
		}
		places(f.Source, f.Kind == "race")
		if f.Kind == "race" {
			places(f.Other, true)
		}
	}
	return out
}

// storesOfProbes lists the instructions by which probes store what they capture.
func storesOfProbes(fn *ptx.Func) (out []int) {
	for i, in := range fn.Body {
		if fromProbe(in.Loc) && in.Kind() == isa.Store {
			out = append(out, i)
		}
	}
	return out
}

// mostWriters bounds the stores of a variable that a search begins with.
const mostWriters = 16

// writersOf lists the instructions that write a variable in a suspect's block; nil where they are unknown, or
// too many to try.
func (q *inquiry) writersOf(s *suspect, variable string) []int {
	var out []int
	if p := q.parameter(variable); p != nil {
		out = newSlicer(q.run.Entry()).stores(p)
	} else if c, err := scene.Cover(q.ctx, q.run, []probes.Dim3{s.cause.Place.Block}, variable); err == nil &&
		c != nil {
		out, _ = c.Accesses()
	}
	if len(out) > mostWriters {
		return nil
	}
	return out
}

var wholeNumber = regexp.MustCompile(`\b(?:0[xX][\da-fA-F]+|\d+)(?:[uU]?[lL]{0,2})\b`)

// stands reports whether a line has what an edit replaces: an integer, as a literal or by its name ("64
// (HEAD_DIM)"). Of what is worded in another way it is taken to be there.
func stands(line, was string) bool {
	number, name, _ := strings.Cut(was, " ")
	want, err := strconv.ParseInt(number, 0, 64)
	if err != nil || name != "" && hasName(line, strings.Trim(name, "()")) {
		return true
	}
	for _, text := range wholeNumber.FindAllString(bare(line), -1) {
		if n, err := strconv.ParseInt(strings.TrimRight(text, "uUlL"), 0, 64); err == nil && n == want {
			return true
		}
	}
	return false
}

// indexedAlike lists the other lines of a place's file that index a variable by the same first subscript as
// its line does: a compiler computes it once for all of them.
func (q *inquiry) indexedAlike(at *report.Source, variable string) (list []int) {
	lines := q.run.Source(at.File)
	if variable == "" || at.Line < 1 || at.Line > len(lines) {
		return nil
	}
	index := regexp.MustCompile(`\b` + regexp.QuoteMeta(variable) + `\s*\[([^\[\]]*)\]`)
	of := func(n int) string {
		if m := index.FindStringSubmatch(bare(lines[n-1])); m != nil {
			return strings.ReplaceAll(m[1], " ", "")
		}
		return ""
	}
	own := of(at.Line)
	for n := 1; own != "" && n <= len(lines); n++ {
		if n != at.Line && of(n) == own {
			list = append(list, n)
		}
	}
	return list
}

// indexIt says that lines have the index of another one.
func indexIt(lines []int) string {
	if len(lines) == 1 {
		return linesText(lines) + " has the same index"
	}
	return linesText(lines) + " have the same index"
}

// blameAccess makes an edit that was tried the remedy of a suspect of findings, and the line that it changes
// its place.
func (q *inquiry) blameAccess(s *suspect, p *proof) {
	c, r := &p.cure, p.remedy
	src, at := q.placesText(c)
	s.remedy, s.alone, s.edited = r, p.run, true
	was := s.cause.Place.Source
	if was == nil || *was != *src {
		s.cause.Place.Source, s.cause.Place.Other = src, was
		s.decidedAt = fmt.Sprintf("; its index or its condition is made wrong at %s", at)
		s.cause.Title += s.decidedAt
	}
	r.advice = fmt.Sprintf("at %s: %s", at, c.What)
	if rw := q.rewrite(src, c); rw != nil && p.left() == 0 {
		s.cause.Rewrite = rw
		r.advice = fmt.Sprintf("at %s: write %s", at, quoteCode(rw.Now))
	} else if c.Kind == repair.Number && !stands(q.quoted(src), c.Was) {
		// a constant of the compiler's, of which the line says nothing
		r.advice = q.citing("look at what is computed at "+at, ": ", src)
		if p.left() == 0 {
			r.advice += fmt.Sprintf("; with %s there every stage is right", c.What)
		}
	} else {
		r.advice = q.citing(r.advice, "; the line is ", src) + q.givenText(c)
		if list := q.indexedAlike(src, s.cause.Place.Variable); len(list) > 0 {
			r.advice += "; " + indexIt(list)
		}
	}
	s.cause.Advice = r.advice
	var stages []probes.Stage
	for _, st := range wrongStages(q.base.Report) {
		if !slices.Contains(wrongStages(p.run.Report), st) {
			stages = append(stages, st)
		}
	}
	if len(s.stages) == 0 {
		s.stages = stages
	}
}
