package tui

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/flags"
	"tilescope/tui/pane/tile"
)

// bisecter is offered by engines that can bisect flags and faults.
type bisecter interface {
	Bisect(ctx context.Context, a, b debugkern.Request, until string, progress func(debugkern.Progress)) (*debugkern.Bisection, error)
}

var _ bisecter = (*debugkern.Session)(nil)

// pairing is a run laid over another. *debugkern.Pair is one.
type pairing interface {
	debugkern.Viewer
	debugkern.Crossed
	First(s probes.Stage) (debugkern.Cell, bool)
	Compare() (*debugkern.Comparison, error)
}

// newPair is how runs are paired, unless a test says otherwise.
func newPair(a, b *debugkern.Run) (pairing, error) { return debugkern.NewPair(a, b) }

// versus is what the Flags view knows of A against B.
type versus struct {
	bisection  *debugkern.Bisection
	comparison *debugkern.Comparison
	name       string // of A, in the comparison
	of         string // B's request in full
	after      int    // the run after whose end A and B are compared; 0 none
}

// bisectedMsg is a bisection that ended.
type bisectedMsg struct {
	gen int
	of  string // B's request in full
	doc *debugkern.Bisection
	err error
}

// pairedMsg is A run again and laid under the run on screen.
type pairedMsg struct {
	gen    int // the task's
	run    int // the run's it was laid under
	name   string
	pair   pairing
	doc    *debugkern.Comparison
	report *debugkern.Report // A's
	err    error
}

// ends are the pinned run's request and that of the run on screen, on the same problem: the one on screen's.
func (m *Model) ends() (a, b debugkern.Request, ok bool) {
	switch {
	case m.pinned == nil:
		m.say("no run is pinned: a pins this one, then switch something")
		return a, b, false
	case !m.movable():
		m.nothingYet()
		return a, b, false
	case m.job.active:
		m.say("a run is under way: Esc cancels it")
		return a, b, false
	}
	b = clone(m.run.request)
	a = requestOf(b, m.pinned)
	a.Shape, a.Seed, a.Gate, a.Inject = b.Shape, b.Seed, b.Gate, b.Inject
	return a, b, true
}

// kernelTitle names a request's kernel without the problem, which A and B share.
func kernelTitle(req debugkern.Request) string {
	return title(debugkern.Request{Target: req.Target, Set: req.Set, Faults: req.Faults})
}

// bisect looks for the smallest set of flags and faults between A and B that turns the verdict.
func (m *Model) bisect(string) tea.Cmd {
	a, b, ok := m.ends()
	if !ok {
		return nil
	}
	e, can := m.opt.Engine.(bisecter)
	if !can {
		m.complain("this engine cannot bisect")
		return nil
	}
	if !m.begin("the bisection") {
		return nil
	}
	m.say(fmt.Sprintf("bisecting A %s, B %s", title(a), title(b)))
	t := m.task
	return tea.Batch(func() tea.Msg {
		defer t.cancel()
		doc, err := e.Bisect(t.ctx, a, b, "", func(p debugkern.Progress) { latest(t.updates, p) })
		return bisectedMsg{t.gen, inFull(b), doc, err}
	}, t.listen())
}

func (m *Model) bisected(msg bisectedMsg) {
	if msg.gen != m.task.gen {
		return
	}
	m.task.stop()
	switch {
	case errors.Is(msg.err, context.Canceled):
		return
	case msg.err != nil:
		m.complain(oneLine(msg.err))
		return
	case msg.doc.Verdict == debugkern.Found:
		m.say(fmt.Sprintf("smallest set: %s · Enter runs the pair and compares it", debugkern.ChangesText(msg.doc.Minimal)))
	default:
		m.say("A and B have the same verdict: nothing to bisect")
	}
	m.versus.bisection, m.versus.comparison, m.versus.of = msg.doc, nil, msg.of
	m.refreshFlags()
	if m.view == keymap.Flags {
		m.focusOn(partAbout)
		m.pane.flags.ScrollTo(flags.Bisected)
	}
}

// compare runs A on B's problem and lays it under B, tile by tile.
func (m *Model) compare(string) tea.Cmd {
	a, _, ok := m.ends()
	if !ok {
		return nil
	}
	if m.run.run == nil {
		m.complain("the run on screen has no tiles to compare")
		return nil
	}
	if !m.begin("the comparison") {
		return nil
	}
	m.say("running A " + title(a) + " to lay it beside B")
	t, engine, b, pair, gen := m.task, m.opt.Engine, m.run.run, m.opt.pair, m.loaded.gen
	return tea.Batch(func() tea.Msg {
		defer t.cancel()
		msg := pairedMsg{gen: t.gen, run: gen, name: kernelTitle(a)}
		run, err := engine.Run(t.ctx, a, func(p debugkern.Progress) { latest(t.updates, p) })
		if err == nil {
			msg.report = run.Report
			msg.pair, err = pair(run, b)
		}
		if err == nil {
			msg.doc, err = msg.pair.Compare()
		}
		msg.err = err
		return msg
	}, t.listen())
}

func (m *Model) paired(msg pairedMsg) tea.Cmd {
	if msg.gen != m.task.gen {
		return nil
	}
	m.task.stop()
	switch {
	case errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		m.complain(oneLine(msg.err))
		return nil
	case msg.run != m.loaded.gen:
		m.say("the comparison was of an earlier run")
		return nil
	}
	m.versus.comparison, m.versus.name, m.versus.of = msg.doc, msg.name, inFull(m.run.request)
	m.a = &flags.Pinned{Name: msg.name, Report: msg.report}
	both := *m.run
	both.viewer, both.pair, both.against = msg.pair, msg.pair, msg.name
	m.run = &both
	m.loaded = tiles{gen: m.loaded.gen}
	m.set(func(s *tile.Settings) { s.Choice = tile.Crosswise })
	m.refreshFlags()
	if m.view == keymap.Flags {
		m.focusOn(partAbout)
		m.pane.flags.ScrollTo(flags.Compared)
	}
	m.say("A and B are equal to the bit")
	if msg.doc.Verdict != debugkern.Equal {
		m.say(fmt.Sprintf("A and B differ%s · Enter goes to the first differing cell", first(msg.doc)))
	}
	return m.loadTile()
}

func first(c *debugkern.Comparison) string {
	if c.First == "" {
		return ""
	}
	return " first in " + c.First
}

// openVersus is Enter beside the list of the Flags view: the first differing cell in Tile, or the bisection's pair.
func (m *Model) openVersus() tea.Cmd {
	v := &m.versus
	switch {
	case v.comparison != nil && m.run != nil && m.run.pair != nil:
		if v.comparison.First == "" {
			m.say("no cell differs")
			return nil
		}
		c, ok := m.run.pair.First(probes.Stage(v.comparison.First))
		if !ok {
			m.say("no cell that can be shown differs")
			return nil
		}
		return tea.Batch(m.show(keymap.Tile), m.goTo(c))
	case v.bisection != nil && v.bisection.Pair != nil:
		return m.runPair(v.bisection.Pair)
	}
	m.say("nothing to open: B bisects, C compares A with B")
	return nil
}

// runPair pins the bisection's one end as A, runs the other as B, and compares them once that has ended.
func (m *Model) runPair(p *debugkern.BisectPair) tea.Cmd {
	req := clone(m.run.request)
	a := setupOf(withSpec(req, p.From))
	m.pinned, m.a, m.repinned = &a, nil, true
	m.versus = versus{bisection: m.versus.bisection, of: m.versus.of}
	cmd := m.choose(withSpec(req, p.To), "A is "+title(withSpec(req, p.From))+"; comparing once B has run")
	if cmd != nil {
		m.versus.after = m.job.gen
	}
	return cmd
}

// withSpec is a request with a combination's target, flags and faults.
func withSpec(req debugkern.Request, t debugkern.TargetSpec) debugkern.Request {
	req.Target, req.Faults, req.Set = t.Target, append([]string{}, t.Faults...), map[string]string{}
	for name, value := range t.Set {
		req.Set[name] = fmt.Sprint(value)
	}
	return req
}

// alone takes A from under the run on screen.
func (m *Model) alone() {
	m.versus = versus{}
	if m.run != nil && m.run.pair != nil {
		one := *m.run
		one.viewer, one.pair, one.against = m.opt.viewer(one.run), nil, ""
		m.run = &one
		m.loaded = tiles{gen: m.loaded.gen}
	}
}
