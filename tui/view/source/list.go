package source

import (
	"context"
	"fmt"
	"path"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/walk"
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
	if v.list == listNone {
		v.beneath = v.at
	}
	v.list = kind
	v.showLists()
	cmd := v.toSource()
	v.Root.Layout()
	v.Root.Focus(partList)
	return tea.Batch(cmd, v.countHits())
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

// breakList: ● 2  k.cu:597  3 hits  if lane==3
func (v *Controller) breakList() lists.Data {
	d := lists.Data{
		Title: "BREAKPOINTS", Note: "Enter shows · Space on, off · b deletes",
		Empty: "no breakpoints: b sets one on a line, in SHARED on a cell; with a condition: " +
			":break LINE if lane==3 && kv==1",
	}
	for _, b := range v.walk.breaks {
		r := lists.Row{Mark: v.Theme.Glyph.Dot, Cols: []string{strconv.Itoa(b.id), b.at(), "",
			b.When.String()}}
		if b.hits >= 0 {
			r.Cols[2] = fmt.Sprintf("%d hit", b.hits)
			if b.hits != 1 {
				r.Cols[2] += "s"
			}
		}
		switch {
		case b.off:
			r.Mark, r.Tone, r.Cols[2] = v.Theme.Glyph.Ring, lists.Dim, "disabled"
		case b.Line > 0 && len(v.walk.shot.listing) > 0 && !v.hasCode(b.Breakpoint):
			r.Tone, r.Cols[2] = lists.Dim, "no instruction in this build"
		}
		d.Rows = append(d.Rows, r)
	}
	return d
}

// callList: ▸ 0  cl  sdpa.cu:250
func (v *Controller) callList() lists.Data {
	d := lists.Data{
		Title: fmt.Sprintf("CALLS warp %d", v.walk.shot.pos.Warp),
		Note:  "innermost first · Enter shows the line",
		Empty: "the warp stands at no line",
	}
	for i, f := range v.walk.shot.frames {
		name := f.Function
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
		v.walk.array, v.walk.row, v.walk.col, v.walk.writes = b.Array, b.Row, b.Col, writes{}
		v.Root.Focus(partShared)
		return v.loadWalk()
	default:
		v.Say(v.walk.breaks[i].at() + ": " + v.Keys.Label(runOn) + " shows its line")
	}
	return nil
}

// showLine shows a line of a file in the source pane; the block stays where it is.
func (v *Controller) showLine(file string, line int) tea.Cmd {
	full := file
	for _, l := range v.walk.shot.listing { // a breakpoint has the base name
		if path.Base(l.File) == path.Base(file) {
			full = l.File
			break
		}
	}
	text := v.codeOf(full)
	if text == nil {
		v.Complain(file + " is not available")
		return nil
	}
	pointed := 0
	if p := v.walk.shot.pos.Source; p != nil && p.File == full {
		pointed = p.Line
	}
	v.code.Show(full, text, pointed, "")
	v.code.SetMarks(v.marksOf(full))
	v.code.SetCursor(line)
	v.ptx.Point(full, line)
	v.Root.Focus(partCode)
	v.Say(fmt.Sprintf("%s:%d; the block stays where it is", path.Base(full), line))
	return nil
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
}
