package diagnose

import (
	"maps"
	"slices"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
)

// TestFailing: a compiler's messages leave out the edits that they name; where they name none, those of a
// line that they may be about, the less likely half where nothing tells these apart.
func TestFailing(t *testing.T) {
	kept := []rewrite.Edit{
		{Line: 7, What: "a in place of b"},
		{Line: 7, What: "late in place of b"},
		{Line: 7, What: "late + 1 in place of b"},
		{Line: 9, What: "x in place of y", Doubtful: true},
		{Line: 9, What: "z in place of y", Stores: true},
		{Line: 9, What: "w in place of y"},
	}
	text := rewrite.Parse("own.cu", "")
	for i := range kept {
		kept[i].Text = text
	}
	message := func(line int, text string) report.Diagnostic {
		return report.Diagnostic{File: "/tmp/own.cu", Line: line, Severity: "error", Message: text}
	}
	for _, c := range []struct {
		what     string
		messages []report.Diagnostic
		drop     []int
	}{
		{"an edit that is named", []report.Diagnostic{message(rewrite.LineOf(1), "types")}, []int{0}},
		{
			"a consequence of it on the line of the text",
			[]report.Diagnostic{message(7, "no instance"), message(rewrite.LineOf(1), "types")}, []int{0},
		},
		{
			"a name that is declared behind the line",
			[]report.Diagnostic{message(rewrite.LineOf(2), `identifier "late" is undefined`)}, []int{1, 2},
		},
		{"a line, and one of its edits is doubtful", []report.Diagnostic{message(9, "types")}, []int{3}},
		{"what is assigned to", []report.Diagnostic{message(9, "must be an lvalue")}, []int{4}},
		{"a line whose edits nothing tells apart", []report.Diagnostic{message(7, "types")}, []int{1, 2}},
		{"another line", []report.Diagnostic{message(8, "types")}, nil},
		{
			"a line of another text",
			[]report.Diagnostic{{File: "own.cuh", Line: 7, Severity: "error", Message: "types"}}, nil,
		},
		{
			"a warning",
			[]report.Diagnostic{{Line: rewrite.LineOf(1), Severity: "warning", Message: "unused"}}, nil,
		},
	} {
		got := slices.Sorted(maps.Keys(failing(kept, c.messages)))
		if !slices.Equal(got, c.drop) {
			t.Errorf("%s: %v are left out, want %v", c.what, got, c.drop)
		}
	}
}
