package debugkern

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// CompareSchema names the document that compare prints.
const CompareSchema = "tilescope.compare/1"

// Verdicts of a comparison and of its stages.
const (
	Equal        = "equal"
	Differ       = "differ"
	Incomparable = "incomparable" // a stage that both capture, but not as the same tiles; see Reason
)

// Comparison is the document tilescope.compare/1: kernel A against kernel B on the same inputs, bit against
// bit. No reference is asked: it shows where two kernels part, not which of them is right.
type Comparison struct {
	Schema  string       `json:"schema"`
	Targets [2]SideDoc   `json:"targets"` // A, B
	Gate    string       `json:"gate"`
	Inject  string       `json:"inject"`
	Shape   probes.Shape `json:"shape"`
	Seed    uint64       `json:"seed"`
	Backend BackendDoc   `json:"backend"`

	Verdict string            `json:"verdict"` // equal, differ, failed
	First   string            `json:"first"`   // the stage that differs first, by kv tile, stage, block; "" for none
	Stages  []StageComparison `json:"stages"`  // those that both capture
	OnlyA   []string          `json:"only_a"`  // stages that A alone captures
	OnlyB   []string          `json:"only_b"`
	Output  *OutputComparison `json:"output"` // null under a gate, or where one of them has none
	Notes   []string          `json:"notes"`
	Error   *SideError        `json:"error"`
}

// SideDoc is one of two kernels.
type SideDoc struct {
	Target  string         `json:"target"`
	Kernel  string         `json:"kernel"`
	Flags   map[string]int `json:"flags"`
	Faults  []string       `json:"faults"`
	Builder string         `json:"builder"`
	Cross   *CrossDoc      `json:"cross"` // with --backend both: this kernel on the emulator
}

// SideError is which of two kernels did not build, load or run.
type SideError struct {
	Side string `json:"side"` // "a", "b"
	ErrorDoc
}

// CellStats count the cells that differ. MaxAbs and MaxULP (representable values of the dtype) are over differing cells that
// are finite in both; Nonfinite counts the others.
type CellStats struct {
	Cells     int    `json:"cells"`
	Differing int    `json:"differing"`
	MaxAbs    Number `json:"max_abs"`
	MaxULP    int64  `json:"max_ulp"`
	Nonfinite int    `json:"nonfinite"`
}

// StageComparison is one stage that both capture.
type StageComparison struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"` // equal, differ, incomparable
	Reason  string `json:"reason"`  // why it is incomparable
	Tiles   int    `json:"tiles"`
	CellStats
	First *DifferingCell `json:"first"` // by kv tile, block, row, column
}

// DifferingCell is a cell with other bits in B. Block is A's; Q has kv tile -1, O the number of tiles.
type DifferingCell struct {
	Block  probes.Dim3 `json:"block"`
	KVTile int         `json:"kv_tile"`
	Row    int         `json:"row"`
	Col    int         `json:"col"`
	A      Number      `json:"a"`
	B      Number      `json:"b"`
	BitsA  string      `json:"bits_a"` // "" where A did not reach the tile
	BitsB  string      `json:"bits_b"`
}

// OutputComparison compares the whole output argument.
type OutputComparison struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
	CellStats
	First []int `json:"first"` // the index of the first differing element, by dimension; null where none differs
}

// ExitCode is the contract's exit code: 0 equal bits, 1 not, 4 failed.
func (c *Comparison) ExitCode() int {
	switch c.Verdict {
	case Equal:
		return 0
	case Failed:
		return 4
	}
	return 1
}

// Compare executes a and b on the same inputs and compares every tile that both capture, bit for bit. It
// returns an *Error as Run does; where a kernel did not build, load or run there is a document as well as the
// error.
func (s *Session) Compare(ctx context.Context, a, b Request, progress func(Progress)) (*Comparison, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	if err := s.sameProblem(ctx, a, b); err != nil {
		return nil, err
	}
	c := newComparison(a, b)
	var sides [2]*execution
	for i, req := range []Request{a, b} {
		e := &execution{s: s, req: req, progress: progress}
		cross, err := e.capture(ctx)
		c.Targets[i].describe(e, cross)
		if err != nil {
			return c.failed(i, err), err
		}
		sides[i] = e
	}
	c.Backend = sides[0].header().Backend
	for i, e := range sides {
		if slices.ContainsFunc(e.st.result.Findings, func(f target.Finding) bool { return f.Kind == target.Varies }) {
			c.note("%s varies from launch to launch: what differs may be chance", "AB"[i:i+1])
		}
	}
	return c, c.compare(sides[0].st, sides[1].st)
}

// CompareRuns compares two finished runs of the same shape and seed without executing anything.
func CompareRuns(a, b *Run) (*Comparison, error) {
	if err := sameRuns(a, b); err != nil {
		return nil, err
	}
	c := newComparison(a.Request, b.Request)
	for i, r := range []*Run{a, b} {
		c.Targets[i] = SideDoc{r.Request.Target, r.Plan.Kernel, r.Selection.Flags, r.Report.Faults, r.Report.Backend.Builder, r.Report.Cross}
	}
	c.Backend = a.Report.Backend
	return c, c.compare(a.state, b.state)
}

func newComparison(a, b Request) *Comparison {
	c := &Comparison{
		Schema: CompareSchema, Gate: a.Gate.String(), Inject: a.Inject, Seed: a.Seed, Verdict: Equal,
		Stages: []StageComparison{}, OnlyA: []string{}, OnlyB: []string{}, Notes: []string{},
	}
	if c.Inject == "" {
		c.Inject = "reference"
	}
	for i, t := range []string{a.Target, b.Target} {
		c.Targets[i] = SideDoc{Target: t, Flags: map[string]int{}, Faults: []string{}, Builder: "none"}
	}
	return c
}

func (c *Comparison) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// failed makes the comparison the document of a run that has no verdict.
func (c *Comparison) failed(side int, err error) *Comparison {
	var coded *Error
	if !errors.As(err, &coded) || coded.Report == nil || coded.Report.Error == nil {
		return nil
	}
	c.Verdict, c.Shape, c.Backend = Failed, coded.Report.Shape, coded.Report.Backend
	c.Error = &SideError{Side: "ab"[side : side+1], ErrorDoc: *coded.Report.Error}
	return c
}

func (d *SideDoc) describe(e *execution, cross *CrossDoc) {
	d.Cross = cross
	if e.builder != "" {
		d.Builder = e.builder
	}
	if e.r != nil {
		d.Kernel, d.Flags, d.Faults = e.r.plan.Kernel, e.r.sel.Flags, append(d.Faults, e.r.sel.Faults...)
	}
}

// sameProblem checks both requests, and that a shape's name means the same in both manifests.
func (s *Session) sameProblem(ctx context.Context, a, b Request) error {
	if a.Inputs != "" { // the file defines the shape, and is read later
		return nil
	}
	ra, err := s.resolve(ctx, a, nil)
	if err != nil {
		return err
	}
	rb, err := s.resolve(ctx, b, nil)
	if err != nil {
		return err
	}
	if x, y := ra.plan.Shape, rb.plan.Shape; x != y {
		return usage("shape %s is %s for %s and %s for %s: give --shape B,H,S,D", a.Shape, x, a.Target, y, b.Target)
	}
	return nil
}

// capture executes a request as Run does, up to its tiles: nothing is judged.
func (e *execution) capture(ctx context.Context) (cross *CrossDoc, err error) {
	ctx, cancel := Limited(ctx, e.req.Timeout)
	defer cancel()
	e.ctx = ctx
	for _, step := range []func() error{e.open, e.build, e.launch} {
		if err := step(); err != nil {
			return nil, e.explain(err)
		}
	}
	if cross, err = e.cross(); err != nil {
		return nil, e.explain(err)
	}
	return cross, nil
}

// compare fills the document from two executions.
func (c *Comparison) compare(a, b *runState) error {
	pa, pb := a.r.plan, b.r.plan
	c.Shape = pa.Shape
	if (pa.Quant == nil) != (pb.Quant == nil) || pa.Quant != nil && *pa.Quant != *pb.Quant {
		c.note("the two encode the same inputs differently: their tiles cannot be equal to the bit but by chance")
	}
	var first *DifferingCell
	for i := range pa.Stages {
		s := pa.Stages[i].Stage
		inA, inB := captures(a, s), captures(b, s)
		switch {
		case inA && inB:
			doc := compareStage(a, b, s)
			if doc.First != nil && (first == nil || doc.First.KVTile < first.KVTile) {
				first, c.First = doc.First, doc.Name
			}
			c.Stages = append(c.Stages, doc)
		case inA:
			c.OnlyA = append(c.OnlyA, s.String())
		}
	}
	for i := range pb.Stages {
		if s := pb.Stages[i].Stage; captures(b, s) && !captures(a, s) {
			c.OnlyB = append(c.OnlyB, s.String())
		}
	}
	c.Output = compareOutput(a, b)
	return c.conclude()
}

// conclude settles the verdict over what could be compared; nothing at all is bad input.
func (c *Comparison) conclude() error {
	verdicts := []string{}
	for i := range c.Stages {
		verdicts = append(verdicts, c.Stages[i].Verdict)
	}
	if c.Output != nil {
		verdicts = append(verdicts, c.Output.Verdict)
	}
	switch {
	case slices.Contains(verdicts, Differ):
		c.Verdict = Differ
	case slices.Contains(verdicts, Equal):
		c.Verdict = Equal
	default:
		return usage("%s and %s capture no stage that could be compared", c.Targets[0].Target, c.Targets[1].Target)
	}
	return nil
}

func captures(st *runState, s probes.Stage) bool {
	sp := st.r.plan.Stage(s)
	return sp != nil && sp.Capture.Kind != probes.CaptureNone && st.r.stages.Has(s)
}
