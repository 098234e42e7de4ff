package flags

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// versus adds what bisection and comparison came to.
func (p *Pane) versus(w int, out []string) []string {
	p.marks = [numSections]int{}
	if c := p.data.Comparison; c != nil {
		out = p.section(Compared, w, out, p.compared(c, w, nil))
	}
	if b := p.data.Bisection; b != nil {
		out = p.section(Bisected, w, out, p.bisected(b, w, nil))
	}
	return out
}

// section adds the lines of one section, those of an earlier run dimmed and headed.
func (p *Pane) section(s Section, w int, out, lines []string) []string {
	out = append(out, p.Theme.Line(w).Done())
	p.marks[s] = len(out)
	if p.data.Compared != "" {
		out = p.say(out, w, p.Theme.Title, "%s", p.data.Compared)
		lines = p.Theme.Fade(lines)
	}
	return append(out, lines...)
}

// say adds a line, or as many as the text takes.
func (p *Pane) say(out []string, w int, style theme.Style, format string, args ...any) []string {
	for _, s := range p.Theme.Wrap(fmt.Sprintf(format, args...), w-2) {
		out = append(out, p.Theme.Line(w).Space(1).Add(style, s).Done())
	}
	return out
}

// compared is kernel against kernel, stage by stage: how many cells differ, by how much, and where first.
func (p *Pane) compared(c *report.Comparison, w int, out []string) []string {
	g := p.Theme.Glyph
	title := "A AGAINST B, BIT BY BIT"
	if c.Tolerance != nil {
		title = "A AGAINST B, WITHIN A TOLERANCE"
	}
	out = p.say(out, w, p.Theme.Title, "%s", title)
	if c.Tolerance != nil {
		out = p.say(out, w, p.Theme.Text, "%s of the larger", c.Tolerance)
	}
	out = p.say(out, w, p.Theme.Text, "run A %s", p.data.Against)
	switch c.Verdict {
	case report.Equal:
		out = p.say(out, w, p.Theme.OK, "%s equal in every tile", g.OK)
	case report.Within:
		out = p.say(out, w, p.Theme.OK, "%s within the tolerance in every tile", g.OK)
	default:
		out = p.say(out, w, p.Theme.Wrong, "%s they differ%s", g.Differs,
			choose(c.First != "", ", first in "+c.First, ""))
	}
	for i := range c.Stages {
		s := &c.Stages[i]
		style, text := p.Theme.OK, fmt.Sprintf("%s %d cells equal", g.OK, s.Cells)
		switch s.Verdict {
		case report.Differ:
			style = p.Theme.Wrong
			text = fmt.Sprintf("%s %d/%d, most %s", g.Differs, s.Beyond, s.Cells, p.most(&s.CellStats))
		case report.Within:
			text = fmt.Sprintf("%s %d/%d differ, most %s", g.OK, s.Differing, s.Cells, p.most(&s.CellStats))
		case report.Incomparable:
			style, text = p.Theme.Off, g.Off+" "+s.Reason
		}
		out = append(out, p.Theme.Line(w).Space(1).Add(p.Theme.Text, s.Name).Pad(4).
			Add(style, p.Theme.Fit(text, w-4)).Done())
	}
	if o := c.Output; o != nil && o.Verdict == report.Differ {
		out = p.say(out, w, p.Theme.Wrong, "output %s %d/%d, most %s", g.Differs, o.Beyond, o.Cells,
			p.most(&o.CellStats))
	}
	for _, only := range []struct {
		name string
		list []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(only.list) > 0 {
			out = p.say(out, w, p.Theme.Dim, "only run %s has %s", only.name, strings.Join(only.list, " "))
		}
	}
	for _, n := range c.Notes {
		out = p.say(out, w, p.Theme.Notice, "%s", n)
	}
	if c.First != "" {
		out = p.say(out, w, p.Theme.Dim, "Enter here: the first differing cell in Tile, A, B and B - A")
	}
	return out
}

func (p *Pane) most(s *report.CellStats) string {
	odd := fmt.Sprintf("%d NaN or Inf", s.Nonfinite)
	if s.Nonfinite > 0 && s.Nonfinite == s.Differing {
		return odd
	}
	text := fmt.Sprintf("%s, %s", cell.Long(float64(s.MaxAbs)), cell.DistanceText(s.MaxULP))
	if s.Nonfinite > 0 {
		text += ", " + odd
	}
	return text
}

// bisected is the smallest set, how it was found, and the pair to compare.
func (p *Pane) bisected(b *report.Bisection, w int, out []string) []string {
	out = p.say(out, w, p.Theme.Title, "BISECTED")
	for i, t := range b.Targets {
		verdict := t.Verdict
		if t.Because != "" {
			verdict += " (" + t.Because + ")"
		}
		out = p.say(out, w, p.Theme.Verdict(t.Verdict), "%s %s %s: %s", "AB"[i:i+1],
			p.Theme.VerdictMark(t.Verdict), p.data.Ends[i], verdict)
	}
	if b.Verdict != report.Found {
		out = p.say(out, w, p.Theme.Text, "both have the same verdict: there is nothing to bisect")
		if b.Targets[0].Verdict == report.Agree {
			out = p.say(out, w, p.Theme.Text, "a race changes nothing in many orders of warps, and both ran in one: "+
				":diagnose, or d in Races, looks at B under every checker and in several orders")
		}
		return out
	}
	out = p.say(out, w, p.Theme.Text, "they differ in %s", report.ChangesText(b.Differences))
	proof := "every smaller set was tried"
	if b.Proof != "smallest" {
		proof = "none of it can be left out"
	}
	out = p.say(out, w, p.Theme.Strong, "smallest set: %s", report.ChangesText(b.Minimal))
	out = p.say(out, w, p.Theme.Text, "it makes %s %s; %s", strings.ToUpper(b.From), b.Until, proof)
	if also := b.AlsoText(); also != "" {
		out = p.say(out, w, p.Theme.Wrong, "not the only one: %s", also)
	}
	if len(b.Steps) > 0 {
		out = p.say(out, w, p.Theme.Dim, "tried, in this order:")
	}
	for i, s := range b.Steps {
		because, _, _ := strings.Cut(s.Because, "\n")
		mark, style := p.Theme.VerdictMark(s.Verdict), p.Theme.Verdict(s.Verdict)
		text := fmt.Sprintf("%s %s: %s", mark, s.Verdict, report.ChangesText(s.Changes))
		switch {
		case because == "":
		case s.Verdict == report.Unresolved:
			text += ": " + because
		default: // as of A and B above: diverge (U)
			text = fmt.Sprintf("%s %s (%s): %s", mark, s.Verdict, because, report.ChangesText(s.Changes))
		}
		number := fmt.Sprintf("%2d ", i+1)
		for _, part := range p.Theme.Wrap(text, w-5) {
			out = append(out, p.Theme.Line(w).Space(1).Add(p.Theme.Dim, number).Add(style, part).Done())
			number = strings.Repeat(" ", len(number))
		}
	}
	if b.Pair != nil {
		out = p.say(out, w, p.Theme.Text, "nearest pair, different by %s:",
			report.ChangesText(b.Pair.Changes))
		out = p.say(out, w, p.Theme.Text, "%s", b.Pair.Compare)
		if p.data.Comparison == nil {
			out = p.say(out, w, p.Theme.Dim, "Enter here: run the pair and compare it")
		}
	}
	return out
}
