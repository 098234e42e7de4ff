package view

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/failure"
	"tilescope/tui/request"
)

// Reasons are what a failed run's document complains of.
func Reasons(e *report.Failure) []failure.Reason {
	var out []failure.Reason
	for _, d := range e.Diagnostics {
		out = append(out, failure.Reason{File: d.File, Line: d.Line, Col: d.Col, Severity: d.Severity,
			Text: d.Message})
	}
	if out != nil {
		return out
	}
	r := failure.Reason{Text: InTerminal(e.Message)}
	if e.Source != nil {
		r.File, r.Line = e.Source.File, e.Source.Line
	}
	return []failure.Reason{r}
}

// NotOpen reports whether the request on screen is of a file that could not be opened, and says so: nothing
// can be made of it, and what ran before is another kernel.
func (x *Context) NotOpen() bool {
	if x.Fail == nil || x.Fail.Opening == nil {
		return false
	}
	if x.Fail.Asked {
		x.Complain(x.Req.Target + " is not open: " + x.asksAgain())
		return true
	}
	x.Complain(x.Req.Target + " is not open: " + Reasons(x.Fail.Report.Error)[0].Text)
	return true
}

// whatIsMissing are the remedies of a request that lacks something of the machine: consent to a compiler, a
// compiler, a GPU, or something else.
func (x *Context) whatIsMissing() []string {
	var out []string
	doctor := "`tilescope doctor` says what is missing and what to install"
	if x.Fail.Untrusted {
		out = append(out, ":trust asks again whether the compiler that was found may be used")
		doctor = "`tilescope doctor` says what was found"
	}
	switch {
	case x.Fail.NoCompiler:
		doctor += " · `tilescope kernels` marks what is prebuilt and needs no compiler"
	case x.OnGPU():
		doctor += " · :backend emu runs without a GPU"
	}
	return append(out, doctor)
}

// located reports whether a reason is in a file whose text is at hand: PTX that was compiled is none.
func (x *Context) located(e *report.Failure) bool {
	return x.Fail.Opening != nil || x.Fail.Source != nil &&
		slices.ContainsFunc(Reasons(e), func(r failure.Reason) bool { return x.Fail.Source(r.File) != nil })
}

// asksAgain says how the launch of a file is asked for that was named without one.
func (x *Context) asksAgain() string {
	return x.Keys.Label(keymap.Again) + " asks for its launch again"
}

// Remedies are what can be done about a failure, a line each; nil where nothing has failed.
func (x *Context) Remedies(e *report.Failure) []string {
	if x.Fail == nil {
		return nil
	}
	if x.Fail.Asked {
		return []string{x.asksAgain(), ":variant NAME runs a kernel of the catalogue"}
	}
	var out []string
	again := x.Keys.Label(keymap.Again) + " runs again"
	if x.Fail.Opening != nil {
		again = x.Keys.Label(keymap.Again) + " opens it again, and so does a save"
	}
	switch {
	case e.Source != nil || len(e.Diagnostics) > 0:
		what := "the editor at the line"
		if !x.located(e) {
			what = "the source in the editor"
		}
		out = append(out, fmt.Sprintf("%s opens %s · %s", x.Keys.Label(keymap.Edit), what, again))
	case x.OnGPU() && e.Stage != "build":
		out = append(out, fmt.Sprintf("%s runs the same launch on the emulator · %s",
			x.Keys.Label(keymap.AgainEmu),
			again),
			fmt.Sprintf("in Races %s diagnoses on the emulator, which can show where",
				x.Keys.LabelIn(Races, keymap.Diagnose)))
	default:
		out = append(out, again+", once that is mended")
	}
	if x.Fail.Code == report.CodeUnavailable {
		out = append(out, x.whatIsMissing()...)
	}
	if x.Run != nil {
		out = append(out, x.Keys.Label(keymap.Cancel)+" shows the previous run, dimmed · :failure shows this again")
		if list := request.Differences(x.Run.Request, x.Fail.Request); list != nil {
			out = append(out, fmt.Sprintf("new since the previous run: %s · :undo goes back to it",
				strings.Join(list, ", ")))
		}
	}
	return out
}
