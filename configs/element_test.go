package configs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tilescope/probes"
)

// varlenManifest is a kernel over sequences one after the other, of lengths that an input has.
const varlenManifest = `schema: tilescope.kernel/1
name: varlen
ptx: k.ptx
entry: k
constants: {M: 16, N: 16}
launch: {grid: ["ceil_div(L, M)", 1, B], block: [32, 1, 1]}
args:
  - {name: Q, type: "f16*", dims: [T, D], role: input}
  - {name: K, type: "f16*", dims: [T, D], role: input}
  - {name: cu, type: "i32*", dims: [B + 1], role: input, fill: [0, 5, 5, T]}
  - {name: used, type: "i32*", dims: [B], role: input, fill: {each: 7 * i + 1}}
  - {name: Y, type: "f32*", dims: [T], role: output}
work:
  first: cu[bz]
  length: cu[bz + 1] - cu[bz]
  query: bx * M
  key: kv * N
  tiles: "bx * M < length ? ceil_div(min(length, used[bz]), N) : 0"
stages:
  - {name: q, axes: [row, d], dtype: f16, dims: [M, D], valid: ["min(M, length - query)", D], per: block, capture: probe,
     op: {load: Q, at: [first + query, 0], rows: 0, cols: 1}}
  - {name: s, axes: [row, key], dtype: f32, dims: [M, N], valid: ["min(M, length - query)", "min(N, used[bz] - key)"], per: tile, capture: probe,
     op: {matmul: [q, {load: K, at: [first + key, 0], rows: 0, cols: 1, dims: [N, D]}], transpose: right}}
  - {name: m, axes: [row], dtype: f32, dims: [M, 1], valid: ["min(M, length - query)", 1], per: tile, capture: probe,
     op: {rowmax: s, running: true, mask: ["key + c < used[bz]", key + c <= query + r]}}
  - {name: y, axes: [row], dtype: f32, dims: [M, 1], valid: ["min(M, length - query)", 1], per: block,
     op: {cast: m}, capture: {output: Y, at: [first + query], rows: 0}}
shapes: {validation: {B: 3, T: 40, L: 48, D: 8}}
`

func varlen(t *testing.T, text string) *Selection {
	t.Helper()
	m, err := ParseManifest("varlen.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// Extents, loop counts, positions and masks follow the elements of the inputs.
func TestExtentsOfElements(t *testing.T) {
	sel := varlen(t, varlenManifest)
	p, err := sel.Resolve(sel.Manifest.Shapes[0].Shape)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Input("cu").Fill.Values; !slices.Equal(got, []float64{0, 5, 5, 40}) {
		t.Errorf("cu %v", got)
	}
	if got := p.Input("used").Fill.Values; !slices.Equal(got, []float64{1, 8, 15}) {
		t.Errorf("used %v", got)
	}
	s, m := p.Stage("s"), p.Stage("m")
	for _, c := range []struct {
		block                     probes.Dim3
		first, tiles, rows, valid int
	}{
		{probes.Dim3{0, 0, 0}, 0, 1, 5, 1}, {probes.Dim3{1, 0, 0}, 0, 0, 0, 1},
		{probes.Dim3{0, 0, 1}, 5, 0, 0, 8}, {probes.Dim3{2, 0, 2}, 5, 1, 3, 15},
	} {
		got := fmt.Sprint(p.Position("first").At(c.block, 0), p.Work.Tiles.At(c.block, 0),
			s.ValidRows.At(c.block, 0), s.ValidCols.At(c.block, 0))
		if want := fmt.Sprint(c.first, c.tiles, c.rows, c.valid); got != want {
			t.Errorf("block %v: first, tiles, rows, columns are %s, want %s", c.block, got, want)
		}
	}
	mask := m.Op.Params.Mask
	if !mask.Visible(probes.Dim3{2, 0, 2}, 0, 0, 14) || mask.Visible(probes.Dim3{2, 0, 2}, 0, 0, 15) ||
		mask.Visible(probes.Dim3{0, 0, 2}, 0, 3, 4) {
		t.Errorf("mask %+v", mask)
	}
	at := p.Stage("y").Capture.At[0]
	if a, b := at.At(probes.Dim3{1, 0, 2}, 0), at.At(probes.Dim3{2, 0, 2}, 0); a != 21 || b != 37 {
		t.Errorf("the tiles of y begin at %d and %d", a, b)
	}
}

// A plan is of the inputs that it was resolved for.
func TestResolveFor(t *testing.T) {
	sel := varlen(t, varlenManifest)
	shape := sel.Manifest.Shapes[0].Shape
	given := func(cu ...int64) Values {
		return func(ctx context.Context, p *probes.Plan, in *probes.Input) ([]int64, error) {
			if in.Name == "cu" {
				return cu, nil
			}
			return Seeded(0)(ctx, p, in)
		}
	}
	p, err := sel.ResolveFor(t.Context(), shape, given(0, 0, 33, 40))
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Work.Tiles.At(probes.Dim3{2, 0, 1}, 0); n != 1 {
		t.Errorf("%d tiles", n)
	}
	for _, c := range []struct {
		cu   []int64
		says string
	}{
		{
			[]int64{
				-3, 5, 9, 40,
			}, `varlen.yaml:14: work.first: "cu[bz]" is -3; expected 0 to 2147483647 (shape B=3,T=40,L=48,D=8, bz = 0, cu[0] = -3)`,
		},
		{
			[]int64{
				0, 5, 9, 90,
			}, `"first + query" is 41; expected 0 to 39 (shape B=3,T=40,L=48,D=8, bx = 2, bz = 2, cu[2] = 9)`,
		},
	} {
		_, err := sel.ResolveFor(t.Context(), shape, given(c.cu...))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.cu, err, c.says)
		}
	}
	broken := errors.New("no such array")
	_, err = sel.ResolveFor(t.Context(), shape,
		func(context.Context, *probes.Plan, *probes.Input) ([]int64, error) { return nil, broken })
	if err != broken { //nolint:errorlint // it comes as it is
		t.Errorf("an error of the inputs came as %v", err)
	}
}

// What no expression can mean is refused where it stands.
func TestElementMistakes(t *testing.T) {
	for _, c := range []struct{ old, new, field, says string }{
		{"first: cu[bz]", "first: cu[bz][0]", "work.first", "cu has 1 dimensions, not 2"},
		{"first: cu[bz]", "first: Q[bz][0]", "work.first", "Q is no integer input (known: cu used)"},
		{"first: cu[bz]", "first: cy[bz]", "work.first", "cy is no integer input (known: cu used)"},
		{"first: cu[bz]", "first: cu[bz > 0]", "work.first", "a subscript takes numbers"},
		{"first: cu[bz]", "first: cu[bz / 4]", "work.first", "a subscript is a whole number"},
		{"first: cu[bz]", "first: cu[bz + 2]", "work.first",
			"cu has no element 4 of dimension 0: it has 0 to 3"},
		{"first: cu[bz]", "first: (1 + 2)[bz]", "work.first", "only an input has elements"},
		{"M: 16", "M: \"cu[0]\"", "constants.M", "cu is no integer input (there are none)"},
		{"constants: {M: 16, N: 16}", "constants: {M: 16, N: 16}\nrequires: [{that: \"cu[0] == 0\", say: x}]",
			"requires[0].that", "no integer input"},
		{`dims: [M, N], valid: ["min(M, length - query)", "min(N`,
			`dims: [M, "used[0]"], valid: ["min(M, length - query)", "min(N`, "stages[1].dims[1]",
			"an element of used may not stand here"},
		{`"key + c < used[bz]"`, `"key + c < used[bz + r]"`, "stages[2].op.mask",
			"by row or column; that takes a stage with the operator mask"},
		{"fill: [0, 5, 5, T]", "fill: [0, 5, T]", "args[2].fill", "3 numbers for the 4 elements of cu"},
		{"fill: [0, 5, 5, T]", "fill: [0, 5, 5, T / 3]", "args[2].fill[3]", "expected a whole number"},
		{"fill: [0, 5, 5, T]", "fill: [0, 5, 5, 2 ** 40]", "args[2].fill[3]",
			"expected -2147483648 to 2147483647"},
		{"fill: [0, 5, 5, T]", "fill: []", "args[2].fill", "expected at least one element"},
		{"fill: {each: 7 * i + 1}", "fill: {each: 7 * j + 1}", "args[3].fill.each", "unknown variable j"},
		{"fill: {each: 7 * i + 1}", "fill: {each: kv}", "args[3].fill.each", "kv may not stand here"},
		{"fill: {each: 7 * i + 1}", "fill: {every: 1}", "args[3].fill.every", "unknown key"},
	} {
		if !strings.Contains(varlenManifest, c.old) {
			t.Fatalf("no %q", c.old)
		}
		_, err := ParseManifest("varlen.yaml", []byte(strings.Replace(varlenManifest, c.old, c.new, 1)))
		var all *Errors
		if !errors.As(err, &all) {
			t.Errorf("%s: %v", c.new, err)
			continue
		}
		if !slices.ContainsFunc(all.List, func(e *Error) bool {
			return e.Field == c.field && strings.Contains(e.Msg, c.says)
		}) {
			t.Errorf("%s:\n  got  %v\n  want %s, %q", c.new, err, c.field, c.says)
		}
	}
}

// A table entry that no iteration of a block has may hold anything.
func TestElementsOfIterationsThatThereAreNot(t *testing.T) {
	text := strings.Replace(varlenManifest, "fill: {each: 7 * i + 1}}", `fill: {each: 7 * i + 1}}
  - {name: table, type: "i32*", dims: [B, 3], role: input, fill: [1, -1, -1, -1, -1, -1, 2, 0, -1]}`, 1)
	text = strings.Replace(text, "  query: bx * M", "  page: table[bz][kv]\n  query: bx * M", 1)
	text = strings.Replace(text, "at: [first + key, 0]", "at: [page * N, 0]", 1)
	sel := varlen(t, text)
	if _, err := sel.Resolve(sel.Manifest.Shapes[0].Shape); err != nil {
		t.Fatal(err)
	}
	_, err := ParseManifest("varlen.yaml",
		[]byte(strings.Replace(text, "[1, -1, -1, -1, -1, -1, 2", "[1, -1, -1, -1, -1, -1, -2", 1)))
	if err == nil || !strings.Contains(err.Error(), `"table[bz][kv]" is -2; expected 0 to 2147483647`) {
		t.Errorf("an entry of the first iteration: %v", err)
	}
}
