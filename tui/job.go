package tui

import (
	"context"
	"errors"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/probes"
	"tilescope/tui/pane/pipe"
)

// job is the run in the background. A new one supersedes it: its context is cancelled and its messages, which carry its
// generation, are dropped.
type job struct {
	gen     int
	active  bool
	ctx     context.Context
	cancel  context.CancelFunc
	updates chan debugkern.Progress
	last    debugkern.Progress
	task    bool // it is the task's, not the run's
}

// begin makes it the next job.
func (j *job) begin(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	*j = job{gen: j.gen + 1, active: true, ctx: ctx, cancel: cancel, updates: make(chan debugkern.Progress, 1), task: j.task}
}

func (j *job) stop() {
	if j.cancel != nil {
		j.cancel()
	}
	j.active = false
}

// progressMsg tells how far a run, or a task, has come.
type progressMsg struct {
	gen  int
	p    debugkern.Progress
	task bool
}

// ranMsg is a run that ended: well, failed (then err says why), or cancelled.
type ranMsg struct {
	gen  int
	run  *shown
	err  error
	stop bool // cancelled
}

// start runs a request in the background in place of whatever runs now.
func (m *Model) start(req debugkern.Request) tea.Cmd {
	m.job.stop()
	m.ahead.stop()
	m.req = req
	m.fail, m.replaying = nil, replay{}
	m.job.begin(m.ctx)
	if m.run == nil {
		m.showRun()
	}
	m.requestChanged()
	return tea.Batch(runCmd(m.opt, m.job, clone(req)), m.job.listen(), m.changed())
}

// clone copies what a request shares with the model.
func clone(req debugkern.Request) debugkern.Request {
	req.Set = maps.Clone(req.Set)
	req.Faults = slices.Clone(req.Faults)
	return req
}

// runCmd executes and gathers what the first frame of the result needs.
func runCmd(o Options, j job, req debugkern.Request) tea.Cmd {
	return func() tea.Msg {
		defer j.cancel()
		ctx := j.ctx
		run, err := o.Engine.Run(ctx, req, func(p debugkern.Progress) { latest(j.updates, p) })
		if ctx.Err() != nil {
			return ranMsg{gen: j.gen, err: ctx.Err(), stop: true}
		}
		s := &shown{name: title(req), request: req}
		var failed *debugkern.Error
		if errors.As(err, &failed) {
			s.code = failed.Code
		}
		switch {
		case failed != nil && failed.Report != nil:
			s.report = failed.Report
			s.text = gatherText(ctx, o, req, s.report)
			return ranMsg{gen: j.gen, run: s, err: err}
		case err != nil: // it did not come so far that the engine writes a document
			s.report = &debugkern.Report{Target: req.Target, Verdict: debugkern.Failed, Error: &debugkern.ErrorDoc{Message: err.Error()}}
			return ranMsg{gen: j.gen, run: s, err: err}
		}
		s.run, s.report, s.plan, s.viewer = run, run.Report, run.Plan, o.viewer(run)
		s.summary = pipe.Summarise(ctx, s.viewer, s.plan)
		return ranMsg{gen: j.gen, run: s}
	}
}

// latest puts p into a channel of one, in place of what nobody has read yet.
func latest[T any](ch chan T, p T) {
	for {
		select {
		case ch <- p:
			return
		default:
		}
		select {
		case <-ch:
		default:
		}
	}
}

// listen waits for the job's next progress, or its end.
func (j job) listen() tea.Cmd {
	return func() tea.Msg {
		select {
		case p := <-j.updates:
			return progressMsg{j.gen, p, j.task}
		case <-j.ctx.Done():
			return nil
		}
	}
}

func (m *Model) progressed(msg progressMsg) tea.Cmd {
	j := &m.job
	if msg.task {
		j = &m.task.job
	}
	if msg.gen != j.gen || !j.active {
		return nil
	}
	j.last = msg.p
	return j.listen()
}

// ran shows a run that ended, unless another was asked for since.
func (m *Model) ran(msg ranMsg) tea.Cmd {
	if msg.gen != m.job.gen {
		return nil
	}
	m.job.stop()
	switch {
	case msg.stop:
		m.say("cancelled; x runs again")
		return nil
	case msg.err != nil:
		return m.failed(msg)
	}
	m.run, m.fail = msg.run, nil
	m.versus.comparison = nil
	m.loaded = tiles{gen: msg.gen}
	m.who.reset()
	m.walk.drop()
	m.place()
	m.showRun()
	cmd := tea.Batch(m.reportTrouble(), m.moved(), m.loadFragments(), m.changed(), m.repin(), m.watchGPU(), m.watchSource(), m.askScene(), m.aimAhead())
	if m.versus.after == msg.gen {
		return tea.Batch(cmd, m.compare(""))
	}
	return cmd
}

// failed shows why a request has no run. The run before stays, dimmed and headed, where the failure leaves it room.
func (m *Model) failed(msg ranMsg) tea.Cmd {
	m.fail = msg.run
	m.versus.after = 0
	m.showRun()
	m.status = status{text: firstLine(msg.err.Error()), bad: true, cut: true}
	return tea.Batch(m.watchGPU(), m.watchSource(), m.seekConsent(msg.err, false))
}

// reportTrouble shows the engine's warning once: a cache that cannot be written to, a compiler that is not
// trusted.
func (m *Model) reportTrouble() tea.Cmd {
	engine, ok := m.opt.Engine.(interface{ Trouble() error })
	if !ok || m.troubled {
		return nil
	}
	err := engine.Trouble()
	if err == nil {
		return nil
	}
	m.troubled = true
	m.complain(firstLine(err.Error()))
	return m.seekConsent(err, false)
}

// place puts the cursor where the run asks for it: on its first bad cell, or as near as possible to where it was.
func (m *Model) place() {
	kept := m.restored
	m.restored, m.fresh = false, false
	if c, ok := m.run.firstBad(); ok && !kept {
		if c != m.cursor {
			m.past.push(m.cursor)
		}
		m.cursor, m.fresh = c, true
	}
	m.cursor = m.run.nearest(m.cursor)
}

// firstBad is the first bad cell of the first guilty stage.
func (s *shown) firstBad() (debugkern.Cell, bool) {
	for _, g := range s.report.Guilty {
		if c, ok := s.badOf(g.Stage); ok {
			return c, true
		}
	}
	return debugkern.Cell{}, false
}

// badOf is the first bad cell that the report names for a stage.
func (s *shown) badOf(stage string) (debugkern.Cell, bool) {
	d := s.report.Stage(stage)
	if d == nil || d.FirstBad == nil {
		return debugkern.Cell{}, false
	}
	b := d.FirstBad
	return s.nearest(debugkern.Cell{Place: debugkern.Place{Stage: probes.Stage(stage), Block: b.Block, KVTile: b.KVTile}, Row: b.Row, Col: b.Col}), true
}

// nearest is the cell of this run closest to c: its stage if the kernel has it, its block if it was captured, and so on.
func (s *shown) nearest(c debugkern.Cell) debugkern.Cell {
	if s.plan == nil || len(s.plan.Stages) == 0 {
		return c
	}
	sp := s.plan.Stage(c.Stage)
	if sp == nil {
		sp = &s.plan.Stages[0]
		c.Stage = sp.Stage
	}
	blocks := s.viewer.Blocks()
	if len(blocks) > 0 && !slices.Contains(blocks, c.Block) {
		c.Block = blocks[0]
	}
	lo, n := s.viewer.Tiles(c.Block)
	c.KVTile = max(lo, min(c.KVTile, lo+n-1))
	c.Row = max(0, min(c.Row, sp.Rows-1))
	c.Col = max(0, min(c.Col, sp.Cols-1))
	return c
}
