package diagnose

import (
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/report"
)

// TestCounting: of the comparisons at a loop's head those count which compare what the address of an access
// in the loop is made of, and none at the head of another loop.
func TestCounting(t *testing.T) {
	run := debugtest.Run(t, debugkern.Request{Target: "softmax_row", Shape: "small", Backend: "emu"})
	q := &inquiry{ctx: t.Context(), run: run, base: run}
	file := ""
	for _, in := range run.Entry().Body {
		if at := blameOf(in); at != nil {
			file = at.File
			break
		}
	}
	lineOf := func(text string) report.Source {
		for n, line := range run.Source(file) {
			if strings.Contains(line, text) {
				return report.Source{File: file, Line: n + 1}
			}
		}
		t.Fatalf("%s has no line with %s", file, text)
		return report.Source{}
	}
	store, own := lineOf("sX[r]["), lineOf("for (int cell = t;")
	x := access{at: &store, variable: "sX"}
	if got := q.counting(own, x); len(got) == 0 {
		t.Errorf("no comparison at line %d counts the index at line %d", own.Line, store.Line)
	}
	if got := q.counting(lineOf("for (int r = 0; r < rows;"), x); len(got) > 0 {
		t.Errorf("%v: comparisons of the loop of the output count the index at line %d", got, store.Line)
	}
	if text := q.comparesFirst(run.Blocks()[0], own, x); !strings.Contains(text, " in warp") {
		t.Errorf("%q of the loop at line %d: want what each warp compares", text, own.Line)
	}
}
