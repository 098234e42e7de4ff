package expect

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/npy"
	"tilescope/debugkern/npy/npytest"
	"tilescope/debugkern/ref"
	"tilescope/debugkern/ref/reftest"
	"tilescope/probes"
)

// product is a matrix product with a stage of each kind: a, tiles in a loop; y, cut out of an output; and two
// outputs that are no stages.
const product = `schema: tilescope.kernel/1
name: product
source: product.cu
entry: product
launch: {grid: [2, 1, 1], block: [32, 1, 1]}
args:
  - {name: A, type: "f32*", dims: [M, K], role: input}
  - {name: B, type: "f32*", dims: [K, N], role: input}
  - {name: C, type: "f16*", dims: [M, N], role: output}
  - {name: count, type: "i16*", dims: [5], role: output ARG1}
  - {name: more, type: "bf16*", dims: [70], role: inout, fill: zeros ARG2}
work: {row: by * 4, col: bx * 3}
loops: [{name: k, count: "ceil_div(K, 2)"}]
shared: [{name: as, type: f32, dims: [4, 2]}]
stages:
  - {name: a, axes: [row, k], dtype: f32, dims: [4, 2], valid: [4, 2], per: tile,
	op: {load: A, at: [row, k * 2], rows: 0, cols: 1},
     array: as, capture: {shared: as, at: {line: 3}, tile_at: {line: 2}} STAGE1}
  - {name: sum, axes: [row, col], dtype: f32, dims: [4, 3], valid: [4, 3], per: tile, capture: none,
     op: {accumulate: {matmul: [a, {load: B, at: [k * 2, col], rows: 0, cols: 1, dims: [2, 3]}], over: K}}}
  - {name: y, axes: [row, col], dtype: f16, dims: [4, 3], valid: [4, 3], per: block, op: {cast: sum},
	capture: {output: C, at: [row, col], rows: 0, cols: 1} STAGE2}
shapes: {small: {M: 4, N: 6, K: 4}}
`

// made is a Set of a manifest with parts put in, and an archive that every reference is in.
func made(t *testing.T, parts map[string]string, arrays ...npytest.Array) (*Set, *probes.Plan, *ref.Reference,
	error) {
	t.Helper()
	text := product
	for _, at := range []string{"ARG1", "ARG2", "STAGE1", "STAGE2"} {
		text = strings.Replace(text, " "+at, parts[at], 1)
	}
	m, err := configs.ParseManifest("product.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sel.Resolve(m.Shapes[0].Shape)
	if err != nil {
		t.Fatal(err)
	}
	truth, _ := reftest.New(t, p, 0, ref.Options{})
	content := npytest.Archive(arrays...)
	a, err := OpenArchive(bytes.NewReader(content), int64(len(content)), "ref.npz", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var stages probes.StageSet
	for i := range p.Stages {
		stages = stages.Union(probes.StagesOf(p.Stages[i].Stage))
	}
	set, err := New(t.Context(), Config{
		Plan: p, Graph: truth, Stages: stages, Blocks: []probes.Dim3{{0, 0, 0}, {1, 0, 0}},
		Source: func(*probes.Reference) Source { return a },
	})
	return set, p, truth, err
}

func count(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func index(i int) float64 { return float64(i) + 1 }

// rows is what a Set expects of a tile, the graph's estimate given.
func rows(set *Set, p *probes.Plan, truth *ref.Reference, s probes.Stage, block probes.Dim3,
	kv int) *ref.Estimate {
	sp := p.Stage(s)
	e := ref.NewEstimate(sp.Rows, sp.Cols)
	var graph *ref.Estimate
	if !sp.OfLaunch() {
		pass := truth.FromInputs(nil)
		defer truth.Release(pass)
		pass.Begin(block)
		pass.Before()
		for range kv + 1 {
			pass.Next()
		}
		if !sp.PerTile {
			pass.Next()
			pass.After()
		}
		graph = pass.Estimate(truth.Graph().Index(s))
	}
	set.Rows(s, block, kv, 0, graph, e)
	return e
}

// TestLayouts: the whole of an argument, its tiles, tiles of a dump of some blocks, bits of a type that NumPy
// has none for; and the numbers that come out at a tile.
func TestLayouts(t *testing.T) {
	const npz = `, reference: {npz: ref.npz}`
	whole := npytest.Floats("C", npy.F64, []int{4, 6}, count(24, index)...)
	tiles := npytest.Floats("tile_y", npy.F32, []int{2, 1, 4, 3}, count(24, index)...)
	// Row 1 of y in block (1, 0, 0): of the whole, row 1, columns 3 to 5; of the tiles, the second tile's
	// second row.
	for name, c := range map[string]struct {
		arrays []npytest.Array
		want   []float64
	}{
		"whole":                 {[]npytest.Array{whole}, []float64{10, 11, 12}},
		"whole before its tile": {[]npytest.Array{tiles, whole}, []float64{10, 11, 12}},
		"tiles":                 {[]npytest.Array{tiles}, []float64{16, 17, 18}},
		"blocks in another order": {[]npytest.Array{tiles, npytest.Whole("blocks", npy.I32, []int{2, 3}, 1, 0,
			0, 0, 0, 0)},
			[]float64{4, 5, 6}},
		"not captured": {[]npytest.Array{tiles, npytest.Whole("captured_y", npy.Bool, []int{2, 1, 4, 3},
			append(slices.Repeat([]int64{1}, 16), 0, 1, 1, 1, 1, 1, 1, 1)...)},
			[]float64{16, math.NaN(), 18}},
	} {
		set, p, truth, err := made(t, map[string]string{"STAGE2": npz}, c.arrays...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		e := rows(set, p, truth, "y", probes.Dim3{1, 0, 0}, 0)
		if got := e.Ref.Row(1); !slices.EqualFunc(got, c.want,
			func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if m, ok := set.Exact("y", probes.Dim3{1, 0, 0}, 0); !ok || m.At(1, 0) != c.want[0] || set.Own("a") ||
			set.Has("sum") {
			t.Errorf("%s: exact %v %v", name, m, ok)
		}
	}
	set, p, truth, err := made(t, map[string]string{"STAGE1": npz},
		npytest.Floats("a", npy.F32, []int{2, 2, 4, 2}, count(32, index)...))
	if err != nil {
		t.Fatal(err)
	}
	if e := rows(set, p, truth, "a", probes.Dim3{1, 0, 0}, 1); !slices.Equal(e.Ref.Row(0),
		[]float64{25, 26}) || e.Bound.At(0, 0) <= 0 {
		t.Errorf("a: %v, bound %v", e.Ref, e.Bound)
	}
	bits := make([]int64, 70)
	for i := range bits {
		bits[i] = 0x3f80 + int64(i)
	}
	set, p, truth, err = made(t, map[string]string{"ARG1": npz,
		"ARG2": `, reference: {npz: ref.npz, array: m}`},
		npytest.Whole("count", npy.I64, []int{5}, -3, 0, 1, 2, 32767),
		npytest.Whole("m", npy.U16, []int{7, 10}, bits...)) // of as many elements as the list
	if err != nil {
		t.Fatal(err)
	}
	if e := rows(set, p, truth, "count", probes.Dim3{}, 0); !slices.Equal(e.Ref.Row(0),
		[]float64{-3, 0, 1, 2, 32767}) || slices.Max(e.Bound.Data) != 0 {
		t.Errorf("count: %+v", e)
	}
	sp := p.Stage("more") // a list of 70 is folded into rows of 32 or less: its last row may not be full
	last := probes.BF16.Value(0x3f80 + 69)
	if e := rows(set, p, truth, "more", probes.Dim3{}, 0); e.Ref.Data[0] != 1 || e.Ref.Data[69] != last ||
		sp.Rows*sp.Cols > 70 && e.Ref.Data[70] != 0 {
		t.Errorf("more: %v", e.Ref)
	}
}

// TestTolerances: the bound of a cell by each rule, and its text.
func TestTolerances(t *testing.T) {
	whole := npytest.Floats("C", npy.F64, []int{4, 6}, count(24, index)...)
	for tolerance, c := range map[string]struct {
		bound func(v float64) float64
		says  string
	}{
		", tolerance: {rtol: 0.5, atol: 2}": {func(v float64) float64 { return 2 + 0.5*v },
			"rtol 0.5, atol 2 as the manifest says"},
		", tolerance: {rtol: 0.25}": {func(v float64) float64 { return 0.25 * v },
			"rtol 0.25, atol 0"},
		", tolerance: {baseline: half, factor: 3}": {func(v float64) float64 {
			return 3*0.75 + math.Ldexp(1,
				math.Ilogb(v)-11)
		}, "3 times the largest error of half, 0.75, and a rounding to f16"},
		", tolerance: {baseline: other}": {func(v float64) float64 {
			return 2*0.5 + math.Ldexp(1,
				math.Ilogb(v)-11)
		}, "2 times the largest error of other, 0.5"},
		", tolerance: {baseline: exact, factor: 2}": {func(v float64) float64 {
			return math.Ldexp(1,
				math.Ilogb(v)-11)
		}, "error of exact, 0,"},
	} {
		half, other := count(24, index), count(24, index)
		half[7] -= 0.75
		other[23] += 0.5
		set, p, truth, err := made(t, map[string]string{"STAGE2": ", reference: {npz: ref.npz}" + tolerance},
			whole,
			npytest.Floats("half", npy.F32, []int{4, 6}, half...),
			npytest.Floats("other", npy.F64, []int{4, 6}, other...),
			npytest.Floats("exact", npy.F64, []int{4, 6}, count(24, index)...))
		if err != nil {
			t.Errorf("%s: %v", tolerance, err)
			continue
		}
		e := rows(set, p, truth, "y", probes.Dim3{1, 0, 0}, 0)
		for i, v := range e.Ref.Data {
			if want := c.bound(v); math.Abs(e.Bound.Data[i]-want) > 1e-12 {
				t.Errorf("%s: the bound of %g is %g, want %g", tolerance, v, e.Bound.Data[i], want)
			}
		}
		if text := set.Reason("y"); !strings.Contains(text, c.says) {
			t.Errorf("%s: %q", tolerance, text)
		}
	}
	// Of the graph's own numbers too: the values stay, the bounds are others.
	set, p, truth, err := made(t, map[string]string{"STAGE2": ", tolerance: {atol: 7}"})
	if err != nil {
		t.Fatal(err)
	}
	e := rows(set, p, truth, "y", probes.Dim3{}, 0)
	if m, _ := truth.Block(probes.Dim3{}).Values("y", 0); !slices.Equal(e.Ref.Data, m.Data) ||
		e.Bound.Data[0] != 7 || set.Own("y") || !set.Has("y") {
		t.Errorf("%+v, want %v", e, m)
	}
	// What nothing says the computation of has PyTorch's tolerance, and what the graph computes its derived
	// bound, with the array's rounding.
	set, p, truth, err = made(t, map[string]string{"ARG2": ", reference: {npz: ref.npz}",
		"STAGE2": ", reference: {npz: ref.npz}"}, whole,
		npytest.Floats("more", npy.F32, []int{70}, count(70, index)...))
	if err != nil {
		t.Fatal(err)
	}
	if e := rows(set, p, truth, "more", probes.Dim3{},
		0); math.Abs(e.Bound.Data[9]-(1e-5+1.6e-2*10)) > 1e-12 ||
		!strings.Contains(set.Reason("more"), "assert_close for bf16") {
		t.Errorf("%v, %s", e.Bound.Data[9], set.Reason("more"))
	}
	if e := rows(set, p, truth, "y", probes.Dim3{}, 0); e.Bound.Data[0] <= 0 || e.Bound.Data[0] > 0.1 ||
		set.Reason("y") != "" {
		t.Errorf("%v, %s", e.Bound.Data[0], set.Reason("y"))
	}
	// Without anything of that kind there is no Set, and a nil Set has nothing.
	set, _, _, err = made(t, map[string]string{"STAGE2": ", tolerance: derived"})
	if err != nil || set != nil || set.Has("y") || set.Own("y") {
		t.Errorf("%v, %v", set, err)
	}
}

// TestNotFinite: a cell without a finite reference has bound 0, whatever the rule.
func TestNotFinite(t *testing.T) {
	v := count(24, index)
	v[0], v[1], v[2] = math.NaN(), math.Inf(1), math.Inf(-1)
	set, p, truth, err := made(t,
		map[string]string{"STAGE2": ", reference: {npz: ref.npz}, tolerance: {rtol: 1}"},
		npytest.Floats("C", npy.F64, []int{4, 6}, v...))
	if err != nil {
		t.Fatal(err)
	}
	if e := rows(set, p, truth, "y", probes.Dim3{}, 0); !slices.Equal(e.Bound.Row(0), []float64{0, 0, 0}) ||
		e.Bound.At(1, 0) == 0 || !math.IsInf(e.Ref.At(0, 2), -1) {
		t.Errorf("%+v", e)
	}
}

// TestRefused: what cannot be compared is an error with the place in the manifest, the source, the array and
// what was expected.
func TestRefused(t *testing.T) {
	const npz = ", reference: {npz: ref.npz}"
	nan := slices.Repeat([]float64{math.NaN()}, 24)
	whole := npytest.Floats("C", npy.F64, []int{4, 6}, count(24, index)...)
	short := npytest.Floats("half", npy.F64, []int{24}, count(24, index)...)
	odd := count(24, index)
	odd[3] = math.Inf(1)
	for name, c := range map[string]struct {
		at, part string
		arrays   []npytest.Array
		want     []string
	}{
		"nothing": {"STAGE2", npz, nil,
			[]string{
				`product.yaml:22: stages[2].reference: ref.npz: there is no array "y" or "C" or "tile_y" for y (it has none)`,
			}},
		"another name": {"STAGE1", npz, []npytest.Array{whole},
			[]string{`there is no array "tile_a" or "a" for a (it has "C")`}},
		"a name given": {"STAGE2", ", reference: {npz: ref.npz, array: D}", []npytest.Array{whole},
			[]string{`no array "D" for y (it has "C")`}},
		"transposed": {"STAGE2", npz, []npytest.Array{npytest.Floats("C", npy.F64, []int{6, 4}, count(24,
			index)...)}, []string{`array "C" is f8[6,4]; expected [4,6], as argument C`, `"tile_y"`}},
		"flat": {"STAGE2", npz, []npytest.Array{npytest.Floats("C", npy.F64, []int{24}, count(24,
			index)...)}, []string{"is f8[24]; expected [4,6]"}},
		"tiles as whole": {"STAGE2", npz, []npytest.Array{npytest.Floats("y", npy.F64, []int{2, 1, 4, 3},
			count(24, index)...)}, []string{"expected [4,6]", `called "tile_y"`}},
		"tiles' shape": {"STAGE1", npz, []npytest.Array{npytest.Floats("a", npy.F64, []int{2, 4, 2},
			count(16, index)...)}, []string{"expected [2,2,4,2]: blocks, k tiles, rows and columns of a"}},
		"integers": {"STAGE2", npz, []npytest.Array{npytest.Whole("C", npy.I32, []int{4, 6},
			make([]int64, 24)...)}, []string{`array "C" is i4[4,6]; expected f2, f4 or f8`}},
		"bits of another": {"STAGE2", npz, []npytest.Array{npytest.Whole("C", npy.U16, []int{4, 6},
			make([]int64, 24)...)}, []string{"is u2[4,6]; expected f2, f4 or f8"}},
		"bits": {"ARG2", npz, []npytest.Array{npytest.Whole("more", npy.I16, []int{70},
			make([]int64, 70)...)}, []string{"or the bits of bf16 as u2"}},
		"floats": {"ARG1", npz, []npytest.Array{npytest.Floats("count", npy.F64, []int{5}, 1, 2, 3,
			4, 5)}, []string{"expected an integer type, as the stage is i16"}},
		"too large": {"ARG1", npz, []npytest.Array{npytest.Whole("count", npy.I64, []int{5}, 1, 2,
			40000, 4, 5)}, []string{"element [2] is 40000, which i16 does not have"}},
		"beyond 2^53": {"ARG1", npz, []npytest.Array{npytest.Whole("count", npy.U64, []int{5}, 1, 2, -1,
			4, 5)}, []string{"element [2] is 18446744073709551615, beyond"}},
		"all NaN": {"STAGE2", npz, []npytest.Array{npytest.Floats("C", npy.F64, []int{4, 6}, nan...)},
			[]string{`array "C": none of its 24 elements is a finite number`}},
		"blocks missing": {"STAGE1", npz, []npytest.Array{npytest.Floats("a", npy.F64, []int{1, 2, 4, 2},
			count(16, index)...), npytest.Whole("blocks", npy.I32, []int{1, 3}, 0, 0, 0)},
			[]string{`"a" has no tiles of block 1,0,0`}},
		"blocks twice": {"STAGE1", npz, []npytest.Array{npytest.Floats("a", npy.F64, []int{2, 2, 4, 2},
			count(32, index)...), npytest.Whole("blocks", npy.I32, []int{2, 3}, 0, 0, 0, 0, 0, 0)},
			[]string{"block 0,0,0 is there twice"}},
		"blocks outside": {"STAGE1", npz, []npytest.Array{npytest.Floats("a", npy.F64, []int{2, 2, 4, 2},
			count(32, index)...), npytest.Whole("blocks", npy.I32, []int{2, 3}, 0, 0, 0, 2, 0, 0)},
			[]string{"row 1 lies outside the grid 2,1,1"}},
		"blocks no list": {"STAGE1", npz, []npytest.Array{npytest.Floats("a", npy.F64, []int{2, 2, 4, 2},
			count(32, index)...), npytest.Floats("blocks", npy.F64, []int{1, 3}, 0, 0, 0)},
			[]string{`array "blocks" is f8[1,3]; expected integers [N,3]`}},
		"captured of another shape": {"STAGE1", npz, []npytest.Array{npytest.Floats("tile_a", npy.F64,
			[]int{2, 2, 4, 2}, count(32, index)...), npytest.Whole("captured_a", npy.Bool, []int{2}, 1, 1)},
			[]string{`array "captured_a" is b1[2]; expected b1[2,2,4,2]`}},
		"no baseline": {"STAGE2", npz + ", tolerance: {baseline: half}", []npytest.Array{whole},
			[]string{`product.yaml:22: stages[2].tolerance: ref.npz: there is no array "half"`}},
		"a baseline's shape": {"STAGE2", npz + ", tolerance: {baseline: half}", []npytest.Array{whole, short},
			[]string{`array "half" is f8[24]; expected [4,6]`}},
		"an infinite baseline": {"STAGE2", npz + ", tolerance: {baseline: C2}",
			[]npytest.Array{whole, npytest.Floats("C2", npy.F64, []int{4, 6}, odd...)},
			[]string{"baseline C2 is +Inf at y, block 1,0,0, cell (0,0), where the reference is 4"}},
	} {
		_, _, _, err := made(t, map[string]string{c.at: c.part}, c.arrays...)
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		for _, want := range append(c.want, "product.yaml:") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", name, err, want)
			}
		}
	}
}

// TestDiffers: an archive's copies of the launch's inputs must equal them; arrays that only share
// a name are ignored.
func TestDiffers(t *testing.T) {
	_, p, _, _ := made(t, nil)
	content := npytest.Archive(npytest.Floats("A", npy.F32, []int{2}, 1, 2),
		npytest.Floats("B", npy.F64, []int{1, 4, 1}, 1, 2, 3, 4),
		npytest.Whole("h", npy.U16, []int{1}, 0x3c00))
	a, err := OpenArchive(bytes.NewReader(content), int64(len(content)), "ref.npz", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	same := Input{"A", probes.F32, []int{2}, npytest.Floats("", npy.F32, nil, 1, 2).Data}
	half := Input{"h", probes.BF16, []int{1}, []byte{0, 0x3c}}
	if err := a.Differs(t.Context(), []Input{same, half, {"B", probes.F64, []int{4}, make([]byte, 32)},
		{"nosuch", probes.F32, []int{1}, make([]byte, 4)}}); err != nil {
		t.Error(err)
	}
	other := Input{"A", probes.F32, []int{2}, npytest.Floats("", npy.F32, nil, 1, 3).Data}
	if err := a.Differs(t.Context(), []Input{other}); err == nil ||
		!strings.Contains(err.Error(),
			`array "A" is not the launch's A: element [1] is 0x40000000 there, 0x40400000 here`) {
		t.Errorf("%v", err)
	}
}
