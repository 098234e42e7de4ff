package debugkern

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/budget"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/input"
	"tilescope/debugkern/join"
	"tilescope/debugkern/judge"
	"tilescope/debugkern/memo"
	"tilescope/debugkern/origin"
	"tilescope/debugkern/ref/op"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Tile is one captured tile of the run: what judge compares. It implements judge.Source.
func (st *runState) Tile(s probes.Stage, block probes.Dim3, kv int) probes.Tile {
	sp := st.r.plan.Stage(s)
	if sp == nil || !sp.OfLaunch() && !st.r.stages.Has(s) {
		return probes.Tile{}
	}
	if st.elsewhere(sp) {
		return st.traced.Tile(s, block, kv)
	}
	switch sp.Capture.Kind {
	case probes.CaptureOutput:
		return st.outputTile(sp, block, kv)
	case probes.CaptureMemory:
		return st.memoryTile(sp)
	}
	if st.result.Capture == nil {
		return probes.Tile{DType: sp.DType, Rows: sp.Rows, Cols: sp.Cols}
	}
	t := st.r.layout.Tile(st.result.Capture, sp, block, kv)
	if st.result.Missing != nil {
		off, _ := st.r.layout.Slot(s, block, kv)
		t.Absent = st.result.Missing[off]
	}
	return fragment.FromLanes(st.r.cells[s], t)
}

// outputTile cuts a tile out of the output argument. Cells past its end do not exist there: they are 0.
func (st *runState) outputTile(sp *probes.StagePlan, block probes.Dim3, kv int) probes.Tile {
	t := probes.Tile{DType: sp.DType, Rows: sp.Rows, Cols: sp.Cols}
	output := st.outputs[sp.Capture.Output]
	if output == nil || !st.r.plan.Gate.Judged.Has(sp.Stage) ||
		sp.PerTile && kv >= st.r.plan.Work.Tiles.At(block, 0) {
		return t
	}
	t = probes.NewTile(sp.DType, sp.Rows, sp.Cols)
	at, size := sp.InArgument(block, kv), sp.DType.Size()
	for r := range at.Rows {
		for c := range at.Cols {
			from := at.Element(r, c) * size
			copy(t.Data[(r*sp.Cols+c)*size:][:size], output[from:])
		}
	}
	return t
}

// reserveJudging reserves what comparing takes, until release is called, and what the reference stores, as
// long as it exists: trials share their run's.
func (e *execution) reserveJudging() (release func(), err error) {
	kept, each := e.r.judging()
	if !e.trial {
		give, err := e.s.mem.Reserve(judgingPart, kept)
		if err != nil {
			return nil, err
		}
		budget.Until(e.s.mem, e.st.ref, give)
	}
	return e.s.mem.Reserve(judgingPart, each)
}

// judge compares, explains, and makes the document.
func (e *execution) judge(cross *report.Cross) (*Run, error) {
	start := time.Now()
	e.progress(Progress{Phase: "compare"})
	st := e.st
	release, err := e.reserveJudging()
	if err != nil {
		return nil, err
	}
	defer release()
	output := e.outputBeside()
	defer output() // nothing of a run goes on after it
	judged, err := judge.Judge(e.ctx, st.ref, st, judge.Options{
		Range: e.r.rng, Stages: e.r.stages, Blocks: st.only, Replaced: st.replaced,
		Expected: st.expectation(), InPart: e.inPart(),
		Progress: func(done, total int) {
			e.progress(Progress{Phase: "compare", Detail: "blocks", Done: done, Total: total})
		},
	})
	if err != nil {
		return nil, err
	}
	if !e.trial {
		e.progress(Progress{Phase: "explain"})
		if err := judged.Explain(e.ctx); err != nil {
			return nil, err
		}
	}
	st.judged, st.before = judged, &computedBefore{}
	st.indexed = &memo.LRU[struct{}, *origin.Writers]{Limit: 1}
	rep := e.header()
	rep.Cross = cross
	run := &Run{Request: e.req, Report: rep, Plan: e.r.plan, Range: e.r.rng, Selection: e.r.sel, state: st}
	if err := e.stages(rep, run); err != nil {
		return nil, err
	}
	if rep.Output, rep.Digest, err = output(); err != nil {
		return nil, err
	}
	e.cost.CompareMS = report.Number(time.Since(start).Seconds() * 1e3)
	if err := e.settlePlain(); err != nil {
		return nil, err
	}
	run.Plain = st.plain
	var unreached []target.Finding
	if !e.tiles {
		if unreached, err = e.unreachedFindings(); err != nil {
			return nil, err
		}
	}
	findings, err := e.findings()
	if err != nil {
		return nil, err
	}
	findings = e.unordered(slices.Concat(unreached, findings, e.unlikeRecorded()))
	rep.Findings = e.named(report.FindingsOf(findings))
	rep.Resources = resourcesDoc(st.resources)
	rep.Printed = report.PrintedLines(st.result)
	rep.Outputs = e.outputs()
	rep.Verdict = report.Agree
	if !e.r.plan.Referenced() && rep.Errors() > 0 || judged.Diverges() ||
		rep.Output != nil && rep.Output.Verdict == report.Fail || !st.result.Reached {
		rep.Verdict = report.Diverge
	}
	rep.Cost = e.cost
	noteGuesses(e.r.sel.Manifest, rep)
	return run, nil
}

// inPart lists the outputs of which each cell is one block's, of a kernel in which no thread updates memory
// that others may have written. What some blocks leave there is judged without the others.
func (e *execution) inPart() (out probes.StageSet) {
	fn := e.st.build.Module.Func(e.r.plan.Entry)
	if e.st.only == nil || fn == nil || UpdatesMemory(fn) {
		return nil
	}
	for i := range e.r.plan.Memory {
		sp := &e.r.plan.Memory[i]
		a := e.r.plan.Arg(sp.Capture.Output)
		if a != nil && a.Role == probes.RoleOutput && !sp.Capture.Before &&
			e.st.result.Written[a.Name] != nil {
			out = out.Union(probes.StagesOf(sp.Stage))
		}
	}
	return out
}

// outputBeside judges O as a whole, and digests every tile, while the stages are judged; what it
// returns waits for both.
func (e *execution) outputBeside() (wait func() (*report.Output, string, error)) {
	var doc *report.Output
	var digest string
	var err, derr error
	var wg join.Group
	wg.Go(func() { doc, err = e.output() })
	wg.Go(func() { digest, derr = e.st.digest(e.ctx) })
	return func() (*report.Output, string, error) {
		wg.Wait()
		return doc, digest, cmp.Or(err, derr)
	}
}

// stages adds what was judged, stage by stage and then argument by argument, to the document.
func (e *execution) stages(rep *report.Run, run *Run) error {
	for _, g := range e.st.judged.Guilty {
		sp := e.r.plan.Stage(g.Stage)
		rep.Guilty = append(rep.Guilty, report.Guilty{
			Stage: g.Stage.String(), Block: g.Block, KVTile: documentTile(sp, g),
			Loop: e.r.plan.Work.Loop(g.Block, g.KVTile), Phase: sp.Phase,
		})
	}
	for _, sp := range e.r.plan.Tiles() {
		doc := e.stage(sp)
		if sr := e.st.judged.Stage(sp.Stage); sr != nil {
			if err := e.judged(&doc, sr, run); err != nil {
				return err
			}
		}
		rep.Stages = append(rep.Stages, doc)
	}
	return nil
}

// stage is the document of a stage or an argument that is not judged.
func (e *execution) stage(sp *probes.StagePlan) report.Stage {
	doc := report.Stage{
		Name: sp.Stage.String(), Probe: captureText(sp), Verdict: report.Off, Phase: sp.Phase,
		TileName: e.r.plan.Work.TileName(), Reference: report.ReferenceOf(&sp.Reference, sp.Referenced()),
		Fingerprints: []report.Fingerprint{},
	}
	if sp.OfLaunch() {
		doc.Argument = sp.Capture.Output
	}
	if t, largest, ok := e.st.expected.Tolerance(sp.Stage); ok {
		doc.Tolerance = report.ToleranceOf(t, largest)
	} else if sp.Referenced() {
		doc.Tolerance = report.ToleranceOf(sp.Tolerance, 0)
	}
	return doc
}

// judged adds a verdict to a stage's document.
func (e *execution) judged(doc *report.Stage, sr *judge.StageResult, run *Run) (err error) {
	doc.Verdict, doc.Tiles, doc.NotReached, doc.NotCaptured = sr.Verdict.String(), sr.Tiles,
		sr.Unreached, sr.Absent
	doc.Local, doc.Global = statsDoc(sr.Local), statsDoc(sr.Global)
	for _, a := range e.r.plan.Args {
		sp := e.r.plan.Stage(sr.Stage)
		if sp != nil && a.Name == sp.Capture.Output && a.Role == probes.RoleOutput && a.Elems() > 0 {
			n := e.unwritten(a)
			doc.Unwritten = n == a.Elems()
			if doc.Global.Cells == a.Elems() && n <= doc.Global.NaN {
				doc.Global.Unwritten = n
			}
		}
	}
	if sr.Region != nil {
		doc.Region = sr.Region.String()
	}
	for _, f := range sr.Fingerprints {
		doc.Fingerprints = append(doc.Fingerprints, report.Fingerprint{
			Name: f.Name, Value: f.Value, Evidence: f.Evidence, Explains: report.Number(f.Explains),
		})
	}
	if sr.FirstBad != nil {
		doc.FirstBad, err = e.badCell(sr.FirstBad, run)
	}
	return err
}

// documentTile is a place's iteration as documents have it: -1 of an argument, which the launch has once.
func documentTile(sp *probes.StagePlan, p judge.Place) int {
	if sp.OfLaunch() {
		return -1
	}
	return p.KVTile
}

// badCell adds who wrote a cell, where the backend can find it. The error is a lack of memory, with more of
// which it could.
func (e *execution) badCell(c *judge.Cell, run *Run) (*report.BadCell, error) {
	sp := run.Plan.Stage(c.Stage)
	doc := &report.BadCell{
		Block: c.Block, KVTile: documentTile(sp, c.Place), Loop: e.r.plan.Work.Loop(c.Block, c.KVTile),
		Row: c.Row, Col: c.Col,
		Got: report.Number(c.Got), Want: report.Number(c.Want),
	}
	if sp.OfLaunch() {
		doc.Index = probes.Index(c.Row*sp.Cols+c.Col, sp.Capture.Dims)
	}
	doc.Follows = e.follows(sp, c)
	if e.trial {
		return doc, nil
	}
	w, err := run.Writer(e.ctx, Cell{Place: placeOf(run.Plan, c.Place), Row: c.Row, Col: c.Col})
	if OutOfMemory(err) {
		return nil, err
	}
	if err == nil && w != nil {
		doc.Warp, doc.Lane, doc.Source = &w.Warp, &w.Lane, report.SourceOf(w.Source)
		doc.Computed, doc.Probe = report.SourceOf(w.Computed), w.Probe
		if w.Block != nil {
			doc.Block = *w.Block
		}
	}
	return doc, nil
}

// follows names the stages that a bad cell is computed from by definition whose values, as the kernel has
// them, are NaN or infinite in the cell's row or column, and whether the reference has them so: "m is -Inf,
// and should not be". Where it does not, the cell is no fault of its own. "" where the cell itself is
// finite, or all of them are.
func (e *execution) follows(sp *probes.StagePlan, c *judge.Cell) string {
	if sp == nil || sp.OfLaunch() || !nonfinite(c.Got) {
		return ""
	}
	p := e.r.plan
	var out []string
	for _, s := range p.Ordered(sp.Operands) {
		op := p.Stage(s)
		if op == nil || op.Axes[0] != sp.Axes[0] && op.Axes[1] != sp.Axes[1] {
			continue
		}
		at, before := placeOf(p, judge.Place{Stage: s, Block: c.Block, KVTile: c.KVTile}), ""
		if s == sp.Stage {
			if at.KVTile--; at.KVTile < 0 || !sp.PerTile {
				continue
			}
			before = " of the previous tile"
		}
		rows := span(op.Axes[0] == sp.Axes[0], c.Row, op.ValidRows.At(c.Block, at.KVTile))
		cols := span(op.Axes[1] == sp.Axes[1], c.Col, op.ValidCols.At(c.Block, at.KVTile))
		v, wrong := firstNonfinite(e.st.Tile(s, c.Block, at.KVTile), rows, cols)
		if !wrong {
			continue
		}
		text := fmt.Sprintf("%s%s is %v", s, before, v)
		if op.Referenced() {
			if _, right := firstNonfinite(e.st.rounded(op, c.Block, at.KVTile), rows, cols); right {
				text += ", as it should be"
			} else {
				text += ", and should not be"
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// span is one index of an axis that a stage and its operand share, else all of them.
func span(shared bool, at, n int) [2]int {
	if shared {
		return [2]int{at, min(at+1, n)}
	}
	return [2]int{0, n}
}

// firstNonfinite is the first value of a part of a tile that is NaN or infinite, of the cells that were
// captured.
func firstNonfinite(t probes.Tile, rows, cols [2]int) (v float64, ok bool) {
	if !t.Reached() {
		return 0, false
	}
	for r := rows[0]; r < min(rows[1], t.Rows); r++ {
		for c := cols[0]; c < min(cols[1], t.Cols); c++ {
			if v := t.At(r, c); t.Captured(r, c) && nonfinite(v) {
				return v, true
			}
		}
	}
	return 0, false
}

func nonfinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// placeOf turns a document's place (kv tile -1 before the loop, the number of tiles after it) into the index
// a tile is found under.
func placeOf(plan *probes.Plan, p judge.Place) Place {
	if sp := plan.Stage(p.Stage); sp != nil && sp.Phase != probes.PhaseEach {
		return Place{p.Stage, p.Block, 0}
	}
	return Place{p.Stage, p.Block, p.KVTile}
}

func captureText(sp *probes.StagePlan) string {
	switch sp.Capture.Kind {
	case probes.CaptureProbe:
		return "probe"
	case probes.CaptureFrag:
		return "frag"
	case probes.CaptureOutput:
		return "output " + sp.Capture.Output
	case probes.CaptureMemory:
		if sp.Capture.Before {
			return sp.Capture.Output + " before the launch"
		}
		return sp.Capture.Output + " after the launch"
	case probes.CaptureRegister:
		return registersText(&sp.Capture)
	case probes.CaptureShared:
		if sp.Capture.AtLine > 0 {
			text := fmt.Sprintf("%s at line %d", sp.Capture.Shared, sp.Capture.AtLine)
			switch n := sp.Capture.Pass; {
			case n == probes.PassLast:
				text += ", last pass"
			case n > 0:
				text += fmt.Sprintf(", pass %d", n)
			}
			return text
		}
		return fmt.Sprintf("%s at barrier %d", sp.Capture.Shared, sp.Capture.AtBarrier)
	}
	return "none"
}

// registersText names the instructions at which registers are captured.
func registersText(c *probes.Capture) string {
	what, where := "registers", ""
	for i := range c.Takes {
		t := &c.Takes[i]
		if t.Fragment {
			what = "fragments"
		}
		switch {
		case where != "":
			return what + where + ", …"
		case t.Line > 0:
			where = fmt.Sprintf(" at line %d", t.Line)
		default:
			where = fmt.Sprintf(" at PTX line %d", t.PTX[0])
		}
	}
	return what + where
}

func statsDoc(s judge.Stats) report.ErrorStats {
	return report.ErrorStats{
		MaxAbs: report.Number(s.MaxAbs), MaxULP: s.MaxULP, Error: report.Number(s.Error),
		Bound: report.Number(s.Bound), Derivation: s.Derivation, Bad: s.Bad, Cells: s.Cells,
		Nonfinite: s.Nonfinite, NaN: s.NaN,
	}
}

// output judges the kernel's result against the exact one from the un-quantised inputs; never under a gate,
// and not where nothing declares what the result is.
func (e *execution) output() (*report.Output, error) {
	p := e.r.plan
	sp := p.Output()
	if p.Gate.Name != probes.GateNone || sp == nil || sp.Unreferenced() || sp.Reference.Arrays() ||
		e.st.output == nil || e.st.only != nil {
		return nil, nil
	}
	o := op.Widen(nil, probes.Tile{
		DType: e.st.outputType(), Rows: 1, Cols: len(e.st.output) / e.st.outputType().Size(),
		Data: e.st.output,
	})
	whole, err := e.exactOutput()
	if err != nil || whole == nil {
		return nil, err
	}
	out := whole.compare(p, o)
	doc := &report.Output{
		MaxAbs: report.Number(out.MaxAbs), MeanAbs: report.Number(out.MeanAbs),
		BadFraction: report.Number(out.BadFraction), Cosine: report.Number(out.Cosine), Verdict: report.Fail,
		Histogram: out.Histogram, Cells: len(o), Nonfinite: out.Nonfinite, NaN: out.NaN,
	}
	if whole.attention != nil {
		rules := whole.attention.Rules(p, o)
		doc.FlashRule, doc.PyTorch, doc.Triton = ruleDoc(rules.Flash), ruleDoc(rules.PyTorch),
			ruleDoc(rules.Triton)
	}
	for _, a := range p.Args {
		if a.Name == sp.Capture.Output && a.Elems() == doc.Cells {
			doc.Unwritten = min(e.unwritten(a), doc.NaN)
		}
	}
	if out.OK {
		doc.Verdict = report.OK
	}
	if len(p.OutputSet()) > 1 {
		doc.Of = sp.Stage.String()
	}
	return doc, nil
}

// outputType is the element type of the argument that O is written to.
func (st *runState) outputType() probes.DType {
	for _, a := range st.r.plan.Args {
		if a.Name == st.r.plan.OutputArg() {
			return a.DType
		}
	}
	return 0
}

func ruleDoc(r attn.Rule) *report.Rule {
	return &report.Rule{
		Error: report.Number(r.Error), Limit: report.Number(r.Limit), Holds: r.Holds(), Context: r.Context(),
	}
}

// unordered lowers what varies to advice where the kernel adds floats by atomics, in an order nobody fixes,
// and every stage behind the additions is within its bound: that bound holds for any order, so it is the
// spread over the orders.
func (e *execution) unordered(fs []target.Finding) []target.Finding {
	if !AddsFloatsByAtomics(e.st.build.Module.Func(e.r.plan.Entry)) {
		return fs
	}
	var bounds []string
	outputs := e.r.plan.OutputSet()
	for i := range e.st.judged.Stages {
		switch st := &e.st.judged.Stages[i]; {
		case st.Verdict == judge.Wrong || st.Verdict == judge.Tainted:
			return fs
		case outputs.Has(st.Stage):
			bounds = append(bounds, fmt.Sprintf("%s: %.3g", st.Stage, st.Global.Bound))
		}
	}
	for i := range fs {
		if k := fs[i].Kind; k == target.Varies || k == target.ProbeChangedResult ||
			k == target.BackendDifference {
			fs[i].Severity = target.SeverityAdvice
			fs[i].Consequence = fmt.Sprintf(
				"the kernel adds floats by atomics, in no fixed order; every stage is within its bound, which holds for any order (%s)",
				strings.Join(bounds, ", "))
		}
	}
	return fs
}

// findings are the backend's, and those only the host can make: the quantiser's round trip,
// output never written.
func (e *execution) findings() ([]target.Finding, error) {
	all := append(slices.Clone(e.st.result.Findings), e.st.extra...)
	rt, err := input.RoundTrip(e.ctx, e.st.inputs)
	if err != nil {
		return nil, err
	}
	if rt != nil {
		all = append(all, target.Finding{
			Kind: target.QuantiserMismatch, Severity: target.SeverityError, Message: rt.Error(),
			Variable: rt.Tensor, Index: rt.Index, KVTile: -1, Count: rt.Count,
			Consequence: "encoder and decoder are not inverse: every decoded value is off by the same factor",
		})
	}
	if (e.r.plan.Stageless() || e.r.plan.Gate.Judged.Meets(e.r.plan.OutputSet())) && e.st.result.Reached &&
		e.st.only == nil {
		for _, a := range e.r.plan.Args {
			if n := e.unwritten(a); n > 0 && a.Role == probes.RoleOutput {
				all = append(all, target.Finding{
					Kind: target.Unwritten, Severity: target.SeverityError, Variable: a.Name, Space: "global",
					KVTile: -1, Count: n,
					Message: fmt.Sprintf("%d of %d elements of %s were never written", n, a.Elems(), a.Name),
				})
			}
		}
	}
	return all, nil
}

// unwritten is how many elements of an output no thread wrote. The gaps of one with strides are none.
func (e *execution) unwritten(a probes.Arg) int {
	n, written := e.st.result.Unwritten[a.Name], e.st.result.Written[a.Name]
	switch {
	case a.Strides == nil:
		return n
	case written == nil: // it is not known which they are, and no right kernel writes gaps
		return max(0, n-(a.MemoryElems()-a.Elems()))
	}
	n = 0
	size := a.DType.Size()
	for at := range slices.Chunk(a.Gather(written), size) {
		if slices.Contains(at, 0) {
			n++
		}
	}
	return n
}

func resourcesDoc(r *target.Resources) *report.Resources {
	if r == nil {
		return nil
	}
	doc := &report.Resources{
		Registers: r.Registers, SharedBytes: r.SharedBytes, SpillStoreBytes: r.SpillStoreBytes,
		SpillLoadBytes: r.SpillLoadBytes, LocalBytes: r.LocalBytes, Arch: r.Arch,
		SpillsUnknown: r.SpillsUnknown,
	}
	for i := range r.Notes {
		doc.Notes = append(doc.Notes, r.Notes[i].String())
	}
	return doc
}
