package configs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/probes"
)

// computedManifest has an input that is the row sums of another, doubled.
const computedManifest = `schema: tilescope.kernel/1
name: sums
ptx: k.ptx
entry: k
constants: {T: 4}
flags: [{name: TWICE}]
launch: {grid: ["ceil_div(M, T)", 1, 1], block: [32, 1, 1]}
args:
  - {name: x, type: "f32*", dims: [M, N], role: input}
  - {name: sums, type: "f32*", dims: [M], role: input, fill: computed}
  - {name: y, type: "f32*", dims: [M, N], role: output}
  - {name: z, type: "f32*", dims: [M], role: output}
computed:
  grid: ["ceil_div(M, T)", 1, 1]
  work: {first: bx * T}
  stages:
    - {name: part, dims: [T, N], op: {load: x, at: [first, 0], rows: 0, cols: 1}}
    - {name: total, dims: [T, 1], valid: ["min(T, M - first)", 1], op: {scale: {reduce: part, how: sum}, factor: "TWICE ? 2 : 1"},
       capture: {output: sums, at: [first], rows: 0}}
work: {row: bx * T}
stages:
  - {name: y, axes: [row, col], dtype: f32, dims: [T, N], valid: ["min(T, M - row)", N], per: block,
     op: {map: v / s, v: {load: x, at: [row, 0], rows: 0, cols: 1, dims: [T, N]}, s: {load: sums, at: [row], rows: 0, dims: [T, 1]}},
     capture: {output: y, at: [row, 0], rows: 0, cols: 1}}
  - {name: z, axes: [row], dtype: f32, dims: [T, 1], valid: ["min(T, M - row)", 1], per: block,
     op: {load: sums, at: [row], rows: 0}, capture: {output: z, at: [row], rows: 0}}
shapes: {small: {M: 6, N: 5}}
`

func TestComputed(t *testing.T) {
	m, err := ParseManifest("sums.yaml", []byte(computedManifest))
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select("", map[string]string{"TWICE": "1"}, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sel.Resolve(m.Shapes[0].Shape)
	if err != nil {
		t.Fatal(err)
	}
	c := p.Computed
	if c == nil || c.Grid != (probes.Dim3{2, 1, 1}) || len(c.Stages) != 2 ||
		!strings.Contains(c.Text, "name: total") {
		t.Fatalf("computed %+v", c)
	}
	total := c.Stage("total")
	if total.DType != probes.F64 || total.ValidRows.At(probes.Dim3{1, 0, 0}, 0) != 2 ||
		total.Capture.At[0].At(probes.Dim3{1, 0, 0}, 0) != 4 || total.Op.Params.Number["factor"] != 2 {
		t.Errorf("total %+v", total)
	}
	if len(c.Inputs) != 1 || c.Inputs[0].Name != "x" || len(p.Inputs) != 2 ||
		p.Inputs[1].Fill.Kind != probes.FillComputed {
		t.Errorf("inputs %+v of %+v", c.Inputs, p.Inputs)
	}
	var results []string
	for _, a := range p.Results() {
		results = append(results, a.Name)
	}
	if !slices.Equal(results, []string{"y", "z"}) || !p.OutputSet().Has("z") || p.Output().Stage != "y" {
		t.Errorf("results %v, outputs %v", results, p.OutputSet())
	}
}

func TestComputedMistakes(t *testing.T) {
	for _, c := range []struct{ old, new, field, says string }{
		{"role: input, fill: computed", "role: input", "computed", "no argument has fill: computed"},
		{"capture: {output: sums, at: [first], rows: 0}", "capture: probe", "computed.stages[1].capture",
			"nothing is launched here"},
		{"capture: {output: sums, at: [first], rows: 0}", "capture: none", "computed.stages[1].capture",
			"nothing is launched here"},
		{"capture: {output: sums, at", "capture: {output: y, at", "computed.stages[1].capture.output",
			"no input with fill: computed is named y"},
		{",\n       capture: {output: sums, at: [first], rows: 0}", "", "computed.stages",
			"no stage is captured as sums"},
		{"load: x, at: [first, 0]", "load: sums, at: [first, 0]", "computed.stages[0].op.load",
			`unknown input "sums"`},
		{"load: x, at: [first, 0]", "load: x, at: [row, 0]", "computed.stages[0].op.at",
			"unknown variable row"},
		{"dims: [T, N], op:", "op:", "computed.stages[0].dims", "missing"},
		{"how: sum}, factor", "how: product}, factor", "computed.stages[1].op.scale.how", "no how"},
		{"work: {first: bx * T}", "work: {first: bx * T}\n  block: 3", "computed.block", "unknown key"},
		{"fill: computed", "fill: calculated", "args[1].fill", "unknown fill"},
		{`type: "f32*", dims: [M], role: input`, `type: "i32*", dims: [M], role: input`, "args[1].fill",
			"what is computed is an input of a floating-point type"},
		{"at: [first], rows: 0", "at: [first + 3], rows: 0", "computed.stages[1].capture.at[0]",
			"expected 0 to 5"},
	} {
		if !strings.Contains(computedManifest, c.old) {
			t.Fatalf("no %q", c.old)
		}
		_, err := ParseManifest("sums.yaml", []byte(strings.Replace(computedManifest, c.old, c.new, 1)))
		var all *Errors
		if !errors.As(err, &all) {
			t.Errorf("%s: %v", c.new, err)
			continue
		}
		if !slices.ContainsFunc(all.List, func(e *Error) bool {
			return e.Field == c.field && e.Line > 0 && strings.Contains(e.Msg, c.says)
		}) {
			t.Errorf("%s:\n  got  %v\n  want %s, %q", c.new, err, c.field, c.says)
		}
	}
	missing := computedManifest[:strings.Index(computedManifest, "computed:\n")] +
		computedManifest[strings.Index(computedManifest, "work: {row"):]
	if _, err := ParseManifest("sums.yaml", []byte(missing)); err == nil ||
		!strings.Contains(err.Error(), "computed: missing; an argument has fill: computed") {
		t.Errorf("without computed: %v", err)
	}
}

// A tile may lie in its array in an order of its own.
func TestIndex(t *testing.T) {
	with := func(index string) (*Manifest, error) {
		return ParseManifest("k.yaml",
			[]byte(strings.Replace(usesManifest, "capture: {shared: sS,",
				"index: \""+index+"\", capture: {shared: sS,", 1)))
	}
	m, err := with("r * BC + xor(div(c, 4), r % 4) * 4 + c % 4")
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
	cells := p.Stage("S").Cells
	if len(cells) != 32*16 || cells[0] != 0 || cells[16] != 16+4 || cells[16+4] != 16 ||
		cells[16*6+1] != 16*6+8+1 {
		t.Errorf("cells %v", cells[:24])
	}
	for index, says := range map[string]string{
		"r * BC":          `"r * BC" is 0 for the cells (0,0) and (0,1): each has a place of its own`,
		"r * BC + c + 1":  "expected 0 to 511 (shape 1,2,64,64, r = 31, c = 15)",
		"r * BC + c + kv": "kv may not stand here", "r * BC + (c > 3)": "takes numbers",
		"xor(0 - 1 - c, r)": "xor wants whole numbers from 0 on",
	} {
		if _, err := with(index); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "stages[0].index") {
			t.Errorf("%s: %v, want %q", index, err, says)
		}
	}
	_, err = ParseManifest("k.yaml",
		[]byte(strings.Replace(usesManifest, "per: block, capture: {output: O}",
			"per: block, index: r * D + c, capture: {output: O}", 1)))
	if err == nil || !strings.Contains(err.Error(), "goes with capture: probe and {shared: ...}") {
		t.Errorf("an output: %v", err)
	}
}

// Q, K, V and O that name their dimensions in another order are loaded and cut out in it.
func TestConventionalOrder(t *testing.T) {
	text := strings.ReplaceAll(usesManifest, "dims: [B, H, S, D]", "dims: [B, S, H, D]")
	m, err := ParseManifest("k.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	sel, _ := m.Select("", nil, nil, probes.GateNone)
	p, err := sel.Resolve(m.Shapes[0].Shape)
	if err != nil {
		t.Fatal(err)
	}
	at := probes.Dim3{1, 1, 0}
	k := p.Definition("K").Op.Params
	if i := k.Index["at"]; len(i) != 4 || i[1].At(at, 2) != 32 || i[2].At(at, 2) != 1 ||
		k.Number["rows"] != 1 || k.Number["cols"] != 3 {
		t.Errorf("K at %v, %v", k.Index, k.Number)
	}
	o := p.Stage("O").Capture
	if o.At[1].At(at, 0) != 32 || o.At[2].At(at, 0) != 1 || o.Rows != 1 || o.Cols != 3 ||
		!slices.Equal(o.Dims, []int{1, 64, 2, 64}) {
		t.Errorf("O %+v", o)
	}
	if p.Conventional || !slices.Equal(p.Input("K").Dims, []int{1, 64, 2, 64}) {
		t.Errorf("conventional %v, K %v", p.Conventional, p.Input("K").Dims)
	}
	if names := m.Tensors()[1].Dims; !slices.Equal(names, []string{"B", "S", "H", "D"}) {
		t.Errorf("K has the dimensions %v", names)
	}
}

// documentedBlock is the code block of docs/own-kernel.md that has a text.
func documentedBlock(t *testing.T, has string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "own-kernel.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		if block, _, _ := strings.Cut(part, "```"); strings.Contains(block, has) {
			return block
		}
	}
	t.Fatalf("docs/own-kernel.md has no block with %q", has)
	return ""
}

// What docs/own-kernel.md shows of layouts, swizzled tiles and computed inputs is part of
// manifests that are read.
func TestDocumentedLayouts(t *testing.T) {
	const head = `schema: tilescope.kernel/1
name: page
source: k.cu
entry: k
constants: {N: 16, ROW: H * D + 8}
launch: {grid: [1, H, B], block: [32, 1, 1]}
`
	const tail = `work: {batch: bz, head: by, key: kv * N, tiles: "ceil_div(S, N)"}
shared: [{name: sK, type: f16, dims: [N * 64]}]
`
	const shapes = "shapes: {one: {B: 1, H: 2, S: 32, D: 64}}\n"
	layouts := strings.Replace(head, "{N: 16, ROW: H * D + 8}", "{N: 16, ROW: 136}", 1) +
		documentedBlock(t, "name: QKV") + tail + `stages:
  - {name: keys, axes: [key, d], dtype: f16, dims: [N, D], valid: [N, D], per: tile, capture: probe, op: {load: QKV, at: [batch, key, 1, head, 0], rows: 1, cols: 4}}
  - {name: values, axes: [key, d], dtype: f16, dims: [N, D], valid: [N, D], per: tile, capture: probe, op: {load: Vt, at: [batch, head, 0, key], rows: 3, cols: 2}}
` + shapes
	swizzled := strings.Replace(head, ", ROW: H * D + 8", "", 1) +
		`args: [{name: K, type: "f16*", dims: [B, H, S, D], role: input}]
` + tail + "stages:\n" + documentedBlock(t, "xor(") + shapes
	computed := strings.Replace(head, ", ROW: H * D + 8", "", 1) +
		strings.Replace(documentedBlock(t, "fill: computed"), "args:\n", `args:
  - {name: Q, type: "f16*", dims: [B, H, S, D], role: input}
  - {name: K, type: "f16*", dims: [B, H, S, D], role: input}
`, 1) + tail + `stages:
  - {name: own, axes: [key], dtype: f32, dims: [N, 1], valid: [N, 1], per: tile, capture: probe, op: {load: LSE, at: [batch, head, key], rows: 2}}
` + shapes
	for name, text := range map[string]string{
		"layouts": layouts, "swizzled": swizzled, "computed": computed,
	} {
		if _, err := ParseManifest(name+".yaml", []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
