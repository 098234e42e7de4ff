// Package rail is the narrow pane at the left of wide screens: every stage's verdict and what
// the run was made of.
//
// The one idea: it is a summary to glance at, in the order of the pipeline, so its lines never move.
//
// It must not know sessions or keys.
package rail

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/outcome"
	"tilescope/tui/theme"
)

// Data is what is shown.
type Data struct {
	Run   outcome.Outcome
	Stage probes.Stage // under the cursor
	// Injected are the stages that the gate feeds into the launch
	Injected probes.StageSet
	Facts    [][2]string // of the run: name and value, such as shape and seed
	Flags    []string    // as NAME VALUE
	Faults   []string
}

// Pane draws the rail.
type Pane struct {
	theme.Frame[bool]
	data Data
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{Frame: theme.NewFrame(th, false)} }

// SetData shows another run.
func (p *Pane) SetData(d Data) { p.data, p.Changed = d, true }

// SetStage moves the pointer.
func (p *Pane) SetStage(s probes.Stage) {
	if s != p.data.Stage {
		p.data.Stage, p.Changed = s, true
	}
}

// Hit is the stage drawn on line y.
func (p *Pane) Hit(y int) (probes.Stage, bool) {
	if r := p.data.Run.Report(); r != nil && y >= 1 && y <= len(r.Stages) {
		return probes.Stage(r.Stages[y-1].Name), true
	}
	return "", false
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	w := p.W - 2
	var out []string
	if r := p.data.Run.Report(); r != nil {
		for i := range r.Stages {
			out = append(out, p.stage(&r.Stages[i], w))
		}
		out = append(out, p.Theme.Line(w).Done(), p.Theme.Line(w).Space(1).
			Add(p.Theme.Verdict(r.Verdict), p.Theme.VerdictMark(r.Verdict)+" "+r.Outcome()).Done())
		if r.Output != nil {
			mark := p.Theme.VerdictMark(r.Output.Verdict)
			name, most := mark+" output", "max error "+r.Output.Most()
			fits := func() bool { return p.Theme.Width(name)+p.Theme.Width(most)+1 <= w-2 }
			if !fits() {
				name = mark + " out"
			}
			if !fits() {
				name, most = mark+" output", "max "+r.Output.Most()
			}
			if !fits() {
				name = mark + " out"
			}
			out = append(out,
				p.Theme.Line(w).Space(1).Add(p.Theme.Verdict(r.Output.Verdict), name).
					Right(p.Theme.Dim, most, w-1).Done(),
				p.Theme.Line(w).Space(3).
					Add(p.Theme.Dim, p.Theme.Fit("by "+r.Output.AgainstShort(), w-4)).Done())
		}
		out = append(out, p.findings(r, w)...)
	}
	out = append(out, p.Theme.Line(w).Done())
	for _, f := range p.data.Facts {
		out = append(out, p.Theme.Line(w).Space(1).Add(p.Theme.Dim, f[0]).Pad(9).
			Add(p.Theme.Text, p.Theme.FitMiddle(f[1], w-10)).Done())
	}
	out = append(out, p.Theme.Line(w).Done())
	for _, f := range p.data.Flags {
		out = append(out, p.flag(f, w))
	}
	for _, f := range p.data.Faults {
		out = append(out,
			p.Theme.Line(w).Space(1).Add(p.Theme.Wrong, p.Theme.Fit(p.Theme.Glyph.Wrong+" "+f, w-1)).Done())
	}
	title, note := "STAGES", "all blocks"
	if r := p.data.Run.Report(); r != nil && len(r.Outputs) > 0 &&
		!slices.ContainsFunc(r.Stages, func(s report.Stage) bool { return s.Argument == "" }) {
		title, note = "ARGUMENTS", ""
	}
	return p.Theme.Box(title, note, out, p.W, p.H, p.Focus)
}

// findings counts findings as Pipe does: without a reference the outcome has the number of errors, and what
// is left is advice.
func (p *Pane) findings(r *report.Run, w int) []string {
	style, mark := p.Theme.Wrong, p.Theme.Glyph.Wrong
	if r.Errors() == 0 || !r.Referenced() {
		style, mark = p.Theme.Taint, p.Theme.Glyph.Taint // as Races marks advice
	}
	text := theme.Count(len(r.Findings), "finding")
	n := len(r.Findings)
	if !r.Referenced() {
		n -= r.Errors()
		text = theme.Count(n, "piece") + " of advice"
	}
	if n == 0 {
		return nil
	}
	return []string{p.Theme.Line(w).Space(1).Add(style, p.Theme.Fit(mark+" "+text, w-2)).Done()}
}

// flag writes NAME VALUE, what is off in grey. A name is cut before its value is.
func (p *Pane) flag(text string, w int) string {
	name, value, _ := strings.Cut(text, " ")
	style := p.Theme.Text
	if value == "0" {
		style = p.Theme.Off
	}
	return p.Theme.Line(w).Space(1).Add(style, p.Theme.Fit(name, w-3-p.Theme.Width(value))).
		Right(style, value, w-1).Done()
}

// alone is what is said of a tile without a reference: whether it is as it was before the launch, or how much
// of it the launch wrote.
func (p *Pane) alone(l *theme.Line, s *report.Stage, w int) string {
	text := "no ref"
	if r := p.data.Run.Report(); len(r.Outputs) > 0 {
		text = "before"
		for _, o := range r.Outputs {
			switch {
			case o.Name != s.Name:
			case o.Written == nil:
				text = "after"
			case *o.Written == 0:
				text = "only read"
			default:
				text = fmt.Sprintf("wrote %d", *o.Written)
			}
		}
	}
	return l.Right(p.Theme.Dim, p.Theme.Fit(text, max(0, l.Left()-1)), w-1).Done()
}

func (p *Pane) stage(s *report.Stage, w int) string {
	l := p.Theme.Line(w)
	name := p.Theme.Text
	l.Pointer(s.Name == p.data.Stage.String())
	if s.Name == p.data.Stage.String() {
		name = p.Theme.Strong
	}
	if s.Reference.None() {
		return p.alone(l.Add(name, p.Theme.Fit(s.Name, w-8)), s, w)
	}
	style := p.Theme.Verdict(s.Verdict)
	if l.Add(name, p.Theme.Fit(s.Name, max(3, w-15))); l.Col() >= 4 {
		l.Space(1)
	}
	l.Pad(4)
	word := s.Verdict
	if p.data.Injected.Has(probes.Stage(s.Name)) {
		l.Add(p.Theme.Notice, p.Theme.Glyph.Injected+" injected")
		return l.Done()
	}
	switch {
	case s.Verdict == report.Wrong && s.Local.Bad > 0:
		word = fmt.Sprintf("%d bad", s.Local.Bad)
	case s.Verdict == report.Tainted:
		word = fmt.Sprintf("%d bad", s.Global.Bad)
	case s.Verdict == report.OK:
		const worst = "worst "
		text := worst + shortError(s.Local.Error)
		if l.Col()+2+p.Theme.Width(text) > w-1 { // next to a long name
			text = strings.TrimPrefix(text, worst)
		}
		return l.Add(style, p.Theme.VerdictMark(s.Verdict)).Right(p.Theme.Dim, text, w-1).Done()
	}
	l.Add(style, p.Theme.VerdictMark(s.Verdict)).Right(style, word, w-1)
	return l.Done()
}

// shortError is an error in two digits; none at all is 0.
func shortError(v report.Number) string {
	if v == 0 {
		return "0"
	}
	return v.Size("%.1e")
}
