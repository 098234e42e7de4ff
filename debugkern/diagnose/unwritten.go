package diagnose

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// What was read, or left in an output, without anybody having written it has no line of its own: the line is
// the one that writes its neighbours and not it.

// cover finds out, for variables of which elements are never written, which those are and who writes the
// others.
func (q *inquiry) cover() error {
	for _, s := range q.suspects {
		var blocks []probes.Dim3
		switch s.cause.Kind {
		case "uninitialised":
			if q.doc.Findings[s.cause.Finding].Space != "shared" {
				continue
			}
			blocks = []probes.Dim3{s.cause.Place.Block}
		case "unwritten":
			blocks = q.run.Blocks()
		default:
			continue
		}
		c, err := scene.Cover(q.ctx, q.run, blocks, s.cause.Place.Variable)
		if err != nil {
			if err = q.fatal(err); err != nil {
				return err
			}
			continue
		}
		if c != nil && len(c.Never()) > 0 {
			s.covered = c
			if err := q.neverWritten(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// neverWritten gives a suspect the place of the line that writes what lies around the elements that nobody
// writes, and says which those are.
func (q *inquiry) neverWritten(s *suspect) error {
	c := s.covered
	for i := range q.run.Plan.Stages {
		sp := &q.run.Plan.Stages[i]
		if sp.Array != c.Variable || s.cause.Place.Source == nil {
			continue
		}
		if width := c.Padding(sp.Cols); width > 0 {
			at := callText(s.cause.Place.Source)
			s.cause.why = fmt.Sprintf(
				"%s is %d wide and its tile %d: %s are padding, which nothing writes and %s reads",
				c.Variable, width, sp.Cols, c.Text(c.Never()), at)
			s.cause.Advice = fmt.Sprintf("compare the stride of the access at %s with the width of %s, %d",
				at, c.Variable, width)
			s.padded = true
			return nil
		}
	}
	writer := c.Writer()
	never := c.NeverText()
	if writer == nil {
		s.cause.why = never
		return nil
	}
	who, verb := callText(writer), "writes"
	if list := c.Beside(writer); len(list) > 0 {
		who, verb = who+" and "+linesText(list), "write"
	}
	s.cause.why = fmt.Sprintf("%s; %s %s the others", never, who, verb)
	if n := q.run.Plan.Block.Count(); s.cause.Kind == "uninitialised" && c.Wrote() == n {
		s.cause.why += fmt.Sprintf(": %d, as many as the block has threads", n)
	}
	if s.decidedAt != "" {
		return nil // an edit says more
	}
	s.cause.Advice = fmt.Sprintf("write them too: look at which elements %s %s", who, verb)
	at := q.leavesBefore(writer)
	idle, err := q.neverTaken(at, writer, s.cause.Place.Block)
	if err != nil {
		return err
	}
	if at != nil && !idle {
		s.cause.Advice = q.citing(fmt.Sprintf("%s, and at the condition at %s, which leaves it out",
			s.cause.Advice, lineText(at, writer)), ": ", at)
		if leavesLoop.MatchString(bare(q.quoted(at))) {
			s.cause.Advice += ", and `break` leaves out all iterations after it too, `continue` that one alone"
		}
	}
	if s.cause.Place.Source == nil {
		s.cause.Place.Source = writer
		s.cause.Title += " at " + callText(writer)
	} else if s.cause.Place.Other == nil {
		s.cause.Place.Other = writer
	}
	return nil
}

// leavesBefore is the nearest line above a line, in a loop that it lies in, by which a thread leaves that
// loop or an iteration of it under a condition; nil where there is none.
func (q *inquiry) leavesBefore(at *report.Source) *report.Source {
	own := at.Outermost()
	lines := q.run.Source(own.File)
	for _, head := range loopsRound(lines, own.Line) {
		for n := own.Line - 1; n > head && n <= len(lines); n-- {
			if !leavesEarly.MatchString(bare(lines[n-1])) {
				continue
			}
			if in := loopsRound(lines, n); len(in) > 0 && in[0] == head { // not one of another loop above
				return &report.Source{File: own.File, Line: n, Function: own.Function}
			}
		}
	}
	return nil
}

// neverTaken reports whether threads of a block write at a line as often as they ask a condition above it by
// which they would leave it out, nil for none: it leaves out none.
func (q *inquiry) neverTaken(condition, writes *report.Source, block probes.Dim3) (bool, error) {
	if condition == nil {
		return false, nil
	}
	times, err := q.base.Executed(q.ctx, block)
	if err != nil {
		return false, q.fatal(err)
	}
	asked, written := 0, 0
	for i, in := range q.run.Entry().Body {
		src := blame(q.run.Entry(), i)
		if src == nil {
			continue
		}
		switch k := in.Kind(); {
		case k.Writes() && src.At() == writes.At() && src.Calls == writes.Calls:
			written = max(written, times[i])
		case in.Op == "setp" && src.At() == condition.At():
			asked = max(asked, times[i])
		}
	}
	return asked > 0 && written >= asked, nil
}

// leavesEarly matches a condition by which what follows in a loop is not done, leavesLoop one by which the
// loop ends.
var (
	leavesEarly = regexp.MustCompile(`\bif\b.*\b(?:break|continue|return)\b`)
	leavesLoop  = regexp.MustCompile(`\bif\b.*\bbreak\b`)
)

// neverStored looks whether what a wrong stage leaves from one iteration to the next is never written in the
// loop: its array is read in every iteration, and all that writes to it stands outside the loop.
func (q *inquiry) neverStored(s *suspect) error {
	st := q.run.Plan.Stage(s.stages[0])
	doc, fn := q.doc.Stage(s.cause.Stage), q.run.Entry()
	if st == nil || st.Array == "" || !st.PerTile || st.Loaded || doc == nil || doc.FirstBad == nil ||
		doc.FirstBad.Source == nil || fn == nil ||
		s.contrast != nil && (!s.contrast.Wholly || s.contrast.Missing[0].At != nil) {
		return nil
	}
	loops := synchronised(fn)
	if slices.ContainsFunc(accessesAt(fn, doc.FirstBad.Source), func(i int) bool {
		return slices.ContainsFunc(loops, func(in func(int) bool) bool { return in(i) })
	}) {
		return nil
	}
	c, err := scene.Cover(q.ctx, q.run, []probes.Dim3{doc.FirstBad.Block}, st.Array)
	if err != nil || c == nil {
		return q.fatal(err)
	}
	writers, readers := c.Accesses()
	for _, in := range loops {
		at := slices.IndexFunc(readers, in)
		if at < 0 || len(writers) == 0 || slices.ContainsFunc(writers, in) {
			continue
		}
		read := blame(fn, readers[at])
		before := callText(blame(fn, writers[len(writers)-1]))
		s.cause.why = fmt.Sprintf(
			"%s is read at %s in the loop and never written there: it has what %s put there before",
			st.Array, callText(read), before)
		s.cause.Place.Source, s.unstored = read, true
		s.cause.Advice = fmt.Sprintf("store the new %s to %s in the loop that contains %s", st.Stage,
			st.Array, callText(read))
		return nil
	}
	return nil
}

// synchronised lists the loops with a barrier of the block in them, as what is in them.
func synchronised(fn *ptx.Func) []func(i int) bool {
	g := cfg.New(fn)
	loops := g.Loops()
	var out []func(int) bool
	for _, head := range slices.Sorted(maps.Keys(loops)) {
		in := func(i int) bool { return loops[head][g.Of[i]] }
		if slices.ContainsFunc(fn.Syncs(target.IsProbe), func(i int) bool {
			return in(i) && fn.Body[i].Kind() == isa.Barrier
		}) {
			out = append(out, in)
		}
	}
	return out
}

// sameWriter reports whether two suspects are reads of what nobody wrote of two variables whose other
// elements one line writes, whatever called it; or of the same columns, where the addresses of what lines
// write the others have something in common.
func (q *inquiry) sameWriter(a, b *suspect) bool {
	fn := q.run.Entry()
	if a.covered == nil || b.covered == nil || fn == nil {
		return false
	}
	x, y := a.covered.Writer(), b.covered.Writer()
	if x == nil || y == nil {
		return false
	}
	if x.File == y.File && x.Line == y.Line {
		return true
	}
	s := newSlicer(fn)
	common := meet(s.addresses(accessesAt(fn, x)), s.addresses(accessesAt(fn, y)))
	return len(common) > 0 && a.covered.Columns() != nil &&
		slices.Equal(a.covered.Columns(), b.covered.Columns())
}

// leftUnwritten reports whether all that is wrong with the stage of a suspect are elements of the output that
// unwritten's suspect has nobody write.
func (q *inquiry) leftUnwritten(unwritten, s *suspect) bool {
	if unwritten.covered == nil || s.cause.Kind != kindStage || len(s.stages) != 1 {
		return false
	}
	sp := q.run.Plan.Stage(s.stages[0])
	doc := q.doc.Stage(s.cause.Stage)
	return sp != nil && doc != nil && sp.Capture.Kind == probes.CaptureOutput &&
		sp.Capture.Output == unwritten.cause.Place.Variable &&
		doc.Local.Bad == doc.Local.Nonfinite && doc.Local.Bad == len(unwritten.covered.Never())
}

// incomplete reports whether something of a block was not captured.
func (q *inquiry) incomplete(b probes.Dim3) bool {
	if q.holes == nil {
		q.holes = q.uncaptured()
	}
	return q.holes[b]
}

// uncaptured is the blocks of which some cell that is compared was not captured.
func (q *inquiry) uncaptured() map[probes.Dim3]bool {
	out := map[probes.Dim3]bool{}
	for i := range q.run.Report.Stages {
		st := &q.run.Report.Stages[i]
		sp := q.run.Plan.Stage(probes.Stage(st.Name))
		if st.NotCaptured == 0 || sp == nil || sp.OfLaunch() {
			continue
		}
		for _, b := range q.run.Blocks() {
			lo, n := q.run.Tiles(b)
			if !sp.PerTile {
				lo, n = 0, 1
			}
			for kv := lo; kv < lo+n && !out[b]; kv++ {
				v := q.run.Tile(debugkern.Place{Stage: sp.Stage, Block: b, KVTile: kv})
				out[b] = v.Absent > 0 || v.Verdict == report.Off
			}
		}
	}
	return out
}

// cutShort reports whether a suspect follows from another, by which some of the work of a block was not done:
// a loop that ended early, a warp that left. All that is wrong with its stages is in blocks of which
// something was not captured, and other blocks are right; or its findings are of values that nobody wrote
// there.
func (q *inquiry) cutShort(short, s *suspect) bool {
	if !report.Uncaptures(short.cause.Kind) || s == short {
		return false
	}
	if report.Uncaptures(s.cause.Kind) {
		return true
	}
	if s.cause.Kind != kindStage {
		return slices.Contains([]string{"uninitialised", "nan-origin", "unwritten"}, s.cause.Kind) &&
			!slices.ContainsFunc(s.cause.Findings, func(i int) bool {
				f := &q.doc.Findings[i]
				return f.Kind != "unwritten" && !q.incomplete(f.Block)
			})
	}
	return !slices.ContainsFunc(s.stages, func(st probes.Stage) bool { return !q.wrongInHoles(st) })
}

// wrongInHoles reports whether a stage is wrong in blocks alone of which something was not captured, and
// right in others; a sum over blocks, whether what it is a sum of was not captured.
func (q *inquiry) wrongInHoles(st probes.Stage) bool {
	sp := q.run.Plan.Stage(st)
	if sp == nil {
		return false
	}
	if sp.OfLaunch() {
		return slices.ContainsFunc(sp.Operands, func(o probes.Stage) bool {
			doc := q.doc.Stage(o.String())
			return doc != nil && doc.NotCaptured > 0
		})
	}
	right := 0
	for _, b := range q.run.Blocks() {
		lo, n := q.run.Tiles(b)
		if !sp.PerTile {
			lo, n = 0, 1
		}
		for kv := lo; kv < lo+n; kv++ {
			v := q.run.Tile(debugkern.Place{Stage: st, Block: b, KVTile: kv})
			switch {
			case v.Bad > 0 && !q.incomplete(b):
				return false
			case v.Bad == 0 && v.Cells > v.Absent && !q.incomplete(b):
				right++
			}
		}
	}
	return right > 0
}

// tooLate reports whether every finding of a suspect is met after the first bad cell of a stage was written:
// in a later iteration, or further on in the kernel. It does not explain that cell.
func (q *inquiry) tooLate(s *suspect, st probes.Stage) bool {
	doc, fn := q.doc.Stage(st.String()), q.run.Entry()
	if doc == nil || doc.FirstBad == nil || doc.FirstBad.Source == nil || fn == nil {
		return false
	}
	written := instructionsAt(fn, doc.FirstBad.Source)
	if len(written) == 0 {
		return false
	}
	for _, i := range s.cause.Findings {
		f := &q.doc.Findings[i]
		if f.Source == nil || f.Block != doc.FirstBad.Block && f.Kind != "nan-origin" {
			return false
		}
		if kv := doc.FirstBad.KVTile; f.KVTile >= 0 && kv >= 0 && f.KVTile != kv {
			if f.KVTile < kv {
				return false
			}
			continue
		}
		if at := instructionsAt(fn, f.Source); len(at) == 0 || at[0] <= written[len(written)-1] {
			return false
		}
	}
	return len(s.cause.Findings) > 0
}

// symptom reports whether a NaN is made out of what a stage that is wrong by itself had made before, or in a
// stage that is wrong by itself in cells that are numbers too.
func (q *inquiry) symptom(nan, of *suspect) bool {
	return nan.cause.Kind == "nan-origin" && of.cause.Kind == kindStage && len(of.stages) > 0 &&
		!slices.ContainsFunc(of.stages, func(st probes.Stage) bool {
			return !q.tooLate(nan, st) && !(q.mostlyNumbers(nan, st) && q.feeds(nan, st))
		})
}

// mostlyNumbers reports whether a stage is wrong mostly in cells that are numbers, and a NaN or infinity in
// the others is made there by an operation on numbers: it does not explain the stage.
func (q *inquiry) mostlyNumbers(nan *suspect, st probes.Stage) bool {
	if !q.hasNaN(st) || q.mostlyNaN(st) || nan.cause.Finding < 0 {
		return false
	}
	return strings.Contains(q.doc.Findings[nan.cause.Finding].Message, "is made here")
}
