package races

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/theme"
)

// row is one line of the list: a cause, a finding, a synchronisation, or what folds and unfolds some of them.
// What it is not is -1.
type row struct{ cause, finding, barrier, fold int }

// What is folded until somebody asks.
const (
	foldAdvice = iota
	foldBarriers
	numFolds
)

var foldNames = [numFolds]string{"advice", "synchronisations"}

// SetFilter shows only findings whose kind, severity, variable or message contains text, "" for all.
func (p *Pane) SetFilter(text string) {
	p.filter = text
	p.regroup()
}

// Fold folds or unfolds what the cursor's row belongs to, advice where it belongs to nothing. It names it and
// reports whether it is unfolded now; ok is false where there is none.
func (p *Pane) Fold() (what string, open, ok bool) {
	k := foldAdvice
	if p.at < len(p.rows) {
		if r := p.rows[p.at]; r.fold == foldBarriers || r.barrier >= 0 {
			k = foldBarriers
		}
	}
	p.open[k] = !p.open[k]
	p.regroup()
	return foldNames[k], p.open[k],
		slices.ContainsFunc(p.rows, func(r row) bool { return r.fold == k })
}

// OnFold reports whether the cursor is on a line that folds others.
func (p *Pane) OnFold() bool { return p.at < len(p.rows) && p.rows[p.at].fold >= 0 }

// Finding is the index of the finding under the cursor: of a cause, its first.
func (p *Pane) Finding() (int, bool) {
	if p.at >= len(p.rows) {
		return 0, false
	}
	return p.findingOf(p.rows[p.at])
}

func (p *Pane) findingOf(r row) (int, bool) {
	if r.finding >= 0 {
		return r.finding, true
	}
	if r.cause >= 0 {
		if all := p.of(&p.data.Causes[r.cause]); len(all) > 0 {
			return all[0], true
		}
	}
	return 0, false
}

// Stay keeps the cursor on the row where it is when a diagnosis ends: something was asked of it.
func (p *Pane) Stay() { p.moved = true }

// Lead is the index of the finding that stands for the cause of the one under the cursor, where that is
// another.
func (p *Pane) Lead() (int, bool) {
	if p.at >= len(p.rows) || p.rows[p.at].cause < 0 || p.rows[p.at].finding < 0 {
		return 0, false
	}
	all := p.of(&p.data.Causes[p.rows[p.at].cause])
	return all[0], all[0] != p.rows[p.at].finding
}

// Cause is the cause under the cursor, or that of the finding there; nil where there is none.
func (p *Pane) Cause() *diagnose.Cause {
	if p.at < len(p.rows) && p.rows[p.at].cause >= 0 {
		return &p.data.Causes[p.rows[p.at].cause]
	}
	return nil
}

// places are the two lines of what the cursor is on, nil for those that it does not have; of a line that
// folds others, those of the first of them.
func (p *Pane) places() (a, b *report.Source) {
	if p.at >= len(p.rows) {
		return nil, nil
	}
	r := p.rows[p.at]
	if r.fold >= 0 {
		r = p.folds[r.fold][0]
	}
	if i, ok := p.findingOf(r); ok {
		return p.data.Findings[i].Source, p.data.Findings[i].Other
	}
	switch {
	case r.cause >= 0:
		c := &p.data.Causes[r.cause]
		return c.Place.Source, c.Place.Other
	case r.barrier >= 0:
		return p.data.Barriers[r.barrier].Source, nil
	}
	return nil, nil
}

// Barrier is the synchronisation under the cursor, nil where there is none.
func (p *Pane) Barrier() *diagnose.BarrierDoc {
	if p.at < len(p.rows) && p.rows[p.at].barrier >= 0 {
		return &p.data.Barriers[p.rows[p.at].barrier]
	}
	return nil
}

func isAdvice(f report.Finding) bool { return f.Severity == "advice" }

// of lists the findings of a cause.
func (p *Pane) of(c *diagnose.Cause) []int {
	list := c.Findings
	if len(list) == 0 && c.Finding >= 0 {
		list = []int{c.Finding}
	}
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool {
		return i < 0 || i >= len(p.data.Findings)
	})
}

// identity is what a row is about: causes that arrive one after the other change its place.
func (p *Pane) identity(r row) string {
	switch {
	case r.fold >= 0:
		return fmt.Sprint("fold ", r.fold)
	case r.barrier >= 0:
		return barrierTitle(&p.data.Barriers[r.barrier])
	case r.finding >= 0:
		f := &p.data.Findings[r.finding]
		return title(f, &p.data.Work) + f.Message
	}
	return p.data.Causes[r.cause].Title
}

// regroup makes the list: causes with their findings, errors without a cause, advice, synchronisations.
func (p *Pane) regroup() {
	p.Changed = true
	p.rows = p.rows[:0]
	listed := map[int]bool{}
	for i := range p.data.Causes {
		c := &p.data.Causes[i]
		if !p.matches(c.Kind + " error " + c.Title + " " + c.Stage) {
			continue
		}
		p.rows = append(p.rows, row{i, -1, -1, -1})
		for _, f := range p.of(c) {
			if !listed[f] {
				listed[f] = true
				p.rows = append(p.rows, row{i, f, -1, -1})
			}
		}
	}
	var advice, barriers []row
	for i := range p.data.Findings {
		f := &p.data.Findings[i]
		switch {
		case listed[i] || !p.matches(f.Kind+" "+f.Severity+" "+f.Variable+" "+f.Message):
		case isAdvice(*f):
			advice = append(advice, row{-1, i, -1, -1})
		default:
			p.rows = append(p.rows, row{-1, i, -1, -1})
		}
	}
	for i := range p.data.Barriers {
		b := &p.data.Barriers[i]
		if p.matches(barrierTitle(b) + " " + b.Because) {
			barriers = append(barriers, row{-1, -1, i, -1})
		}
	}
	p.folds = [numFolds][]row{advice, barriers}
	for k, list := range p.folds {
		if len(list) == 0 {
			continue
		}
		p.rows = append(p.rows, row{-1, -1, -1, k})
		if p.unfolded(k) {
			p.rows = append(p.rows, list...)
		}
	}
	p.at = max(0, min(p.at, len(p.rows)-1))
}

// unfolded reports whether a fold's rows are listed: all that match are, while there is a filter.
func (p *Pane) unfolded(k int) bool { return p.open[k] || p.filter != "" }

func (p *Pane) matches(text string) bool {
	return p.filter == "" || strings.Contains(strings.ToLower(text), strings.ToLower(p.filter))
}

// Move moves the cursor through the list and reports whether it moved.
func (p *Pane) Move(n int) bool {
	to := max(0, min(p.at+n, len(p.rows)-1))
	moved := to != p.at
	if moved {
		p.at, p.moved, p.Changed = to, true, true
		p.scroll = [numParts]int{Story: p.scroll[Story]}
	}
	return moved
}

// Next moves to the next (dir 1) or previous finding, round the end, and reports whether there is another.
func (p *Pane) Next(dir int) bool {
	n := len(p.rows)
	for k := 1; k < n; k++ {
		if i := ((p.at+dir*k)%n + n) % n; p.rows[i].finding >= 0 {
			return p.Move(i - p.at)
		}
	}
	return false
}

// Here returns what puts the list back to where it stands now.
func (p *Pane) Here() (back func()) {
	at := p.at
	return func() { p.Move(at - p.at) }
}

// Find moves to the next (dir 1) or previous row with a text, round the end. It reports whether there is one.
func (p *Pane) Find(text string, dir int) bool {
	n := len(p.rows)
	for k := 1; k <= n; k++ {
		i := ((p.at+dir*k)%n + n) % n
		if strings.Contains(strings.ToLower(p.rowText(p.rows[i])), strings.ToLower(text)) {
			p.Move(i - p.at)
			return true
		}
	}
	return false
}

// rowText is what a search finds of a row: what it says, and its kind.
func (p *Pane) rowText(r row) string {
	switch {
	case r.fold >= 0:
		return foldNames[r.fold]
	case r.barrier >= 0:
		b := &p.data.Barriers[r.barrier]
		return barrierTitle(b) + " " + b.Because
	case r.finding >= 0:
		f := &p.data.Findings[r.finding]
		return title(f, &p.data.Work) + " " + count(f) + " " + f.Severity + " " + f.Message
	}
	c := &p.data.Causes[r.cause]
	return c.Kind + " " + c.Title + " " + c.Stage
}

// list is the causes with their findings.
func (p *Pane) list(w, h int) []string {
	body := h - 2
	p.first = theme.Into(p.first, p.at, body, len(p.rows))
	var lines []string
	for i := p.first; i < min(p.first+body, len(p.rows)); i++ {
		lines = append(lines, p.rowLine(i, w-2))
	}
	if lines == nil {
		text := "no finding"
		switch {
		case p.filter != "":
			text += " matches " + p.filter
		case p.data.Running:
			text = "none yet: the diagnosis is running"
		case p.data.Pending:
			text = "none yet: still running"
		case p.data.Partly:
			text = "none by the checks of this run; a diagnosis checks everything"
		}
		lines = append(lines, p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, text).Done())
	}
	title := p.listTitle()
	note := ""
	if p.filter != "" {
		note = "&" + p.filter
	} else if len(p.rows) > body {
		note = fmt.Sprintf("%d of %d", p.at+1, len(p.rows))
	}
	return p.Theme.Box(title, note, lines, w, h, p.Focus == List)
}

// errorsOf counts the findings that are no advice.
func errorsOf(list []report.Finding) int {
	n := 0
	for i := range list {
		if !isAdvice(list[i]) {
			n++
		}
	}
	return n
}

// causesText counts what a diagnosis found: 1 cause, 3 findings.
func causesText(causes, findings int) string {
	text := theme.Count(causes, "cause")
	if findings > 0 {
		text += ", " + theme.Count(findings, "finding")
	}
	return text
}

// listTitle counts what is listed: of a diagnosis causes, as its story does, and the findings that are their
// evidence; of a run findings.
func (p *Pane) listTitle() string {
	n, k := errorsOf(p.data.Findings), len(p.data.Causes)
	text := theme.Count(n, "finding")
	switch {
	case p.data.Running && k == 0:
		text += ", no cause"
	case p.data.Diagnosed || k > 0:
		text = causesText(k, n)
	}
	running := strings.TrimSpace("DIAGNOSIS RUNNING " + p.data.Ran)
	switch {
	case p.data.Running && n == 0 && len(p.data.Causes) == 0:
		return running
	case p.data.Running:
		return running + ", so far " + text
	case p.data.Pending && n == 0:
		return "RUNNING"
	case p.data.Partly && n == 0:
		return text + " so far"
	}
	return text
}

func (p *Pane) rowLine(i, w int) string {
	r := p.rows[i]
	l := p.Theme.Line(w)
	text := p.Theme.Text
	l.Pointer(i == p.at)
	if i == p.at {
		text = p.Theme.Strong
	}
	switch {
	case r.fold >= 0:
		return l.Add(p.Theme.Dim, p.Theme.Fit(p.foldText(r.fold), l.Left())).Done()
	case r.barrier >= 0:
		b := &p.data.Barriers[r.barrier]
		style, mark := p.Theme.OK, p.Theme.Glyph.OK
		if !b.Needed {
			style, mark = p.Theme.Taint, p.Theme.Glyph.Taint
		}
		return l.Glyph(style, mark).Space(1).Add(text, p.Theme.Fit(barrierTitle(b), l.Left())).Done()
	case r.finding < 0:
		c := &p.data.Causes[r.cause]
		l.Add(p.Theme.Wrong, fmt.Sprintf("%d. ", r.cause+1))
		share := c.ShareText()
		if share != "" {
			share = " " + share
		}
		l.Add(text, p.Theme.Fit(p.short.Replace(c.Title), l.Left()-p.Theme.Width(share)))
		return l.Right(p.Theme.Accent, share, w).Done()
	}
	f := &p.data.Findings[r.finding]
	if r.cause >= 0 {
		l.Space(3)
	}
	style, mark := p.Theme.Wrong, p.Theme.Glyph.Wrong
	if isAdvice(*f) {
		style, mark = p.Theme.Taint, p.Theme.Glyph.Taint
	}
	l.Glyph(style, mark).Space(1)
	count := count(f)
	if count != "" {
		count = " " + count
	}
	l.Add(text, p.Theme.Fit(title(f, &p.data.Work), l.Left()-p.Theme.Width(count)))
	return l.Right(text, count, w).Done()
}

// foldText says how much is folded.
func (p *Pane) foldText(k int) string {
	mark := "+"
	if p.unfolded(k) {
		mark = "-"
	}
	if k == foldBarriers {
		needed := 0
		for i := range p.data.Barriers {
			if p.data.Barriers[i].Needed {
				needed++
			}
		}
		if needed == len(p.data.Barriers) && needed > 1 {
			return fmt.Sprintf("%s %s, all needed", mark, theme.Count(needed, "synchronisation"))
		}
		return fmt.Sprintf("%s %s, %d needed", mark, theme.Count(len(p.data.Barriers), "synchronisation"),
			needed)
	}
	n := 0
	for _, f := range p.data.Findings {
		if isAdvice(f) {
			n++
		}
	}
	return fmt.Sprintf("%s %s of advice", mark, theme.Count(n, "piece"))
}

// barrierTitle is a synchronisation in one line.
func barrierTitle(b *diagnose.BarrierDoc) string {
	s := b.Instr
	if b.Source != nil {
		s = fmt.Sprintf("%s:%s %s", path.Base(b.Source.File), strings.TrimPrefix(b.Line(), "line "), b.Instr)
	}
	return s
}

// count is how much a finding stands for, "" for one.
func count(f *report.Finding) string {
	if f.Count <= 1 {
		return ""
	}
	return f.Counted(true)
}

// title is a finding in one line, without its count; work names the iterations of the loop over tiles.
func title(f *report.Finding, work *probes.Work) string {
	s := f.Kind
	if f.Variable != "" {
		s += " " + f.Variable
		for _, i := range f.Index {
			s += fmt.Sprintf("[%d]", i)
		}
	}
	if f.Source != nil {
		s += fmt.Sprintf(" line %d", f.Source.Line)
	}
	if f.Other != nil && (f.Source == nil || f.Other.File != f.Source.File || f.Other.Line != f.Source.Line) {
		s += fmt.Sprintf("/%d", f.Other.Line)
	}
	if len(f.Warps) > 0 {
		s += " warp " + theme.Numbers(f.Warps)
	}
	if f.KVTile >= 0 && !work.Once {
		s += " " + work.At(f.KVTile)
	}
	return s
}
