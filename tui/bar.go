package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/theme"
)

// crumbs: ts▸stage2▸S=QKᵀ▸cta 3,1▸kv 2                       ✗ P  ●emu
func (m *Model) crumbs() string {
	sep := m.th.Glyph.Crumb
	l := m.th.Line(m.w).Add(m.th.BarStrong, "ts")
	add := func(s theme.Style, text string) {
		l.Add(m.th.BarDim, sep).Add(s, text)
	}
	add(m.th.Bar, shortTarget(m.req.Target))
	for _, f := range m.req.Faults {
		add(m.th.BarStrong, f)
	}
	if m.req.Gate != probes.GateNone {
		add(m.th.BarStrong, "gate "+m.req.Gate.String())
	}
	if m.run != nil && m.run.plan != nil {
		at := m.at()
		add(m.th.Bar, formula(at.Stage))
		add(m.th.Bar, "cta "+shortBlock(at.Block, m.run.plan.Grid))
		if sp := m.run.plan.Stage(at.Stage); sp != nil && sp.PerTile {
			add(m.th.Bar, "kv "+strconv.Itoa(at.KVTile))
		}
	}
	for _, right := range m.machine() {
		if n := m.th.Width(right); n+1 < l.Left() {
			l.Repeat(m.th.Bar, " ", l.Left()-n-1)
			l.Add(m.th.Bar, right)
			break
		}
	}
	return l.DoneIn(m.th.Bar)
}

// machine is the right end of the first line, from its longest form to its shortest: what runs, verdict, backend, device
// and its state.
func (m *Model) machine() []string {
	shape := shapeName(m.req)
	long := shape + " seed " + strconv.FormatUint(m.req.Seed, 10)
	if m.run == nil || m.run.report == nil {
		return []string{long, shape}
	}
	if m.w < 100 {
		long = shape
	}
	r := m.run.report
	verdict := m.th.VerdictMark(r.Verdict) + " " + r.Verdict
	if len(r.Guilty) > 0 {
		verdict += " " + r.Guilty[0].Stage
	}
	switch { // what is on screen is an earlier run's
	case m.job.active:
		verdict = "running"
	case m.run.name != title(m.req):
		verdict = "not run"
	}
	backend := m.th.Glyph.Dot + r.Backend.Name
	device, state := m.deviceText()
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
	}
	whole := join(strings.TrimSpace(device + " " + state))
	if !m.onGPU() { // the emulator's name is long, and says nothing that its mark does not
		out := []string{join(long, verdict, backend), join(shape, verdict, backend), join(verdict, backend)}
		if m.w >= 110 {
			out = append([]string{join(long, verdict, backend+" "+device)}, out...)
		}
		return out
	}
	return []string{
		join(long, verdict, backend, whole), join(shape, verdict, backend, whole), join(verdict, backend, whole), join(verdict, backend, state),
		join(verdict, backend), backend,
	}
}

// shortTarget is a target's name, of a path its last part.
func shortTarget(target string) string {
	return target[strings.LastIndexAny(target, `/\`)+1:]
}

func shortBlock(b, grid probes.Dim3) string {
	if grid[2] <= 1 {
		return fmt.Sprintf("%d,%d", b[0], b[1])
	}
	return b.String()
}

// formula is a stage's name with what it computes.
func formula(s probes.Stage) string {
	switch s {
	case probes.StageS:
		return "S=QKᵀ"
	case probes.StageM:
		return "m=max S"
	case probes.StageL:
		return "l=ΣP"
	case probes.StageP:
		return "P=exp(S−m)"
	case probes.StageU:
		return "U=αU+PV"
	case probes.StageO:
		return "O=U/l"
	}
	return s.String()
}

// tabName is what a view's tab says, brackets or blanks aside.
func (m *Model) tabName(s keymap.Scope) string {
	if m.w >= 120 {
		return strconv.Itoa(int(s)) + " " + s.String()
	}
	return strconv.Itoa(int(s)) + s.Tab()
}

// tabs: 1Pipe [2Tile] 3Frag …            fixed  Δ ulp  bound derived
func (m *Model) tabs() string {
	l := m.th.Line(m.w)
	for _, s := range keymap.Scopes() {
		name := m.tabName(s)
		if s == m.view {
			l.Add(m.th.Mark, "[").Add(m.th.TabOn, name).Add(m.th.Mark, "]")
		} else {
			l.Space(1).Add(m.th.Tab, name).Space(1)
		}
	}
	if m.view != keymap.Tile {
		return l.Done()
	}
	s := m.pane.tile.Settings()
	text := fmt.Sprintf("%s Δ%s ≤%s", s.Format, s.Diff, s.Bound)
	if s.Filter != nil {
		text = "&" + s.Filter.Text + " " + text
	}
	if m.match != nil {
		text = "/" + m.match.Text + " " + text
	}
	text = m.th.Fit(text, l.Left()-1)
	return l.Right(m.th.Dim, text, m.w-1).Done()
}

// bottom is the prompt, the status with a run's progress, or the hints.
func (m *Model) bottom() string {
	if _, open := m.pane.prompt.Active(); open {
		line, _ := m.pane.prompt.Line(m.w)
		return line
	}
	l := m.th.Line(m.w)
	running := ""
	if m.job.active {
		running = progressText(m.th, m.job.last) + " · " + m.keys.Label(keymap.Cancel) + " cancels"
	} else if m.task.active {
		running = progressText(m.th, m.task.last) + " · " + m.keys.Label(keymap.Cancel) + " cancels"
	} else if m.race.active {
		running = "diagnose " + plainProgress(m.race.last) + " · " + m.keys.Label(keymap.Cancel) + " cancels"
	} else if m.race.trying {
		running = "trying · " + m.keys.Label(keymap.Cancel) + " cancels"
	} else if m.walk.busy {
		running = m.walkProgress() + " · " + m.keys.Label(keymap.Cancel) + " cancels"
	} else if m.hunt.active {
		running = "searching · " + m.keys.Label(keymap.Cancel) + " cancels"
	}
	room := m.w
	if running != "" {
		room -= m.th.Width(running) + 2
	}
	switch {
	case m.status.text != "" && m.status.bad:
		l.Add(m.th.Error, m.th.Fit(m.status.text, room))
	case m.status.text != "":
		l.Add(m.th.Notice, m.th.Fit(m.status.text, room))
	case running == "":
		m.hints(l)
	}
	if running != "" {
		if l.Col() == 0 {
			l.Add(m.th.Running, running)
		} else {
			l.Right(m.th.Running, running, m.w)
		}
	}
	return l.Done()
}

// hints lists keys as far as there is room.
func (m *Model) hints(l *theme.Line) {
	for _, b := range m.keys.Hints(m.view) {
		if n := m.th.Width(b.Label) + 1 + len(b.Hint) + 2; n > l.Left() {
			continue
		}
		l.Add(m.th.Key, b.Label).Space(1).Add(m.th.Help, b.Hint).Space(2)
	}
}
