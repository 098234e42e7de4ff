package pipe

import (
	"fmt"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// View returns the pane's lines, each of its full width.
func (p *Pane) View() []string { return p.Draw(p.draw) }

func (p *Pane) draw() []string {
	if p.W < 20 || p.H < 8 {
		return p.Theme.Blank(p.W, p.H)
	}
	if p.alone(Detail) {
		lines := make([]string, 0, p.H)
		for k := p.scroll; k < min(len(p.detail), p.scroll+p.H-2); k++ {
			lines = append(lines, p.detailLine(k, p.W-2))
		}
		return p.Theme.Box(p.detailTitle(), p.detailNote(), lines, p.W, p.H, true)
	}
	low := p.sourceHeight()
	left := p.left(p.innerWidth()+2, p.H-low)
	if low > 0 {
		left = append(left, p.source.View()...)
	}
	if m := p.mapWidth(); m > 0 {
		return theme.Beside(left, p.overview(m, p.H))
	}
	return left
}

// left is the timeline above the detail.
func (p *Pane) left(w, h int) []string {
	g := p.Theme.Glyph
	if len(p.rows) == 0 {
		text := p.data.Message
		var lines []string
		if r := p.data.Run.Report(); text == "" && r != nil && p.data.Plan != nil && p.data.Plan.Stageless() {
			lines = append(lines, p.verdictLine(w-2))
			text = "No argument is memory of its own, so that there are no values to show. Races lists findings."
		}
		if text == "" {
			text = "nothing has run yet"
		}
		for _, s := range p.Theme.Wrap(text, w-6) {
			lines = append(lines, p.Theme.Line(w-2).Space(2).Add(p.Theme.Dim, s).Done())
		}
		return p.Theme.Box("PIPE", "", append(p.Theme.Blank(w-2, 1), lines...), w, h, p.Focus == Timeline)
	}
	out := make([]string, 0, h)
	title := "PIPE block " + p.at.Block.String()
	if p.ofLaunch() {
		title = "ARGUMENTS"
	}
	out = append(out, p.Theme.Rule(g.TL, g.TR, title, p.note(), w, p.Focus == Timeline))
	out = append(out, p.framed(p.verdictLine(w-2), w), p.framed(p.headLine(w-2), w))
	for _, r := range p.rows {
		out = append(out, p.framed(p.stageLine(r, w-2), w))
	}
	if !p.ofLaunch() {
		out = append(out, p.framed(p.legend(w-2), w))
	}
	if !p.alone(Timeline) {
		out = append(out, p.Theme.Rule(g.TeeL, g.TeeR, p.detailTitle(), p.detailNote(), w, p.Focus == Detail))
	}
	for i := len(out); i < h-1; i++ {
		k := p.scroll + i - (p.timelineHeight() + 2)
		if k < len(p.detail) && !p.alone(Timeline) {
			out = append(out, p.framed(p.detailLine(k, w-2), w))
		} else {
			out = append(out, p.framed(p.Theme.Line(w-2).Done(), w))
		}
	}
	return append(out[:h-1], p.Theme.Line(w).Glyph(p.Theme.Border, g.BL).Repeat(p.Theme.Border, g.H, w-2).
		Glyph(p.Theme.Border, g.BR).Done())
}

func (p *Pane) framed(line string, w int) string {
	v := p.Theme.Glyph.V
	return p.Theme.Line(w).Glyph(p.Theme.Border, v).Raw(line, w-2).Glyph(p.Theme.Border, v).Done()
}

func (p *Pane) note() string {
	if p.ofLaunch() {
		text := fmt.Sprintf("grid %s · block %s", p.data.Plan.Grid, p.data.Plan.Block)
		if !p.data.Plan.Referenced() {
			text += " · no reference"
		}
		return text
	}
	_, n := p.tiles()
	tiles := theme.Count(n, "kv tile")
	if p.data.Plan != nil {
		tiles = theme.Count(n, p.data.Plan.Work.TileName())
	}
	tiles = " · " + tiles
	if p.once() {
		tiles = ""
	}
	if p.data.Summary == nil && p.data.Plan != nil {
		return theme.Count(p.data.Plan.Grid.Count(), "block") + tiles
	}
	if s := p.data.Summary; s != nil {
		return theme.Count(len(s.Blocks), "block") + tiles
	}
	return strings.TrimPrefix(tiles, " · ")
}

// verdictLine: ✗ DIVERGE uninitialised sP · guilty P 0,0,0 kv 1 · output fail · tainted U O …
func (p *Pane) verdictLine(w int) string {
	r := p.data.Run.Report()
	if r == nil {
		return p.Theme.Line(w).Add(p.Theme.Dim, " "+p.data.Message).Done()
	}
	l := p.Theme.Line(w).Add(p.Theme.Verdict(r.Verdict), p.verdictWord(r))
	if r.Error != nil {
		return l.Add(p.Theme.Text, p.Theme.FitWords(r.Error.Stage+": "+r.Error.Message, l.Left())).Done()
	}
	parts, n := p.verdictParts(r), p.fitting(r, w)
	for i, x := range parts[:n] {
		if i > 0 {
			l.Add(p.Theme.Dim, between)
		}
		cut := p.Theme.Width(x.text) > l.Left() // which an ellipsis says already
		l.Add(x.style, p.Theme.FitWords(x.text, l.Left()))
		if cut {
			return l.Done()
		}
	}
	if n < len(parts) && l.Left() > 1 {
		l.Add(p.Theme.Dim, " "+p.Theme.Glyph.Ellipsis)
	}
	return l.Done()
}

// verdictWord is the run's verdict, which begins the line.
func (p *Pane) verdictWord(r *report.Run) string {
	return " " + p.Theme.VerdictMark(r.Verdict) + " " + strings.ToUpper(r.Outcome()) + "  "
}

// part is one statement of the verdict's line.
type part struct {
	style theme.Style
	text  string
}

// between separates the statements of the verdict's line.
const between = " · "

// fitting is how many of the verdict's parts its line has room for: the first always, an ellipsis where there
// are more.
func (p *Pane) fitting(r *report.Run, w int) int {
	parts := p.verdictParts(r)
	room := w - p.Theme.Width(p.verdictWord(r))
	for i, x := range parts {
		need := p.Theme.Width(x.text)
		if i > 0 {
			need += p.Theme.Width(between)
		}
		if i < len(parts)-1 {
			need += 2 // the ellipsis
		}
		if need > room && i > 0 {
			return i
		}
		room -= p.Theme.Width(x.text)
		if i > 0 {
			room -= p.Theme.Width(between)
		}
	}
	return len(parts)
}

// verdictParts are the statements of the verdict's line, the most important first. A stage is guilty by what
// was captured of it, and what went wrong with memory or order may have spoilt that as well: so it leads.
func (p *Pane) verdictParts(r *report.Run) (out []part) {
	say := func(s theme.Style, text string) { out = append(out, part{s, text}) }
	accused := p.accused(r)
	if guess := r.LaunchDoubtful(); guess != "" {
		say(p.Theme.Notice, strings.TrimPrefix(guess, "the launch is a guess: ")) // the word before says it
	}
	for _, text := range accused {
		say(p.Theme.Wrong, text)
	}
	for i, g := range r.Guilty {
		text := strings.TrimSpace(g.Stage + " " + p.guiltyPlace(g))
		if i == 0 {
			text = "guilty " + text
		}
		say(p.Theme.Wrong, text)
	}
	if len(r.Guilty) > 0 && r.Output != nil && r.Output.Verdict != report.OK {
		say(p.Theme.Wrong, outputText(r.Output))
	}
	if list := stagesOf(r, report.Tainted); list != "" {
		say(p.Theme.Taint, "tainted "+list)
	}
	if p.ofLaunch() && r.Errors() == 0 && !r.Referenced() {
		say(p.Theme.Text, "no reference: values are not judged")
	} else if r.Referenced() && !p.ofLaunch() {
		if text := r.Unjudged(p.data.Plan); text != "" {
			say(p.Theme.Off, text)
		}
		off, injected := p.notJudged(r)
		if injected != "" {
			say(p.Theme.Notice, "injected "+injected)
		}
		if off != "" {
			say(p.Theme.Off, "not judged "+off)
		}
	}
	if n := len(r.Findings); !r.Referenced() {
		if n > r.Errors() {
			say(p.Theme.Text, theme.Count(n-r.Errors(), "piece")+" of advice")
		}
	} else if n > 1 || n == 1 && len(accused) == 0 {
		say(p.Theme.Wrong, theme.Count(n, "finding"))
	}
	if r.Output != nil && (r.Output.Verdict == report.OK || len(r.Guilty) == 0) {
		say(p.Theme.Verdict(r.Output.Verdict), outputText(r.Output))
	}
	return out
}

// outputText is the verdict on the output: of several that of the first, which is named.
func outputText(o *report.Output) string {
	return strings.TrimSpace("output "+o.Of) + " " + o.Outcome()
}

// furtherVerdict is what the verdict's line has no room for, among the details.
func (p *Pane) furtherVerdict(r *report.Run, w int, say sayer) {
	if r.Error != nil {
		return
	}
	var rest []string
	style := p.Theme.Text
	for i, x := range p.verdictParts(r)[p.fitting(r, w):] {
		if i == 0 {
			style = x.style
		}
		rest = append(rest, x.text)
	}
	if rest != nil {
		say("verdict", style, "%s %s", p.Theme.Glyph.Ellipsis, strings.Join(rest, between))
	}
}

// accused names what is at fault beside the stages: the causes of a diagnosis, else the first
// finding that is an error.
func (p *Pane) accused(r *report.Run) []string {
	var out []string
	for i := range p.data.Causes {
		if c := &p.data.Causes[i]; !c.AlsoFound {
			out = append(out, c.Short())
		}
	}
	if out != nil {
		return out
	}
	if f := r.Spoiling(); f != nil {
		return []string{p.findingName(f)}
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity == "error" {
			return []string{p.findingName(f)}
		}
	}
	return nil
}

// guiltyPlace is where a stage first went wrong; "" of an argument, which belongs to no block.
func (p *Pane) guiltyPlace(g report.Guilty) string {
	if r := p.row(probes.Stage(g.Stage)); r != nil && r.plan.OfLaunch() {
		return ""
	}
	if g.Phase != probes.PhaseEach {
		return g.Block.String()
	}
	return g.Block.String() + " " + p.iteration(g.KVTile)
}

// iteration names one of the loop over tiles as the manifest does: kv 2, tile 0.
func (p *Pane) iteration(n int) string {
	if p.data.Plan == nil {
		return "kv " + strconv.Itoa(n)
	}
	return p.data.Plan.Work.At(n)
}

// notJudged lists the stages that are not judged, those that the gate injects apart.
func (p *Pane) notJudged(r *report.Run) (off, injected string) {
	for _, name := range strings.Fields(stagesOf(r, report.Off)) {
		if p.injected(probes.Stage(name)) {
			injected += " " + name
		} else {
			off += " " + name
		}
	}
	return strings.TrimSpace(off), strings.TrimSpace(injected)
}

func stagesOf(r *report.Run, verdict string) string {
	var list []string
	for i := range r.Stages {
		if r.Stages[i].Verdict == verdict {
			list = append(list, r.Stages[i].Name)
		}
	}
	return strings.Join(list, " ")
}

// once reports whether the kernel has no loop over tiles.
func (p *Pane) once() bool { return p.data.Plan != nil && p.data.Plan.Work.Once }

// headLine names the columns: in, the kv tiles, out, and the summary over all blocks.
func (p *Pane) headLine(w int) string {
	if p.ofLaunch() {
		return p.memoryHead(w)
	}
	l := p.Theme.Line(w).Add(p.Theme.Dim, " stage").Pad(labelWidth)
	head := func(s string) {
		end := l.Col() + cellWidth
		l.Space(1).Add(p.Theme.Dim, p.Theme.Fit(s, cellWidth-1)).Pad(end)
	}
	lo, n := p.tiles()
	head("in")
	last := min(p.first+p.fit(), n)
	loop := "kv"
	if p.data.Plan != nil {
		loop = p.data.Plan.Work.LoopName()
	}
	longest := loop + strconv.Itoa(lo+n-1)
	if p.first > 0 || last < n {
		longest += p.Theme.Glyph.Ellipsis
	}
	if p.Theme.Width(longest) > cellWidth-1 { // cut, columns would look alike
		loop = ""
	}
	for kv := p.first; kv < last; kv++ {
		name := loop + strconv.Itoa(lo+kv)
		if p.once() {
			name = "tile"
		}
		if kv == p.first && p.first > 0 || kv == last-1 && last < n {
			name += p.Theme.Glyph.Ellipsis
		}
		head(name)
	}
	head("out")
	p.summaryHead(l.Space(gapWidth))
	return l.Done()
}

// stageLine is one stage: its name, its tiles of this block, its tiles of all blocks.
func (p *Pane) stageLine(r row, w int) string {
	if p.ofLaunch() {
		return p.memoryLine(r, w)
	}
	at := r.plan.Stage == p.at.Stage
	l := p.Theme.Line(w)
	name := p.Theme.Text
	l.Pointer(at)
	if at {
		name = p.Theme.Strong
	}
	l.Add(name, r.plan.Stage.String())
	if dtype, at := r.plan.DType.String(), max(4, l.Col()+1); at+len(dtype) <= labelWidth {
		l.Pad(at).Add(p.Theme.Dim, dtype)
	}
	l.Pad(labelWidth)
	lo, n := p.tiles()
	last := min(p.first+p.fit(), n)
	close := false
	slot := func(here, there bool, kv int) {
		mark := " "
		switch {
		case here && at:
			mark = p.Theme.Glyph.Left
		case close:
			mark = p.Theme.Glyph.Right
		}
		l.Glyph(p.Theme.Mark, mark)
		close = here && at
		p.slot(l, r, there, kv)
	}
	once := !r.plan.PerTile
	output := once && (r.plan.From != nil || r.plan.OfLaunch())
	slot(once && !output, once && !output, 0)
	for kv := lo + p.first; kv < lo+last; kv++ {
		slot(!once && kv == p.at.KVTile, !once, kv)
	}
	slot(output, output, 0)
	end := l.Col() + gapWidth
	if close {
		l.Glyph(p.Theme.Mark, p.Theme.Glyph.Right)
	}
	p.summaryOf(l.Pad(end), r)
	return l.Done()
}

// slot writes a tile's mark and its number of bad cells.
func (p *Pane) slot(l *theme.Line, r row, there bool, kv int) {
	end := l.Col() + cellWidth - 1
	if !there || p.data.Viewer == nil {
		l.Pad(end)
		return
	}
	if p.injected(r.plan.Stage) {
		l.Add(p.Theme.Notice, p.Theme.Glyph.Injected).Pad(end)
		return
	}
	v := p.data.Viewer.Tile(debugkern.Place{Stage: r.plan.Stage, Block: p.at.Block, KVTile: kv})
	style := p.Theme.Verdict(v.Verdict)
	l.Add(style, p.Theme.VerdictMark(v.Verdict))
	switch n := v.Bad; {
	case v.Verdict == report.Tainted && v.Tainted > 0:
		l.Add(style, cell.Count(v.Tainted))
	case n > 0:
		l.Add(style, cell.Count(n))
	}
	l.Pad(end)
}

// mark is a mark of the timeline and what it means, in full and in few words.
type mark struct {
	shown      bool // it is on screen
	usual      bool // it is explained where there is room although it is not on screen
	style      theme.Style
	glyph      string
	text, term string
}

// marks are those of the timeline. A stage's verdict is that of its worst tile: others of its tiles may have
// another.
func (p *Pane) marks() []mark {
	g := p.Theme.Glyph
	var off, wrong, taint, absent bool
	if r := p.data.Run.Report(); r != nil {
		for i := range r.Stages {
			s := &r.Stages[i]
			off, absent = off || s.Verdict == report.Off, absent || s.NotCaptured > 0
			wrong, taint = wrong || s.Local.Bad > 0, taint || s.Global.Bad > 0
		}
	}
	if s := p.data.Summary; s != nil {
		for _, st := range s.Stages {
			off, wrong, taint = off || st.Off > 0, wrong || st.Wrong > 0, taint || st.Tainted > 0
		}
	}
	injected := p.data.Plan != nil && len(p.data.Plan.Gate.Injected) > 0
	return []mark{
		{true, true, p.Theme.OK, g.OK, " in bounds", " in bounds"},
		{wrong, true, p.Theme.Wrong, g.Wrong + "n", " bad cells", " bad"},
		{taint, true, p.Theme.Taint, g.Taint + "n", " bad by earlier stages", " tainted"},
		{absent, false, p.Theme.Taint, g.Absent + "n", " not captured", " not captured"},
		{injected, false, p.Theme.Notice, g.Injected, " injected", " injected"},
		{off, true, p.Theme.Off, g.Off, " not judged", " not judged"},
	}
}

// legend explains the marks of the timeline: those on screen, in few words where there is no room for
// more, then others, for which there may be none.
func (p *Pane) legend(w int) string {
	l := p.Theme.Line(w).Space(1)
	all, gap := p.marks(), "  "
	room := l.Left() + len(gap) - 1
	for _, x := range all {
		if x.shown {
			room -= p.Theme.Width(gap + x.glyph + x.text)
		}
	}
	for _, shown := range []bool{true, false} {
		for _, x := range all {
			if x.shown != shown || !shown && !x.usual {
				continue
			}
			if room < 0 {
				x.text = x.term
			}
			if l.Col() > 1 {
				x.glyph = gap + x.glyph
			}
			if l.Left() >= p.Theme.Width(x.glyph+x.text)+1 {
				l.Add(x.style, x.glyph).Add(p.Theme.Dim, x.text)
			}
		}
	}
	if what := " · local: the worst error, bound: of its cell"; l.Left() >= p.Theme.Width(what)+1 {
		l.Add(p.Theme.Dim, what)
	}
	return l.Done()
}

// injected reports whether the gate feeds a stage's tiles into the launch.
func (p *Pane) injected(s probes.Stage) bool {
	return p.data.Plan != nil && p.data.Plan.Gate.Injected.Has(s)
}

// blockName is the columns of a block's name in the map of all blocks, its mark included.
const blockName = 9

// blockWindow is the part of the map of all blocks that w columns and h lines show: its first block, and the
// first tile and how many of each block.
func (p *Pane) blockWindow(w, h int) (top, first, cols int) {
	s := p.data.Summary
	width := s.Stages[p.at.Stage].Width
	cols = min(width, w-2-blockName)
	if c := p.at.KVTile - s.Lo; width > 1 && c >= cols {
		first = c - cols + 1
	}
	return max(0, min(s.Index[p.at.Block]-(h-2)/2, len(s.Blocks)-(h-2))), first, cols
}

// hitBlock maps a place on the map of all blocks to the block, and where one is drawn there, the tile.
func (p *Pane) hitBlock(x, y int) (at debugkern.Place, ok bool) {
	at = p.at
	h, _, _ := p.split()
	w := p.mapWidth()
	s := p.data.Summary
	if x -= p.W - w; x < 1 || x >= w-1 || y < 1 || y >= h-1 || s == nil || s.Stages[at.Stage] == nil {
		return at, false
	}
	top, first, cols := p.blockWindow(w, h)
	i := top + y - 1
	if i >= len(s.Blocks) {
		return at, false
	}
	at.Block = s.Blocks[i]
	if c := x - 1 - blockName; c >= 0 && c < cols && s.Stages[at.Stage].Width > 1 {
		at.KVTile = s.Lo + first + c
	}
	return at, true
}

// blocks is the map of one stage over all blocks: a row a block, a column a kv tile.
func (p *Pane) blocks(w, h int) []string {
	title := "ALL BLOCKS " + p.at.Stage.String()
	s := p.data.Summary
	if s == nil || s.Stages[p.at.Stage] == nil {
		return p.Theme.Box(title, "", nil, w, h, false)
	}
	st := s.Stages[p.at.Stage]
	here := s.Index[p.at.Block]
	top, first, cols := p.blockWindow(w, h)
	var lines []string
	for i := top; i < min(top+h-2, len(s.Blocks)); i++ {
		l := p.Theme.Line(w - 2)
		style := p.Theme.Dim
		l.Pointer(i == here)
		if i == here {
			style = p.Theme.Strong
		}
		l.Add(style, p.Theme.Fit(s.Blocks[i].String(), 7)).Pad(blockName)
		for c := first; c < first+cols; c++ {
			if v := st.Verdict(i, c); v != "" && p.injected(p.at.Stage) {
				l.Glyph(p.Theme.Notice, p.Theme.Glyph.Injected)
			} else {
				l.Glyph(p.mapMark(v))
			}
		}
		lines = append(lines, l.Done())
	}
	note := fmt.Sprintf("%d-%d of %d", top+1, min(top+h-2, len(s.Blocks)), len(s.Blocks))
	return p.Theme.Box(title, note, lines, w, h, false)
}

// mapMark is a tile in one column: a dot where it is right, so that the others stand out.
func (p *Pane) mapMark(verdict string) (theme.Style, string) {
	switch verdict {
	case report.OK:
		return p.Theme.OK, p.Theme.Glyph.Equal
	case "":
		return p.Theme.Text, " "
	}
	return p.Theme.Verdict(verdict), p.Theme.VerdictMark(verdict)
}

func contains(s, sub string) bool {
	return sub != "" && strings.Contains(strings.ToLower(s), strings.ToLower(sub))
}
