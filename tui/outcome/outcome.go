// Package outcome pairs a run's document with the request that the run answers.
//
// The one idea: a pane is given an Outcome and never a bare report, so whatever draws a verdict can also say
// whose it is, and changes when another request stands on the screen.
//
// It must not know engines, models or panes.
package outcome

import (
	"tilescope/debugkern/report"
)

// Outcome is what a request came to. The zero Outcome is of no run: nothing has ended yet.
type Outcome struct {
	report   *report.Run
	of       string
	previous bool
}

// New returns what the request described by of came to. previous says that the screen asks for
// another request by now.
func New(of string, report *report.Run, previous bool) Outcome {
	return Outcome{report: report, of: of, previous: previous}
}

// Report is the document, nil where nothing has ended. Of a previous run it may be drawn only
// below Heading, dimmed.
func (o Outcome) Report() *report.Run { return o.report }

// Current is the document where it answers the request on screen, else nil.
func (o Outcome) Current() *report.Run {
	if o.previous {
		return nil
	}
	return o.report
}

// Previous reports whether the outcome answers another request than the one on screen.
func (o Outcome) Previous() bool { return o.previous && o.report != nil }

// Heading is what stands above everything that is drawn of a previous run, "" where there is none.
func (o Outcome) Heading() string {
	if !o.Previous() {
		return ""
	}
	return Heading(o.of)
}

// Heading is the heading of a previous run that is described by of.
func Heading(of string) string { return "previous run: " + of }
