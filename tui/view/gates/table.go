package gates

import (
	"fmt"

	"tilescope/debugkern/gates"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	if p.W < 60 || p.H < 12 {
		return p.Theme.Blank(p.W, p.H)
	}
	th := p.tableHeight()
	if th == 0 {
		return p.numbers(p.W, p.H)
	}
	p.top = theme.Into(p.top, p.sel, th-3, len(p.data.Rows))
	rows := []string{p.heads(p.W - 2)}
	for i := p.top; i < min(len(p.data.Rows), p.top+th-3); i++ {
		row := p.row(i, p.W-2)
		if p.data.Rows[i].Previous != "" {
			row = p.Theme.Fade([]string{row})[0]
		}
		rows = append(rows, row)
	}
	title := "GATES " + p.data.Kernel
	if p.data.Without != "" {
		title += " without " + p.data.Without
	}
	if p.data.Against != "" {
		title += " against " + p.data.Against
	}
	out := p.Theme.Box(title, p.progress(), rows, p.W, th, p.Focus == Table)
	if th == p.H {
		return out
	}
	return append(out, p.numbers(p.W, p.H-th)...)
}

// progress is the sweep under way: 12/231 stage2 correctness; or what the last one came to.
func (p *Pane) progress() string {
	n := p.data.Now
	switch {
	case !p.data.Running:
		return p.data.Note
	case n.Total == 0:
		return "building " + n.Target
	}
	return fmt.Sprintf("%d/%d %s", n.Done, n.Total, n.Target)
}

// columns are where the parts of a row begin.
type columns struct{ ptxas, correct, speed int }

func (p *Pane) columns(w int) columns {
	name := 18
	for _, r := range p.data.Rows {
		name = max(name, min(30, p.Theme.Width(r.Target)+3))
	}
	if w >= 110 {
		return columns{name + 2, name + 32, name + 64}
	}
	return columns{name, name + 21, name + 37}
}

func (p *Pane) heads(w int) string {
	c := p.columns(w)
	l := p.Theme.Line(w).Add(p.Theme.Dim, "  variant").Pad(c.ptxas)
	if w >= 110 {
		l.Add(p.Theme.Dim, "PTXAS regs  shared  spills").Pad(c.correct).
			Add(p.Theme.Dim, "correct   max_abs   mean_abs")
		return l.Pad(c.speed).Add(p.Theme.Dim, "performance").Done()
	}
	return l.Add(p.Theme.Dim, "PTXAS rg  shared sp").Pad(c.correct).Add(p.Theme.Dim, "correct max_abs").
		Pad(c.speed).Add(p.Theme.Dim, "performance").Done()
}

// mark is a gate's verdict as a glyph and its style.
func (p *Pane) mark(verdict string) (theme.Style, string) {
	switch verdict {
	case gates.Green:
		return p.Theme.OK, p.Theme.Glyph.OK
	case gates.Red:
		return p.Theme.Wrong, p.Theme.Glyph.Wrong
	}
	return p.Theme.Off, p.Theme.Glyph.Off
}

func (p *Pane) row(i, w int) string {
	r, c := p.data.Rows[i], p.columns(w)
	pointer, name := " ", p.Theme.Text
	if i == p.sel {
		pointer, name = p.Theme.Glyph.Pointer, p.Theme.Strong
		if p.Focus == Table {
			name = p.Theme.Select
		}
	}
	l := p.Theme.Line(w).Add(p.Theme.Mark, pointer).Space(1).
		Add(name, p.Theme.Fit(r.Target, c.ptxas-3)).Pad(c.ptxas)
	d := r.Doc
	if d == nil {
		return p.unjudged(l, r, c).Done()
	}
	p.resources(l, &d.PTXAS, w >= 110)
	p.results(l.Pad(c.correct), &d.Correctness, w >= 110)
	style, mark := p.mark(d.Performance.Verdict)
	l.Pad(c.speed).Add(style, mark+" ").Add(p.Theme.Text,
		p.Theme.Fit(p.speed(&d.Performance, l.Left()), l.Left()))
	return l.Done()
}

// unjudged is a row without a document: the gate at hand where the sweep is at it.
func (p *Pane) unjudged(l *theme.Line, r Row, c columns) *theme.Line {
	n := p.data.Now
	if !p.data.Running || n.Target != r.Target {
		return l.Add(p.Theme.Off, p.Theme.Glyph.Off).Pad(c.correct).Add(p.Theme.Off, p.Theme.Glyph.Off).
			Pad(c.speed).Add(p.Theme.Off, p.Theme.Glyph.Off+" not judged")
	}
	at := map[string]int{"correctness": c.correct, "performance": c.speed}[n.Gate]
	text := n.Gate + " " + n.Detail
	if n.Gate == "correctness" {
		text = n.Detail
	}
	return l.Pad(at).Add(p.Theme.Running, p.Theme.Fit(p.Theme.Glyph.Pointer+" "+text, l.Left()))
}

// resources is the worst of every figure over the architectures.
func (p *Pane) resources(l *theme.Line, d *gates.PTXASDoc, wide bool) {
	style, mark := p.mark(d.Verdict)
	l.Add(style, mark)
	regs, shared, spills, known := 0, 0, 0, false
	for _, a := range d.Archs {
		if x := a.Resources; x != nil {
			known = true
			regs, shared, spills = max(regs, x.Registers), max(shared, x.SharedBytes),
				max(spills, x.SpillStoreBytes+x.SpillLoadBytes)
		}
	}
	switch {
	case !known:
		l.Add(p.Theme.Dim, " "+d.Verdict)
	case wide:
		l.Add(p.Theme.Text, fmt.Sprintf(" %8d %7d %7d", regs, shared, spills))
	default:
		l.Add(p.Theme.Text, fmt.Sprintf(" %6d %7d %2d", regs, shared, spills))
	}
}

func (p *Pane) results(l *theme.Line, d *gates.CorrectnessDoc, wide bool) {
	style, mark := p.mark(d.Verdict)
	l.Add(style, fmt.Sprintf("%s %d/%d", mark, d.Passed, d.Total))
	maxAbs, meanAbs, ok := d.Worst()
	if !ok {
		if d.ByFindings() {
			l.Add(p.Theme.Dim, " pass")
		}
		if d.ByFindings() && wide {
			l.Add(p.Theme.Dim, " by findings")
		}
		return
	}
	at := l.Col()
	if wide {
		l.Pad(max(at+1, p.columns(p.W-2).correct+9)).Right(p.Theme.Text, cell.FixedText(maxAbs, 7), l.Col()+8)
		l.Right(p.Theme.Text, cell.FixedText(meanAbs, 8), l.Col()+11)
		return
	}
	l.Space(1).Add(p.Theme.Text, cell.FixedText(maxAbs, 5))
}

// speed is the performance gate in a few words: a time is a GPU's, a count is called one. It says as much of
// a count as fits.
func (p *Pane) speed(d *gates.PerformanceDoc, room int) string {
	switch {
	case d.Times != nil && d.Test != nil:
		return fmt.Sprintf("×%.3f p %.1g, %.1f µs", d.Speedup, d.Test.P, d.Times.P50)
	case d.Times != nil:
		return fmt.Sprintf("%.1f µs, not compared", d.Times.P50)
	case d.Counts == nil:
		return d.Verdict
	}
	n := count(d.Counts.WarpInstructions)
	for _, text := range []string{
		fmt.Sprintf("not run; counted: %s warp instructions, %s shared accesses", n,
			count(d.Counts.SharedAccesses)),
		fmt.Sprintf("not run; counted: %s warp instructions", n),
		fmt.Sprintf("not run; %s instructions", n),
	} {
		if p.Theme.Width(text) <= room {
			return text
		}
	}
	return fmt.Sprintf("not run, %s instr", n)
}

// count writes a large number in thousands or millions.
func count(n uint64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
