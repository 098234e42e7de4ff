package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
	"tilescope/probes"
)

// Edits of the PTX reach what a line became, and not all that a person may write there: another variable of
// the same type, what stands in the same place elsewhere, two numbers of one loop. Where a compiler is at
// hand, edits of the lines that suspects name, and of those that these depend on, are compiled together and
// executed one by one. An edit with which everything is right is the cause of everything that is wrong: the
// line that has it is compiled alone then, and what it comes to is the proof.

const (
	// spreadSteps is how far from the lines that suspects name edits are looked for.
	spreadSteps = 2
	// firstTogether is how many edits are compiled together first. Each time that is done again there are
	// twice as many, and mostTogether at most; so often it is done in all.
	firstTogether = 64
	mostTogether  = 512
	doublings     = 3 // from firstTogether to mostTogether
	mostRounds    = 40
	// mostInstructions is how many instructions builds may have in all: a compiler takes a second for 3000.
	mostInstructions = 240000
	// mostCompiled is how many compilations a round makes: what does not compile is left out.
	mostCompiled = 6
	// mostRight is how many edits that put everything right in a block are tried further.
	mostRight = 8
	// editedInstructions is how many warp instructions the edits of a round may execute in all.
	editedInstructions = 48 << 20
	// watched is by how much an instruction takes longer under the checkers.
	watched = 3
)

// sourceEdit is a search for an edit of the source.
type sourceEdit struct {
	q      *inquiry
	texts  map[string]string
	set    *rewrite.Set
	blocks []probes.Dim3   // that edits are executed on
	stages probes.StageSet // that are judged of them; nil: all
	cells  int             // captured in the blocks, right and wrong, of the run
	right  int
	// compiled counts the instructions of the builds that were made
	compiled int
	// lines counts instructions, by the name of a file and a line
	lines map[string]map[int]int
	took  time.Duration // to compile the last build
	own   uint64        // warp instructions of the blocks as they are
	block uint64        // warp instructions that a block takes, at most
	// slower is how many times the instructions of the run the last build with many edits has
	slower   uint64
	each     uint64      // warp instructions that the trial of one edit took in the last round
	tried    int         // edits that were executed
	needless []candidate // with which everything is right, and more is computed than with others
	out      []string    // edits that leave out what merely must not be done
	// refused is the first with which everything is right here, and not elsewhere; nil: none
	refused *rightEdit
	// untried is the first with which everything is right here, and that was not tried everywhere else when
	// the time was over; nil: none
	untried *rightEdit
	// narrow is the first with which only a shape stays wrong that is none of the manifest's; nil: none
	narrow *rightEdit
	until  time.Time // when the search ends that another than narrow is looked for in
	// found: nothing that was captured is wrong, and an edit has to make what the checkers found go
	found bool
}

// rightEdit is an edit that puts everything right.
type rightEdit struct {
	edit  rewrite.Edit
	run   *debugkern.Run
	built *build.Build
	also  *rewrite.Edit // of another line, with which all stages are right too; nil: none was seen
	right string        // another configuration that is right with it too; "": none
	stays string        // a shape that is none of the manifest's and stays wrong with it; "": none
	more  bool          // with it blocks that are right compute more than they need
	but   string        // what else is wrong with it, of an edit that is refused
}

// meant says of an edit that leaves another shape wrong when another one is meant.
func (f *rightEdit) meant() string {
	return f.stays + ", which the manifest does not have, stays wrong, so that another edit is meant if the kernel " +
		"is made for that"
}

// inSource looks for one edit of the source that puts everything right, where no other experiment has shown
// what to write.
func (q *inquiry) inSource() error {
	if !q.troubled() || len(q.suspects) == 0 || len(q.run.Selection.Faults) > 0 {
		return nil
	}
	if settled, err := q.settledInSource(); err != nil || settled {
		return err
	}
	if !q.run.Report.Referenced() && slices.ContainsFunc(q.suspects, func(s *suspect) bool {
		return !slices.Contains(addressKinds, s.cause.Kind)
	}) {
		return nil // nothing judges values, and an edit with which nothing is executed puts all else right
	}
	texts := q.run.Texts()
	if len(texts) == 0 {
		return nil
	}
	s := &sourceEdit{q: q, texts: texts, block: q.run.Report.Cost.WarpInstructions}
	limited, cancel := context.WithDeadline(q.ctx, q.begun.Add(longestSource+longestTrial))
	q.counted, q.until = true, limited
	found, err := s.search()
	if err == nil && found != nil {
		found, err = s.smallest(found)
	}
	q.counted, q.until = false, nil
	cancel()
	if err = q.stopped(err); err != nil {
		return err
	}
	if found == nil && len(q.suspects) > 1 {
		found = s.narrow // it is the cause of all of them
	}
	if found != nil {
		return q.blameSource(found)
	}
	f := cmp.Or(s.narrow, s.untried, s.refused)
	if f == nil && !s.late() {
		q.edits = s.tried
	}
	if f != nil {
		c := &q.suspects[0].cause
		at := &report.Source{File: q.fileOf(f.edit.Text.Name), Line: f.edit.Line}
		here, but := "", f.but+", so that another edit is meant"
		switch f {
		case s.narrow:
			here, but = "here ", f.meant()
		case s.untried:
			here, but = "here ", "the time was over before that was tried with everything else"
		}
		c.but = fmt.Sprintf("every stage is right %s%s at %s, and %s", here, f.edit.With(), at.At(), but)
	}
	return nil
}

// stopped is err where it ends a search: of what an edit does to a kernel, or to us, nothing else does.
func (q *inquiry) stopped(err error) error {
	if q.ctx.Err() != nil || debugkern.OutOfMemory(err) {
		return err
	}
	return nil
}

// settledInSource reports whether there is one suspect, and it is known what to write. A line that was
// written for an edit of the PTX is compiled first, where that is possible.
func (q *inquiry) settledInSource() (bool, error) {
	if len(q.suspects) != 1 {
		return false, nil
	}
	s := q.suspects[0]
	if s.remedy == nil || s.alone == nil || !s.remedy.changes() || !q.nothingWrong(s.alone) {
		return false, nil
	}
	w := s.cause.Rewrite
	if w != nil && w.Now != "" && headed.MatchString(w.Was) {
		return false, nil // how often a loop is executed may be made wrong where its bound is computed
	}
	if w == nil || w.Now == "" {
		return s.remedy.where != "" || s.remedy.without != "" || s.cause.Kind == kindTable || w != nil, nil
	}
	right, err := q.rightWritten(w)
	if err == nil && !right {
		q.unwrite(s)
	}
	return right, err
}

// rightWritten reports whether everything is right with what is compiled of a line of the source that reads
// as it should; true where nothing can be compiled, or it cannot be tried.
func (q *inquiry) rightWritten(w *Rewrite) (bool, error) {
	for name, source := range q.run.Texts() {
		if path.Base(name) != path.Base(w.File) {
			continue
		}
		lines := strings.Split(source, "\n")
		if w.Line > len(lines) || strings.TrimSpace(lines[w.Line-1]) != w.Was {
			continue
		}
		if _, err := q.run.Compile(q.ctx, nil); err != nil {
			return true, q.stopped(err)
		}
		lines[w.Line-1] = strings.Replace(lines[w.Line-1], w.Was, w.Now, 1)
		b, err := q.run.Compile(q.ctx, map[string]string{name: strings.Join(lines, "\n")})
		if err != nil {
			return false, q.stopped(err)
		}
		r, err := q.try(nil, &remedy{build: b})
		if err != nil || r != nil && !q.nothingWrong(r) {
			return false, err
		}
	}
	return true, nil
}

// unwrite takes back the line of a suspect's cause with which, compiled, not everything is right: the
// compiler made the instruction that was edited of other lines too.
func (q *inquiry) unwrite(s *suspect) {
	w, c := s.cause.Rewrite, &s.cause
	c.Rewrite = nil
	at := &report.Source{File: w.File, Line: w.Line}
	s.remedy.advice = fmt.Sprintf("look at %s, and at other lines that compute the same: %s in the compiled kernel "+
		"everything is right, and it is not once the line %s is written %s", at.At(), s.remedy.text, quote(w.Was),
		quote(w.Now))
	s.remedy.text += ", in the compiled kernel,"
	c.Advice = s.remedy.advice
}

// smallest is an edit without those of its differences that it does not need.
func (s *sourceEdit) smallest(f *rightEdit) (*rightEdit, error) {
	for _, e := range f.edit.Smaller() {
		if s.late() {
			break
		}
		g, err := s.confirmed(e)
		if err = s.q.stopped(err); err != nil {
			return nil, err
		}
		if g != nil {
			g.also, g.more = f.also, f.more
			return s.smallest(g)
		}
	}
	return f, nil
}

// nothingWrong reports whether every stage of a run is right, as much of it as was judged, and nothing is
// found.
func (q *inquiry) nothingWrong(r *debugkern.Run) bool {
	return len(errorsOf(r.Report)) == 0 && q.allRight(r)
}

// allRight is nothingWrong whatever is found.
func (q *inquiry) allRight(r *debugkern.Run) bool {
	if r.Report.Verdict == report.Failed || len(wrongStages(r.Report)) > 0 || len(tainted(r.Report)) > 0 {
		return false
	}
	return q.noWorse(r) && q.damage(r.Report).bad == 0
}

// search compiles and executes edits, those first that are likeliest.
func (s *sourceEdit) search() (*rightEdit, error) {
	var list []*rewrite.Text
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		list = append(list, rewrite.Parse(name, s.texts[name]))
	}
	set := rewrite.NewSet(list...)
	s.set = set
	lines := s.named()
	if err := s.sliced(lines); err != nil {
		return nil, err
	}
	s.involved(set, lines)
	if len(lines) == 0 {
		s.anywhere(lines)
	}
	set.Spread(lines, spreadSteps)
	all := set.Edits(lines, s.wanted())
	alone := slices.DeleteFunc(slices.Clone(all), func(e rewrite.Edit) bool { return !e.Alone })
	edits := slices.DeleteFunc(all, func(e rewrite.Edit) bool { return e.Alone })
	if ok, err := s.measure(); err != nil || !ok {
		return nil, err
	}
	sooner := 0 // those that are worth a compilation before the first that is of many
	if n := len(edits) - 1; n >= 0 {
		sooner = min(worth(alone, edits[min(firstTogether, n)]), mostSooner)
	}
	if found, err := s.oneByOne(alone[:sooner]); err != nil || found != nil {
		return found, err
	}
	if found, err := s.together(edits); err != nil || found != nil {
		return found, err
	}
	if n := len(edits) - 1; s.tried > 0 && n >= 0 {
		alone = alone[:worth(alone, edits[min(s.tried, n)])]
	}
	if found, err := s.oneByOne(alone[min(sooner, len(alone)):]); err != nil || found != nil {
		return found, err
	}
	// Those with which less is computed are refuted: more than without an edit is what counts.
	for _, more := range []bool{false, true} {
		var list []candidate
		for _, c := range s.needless {
			if c.more == more {
				list = append(list, c)
			}
		}
		if found, err := s.likeliest(list); err != nil || found != nil {
			if found != nil {
				found.more = more
			}
			return found, err
		}
	}
	return nil, nil
}

// worth is how many of the edits that are compiled alone, the likeliest first, are so much likelier than
// another one that they are worth a compilation each.
func worth(alone []rewrite.Edit, than rewrite.Edit) int {
	n := slices.IndexFunc(alone, func(e rewrite.Edit) bool { return e.Rank > than.Rank-aloneLikelier })
	if n < 0 {
		return len(alone)
	}
	return n
}

// measure chooses the blocks that edits are executed on, and notes what is right in them as they are; false
// where there is nothing that an edit could be seen to put right.
func (s *sourceEdit) measure() (bool, error) {
	q := s.q
	for _, of := range s.parts() {
		s.blocks, s.stages = of.blocks, of.stages
		was, err := s.execute(debugkern.Trial{})
		if err != nil {
			return false, err
		}
		if was == nil {
			break // it does not end, and a checker says why
		}
		if s.note(was) > 0 || was.Report.Verdict == report.Failed {
			return true, nil
		}
	}
	s.stages = nil
	s.blocks = q.foundIn()
	s.found = true
	was, err := s.execute(debugkern.Trial{})
	if err != nil || was == nil {
		return false, err
	}
	s.note(was)
	return len(errorsOf(was.Report)) > 0, nil
}

// part is a part of a run that edits are executed on.
type part struct {
	blocks []probes.Dim3
	stages probes.StageSet // captured and judged; nil: all
}

// parts lists those in which an edit may be seen to put something right, the smallest first: one block, of
// which no output is judged that is a sum over several, and the blocks of the experiments. Of a race there
// are none: it is the finding that has to go.
func (s *sourceEdit) parts() []part {
	q := s.q
	if q.races() {
		return nil
	}
	wrong := wrongStages(q.base.Report)
	if !slices.ContainsFunc(q.run.Entry().Body, addsToTensor) { // each block makes its own cells
		return []part{{blocks: []probes.Dim3{q.wrongBlock(q.suspects[0], wrong)}}, {blocks: q.blocks}}
	}
	inside := func(list []probes.Stage) []probes.Stage {
		return slices.DeleteFunc(slices.Clone(list), func(st probes.Stage) bool {
			return q.run.Plan.OutputSet().Has(st)
		})
	}
	out := []part{{blocks: q.blocks}}
	if list := inside(wrong); len(list) > 0 {
		var all []probes.Stage
		for i := range q.run.Plan.Stages {
			all = append(all, q.run.Plan.Stages[i].Stage)
		}
		out = slices.Insert(out, 0, part{
			blocks: []probes.Dim3{q.wrongBlock(q.suspects[0], list)}, stages: probes.StagesOf(inside(all)...),
		})
	}
	return out
}

// note keeps what the blocks have without an edit, and returns how many of their cells are wrong.
func (s *sourceEdit) note(r *debugkern.Run) (wrong int) {
	s.own = r.Report.Cost.WarpInstructions
	if len(s.blocks) == 1 {
		s.block = s.own
	}
	s.right, wrong = s.cellsOf(r)
	s.cells = s.right + wrong
	return wrong
}

// cellsOf counts the cells of stages that a run captured, the right and the wrong, without those of outputs
// to which blocks add that were not executed.
func (s *sourceEdit) cellsOf(r *debugkern.Run) (right, wrong int) {
	for i := range r.Report.Stages {
		st := &r.Report.Stages[i]
		if !s.q.inParts(probes.Stage(st.Name), r) {
			right += st.Local.Cells - st.Local.Bad
			wrong += st.Local.Bad
		}
	}
	return right, wrong
}

// foundIn is the block of the first finding of severity error, or all blocks where it is about several.
func (q *inquiry) foundIn() []probes.Dim3 {
	for i := range q.doc.Findings {
		f := &q.doc.Findings[i]
		switch {
		case f.Severity != severityError:
		case f.Across || f.Kind == "unwritten":
			return q.base.Blocks()
		default:
			return []probes.Dim3{f.Block}
		}
	}
	return q.blocks
}

// races reports whether the first suspect is a race: what comes of it is another with each build.
func (q *inquiry) races() bool {
	c := &q.suspects[0].cause
	return c.Finding >= 0 && q.doc.Findings[c.Finding].Kind == "race"
}

// addsToTensor reports whether an instruction adds to global memory, so that a cell may have parts of several
// blocks.
func addsToTensor(in *ptx.Instr) bool { return (in.Op == "red" || in.Op == "atom") && in.Has("global") }

// execute makes a trial of the block, without checkers; nil where it cannot be made.
func (s *sourceEdit) execute(t debugkern.Trial) (*debugkern.Run, error) {
	if t.Blocks == nil {
		t.Blocks, t.Stages = s.blocks, s.stages
	}
	if t.Tiles = !s.found; s.found {
		t.Check = checkers
	}
	t.Budget = s.budget()
	r, err := s.q.trial(s.q.run, t)
	if err != nil {
		return nil, s.q.stopped(err)
	}
	return r, nil
}

// late reports whether the search has taken as long as it may.
func (s *sourceEdit) late() bool {
	return time.Since(s.q.begun) > longestSource || s.narrow != nil && time.Now().After(s.until)
}

// ask asks a question of several edits at once.
func (s *sourceEdit) ask(n int, ask func(i int) (bool, error)) ([]bool, error) {
	ok, failed := make([]bool, n), make([]error, n)
	var wg join.Group
	for w := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := w; i < n; i += runtime.GOMAXPROCS(0) {
				ok[i], failed[i] = ask(i)
			}
		})
	}
	wg.Wait()
	return ok, errors.Join(failed...)
}

// puts reports whether everything that was captured of the block is right with a variant of a build, as
// much as before.
func (s *sourceEdit) puts(b *build.Build, variant int) (bool, error) {
	r, err := s.execute(debugkern.Trial{Build: b, Variant: variant})
	if err != nil || r == nil || r.Report.Verdict == report.Failed {
		return false, err
	}
	right, wrong := s.cellsOf(r)
	if s.found { // sums of several blocks have a part in this one
		return wrong <= s.cells-s.right && right >= s.right && len(s.errors(r)) == 0, nil
	}
	// What was read past an edge is not captured any more.
	fewer := r.Report.Verdict == report.Agree && right >= s.right
	return wrong == 0 && (right >= s.cells && right > s.right || fewer), nil
}

// errors lists the findings of severity error of a run with one of many edits. Of so many a compiler keeps
// accumulators of asynchronous products in memory, which no product may do; that is not found of the edit
// alone.
func (s *sourceEdit) errors(r *debugkern.Run) []*report.Finding {
	const products = "wgmma"
	is := func(f *report.Finding) bool { return f.Kind == products }
	list := errorsOf(r.Report)
	if slices.ContainsFunc(errorsOf(s.q.base.Report), is) {
		return list
	}
	return slices.DeleteFunc(list, is)
}

// everywhere reports whether all stages are right with a variant in all blocks that experiments execute.
func (s *sourceEdit) everywhere(b *build.Build, variant int) (bool, error) {
	r, err := s.execute(debugkern.Trial{Build: b, Variant: variant, Blocks: s.q.blocks})
	if err != nil || r == nil {
		return false, err
	}
	right := r.Report.Verdict != report.Failed && (!s.found || len(s.errors(r)) == 0)
	return right && !slices.ContainsFunc(wrongStages(r.Report), func(st probes.Stage) bool {
		return !s.q.inParts(st, r)
	}), nil
}

// mostSound is how many blocks that are right are executed.
const mostSound = 8

// sound lists blocks that the run has right.
func (q *inquiry) sound() (out []probes.Dim3) {
	wrong := wrongStages(q.base.Report)
	for _, b := range q.base.Blocks() {
		spoilt := q.incomplete(b) || slices.ContainsFunc(wrong, func(st probes.Stage) bool {
			return q.wrongIn(q.base, st, b)
		})
		if len(out) < mostSound && !spoilt {
			out = append(out, b)
		}
	}
	return out
}

// workOf is how much a run computed: outputs of tensor cores, or warp instructions where it has none. Of the
// latter an edit executes fewer that leaves out others of its build.
func workOf(r *debugkern.Run) uint64 {
	return cmp.Or(r.Report.Cost.MMAOutputs, r.Report.Cost.WarpInstructions)
}

// computesMore reports whether a run computed more than another one, as by another iteration of a loop.
func computesMore(r, than *debugkern.Run) bool {
	was := workOf(than)
	return workOf(r) > was+was/16
}

// inSound is how much a variant computes in blocks that are right without an edit; 0 where there are none.
func (s *sourceEdit) inSound(b *build.Build, variant int) (uint64, error) {
	list := s.q.sound()
	stops := func(f *report.Finding) bool { return !report.Uncaptures(f.Kind) }
	if len(list) == 0 || s.found && slices.ContainsFunc(errorsOf(s.q.base.Report), stops) {
		return 0, nil // what is found may keep the blocks from going on
	}
	r, err := s.execute(debugkern.Trial{Build: b, Variant: variant, Blocks: list})
	if err != nil || r == nil {
		return 0, err
	}
	return workOf(r), nil
}

// work is how much a variant computes in the block that edits are tried in.
func (s *sourceEdit) work(b *build.Build, variant int) (uint64, error) {
	r, err := s.execute(debugkern.Trial{Build: b, Variant: variant})
	if err != nil || r == nil {
		return 0, err
	}
	return workOf(r), nil
}

// budget is how many warp instructions a block may execute with an edit: with some a loop does not end. A
// build with many edits has as many times the instructions as it was seen to have, and before that at most
// slowest.
func (s *sourceEdit) budget() uint64 {
	n := 5*max(s.block, s.slower*s.block) + 10000
	if s.found {
		n += patience
	}
	return n
}

// patience is how many warp instructions more a block may execute whose run was ended early by a finding.
const patience = 400000

// slowest is how many times the instructions of a kernel a build with many edits has at most.
const slowest = 8

// confirmed compiles one edit alone, and executes it under the checkers, and in other configurations; nil
// where something is wrong with it.
func (s *sourceEdit) confirmed(e rewrite.Edit) (*rightEdit, error) {
	q := s.q
	e = e.Bare()
	b, err := q.run.Compile(q.ctx, map[string]string{e.Text.Name: e.Applied()})
	if err != nil {
		return nil, q.stopped(err)
	}
	if slices.ContainsFunc(q.suspects, q.unjudged) {
		if ok, err := q.keepsStored(&remedy{build: b, bounds: e.OfCondition()}); err != nil || !ok {
			return nil, err
		}
	}
	f := &rightEdit{edit: e, built: b}
	if f.run, err = q.try(nil, &remedy{build: b}); err != nil || f.run == nil || !q.nothingWrong(f.run) {
		return nil, err
	}
	for o, err := range q.running(q.elsewheres()) {
		if err != nil {
			return nil, err
		}
		was := o.run
		t := debugkern.Trial{Build: b}
		if len(unordered(q.base.Report)) > 0 { // another number of tiles may show what this one hides
			t.Check = checkers
		}
		now, err := q.tryThere(was, t)
		if err != nil {
			return nil, q.stopped(err)
		}
		if now == nil && s.over() {
			return s.unfinished(f)
		}
		if now == nil || now.Report.Verdict == report.Failed || !agreesThere(now) ||
			len(unordered(now.Report)) > 0 {
			return s.sized(f, o.name+" is wrong with it")
		}
		if !agreesThere(was) {
			f.right = cmp.Or(f.right, o.name)
		}
	}
	if past, err := s.goesPast(f); err != nil || past != "" {
		if err == nil {
			s.refuse(f, past)
		}
		return nil, err
	}
	if e.LosesMaximum() {
		if name, err := s.overflows(b); err != nil || name != "" {
			if err == nil {
				s.refuse(f, "numbers overflow in "+name)
			}
			return nil, err
		}
	}
	others, err := q.spoiltShapes()
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		ok, err := s.rightIn(o, b, 0, 1)
		switch {
		case err != nil:
			return nil, err
		case ok:
			f.right = o.name // it says more than another seed does
		default:
			f.stays = cmp.Or(f.stays, o.name)
		}
	}
	spoilt, flag, err := s.spoils(e)
	switch {
	case err == nil && s.over():
		return s.unfinished(f)
	case err != nil:
		return nil, err
	}
	if spoilt != "" {
		if e, ok := e.Flagged(flag, q.run.Selection.Flags[flag]); ok && flag != "" {
			if f, err := s.confirmed(e); err != nil || f != nil {
				return f, err
			}
		}
		return s.sized(f, spoilt)
	}
	if f.stays != "" {
		return s.wider(f)
	}
	return f, nil
}

// over reports whether the time is over in which trials are executed: one that comes to nothing then says
// nothing of its edit.
func (s *sourceEdit) over() bool { return s.q.until != nil && s.q.until.Err() != nil }

// unfinished keeps an edit with which everything is right here, and that was not tried everywhere else.
func (s *sourceEdit) unfinished(f *rightEdit) (*rightEdit, error) {
	if s.untried == nil {
		s.untried = f
	}
	return nil, nil
}

// wider is an edit that is right in shapes as well that are none of the manifest's, with a size in the place
// of the number of one that is not. That one is kept, and as long as it took to find it another one is looked
// for.
func (s *sourceEdit) wider(f *rightEdit) (*rightEdit, error) {
	if s.narrow == nil {
		s.narrow, s.until = f, time.Now().Add(time.Since(s.q.begun))
	}
	return s.ofSize(f)
}

// sized is an edit that is right here alone with what its number is in this run, where that is right
// elsewhere too: an integer that the kernel is called with, or the quotient of two. Where there is none the
// edit is refused.
func (s *sourceEdit) sized(f *rightEdit, but string) (*rightEdit, error) {
	s.refuse(f, but)
	return s.ofSize(f)
}

// ofSize is an edit with a size of the run in the place of its number; nil where none is confirmed.
func (s *sourceEdit) ofSize(f *rightEdit) (*rightEdit, error) {
	for _, e := range f.edit.Sized(s.q.sizesOf) {
		if s.late() {
			break
		}
		if g, err := s.confirmed(e); err != nil || g != nil {
			return g, err
		}
	}
	return nil, nil
}

// sizesOf lists what a number is in this run, as the source has it.
func (q *inquiry) sizesOf(n int) (out []string) {
	values := map[string]int{}
	for i := range q.run.Plan.Args {
		if a := &q.run.Plan.Args[i]; !a.Pointer && !a.DType.Float() && a.Data == nil {
			values[a.Name] = int(a.DType.Value(a.Bits))
		}
	}
	for _, a := range slices.Sorted(maps.Keys(values)) {
		if values[a] == n {
			out = append(out, a)
		}
	}
	for _, a := range slices.Sorted(maps.Keys(values)) {
		for _, b := range slices.Sorted(maps.Keys(values)) {
			if values[b] > 1 && values[a] == n*values[b] {
				out = append(out, "("+a+" / "+b+")")
			}
		}
	}
	return out
}

// goesPast says whether the kernel accesses memory out of bounds with an edit in one of the other
// configurations of a shape that tiles do not divide: where the run does so too, in any of them, and else in
// the first, if it does not without the edit. What is right there may be so by what lies behind a tensor. "":
// it does not, or there is none.
func (s *sourceEdit) goesPast(f *rightEdit) (string, error) {
	q := s.q
	isBeyond := func(f *report.Finding) bool { return f.Kind == outOfBounds }
	cured := slices.ContainsFunc(errorsOf(q.base.Report), isBeyond)
	for o, err := range q.running(q.elsewheres()) {
		if err != nil {
			return "", err
		}
		if !ragged(o.run.Plan.Shape) {
			continue
		}
		beyond := func(b *build.Build) (bool, error) {
			now, err := q.tryThere(o.run, debugkern.Trial{Build: b, Blocks: o.run.Blocks(), Check: checkers})
			if err != nil || now == nil {
				return false, q.stopped(err)
			}
			return slices.ContainsFunc(errorsOf(now.Report), isBeyond), nil
		}
		past, err := beyond(f.built)
		if err != nil || !past && !cured {
			return "", err
		}
		was, err := beyond(nil)
		switch {
		case err != nil || past && was && !cured:
			return "", err
		case past:
			return "memory is accessed out of bounds in " + o.name, nil
		case was:
			f.right = cmp.Or(f.right, o.name)
		}
	}
	return "", nil
}

// overflows names the run with large inputs where a build leaves more numbers in it that are not finite than
// the kernel does; "" where it does not, or there is none.
func (s *sourceEdit) overflows(b *build.Build) (string, error) {
	q := s.q
	if q.elsewheres(); q.large == nil {
		return "", nil
	}
	was, err := q.execute(q.large)
	if err != nil || was == nil {
		return "", err
	}
	now, err := q.tryThere(was, debugkern.Trial{Build: b, Blocks: was.Blocks()})
	if err != nil || now == nil {
		return "", q.stopped(err)
	}
	notFinite := func(r *debugkern.Run) (n int) {
		for i := range r.Report.Stages {
			n += r.Report.Stages[i].Global.Nonfinite
		}
		return n
	}
	if notFinite(now) > notFinite(was) {
		return q.large.name, nil
	}
	return "", nil
}

// refuse keeps the first edit with which everything is right here, and something elsewhere is not.
func (s *sourceEdit) refuse(f *rightEdit, but string) {
	if s.refused == nil {
		f.but = but
		s.refused = f
	}
}

// unordered lists the findings of severity error that say that something is in no order.
func unordered(r *report.Run) []*report.Finding {
	return slices.DeleteFunc(errorsOf(r), func(f *report.Finding) bool {
		return !slices.Contains(racing, f.Kind)
	})
}

// decided matches the reason of a value that is not computed: the place of the condition, and what that
// compares.
var decided = regexp.MustCompile(`by the condition at [^ ,]+(?: \(called from [^)]*\))?(?:, which .*? there,)?` +
	`( .* takes no part in it)$`)

// signs is how the source writes operations of real numbers, by their names in PTX.
var signs = map[string][]string{
	"add": {"+", "add"}, "sub": {"-", "sub"}, "mul": {"*", "mul"}, "div": {"/", "div"}, "fma": {"*", "fma"},
	"max": {"max"}, "min": {"min"},
}

// written reports whether a line of the source has an operation that PTX calls by a name; true where it is
// not known how the source writes it.
func written(op, line string) bool {
	in := func(sign string) bool { return strings.Contains(line, sign) }
	return signs[op] == nil || slices.ContainsFunc(signs[op], in)
}

// writtenTimes is how often a line of the source has an operation that PTX calls by a name.
func writtenTimes(op, line string) (n int) {
	for _, sign := range signs[op] {
		n += strings.Count(bare(line), sign)
	}
	return n
}

// earlier are the ends of titles that say where an edit of the PTX makes something right.
var earlier = regexp.MustCompile(`; (?:its index or its condition is )?made wrong (?:at|by) .*$`)

// blameSource makes an edit of the source the cause of everything that is wrong.
func (q *inquiry) blameSource(f *rightEdit) error {
	lead := q.suspects[0]
	if len(q.suspects) > 1 {
		var err error
		if lead, err = q.combine(q.suspects); err != nil {
			return err
		}
	}
	e := &f.edit
	file := q.fileOf(e.Text.Name)
	at := &report.Source{File: file, Line: e.Line}
	what := fmt.Sprintf("%s at %s", e.With(), at.At())
	lead.remedy = &remedy{text: what, build: f.built}
	lead.alone, lead.stages = f.run, q.run.Plan.Ordered(wrongStages(q.base.Report))
	c := &lead.cause
	was, now, one := e.Lines()
	now = rewrite.Simplified(now)
	if r := lead.rule; r != nil && r.blamed().At() == at.At() && !written(r.Value.Op(), was) {
		c.why = "" // it is of an operation in what the line calls, which is right
	}
	if strings.HasPrefix(was, "if ") { // another condition than the innermost
		place := strings.ReplaceAll(at.At(), "$", "$$")
		c.why = decided.ReplaceAllString(c.why, "by the condition at "+place+"${1}")
	}
	if why := arrivedWrongly(lead); why != "" {
		c.why = why
	}
	lead.mask, lead.origin, lead.ring, lead.rule = nil, nil, nil, nil
	c.Title = earlier.ReplaceAllString(c.Title, "")
	if c.Place.Source == nil || c.Place.Source.File != at.File || c.Place.Source.Line != at.Line {
		c.Place.Other = c.Place.Source
		if !f.more {
			c.Title += "; fixed at " + at.At()
		}
	}
	c.Place.Source = at
	lead.decidedAt = ""
	if one && !f.more {
		c.Rewrite = &Rewrite{File: file, Line: e.Line, Was: was, Now: now}
	}
	switch {
	case f.more:
		c.Advice = q.citing(fmt.Sprintf("look at how often %s is done: every stage is right %s, and then blocks "+
			"compute more than they need, so that another edit is meant there or where its bound comes from",
			at.At(), e.With()), "; the line is ", at)
	case !one && relocated.MatchString(e.What):
		m := relocated.FindStringSubmatch(e.What)
		c.Advice = fmt.Sprintf("in %s: move %s %s", file, quote(m[1]), m[2])
	case !one && exchanged.MatchString(e.What) && !strings.HasPrefix(e.What, "__sync"):
		m := exchanged.FindStringSubmatch(e.What)
		c.Advice = fmt.Sprintf("in %s: move %s before line %d: %s", file, quote(m[1]), e.Line, quote(m[2]))
	case !one:
		also := ""
		if list := e.Places(); len(list) > 1 && !strings.Contains(e.What, "at all its places") {
			list = slices.DeleteFunc(list, func(n int) bool { return n == e.Line })
			also = ", and at " + linesText(list) + " too"
		}
		c.Advice = q.citing(fmt.Sprintf("at %s%s: %s", at.At(), also, e.What), "; the line is ", at)
	case strings.TrimSpace(comment.ReplaceAllString(now, "")) == "", assignsItself(now), idle(now):
		c.Advice = fmt.Sprintf("at %s: leave out %s", at.At(), quoteCode(was))
	default:
		c.Advice = fmt.Sprintf("at %s: write %s in place of %s", at.At(), quoteCode(now), quoteCode(was))
		if e.LosesChoice() {
			c.Advice += ", or have its condition hold in fewer cases: what it guards may not occur in this run"
		}
	}
	if n, of := e.Factor(); n != "" {
		c.Rewrite = nil
		counted := map[string]string{"0.5": "twice", "2": "half as often as it should be"}[n]
		c.Advice = q.citing(fmt.Sprintf("look at what %s is at %s, and at what is summed up of it: everything is "+
			"right with %s times that, so that this factor is missing there, or something is counted %s",
			quote(of), at.At(), n, counted), "; the line is ", at)
	}
	if o := f.also; o != nil && q.run.Report.Referenced() {
		other := &report.Source{File: q.fileOf(o.Text.Name), Line: o.Line}
		c.Advice += fmt.Sprintf("; or look at %s: every stage is right %s there too", lineText(other, at),
			o.With())
	}
	if f.stays != "" {
		c.Rewrite = nil
		c.Advice = q.citing(fmt.Sprintf("look at %s and at what it is computed from: %s everything is right here, "+
			"and %s", at.At(), e.With(), f.meant()), "; the line is ", at)
	}
	if lead.beyond = "; tried with this shape and these inputs alone"; f.right != "" {
		lead.beyond = "; " + f.right + " is right with it too"
	}
	lead.remedy.advice = c.Advice
	q.suspects = []*suspect{lead}
	return nil
}

// relocated matches an edit that moves a statement: the statement, and to where.
var relocated = regexp.MustCompile(`^(.*;) ((?:behind|before) (?:the loop of )?line \d+)$`)

// exchanged matches an edit that exchanges two statements.
var exchanged = regexp.MustCompile(`^(.*;) before (.*;)$`)

// header matches the beginning of a loop or condition.
var header = regexp.MustCompile(`^(?:for|if|while)\b`)

// idle reports whether a line is a loop or condition of nothing.
func idle(line string) bool {
	line = strings.TrimSpace(comment.ReplaceAllString(line, ""))
	i := strings.Index(line, "(")
	if !header.MatchString(line) || i < 0 {
		return false
	}
	depth := 0
	for ; i < len(line); i++ {
		switch line[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	return i < len(line) && strings.TrimSpace(line[i+1:]) == ";"
}

// assignsItself reports whether a line does no more than assign to something what it is.
func assignsItself(line string) bool {
	to, from, ok := strings.Cut(strings.TrimSpace(comment.ReplaceAllString(line, "")), " = ")
	return ok && to+";" == from
}

// fileOf is how debug lines name a text.
func (q *inquiry) fileOf(name string) string {
	for _, s := range q.suspects {
		for _, src := range []*report.Source{s.cause.Place.Source, s.cause.Place.Other} {
			if src != nil && (src.File == name || strings.HasSuffix(src.File, "/"+name)) {
				return src.File
			}
		}
	}
	return name
}
