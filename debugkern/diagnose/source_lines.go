package diagnose

import (
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
	"tilescope/debugkern/target"
)

// Which lines of the source edits are tried on.

// fileLine matches a line that a text names: "k.cu:17". lineAlone matches one of a file that it named before,
// or that is its subject: "line 17", "lines 17 and 19".
var (
	fileLine  = regexp.MustCompile(`([\w./-]+\.\w+):(\d+)`)
	lineAlone = regexp.MustCompile(fileLine.String() + `|\blines? (\d+)(?: and (\d+))?`)
)

const (
	// proven is how near a line is at which an edit of the PTX made everything right.
	proven = -2
	// pointedAt is how near a line is that the first suspect has as its place, or in its title or advice. Of
	// such lines of 390 planted bugs three in ten were the edited one, and of the others that suspects name
	// one in fifty.
	pointedAt = -1
)

// named are the lines that suspects name: the places, and those in the texts.
func (s *sourceEdit) named() map[string]map[int]int {
	out := map[string]map[int]int{}
	add := func(far int, file string, line int) { s.put(out, file, line, far) }
	at := func(far int, src *report.Source) {
		if src == nil {
			return
		}
		add(far, src.File, src.Line)
		for _, c := range src.Calls.Sites() {
			add(far, c.File, c.Line)
		}
	}
	in := func(far int, file string, texts ...string) {
		for _, text := range texts {
			file := file
			for _, m := range lineAlone.FindAllStringSubmatch(text, -1) {
				if m[1] != "" {
					file = m[1]
				}
				for _, line := range m[2:] {
					if line != "" && file != "" {
						add(far, file, number(line))
					}
				}
			}
		}
	}
	for i, x := range s.q.suspects {
		c := &x.cause
		if x.remedy != nil && x.remedy.changes() && x.alone != nil && s.q.nothingWrong(x.alone) {
			at(proven, x.remedy.at)
			for _, text := range []string{x.remedy.text, c.Advice} {
				if m := fileLine.FindStringSubmatch(text); m != nil {
					add(proven, m[1], number(m[2]))
				}
			}
		}
		pointed, far := pointedAt, 0
		if i > 0 {
			pointed, far = 1, 1
		}
		file := ""
		if c.Place.Source != nil {
			file = c.Place.Source.File
		}
		at(pointed, c.Place.Source)
		in(pointed, file, c.Title, c.Advice)
		at(far, c.Place.Other)
		if x.contrast != nil {
			for _, o := range slices.Concat(x.contrast.Foreign, x.contrast.Missing, x.contrast.Twice) {
				at(far, o.At)
			}
		}
		in(far, file, c.why, x.explained)
		in(1, file, c.With...)
	}
	return out
}

// loadedFrom matches the array that a finding on the origin of a NaN names.
var loadedFrom = regexp.MustCompile(`^NaN enters here, loaded from (\w+)\[`)

// involved adds the lines that what is found is about: all that mention the array or mbarrier, and those that
// arrive on or wait at barriers where a barrier is waited at in vain.
func (s *sourceEdit) involved(set *rewrite.Set, lines map[string]map[int]int) {
	barrier := false
	for _, x := range s.q.suspects {
		for _, i := range append(slices.Clone(x.cause.Findings), x.cause.Finding) {
			if i < 0 {
				continue
			}
			f := &s.q.doc.Findings[i]
			if f.Variable != "" {
				set.Mentioning(lines, f.Variable, 1)
			}
			if f.Kind == "race" { // with what lies in the same place
				set.Overlaying(lines, f.Variable, pointedAt)
			}
			barrier = barrier || f.Kind == "barrier" || f.Kind == "hang"
		}
	}
	for i := range s.q.doc.Findings {
		if m := loadedFrom.FindStringSubmatch(s.q.doc.Findings[i].Message); m != nil {
			set.Mentioning(lines, m[1], 0)
		}
	}
	s.indexed(lines)
	s.readFrom(lines)
	if barrier {
		set.Leaving(lines, 0)
	}
	copies := slices.ContainsFunc(s.q.suspects, func(x *suspect) bool { return x.cause.Kind == "cp-async" })
	for i, in := range s.q.run.Entry().Body {
		switch k := in.Kind(); {
		case barrier && (in.Op == "bar" || in.Op == "barrier"):
			s.at(lines, i, 1)
		case copies && (k == isa.WaitAsync || k == isa.CommitAsync):
			s.at(lines, i, 0)
			// A compiler makes one of several calls.
			if l := in.Loc; l != nil && l.InlinedAt != nil && blame(s.q.run.Entry(), i) != nil {
				set.Mentioning(lines, target.ShortName(blame(s.q.run.Entry(), i).Function), -1)
			}
		}
	}
}

// indexed adds the lines by which the indices of accesses are made that a checker finds wrong, the short
// functions that these call, and the lines by which that is made which the conditions of an access compare.
func (s *sourceEdit) indexed(lines map[string]map[int]int) {
	guarding := func(at *report.Source) {
		if at == nil {
			return
		}
		for _, name := range s.textsOf(at.File) {
			s.set.Guarding(lines, name, at.Line, 0)
		}
	}
	for _, x := range s.q.suspects {
		if x.cause.Kind == "unwritten" {
			guarding(x.cause.Place.Source)
			guarding(x.cause.Place.Other)
		}
		if x.cause.Finding < 0 || !slices.Contains(addressKinds, x.cause.Kind) {
			continue
		}
		f := &s.q.doc.Findings[x.cause.Finding]
		if f.Kind == outOfBounds {
			guarding(f.Source)
		}
		for _, d := range s.q.definitions(access{at: f.Source, variable: f.Variable}) {
			if d.depth > 1 {
				continue
			}
			for _, at := range append(s.shortCallees(s.q.quoted(&d.at)), &d.at) {
				s.put(lines, at.File, at.Line, 0)
			}
		}
	}
}

// shortCallees are where the functions of one line stand that a line of the source calls.
func (s *sourceEdit) shortCallees(line string) (places []*report.Source) {
	for _, m := range called.FindAllStringSubmatch(bare(line), -1) {
		if src := s.q.shortFunction(m[1]); src != nil {
			places = append(places, src)
		}
	}
	return places
}

// readFrom adds, where a stage's cells are made of other elements than should be there, the lines that
// mention its array, and the short functions that these call in its indices: it may be stored right, and read
// wrong.
func (s *sourceEdit) readFrom(lines map[string]map[int]int) {
	for _, x := range s.q.suspects {
		if x.contrast == nil || len(x.contrast.Foreign) == 0 || len(x.stages) == 0 {
			continue
		}
		st := s.q.run.Plan.Stage(x.stages[0])
		if st == nil || st.Array == "" {
			continue
		}
		own := map[string]map[int]int{}
		s.set.Mentioning(own, st.Array, 1)
		for name, list := range own {
			text := strings.Split(s.texts[name], "\n")
			for line, far := range list {
				put(lines, name, line, far)
				if line < 1 || line > len(text) {
					continue
				}
				for _, src := range s.shortCallees(text[line-1]) {
					s.put(lines, src.File, src.Line, 1)
				}
			}
		}
	}
}

// wanted says which edits are likely, by the operands of the first wrong cells and by what is found.
func (s *sourceEdit) wanted() (out rewrite.Wanted) {
	for _, x := range s.q.suspects {
		c := x.contrast
		if out.Step == 0 {
			out.Step = stepOf(s.q.fingerprint(x))
		}
		out.Deciding = out.Deciding || s.leftOut(x)
		switch {
		case out.Kind != rewrite.Any:
		case slices.Contains(addressKinds, x.cause.Kind):
			out.Kind = rewrite.Indices
		case s.q.beginsUnmade(x): // what is Inf or NaN may have lacked operands
		case x.whole:
			out.Kind = rewrite.Values
		case c != nil && len(c.Foreign)+len(c.Twice) > 0, x.cause.Finding >= 0:
			out.Kind = rewrite.Indices // where operands are only missing, a reduction may have left them out
		}
		if c != nil && len(c.Foreign) > 0 && len(c.Missing) > 0 {
			if from, to := c.Foreign[0].Of, c.Missing[0].Of; from != to && out.From == "" {
				out.From, out.To = from, to
			}
		}
		out.Often = out.Often || x.warpwide != nil
		out.Ordered = out.Ordered || slices.Contains(outOfOrder, x.cause.Kind) ||
			c != nil && c.Overwritten != nil
		if c != nil {
			for _, o := range slices.Concat(c.Foreign, c.Missing, c.Twice) {
				out.Arrays = append(out.Arrays, o.Of)
			}
		}
		for _, i := range append(slices.Clone(x.cause.Findings), x.cause.Finding) {
			if i < 0 {
				continue
			}
			f := &s.q.doc.Findings[i]
			out.Often = out.Often || strings.Contains(f.Message, target.CountForOnePhase)
			if f.Variable == "" {
				continue
			}
			name, _, _ := strings.Cut(f.Variable, "[")
			out.Arrays = append(out.Arrays, name)
			out.Beyond = out.Beyond || f.Kind == outOfBounds
			out.Short = out.Short || overwritesMBarrier(f) || f.Kind == outOfBounds && f.Space == "shared"
		}
		if x.cause.Kind == kindStage {
			out.Arrays = append(out.Arrays, x.cause.Stage)
		}
	}
	return out
}

// periodic matches the value of a pattern by which some terms of a sum, of every so many, take part or not.
var periodic = regexp.MustCompile(`(only )?\S+ (\d+)–(\d+) of every (\d+) take `)

// stepOf is how many terms of a sum an iteration of its loop should go on by, where a stage looks as if it
// goes on by another number: only the first of every few groups take part. 0: it does not look so.
func stepOf(p *report.Fingerprint) int {
	if p == nil || p.Name != "part-missing" {
		return 0
	}
	m := periodic.FindStringSubmatch(p.Value)
	if m == nil {
		return 0
	}
	n := number(m[3]) - number(m[2]) + 1
	if m[1] == "" && number(m[4]) != 2*n {
		return 0 // more than every second group takes part
	}
	return n
}

// outOfOrder are kinds of findings on what was not waited for, or for too long.
var outOfOrder = []string{"race", "cp-async", "wgmma", "mbarrier", "hang"}

// leftOut reports whether something that a suspect needs was not done: a loop that ends early or a condition
// may have left it out.
func (s *sourceEdit) leftOut(x *suspect) bool {
	masked := x.mask != nil || len(x.stages) > 0 && s.q.looksMasked(x.stages[0])
	if masked || x.contrast != nil && x.skips(nil) || s.q.beginsUnmade(x) {
		return true
	}
	return slices.ContainsFunc(append(slices.Clone(x.cause.Findings), x.cause.Finding), func(i int) bool {
		return i >= 0 && slices.Contains(undone, s.q.doc.Findings[i].Kind)
	})
}

// undone are kinds of findings on what was not done.
var undone = []string{"loop-ended", "not-captured", "unwritten", "uninitialised"}

// lacksTerms reports whether a wrong cell may lack what another iteration of a loop would bring: several
// operands, or it is not known what it is made of.
func (q *inquiry) lacksTerms() bool {
	for _, x := range q.suspects {
		if x.contrast == nil || x.cause.Kind != kindStage || q.beginsUnmade(x) ||
			slices.ContainsFunc(x.contrast.Missing, func(o debugkern.Operands) bool { return o.N > 1 }) {
			return true
		}
	}
	return len(q.suspects) == 0
}

// beginsUnmade reports whether the first wrong cell of a suspect is Inf or NaN.
func (q *inquiry) beginsUnmade(x *suspect) bool {
	if len(x.stages) == 0 {
		return false
	}
	doc := q.base.Report.Stage(x.stages[0].String())
	if doc == nil || doc.FirstBad == nil {
		return false
	}
	got := float64(doc.FirstBad.Got)
	return math.IsInf(got, 0) || math.IsNaN(got)
}

// mostSliced is how many suspects the operations that make their wrong cells are asked of.
const mostSliced = 3

// nearest is how many of these operations are as near to the cells as the line that stores them.
const nearest = 24

// sliced adds the lines of what makes the first wrong cells of stages out of what these are computed from.
func (s *sourceEdit) sliced(lines map[string]map[int]int) error {
	q := s.q
	for _, x := range q.suspects[:min(len(q.suspects), mostSliced)] {
		if len(x.stages) == 0 {
			continue
		}
		doc := q.base.Report.Stage(x.stages[0].String())
		if doc == nil || doc.FirstBad == nil {
			continue
		}
		b := doc.FirstBad
		ops, err := q.base.Slice(q.ctx, x.stages[0], b.Block, max(b.KVTile, 0), q.wrongCells(x.stages[0], b))
		if err != nil {
			if err = q.stopped(err); err != nil {
				return err
			}
			continue
		}
		for i, op := range ops {
			far := 1
			if i < nearest {
				far = 0
			}
			s.at(lines, op.At, far)
		}
	}
	return nil
}

// anywhere adds the lines that store to tensors, and farther from there all that the kernel executes.
func (s *sourceEdit) anywhere(lines map[string]map[int]int) {
	for i, in := range s.q.run.Entry().Body {
		far := spreadSteps
		if in.Kind().Writes() && in.Has("global") {
			far = 0
		}
		s.at(lines, i, far)
	}
}

// at adds the line of an instruction, and those that it was called from.
func (s *sourceEdit) at(lines map[string]map[int]int, at, far int) {
	for l := s.q.run.Entry().Body[at].Loc; l != nil; l = l.InlinedAt {
		for name := range s.texts {
			if l.Name != name && !strings.HasSuffix(l.Name, "/"+name) {
				continue
			}
			put(lines, name, l.Line, far)
		}
	}
}

// put notes how far a line of a file is that debug lines or messages name.
func (s *sourceEdit) put(lines map[string]map[int]int, file string, line, far int) {
	for _, name := range s.textsOf(file) {
		put(lines, name, line, far)
	}
}

// textsOf are the names of the texts that debug lines or messages may mean by a file.
func (s *sourceEdit) textsOf(file string) (names []string) {
	for name := range s.texts {
		if file == name || strings.HasSuffix(file, "/"+name) || path.Base(file) == name {
			names = append(names, name)
		}
	}
	return names
}

// put notes how far a line is.
func put(lines map[string]map[int]int, name string, line, far int) {
	if lines[name] == nil {
		lines[name] = map[int]int{}
	}
	if was, ok := lines[name][line]; !ok || far < was {
		lines[name][line] = far
	}
}
