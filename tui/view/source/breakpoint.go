package source

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
	"tilescope/tui/theme"
)

// stop is a breakpoint as a person has set it.
type stop struct {
	id   int // its number; it keeps it
	off  bool
	hits *walk.Hits // up to the moment on screen, nil: not counted
	anchor
	lost bool // the source on screen does not have the statement
	walk.Breakpoint
}

// at is the breakpoint's place.
func (b stop) at() string { return breakText(b.Breakpoint) }

// String is the breakpoint as break takes it.
func (b stop) String() string {
	out := ""
	switch {
	case b.Array != "":
		out = fmt.Sprintf("%s[%d][%d]", b.Array, b.Row, b.Col)
	case b.Stage != "":
		out = b.Stage
	default:
		out = fmt.Sprintf("%s:%d", b.File, b.Line)
	}
	if when := b.When.String(); when != "" {
		out += " " + when
	}
	return out
}

// samePlace reports whether two breakpoints stop at the same line, stage or cell.
func samePlace(a, b walk.Breakpoint) bool {
	a.When, b.When = expr.Condition{}, expr.Condition{}
	a.From, b.From = 0, 0
	return a == b
}

// hitText words how often a breakpoint has been hit up to a step of the block, and what was counted.
func (b stop) hitText(step uint64) string {
	if b.hits == nil {
		return ""
	}
	if b.From > 0 && step < b.From {
		return fmt.Sprintf("hits count from step %d on, where it was set", b.From-1)
	}
	out := "hit " + theme.Count(b.hits.Times, "time")
	if b.hits.Warps > 0 {
		out += " by " + theme.Count(b.hits.Warps, "warp")
	}
	return out + " " + sinceText(b.Breakpoint)
}

// stopText says which breakpoint stopped the block: breakpoint 2, line 597, if lane == 3, hit 4. The thread
// that it stopped is in arrivedText. loop is the own name of the loop over tiles, "" where that is kv.
func (b stop) stopText(p walk.Position, loop string) string {
	out := fmt.Sprintf("breakpoint %d, ", b.id)
	switch {
	case b.Array != "":
		out += fmt.Sprintf("%s[%d][%d] changed", b.Array, b.Row, b.Col)
	case b.Stage != "":
		out += b.Stage + " captured"
	default:
		out += fmt.Sprintf("line %d", b.Line)
	}
	if when := b.When.String(); when != "" {
		out += ", " + named(when, loop)
	}
	if b.hits != nil && b.hits.Times > 0 { // none: before the moment from which hits are counted
		out += fmt.Sprintf(", hit %d", b.hits.Times)
	}
	if _, why, bad := strings.Cut(p.Note, ", condition "); bad {
		out += ", condition " + named(why, loop)
	}
	return out
}

// arrivedText says which thread a breakpoint stopped, and of a changed cell which line wrote it:
// ", warp 1 lane 3", ", warp 0, written at line 487".
func (b stop) arrivedText(p walk.Position) string {
	out := ""
	if b.Stage == "" {
		out = fmt.Sprintf(", warp %d", p.Warp)
	}
	if p.Lane >= 0 {
		out += fmt.Sprintf(" lane %d", p.Lane)
	}
	if w := p.Writer; b.Array != "" && w != nil && w.Source != nil && w.Source.Line > 0 {
		out += fmt.Sprintf(", written at line %d", w.Source.Line)
	}
	return out
}

// enabled are the breakpoints that stop the block.
func (s *walking) enabled() (out []stop) {
	for _, b := range s.breaks {
		if !b.off && !b.lost {
			out = append(out, b)
		}
	}
	return out
}

// placesOf are breakpoints as a walk takes them.
func placesOf(stops []stop) (out []walk.Breakpoint) {
	for _, b := range stops {
		out = append(out, b.Breakpoint)
	}
	return out
}

// breakHere is the breakpoint that the focused pane's cursor stands for.
func (v *Controller) breakHere() (walk.Breakpoint, bool) {
	switch v.at {
	case partShared:
		array, row, col, ok := v.shared.Current()
		return walk.Breakpoint{Array: array, Row: row, Col: col}, ok
	case partPTX:
		r, ok := v.ptx.Current()
		return walk.Breakpoint{File: path.Base(r.File), Line: r.Line}, ok && r.Line > 0
	case partCode:
		file, line := v.code.Cursor()
		return walk.Breakpoint{File: path.Base(file), Line: line}, file != "" && line > 0
	}
	p := v.walk.shot.pos
	if p.Source == nil {
		return walk.Breakpoint{}, false
	}
	return walk.Breakpoint{File: path.Base(p.Source.File), Line: p.Source.Line}, true
}

// breakText words a breakpoint's place.
func breakText(b walk.Breakpoint) string {
	switch {
	case b.Array != "":
		return fmt.Sprintf("%s[%d][%d] changes", b.Array, b.Row, b.Col)
	case b.Stage != "":
		return b.Stage + " is captured"
	}
	return fmt.Sprintf("%s:%d", b.File, b.Line)
}

// stopWords is stopText with the loop's name as the screens have it.
func (v *Controller) stopWords(b walk.Breakpoint) string {
	text := stopText(b)
	return strings.TrimSuffix(text, b.When.String()) + v.whenText(b)
}

// stopText says behind a verb where a breakpoint stops: "at sdpa.cu:88 if lane == 3", "when sS[0][1]
// changes".
func stopText(b walk.Breakpoint) string {
	if b.Array == "" && b.Stage == "" {
		return "at " + conditionText(b)
	}
	return "when " + conditionText(b)
}

// toggleBreak sets or deletes a breakpoint where the focused pane's cursor is; in the list it deletes.
func (v *Controller) toggleBreak(string) tea.Cmd {
	if v.at == partList {
		return v.deleteListed()
	}
	b, ok := v.breakHere()
	if !ok {
		v.Say("no line or cell here to stop at")
		return nil
	}
	if i := v.breakAt(b); i >= 0 {
		v.Say(fmt.Sprintf("breakpoint %d deleted: no longer stops %s", v.walk.breaks[i].id,
			v.stopWords(v.walk.breaks[i].Breakpoint)))
		v.walk.breaks = slices.Delete(v.walk.breaks, i, i+1)
		return v.breaksChanged()
	}
	if b.Line > 0 && !v.hasCode(b) {
		v.Complain(v.noCode(b))
		return nil
	}
	return v.setBreak(b)
}

// breakAt is the index of the breakpoint at a place, -1 where there is none.
func (v *Controller) breakAt(b walk.Breakpoint) int {
	return slices.IndexFunc(v.walk.breaks, func(x stop) bool { return samePlace(x.Breakpoint, b) })
}

// hasCode reports whether some instruction belongs to a breakpoint's line, or to what the line calls.
func (v *Controller) hasCode(b walk.Breakpoint) bool {
	own, called := v.instructionsOf(b)
	return own || called != nil
}

// instructionsOf reports whether some instruction belongs to a breakpoint's line itself. Where none does,
// called is the first of those that were inlined from what the line calls, nil for none.
func (v *Controller) instructionsOf(b walk.Breakpoint) (own bool, called *walk.Listing) {
	list := v.walk.shot.listing
	for i := range list {
		switch l := &list[i]; {
		case l.PC < 0:
		case l.Line == b.Line && path.Base(l.File) == b.File:
			return true, nil
		case called == nil && l.CalledFrom(b.File, b.Line):
			called = l
		}
	}
	return false, called
}

// calledText says where a breakpoint stops on a line all of whose code is inlined from what it calls, "" for
// another line.
func (v *Controller) calledText(b walk.Breakpoint) string {
	if b.Line <= 0 {
		return ""
	}
	_, called := v.instructionsOf(b)
	if called == nil {
		return ""
	}
	return fmt.Sprintf(", where the function that the line calls begins (%s:%d)", path.Base(called.File),
		called.Line)
}

// missing says why a breakpoint cannot stop the kernel on screen, "" where it can: it was set in another one,
// or in another source.
func (v *Controller) missing(b stop) string {
	switch {
	case b.lost:
		return "the statement is not in this source"
	case !v.isOpen():
	case b.Array != "" && v.noSuchCell(b.Array, b.Row, b.Col) != "":
		return "no such cell in this kernel"
	case b.Stage != "" && v.Run != nil && v.Run.Plan.Stage(probes.Stage(b.Stage)) == nil:
		return "no such stage in this kernel"
	case b.Line > 0 && len(v.walk.shot.listing) > 0 && !v.hasCode(b.Breakpoint):
		return "no instruction in this build"
	}
	return ""
}

// skipped says behind the start or the end of the block which enabled breakpoints could not stop it.
func (v *Controller) skipped() string {
	out := ""
	for _, b := range v.walk.breaks {
		if why := v.missing(b); why != "" && !b.off {
			out += fmt.Sprintf("; breakpoint %d (%s) is skipped: %s", b.id, b.at(), why)
		}
	}
	return out
}

// noCode says that a breakpoint's line has no instruction, and which line of the file near it has.
func (v *Controller) noCode(b walk.Breakpoint) string {
	best := 0
	distance := func(line int) int { return max(line-b.Line, b.Line-line) }
	for _, l := range v.walk.shot.listing {
		if l.PC >= 0 && path.Base(l.File) == b.File && (best == 0 || distance(l.Line) < distance(best)) {
			best = l.Line
		}
	}
	text := breakText(b) + " has no instruction"
	if best == 0 {
		return text + ", nor has any line of " + b.File
	}
	return fmt.Sprintf("%s: the nearest line that has is %d", text, best)
}

// setBreak sets a breakpoint. One that is there already is enabled: it keeps its condition where none is
// given, else the new one takes its place.
func (v *Controller) setBreak(b walk.Breakpoint) tea.Cmd {
	s := &v.walk
	i := v.breakAt(b)
	was := ""
	if i < 0 {
		s.lastBreak++
		i = len(s.breaks)
		s.breaks = append(s.breaks, stop{id: s.lastBreak})
	} else {
		was = v.whenText(s.breaks[i].Breakpoint)
	}
	id := s.breaks[i].id
	if b.When.String() == "" && was != "" {
		s.breaks[i].off, s.breaks[i].lost = false, false
		s.breaks[i].anchor = v.anchorOf(b)
		v.Say(fmt.Sprintf("breakpoint %d is there already, and keeps its condition: %s; :condition %[1]d takes it off",
			id, was))
		v.Status.Whole = true
		return v.breaksChanged()
	}
	b.From = s.from()
	s.breaks[i] = stop{id: id, Breakpoint: b, anchor: v.anchorOf(b)}
	text := fmt.Sprintf("breakpoint %d: r and R stop %s", id, v.stopWords(b)) + v.calledText(b)
	switch {
	case b.When.String() == "":
		text += fmt.Sprintf("; :condition %d EXPR limits it", id)
	case was != "" && was != v.whenText(b):
		text += "; its condition was: " + was
	}
	v.Say(text)
	v.Status.Whole = was != ""
	return v.breaksChanged()
}

// conditionText words a breakpoint with its condition.
func conditionText(b walk.Breakpoint) string {
	if when := b.When.String(); when != "" {
		return breakText(b) + " " + when
	}
	return breakText(b)
}

// breaksChanged shows the breakpoints, counts anew where the list is open, and has them remembered.
func (v *Controller) breaksChanged() tea.Cmd {
	v.place()
	v.showWalk(false)
	return tea.Batch(v.countHits(), v.Root.Changed())
}

// breakCommand is :break LINE|FILE:LINE|STAGE|ARRAY[ROW][COL] [if EXPR] [hits OP N], list or clear.
func (v *Controller) breakCommand(arg string) tea.Cmd {
	switch arg {
	case "clear":
		return v.deleteBreaks("")
	case "list":
		return v.openList(listBreaks)
	}
	if !v.Movable() {
		return v.NothingYet()
	}
	b, err := v.readBreak(arg)
	switch {
	case err != nil:
		v.refuse("break", lineOf(b), err)
		return nil
	case !v.isOpen(): // which lines have instructions is known of an open block
		return tea.Batch(v.toSource(), v.whenOpen(func() tea.Cmd { return v.breakCommand(arg) }))
	case b.Line > 0 && len(v.walk.shot.listing) > 0 && !v.hasCode(b):
		v.Complain(v.noCode(b))
		return nil
	case b.Array != "":
		if why := v.noSuchCell(b.Array, b.Row, b.Col); why != "" {
			v.Complain(why)
			return nil
		}
	}
	cmd := v.setBreak(b)
	if b.Line > 0 {
		v.reveal(b.File, b.Line)
	}
	return tea.Batch(v.toSource(), cmd)
}

// readBreak reads a breakpoint as a person writes it.
func (v *Controller) readBreak(arg string) (b walk.Breakpoint, err error) {
	where, when, _ := strings.Cut(arg, " ")
	file, line, named := strings.Cut(where, ":")
	array, row, col, isCell := v.cellOf(where)
	stages := v.StageNames()
	switch n, err := strconv.Atoi(where); {
	case err == nil:
		shown, _ := v.code.Cursor()
		b.File, b.Line = path.Base(shown), n
	case named:
		if b.Line, err = strconv.Atoi(line); err != nil || b.Line < 1 || file == "" {
			return b, fmt.Errorf("%q: expected FILE:LINE", where)
		}
		b.File = path.Base(file)
	case isCell:
		b.Array, b.Row, b.Col = array, row, col
	case slices.Contains(stages, where):
		b.Stage = where
	default:
		return b, fmt.Errorf("%q: expected a line, FILE:LINE, a stage (%s), ARRAY[ROW][COL], list or clear",
			where,
			strings.Join(stages, " "))
	}
	b.When, err = v.readCondition(b, when)
	return b, err
}

// readCondition reads the condition of a breakpoint, and looks whether the kernel has what it names.
func (v *Controller) readCondition(b walk.Breakpoint, text string) (expr.Condition, error) {
	when, err := expr.ParseCondition(v.spelled(text))
	switch {
	case err != nil || when.If == nil:
		return when, err
	case b.Stage != "" && when.If.OfWarp() != "":
		return when, fmt.Errorf("%q: the whole block captures %s, so %s is of no warp; expected kv, step, "+
			"blockIdx.xyz or array[row][col]", text, b.Stage, when.If.OfWarp())
	}
	if s := v.scope(); s != nil {
		if err := when.If.Check(s); err != nil {
			return when, err
		}
	}
	return when, when.If.Never(v.ranges())
}

// ranges are the values that variables may have in the run on screen, of all its blocks.
func (v *Controller) ranges() map[string]expr.Range {
	if v.Run == nil || v.Run.Plan == nil {
		return nil
	}
	out := map[string]expr.Range{}
	plan := v.Run.Plan
	for i, dim := range []string{".x", ".y", ".z"} {
		out["threadIdx"+dim] = expr.Range{Last: int64(plan.Block[i]) - 1}
		out["blockIdx"+dim] = expr.Range{Last: int64(plan.Grid[i]) - 1}
	}
	const lanes = 32
	warps := (int64(plan.Block.Count()) + lanes - 1) / lanes
	out["warp"], out["thread"] = expr.Range{Last: warps - 1}, expr.Range{Last: lanes*warps - 1}
	// of a loop that no manifest describes, the iterations are counted as they are executed
	if n := plan.Work.MaxTiles; n > 0 && !plan.Work.Once {
		out["kv"] = expr.Range{First: -1, Last: int64(n) - 1}
	}
	return out
}

// breakpoints completes break: what it does, and the stages that it stops at.
func (v *Controller) breakpoints() []string {
	return append([]string{"list\tall of them, and how often each was hit", "clear\tdelete all"},
		v.StageNames()...)
}

// numbered is the index of the breakpoint with a number, -1 and a complaint where there is none.
func (v *Controller) numbered(text string) int {
	n, err := strconv.Atoi(text)
	i := slices.IndexFunc(v.walk.breaks, func(b stop) bool { return b.id == n })
	if err != nil || i < 0 {
		var all []string
		for _, b := range v.walk.breaks {
			all = append(all, strconv.Itoa(b.id))
		}
		have := "there is none"
		switch len(all) {
		case 0:
		case 1:
			have = "there is " + all[0]
		default:
			have = "there are " + strings.Join(all, " ")
		}
		v.Complain(fmt.Sprintf("no breakpoint %q: %s", text, have))
		return -1
	}
	return i
}

// breakNumbers completes a breakpoint's number.
func (v *Controller) breakNumbers() (out []string) {
	for _, b := range v.walk.breaks {
		out = append(out, fmt.Sprintf("%d\t%s", b.id, v.loopWords(b.String())))
	}
	return out
}

// conditionCommand is :condition N [EXPR] [hits OP N]; without a condition it always stops again.
func (v *Controller) conditionCommand(arg string) tea.Cmd {
	number, text, _ := strings.Cut(arg, " ")
	i := v.numbered(number)
	if i < 0 {
		return nil
	}
	b := &v.walk.breaks[i]
	when, err := v.readCondition(b.Breakpoint, text)
	if err != nil {
		v.refuse("condition", lineOf(b.Breakpoint), err)
		return nil
	}
	was := v.whenText(b.Breakpoint)
	b.When, b.hits = when, nil
	said := fmt.Sprintf("breakpoint %d stops %s", b.id, v.stopWords(b.Breakpoint))
	if when.String() == "" {
		said = fmt.Sprintf("breakpoint %d always stops %s", b.id, v.stopWords(b.Breakpoint))
	}
	if was != "" && was != v.whenText(b.Breakpoint) {
		said += "; its condition was: " + was
	}
	v.Say(said)
	return v.breaksChanged()
}

// enable is :enable N and :disable N; without a number all of them.
func (v *Controller) enable(on bool) func(string) tea.Cmd {
	word := map[bool]string{true: "enabled", false: "disabled"}[on]
	return func(arg string) tea.Cmd {
		if arg == "" {
			for i := range v.walk.breaks {
				v.walk.breaks[i].off = !on
			}
			v.Say("all breakpoints " + word)
			return v.breaksChanged()
		}
		i := v.numbered(arg)
		if i < 0 {
			return nil
		}
		v.walk.breaks[i].off = !on
		v.Say(fmt.Sprintf("breakpoint %d %s: %s", v.walk.breaks[i].id, word,
			v.loopWords(v.walk.breaks[i].String())))
		return v.breaksChanged()
	}
}

// deleteBreaks is :delete N and :clear; without a number all of them.
func (v *Controller) deleteBreaks(arg string) tea.Cmd {
	if arg == "" {
		v.walk.breaks = nil
		v.Say("no breakpoints")
		return v.breaksChanged()
	}
	i := v.numbered(arg)
	if i < 0 {
		return nil
	}
	v.Say(fmt.Sprintf("breakpoint %d deleted: %s", v.walk.breaks[i].id,
		v.loopWords(v.walk.breaks[i].String())))
	v.walk.breaks = slices.Delete(v.walk.breaks, i, i+1)
	return v.breaksChanged()
}

// toggleHere enables or disables the breakpoint under the cursor.
func (v *Controller) toggleHere(string) tea.Cmd {
	i := -1
	if v.at == partList && v.list == listBreaks {
		i = v.lists.Current()
	} else if b, ok := v.breakHere(); ok {
		i = v.breakAt(b)
	}
	if i < 0 {
		v.Say("no breakpoint here to enable or disable: " + v.Keys.Label(breakpoint) + " sets one")
		return nil
	}
	return v.enable(v.walk.breaks[i].off)(strconv.Itoa(v.walk.breaks[i].id))
}
