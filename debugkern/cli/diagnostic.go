package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// printDiagnostics prints every complaint about a kernel that does not build or load, each with its source
// line and a caret below the place.
func printDiagnostics(w io.Writer, e *report.Error) {
	ds, what := e.Diagnostics, "compile"
	if k := (*report.KernelError)(nil); errors.As(e, &k) && k.Stage == "load" {
		what = "load"
	}
	errs := 0
	for _, d := range ds {
		if d.Severity != "warning" {
			errs++
		}
	}
	n := "1 error"
	if errs != 1 {
		n = fmt.Sprintf("%d errors", errs)
	}
	fmt.Fprintf(w, "tilescope: the kernel does not %s: %s\n", what, n)
	for _, d := range ds {
		switch {
		case d.File == "":
			fmt.Fprintf(w, "%s: %s\n", d.Severity, d.Message)
			continue
		case d.Col > 0:
			fmt.Fprintf(w, "%s:%d:%d: %s: %s\n", d.File, d.Line, d.Col, d.Severity, d.Message)
		default:
			fmt.Fprintf(w, "%s:%d: %s: %s\n", d.File, d.Line, d.Severity, d.Message)
		}
		if strings.TrimSpace(d.Text) == "" {
			continue
		}
		fmt.Fprintf(w, "    %s\n", d.Text)
		if d.Col > 0 && d.Col <= len(d.Text)+1 {
			fmt.Fprintf(w, "    %s^\n", below(text.Terminal(d.Text[:d.Col-1])))
		}
	}
}

// below is the blank text that stands under s: its tabs stay, everything else is a space.
func below(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}
