// Package rail is the narrow pane at the left of wide screens: every stage's verdict and what the run was made of.
//
// The one idea: it is a summary to glance at, in the order of the pipeline, so its lines never move.
//
// It must not know sessions or keys.
package rail

import (
	"fmt"
	"strings"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/theme"
)

// Data is what is shown.
type Data struct {
	Report *debugkern.Report
	Stage  probes.Stage // under the cursor
	Facts  [][2]string  // name and value, such as shape and seed
	Flags  []string     // as NAME VALUE
	Faults []string
}

// Pane draws the rail.
type Pane struct {
	th      *theme.Theme
	w, h    int
	data    Data
	focus   bool
	lines   []string
	changed bool
}

// New returns an empty pane.
func New(th *theme.Theme) *Pane { return &Pane{th: th, changed: true} }

// SetTheme changes colours and glyphs.
func (p *Pane) SetTheme(th *theme.Theme) { p.th, p.changed = th, true }

// SetSize gives the pane its place.
func (p *Pane) SetSize(w, h int) {
	if w != p.w || h != p.h {
		p.w, p.h, p.changed = w, h, true
	}
}

// SetData shows another run.
func (p *Pane) SetData(d Data) { p.data, p.changed = d, true }

// SetStage moves the pointer.
func (p *Pane) SetStage(s probes.Stage) {
	if s != p.data.Stage {
		p.data.Stage, p.changed = s, true
	}
}

// SetFocus says whether the pane has the focus.
func (p *Pane) SetFocus(on bool) {
	if on != p.focus {
		p.focus, p.changed = on, true
	}
}

// Hit is the stage drawn on line y.
func (p *Pane) Hit(y int) (probes.Stage, bool) {
	if r := p.data.Report; r != nil && y >= 1 && y <= len(r.Stages) {
		return probes.ParseStage(r.Stages[y-1].Name)
	}
	return 0, false
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string {
	if p.changed {
		p.changed = false
		p.lines = p.draw()
	}
	return p.lines
}

func (p *Pane) draw() []string {
	w := p.w - 2
	var out []string
	if r := p.data.Report; r != nil {
		for i := range r.Stages {
			out = append(out, p.stage(&r.Stages[i], w))
		}
		out = append(out, p.th.Line(w).Done(), p.th.Line(w).Space(1).Add(p.th.Verdict(r.Verdict), p.th.VerdictMark(r.Verdict)+" "+r.Verdict).Done())
		if r.Output != nil {
			out = append(out, p.th.Line(w).Space(1).Add(p.th.Verdict(r.Output.Verdict), p.th.VerdictMark(r.Output.Verdict)+" output").
				Right(p.th.Dim, fmt.Sprintf("%.2g", float64(r.Output.MaxAbs)), w-1).Done())
		}
		if n := len(r.Findings); n > 0 {
			out = append(out, p.th.Line(w).Space(1).Add(p.th.Wrong, p.th.Glyph.Wrong+" "+theme.Count(n, "finding")).Done())
		}
	}
	out = append(out, p.th.Line(w).Done())
	for _, f := range p.data.Facts {
		out = append(out, p.th.Line(w).Space(1).Add(p.th.Dim, f[0]).Pad(9).Add(p.th.Text, p.th.Fit(f[1], w-9)).Done())
	}
	out = append(out, p.th.Line(w).Done())
	for _, f := range p.data.Flags {
		out = append(out, p.flag(f, w))
	}
	for _, f := range p.data.Faults {
		out = append(out, p.th.Line(w).Space(1).Add(p.th.Wrong, p.th.Fit(p.th.Glyph.Wrong+" "+f, w-1)).Done())
	}
	return p.th.Box("STAGES", "", out, p.w, p.h, p.focus)
}

// flag writes NAME VALUE, what is off in grey. A name is cut before its value is.
func (p *Pane) flag(text string, w int) string {
	name, value, _ := strings.Cut(text, " ")
	style := p.th.Text
	if value == "0" {
		style = p.th.Off
	}
	return p.th.Line(w).Space(1).Add(style, p.th.Fit(name, w-3-p.th.Width(value))).Right(style, value, w-1).Done()
}

func (p *Pane) stage(s *debugkern.StageDoc, w int) string {
	l := p.th.Line(w)
	name := p.th.Text
	if s.Name == p.data.Stage.String() {
		l.Glyph(p.th.Accent, p.th.Glyph.Pointer)
		name = p.th.Strong
	} else {
		l.Space(1)
	}
	style := p.th.Verdict(s.Verdict)
	l.Add(name, s.Name).Pad(4).Add(style, p.th.VerdictMark(s.Verdict)+" "+s.Verdict)
	switch {
	case s.Verdict == debugkern.Wrong:
		l.Right(style, fmt.Sprint(s.Local.Bad), w-1)
	case s.Verdict == debugkern.Tainted:
		l.Right(style, fmt.Sprint(s.Global.Bad), w-1)
	case s.Verdict == debugkern.OK:
		l.Right(p.th.Dim, fmt.Sprintf("%.1g", float64(s.Local.MaxAbs)), w-1)
	}
	return l.Done()
}
