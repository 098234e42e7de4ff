package cuda

import (
	"strings"
	"testing"
)

// TestCompileErrorCountsTheOthers: the first error is written out, the others are counted, warnings are not.
func TestCompileErrorCountsTheOthers(t *testing.T) {
	one := Diagnostic{File: "k.cu", Line: 2, Severity: "error", Msg: "expected a ;"}
	warning := Diagnostic{File: "k.cu", Line: 1, Severity: "warning", Msg: "never referenced"}
	for want, list := range map[string][]Diagnostic{
		"expected a ;":                     {one, warning},
		"expected a ; (and 1 more error)":  {one, one, warning},
		"expected a ; (and 2 more errors)": {one, one, one},
	} {
		e := &CompileError{Name: "k.cu", Diagnostics: list}
		if got := e.Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%d: %q does not end in %q", len(list), got, want)
		}
	}
}

// TestEndOfSource: a complaint about the end of the text has the place of the bracket that its note names.
func TestEndOfSource(t *testing.T) {
	const note = "/w/k.cu(5): note #3196-D: to match this \"{\"\n\n"
	text := func(string) []string { return []string{"a", "b", "c", "d", "namespace e {"} }
	for log, want := range map[string]Diagnostic{
		"At end of source: error: expected a \"}\"\n" + note: {File: "/w/k.cu", Line: 5, Severity: "error",
			Msg: `expected a "}" to match this "{", up to the end of the source`, Text: "namespace e {"},
		"At end of source: error: expected a \";\"\n\n": {Severity: "error",
			Msg: `expected a ";" at the end of the source`},
	} {
		if got := diagnostics(log, paths{}, text); len(got) != 1 || got[0] != want {
			t.Errorf("%q: %+v, expected %+v", log, got, want)
		}
	}
}
