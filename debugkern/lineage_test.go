package debugkern_test

import (
	"errors"
	"fmt"
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
	doc, err := debugtest.Open(t).Lineage(t.Context(), debugkern.Request{Target: target, Shape: "validation"}, req, nil)
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

// TestLineageCells: cells of stages are made of the rows and columns that attention says, and the value is that of the run.
func TestLineageCells(t *testing.T) {
	for _, c := range []struct{ target, cell, want string }{
		{"flashcore_vec", "S@1[3,17]", "K[0][0][49][0..7,16..23,32..39,48..55] K[0][0][49][8..15,24..31,40..47,56..63] " +
			"Q[0][0][3][0..7,16..23,32..39,48..55] Q[0][0][3][8..15,24..31,40..47,56..63] softmax_scale"},
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
			t.Errorf("%s of %s: schema %q, value %v, truncated %v", c.cell, c.target, doc.Schema, doc.Value, doc.Truncated)
		}
	}
}

// TestLineageValue: what the document says that the cell holds is what the run captured, and the nodes' values are those of
// the operations behind it.
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
		if n := doc.Nodes[0]; n.Warp != nil && *n.Warp != w.Warp || n.Warp == nil && !slices.Contains(n.Warps, w.Warp) || n.Source.Line > w.Source.Line || max(n.Line, n.Source.Line) < w.Source.Line {
			t.Errorf("%v: made at %+v by warp %v, written at %+v by warp %d", c, n.Source, n.Warp, w.Source, w.Warp)
		}
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
		{"S@9[3,17]", nil, "there are kv tile 0 to 3 of stage S"},
		{"S@0[99,1]", nil, "stage S has 32 rows and 32 columns"},
		{"X[1]", nil, `has no stage or argument "X"; it has stages Q[32,64]`},
		{"O[0,0,1]", nil, "argument O has dimensions [1 4 128 64]: one index for each, or one for all"},
		{"O[32768]", nil, "and 32768 elements"},
		{"O@1[3,4]", nil, "stage O has one tile a block, O[ROW,COLUMN]"},
		{"S", nil, "expected STAGE@TILE[ROW,COLUMN]"},
		{"S@1[3,17]", &block, "--block 9,9,9 lies outside"},
		{"Q[0,0,0,7]", nil, "no block writes it"},
	} {
		_, err := debugtest.Open(t).Lineage(t.Context(), debugkern.Request{Target: "stage2", Shape: "validation"}, debugkern.LineageRequest{Cell: c.cell, Block: c.block}, nil)
		var coded *report.Error
		if !errors.As(err, &coded) || coded.Code != report.CodeUsage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.cell, err, c.want)
		}
	}
}

// lastBlock is a kernel whose last block reads what all wrote.
func lastBlock(t *testing.T) (*debugkern.Session, debugkern.Request) {
	t.Helper()
	s := debugtest.Open(t)
	req, err := checkrun.Adopt(t.Context(), s, checkrun.Request{
		File: "checkrun/testdata/last_block.ptx", Grid: probes.Dim3{4, 1, 1}, Block: probes.Dim3{32, 1, 1}, Cluster: probes.Dim3{1, 1, 1}, Backend: "emu",
		Args: []checkrun.Argument{{Name: "arg0", Value: "randn:f32[8]"}, {Name: "arg1", Value: "unwritten:f32[4]"}, {Name: "arg2", Value: "zeros:u32[1]"}, {Name: "arg3", Value: "unwritten:f32[1]"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, req
}

// TestLineageAcrossBlocks: what another block wrote is a leaf that says so, and with Across the lineage continues there.
func TestLineageAcrossBlocks(t *testing.T) {
	s, req := lastBlock(t)
	doc, err := s.Lineage(t.Context(), req, debugkern.LineageRequest{Cell: "arg3[0]"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(doc.Tree(0))
	if doc.Block != [3]int{3, 0, 0} || !strings.Contains(text, "arg1[0..2], written by another block") || !strings.Contains(text, "arg0[6]") {
		t.Errorf("block %v: %s", doc.Block, text)
	}
	doc, err = s.Lineage(t.Context(), req, debugkern.LineageRequest{Cell: "arg3[0]", Across: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := leaves(doc), "arg0[0] arg0[1] arg0[2] arg0[3] arg0[4] arg0[5] arg0[6] arg0[7]"; got != want {
		t.Errorf("across blocks it is made of %s, want %s:\n%v", got, want, doc.Tree(0))
	}
	if text := fmt.Sprint(doc.Tree(0)); !strings.Contains(text, "arg1[0..2], written by 3 blocks, block 0,0,0 first") || !strings.Contains(text, "block 2,0,0") {
		t.Error(text)
	}
}
