package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/facts"
	"tilescope/tui/pane/pipe"
	"tilescope/tui/theme"
)

// View draws the screen: two lines at the top, the view, one line at the bottom.
func (m *Model) View() tea.View {
	lines := m.screen()
	n := 0
	for _, l := range lines {
		n += len(l) + 1
	}
	var b strings.Builder
	b.Grow(n)
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l)
	}
	return tea.NewView(b.String())
}

// frameNow is the screen as the painter wants it.
func (m *Model) frameNow() frame {
	f := frame{lines: m.screen(), w: m.w, modes: modes{title: "tilescope " + m.req.Target, mouse: m.mouse, cursorX: -1}}
	if _, open := m.pane.prompt.Active(); open && !m.small() {
		_, f.cursorX = m.pane.prompt.Line(m.w)
		f.cursorY = m.h - 1
	}
	return f
}

// painted is the model with a painter in place of the library's renderer: its View is what the painter is shown.
type painted struct {
	*Model
	painter *painter
}

// Update implements tea.Model.
func (p painted) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := p.Model.Update(msg)
	return p, cmd
}

// View implements tea.Model.
func (p painted) View() tea.View {
	p.painter.show(p.frameNow())
	return tea.View{}
}

// screen is every line of the terminal, each of its full width.
func (m *Model) screen() []string {
	if m.w <= 0 || m.h <= 0 {
		return nil
	}
	if m.small() {
		return m.card()
	}
	lines := make([]string, 0, m.h)
	lines = append(lines, m.crumbs(), m.tabs())
	body := m.body()
	if popup := m.pane.prompt.Popup(m.w, min(10, len(body)-2)); popup != nil {
		body = append(append([]string{}, body[:len(body)-len(popup)]...), popup...)
	}
	lines = append(lines, body...)
	return append(lines, m.bottom())
}

// card is all that a terminal below 80×24 shows.
func (m *Model) card() []string {
	out := m.th.Blank(m.w, m.h)
	text := []string{"tilescope", fmt.Sprintf("%d×%d is too small", m.w, m.h), fmt.Sprintf("it needs %d×%d", minWidth, minHeight), m.keys.Label(keymap.Quit) + " quits"}
	top := max(0, (m.h-len(text))/2)
	for i, s := range text {
		if top+i < m.h {
			out[top+i] = m.th.Line(m.w).Pad((m.w-m.th.Width(s))/2).Add(m.th.Text, s).Done()
		}
	}
	return out
}

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

// tabs: 1Pipe [2Tile] 3Frag …            fixed  Δ ulp  bound derived
func (m *Model) tabs() string {
	l := m.th.Line(m.w)
	for _, s := range keymap.Scopes() {
		name := strconv.Itoa(int(s))
		if m.w >= 120 {
			name += " " + s.String()
		} else {
			name += s.Tab()
		}
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

// body is the view.
func (m *Model) body() []string {
	if m.help {
		return m.pane.help.View(m.keys, m.view, m.w, m.frame.body)
	}
	if m.failing() {
		return m.failureView()
	}
	switch m.view {
	case keymap.GPU:
		return m.pane.gpu.View()
	case keymap.Races:
		return m.pane.races.View()
	case keymap.Pipe:
		return m.pane.pipe.View()
	case keymap.Tile:
		return m.tileView()
	case keymap.Flags:
		return m.pane.flags.View()
	case keymap.Frag:
		return m.pane.frag.View()
	case keymap.Gates:
		return m.pane.gates.View()
	case keymap.Source:
		return m.walkView()
	}
	return m.th.Blank(m.w, m.frame.body)
}

// tileView joins the Tile view's panes.
func (m *Model) tileView() []string {
	middle := m.pane.tile.View()
	if m.frame.source > 0 {
		middle = append(append(make([]string, 0, m.frame.body), middle...), m.pane.source.View()...)
	}
	if m.frame.rail == 0 {
		return middle
	}
	columns := [][]string{m.pane.rail.View(), middle}
	if m.frame.side > 0 {
		columns = append(columns, m.side())
	}
	return theme.Beside(columns...)
}

// side is the right column of very wide screens: the whole tile, its run's figures, and the device or the lane.
func (m *Model) side() []string {
	h := m.frame.body
	out := append(make([]string, 0, h), m.pane.mini.View()...)
	rest := h - len(out)
	run := min(rest, factLines)
	out = append(out, facts.View(m.th, "RUN", m.facts(), m.frame.side, run)...)
	if rest -= run; rest > 0 && m.onGPU() {
		return append(out, facts.View(m.th, "GPU", m.deviceFacts(), m.frame.side, rest)...)
	}
	if len(m.lane) == rest {
		return append(out, m.lane...)
	}
	return append(out, facts.View(m.th, "LANE", nil, m.frame.side, rest)...)
}

// factLines is the height of the run's figures in the right column.
const factLines = 12

// facts are the run's figures beside a tile.
func (m *Model) facts() [][2]string {
	if m.run == nil || m.run.report == nil {
		return nil
	}
	r := m.run.report
	out := [][2]string{}
	if d := r.Stage(m.cursor.Stage.String()); d != nil {
		bad := d.Local.Bad
		if d.Verdict == debugkern.Tainted {
			bad = d.Global.Bad
		}
		out = append(out, [2]string{"stage", fmt.Sprintf("%s %s, bad %d/%d", d.Name, d.Verdict, bad, d.Local.Cells)})
		if p := cell.Pattern(d); p != "" {
			out = append(out, [2]string{"pattern", p})
		}
	}
	if o := r.Output; o != nil {
		out = append(out, [2]string{"output", fmt.Sprintf("%s max %.3g mean %.3g", o.Verdict, float64(o.MaxAbs), float64(o.MeanAbs))})
	}
	if x := r.Resources; x != nil {
		out = append(out, [2]string{"ptxas", fmt.Sprintf("%d regs, %d B shared, %d B spilled", x.Registers, x.SharedBytes, x.SpillStoreBytes)})
	}
	if t := m.sweep.docs[m.req.Target]; t != nil {
		out = append(out, [2]string{"gates", fmt.Sprintf("PTXAS %s, correct %d/%d, speed %s", t.PTXAS.Verdict, t.Correctness.Passed, t.Correctness.Total, t.Performance.Verdict)})
	}
	out = append(out, [2]string{"cost", fmt.Sprintf("%.0f ms run, %.0f ms compare", float64(r.Cost.RunMS), float64(r.Cost.CompareMS))})
	return append(out, [2]string{"findings", strconv.Itoa(len(r.Findings))})
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

// showRun gives the panes the run on screen and the request.
func (m *Model) showRun() {
	if m.run == nil {
		m.pane.pipe.SetData(pipe.Data{Plan: m.outline(), Message: m.idle()})
	} else {
		d := pipeData(m.run)
		m.pane.pipe.SetData(d)
	}
	m.pane.pipe.SetPlace(m.at())
	m.refreshFlags()
	m.showTile()
	m.showSource()
	m.showFailure()
	m.showRaces()
	m.applyFocus()
}

// showSource opens the kernel's source where no writer points into it yet.
func (m *Model) showSource() {
	if m.run == nil || m.run.viewer == nil {
		return
	}
	file, line := m.sourcePlace()
	m.pane.source.Show(file, m.run.viewer.Source(file), line, "")
}
