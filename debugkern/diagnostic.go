package debugkern

import (
	"context"
	"errors"
	"strings"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/ptx"
)

// Diagnostic is one complaint of a compiler, or of the PTX parser. The errors of a failed build come before its warnings,
// each in source order.
type Diagnostic struct {
	File     string `json:"file"` // as the compiler names it; "": the complaint is about no place
	Line     int    `json:"line"` // from 1
	Col      int    `json:"col"`  // from 1, in bytes; 0 where the compiler does not give it
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Text     string `json:"text"` // the source line; "" where it is not at hand
}

// diagnosticsOf lists the diagnostics of a source in an error, nil where it is no compiler's or parser's.
func diagnosticsOf(err error, text []byte) []Diagnostic {
	var out []Diagnostic
	if ce := (*cuda.CompileError)(nil); errors.As(err, &ce) {
		for _, d := range ce.Diagnostics {
			out = append(out, Diagnostic{File: d.File, Line: d.Line, Col: d.Col, Severity: d.Severity, Message: d.Msg, Text: d.Text})
		}
		return out
	}
	var list ptx.Errors
	if !errors.As(err, &list) {
		var one *ptx.Error
		if !errors.As(err, &one) {
			return nil
		}
		list = ptx.Errors{one}
	}
	lines := strings.Split(string(text), "\n")
	for _, e := range list {
		d := Diagnostic{File: e.Pos.File, Line: e.Pos.Line, Col: e.Pos.Col, Severity: "error", Message: e.Msg}
		if text != nil && d.Line >= 1 && d.Line <= len(lines) {
			d.Text = strings.TrimRight(lines[d.Line-1], "\r")
		}
		out = append(out, d)
	}
	return out
}

// sourceOf is the place that a document's error names: that of the first complaint.
func sourceOf(ds []Diagnostic) *SourceDoc {
	if len(ds) == 0 || ds[0].File == "" {
		return nil
	}
	return &SourceDoc{File: ds[0].File, Line: ds[0].Line, Col: ds[0].Col, Text: ds[0].Text}
}

// compileError returns a cancellation unchanged, and any other error as a failed run.
func compileError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if overlay := (*cuda.OverlayError)(nil); errors.As(err, &overlay) {
		return usage("a fault's patch changes a header: %w", err)
	}
	ds := diagnosticsOf(err, nil)
	return &runError{stage: "build", err: err, source: sourceOf(ds), diagnostics: ds}
}
