package flags

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

// listWidth is the width of the list of switches: all, or nothing, where a part is drawn alone.
func (p *Pane) listWidth() int {
	switch {
	case p.Zoomed && p.Focus == List:
		return p.W
	case p.Zoomed && p.Focus == About:
		return 0
	}
	return max(30, min(p.W*45/100+p.grow, p.W-28))
}

func (p *Pane) draw() []string {
	if p.W < 60 || p.H < 4 {
		return p.Theme.Blank(p.W, p.H)
	}
	lw := p.listWidth()
	if lw == 0 {
		return p.aboutBox(p.W)
	}
	rows, at := p.list(lw - 2)
	body := p.H - 2
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
	left := p.Theme.Box(title, note, rows[p.top:], lw, p.H, p.Focus == List)
	if lw == p.W {
		return left
	}
	return theme.Beside(left, p.aboutBox(p.W-lw))
}

// aboutBox is what stands next to the list, w columns wide.
func (p *Pane) aboutBox(w int) []string {
	body := p.H - 2
	about := p.right(w - 2)
	p.about = len(about)
	if p.wanted != Nothing {
		p.scroll, p.wanted = p.marks[p.wanted], Nothing
	}
	p.scroll = max(0, min(p.scroll, p.about-body))
	note := ""
	if p.about > body {
		note = fmt.Sprintf("line %d of %d", p.scroll+1, p.about)
	}
	return p.Theme.Box("ABOUT", note, about[p.scroll:], w, p.H, p.Focus == About)
}

// list draws the switches under their headings and returns the line of the selected one.
func (p *Pane) list(w int) (rows []string, at int) {
	last := Kind(255)
	for _, i := range p.shown {
		it := p.data.Items[i]
		if it.Kind != last {
			rows = append(rows, p.Theme.Line(w).Space(1).Add(p.Theme.Title, headings[it.Kind]).Done())
			last = it.Kind
		}
		if i == p.sel {
			at = len(rows)
		}
		rows = append(rows, p.item(it, w, i == p.sel))
	}
	if len(rows) == 0 {
		rows = append(rows, p.Theme.Line(w).Space(1).Add(p.Theme.Dim, "nothing matches").Done())
	}
	return rows, at
}

// helpFrom is the column at which a switch's description begins in the list, where at least leastHelp columns
// are left for it.
const helpFrom, leastHelp = 30, 24

func (p *Pane) item(it Item, w int, selected bool) string {
	g := p.Theme.Glyph
	box := "[" + choose(it.On, g.Check, " ") + "]"
	if it.Kind.Radio() {
		box = "(" + choose(it.On, g.Dot, " ") + ")"
	}
	if it.Kind == Seed {
		box = "   "
	}
	name, rest := p.Theme.Text, p.Theme.Dim
	switch {
	case it.On && it.Kind == Fault:
		name = p.Theme.Wrong
	case it.On:
		name = p.Theme.Strong
	case it.Refused != "":
		name = p.Theme.Off
	}
	pointer := " "
	if selected {
		name, rest, pointer = p.Theme.Select, p.Theme.Select, g.Pointer
	}
	l := p.Theme.Line(w).Add(rest, pointer).Add(name, box+" "+it.Name)
	if it.Changed {
		l.Add(name, " *")
	}
	if p.match != "" && holds(it, p.match) {
		l.Add(p.Theme.Notice, " <")
	}
	tail := it.Value
	if room := w - helpFrom - 2 - p.Theme.Width(tail); room >= leastHelp && it.Help != "" {
		if l.Col() > helpFrom-2 {
			l.Repeat(rest, " ", 2)
		} else {
			l.Repeat(rest, " ", helpFrom-l.Col())
		}
		style := p.Theme.Dim
		if selected {
			style = rest
		}
		l.Add(style, p.Theme.Fit(it.Help, w-l.Col()-3-p.Theme.Width(tail)))
	}
	if it.Refused != "" {
		tail = strings.TrimSpace(tail + " " + g.Off)
	}
	if tail != "" && p.Theme.Width(tail)+1 <= l.Left() {
		l.Repeat(rest, " ", l.Left()-p.Theme.Width(tail)-1).Add(rest, tail)
	}
	return l.DoneIn(rest)
}

func choose(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}

// right describes the selected switch, the next run, and A compared with B.
func (p *Pane) right(w int) []string {
	var out []string
	say := func(style theme.Style, format string, args ...any) {
		for _, s := range p.Theme.Wrap(fmt.Sprintf(format, args...), w-2) {
			out = append(out, p.Theme.Line(w).Space(1).Add(style, s).Done())
		}
	}
	gap := func() { out = append(out, p.Theme.Line(w).Done()) }
	if p.data.State == "failed" { // what went wrong comes first
		out = append(p.runSection(w), p.Theme.Line(w).Done())
	}
	if it := p.Selected(); it != nil {
		say(p.Theme.Title, "%s", it.Name)
		if it.Help != "" {
			say(p.Theme.Text, "%s", it.Help)
		}
		if it.Needs != "" {
			say(p.Theme.Dim, "needs %s", it.Needs)
		}
		switch {
		case it.Moves:
			say(p.Theme.Notice, "%s", it.Refused)
		case it.Refused != "":
			say(p.Theme.Notice, "cannot be switched now: %s", it.Refused)
		}
		if it.Note != "" {
			say(p.Theme.Text, "%s", it.Note)
		}
		gap()
	}
	if p.data.State != "failed" {
		out = append(out, p.runSection(w)...)
	}
	gap()
	if p.data.A == nil {
		say(p.Theme.Dim, "a pins this run as A; the next one is compared with it here")
		gap()
		p.siblings(say)
	} else {
		p.compare(w, &out)
	}
	return p.versus(w, out)
}

// siblings describes the shown switches of the selected one's kind.
func (p *Pane) siblings(say func(style theme.Style, format string, args ...any)) {
	it := p.Selected()
	if it == nil || it.Kind == Variant || it.Kind == Seed {
		return
	}
	say(p.Theme.Title, "%s", headings[it.Kind])
	for _, i := range p.shown {
		if s := &p.data.Items[i]; s.Kind == it.Kind && s.Help != "" {
			style := p.Theme.Text
			if s.On {
				style = p.Theme.Strong
			}
			say(style, "%s: %s", s.Name, s.Help)
		}
	}
}

func (p *Pane) verdict(r *report.Run, w int, out *[]string) {
	l := p.Theme.Line(w).Space(1)
	l.Add(p.Theme.Verdict(r.Verdict), p.Theme.VerdictMark(r.Verdict)+" "+r.Outcome())
	if n := r.Judged(); n > 0 && n < len(r.Stages) && len(r.Guilty) == 0 { // a gate leaves stages out
		l.Add(p.Theme.Dim, fmt.Sprintf(" · %d of %d stages judged", n, len(r.Stages)))
	}
	for i, g := range r.Guilty {
		l.Add(p.Theme.Wrong, choose(i == 0, " guilty ", " ")+g.Stage)
	}
	if n := len(r.Findings); n > 0 {
		l.Add(p.Theme.Wrong, " · "+theme.Count(n, "finding"))
	}
	*out = append(*out, l.Done())
	l = p.Theme.Line(w).Space(1)
	for i := range r.Stages {
		s := &r.Stages[i]
		l.Add(p.Theme.Verdict(s.Verdict), s.Name+p.Theme.VerdictMark(s.Verdict)+" ")
	}
	*out = append(*out, l.Done())
}

// runSection is the request, how it stands, and the run on screen: that of an earlier
// request dimmed and headed.
func (p *Pane) runSection(w int) (out []string) {
	say := func(style theme.Style, format string, args ...any) { out = p.say(out, w, style, format, args...) }
	say(p.Theme.Title, "RUN")
	say(p.Theme.Text, "%s", p.data.Request)
	switch p.data.State {
	case "":
	case "failed":
		say(p.Theme.Wrong, "%s %s", p.Theme.Glyph.Wrong, p.data.State)
		for _, reason := range p.data.Reasons {
			say(p.Theme.Text, "%s", reason)
		}
	default:
		say(p.Theme.Running, "%s", p.data.State)
	}
	if r := p.data.Run.Report(); r != nil {
		var drawn []string
		p.verdict(r, w, &drawn)
		if p.data.Run.Previous() {
			out = append(out, p.Theme.Line(w).Done())
			say(p.Theme.Title, "%s", p.data.Run.Heading())
			drawn = p.Theme.Fade(drawn)
		}
		out = append(out, drawn...)
	}
	return out
}

// compare draws A and B, stage by stage.
func (p *Pane) compare(w int, out *[]string) {
	a, b := p.data.A.Report, p.data.Run.Current()
	const names = 7 // columns of the stages' names: those of a product are called A and B too
	half := (w - names) / 2
	line := func(name string, sa, sb theme.Style, ta, tb string) {
		l := p.Theme.Line(w).Space(1).Add(p.Theme.Dim, p.Theme.Fit(name, names-2)).Pad(names)
		l.Add(sa, p.Theme.Fit(ta, half-1)).Pad(names + half)
		*out = append(*out, l.Add(sb, p.Theme.Fit(tb, half-1)).Done())
	}
	*out = p.say(*out, w, p.Theme.Title, "run A %s", p.data.A.Name)
	if p.data.Apart != "" {
		*out = p.say(*out, w, p.Theme.Notice, "%s", p.data.Apart)
		return
	}
	if b == nil {
		*out = p.say(*out, w, p.Theme.Title, "run B %s", p.data.Request)
		line("", p.Theme.Verdict(a.Verdict), p.Theme.Dim, p.Theme.VerdictMark(a.Verdict)+" "+a.Verdict,
			p.data.State)
		return
	}
	*out = p.say(*out, w, p.Theme.Title, "run B %s", p.data.B)
	columns := p.columns(half - 1)
	line("stage", p.Theme.Dim, p.Theme.Dim, fmt.Sprintf(columns.head, "A"), fmt.Sprintf(columns.head, "B"))
	line("all", p.Theme.Verdict(a.Verdict), p.Theme.Verdict(b.Verdict),
		p.Theme.VerdictMark(a.Verdict)+" "+a.Verdict, p.Theme.VerdictMark(b.Verdict)+" "+b.Verdict)
	for i := range a.Stages {
		sa := &a.Stages[i]
		sb := b.Stage(sa.Name)
		if sb == nil {
			sb = &report.Stage{Verdict: report.Off}
		}
		line(sa.Name, p.Theme.Verdict(sa.Verdict), p.Theme.Verdict(sb.Verdict), p.stage(sa, columns),
			p.stage(sb, columns))
	}
	if a.Output != nil && b.Output != nil {
		line("out", p.Theme.Verdict(a.Output.Verdict), p.Theme.Verdict(b.Output.Verdict),
			"max "+a.Output.Most(), "max "+b.Output.Most())
	}
	same := "different bits: digests differ"
	if a.Digest != "" && a.Digest == b.Digest {
		same = "equal bits: the same digest"
	}
	*out = append(*out, p.Theme.Line(w).Space(1).Add(p.Theme.Text, same).Done())
}

// stageColumns are how a stage's figures are written next to another's: their heading, and the widths of the
// largest error and of the number of bad cells.
type stageColumns struct {
	head       string // with a verb for the run's name
	error, bad int
}

// columns are those for a room of w columns.
func (p *Pane) columns(w int) stageColumns {
	if w < 27 {
		return stageColumns{"%s: max error bad", 7, 6}
	}
	return stageColumns{"run %s: max error  bad cells", 14, 10}
}

func (p *Pane) stage(s *report.Stage, c stageColumns) string {
	if s.Unreached() {
		return p.Theme.VerdictMark(s.Verdict) + " not reached"
	}
	if s.Verdict == report.Off {
		return p.Theme.VerdictMark(s.Verdict) + " off"
	}
	of := &s.Local
	if s.Verdict == report.Tainted { // wrong by what it was given: as the Tile view counts
		of = &s.Global
	}
	mark := p.Theme.VerdictMark(s.Verdict)
	return fmt.Sprintf("%s %*s %*d", mark, c.error, of.Size(of.MaxAbs, "%.2g"), c.bad, of.Bad)
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
			p.sel, p.Changed = i, true
			return List, true
		}
		line--
	}
	return List, false
}
