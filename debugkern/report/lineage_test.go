package report

import (
	"strings"
	"testing"
)

// TestBriefLines: a narrow tree has the threads before the source line, the file only where it is not that
// of the line above, and lists few values in the order in which they were made.
func TestBriefLines(t *testing.T) {
	warp, low, high := 2, Number(-0.25), Number(0.5)
	at := func(file string, line int) *Source { return &Source{File: file, Line: line} }
	l := &Lineage{Cell: "U@1[0,0]", Nodes: []LineageNode{
		{ID: 0, Op: "a + b, 2 values", Source: at("kernels/k.cu", 10), Warp: &warp, Lanes: []int{3},
			Low: &low, High: &high, Values: []Number{0.5, -0.25}, Count: 2,
			Uses: []LineageUse{{Of: 1, Operand: 1, Kind: "value"}}},
		{ID: 1, Op: "a · b, 9 values", Source: at("kernels/k.cu", 11), Warp: &warp, Lanes: []int{3},
			Low: &low, High: &high, Count: 9,
			Uses: []LineageUse{{Of: 2, Operand: 1, Kind: "value"}}},
		{ID: 2, Op: "ex2(a), 2 values", Source: at("h.cuh", 5), Warp: &warp, Lanes: []int{3, 4},
			Low: &low, High: &high,
			Values: []Number{-0.25, 0.5}, Count: 2, Loop: "kv", Iterations: []int{0, 1, 3}},
	}}
	var brief, whole []string
	for _, line := range l.Tree(0) {
		brief, whole = append(brief, strings.TrimLeft(line.Brief, " └─")), append(whole, line.Text)
	}
	for i, want := range []string{
		"U@1[0,0], block 0,0,0",
		"a + b, 2 values = 0.5, then -0.25, warp 2 lane 3, k.cu:10",
		"a · b, 9 values in turn = -0.25 … 0.5, warp 2 lane 3, line 11",
		"ex2(a), 2 values in kv 0-1,3 = -0.25, 0.5, warp 2 lanes 3-4, h.cuh:5",
	} {
		if brief[i] != want {
			t.Errorf("line %d is %q, want %q", i, brief[i], want)
		}
	}
	if text := strings.Join(whole, "\n"); strings.Count(text, "k.cu:1") != 2 ||
		!strings.Contains(text, "k.cu:11, warp 2 lane 3") {
		t.Errorf("a whole line has its file, then its threads:\n%s", text)
	}
}
