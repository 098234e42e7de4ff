package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// Lines around the guilty ones are shown, gaps are left out, and lines that a page has no
// room for are counted.
func TestExcerpts(t *testing.T) {
	lines := make([]string, 400)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i+1)
	}
	text := func(file string) []string {
		if file == "k.cu" {
			return lines
		}
		return nil
	}
	at := func(numbers ...int) (places []*report.Source) {
		for _, n := range numbers {
			places = append(places, &report.Source{File: "k.cu", Line: n})
		}
		return places
	}
	es := Excerpts(append(at(10, 30, 10), nil, &report.Source{File: "gone.cu", Line: 3}, &report.Source{
		File: "k.cu",
	}), text)
	if len(es) != 1 || len(es[0].Lines) != 18 || es[0].Lines[4] != (Line{10, "line 10", true}) ||
		es[0].Lines[9].Number != 26 || es[0].Left != 0 {
		t.Errorf("%+v", es)
	}
	var many []int
	for n := 10; n < 200; n += 20 {
		many = append(many, n)
	}
	es = Excerpts(at(many...), text)
	shown := 0
	for _, l := range es[0].Lines {
		if l.Guilty {
			shown++
		}
	}
	if len(es[0].Lines) != excerptMost || es[0].Left == 0 || shown+es[0].Left != len(many) {
		t.Errorf("%d lines, %d guilty shown and %d left out of %d", len(es[0].Lines), shown,
			es[0].Left, len(many))
	}
}

// What a kernel says is text on a page, wherever it is shown.
func TestCheckPageEscapes(t *testing.T) {
	evil := "<script>alert(1)</script>\x1b]0;x\a\u202e"
	missing := evil
	d := &report.Check{File: evil, Entry: evil, Verdict: report.Findings, Findings: []report.Finding{{
		ID: evil, Kind: evil, Severity: "error", Message: evil, Missing: &missing, Consequence: evil,
		Variable: evil, Source: &report.Source{File: evil, Line: 1},
	}}, Args: []report.CheckArg{{Name: evil, DType: evil, Source: evil}},
		Error:    &report.Failure{Stage: evil, Message: evil},
		Coverage: report.Coverage{Unreached: []report.Source{{File: evil}}}}
	var b bytes.Buffer
	if err := WriteCheck(&b, d, "1", evil, func(string) []string { return []string{evil} }); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.ContainsAny(page, "\x1b\a\u202e") ||
		strings.Count(page, "&lt;script&gt;") < 12 {
		t.Errorf("%s", page)
	}
}
