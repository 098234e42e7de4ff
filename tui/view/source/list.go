package source

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/walk"
	"tilescope/tui/keymap"
	"tilescope/tui/theme"
	"tilescope/tui/view"
	"tilescope/tui/view/source/lists"
)

// listKind is what the list on top of the lower panes shows.
type listKind uint8

const (
	listNone listKind = iota
	listBreaks
	listCalls
)

// openList shows a list and gives it the focus; the same one again closes it.
func (v *Controller) openList(kind listKind) tea.Cmd {
	if v.list == kind && v.at == partList {
		v.Uncover()
		return nil
	}
	cmd := v.toSource() // a view that is not on screen has no focus
	if v.list == listNone {
		v.beneath = v.at
	}
	v.list = kind
	v.showLists()
	v.Root.Layout()
	v.Root.Focus(partList)
	return tea.Batch(cmd, v.countHits())
}

// listed is how many rows the list has that is open, at least one; 0 where none is.
func (v *Controller) listed() int {
	switch v.list {
	case listBreaks:
		return max(1, len(v.walk.breaks))
	case listCalls:
		return max(1, len(v.walk.shot.frames))
	}
	return 0
}

// Uncover implements view.Covered: it closes the list.
func (v *Controller) Uncover() bool {
	if v.list == listNone {
		return false
	}
	v.list = listNone
	v.Root.Layout()
	v.Root.Focus(v.beneath)
	return true
}

// countHits counts how often the breakpoints have been hit, where the list of them is open.
func (v *Controller) countHits() tea.Cmd {
	if v.list != listBreaks || v.walk.walk == nil || v.walk.busy || len(v.walk.breaks) == 0 {
		return nil
	}
	return v.motion("counting hits", func(context.Context, walk.Walk) (answer, error) {
		return answer{lane: -1}, nil
	})
}

// showLists gives the panes of lists what they show.
func (v *Controller) showLists() {
	v.showWatches()
	switch v.list {
	case listBreaks:
		v.lists.SetData(v.breakList())
	case listCalls:
		v.lists.SetData(v.callList())
	}
}

// breakList: ? 2  k.cu:597  if lane==3  hit 12 times by 4 warps
func (v *Controller) breakList() lists.Data {
	d := lists.Data{
		Title: "BREAKPOINTS", Note: fmt.Sprintf("%s shows · %s on, off · %s if · %s deletes · %s closes",
			v.Keys.Label(keymap.Open), v.Keys.Label(keymap.Toggle), v.Keys.Label(watchCell),
			v.Keys.Label(breakpoint), v.Keys.Label(keymap.Cancel)),
		// one line of the smallest screen: the list has no more rows than breakpoints, and at least one
		Empty: "no breakpoints: b sets one (in SHARED on a cell), :break LINE if lane==3",
	}
	for _, b := range v.walk.breaks {
		r := lists.Row{Mark: b.mark().Glyph(v.Theme), Cols: []string{strconv.Itoa(b.id), b.at(),
			v.whenText(b.Breakpoint), b.hitText(v.walk.shot.pos.Step)}}
		if why := v.missing(b); b.off {
			r.Tone, r.Cols[3] = lists.Dim, "disabled"
		} else if why != "" {
			r.Tone, r.Cols[3] = lists.Dim, why
		}
		d.Rows = append(d.Rows, r)
	}
	return d
}

// plainName is a function's name without the unnamed namespaces that it is declared in.
func plainName(name string) string { return strings.ReplaceAll(name, "(anonymous namespace)::", "") }

// callList: ▸ 0  cl  sdpa.cu:250
func (v *Controller) callList() lists.Data {
	d := lists.Data{
		Title: fmt.Sprintf("CALLS warp %d", v.walk.shot.pos.Warp),
		Note: fmt.Sprintf("innermost first · %s shows the line · %s closes", v.Keys.Label(keymap.Open),
			v.Keys.Label(keymap.Cancel)),
		Empty: "the warp stands at no line",
	}
	for i, f := range v.walk.shot.frames {
		name := plainName(f.Function)
		if name == "" {
			name = "(no name in the debug lines)"
		}
		r := lists.Row{Cols: []string{strconv.Itoa(i), fmt.Sprintf("%s:%d", path.Base(f.File), f.Line), name}}
		if i == 0 {
			r.Mark = v.Theme.Glyph.Pointer
		}
		d.Rows = append(d.Rows, r)
	}
	return d
}

// openListed is Enter in the list: it shows the line, cell or stage.
func (v *Controller) openListed() tea.Cmd {
	i := v.lists.Current()
	switch {
	case i < 0:
		v.Say("nothing is listed")
	case v.list == listCalls:
		f := v.walk.shot.frames[i]
		return v.showLine(f.File, f.Line)
	case v.walk.breaks[i].Line > 0:
		return v.showLine(v.walk.breaks[i].File, v.walk.breaks[i].Line)
	case v.walk.breaks[i].Array != "":
		b := v.walk.breaks[i]
		if why := v.noSuchCell(b.Array, b.Row, b.Col); why != "" {
			v.Complain(why)
			return nil
		}
		v.Uncover()
		show := v.showCell(b.Array, b.Row, b.Col)
		v.Root.Focus(partShared)
		return tea.Batch(show, v.loadWalk())
	default:
		v.Say(v.walk.breaks[i].at() + ": " + v.Keys.Label(runOn) + " shows its line")
	}
	return nil
}

// showLine shows a line of a file in the source pane; the block stays where it is.
func (v *Controller) showLine(file string, line int) tea.Cmd {
	full, ok := v.reveal(file, line)
	switch n := len(v.codeOf(full)); {
	case !ok:
		v.Complain(file + " is not available")
		return nil
	case line > n:
		v.Complain(fmt.Sprintf("%s has %s", path.Base(full), theme.Count(n, "line")))
		return nil
	}
	v.Root.Focus(partCode)
	v.Say(fmt.Sprintf("%s:%d; the block stays where it is", path.Base(full), line))
	return nil
}

// reveal puts the source pane's cursor on a line of a file, whose whole path it returns; ok is false where
// the file is not available.
func (v *Controller) reveal(file string, line int) (full string, ok bool) {
	full = v.fullName(file)
	text := v.codeOf(full)
	if text == nil {
		return full, false
	}
	pointed := 0
	if p := v.walk.shot.pos.Source; p != nil && p.File == full {
		pointed = p.Line
	}
	v.code.Show(full, text, pointed, "")
	v.code.SetPatch(v.PatchOf(full))
	v.code.SetMarks(v.marksOf(full))
	v.code.SetCursor(line)
	v.ptx.Point(full, line)
	return full, true
}

// fullName is the name that the listing has for a file; a breakpoint has its base name.
func (v *Controller) fullName(file string) string {
	for _, l := range v.walk.shot.listing {
		if path.Base(l.File) == path.Base(file) {
			return l.File
		}
	}
	return file
}

// askCondition asks for the condition of the breakpoint under the list's cursor.
func (v *Controller) askCondition() tea.Cmd {
	i := v.lists.Current()
	if i < 0 {
		v.Say("no breakpoint is listed here")
		return nil
	}
	b := v.walk.breaks[i]
	when := strings.TrimPrefix(v.whenText(b.Breakpoint), "if ")
	return v.Root.Ask(":", fmt.Sprintf("condition %d %s", b.id, when))
}

// deleteListed deletes the breakpoint under the list's cursor.
func (v *Controller) deleteListed() tea.Cmd {
	i := v.lists.Current()
	if v.list != listBreaks || i < 0 {
		v.Say("no breakpoint is listed here")
		return nil
	}
	return v.deleteBreaks(strconv.Itoa(v.walk.breaks[i].id))
}

// Remember implements view.Rememberer.
func (v *Controller) Remember(d map[string]string) {
	d["breakpoints"], d["watches"] = v.walk.remembered()
}

// Recall implements view.Rememberer.
func (v *Controller) Recall(d map[string]string) {
	if err := v.walk.recall(d["breakpoints"], d["watches"]); err != nil {
		v.Complain("remembered breakpoints and watches: " + view.OneLine(err))
	}
	v.restored = true
}

// kernel names the kernel of the run on screen by the file of its source.
func (v *Controller) kernel() string {
	if man, _ := v.ManifestOf(v.Run.Request.Target); man != nil {
		return filepath.Base(man.SourcePath())
	}
	return v.Run.Request.Target
}

// announce says once, after the first run, what an earlier session has left set.
func (v *Controller) announce() {
	if !v.restored {
		return
	}
	v.restored = false
	var what, clear []string
	if n := len(v.walk.breaks); n > 0 {
		what, clear = append(what, theme.Count(n, "breakpoint")), append(clear, ":clear")
	}
	if n := len(v.walk.watches); n > 0 {
		what, clear = append(what, fmt.Sprintf("%d watches", n)), append(clear, ":unwatch")
		if n == 1 {
			what[len(what)-1] = "1 watch"
		}
	}
	if what == nil {
		return
	}
	verb := "removes"
	if len(clear) > 1 {
		verb = "remove"
	}
	key := v.Keys.LabelIn(view.Source, listStops)
	if v.Root.Showing() != view.Source {
		key = ":" + string(listStops)
	}
	text := fmt.Sprintf("%s set in an earlier session; %s lists, %s %s them", strings.Join(what, " and "),
		key, strings.Join(clear, " and "), verb)
	if v.Status.Bad { // what is wrong at the start stays on screen
		v.Status.Note(text)
		return
	}
	v.Hold(text)
}
