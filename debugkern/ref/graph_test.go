package ref_test

import (
	"strings"
	"testing"

	"tilescope/configs/configstest"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/op"
	"tilescope/probes"
)

// counted is an input of four numbers that counts how often it is read.
type counted struct{ reads int }

func (c *counted) Dims() []int                      { return []int{4} }
func (c *counted) Coded() bool                      { return false }
func (c *counted) Rounded(dst []float64, first int) { c.Decode(dst, first) }
func (c *counted) tensor(name string) op.Tensor     { return map[string]op.Tensor{"X": c}[name] }
func (c *counted) Decode(dst []float64, first int) {
	c.reads++
	for i := range dst {
		dst[i] = float64(first + i + 1)
	}
}

// stageOf is a stage of f32 in the loop.
func stageOf(name probes.Stage, rows, cols int, o *probes.Node) probes.StagePlan {
	return probes.StagePlan{
		Stage: name, Phase: probes.PhaseEach, PerTile: true, DType: probes.F32, Rows: rows, Cols: cols,
		ValidRows: probes.Fixed(rows), ValidCols: probes.Fixed(cols), Op: o,
	}
}

// planOf is a plan of one block of two iterations.
func planOf(stages ...probes.StagePlan) *probes.Plan {
	p := &probes.Plan{
		Kernel: "test", Grid: probes.Dim3{1, 1, 1}, Work: probes.Work{Tiles: probes.Fixed(2), MaxTiles: 2},
		Stages: stages,
	}
	p.Gate.Name = probes.GateNone
	for i := range stages {
		p.Gate.Judged = p.Gate.Judged.Union(probes.StagesOf(stages[i].Stage))
	}
	return p
}

func call(name string, words map[string]string, args ...probes.Operand) *probes.Node {
	return &probes.Node{
		Op: name, Args: args,
		Params: probes.Params{Number: map[string]float64{}, Word: words, Index: map[string][]probes.Extent{}},
	}
}

func of(s probes.Stage) probes.Operand     { return probes.Operand{Stage: s} }
func before(s probes.Stage) probes.Operand { return probes.Operand{Stage: s, Before: true} }

// loadX reads the first four elements of an input as a row.
func loadX(name string) *probes.Node {
	n := call("load", nil, probes.Operand{Tensor: name})
	n.Params.Number["height"], n.Params.Number["width"], n.Params.Number["cols"] = 1, 4, 0
	n.Params.Index["at"] = []probes.Extent{probes.Fixed(0)}
	return n
}

func mapOf(expr string, args ...probes.Operand) *probes.Node {
	return call("map", map[string]string{
		"expr": expr, "names": strings.Join(strings.Split("abcdef"[:len(args)], ""), ","),
	}, args...)
}

// What does not fit is an error that names the stage.
func TestGraphErrors(t *testing.T) {
	x := stageOf("X", 1, 4, loadX("X"))
	sum := call("reduce", map[string]string{"how": "sum"}, of("X"))
	for _, c := range []struct {
		name   string
		stages []probes.StagePlan
		want   string
	}{
		{"extent", []probes.StagePlan{x, stageOf("A", 1, 4, sum)},
			"stage A: it is 1×4, but reduce makes 1×1 of its operands"},
		{"operands", []probes.StagePlan{x, stageOf("A", 1, 4, call("matmul", nil, of("X"), of("X")))},
			"stage A: matmul of 1×4 and 1×4"},
		{
			"cycle", []probes.StagePlan{
				stageOf("A", 1, 4, mapOf("a", of("B"))), stageOf("B", 1, 4, mapOf("a", of("A"))),
			}, "stage A: it is computed from itself",
		},
		{"no operator", []probes.StagePlan{x, stageOf("A", 1, 4, call("fold", nil, of("X")))},
			`stage A: no operator "fold"; there are [accumulate `},
		{
			"no inner operator", []probes.StagePlan{
				x, stageOf("A", 1, 4, call("cast", nil, probes.Operand{Node: call("fold", nil, of("X"))})),
			}, `stage A: no operator "fold"`,
		},
		{"no stage", []probes.StagePlan{stageOf("A", 1, 4, mapOf("a", of("Z")))},
			"stage A: map is computed from stage Z, which there is not"},
		{"no input", []probes.StagePlan{stageOf("A", 1, 4, loadX("Y"))}, "stage A: load: no input Y"},
		{
			"of another stage", []probes.StagePlan{
				stageOf("B", 1, 4, mapOf("a", of("A"))), x, stageOf("A", 1, 4, sum),
			}, "stage A: it is 1×4",
		},
	} {
		_, err := ref.NewGraph(planOf(c.stages...), (&counted{}).tensor, fp.SM90())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// A stage may be computed from itself, through the iteration before, whatever the order of the
// stages in the plan.
func TestFromItselfBefore(t *testing.T) {
	in := &counted{}
	sum := call("accumulate", nil, probes.Operand{Node: call("rowsum", nil, of("X"))}, before("A"))
	p := planOf(stageOf("A", 1, 1, sum), stageOf("X", 1, 4, loadX("X")))
	r, err := ref.New(p, in.tensor, ref.Options{Chip: fp.SM90()})
	if err != nil {
		t.Fatal(err)
	}
	b := r.Block(probes.Dim3{})
	for kv, want := range []float64{10, 20} {
		for _, x := range []*ref.Block{b, r.Mirror(probes.Dim3{})} {
			if m, ok := x.Values("A", kv); !ok || m.Data[0] != want {
				t.Errorf("A of iteration %d is %v, want %g", kv, m.Data, want)
			}
		}
	}
}

// A node that several stages mention is one vertex, computed once an iteration, and so is a
// stage that several read.
func TestSharedOnce(t *testing.T) {
	in := &counted{}
	x := probes.Operand{Node: loadX("X")}
	p := planOf(stageOf("A", 1, 4, mapOf("a + 1", x)), stageOf("B", 1, 4, mapOf("a * 2", x)),
		stageOf("C", 1, 4, mapOf("a + b", of("A"), of("B"))),
		stageOf("D", 1, 4, mapOf("a - b", of("A"), of("C"))))
	r, err := ref.New(p, in.tensor, ref.Options{Chip: fp.SM90()})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Graph().Vertices(); n != 5 {
		t.Errorf("%d vertices, want A to D and one load", n)
	}
	for name, compute := range map[string]func(){
		"exact":       func() { r.Block(probes.Dim3{}) },
		"mirrored":    func() { r.Mirror(probes.Dim3{}) },
		"from inputs": func() { walkAll(r.FromInputs(nil)) },
	} {
		in.reads = 0
		if compute(); in.reads != 2 {
			t.Errorf("%s: the input was read %d times in two iterations", name, in.reads)
		}
	}
	if m, _ := r.Block(probes.Dim3{}).Values("D", 1); m.Data[3] != 5-(5+8) {
		t.Errorf("D is %v", m.Data)
	}
}

func walkAll(p *ref.Pass) {
	p.Begin(probes.Dim3{})
	p.Before()
	for range p.Iters {
		p.Next()
	}
	p.After()
}

// The exponentials that attention's l adds up are P's where both are computed alike, and l's own where not.
func TestSharedExponentials(t *testing.T) {
	for _, c := range []struct {
		exp  string
		want int
	}{{"", 9}, {"expf", 10}} {
		p := configstest.Plan(t, "stage2", "small", probes.GateNone)
		p.Stage("l").Compute.Exp = p.Stage("P").Compute.Exp
		if c.exp != "" {
			p.Stage("l").Compute.Exp = c.exp
		}
		in := &four{}
		g, err := ref.NewGraph(p, in.tensor, fp.SM90())
		if err != nil {
			t.Fatal(err)
		}
		if n := g.Vertices(); n != c.want {
			t.Errorf("l's exponential %q: %d vertices, want %d", c.exp, n, c.want)
		}
	}
}

// four is an input of four dimensions that is never read.
type four struct{ counted }

func (*four) Dims() []int               { return []int{1, 1, 1, 1} }
func (f *four) tensor(string) op.Tensor { return f }

// What a stage is computed from is known with which of its cells matter, through values that are no stages.
func TestUses(t *testing.T) {
	p := configstest.Plan(t, "stage2", "small", probes.GateNone)
	g, err := ref.NewGraph(p, (&four{}).tensor, fp.SM90())
	if err != nil {
		t.Fatal(err)
	}
	use := func(s probes.Stage, before bool, n op.Need) ref.Use { return ref.Use{g.Index(s), before, n} }
	for s, want := range map[probes.Stage][]ref.Use{
		"Q": nil,
		"S": {use("Q", false, op.WholeRow), use("K", false, op.RowOfColumn)},
		"m": {use("S", false, op.WholeRow), use("m", true, op.SameCell)},
		"P": {use("S", false, op.SameCell), use("m", false, op.SameCell)},
		"l": {use("S", false, op.WholeRow), use("m", false, op.WholeRow), use("l", true, op.SameCell),
			use("m", true, op.SameCell), use("m", false, op.SameCell)},
		"U": {use("P", false, op.WholeRow), use("V", false, op.WholeColumn), use("U", true, op.SameCell),
			use("m", true, op.SameCell), use("m", false, op.SameCell)},
		"O": {use("U", false, op.SameCell), use("l", false, op.SameCell)},
	} {
		got := g.Uses(g.Index(s))
		if len(got) != len(want) {
			t.Errorf("%s uses %v, want %v", s, got, want)
			continue
		}
		for k := range want {
			if got[k] != want[k] {
				t.Errorf("%s uses %v, want %v", s, got, want)
			}
		}
	}
}

// A map that two stages compute in other accumulators is two vertices: it rounds differently.
func TestMapsInOtherAccumulators(t *testing.T) {
	for acc, want := range map[probes.DType]int{probes.F32: 4, probes.F16: 5} {
		inner := probes.Operand{Node: mapOf("a + 1", probes.Operand{Node: loadX("X")})}
		p := planOf(stageOf("A", 1, 4, mapOf("a * 2", inner)), stageOf("B", 1, 4, mapOf("a * 3", inner)))
		p.Stages[0].Compute.Acc, p.Stages[1].Compute.Acc = probes.F32, acc
		g, err := ref.NewGraph(p, (&counted{}).tensor, fp.SM90())
		if err != nil {
			t.Fatal(err)
		}
		if n := g.Vertices(); n != want {
			t.Errorf("accumulators f32 and %s: %d vertices, want %d", acc, n, want)
		}
	}
}
