package debugkern_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// ask returns the lineage of a cell of a catalogue kernel on its validation shape.
func ask(t *testing.T, target string, req debugkern.LineageRequest) *report.Lineage {
	t.Helper()
	doc, err := debugtest.Open(t).Lineage(t.Context(),
		debugkern.Request{Target: target, Shape: "validation"}, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// leaves lists the elements that a document's cell is made of, by value.
func leaves(doc *report.Lineage) string {
	var out []string
	for i := range doc.Nodes {
		if n := &doc.Nodes[i]; len(n.Of) == 0 && n.Element != "" && n.Kind == "value" {
			out = append(out, n.Element)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// TestLineageCells: cells of stages are made of the rows and columns that attention says, and the value
// is that of the run.
func TestLineageCells(t *testing.T) {
	for _, c := range []struct{ target, cell, want string }{
		{
			"flashcore_vec", "S@1[3,17]",
			"K[0][0][49][0..7,16..23,32..39,48..55] K[0][0][49][8..15,24..31,40..47,56..63] " +
				"Q[0][0][3][0..7,16..23,32..39,48..55] Q[0][0][3][8..15,24..31,40..47,56..63] softmax_scale",
		},
		{"flashcore_fused_wmma", "K@1[3,17]", "K[0][0][35][17]"},
		{"flashcore_fused_wmma", "V@2[0,63]", "V[0][0][64][63]"},
		{"flashcore_fused_wmma", "Q[7,5]", "Q[0][0][7][5]"},
		{"gemm_wmma", "C[3,17]", "A[3][0..127] B[0..127][17] bias[17]"},
		{"layernorm", "Y[7]", "C X[0][0..159] X[0][7] beta[7] eps gamma[7]"},
	} {
		doc := ask(t, c.target, debugkern.LineageRequest{Cell: c.cell})
		if got := leaves(doc); got != c.want {
			t.Errorf("%s of %s is made of\n%s, want\n%s", c.cell, c.target, got, c.want)
		}
		if doc.Schema != report.LineageSchema || doc.Value == nil || doc.Truncated {
			t.Errorf("%s of %s: schema %q, value %v, truncated %v", c.cell, c.target, doc.Schema, doc.Value,
				doc.Truncated)
		}
	}
}

// TestLineageValue: what the document says that the cell holds is what the run captured, and the nodes'
// values are those of the operations behind it.
func TestLineageValue(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "flashcore_fused_wmma", Shape: "validation"})
	for _, c := range []debugkern.Cell{
		{Place: debugkern.Place{Stage: "S", Block: probes.Dim3{1, 2, 0}, KVTile: 1}, Row: 9, Col: 31},
		{Place: debugkern.Place{Stage: "P", KVTile: 3}, Row: 0, Col: 1},
		{Place: debugkern.Place{Stage: "U", Block: probes.Dim3{0, 1, 0}, KVTile: 2}, Row: 31, Col: 63},
		{Place: debugkern.Place{Stage: "l", KVTile: 2}, Row: 31},
		{Place: debugkern.Place{Stage: "O", Block: probes.Dim3{3, 0, 0}}, Row: 5, Col: 6},
	} {
		doc, err := run.Lineage(t.Context(), c, debugkern.LineageRequest{})
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		v, err := run.View(c.Place)
		if err != nil {
			t.Fatal(err)
		}
		if want := v.Got.At(c.Row, c.Col); doc.Value == nil || float64(*doc.Value) != want {
			t.Errorf("%v: value %v, captured %v", c, doc.Value, want)
		}
		w, err := run.Writer(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if n := doc.Nodes[0]; n.Warp != nil && *n.Warp != w.Warp ||
			n.Warp == nil && !slices.Contains(n.Warps, w.Warp) || n.Source.Line > w.Source.Line ||
			max(n.Line, n.Source.Line) < w.Source.Line {
			t.Errorf("%v: made at %+v by warp %v, written at %+v by warp %d", c, n.Source, n.Warp,
				w.Source, w.Warp)
		}
	}
}

// TestLineageHopper: an output is followed through wgmma, from registers and by descriptors of every swizzle,
// and through tensor copies, to the elements that attention says and what lies outside the tensor.
func TestLineageHopper(t *testing.T) {
	for _, swizzle := range []string{"128", "64", "32", "16"} {
		req := debugkern.Request{
			Target: "stage5_hopper", Shape: "partial", Set: map[string]string{"SWIZZLE": swizzle},
		}
		for cell, want := range map[string]string{
			"O[0,1,198,37]": "K[0][1][0..200][0..63] Q[0][1][198][0..63] V[0][1][0..200][37] " +
				"filled by the tensor map softmax_scale",
			"S@1[5,9]":  "K[0][0][73][0..63] Q[0][0][5][0..63] softmax_scale",
			"V@2[3,17]": "V[0][0][131][17]",
		} {
			doc, err := debugtest.Open(t).Lineage(t.Context(), req, debugkern.LineageRequest{Cell: cell}, nil)
			if err != nil {
				t.Errorf("%s: %v", cell, err)
			} else if got := leaves(doc); got != want {
				t.Errorf("swizzle %s: %s is made of\n%s, want\n%s", swizzle, cell, got, want)
			}
		}
	}
}

// TestLineageIterations: what a cell takes from several iterations of the loop over tiles says from which.
func TestLineageIterations(t *testing.T) {
	found := ""
	for _, line := range ask(t, "stage2", debugkern.LineageRequest{Cell: "O[1,0]"}).Tree(0) {
		if strings.Contains(line.Brief, " values in ") {
			found += line.Brief + "\n"
		}
	}
	if !strings.Contains(found, " 4 values in kv 0-3 = ") {
		t.Errorf("no operation says that its four values are of kv 0 to 3:\n%s", found)
	}
}

// TestLineageRefusals: what is not there is a usage error that says what is.
func TestLineageRefusals(t *testing.T) {
	block := probes.Dim3{9, 9, 9}
	for _, c := range []struct {
		cell  string
		block *probes.Dim3
		want  string
	}{
		{"S@9[3,17]", nil, "stage S has kv tiles 0 to 3"},
		{"S@0[99,1]", nil, "in a block stage S is 32×32 (rows×columns); --in-block chooses"},
		{"X[1]", nil, `has no stage or argument "X"; it has stages Q[32,64]`},
		{"O[0,0,1]", nil, "argument O has dimensions [1 4 128 64]: one index for each, or one for all"},
		{"O[32768]", nil, "and 32768 elements"},
		{"O@1[3,4]", nil, "stage O has one tile a block, O[ROW,COLUMN]"},
		{"S", nil, "expected STAGE@TILE[ROW,COLUMN]"},
		{"O[0][0] [1]", nil, "argument O has dimensions [1 4 128 64]: one index for each, or one for all"},
		{"O@1[3][4]", nil, "stage O has one tile a block, O[ROW,COLUMN]"},
		{"O[1][", nil, "expected STAGE@TILE[ROW,COLUMN]"},
		{"S@1[3,17]", &block, "block 9,9,9 lies outside"},
		{"Q[0,0,0,7]", nil, "no block writes it"},
	} {
		_, err := debugtest.Open(t).Lineage(t.Context(),
			debugkern.Request{Target: "stage2", Shape: "validation"},
			debugkern.LineageRequest{Cell: c.cell, Block: c.block}, nil)
		var coded *report.Error
		if !errors.As(err, &coded) || coded.Code != report.CodeUsage ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.cell, err, c.want)
		}
	}
}

// lastBlock is a kernel whose last block reads what all wrote.
func lastBlock(t *testing.T) (*debugkern.Session, debugkern.Request) {
	t.Helper()
	s := debugtest.Open(t)
	req, err := checkrun.Adopt(t.Context(), s, checkrun.Request{
		File: "checkrun/testdata/last_block.ptx", Grid: probes.Dim3{4, 1, 1}, Block: probes.Dim3{32, 1, 1},
		Cluster: probes.Dim3{1, 1, 1}, Backend: "emu",
		Args: []checkrun.Argument{
			{Name: "arg0", Value: "randn:f32[8]"}, {Name: "arg1", Value: "unwritten:f32[4]"},
			{Name: "arg2", Value: "zeros:u32[1]"}, {Name: "arg3", Value: "unwritten:f32[1]"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, req
}

// TestLineageAcrossBlocks: what another block wrote is a leaf that says so, and with Across the
// lineage continues there.
func TestLineageAcrossBlocks(t *testing.T) {
	s, req := lastBlock(t)
	doc, err := s.Lineage(t.Context(), req, debugkern.LineageRequest{Cell: "arg3[0]"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(doc.Tree(0))
	if doc.Block != [3]int{3, 0, 0} || !strings.Contains(text, "arg1[0..2], written by another block") ||
		!strings.Contains(text, "arg0[6]") {
		t.Errorf("block %v: %s", doc.Block, text)
	}
	doc, err = s.Lineage(t.Context(), req, debugkern.LineageRequest{Cell: "arg3[0]", Across: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := leaves(doc),
		"arg0[0] arg0[1] arg0[2] arg0[3] arg0[4] arg0[5] arg0[6] arg0[7]"; got != want {
		t.Errorf("across blocks it is made of %s, want %s:\n%v", got, want, doc.Tree(0))
	}
	if text := fmt.Sprint(doc.Tree(0)); !strings.Contains(text,
		"arg1[0..2], written by 3 blocks, block 0,0,0 first") || !strings.Contains(text, "block 2,0,0") {
		t.Error(text)
	}
}

// columns makes a stage of y, eight of its columns a block.
const columns = `shapes: {validation: {N: 64}}
work: {col: bx * 8}
stages:
  - {name: part, axes: [row, col], dtype: f32, dims: [4, 8], valid: [4, 8], per: block,
     capture: {output: y, at: [0, col], rows: 0, cols: 1}}
`

// strided is the kernel of cli/testdata/reference, y = 2x over 64 elements of memory, 32 a block, with other
// dimensions and strides of x and y, and more lines in its manifest.
func strided(t *testing.T, x, y, more string) debugkern.Request {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"twice.ptx", "twice.yaml"} {
		text, err := os.ReadFile(filepath.Join("cli", "testdata", "reference", name))
		if err != nil {
			t.Fatal(err)
		}
		changed := string(text)
		if name == "twice.yaml" {
			for arg, extents := range map[string]string{"x": x, "y": y} {
				before, after, found := strings.Cut(changed, "name: "+arg+`, type: "f32*", dims: [4, 16]`)
				if !found {
					t.Fatalf("the manifest has no argument %s of 4 x 16", arg)
				}
				changed = before + "name: " + arg + `, type: "f32*", ` + extents + after
			}
			changed += more
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return debugkern.Request{Target: filepath.Join(dir, "twice.yaml"), Backend: "emu"}
}

// madeOf describes what an element of y is made of: its block, its own name, and that of the element of x.
func madeOf(doc *report.Lineage) string {
	return fmt.Sprintf("%s: block %v: %s of %s", doc.Cell, doc.Block, doc.Nodes[0].Op, leaves(doc))
}

// TestLineageOfStrides: an element of an argument with strides is found where the strides say, whether a cell
// names it by its indices, by its number, or as a cell of a tile, and elements are named by their indices.
func TestLineageOfStrides(t *testing.T) {
	const (
		plain  = "dims: [4, 16]"
		turned = "dims: [16, 4], strides: [1, 16]" // y[1,2] is the place 33 in memory
		apart  = "dims: [2, 16], strides: [33, 2]" // with a gap after each element
		across = "dims: [4, 16], strides: [1, 4]"
	)
	second := probes.Dim3{1, 0, 0}
	for _, c := range []struct {
		x, y, more, cell string
		block            *probes.Dim3
		want             string
	}{
		{plain, turned, "", "y[1,2]", nil, "y[1,2]: block [1 0 0]: stored to y[1][2] of x[2][1]"},
		{plain, turned, "", "y[6]", nil, "y[6]: block [1 0 0]: stored to y[1][2] of x[2][1]"},
		{turned, turned, "", "y[15,0]", nil, "y[15,0]: block [0 0 0]: stored to y[15][0] of x[15][0]"},
		{plain, apart, "", "y[1,2]", nil, "y[1,2]: block [1 0 0]: stored to y[1][2] of x[2][5]"},
		{apart, plain, "", "y[2,5]", nil, "y[2,5]: block [1 0 0]: stored to y[2][5] of x[1][2]"},
		{plain, across, columns, "part[2,5]", &second,
			"part[2,5]: block [1 0 0]: stored to y[2][13] of x[3][6]"},
		{plain, plain, "", "y[1,2]", nil, "y[1,2]: block [0 0 0]: stored to y[1][2] of x[1][2]"},
	} {
		req := strided(t, c.x, c.y, c.more)
		ask := debugkern.LineageRequest{Cell: c.cell, Block: c.block}
		doc, err := debugtest.Open(t).Lineage(t.Context(), req, ask, nil)
		if err != nil {
			t.Errorf("%s of %s, %s: %v", c.cell, c.x, c.y, err)
			continue
		}
		if got := madeOf(doc); got != c.want {
			t.Errorf("x %s, y %s: %s, want %s", c.x, c.y, got, c.want)
		}
	}
}

// TestLineageOfNoElement: a list's last row may have cells that are no elements.
func TestLineageOfNoElement(t *testing.T) {
	req := strided(t, "dims: [4, 16]", "dims: [37], strides: [2], reference: none", "")
	c := debugkern.Cell{Place: debugkern.Place{Stage: "y"}, Row: 1, Col: 10}
	_, err := debugtest.Run(t, req).Lineage(t.Context(), c, debugkern.LineageRequest{})
	var coded *report.Error
	if !errors.As(err, &coded) || coded.Code != report.CodeUsage ||
		!strings.Contains(err.Error(), "row 1, column 10 of y lies past its 37 elements") {
		t.Error(err)
	}
}

// TestLineageOfStridedTiles: a cell of a run's tiles leads to the same element as its writer and its value,
// whether the tile is cut out of an output with strides, is all of it by index, or is its memory as it lies.
func TestLineageOfStridedTiles(t *testing.T) {
	for _, c := range []struct {
		y, more string
		cell    debugkern.Cell
		want    string
	}{
		{"dims: [4, 16], strides: [1, 4]", columns,
			debugkern.Cell{
				Place: debugkern.Place{Stage: "part", Block: probes.Dim3{1, 0, 0}}, Row: 2, Col: 5,
			},
			"part[2,5]: block [1 0 0]: stored to y[2][13] of x[3][6]"},
		{"dims: [16, 4], strides: [1, 16], reference: {kernel: other.yaml}", "",
			debugkern.Cell{Place: debugkern.Place{Stage: "y"}, Row: 1, Col: 2},
			"y[1,2]: block [1 0 0]: stored to y[1][2] of x[2][1]"},
		{"dims: [16, 4], strides: [1, 16]", "",
			debugkern.Cell{Place: debugkern.Place{Stage: "y"}, Row: 1, Col: 1},
			"y[1,2]: block [1 0 0]: stored to y[1][2] of x[2][1]"},
		{"dims: [2, 16], strides: [33, 2]", "",
			debugkern.Cell{Place: debugkern.Place{Stage: "y"}, Row: 1, Col: 4},
			"the gap at place 36 in the memory of y: block [1 0 0]: stored to y[36] of x[2][4]"},
	} {
		req := strided(t, "dims: [4, 16]", c.y, c.more)
		other := strided(t, "dims: [4, 16]", "dims: [16, 4], strides: [1, 16]", "").Target
		text, err := os.ReadFile(other)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(req.Target)
		if err := os.WriteFile(filepath.Join(dir, "other.yaml"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		run := debugtest.Run(t, req)
		doc, err := run.Lineage(t.Context(), c.cell, debugkern.LineageRequest{})
		if err != nil {
			t.Errorf("%s: %v", c.y, err)
			continue
		}
		if got := madeOf(doc); got != c.want {
			t.Errorf("y %s: %s, want %s", c.y, got, c.want)
		}
		ops, err := run.Slice(t.Context(), c.cell.Stage, c.cell.Block, 0, [][2]int{{c.cell.Row, c.cell.Col}})
		if err != nil || len(ops) == 0 {
			t.Errorf("y %s: made by %v, %v", c.y, ops, err)
		}
		v, err := run.View(c.cell.Place)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Value == nil {
			t.Fatalf("y %s: no value", c.y)
		}
		if want := v.Got.At(c.cell.Row, c.cell.Col); float64(*doc.Value) != want {
			t.Errorf("y %s: value %v, captured %v", c.y, *doc.Value, want)
		}
		w, err := run.Writer(t.Context(), c.cell)
		if err != nil || w == nil {
			t.Fatalf("y %s: writer %v, %v", c.y, w, err)
		}
		if n := doc.Nodes[0]; n.Warp == nil || *n.Warp != w.Warp || !slices.Equal(n.Lanes, []int{w.Lane}) {
			t.Errorf("y %s: made by lanes %v, written by warp %d lane %d", c.y, n.Lanes, w.Warp, w.Lane)
		}
	}
}

// TestKeeps: a run keeps what it left itself, and one with other inputs does not.
func TestKeeps(t *testing.T) {
	req := strided(t, "dims: [4, 16]", "dims: [16, 4], strides: [1, 16], reference: none", "")
	run := debugtest.Run(t, req)
	req.Seed++
	other := debugtest.Run(t, req)
	for _, c := range []struct {
		after *debugkern.Run
		keeps bool
	}{{run, true}, {other, false}} {
		if ok, err := debugkern.Keeps(t.Context(), run, c.after); err != nil || ok != c.keeps {
			t.Errorf("seed %d: %v, %v", c.after.Request.Seed, ok, err)
		}
	}
}
