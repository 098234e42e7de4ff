package configs

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/probes"
)

// product is a manifest of a matrix product: dimensions, tensors and positions by name, and two loops.
const productManifest = `schema: tilescope.kernel/1
name: product
source: k.cu
entry: k
constants: {T: 16}
launch: {grid: ["ceil_div(M, T)", "ceil_div(N, T)", 1], block: [32, 1, 1]}
args:
  - {name: A, type: "f16*", dims: [M, K], role: input}
  - {name: B, type: "bf16*", dims: [K, N], role: input, fill: rand}
  - {name: bias, type: "f32*", dims: [N], role: input, fill: ones}
  - {name: order, type: "i32*", dims: [M], role: input, fill: "randint(0, min(M, 7) - 1)"}
  - {name: C, type: "f16*", dims: [M, N], role: output}
  - {name: K, type: i32, value: K}
work: {row: bx * T, col: by * T, k: "(half * 2 + step) * T", last: row + T - 1}
loops: [{name: half, count: "2 - bx % 2"}, {name: step, count: "ceil_div(K, 2 * T)"}]
stages:
  - {name: a, axes: [row, k], dtype: f16, dims: [T, T], valid: ["min(T, M - row)", "max(0, min(T, K - k))"], per: tile, capture: probe,
     op: {load: A, at: [row, k], rows: 0, cols: 1}}
  - {name: sum, axes: [row, col], dtype: f32, dims: [T, T], valid: ["min(T, M - row)", "min(T, N - col)"], per: tile, capture: probe,
     op: {accumulate: {matmul: [a, {load: B, at: [k, col], rows: 0, cols: 1, dims: [T, T]}], over: K}}}
  - {name: c, axes: [row, col], dtype: f16, dims: [T, T], valid: ["min(last + 1, M) - row", "min(T, N - col)"], per: block,
     op: {cast: sum}, capture: {output: C, at: [row, col], rows: 0, cols: 1}}
shapes:
  small: {M: 33, N: 20, K: 64}
  other: {K: 32, M: 16, N: 17}
`

func parsed(t *testing.T, text string) (*Manifest, *Selection) {
	t.Helper()
	m, err := ParseManifest("product.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// TestDimensionsByName: shapes name the dimensions, in the order of the first; expressions, --shape and
// documents know them by name.
func TestDimensionsByName(t *testing.T) {
	m, s := parsed(t, productManifest)
	if got := m.DimNames(); !slices.Equal(got, []string{"M", "N", "K"}) {
		t.Errorf("dimensions %v", got)
	}
	want := probes.ShapeOf([]string{"M", "N", "K"}, 16, 17, 32)
	for _, text := range []string{"other", "M=16,N=17,K=32", "K=32, M=16, N=17"} {
		if got, err := s.ParseShape(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"1,2,3,4": "dimensions of product have names; give M=N,N=N,K=N", "M=16,N=17": "K is missing",
		"M=1,M=2,N=1,K=1": "M is given twice", "M=1,N=1,K=0": "K is 0",
		"M=1,N=1,K=x": `K = "x" is not a number`, "M=1,N=1,Q=1": "no dimension Q (expected M, N, K)",
		"M=1,N=1,K": `expected NAME=N, found "K"`, "huge": "or give M=N,N=N,K=N",
		"M=1,N=1,K=99999999999": "too large",
	} {
		if _, err := s.ParseShape(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := s.Resolve(probes.Listed(1, 1, 32, 64)); err == nil ||
		!strings.Contains(err.Error(), "its dimensions are M, N, K") {
		t.Errorf("B,H,S,D: %v", err)
	}
	b, err := want.MarshalJSON()
	if err != nil || string(b) != `{"M":16,"N":17,"K":32}` {
		t.Errorf("%s, %v", b, err)
	}
	var back probes.Shape
	if err := back.UnmarshalJSON(b); err != nil || back != want || back.String() != "M=16,N=17,K=32" {
		t.Errorf("%v, %v", back, err)
	}
}

// TestProductResolves: tensors, positions, loops and the place of an output tile become numbers.
func TestProductResolves(t *testing.T) {
	_, s := parsed(t, productManifest)
	shape, _ := s.ParseShape("small")
	p, err := s.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	wantInputs := []probes.Input{
		{Name: "A", Arg: 0, Dims: []int{33, 64}, Scales: -1},
		{Name: "B", Arg: 1, Dims: []int{64, 20}, Fill: probes.Fill{Kind: probes.FillRand}, Scales: -1},
		{Name: "bias", Arg: 2, Dims: []int{20}, Fill: probes.Fill{Kind: probes.FillOnes}, Scales: -1},
		{
			Name: "order", Arg: 3, Dims: []int{33}, Fill: probes.Fill{Kind: probes.FillRandInt, Hi: 6},
			Scales: -1,
		},
	}
	if !reflect.DeepEqual(p.Inputs, wantInputs) {
		t.Errorf("inputs %+v", p.Inputs)
	}
	if p.Work.MaxTiles != 4 || p.Work.Tiles.At(probes.Dim3{1, 0, 0}, 0) != 2 ||
		p.Work.Tiles.At(probes.Dim3{2, 1, 0}, 0) != 4 {
		t.Errorf("iterations %+v", p.Work)
	}
	if got := p.Work.Loop(probes.Dim3{0, 0, 0}, 3); got["half"] != 1 || got["step"] != 1 {
		t.Errorf("iteration 3 is %v", got)
	}
	if p.Work.Loop(probes.Dim3{0, 0, 0}, -1) != nil || p.Work.Loop(probes.Dim3{1, 0, 0}, 2) != nil {
		t.Error("iterations outside the loop have indices")
	}
	for kv, want := range []int{0, 16, 32, 48} {
		if got := p.Position("k").At(probes.Dim3{2, 0, 0}, kv); got != want {
			t.Errorf("k of iteration %d is %d, want %d", kv, got, want)
		}
	}
	if got := p.Position("last").At(probes.Dim3{2, 0, 0}, 0); got != 47 {
		t.Errorf("last is %d: a position made of another", got)
	}
	if c := p.Stage("c").Capture; c.Rows != 0 || c.Cols != 1 || c.At[0].At(probes.Dim3{2, 1, 0}, 0) != 32 ||
		c.At[1].At(probes.Dim3{2, 1, 0}, 0) != 16 {
		t.Errorf("c is cut out at %+v", c)
	}
	if p.Conventional || p.Scale != 1 {
		t.Errorf("a product taken for attention: conventional %v, scale %g", p.Conventional, p.Scale)
	}
}

// TestProductMistakes: line and field of each mistake in dimensions, tensors, positions, loops and places.
func TestProductMistakes(t *testing.T) {
	for _, c := range []struct{ old, new, field, says string }{
		{"K: 32, M: 16, N: 17", "K: 32, M: 16", "shapes.other.N", "missing"},
		{"K: 32, M: 16, N: 17", "K: 32, M: 16, N: 17, L: 1", "shapes.other.L", "unknown key"},
		{"{K: 32, M: 16, N: 17}", "[1, 1, 16, 17]", "shapes.other",
			"expected {M: NUMBER, N: NUMBER, K: NUMBER}, found 4 elements"},
		{"M: 33, N: 20, K: 64", "M: 33, 2N: 20, K: 64", "shapes.small", "not an identifier"},
		{"constants: {T: 16}", "constants: {T: 16, M: 1}", "constants.M", "already taken"},
		{"fill: rand}", "fill: gauss}", "args[1].fill",
			`unknown fill "gauss"; expected -inf, computed, inf, iota, nan, ones, rand, randn, unwritten, zeros, randint(LO, HI), a list of numbers or {each: EXPRESSION}`},
		{"randint(0, min(M, 7) - 1)", "randint(0)", "args[3].fill", "randint takes two numbers"},
		{"randint(0, min(M, 7) - 1)", "randint(5, 4)", "args[3].fill", "no number lies between"},
		{"randint(0, min(M, 7) - 1)", "randint(0, bx)", "args[3].fill", "bx may not stand here"},
		{`order, type: "i32*"`, `order, type: "i31*"`, "args[3].type", "unknown element type"},
		{`B, type: "bf16*", dims: [K, N], role: input, fill: rand`,
			`B, type: "i8*", dims: [K, N], role: input`, "quantiser", "or what it holds (fill)"},
		{"dims: [M, N], role: output", "dims: [M, N], role: output, fill: ones", "args[4].fill",
			"only role: input and inout are filled"},
		{"row: bx * T", "row: bx * T, row2: nosuch", "work.row2", "unknown variable nosuch"},
		{"row: bx * T", "T: bx", "work.T", "already taken"},
		{"row: bx * T", "row: bx * T, rwo: bx", "work.rwo", "no expression uses this position"},
		{
			"K: 32, M: 16, N: 17",
			"K: 32, M: 16, N: 17}\n  wide: {A1: 1, A2: 1, A3: 1, A4: 1, A5: 1, A6: 1, A7: 1, A8: 1, A9: 1",
			"shapes.wide", "9 dimensions; expected 1 to 8",
		},
		{"M: 33, N: 20, K: 64", "M: 33, N: 20, K: 64, A4: 1, A5: 1, A6: 1, A7: 1, A8: 1, A9: 1",
			"shapes.small", "9 dimensions; expected 1 to 8"},
		{"last: row + T - 1", "last: row + T - 1, tiles: 2", "loops",
			"work.tiles says how many iterations there are already"},
		{"{name: half, count", "{name: T, count", "loops[0].name", "already taken"},
		{`count: "2 - bx % 2"`, `count: "2 - kv"`, "loops[0].count", "kv may not stand here"},
		{"at: [row, col], rows: 0, cols: 1", "at: [row], rows: 0, cols: 1", "stages[2].capture",
			"a position of 1 dimensions"},
		{"at: [row, col], rows: 0, cols: 1", "at: [row, col], rows: 0, cols: 2", "stages[2].capture",
			"columns along 2"},
		{"at: [row, col], rows: 0, cols: 1", "at: [row, col], rows: 1, cols: 1", "stages[2].capture.cols",
			"rows run along dimension 1 already"},
		{"at: [row, col], rows: 0, cols: 1", "at: [row, col], rows: 0", "stages[2].capture", "needs cols:"},
		{"at: [row, col], rows: 0, cols: 1", "rows: 0, cols: 1", "stages[2].capture.rows", "goes with at"},
		{", at: [row, col], rows: 0, cols: 1}", "}", "stages[2].capture",
			"where the tile lies in C is not known"},
		{"at: [row, col], rows: 0, cols: 1", "at: [row + 9, col], rows: 0, cols: 1",
			"stages[2].capture.at[0]", "expected 0 to"},
		{"{load: A, at: [row, k]", "{load: X, at: [row, k]", "stages[0].op.load",
			`unknown input "X"; expected an argument of role input (A B bias order)`},
		{"{load: A, at: [row, k]", "{load: A, at: [row, nosuch]", "stages[0].op.at",
			"unknown variable nosuch"},
	} {
		if !strings.Contains(productManifest, c.old) {
			t.Fatalf("%q is not in the manifest", c.old)
		}
		_, err := ParseManifest("product.yaml", []byte(strings.Replace(productManifest, c.old, c.new, 1)))
		var all *Errors
		if !errors.As(err, &all) {
			t.Errorf("%s: %v", c.new, err)
			continue
		}
		if !slices.ContainsFunc(all.List, func(e *Error) bool {
			return e.Line > 0 && strings.HasPrefix(e.Field, c.field) && strings.Contains(e.Msg, c.says)
		}) {
			t.Errorf("%s:\n  got  %v\n  want %s, %q", c.new, err, c.field, c.says)
		}
	}
}

// TestResultPlace: a result that is captured otherwise is placed in its output where a convention says
// where, and nowhere else.
func TestResultPlace(t *testing.T) {
	p := resolveEvery(t, strings.Replace(everyOperator, "capture: {output: out}, op: {cast: quot}",
		"capture: probe, op: {cast: quot}", 1))
	if c := p.Output().Capture; c.Kind != probes.CaptureProbe || !slices.Equal(c.Dims, []int{1, 1, 32, 64}) ||
		c.At[2].At(probes.Dim3{1, 0, 0}, 0) != 16 {
		t.Errorf("%+v", c)
	}
	_, s := parsed(t, strings.Replace(productManifest,
		"capture: {output: C, at: [row, col], rows: 0, cols: 1}", "capture: probe", 1))
	shape, _ := s.ParseShape("small")
	p, err := s.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Output().Capture; c.Dims != nil || c.At != nil {
		t.Errorf("%+v", c)
	}
}

// TestScalesNeedCodes: a tensor is the scales of another only where that is quantised; else its
// name means nothing.
func TestScalesNeedCodes(t *testing.T) {
	text := strings.Replace(productManifest, `  - {name: C, type:`,
		`  - {name: orders, type: "f32*", dims: [N], role: input}
  - {name: biass, type: "f16*", dims: [N], role: input}
  - {name: C, type:`, 1)
	m, _ := parsed(t, text)
	names := []string{}
	for _, x := range m.Tensors() {
		names = append(names, x.Name)
	}
	if want := []string{"A", "B", "bias", "order", "orders", "biass"}; !slices.Equal(names, want) {
		t.Errorf("inputs %v, want %v", names, want)
	}
}

// TestFallingKeys: a causal block may walk from its last key to the first; an iteration that a block does not
// have has no position.
func TestFallingKeys(t *testing.T) {
	with := func(key string) (*Manifest, error) {
		const old = "key: kv * BC, tiles: ceil_div(S, BC)"
		return ParseManifest("k.yaml",
			[]byte(strings.Replace(usesManifest, old, `key: "`+key+`", tiles: 2 * bx + 2`, 1)))
	}
	m, err := with("(2 * bx + 1 - kv) * BC")
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
	key := p.Position("key")
	for kv, want := range []int{48, 32, 16, 0} {
		if got := key.At(probes.Dim3{1, 0, 0}, kv); got != want {
			t.Errorf("key of iteration %d is %d, want %d", kv, got, want)
		}
	}
	m, err = with("(2 * bx - kv) * BC")
	if err == nil {
		sel, _ = m.Select("", nil, nil, probes.GateNone)
		_, err = sel.Resolve(m.Shapes[0].Shape)
	}
	if err == nil || !strings.Contains(err.Error(), "is -16; expected 0 to") {
		t.Errorf("an iteration that a block has: %v", err)
	}
}

// TestUsualShape: where nobody names a shape it is validation, else the manifest's first.
func TestUsualShape(t *testing.T) {
	with := func(shapes string) *Manifest {
		m, err := ParseManifest("k.yaml",
			[]byte(strings.Replace(usesManifest, "{validation: [1, 2, 64, 64]}", shapes, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for shapes, want := range map[string]string{
		"{one: [1, 2, 32, 64], validation: [1, 2, 64, 64]}": "1,2,64,64",
		"{one: [1, 2, 32, 64], two: [2, 2, 32, 64]}":        "1,2,32,64",
	} {
		if s, err := with(shapes).ParseShape("validation"); err != nil || s.String() != want {
			t.Errorf("%s: %v, %v, want %s", shapes, s, err, want)
		}
	}
	if _, err := with("{one: [1, 2, 32, 64]}").ParseShape("two"); err == nil {
		t.Error("a shape that there is not is accepted")
	}
}
