package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/join"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
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
	mostTogether  = 256
	mostRounds    = 4
	// mostInstructions is how many instructions builds may have in all: a compiler takes a second for 2000.
	mostInstructions = 20000
	// mostCompiled is how many compilations a round makes: what does not compile is left out.
	mostCompiled = 6
	// mostRight is how many edits that put everything right in a block are tried further.
	mostRight = 8
	// editedInstructions is how many warp instructions the edits of a round may execute in all.
	editedInstructions = 24 << 20
)

// sourceEdit is a search for an edit of the source.
type sourceEdit struct {
	q      *inquiry
	texts  map[string]string
	blocks []probes.Dim3 // that edits are executed on: nil: those of experiments
	cells  int           // captured in the blocks, right and wrong, of the run
	right  int
	// compiled counts the instructions of the builds that were made
	compiled int
}

// rightEdit is an edit that puts everything right.
type rightEdit struct {
	edit  rewrite.Edit
	run   *debugkern.Run
	built *build.Build
	also  *rewrite.Edit // of another line, with which all stages are right too; nil: none was seen
	right string        // another configuration that is right with it too; "": none
}

// inSource looks for one edit of the source that puts everything right, where no other experiment has shown
// what to write.
func (q *inquiry) inSource() error {
	if !q.troubled() || len(q.suspects) == 0 || len(q.run.Selection.Faults) > 0 || q.settledInSource() {
		return nil
	}
	texts := q.run.Texts()
	if len(texts) == 0 {
		return nil
	}
	s := &sourceEdit{q: q, texts: texts}
	found, err := s.search()
	if err != nil || found == nil {
		return q.stopped(err)
	}
	return q.blameSource(found)
}

// stopped is err where it ends a search: of what an edit does to a kernel, or to us, nothing else does.
func (q *inquiry) stopped(err error) error {
	if q.ctx.Err() != nil || debugkern.OutOfMemory(err) {
		return err
	}
	return nil
}

// settledInSource reports whether there is one suspect, and it is known what to write.
func (q *inquiry) settledInSource() bool {
	if len(q.suspects) != 1 {
		return false
	}
	s := q.suspects[0]
	if s.remedy == nil || s.alone == nil || !s.remedy.changes() || !q.nothingWrong(s.alone) {
		return false
	}
	return s.cause.Rewrite != nil || s.remedy.where != "" || s.remedy.without != "" ||
		s.cause.Kind == kindTable
}

// nothingWrong reports whether every stage of a run is right, as much of it as was judged, and nothing is
// found.
func (q *inquiry) nothingWrong(r *debugkern.Run) bool {
	if r.Report.Verdict == report.Failed || len(wrongStages(r.Report)) > 0 || len(errorsOf(r.Report)) > 0 ||
		len(tainted(r.Report)) > 0 {
		return false
	}
	return q.noWorse(r) && q.damage(r.Report).bad == 0
}

// search compiles and executes edits, those first that are likeliest.
func (s *sourceEdit) search() (*rightEdit, error) {
	q := s.q
	var list []*rewrite.Text
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		list = append(list, rewrite.Parse(name, s.texts[name]))
	}
	set := rewrite.NewSet(list...)
	lines := s.named()
	if err := s.sliced(lines); err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		s.anywhere(lines)
	}
	set.Spread(lines, spreadSteps)
	edits := set.Edits(lines, s.wanted())
	s.blocks = q.blocks
	if !slices.ContainsFunc(q.run.Entry().Body, addsToTensor) { // each block makes its own cells
		s.blocks = []probes.Dim3{q.wrongBlock(q.suspects[0], wrongStages(q.base.Report))}
	}
	for range 2 {
		was, err := s.execute(debugkern.Trial{})
		if err != nil || was == nil {
			return nil, err
		}
		right, wrong := repair.CellsOf(was.Report)
		if s.cells, s.right = right+wrong, right; wrong > 0 {
			break
		}
		s.blocks = q.blocks // it is a sum over several blocks that is wrong
	}
	tried := 0
	for i := range mostRounds {
		n := min(len(edits), mostTogether, firstTogether<<i)
		if n == 0 {
			break
		}
		q.progress(debugkern.Progress{
			Phase: "explain", Detail: "edits of the source", Done: tried, Total: len(edits) + tried,
		})
		tried += n
		if found, err := s.round(edits[:n]); err != nil || found != nil {
			return found, err
		}
		if edits = edits[n:]; s.compiled > mostInstructions {
			break
		}
	}
	return nil, nil
}

// addsToTensor reports whether an instruction adds to global memory, so that a cell may have parts of several
// blocks.
func addsToTensor(in *ptx.Instr) bool { return (in.Op == "red" || in.Op == "atom") && in.Has("global") }

// fileLine matches a line that a text names: "k.cu:17".
var fileLine = regexp.MustCompile(`([\w./-]+\.\w+):(\d+)`)

// named are the lines that suspects name: the places, and those in the texts.
func (s *sourceEdit) named() map[string]map[int]int {
	out := map[string]map[int]int{}
	far := 0
	add := func(file string, line int) {
		for name := range s.texts {
			if file == name || strings.HasSuffix(file, "/"+name) || path.Base(file) == name {
				if out[name] == nil {
					out[name] = map[int]int{}
				}
				if was, ok := out[name][line]; !ok || far < was {
					out[name][line] = far
				}
			}
		}
	}
	at := func(src *report.Source) {
		if src == nil {
			return
		}
		add(src.File, src.Line)
		for _, c := range src.Calls.Sites() {
			add(c.File, c.Line)
		}
	}
	for i, x := range s.q.suspects {
		c := &x.cause
		far = min(i, 1)
		at(c.Place.Source)
		at(c.Place.Other)
		if x.contrast != nil {
			for _, o := range slices.Concat(x.contrast.Foreign, x.contrast.Missing, x.contrast.Twice) {
				at(o.At)
			}
		}
		for i, text := range append([]string{c.Title, c.why, c.Advice, x.explained}, c.With...) {
			if i > 3 {
				far = 1
			}
			for _, m := range fileLine.FindAllStringSubmatch(text, -1) {
				add(m[1], number(m[2]))
			}
		}
	}
	return out
}

// wanted says which edits are likely, by the operands of the first wrong cells.
func (s *sourceEdit) wanted() rewrite.Wanted {
	for _, x := range s.q.suspects {
		switch c := x.contrast; {
		case x.whole:
			return rewrite.Values
		case c != nil && len(c.Foreign)+len(c.Missing)+len(c.Twice) > 0, x.cause.Finding >= 0:
			return rewrite.Indices
		}
	}
	return rewrite.Any
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
			if lines[name] == nil {
				lines[name] = map[int]int{}
			}
			if was, ok := lines[name][l.Line]; !ok || far < was {
				lines[name][l.Line] = far
			}
		}
	}
}

// execute makes a trial of the block, without checkers; nil where it cannot be made.
func (s *sourceEdit) execute(t debugkern.Trial) (*debugkern.Run, error) {
	t.Blocks, t.Tiles = s.blocks, true
	t.Budget = s.budget()
	r, err := s.q.run.Try(s.q.ctx, t)
	if err != nil {
		return nil, s.q.stopped(err)
	}
	return r, nil
}

// round compiles edits together, executes each, and returns the likeliest of those that put everything right;
// nil where none does.
func (s *sourceEdit) round(edits []rewrite.Edit) (*rightEdit, error) {
	built, edits, err := s.build(edits)
	if err != nil || built == nil {
		return nil, err
	}
	choose := chosen(built.Module)
	s.compiled += len(built.Module.Func(s.q.run.Plan.Entry).Body)
	base, err := s.execute(debugkern.Trial{Build: built})
	if err != nil || base == nil {
		return nil, err
	}
	if right, wrong := repair.CellsOf(base.Report); right != s.right || right+wrong != s.cells {
		return nil, nil // the compiler makes another kernel of it: what an edit does there shows nothing
	}
	each := base.Report.Cost.WarpInstructions + 4*uint64(len(built.Module.Func(s.q.run.Plan.Entry).Body))
	edits = edits[:min(len(edits), int(editedInstructions/max(1, each)))]
	ok, err := s.each(len(edits), func(i int) (bool, error) { return s.puts(built, choose(i+1)) })
	if err != nil {
		return nil, err
	}
	var list []rewrite.Edit
	for i := range edits {
		if !ok[i] {
			continue
		}
		everywhere, err := s.everywhere(built, choose(i+1))
		if err != nil {
			return nil, err
		}
		if everywhere {
			list = append(list, edits[i])
		}
	}
	slices.SortStableFunc(list, func(a, b rewrite.Edit) int { return cmp.Compare(a.Cost(), b.Cost()) })
	var f *rightEdit
	for _, e := range list[:min(len(list), mostRight)] {
		switch {
		case f == nil:
			if f, err = s.confirmed(e); err != nil {
				return nil, err
			}
		case e.Text != f.edit.Text || e.Line != f.edit.Line:
			f.also = &e
			return f, nil
		}
	}
	return f, nil
}

// each asks a question of several edits at once.
func (s *sourceEdit) each(n int, ask func(i int) (bool, error)) ([]bool, error) {
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

// build compiles edits together, without those that do not compile; nil where nothing does.
func (s *sourceEdit) build(edits []rewrite.Edit) (*build.Build, []rewrite.Edit, error) {
	for range mostCompiled {
		texts, kept := rewrite.Switched(edits)
		if len(kept) == 0 {
			return nil, nil, nil
		}
		b, err := s.q.run.Compile(s.q.ctx, texts)
		if err == nil {
			return b, kept, nil
		}
		var failed *report.KernelError
		if !errors.As(err, &failed) {
			if none := (*report.Error)(nil); errors.As(err, &none) {
				return nil, nil, nil // there is no compiler
			}
			return nil, nil, s.q.stopped(err)
		}
		drop := map[int]bool{}
		for _, d := range failed.Diagnostics {
			if d.Severity != "error" {
				continue
			}
			if k := rewrite.EditAt(d.Line); k > 0 && k <= len(kept) {
				drop[k-1] = true
				continue
			}
			all := !slices.ContainsFunc(kept, func(e rewrite.Edit) bool {
				return e.Line == d.Line && e.Doubtful
			})
			for i := range kept {
				if kept[i].Line == d.Line && (all || kept[i].Doubtful) {
					drop[i] = true
				}
			}
		}
		for _, d := range failed.Diagnostics {
			if m := undefined.FindStringSubmatch(d.Message); m != nil {
				name := regexp.MustCompile(`\b` + regexp.QuoteMeta(m[1]) + `\b`)
				for i := range kept {
					if name.MatchString(kept[i].What) && rewrite.EditAt(d.Line) > 0 {
						drop[i] = true
					}
				}
			}
		}
		if len(drop) == 0 {
			edits = kept[:len(kept)/2]
			continue
		}
		edits = nil
		for i := range kept {
			if !drop[i] {
				edits = append(edits, kept[i])
			}
		}
	}
	return nil, nil, nil
}

// undefined is a compiler's message on a name that a line does not see.
var undefined = regexp.MustCompile(`identifier "(\w+)" is undefined`)

// chosen finds what a build compares with the numbers of edits, and returns how one is chosen.
func chosen(m *ptx.Module) func(k int) []ptx.Edit {
	type place struct {
		fn *ptx.Func
		at int
	}
	var places []place
	for _, fn := range m.Funcs {
		for i, in := range fn.Body {
			if in.Op == "mov" && len(in.Args) == 2 && in.Args[1].Kind == ptx.OpInt &&
				uint32(in.Args[1].Imm) == rewrite.Chosen {
				places = append(places, place{fn, i})
			}
		}
	}
	return func(k int) []ptx.Edit {
		var out []ptx.Edit
		for _, p := range places {
			now := p.fn.Body[p.at].With(func(in *ptx.Instr) { in.Args[1].Imm = uint64(k) })
			out = append(out, ptx.Edit{Kind: ptx.Replace, Func: p.fn.Name, At: p.at, New: now})
		}
		return out
	}
}

// puts reports whether everything that was captured of the block is right with an edit, as much as before.
func (s *sourceEdit) puts(b *build.Build, edits []ptx.Edit) (bool, error) {
	r, err := s.execute(debugkern.Trial{Build: b, Edits: edits})
	if err != nil || r == nil || r.Report.Verdict == report.Failed {
		return false, err
	}
	right, wrong := repair.CellsOf(r.Report)
	return wrong == 0 && right >= s.cells && right > s.right, nil
}

// everywhere reports whether all stages are right with an edit in all blocks that experiments execute.
func (s *sourceEdit) everywhere(b *build.Build, edits []ptx.Edit) (bool, error) {
	q := s.q
	r, err := q.run.Try(q.ctx, debugkern.Trial{
		Build: b, Edits: edits, Blocks: q.blocks, Tiles: true, Budget: s.budget(),
	})
	if err != nil {
		return false, q.stopped(err)
	}
	return r.Report.Verdict != report.Failed && len(wrongStages(r.Report)) == 0, nil
}

// budget is how many warp instructions a block may execute with an edit: with some a loop does not end.
func (s *sourceEdit) budget() uint64 { return 6*s.q.run.Report.Cost.WarpInstructions + 10000 }

// confirmed compiles one edit alone, and executes it under the checkers, and in other configurations; nil
// where something is wrong with it.
func (s *sourceEdit) confirmed(e rewrite.Edit) (*rightEdit, error) {
	q := s.q
	b, err := q.run.Compile(q.ctx, map[string]string{e.Text.Name: e.Applied()})
	if err != nil {
		return nil, q.stopped(err)
	}
	f := &rightEdit{edit: e, built: b}
	if f.run, err = q.try(nil, &remedy{build: b}); err != nil || f.run == nil || !q.nothingWrong(f.run) {
		return nil, err
	}
	for _, o := range q.elsewheres() {
		was, err := q.execute(o)
		if err != nil {
			return nil, err
		}
		if was == nil {
			continue
		}
		now, err := q.tryThere(was, debugkern.Trial{Build: b})
		if err != nil {
			return nil, q.stopped(err)
		}
		if now == nil || now.Report.Verdict == report.Failed || len(wrongStages(now.Report)) > 0 {
			return nil, nil
		}
		if len(wrongStages(was.Report)) > 0 {
			f.right = cmp.Or(f.right, o.name)
		}
	}
	spoilt, err := s.spoils(e)
	if err != nil || spoilt {
		return nil, err
	}
	return f, nil
}

// mostVariants is how many other variants of the kernel an edit is tried in.
const mostVariants = 2

// spoils reports whether a variant of the kernel that is right, in the smallest shape, is wrong with an edit:
// what is right with these flags may leave out what others need.
func (s *sourceEdit) spoils(e rewrite.Edit) (bool, error) {
	q := s.q
	for _, o := range q.variants() {
		was, err := q.execute(o)
		if err != nil {
			return false, err
		}
		if was == nil || len(wrongStages(was.Report)) > 0 {
			continue
		}
		b, err := was.Compile(q.ctx, map[string]string{e.Text.Name: e.Applied()})
		if err != nil {
			return true, q.stopped(err)
		}
		now, err := q.tryThere(was, debugkern.Trial{Build: b, Blocks: was.Blocks()})
		if err != nil || now == nil {
			return true, q.stopped(err)
		}
		if now.Report.Verdict == report.Failed || len(wrongStages(now.Report)) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// variants are configurations of other variants of the kernel, without planted faults, in the shape that
// costs least.
func (q *inquiry) variants() []*other {
	sel, req := q.run.Selection, q.run.Request
	m := sel.Manifest
	if q.varied || req.Inputs != "" || len(req.Launch) > 0 || q.run.Plan.Gate.Name != probes.GateNone {
		return q.otherVariants
	}
	q.varied = true
	req.Backend, req.Plain, req.Check, req.Set = "emu", false, 0, map[string]string{}
	req.Blocks, req.Tiles, req.Stages = debugkern.Region{}, debugkern.Span{}, nil
	least := 0
	for _, s := range m.Shapes {
		size := 1
		for _, n := range s.Shape.Extents() {
			size *= max(1, n)
		}
		if least == 0 || size < least {
			least, req.Shape = size, s.Name
		}
	}
	for i := range m.Variants {
		v, err := m.Select(m.Variants[i].Name, nil, nil, sel.Gate)
		if err != nil || len(v.Faults) > 0 || maps.Equal(v.Flags, sel.Flags) ||
			len(q.otherVariants) == mostVariants {
			continue
		}
		o := &other{req: req, name: "variant " + v.Variant, any: true}
		o.req.Set = map[string]string{}
		for name, n := range v.Flags {
			o.req.Set[name] = fmt.Sprint(n)
		}
		q.otherVariants = append(q.otherVariants, o)
	}
	return q.otherVariants
}

// earlier are the ends of titles that say where an edit of the PTX makes something right.
var earlier = regexp.MustCompile(`; (?:its index or its condition is )?made wrong at .*$`)

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
	lead.mask, lead.origin, lead.ring, lead.rule = nil, nil, nil, nil
	c := &lead.cause
	c.Title = earlier.ReplaceAllString(c.Title, "")
	if c.Place.Source == nil || c.Place.Source.File != at.File || c.Place.Source.Line != at.Line {
		c.Place.Other = c.Place.Source
		c.Title += "; fixed at " + at.At()
	}
	c.Place.Source = at
	lead.decidedAt = ""
	was, now, one := e.Lines()
	if one {
		c.Rewrite = &Rewrite{File: file, Line: e.Line, Was: was, Now: now}
	}
	switch {
	case !one:
		c.Advice = q.citing(fmt.Sprintf("at %s: %s", at.At(), e.What), "; the line is ", at)
	case strings.TrimSpace(comment.ReplaceAllString(now, "")) == "":
		c.Advice = fmt.Sprintf("at %s: leave out %s", at.At(), quote(was))
	default:
		c.Advice = fmt.Sprintf("at %s: write %s in place of %s", at.At(), quote(now), quote(was))
	}
	if o := f.also; o != nil {
		other := &report.Source{File: q.fileOf(o.Text.Name), Line: o.Line}
		c.Advice += fmt.Sprintf("; or look at %s: every stage is right %s there too", lineText(other, at),
			o.With())
	}
	if lead.beyond = "; tried with this shape and these inputs alone"; f.right != "" {
		lead.beyond = "; " + f.right + " is right with it too"
	}
	lead.remedy.advice = c.Advice
	q.suspects = []*suspect{lead}
	return nil
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
