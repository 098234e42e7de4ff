package tui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/gates"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/outcome"
	gatespane "tilescope/tui/pane/gates"
)

var _ gates.Runner = (*debugkern.Session)(nil)

// sweep is what the Gates view knows: the documents of the variants judged in this session, and the sweep under way.
type sweep struct {
	docs    map[string]judgement
	asked   judgement // what the sweep under way judges by; it has no document
	again   []string  // the variants it has yet to judge
	now     gates.Progress
	running bool
	gen     int // the task's
	note    string
}

// judgement is a variant's document with what it was judged by.
type judgement struct {
	doc *gates.TargetDoc
	by  debugkern.Request // backend, builder and device of the request on screen then
	at  string            // the stamp of a person's own source then
}

// judgedBy is what a sweep that starts now judges by.
func (m *Model) judgedBy() judgement {
	req := m.nextRequest()
	return judgement{by: normal(debugkern.Request{Backend: req.Backend, Builder: req.Builder, Arch: req.Arch, Device: req.Device}), at: m.file.stamp}
}

// sweepMsg tells how far a sweep has come.
type sweepMsg struct {
	gen   int
	p     gates.Progress
	from  <-chan gates.Progress
	until context.Context
}

// judgedMsg is a variant whose gates are decided.
type judgedMsg struct {
	gen    int
	target gates.TargetDoc
	from   <-chan gates.TargetDoc
}

// sweptMsg is a sweep that ended.
type sweptMsg struct {
	gen int
	doc *gates.Doc
	err error
}

// launches are the command line's defaults.
const (
	warmups  = 100
	launches = 500
)

// gateRows are the variants of the requested kernel's manifest.
func (m *Model) gateRows() []string {
	man, _ := m.manifest()
	if man == nil || man == m.mine {
		return []string{m.req.Target}
	}
	var out []string
	for _, v := range man.Variants {
		out = append(out, v.Name)
	}
	return out
}

// startSweep judges targets in the background. A sweep cancelled before goes on where it was.
func (m *Model) startSweep(targets []string, backend string) tea.Cmd {
	r, ok := m.opt.Engine.(gates.Runner)
	if !ok {
		m.complain("this engine has no gates")
		return nil
	}
	if !m.begin("the sweep of the gates") {
		return nil
	}
	o := gates.Options{
		Targets: targets, Against: m.against(), Warmups: warmups, Launches: launches, Files: m.opt.Files,
		Request: debugkern.Request{Backend: backend, Builder: m.req.Builder, Device: m.req.Device, Timeout: m.req.Timeout},
	}
	if m.opt.StateDir != "" {
		o.Out = filepath.Join(m.opt.StateDir, "gates", m.sweepName(targets))
	}
	m.sweep.gen, m.sweep.running, m.sweep.now, m.sweep.note = m.task.gen, true, gates.Progress{}, ""
	m.sweep.asked, m.sweep.again = m.judgedBy(), slices.Clone(targets)
	m.say("judging " + strings.Join(targets, " "))
	m.showGates()
	steps, judged := make(chan gates.Progress, 1), make(chan gates.TargetDoc, len(targets))
	return tea.Batch(sweepCmd(r, o, m.opt.Version, m.task, steps, judged), listenSweep(m.task.gen, steps, m.task.ctx), listenJudged(m.task.gen, judged))
}

// sweepName is the folder of a sweep's files: the variant's, or, of several, the kernel's.
func (m *Model) sweepName(targets []string) string {
	name := targets[0]
	if man, _ := m.manifest(); len(targets) > 1 && man != nil {
		name = "all-" + man.Name
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:`, r) {
			return '_'
		}
		return r
	}, name)
}

// against is what speed is compared with: the variant pinned as A, as long as it is that variant and nothing on top.
func (m *Model) against() string {
	if m.pinned == nil || len(m.pinned.Faults) > 0 || len(m.pinned.Flags) > 0 {
		return ""
	}
	return m.pinned.Target
}

func sweepCmd(r gates.Runner, o gates.Options, version string, t task, steps chan gates.Progress, judged chan gates.TargetDoc) tea.Cmd {
	return func() tea.Msg {
		defer t.cancel()
		defer close(judged)
		o.Tool = gates.ThisTool(version)
		o.Judged = func(d gates.TargetDoc) { judged <- d }
		doc, err := gates.Run(t.ctx, r, o, func(p gates.Progress) { latest(steps, p) })
		return sweptMsg{t.gen, doc, err}
	}
}

func listenSweep(gen int, steps <-chan gates.Progress, until context.Context) tea.Cmd {
	return func() tea.Msg {
		select {
		case p := <-steps:
			return sweepMsg{gen, p, steps, until}
		case <-until.Done():
			return nil
		}
	}
}

func listenJudged(gen int, judged <-chan gates.TargetDoc) tea.Cmd {
	return func() tea.Msg {
		d, ok := <-judged
		if !ok {
			return nil
		}
		return judgedMsg{gen, d, judged}
	}
}

func (m *Model) sweeping(msg sweepMsg) tea.Cmd {
	if msg.gen != m.task.gen || !m.task.active {
		return nil
	}
	m.sweep.now = msg.p
	m.task.last = debugkern.Progress{Phase: msg.p.Target + " " + msg.p.Gate, Detail: msg.p.Detail, Done: msg.p.Done, Total: msg.p.Total}
	m.showGates()
	return listenSweep(msg.gen, msg.from, msg.until)
}

func (m *Model) judged(msg judgedMsg) tea.Cmd {
	if m.sweep.docs == nil {
		m.sweep.docs = map[string]judgement{}
	}
	if msg.gen == m.sweep.gen {
		done := m.sweep.asked
		done.doc = &msg.target
		m.sweep.docs[msg.target.Target] = done
		m.sweep.again = slices.DeleteFunc(m.sweep.again, func(t string) bool { return t == msg.target.Target })
		m.showGates()
	}
	return listenJudged(msg.gen, msg.from)
}

func (m *Model) swept(msg sweptMsg) tea.Cmd {
	if msg.gen != m.sweep.gen {
		return nil
	}
	m.sweep.running = false
	if msg.gen == m.task.gen {
		m.task.stop()
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		m.sweep.note = fmt.Sprintf("cancelled at %d/%d", m.sweep.now.Done, m.sweep.now.Total)
		if m.opt.StateDir != "" {
			m.sweep.note += ", goes on from there"
		}
	case msg.err != nil:
		m.sweep.note = "not judged"
		m.complain(oneLine(msg.err))
	default:
		m.sweep.note = msg.doc.Verdict
		text := "gates: " + msg.doc.Verdict
		if msg.doc.Resumed > 0 {
			text += fmt.Sprintf(" · %d measurements from the sweep cancelled before", msg.doc.Resumed)
		}
		if m.opt.StateDir != "" {
			text += " · artefacts in " + filepath.Join(m.opt.StateDir, "gates")
		}
		m.say(text)
	}
	m.showGates()
	return m.seekConsent(msg.err, false)
}

// showGates gives the pane its rows.
func (m *Model) showGates() {
	d := gatespane.Data{Current: m.req.Target, Without: m.besideVariants(), Against: m.against(), Now: m.sweep.now, Running: m.sweep.running && m.task.active, Note: m.sweep.note}
	if man, _ := m.manifest(); man != nil {
		d.Kernel = man.Name
	}
	for _, t := range m.gateRows() {
		d.Rows = append(d.Rows, m.gateRow(t, d.Running))
	}
	m.pane.gates.SetData(d)
}

// gateRow is a variant's row. A document that was judged by something else than what would judge now, or that is being judged
// again, is of a previous run.
func (m *Model) gateRow(target string, running bool) gatespane.Row {
	j, now := m.sweep.docs[target], m.judgedBy()
	row := gatespane.Row{Target: target, Doc: j.doc}
	if j.doc != nil && (!same(j.by, now.by) || j.at != now.at || running && slices.Contains(m.sweep.again, target)) {
		of := j.by
		of.Target = target
		row.Previous = outcome.Heading(title(of))
		if j.at != now.at {
			row.Previous += ", before the source changed"
		}
	}
	return row
}

// besideVariants names what the request on screen has on top of a variant: the gates judge variants as they are declared.
func (m *Model) besideVariants() string {
	plain := debugkern.Request{Set: m.req.Set, Faults: m.req.Faults, Gate: m.req.Gate}
	return title(plain)
}

// openGate is Enter in the Gates view: the case under the cursor, or the variant, in Pipe.
func (m *Model) openGate() tea.Cmd {
	row := m.pane.gates.Selected()
	if row.Target == "" {
		m.say("no variant to open")
		return nil
	}
	req := m.nextRequest()
	req.Target, req.Set, req.Faults, req.Gate, req.Inject = row.Target, nil, nil, probes.GateNone, ""
	said := "target " + row.Target
	if c := m.pane.gates.Case(); c != nil {
		req.Shape, req.Seed = c.Shape, c.Seed
		if c.Shape == "" {
			req.Shape = c.Dims.String()
		}
		said += fmt.Sprintf(" · %s seed %d", c.Label(), c.Seed)
	}
	cmd := m.show(keymap.Pipe)
	return tea.Batch(cmd, m.choose(req, said))
}

// clickGates selects a row or a case; a second click opens it.
func (m *Model) clickGates(x, y int) tea.Cmd {
	row, at := m.pane.gates.Selected(), m.pane.gates.Case()
	part, ok := m.pane.gates.Hit(x, y)
	was := m.focused()
	m.focusOn(gateParts[part])
	if !ok || was != gateParts[part] {
		return nil
	}
	if m.pane.gates.Selected() == row && (part == gatespane.Table || at != nil && m.pane.gates.Case() == at) {
		return m.openGate()
	}
	return nil
}

// gateParts are the view's panes, as the pane counts them.
var gateParts = []part{gatespane.Table: partGates, gatespane.Numbers: partNumbers}
