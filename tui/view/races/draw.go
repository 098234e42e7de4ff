package races

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/probes"
	"tilescope/tui/pane/source"
	"tilescope/tui/theme"
)

// sizes are the heights of the view's parts and the width of the list; a screen that is small shows
// one detail at a time.
type sizes struct {
	small              bool
	story, list, sides int
	bottom             int
	left               int // columns of the list, and of the cells
}

// smallest screen that shows everything at once.
const (
	wholeWidth  = 100
	wholeHeight = 33
)

func (p *Pane) sizes() sizes {
	if len(p.rows) == 0 && p.filter == "" { // there are no details
		return sizes{story: p.H - 3, list: 3, left: p.W}
	}
	if p.W < wholeWidth || p.H < wholeHeight {
		s := sizes{small: true, list: max(4, min(6, len(p.rows)+2)), left: p.W}
		s.story = max(5, min(len(p.storyLines())+2, (p.H-s.list)/2)) // half of what the list leaves
		s.bottom = max(3, p.H-s.story-s.list)
		return s
	}
	s := sizes{left: p.W * 2 / 5}
	s.story = max(4, min(len(p.storyLines())+2, p.H*2/5))
	s.list = max(8, min(14, p.H/4))
	rest := p.H - s.story - s.list
	if s.sides = rest / 2; p.Accessless() {
		s.sides = rest
	}
	s.bottom = rest - s.sides
	return s
}

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	s := p.sizes()
	if p.W < 40 || p.H < s.story+s.list || s.story < 3 {
		return p.Theme.Blank(p.W, p.H)
	}
	switch {
	case p.Zoomed && p.Focus == Story:
		return p.story(p.W, p.H)
	case p.Zoomed && p.Focus == List:
		return p.list(p.W, p.H)
	case p.Zoomed && p.Focus >= 0:
		return p.detail(p.Focus, p.W, p.H)
	}
	out := append(make([]string, 0, p.H), p.story(p.W, s.story)...)
	if s.small {
		out = append(out, p.list(p.W, s.list)...)
		return append(out, p.detail(p.shown, p.W, s.bottom)...)
	}
	if s.left == p.W {
		return append(out, p.list(p.W, s.list)...)
	}
	out = append(out, theme.Beside(p.list(s.left, s.list), p.detail(About, p.W-s.left, s.list))...)
	out = append(out, p.detail(Sides, p.W, s.sides)...)
	if s.bottom == 0 {
		return out
	}
	if p.Hanging() {
		return append(out, p.hang(p.W, s.bottom)...)
	}
	return append(out, theme.Beside(p.detail(Cells, s.left, s.bottom),
		p.detail(Strip, p.W-s.left, s.bottom))...)
}

// Under is the part drawn at a place of the pane.
func (p *Pane) Under(x, y int) int {
	s := p.sizes()
	switch {
	case p.Zoomed && p.Focus >= 0:
		return p.Focus
	case y < s.story:
		return Story
	case y < s.story+s.list && x < s.left:
		return List
	case s.small:
		return p.shown
	case y < s.story+s.list:
		return About
	case y < s.story+s.list+s.sides:
		return Sides
	case x < s.left || p.Hanging():
		return Cells
	}
	return Strip
}

// Hit maps a place on the pane to the part drawn there, and moves the cursor to the row drawn there.
func (p *Pane) Hit(x, y int) (part int, ok bool) {
	part = p.Under(x, y)
	if part != List {
		return part, false
	}
	s := p.sizes()
	if p.Zoomed {
		s.story, s.list = 0, p.H
	}
	i := p.first + y - s.story - 1
	if ok = y > s.story && y < s.story+s.list-1 && i < len(p.rows); ok {
		p.Move(i - p.at)
	}
	return part, ok
}

func (p *Pane) detail(part, w, h int) []string {
	switch part {
	case Sides:
		return p.sides(w, h)
	case Cells:
		if p.Hanging() {
			return p.hang(w, h)
		}
		return p.cells(w, h)
	case Strip:
		return p.strip(w, h)
	}
	return p.aboutBox(w, h)
}

// box is a part with its scroll position clamped: top lines stay where they are.
func (p *Pane) box(part int, title, note string, lines []string, w, h int) []string {
	rest := max(0, len(lines)-(h-2))
	p.scroll[part] = max(0, min(p.scroll[part], rest))
	if rest > 0 && note == "" {
		note = fmt.Sprintf("line %d of %d", p.scroll[part]+1, len(lines))
	}
	return p.Theme.Box(title, note, lines[p.scroll[part]:], w, h, p.Focus == part)
}

func (p *Pane) storyLines() []string {
	w := p.W - 2
	var lines []string
	for i, s := range p.data.Story {
		s = p.short.Replace(s)
		style := p.Theme.Text
		if i == 0 {
			style = p.Theme.Strong
		}
		indent := 0
		for indent < len(s) && s[indent] == ' ' {
			indent++
		}
		for k, part := range p.Theme.Wrap(s, w-3-indent) {
			pad := indent + 1
			if k > 0 {
				pad += 2
			}
			lines = append(lines, p.Theme.Line(w).Space(pad).Add(style, part).Done())
		}
	}
	if lines == nil {
		for _, text := range strings.Split(p.data.Hint, "\n") {
			parts := []string{text} // with the spaces between a table's columns
			if p.Theme.Width(text) > w-2 {
				parts = p.Theme.Wrap(text, w-2)
			}
			for _, part := range parts {
				lines = append(lines, p.Theme.Line(w).Space(1).Add(p.Theme.Dim, part).Done())
			}
		}
	}
	return lines
}

func (p *Pane) story(w, h int) []string {
	title := "FINDINGS OF THIS RUN"
	if p.data.Diagnosed {
		title = "STORY"
	}
	return p.box(Story, title, "", p.storyLines(), w, h)
}

// entry is one fact about the finding: a name, then text.
type entry struct {
	name  string
	text  string
	style theme.Style
}

// about is what is known of the finding, or of the cause where it has none.
func (p *Pane) about() []entry {
	var out []entry
	say := func(name, text string, s theme.Style) {
		if text != "" {
			out = append(out, entry{name, text, s})
		}
	}
	say("schedule", p.data.Under, p.Theme.Accent)
	for i, t := range p.look.Tried {
		name := "what if"
		if i > 0 {
			name = ""
		}
		say(name, t, p.Theme.Accent)
	}
	if i, ok := p.Finding(); ok {
		f := &p.data.Findings[i]
		style := p.Theme.Wrong
		if isAdvice(*f) {
			style = p.Theme.Taint
		}
		name := f.Kind
		if len(name) > 9 { // the list has it in full
			name = "finding"
		}
		say(name, f.Message, style)
		if f.Missing != nil {
			say("missing", *f.Missing, p.Theme.Text)
		}
		effect, guess := guessed(f.Consequence)
		say("effect", effect, p.Theme.Text)
		say("guess", guess, p.Theme.Notice)
		say("hits", f.Neighbour, p.Theme.Text)
		say("where", place(f, &p.data.Work), p.Theme.Dim)
	}
	if b := p.Barrier(); b != nil {
		if b.Needed {
			say("needed", b.Because, p.Theme.OK)
		} else {
			say("unneeded", b.Because, p.Theme.Taint)
		}
		say("what", b.Instr, p.Theme.Text)
		say("guards", strings.Join(b.Variables, ", "), p.Theme.Text)
		if b.Copies > 1 {
			say("copies", fmt.Sprintf("%d instructions were made of this line", b.Copies), p.Theme.Dim)
		}
	}
	if p.OnFold() {
		switch p.rows[p.at].fold {
		case foldAdvice:
			say("advice", "what is correct on this run but wasteful or fragile: bank conflicts, redundant "+
				"barriers", p.Theme.Text)
		case foldBarriers:
			say("list", "every barrier, fence and wait that this kernel executed, and whether its result "+
				"depends on it", p.Theme.Text)
		}
	}
	if c := p.Cause(); c != nil {
		say("change", c.Advice, p.Theme.Text)
		name := "evidence"
		for _, t := range c.Proof {
			if i, ok := p.Finding(); ok && t == p.data.Findings[i].Message {
				continue // it stands above
			}
			say(name, t, p.Theme.Text)
			name = ""
		}
		say("if fixed", c.Alone, p.Theme.Text)
		say("command", c.Again, p.Theme.Dim)
	}
	return out
}

// guessed splits what a finding's consequence says of a guess, of the launch or of an argument, from what the
// finding leads to.
func guessed(consequence string) (effect, guess string) {
	var effects, guesses []string
	for _, s := range strings.Split(consequence, "; ") {
		if strings.HasPrefix(s, "the launch is a guess: ") || strings.HasPrefix(s, "depends on a guess: ") {
			guesses = append(guesses, s)
		} else {
			effects = append(effects, s)
		}
	}
	return strings.Join(effects, "; "), strings.Join(guesses, "; ")
}

// shortPaths writes the places of the findings' files in a text without folders, as the panes of their
// sources do. Files of one name in several folders keep them.
func shortPaths(d *Data) *strings.Replacer {
	folders := map[string]string{} // of a file's name; "" of several
	see := func(s *report.Source) {
		if s == nil {
			return
		}
		dir, name := path.Split(s.File)
		if was, seen := folders[name]; seen && dir != "" && was != dir {
			dir = ""
		} else if dir == "" {
			return
		}
		folders[name] = dir
	}
	for i := range d.Findings {
		see(d.Findings[i].Source)
		see(d.Findings[i].Other)
	}
	for i := range d.Causes {
		see(d.Causes[i].Place.Source)
		see(d.Causes[i].Place.Other)
	}
	var pairs []string
	for name, dir := range folders {
		if dir != "" {
			pairs = append(pairs, dir+name+":", name+":")
		}
	}
	return strings.NewReplacer(pairs...)
}

// place says where a finding was made; loop is what the loop over tiles is called.
func place(f *report.Finding, work *probes.Work) string {
	s := "block " + f.Block.String()
	if f.KVTile >= 0 && !work.Once {
		s += fmt.Sprintf(", %s %d", work.TileName(), f.KVTile)
	}
	for _, x := range []struct {
		what string
		list []int
	}{{"warp", f.Warps}, {"lane", f.Lanes}} {
		switch len(x.list) {
		case 0:
		case 1:
			s += fmt.Sprintf(", %s %d", x.what, x.list[0])
		default:
			s += fmt.Sprintf(", %ss %s", x.what, theme.Numbers(x.list))
		}
	}
	if f.Count > 1 {
		s += ", " + f.Counted(false) + " of this cause"
	}
	return s
}

func (p *Pane) aboutBox(w, h int) []string {
	var lines []string
	for _, e := range p.about() {
		for k, s := range p.Theme.Wrap(p.short.Replace(e.text), w-2-11) {
			name := e.name
			if k > 0 {
				name = ""
			}
			lines = append(lines, p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, p.Theme.Fit(name, 9)).Pad(10).
				Add(e.style, s).Done())
		}
	}
	return p.box(About, "ABOUT", "", lines, w, h)
}

// sides is both sides' source beside each other, the two lines marked.
func (p *Pane) sides(w, h int) []string {
	a, b := p.places()
	left := w / 2
	switch {
	case b == nil && a != nil && a.Calls != "": // what is wrong is often what the kernel passes
		call := a.Calls.Sites()[0]
		from := p.side("called at", &report.Source{File: call.File, Line: call.Line}, "", left, h)
		return theme.Beside(from, p.side("A", a, p.doing(0), w-left, h))
	case b == nil:
		return p.side("A", a, p.doing(0), w, h)
	case a != nil && a.File == b.File && a.Line == b.Line: // one line against itself: the room is better used
		both := p.doing(0)
		if both != "" {
			both = "A " + both + ", B " + p.doing(1)
		}
		return p.side("A and B", a, both, w, h)
	}
	return theme.Beside(p.side("A", a, p.doing(0), left, h), p.side("B", b, p.doing(1), w-left, h))
}

// side is one side's source around its line.
func (p *Pane) side(name string, at *report.Source, note string, w, h int) []string {
	focused := p.Focus == Sides
	if at == nil {
		return p.Theme.Box(name, "", []string{
			p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, "no source line").Done(),
		}, w, h, focused)
	}
	var patch source.Patch
	if p.data.Patch != nil {
		patch = p.data.Patch(at.File)
	}
	rest := fmt.Sprintf(":%d%s", at.Line, patch.Note())
	title := source.Title(p.Theme, name+" ", path.Base(at.File), rest, w)
	var text []string
	if p.data.Source != nil {
		text = p.data.Source(at.File)
	}
	line := at.Line
	if text == nil && p.data.PTX != nil {
		ptx, all := p.data.PTX()
		if line = compiledTo(all, path.Base(at.File), at.Line, note); line > 0 {
			text = all
			rest += fmt.Sprintf(" in %s:%d", ptx, line)
			title = source.Title(p.Theme, name+" ", path.Base(at.File), rest, w)
		}
	}
	if text == nil {
		return p.Theme.Box(title, note, []string{
			p.Theme.Line(w-2).Space(1).Add(p.Theme.Dim, path.Base(at.File)+" is not available").Done(),
		}, w, h, focused)
	}
	return p.Theme.Box(title, note, p.around(text, line, patch.Lines, w, h-2), w, h, focused)
}

// compiledTo is the line of a PTX text that a source's line was compiled to: its first instruction of an
// access (writes or reads, by what a side does), else its first of all; 0 where it has none.
func compiledTo(ptx []string, file string, line int, doing string) int {
	number := ""
	for _, l := range ptx { // .file 1 "folder/k.cu": also behind the code
		f := strings.Fields(l)
		if len(f) > 2 && f[0] == ".file" && path.Base(strings.Trim(f[2], `",`)) == file {
			number = f[1]
		}
	}
	access := regexp.MustCompile(`\b(st|ld|atom|red|cp)\.`)
	switch {
	case strings.Contains(doing, "writes"):
		access = regexp.MustCompile(`\b(st|atom|red|cp)\.`)
	case strings.Contains(doing, "reads"):
		access = regexp.MustCompile(`\b(ld|atom|cp)\.`)
	}
	first, within := 0, false
	for i, l := range ptx {
		f := strings.Fields(l)
		switch {
		case len(f) > 2 && f[0] == ".loc":
			within = f[1] == number && f[2] == strconv.Itoa(line)
		case !within || !strings.Contains(l, ";"):
		case access.MatchString(l):
			return i + 1
		case first == 0:
			first = i + 1
		}
	}
	return first
}

// around is a text around a line, in h lines; patched are the lines that patches have changed.
func (p *Pane) around(text []string, line int, patched []int, w, h int) []string {
	limit := max(0, len(text)-h)
	top := max(0, min(line-1-h/2, limit))
	p.scroll[Sides] = max(-limit, min(p.scroll[Sides], limit))
	top = max(0, min(top+p.scroll[Sides], limit))
	var lines []string
	shown := dedent(text[top:min(top+h, len(text))])
	for i := top; i < min(top+h, len(text)); i++ {
		l := p.Theme.Line(w - 2)
		num, style, mark := p.Theme.SourceNum, p.Theme.SourceLine, " "
		if i+1 == line {
			num, style, mark = p.Theme.KernelLine, p.Theme.KernelLine, p.Theme.Glyph.Pointer
		}
		if mark == " " && slices.Contains(patched, i+1) {
			num, mark = p.Theme.Taint, "+"
		}
		l.Add(num, mark+fmt.Sprintf("%4d ", i+1)).Add(style, shown[i-top])
		if i+1 == line {
			lines = append(lines, l.DoneIn(style))
		} else {
			lines = append(lines, l.Done())
		}
	}
	return lines
}

// doing says what a side did in the execution that was recorded: warp 2 writes.
func (p *Pane) doing(side int) string {
	sc := p.look.Scene
	if sc == nil || sc.Pair[0] < 0 {
		return ""
	}
	a, b := &sc.Accesses[sc.Pair[0]], &sc.Accesses[sc.Pair[1]]
	if !a.Side[0] {
		a, b = b, a
	}
	x := [2]*scene.Access{a, b}[side]
	return fmt.Sprintf("warp %d %s, step %d", x.Warp, verb(x), x.Step)
}

func verb(a *scene.Access) string {
	switch {
	case a.Async:
		return "copies"
	case a.Write:
		return "writes"
	}
	return "reads"
}

// dedent widens tabs and takes away the blanks that all lines begin with: beside each other
// there is little room.
func dedent(text []string) []string {
	out := make([]string, len(text))
	least := 1 << 10
	for i, s := range text {
		out[i] = theme.Untab(s)
		if t := strings.TrimLeft(out[i], " "); t != "" && t[0] != '#' {
			least = min(least, len(out[i])-len(t))
		}
	}
	for i, s := range out {
		n := 0
		for n < least && n < len(s) && s[n] == ' ' {
			n++
		}
		out[i] = s[n:]
	}
	return out
}
