package build

import (
	"context"
	"errors"
	"strings"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// LoadError is the error of a module that a parser or a backend refused.
func LoadError(err error, text []byte) error {
	ds := diagnosticsOf(err, text)
	return &report.KernelError{Stage: "load", Err: err, Source: sourceOf(ds), Diagnostics: ds}
}

// diagnosticsOf lists the diagnostics of a source in an error, nil where it is no compiler's or parser's.
func diagnosticsOf(err error, text []byte) []report.Diagnostic {
	var out []report.Diagnostic
	if ce := (*cuda.CompileError)(nil); errors.As(err, &ce) {
		for _, d := range ce.Diagnostics {
			out = append(out, report.Diagnostic{
				File: d.File, Line: d.Line, Col: d.Col, Severity: d.Severity, Message: d.Msg, Text: d.Text,
			})
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
		d := report.Diagnostic{
			File: e.Pos.File, Line: e.Pos.Line, Col: e.Pos.Col, Severity: "error", Message: e.Msg,
		}
		if text != nil && d.Line >= 1 && d.Line <= len(lines) {
			d.Text = strings.TrimRight(lines[d.Line-1], "\r")
		}
		out = append(out, d)
	}
	return out
}

// sourceOf is the place that a document's error names: that of the first complaint.
func sourceOf(ds []report.Diagnostic) *report.Source {
	if len(ds) == 0 || ds[0].File == "" {
		return nil
	}
	return &report.Source{File: ds[0].File, Line: ds[0].Line, Col: ds[0].Col, Text: ds[0].Text}
}

// compileError returns a cancellation unchanged, and any other error as a failed run.
func compileError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if overlay := (*cuda.OverlayError)(nil); errors.As(err, &overlay) {
		return report.Usagef("a fault's patch changes a header: %w", err)
	}
	ds := diagnosticsOf(err, nil)
	return &report.KernelError{Stage: "build", Err: err, Source: sourceOf(ds), Diagnostics: ds}
}
