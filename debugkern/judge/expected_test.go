package judge

import (
	"math"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// expecting expects of one stage what change makes of the graph's estimate.
type expecting struct {
	stage  probes.Stage
	own    bool
	change func(block probes.Dim3, kv int, e *ref.Estimate)
}

func (x expecting) Has(s probes.Stage) bool    { return s == x.stage }
func (x expecting) Own(s probes.Stage) bool    { return s == x.stage && x.own }
func (x expecting) Reason(probes.Stage) string { return "the test's" }

func (x expecting) Rows(_ probes.Stage, block probes.Dim3, kv, _ int, graph, e *ref.Estimate) {
	copy(e.Ref.Data, graph.Ref.Data)
	copy(e.Pre.Data, graph.Pre.Data)
	copy(e.Bound.Data, graph.Bound.Data)
	x.change(block, kv, e)
}

// TestExpected: a stage with numbers of its own is judged by them globally, and locally only where it cannot
// be judged from the kernel's own tiles; one with bounds of its own by them in both.
func TestExpected(t *testing.T) {
	p := configstest.Plan(t, "stage2", "small", probes.GateNone)
	truth := reference(t, p, 0, ref.Options{})
	clean, at := newDouble(truth, nil), probes.Dim3{0, 0, 0}
	cell := func(set func(e *ref.Estimate)) func(probes.Dim3, int, *ref.Estimate) {
		return func(block probes.Dim3, kv int, e *ref.Estimate) {
			if block == at && kv == 0 {
				set(e)
			}
		}
	}
	same := func(probes.Dim3, int, *ref.Estimate) {}
	off := cell(func(e *ref.Estimate) { e.Ref.Data[5] += 1 })
	nan := cell(func(e *ref.Estimate) { e.Ref.Data[5], e.Bound.Data[5] = math.NaN(), 0 })
	spoilt := spoiled{clean, Place{"S", at, 0}, 3, 3, 50}
	only := func(s ...probes.Stage) probes.StageSet { return probes.StagesOf(s...) }
	for name, c := range map[string]struct {
		expected   expecting
		src        Source
		stages     probes.StageSet
		want       Verdict
		bad, taint int
	}{
		"the same":                        {expecting{"O", true, same}, clean, nil, OK, 0, 0},
		"the kernel's tiles are at hand":  {expecting{"O", true, off}, clean, nil, Tainted, 0, 1},
		"they are not":                    {expecting{"O", true, off}, clean, only("O"), Wrong, 1, 1},
		"not a number":                    {expecting{"O", true, nan}, clean, only("O"), Tainted, 0, 1},
		"what it is computed from is off": {expecting{"U", true, off}, spoilt, only("S", "U"), Tainted, 0, 1},
		"a loaded stage":                  {expecting{"Q", true, off}, clean, nil, Wrong, 1, 1},
		"bounds alone": {expecting{"S", false,
			cell(func(e *ref.Estimate) { clear(e.Bound.Data) })}, clean, nil, Wrong, -1, -1},
		"wider bounds": {expecting{"S", false, cell(func(e *ref.Estimate) {
			for i := range e.Bound.Data {
				e.Bound.Data[i] = 100
			}
		})}, spoilt, nil, OK, 0, 0},
	} {
		j, err := Judge(t.Context(), truth.Reference, c.src, Options{Expected: c.expected, Stages: c.stages})
		if err != nil {
			t.Fatal(err)
		}
		s := j.Stage(c.expected.stage)
		if s.Verdict != c.want || c.bad >= 0 && (s.Local.Bad != c.bad || s.Global.Bad != c.taint) {
			t.Errorf("%s: %s, local %d bad, global %d bad; want %s %d %d", name, s.Verdict, s.Local.Bad,
				s.Global.Bad, c.want, c.bad, c.taint)
		}
		if s.Global.Derivation != "the test's" {
			t.Errorf("%s: bounds by %q", name, s.Global.Derivation)
		}
		if c.want != OK && (s.FirstBad == nil || s.FirstBad.Block != at) {
			t.Errorf("%s: first bad %+v", name, s.FirstBad)
		}
		if err := j.Explain(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d, err := j.Compare(c.expected.stage, at, 0); err != nil || c.want == OK && c.expected.own &&
			d.Global[5] != d.Local[5] && len(c.stages) == 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// argumentPlan is a kernel without stages whose argument is a list that does not fill its last row.
func argumentPlan(n, cols int, t probes.DType) *probes.Plan {
	rows := (n + cols - 1) / cols
	return &probes.Plan{
		Kernel: "k", Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1},
		Work: probes.Work{Tiles: probes.Fixed(1), MaxTiles: 1},
		Memory: []probes.StagePlan{{
			Stage: "out", Phase: probes.PhaseAfter, DType: t, Rows: rows, Cols: cols,
			ValidRows: probes.Fixed(rows), ValidCols: probes.Fixed(cols),
			Capture:   probes.Capture{Kind: probes.CaptureMemory, Output: "out", Dims: []int{n}},
			Reference: probes.Reference{Kind: probes.ReferenceNPZ},
		}},
	}
}

// counting expects element i to be i, within a quarter.
type counting struct{ n, cols int }

func (counting) Has(probes.Stage) bool      { return true }
func (counting) Own(probes.Stage) bool      { return true }
func (counting) Reason(probes.Stage) string { return "counted" }

func (x counting) Rows(_ probes.Stage, _ probes.Dim3, _, first int, _, e *ref.Estimate) {
	for i := range e.Ref.Data {
		e.Ref.Data[i], e.Bound.Data[i] = 0, 0
		if at := first*x.cols + i; at < x.n {
			e.Ref.Data[i], e.Bound.Data[i] = float64(at), 0.25
		}
	}
}

// TestArgument: an argument is compared element by element, in bands that make no difference: the last row
// may not be full, and what was never written is not compared.
func TestArgument(t *testing.T) {
	for _, n := range []int{1, 31, 64, 70, 3*bandCells + 5} {
		p := argumentPlan(n, 32, probes.F64)
		sp := &p.Memory[0]
		truth, err := ref.New(p, nil, ref.Options{})
		if err != nil {
			t.Fatal(err)
		}
		right := func() probes.Tile {
			tile := probes.NewTile(sp.DType, sp.Rows, sp.Cols)
			for i := range n {
				tile.SetBits(0, i, op.Round(probes.F64, float64(i)+0.2))
			}
			return tile
		}
		judge := func(tile probes.Tile) *Judgement {
			j, err := Judge(t.Context(), truth, captured{{"out", probes.Dim3{}, 0}: tile},
				Options{Expected: counting{n, 32}})
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Explain(t.Context()); err != nil {
				t.Fatal(err)
			}
			return j
		}
		j := judge(right())
		if s := j.Stage("out"); s.Verdict != OK || s.Local.Cells != n || s.Global.Cells != n ||
			j.Diverges() || len(j.Guilty) > 0 || s.Local.Derivation != "counted" {
			t.Errorf("%d elements: %+v", n, s)
		}
		wrong := right()
		wrong.SetBits(0, n-1, op.Round(probes.F64, -1))
		j = judge(wrong)
		s := j.Stage("out")
		if s.Verdict != Wrong || s.Local.Bad != 1 || s.FirstBad == nil ||
			s.FirstBad.Row*32+s.FirstBad.Col != n-1 || s.FirstBad.Got != -1 ||
			s.FirstBad.Want != float64(n-1) || !j.Diverges() ||
			len(j.Guilty) != 1 || j.Tile("out", probes.Dim3{}, 0).Bad != 1 {
			t.Errorf("%d elements, the last one wrong: %+v %+v", n, s, s.FirstBad)
		}
		if d := j.Whole("out"); d == nil || d.Local[n-1] != float64(n-1) || d.LocalBound[n-1] != 0.25 ||
			j.Whole("nosuch") != nil {
			t.Errorf("%d elements: %+v", n, d)
		}
		odd := right()
		odd.SetBits(0, 0, op.Round(probes.F64, math.NaN()))
		if s := judge(odd).Stage("out"); s.Verdict != Wrong || s.Local.Nonfinite != 1 {
			t.Errorf("%d elements, NaN: %+v", n, s)
		}
		absent := right()
		absent.Absent = make([]bool, sp.Rows*sp.Cols)
		absent.Absent[n-1] = true
		if j := judge(absent); j.Stage("out").Absent != 1 || j.Stage("out").Verdict != OK || !j.Diverges() ||
			j.Stage("out").Local.Cells != n-1 {
			t.Errorf("%d elements, one of which was never written: %+v", n, j.Stage("out"))
		}
	}
	p := argumentPlan(40, 32, probes.I32)
	truth, err := ref.New(p, nil, ref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tile := probes.NewTile(probes.I32, 2, 32)
	for i := range 40 {
		tile.SetBits(0, i, uint64(uint32(i)))
	}
	tile.SetBits(0, 39, uint64(uint32(0xfffffffb))) // -5
	j, err := Judge(t.Context(), truth, captured{{"out", probes.Dim3{}, 0}: tile},
		Options{Expected: counting{40, 32}})
	if s := j.Stage("out"); err != nil || s.Verdict != Wrong || s.FirstBad.Got != -5 || s.Local.MaxULP != 44 {
		t.Errorf("integers: %+v, %v", s, err)
	}
	if j, err = Judge(t.Context(), truth, captured{{"out", probes.Dim3{}, 0}: tile},
		Options{Expected: counting{40, 32}, Blocks: []probes.Dim3{{}}}); err != nil ||
		j.Stage("out").Verdict != Off || j.Diverges() {
		t.Errorf("a part of the blocks: %+v, %v", j.Stage("out"), err)
	}
}
