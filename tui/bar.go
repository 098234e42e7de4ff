package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// tabName is what a view's tab says, brackets or blanks aside. All fit the narrowest terminal.
func (m drawing) tabName(s keymap.Scope) string {
	n := strconv.Itoa(m.Keys.Number(s))
	switch {
	case m.w >= 120:
		return n + " " + string(s)
	case m.w >= 100:
		return n + string(s)
	}
	return n + m.Keys.Tab(s)
}

// tabs: 1Pipe [2Tile] 3Frag …            fixed  Δ ulp  bound derived
func (m drawing) tabs() string {
	l := m.Theme.Line(m.w)
	for _, s := range m.Keys.Scopes() {
		name := m.tabName(s)
		if s == m.view {
			l.Add(m.Theme.Mark, "[").Add(m.Theme.TabOn, name).Add(m.Theme.Mark, "]")
		} else {
			l.Space(1).Add(m.Theme.Tab, name).Space(1)
		}
	}
	note := ""
	if v, ok := m.Shown().(view.Noted); ok {
		note = v.Note()
	}
	if m.zoomed[m.view] {
		note = strings.TrimSpace("zoom  " + note)
	}
	text := m.Theme.Fit(note, l.Left()-1)
	return l.Right(m.Theme.Dim, text, m.w-1).Done()
}

// bottom is the prompt, the status with a run's progress, or the hints.
func (m drawing) bottom() string {
	if _, open := m.prompt.Active(); open {
		line, _ := m.prompt.Line(m.w)
		return line
	}
	l, running := m.Theme.Line(m.w), m.runningText()
	room := m.statusRoom()
	switch {
	case m.Status.Text != "" && m.Status.Bad:
		l.Add(m.Theme.Error, m.statusText(room))
	case m.Status.Text != "":
		l.Add(m.Theme.Notice, m.statusText(room))
	case running == "" && !m.asking():
		m.hints(l)
	}
	if running != "" {
		if l.Col() == 0 {
			l.Add(m.Theme.Running, running)
		} else {
			l.Right(m.Theme.Running, running, m.w)
		}
	}
	return l.Done()
}

// statusText is the status in room columns. Where it is cut, and the whole of it stands nowhere on the
// screen, its end says what shows it.
func (m drawing) statusText(room int) string {
	more := " :" + string(keymap.Messages)
	if m.Theme.Width(m.Status.Text) <= room || m.Status.Cut || m.refused() || room < 4*m.Theme.Width(more) {
		return m.Theme.Fit(m.Status.Text, room)
	}
	return m.Theme.Fit(m.Status.Text, room-m.Theme.Width(more)) + more
}

// runningText is what runs in the background, how far it has come, and how it is cancelled; "" where nothing
// runs.
func (m drawing) runningText() string {
	cancels := " · " + m.Keys.Label(keymap.Cancel) + " cancels"
	switch {
	case m.Job.Active:
		return view.Since(progressText(m.Theme, m.Job.Last), m.Job.Ran) + cancels
	case m.Task.Active && m.Task.Last == (debugkern.Progress{}): // a task that only writes reports none
		return view.Since(m.Task.What, m.Task.Ran) + cancels
	case m.Task.Active && m.Task.Words != nil:
		return view.Since(m.Task.Words(m.Task.Last), m.Task.Ran) + cancels
	case m.Task.Active:
		return view.Since(progressText(m.Theme, m.Task.Last), m.Task.Ran) + cancels
	}
	for _, w := range m.workers {
		if what, _ := w.Busy(); what != "" {
			return what + cancels
		}
	}
	if m.Hunting() {
		return "searching" + cancels
	}
	return ""
}

// statusRoom is how many columns of the bottom line a status has.
func (m drawing) statusRoom() int {
	if running := m.runningText(); running != "" {
		return m.w - m.Theme.Width(running) - 2
	}
	return m.w
}

// wording is what the help says of keys that mean something else, or nothing (""), to a kernel without
// stages; nil for other kernels.
func (m drawing) wording() map[keymap.Action]string {
	if !m.Stageless() {
		return nil
	}
	out := map[keymap.Action]string{
		keymap.NextStage: "next argument", keymap.PrevStage: "previous argument", keymap.NextTile: "",
		keymap.PrevTile: "",
	}
	if m.view == view.Tile || m.view == view.Pipe {
		if m.Unjudged() {
			for _, a := range []keymap.Action{
				keymap.NextBad, keymap.PrevBad, keymap.BoundUp, keymap.BoundDown,
			} {
				out[a] = ""
			}
		}
		out[keymap.Columns] = "columns: after the launch; next to it before, and the change"
		out[keymap.Diff] = "how the change is measured, where it is shown"
	}
	return out
}

// hint is a key of the hint line, or a command.
type hint struct {
	label, text string
	key         string // that the hint's label stands for; "": label is a command
	stays       bool   // where there is no room for all
}

func (h hint) width(th *theme.Theme) int { return th.Width(h.label) + 1 + th.Width(h.text) + hintGap }

// hintGap is the blanks after a hint.
const hintGap = 2

// hints writes those that room is left for.
func (m drawing) hints(l *theme.Line) {
	for _, h := range m.fitting(l.Left()) {
		l.Add(m.Theme.Key, h.label).Space(1).Add(m.Theme.Help, h.text).Space(hintGap)
	}
}

// fitting are the hints of the view on screen that fit into room columns. Where there is no room for all, the
// last go first: not those that lead out or further, nor the one that diagnoses a run that went wrong.
func (m drawing) fitting(room int) []hint {
	list := m.hinted()
	need := -hintGap
	for _, h := range list {
		need += h.width(m.Theme)
	}
	for i := len(list) - 1; i >= 0 && need > room; i-- {
		if !list[i].stays {
			need -= list[i].width(m.Theme)
			list = slices.Delete(list, i, i+1)
		}
	}
	for len(list) > 0 && need > room {
		need -= list[len(list)-1].width(m.Theme)
		list = list[:len(list)-1]
	}
	return list
}

// hintAt is the hint drawn at a column of the bottom line.
func (m drawing) hintAt(x int) (hint, bool) {
	col := 0
	for _, h := range m.fitting(m.w) {
		end := col + h.width(m.Theme)
		if x >= col && x < end-hintGap {
			return h, true
		}
		col = end
	}
	return hint{}, false
}

// hinted are the hints of the view on screen. Pipe and Tile begin with what diagnoses a run that went wrong:
// its key, or in Tile, where the key is another action's, the command.
func (m drawing) hinted() []hint {
	if m.over != nil {
		return m.overHints()
	}
	var list []hint
	why := hint{label: ":" + string(keymap.Diagnose), text: "why", stays: true}
	words := m.wording()
	for _, b := range m.Keys.Hints(m.view) {
		switch help, other := words[b.Action]; {
		case other && help == "":
		case b.Action == keymap.Diagnose && m.view == view.Pipe:
			why.label, why.text, why.key = b.Label, b.Hint, b.Keys[0]
		default:
			text := b.Hint
			if v, ok := m.Shown().(view.Hinter); ok {
				text = cmp.Or(v.Hint(b.Action), text)
			}
			list = append(list, hint{b.Label, text, b.Keys[0], slices.Contains(
				[]keymap.Action{keymap.Command, keymap.Help, keymap.Quit}, b.Action)})
		}
	}
	if (m.view == view.Pipe || m.view == view.Tile) && m.wentWrong() {
		list = slices.Insert(list, 0, why)
	}
	return list
}

// overHints are the hints of the list over the view.
func (m drawing) overHints() []hint {
	var list []hint
	for _, x := range []struct {
		action keymap.Action
		text   string
	}{
		{keymap.Open, "carry out"}, {keymap.Yank, "copy"}, {keymap.Search, "search"},
		{keymap.Cancel, "close"},
	} {
		if x.action == keymap.Open && m.over.opens == keymap.Messages { // they stand for nothing to carry out
			continue
		}
		for _, b := range m.Keys.All() {
			// the list takes it in views to which it does not belong, too
			if b = b.At(m.view); b.Action == x.action && len(b.Keys) > 0 {
				list = append(list, hint{b.Label, x.text, b.Keys[0], x.action == keymap.Cancel})
				break
			}
		}
	}
	return list
}

// wentWrong reports whether the run on screen answers the request and there is something to diagnose.
func (m drawing) wentWrong() bool {
	return m.Current() && (m.Run.Report.Verdict == report.Diverge || m.Run.Report.Errors() > 0)
}
