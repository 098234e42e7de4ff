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
