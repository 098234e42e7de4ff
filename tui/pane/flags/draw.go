package flags

import (
	"fmt"
	"strings"

	"tilescope/debugkern"
	"tilescope/tui/theme"
)

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string {
	if p.changed {
		p.changed = false
		p.lines = p.draw()
	}
	return p.lines
}

func (p *Pane) listWidth() int {
	return max(30, min(p.w*45/100+p.grow, p.w-28))
}

func (p *Pane) draw() []string {
	if p.w < 60 || p.h < 4 {
		return p.th.Blank(p.w, p.h)
	}
	lw := p.listWidth()
	rows, at := p.list(lw - 2)
	body := p.h - 2
	if at-2 < p.top {
		p.top = at - 2
	}
	if at >= p.top+body {
		p.top = at - body + 1
	}
	p.top = max(0, min(p.top, len(rows)-body))
	title := "FLAGS"
	if p.filter != "" {
		title += " & " + p.filter
	}
	note := ""
	if len(rows) > body {
		note = fmt.Sprintf("%d-%d of %d", p.top+1, min(p.top+body, len(rows)), len(rows))
	}
	left := p.th.Box(title, note, rows[p.top:], lw, p.h, p.focus == List)

	about := p.right(p.w - lw - 2)
	p.about = len(about)
	if p.wanted != Nothing {
		p.scroll, p.wanted = p.marks[p.wanted], Nothing
	}
	p.scroll = max(0, min(p.scroll, p.about-body))
	note = ""
	if p.about > body {
		note = fmt.Sprintf("line %d of %d", p.scroll+1, p.about)
	}
	return theme.Beside(left, p.th.Box("ABOUT", note, about[p.scroll:], p.w-lw, p.h, p.focus == About))
}

// list draws the switches under their headings and tells the line of the selected one.
func (p *Pane) list(w int) (rows []string, at int) {
	last := Kind(255)
	for _, i := range p.shown {
		it := p.data.Items[i]
		if it.Kind != last {
			rows = append(rows, p.th.Line(w).Space(1).Add(p.th.Title, headings[it.Kind]).Done())
			last = it.Kind
		}
		if i == p.sel {
			at = len(rows)
		}
		rows = append(rows, p.item(it, w, i == p.sel))
	}
	if len(rows) == 0 {
		rows = append(rows, p.th.Line(w).Space(1).Add(p.th.Dim, "nothing matches").Done())
	}
	return rows, at
}

func (p *Pane) item(it Item, w int, selected bool) string {
	g := p.th.Glyph
	box := "[" + choose(it.On, g.Check, " ") + "]"
	if it.Kind.Radio() {
		box = "(" + choose(it.On, g.Dot, " ") + ")"
	}
	if it.Kind == Seed {
		box = "   "
	}
	name, rest := p.th.Text, p.th.Dim
	switch {
	case it.On && it.Kind == Fault:
		name = p.th.Wrong
	case it.On:
		name = p.th.Strong
	case it.Refused != "":
		name = p.th.Off
	}
	pointer := " "
	if selected {
		name, rest, pointer = p.th.Select, p.th.Select, g.Pointer
	}
	l := p.th.Line(w).Add(rest, pointer).Add(name, box+" "+it.Name)
	if it.Changed {
		l.Add(name, " *")
	}
	if p.match != "" && holds(it, p.match) {
		l.Add(p.th.Notice, " <")
	}
	tail := it.Value
	if it.Refused != "" && !it.On {
		tail = strings.TrimSpace(tail + " " + g.Off)
	}
	if tail != "" && p.th.Width(tail)+1 <= l.Left() {
		l.Repeat(rest, " ", l.Left()-p.th.Width(tail)-1).Add(rest, tail)
	}
	return l.DoneIn(rest)
}

func choose(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}

// right tells about the selected switch, the next run, and A beside B.
func (p *Pane) right(w int) []string {
	var out []string
	say := func(style theme.Style, format string, args ...any) {
		for _, s := range p.th.Wrap(fmt.Sprintf(format, args...), w-2) {
			out = append(out, p.th.Line(w).Space(1).Add(style, s).Done())
		}
	}
	gap := func() { out = append(out, p.th.Line(w).Done()) }
	if it := p.Selected(); it != nil {
		say(p.th.Title, "%s", it.Name)
		if it.Help != "" {
			say(p.th.Text, "%s", it.Help)
		}
		if it.Needs != "" {
			say(p.th.Dim, "needs %s", it.Needs)
		}
		if it.Refused != "" {
			say(p.th.Notice, "%s", it.Refused)
		}
		if it.Note != "" {
			say(p.th.Text, "%s", it.Note)
		}
		gap()
	}
	say(p.th.Title, "RUN")
	say(p.th.Text, "%s", p.data.Request)
	if r := p.data.Report; r != nil {
		p.verdict(r, w, &out)
	}
	gap()
	if p.data.A == nil {
		say(p.th.Dim, "a pins this run as A; the next one is compared with it here")
	} else {
		p.compare(w, &out)
	}
	return p.versus(w, out)
}

func (p *Pane) verdict(r *debugkern.Report, w int, out *[]string) {
	l := p.th.Line(w).Space(1)
	l.Add(p.th.Verdict(r.Verdict), p.th.VerdictMark(r.Verdict)+" "+r.Verdict)
	for i, g := range r.Guilty {
		l.Add(p.th.Wrong, choose(i == 0, " guilty ", " ")+g.Stage)
	}
	if n := len(r.Findings); n > 0 {
		l.Add(p.th.Wrong, " · "+theme.Count(n, "finding"))
	}
	*out = append(*out, l.Done())
	l = p.th.Line(w).Space(1)
	for i := range r.Stages {
		s := &r.Stages[i]
		l.Add(p.th.Verdict(s.Verdict), s.Name+p.th.VerdictMark(s.Verdict)+" ")
	}
	*out = append(*out, l.Done())
}

// compare lays A beside B, stage by stage.
func (p *Pane) compare(w int, out *[]string) {
	a, b := p.data.A.Report, p.data.Report
	half := (w - 5) / 2
	line := func(name string, sa, sb theme.Style, ta, tb string) {
		l := p.th.Line(w).Space(1).Add(p.th.Dim, name).Pad(5)
		l.Add(sa, p.th.Fit(ta, half-1)).Pad(5 + half)
		*out = append(*out, l.Add(sb, p.th.Fit(tb, half-1)).Done())
	}
	line("", p.th.Title, p.th.Title, "A "+p.data.A.Name, "B "+p.data.B)
	if b == nil {
		line("", p.th.Verdict(a.Verdict), p.th.Dim, p.th.VerdictMark(a.Verdict)+" "+a.Verdict, "running")
		return
	}
	line("", p.th.Verdict(a.Verdict), p.th.Verdict(b.Verdict), p.th.VerdictMark(a.Verdict)+" "+a.Verdict, p.th.VerdictMark(b.Verdict)+" "+b.Verdict)
	for i := range a.Stages {
		sa := &a.Stages[i]
		sb := b.Stage(sa.Name)
		if sb == nil {
			sb = &debugkern.StageDoc{Verdict: debugkern.Off}
		}
		line(sa.Name, p.th.Verdict(sa.Verdict), p.th.Verdict(sb.Verdict), p.stage(sa), p.stage(sb))
	}
	if a.Output != nil && b.Output != nil {
		line("out", p.th.Verdict(a.Output.Verdict), p.th.Verdict(b.Output.Verdict), fmt.Sprintf("max %.3g", float64(a.Output.MaxAbs)), fmt.Sprintf("max %.3g", float64(b.Output.MaxAbs)))
	}
	same := "digests differ"
	if a.Digest != "" && a.Digest == b.Digest {
		same = "equal bits: the same digest"
	}
	*out = append(*out, p.th.Line(w).Space(1).Add(p.th.Text, same).Done())
}

func (p *Pane) stage(s *debugkern.StageDoc) string {
	if s.Verdict == debugkern.Off {
		return p.th.VerdictMark(s.Verdict) + " off"
	}
	return fmt.Sprintf("%s %.2g bad %d", p.th.VerdictMark(s.Verdict), float64(s.Local.MaxAbs), s.Local.Bad)
}

// Hit maps a place on the pane to a switch; part is which part it lies in.
func (p *Pane) Hit(x, y int) (part int, ok bool) {
	if x >= p.listWidth() {
		return About, false
	}
	line, last := p.top+y-1, Kind(255)
	for _, i := range p.shown {
		if k := p.data.Items[i].Kind; k != last {
			last = k
			line--
		}
		if line == 0 {
			p.sel, p.changed = i, true
			return List, true
		}
		line--
	}
	return List, false
}
