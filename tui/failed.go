package tui

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/failure"
	"tilescope/tui/theme"
)

// textEngine is what an engine may know of sources that no run can be asked for.
type textEngine interface {
	SourceText(ctx context.Context, req debugkern.Request, file string) []string
}

var _ textEngine = (*debugkern.Session)(nil)

// failing reports whether the view shows why the request could not run, instead of a run.
func (m *Model) failing() bool {
	if m.fail == nil {
		return false
	}
	switch m.view {
	case keymap.Pipe, keymap.Tile, keymap.Source:
		return true
	case keymap.Races:
		return !m.diagnosing()
	}
	return false
}

// reasons are what a failed run's document complains of.
func reasons(e *debugkern.ErrorDoc) []failure.Reason {
	var out []failure.Reason
	for _, d := range e.Diagnostics {
		out = append(out, failure.Reason{File: d.File, Line: d.Line, Col: d.Col, Severity: d.Severity, Text: d.Message})
	}
	if out != nil {
		return out
	}
	r := failure.Reason{Text: e.Message}
	if e.Source != nil {
		r.File, r.Line = e.Source.File, e.Source.Line
	}
	return []failure.Reason{r}
}

// gatherText reads, while nobody waits, the sources that a failed run points into.
func gatherText(ctx context.Context, o Options, req debugkern.Request, r *debugkern.Report) func(string) []string {
	e, ok := o.Engine.(textEngine)
	if !ok || r == nil || r.Error == nil {
		return nil
	}
	known := map[string][]string{"": e.SourceText(ctx, req, "")}
	for _, x := range reasons(r.Error) {
		if _, ok := known[x.File]; !ok {
			known[x.File] = e.SourceText(ctx, req, x.File)
		}
	}
	return func(file string) []string { return known[file] }
}

// sourceOf is a source's text as the run on screen knows it.
func (m *Model) sourceOf(file string) []string {
	if m.run == nil {
		return nil
	}
	return m.run.viewer.Source(file)
}

// failedText is a source's text as the failed request's run knows it.
func (m *Model) failedText(file string) []string {
	if m.fail == nil || m.fail.text == nil {
		return nil
	}
	return m.fail.text(file)
}

// showFailure gives the panes a run that failed.
func (m *Model) showFailure() {
	if m.fail == nil {
		return
	}
	m.pane.fail.SetData(m.failure())
	m.sizeFailure()
	m.followReason()
}

// failure is the request's failure: every reason, what can be done, and what became of the run before.
func (m *Model) failure() failure.Data {
	e := m.fail.report.Error
	return failure.Data{Stage: e.Stage, Of: inFull(m.fail.request), Reasons: reasons(e), Hints: m.remedies(e), Before: m.outcome()}
}

// remedies are what can be done about a failure, a line each.
func (m *Model) remedies(e *debugkern.ErrorDoc) []string {
	var out []string
	again := m.keys.Label(keymap.Again) + " runs again"
	switch {
	case e.Source != nil || len(e.Diagnostics) > 0:
		out = append(out, fmt.Sprintf("%s opens the editor at the line · %s", m.keys.Label(keymap.Edit), again))
	case m.onGPU() && e.Stage != "build":
		out = append(out, fmt.Sprintf("%s runs the same launch on the emulator · %s", m.keys.Label(keymap.AgainEmu), again),
			fmt.Sprintf("in Races %s diagnoses on the emulator, which can show where", m.keys.Label(keymap.Diff)))
	default:
		out = append(out, again+", once that is mended")
	}
	if m.fail.code == debugkern.CodeUnavailable {
		out = append(out, "`tilescope doctor` says what is missing and what to install · `tilescope kernels` lists what needs no compiler")
	}
	if m.run != nil {
		if list := differences(m.run.request, m.fail.request); list != nil {
			out = append(out, fmt.Sprintf("new since the previous run: %s · :revert goes back to it", strings.Join(list, ", ")))
		}
	}
	return out
}

// revert goes back to the request of the last run that ended well.
func (m *Model) revert(string) tea.Cmd {
	if m.run == nil || same(m.run.request, m.nextRequest()) {
		m.complain("nothing to go back to: no other run has ended")
		return nil
	}
	req := clone(m.run.request)
	m.say("back to " + inFull(req))
	return m.start(req)
}

// followReason points the source at the reason under the cursor.
func (m *Model) followReason() {
	r, ok := m.pane.fail.Selected()
	if !ok {
		return
	}
	note := "failed here"
	if r.File == "" {
		note = ""
	}
	m.pane.failSource.Show(r.File, m.failedText(r.File), r.Line, note)
}

// moveReason moves through what went wrong, or the source below.
func (m *Model) moveReason(n int) tea.Cmd {
	if m.focused() == partFailing {
		return m.scrolled(m.pane.failSource.Scroll(n))
	}
	moved := m.pane.fail.Move(n)
	m.followReason()
	return m.scrolled(moved)
}

// failureView is the reasons above the source.
func (m *Model) failureView() []string {
	out := append(make([]string, 0, m.frame.body), m.pane.fail.View()...)
	if m.pane.fail.Located() {
		out = append(out, m.pane.failSource.View()...)
	}
	return out
}

// failureHeight is the height of the reasons: as much as they take, up to two thirds of the view.
// Where no reason names a place of the source, the reasons have the whole view.
func (m *Model) failureHeight() int {
	if !m.pane.fail.Located() {
		return m.frame.body
	}
	return max(5, min(m.pane.fail.Need(m.w), m.frame.body*2/3))
}

// sizeFailure gives both parts their place.
func (m *Model) sizeFailure() {
	h := m.failureHeight()
	m.pane.fail.SetSize(m.w, h)
	m.pane.failSource.SetSize(m.w, m.frame.body-h)
}

// sourceFile is a person's own source: when it changes, the run on screen is out of date.
type sourceFile struct {
	path  string
	stamp string // when it was last seen to be settled
	last  string
	going bool
}

// sourceMsg is how a file was found.
type sourceMsg struct{ path, stamp string }

// watchSource looks at the target's own source from time to time. A source that is part of the program does not change.
func (m *Model) watchSource() tea.Cmd {
	path := ""
	if man, _ := m.manifest(); man != nil && man.Dir != "" {
		path = man.SourcePath()
	}
	if path != m.file.path {
		m.file = sourceFile{path: path}
	}
	if path == "" || m.file.going {
		return nil
	}
	every := viewPulse
	if m.opt.pulse != 0 {
		every = m.opt.pulse
	}
	if every < 0 {
		return nil
	}
	m.file.going = true
	return tea.Tick(every, func(time.Time) tea.Msg { return lookAt(path) })
}

func lookAt(path string) sourceMsg {
	info, err := os.Stat(path)
	if err != nil {
		return sourceMsg{path, err.Error()}
	}
	return sourceMsg{path, fmt.Sprint(info.ModTime().UnixNano(), info.Size())}
}

// sourceLooked runs again where a source has changed and rests: the same twice, so not in the middle of a write.
func (m *Model) sourceLooked(msg sourceMsg) tea.Cmd {
	m.file.going = false
	if msg.path != m.file.path {
		return m.watchSource()
	}
	settled := msg.stamp == m.file.last
	m.file.last = msg.stamp
	var cmd tea.Cmd
	switch {
	case !settled || msg.stamp == m.file.stamp:
	case m.file.stamp == "":
		m.file.stamp = msg.stamp
	default:
		m.file.stamp = msg.stamp
		m.say(msg.path[strings.LastIndexAny(msg.path, `/\`)+1:] + " changed: running again")
		m.race.stop()
		m.race = inquiry{seq: m.race.seq + 1} // a diagnosis of the source before it changed is of another kernel
		cmd = m.start(m.nextRequest())
	}
	return tea.Batch(cmd, m.watchSource())
}

// stages of a run as the progress line shows them, and the phases that each is made of.
var progressStages = []struct {
	name   string
	phases []string
}{
	{"build", []string{"", "resolve", "inputs", "build", "load"}}, {"launch", []string{"run", "launch", "plain"}}, {"compare", []string{"compare", "explain"}},
}

// progressText: ✓build ▸ ●launch emu 3/16 ▸ ○compare
func progressText(th *theme.Theme, p debugkern.Progress) string {
	at := -1
	for i, s := range progressStages {
		for _, phase := range s.phases {
			if phase == p.Phase {
				at = i
			}
		}
	}
	if at < 0 { // something this line does not know
		return plainProgress(p)
	}
	detail := plainProgress(debugkern.Progress{Detail: p.Detail, Done: p.Done, Total: p.Total})
	var b strings.Builder
	for i, s := range progressStages {
		mark := th.Glyph.Ring
		switch {
		case i < at:
			mark = th.Glyph.OK
		case i == at:
			mark = th.Glyph.Dot
		}
		if i > 0 {
			b.WriteString(" " + th.Glyph.Crumb + " ")
		}
		b.WriteString(mark + s.name)
		if i == at && detail != "" {
			b.WriteString(" " + th.Fit(detail, 28))
		}
	}
	return b.String()
}

// plainProgress: explore 12/200
func plainProgress(p debugkern.Progress) string {
	out := p.Phase + " " + p.Detail
	if p.Total > 0 {
		out += fmt.Sprintf(" %d/%d", p.Done, p.Total)
	}
	return strings.TrimSpace(strings.ReplaceAll(out, "  ", " "))
}
