package tui

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/races"
)

// investigator is what the Races view asks about a run.
type investigator interface {
	Diagnose(ctx context.Context, req debugkern.Request, o diagnose.Options) (*diagnose.Diagnosis, error)
	// Scene executes the finding's block again.
	Scene(ctx context.Context, run *debugkern.Run, req debugkern.SceneRequest) (*debugkern.Scene, error)
	// WhatIf applies virtually what would put a finding right, and words what came of it.
	WhatIf(ctx context.Context, run *debugkern.Run, f *debugkern.FindingDoc) ([]string, error)
	// WhatIfRight does the same for a cause that no finding told.
	WhatIfRight(ctx context.Context, run *debugkern.Run, c *diagnose.Cause) ([]string, error)
	// WhatIfWithout takes a synchronisation away instead.
	WhatIfWithout(ctx context.Context, run *debugkern.Run, b *diagnose.BarrierDoc) ([]string, error)
}

// session is the investigator that a debugger's session is.
type session struct{ *debugkern.Session }

// Diagnose implements investigator.
func (s session) Diagnose(ctx context.Context, req debugkern.Request, o diagnose.Options) (*diagnose.Diagnosis, error) {
	return diagnose.Diagnose(ctx, s.Session, req, o)
}

// Scene implements investigator.
func (session) Scene(ctx context.Context, run *debugkern.Run, req debugkern.SceneRequest) (*debugkern.Scene, error) {
	return run.Scene(ctx, req)
}

// WhatIf implements investigator.
func (session) WhatIf(ctx context.Context, run *debugkern.Run, f *debugkern.FindingDoc) ([]string, error) {
	a, err := diagnose.WhatIf(ctx, run, f)
	if err != nil {
		return nil, err
	}
	return a.Lines(), nil
}

// WhatIfRight implements investigator.
func (session) WhatIfRight(ctx context.Context, run *debugkern.Run, c *diagnose.Cause) ([]string, error) {
	a, err := diagnose.WhatIfRight(ctx, run, c)
	if err != nil {
		return nil, err
	}
	return a.Lines(), nil
}

// WhatIfWithout implements investigator.
func (session) WhatIfWithout(ctx context.Context, run *debugkern.Run, b *diagnose.BarrierDoc) ([]string, error) {
	a, err := diagnose.WhatIfWithout(ctx, run, b)
	if err != nil {
		return nil, err
	}
	return a.Lines(), nil
}

// inquiry is the diagnosis on screen, or under way. A new one supersedes it.
type inquiry struct {
	seq    int
	active bool
	ctx    context.Context
	cancel context.CancelFunc
	told   *told
	last   debugkern.Progress

	of     string // the request it is about
	doc    *diagnose.Diagnosis
	found  []debugkern.FindingDoc // so far
	causes []diagnose.Cause       // so far
	shown  []debugkern.FindingDoc // what the pane lists

	looks map[string]*races.Look // by finding
	look  struct {               // under way
		seq    int
		cancel context.CancelFunc
	}
	trying bool
	stopIf context.CancelFunc
}

func (q *inquiry) stop() {
	for _, c := range []context.CancelFunc{q.cancel, q.look.cancel, q.stopIf} {
		if c != nil {
			c()
		}
	}
	q.active, q.trying = false, false
}

// told is what a diagnosis has said and nobody has read: progress in place of older progress, findings and causes one and all.
type told struct {
	mu       sync.Mutex
	progress debugkern.Progress
	findings []debugkern.FindingDoc
	causes   []diagnose.Cause
	wake     chan struct{}
}

func (t *told) tell(e diagnose.Event) {
	t.mu.Lock()
	if e.Progress != nil {
		t.progress = *e.Progress
	}
	if e.Finding != nil {
		t.findings = append(t.findings, *e.Finding)
	}
	if e.Cause != nil {
		t.causes = append(t.causes, *e.Cause)
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default: // somebody is awake already
	}
}

// Past-tense messages of the Races view.
type (
	toldMsg struct {
		seq      int
		progress debugkern.Progress
		findings []debugkern.FindingDoc
		causes   []diagnose.Cause
	}
	diagnosedMsg struct {
		seq int
		doc *diagnose.Diagnosis
		err error
	}
	sceneDueMsg struct{ seq int }
	sceneMsg    struct {
		seq   int
		key   string
		scene *debugkern.Scene
		err   error
	}
	triedMsg struct {
		seq  int
		key  string
		text []string
		err  error
	}
)

// subject is what a diagnosis is about: the request, whatever order of warps it asks for.
func subject(req debugkern.Request) string {
	req.Schedule = ""
	return title(req)
}

// diagnosed reports whether the diagnosis on screen is of what runs now.
func (m *Model) diagnosed() bool { return m.race.doc != nil && m.race.of == subject(m.req) }

// diagnose starts a diagnosis of the request on screen.
func (m *Model) diagnose() tea.Cmd {
	if m.opt.races == nil {
		m.say("this program cannot diagnose")
		return nil
	}
	m.race.stop()
	ctx, cancel := context.WithCancel(m.ctx)
	m.race = inquiry{
		seq: m.race.seq + 1, active: true, ctx: ctx, cancel: cancel, told: &told{wake: make(chan struct{}, 1)}, of: subject(m.req), looks: map[string]*races.Look{},
	}
	m.say("diagnosing " + m.race.of)
	m.showRaces()
	req, seq, t, who := clone(m.req), m.race.seq, m.race.told, m.opt.races
	req.Schedule = ""
	if m.run != nil && m.run.plan == nil && m.onGPU() {
		req.Backend = "emu" // the GPU could not run it; the emulator may show where
	}
	run := func() tea.Msg {
		defer cancel()
		doc, err := who.Diagnose(ctx, req, diagnose.Options{Tell: t.tell})
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return diagnosedMsg{seq, doc, err}
	}
	return tea.Batch(run, hear(ctx, t, seq))
}

// hear waits until a diagnosis says something, or ends.
func hear(ctx context.Context, t *told, seq int) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		return toldMsg{seq, t.progress, slices.Clone(t.findings), slices.Clone(t.causes)}
	}
}

// raceMsg takes up what was found out.
func (m *Model) raceMsg(msg tea.Msg) tea.Cmd {
	q := &m.race
	switch msg := msg.(type) {
	case toldMsg:
		if msg.seq != q.seq || !q.active {
			return nil
		}
		q.last, q.found, q.causes = msg.progress, msg.findings, msg.causes
		m.showRaces()
		return tea.Batch(hear(q.ctx, q.told, q.seq), m.askScene())
	case diagnosedMsg:
		return m.diagnosisEnded(msg)
	case sceneDueMsg:
		if msg.seq == q.look.seq {
			return m.fetchScene()
		}
	case sceneMsg:
		if msg.seq == q.seq && !errors.Is(msg.err, context.Canceled) {
			l := m.lookOf(msg.key)
			if l.Scene = msg.scene; msg.err != nil {
				l.Note = oneLine(msg.err)
			}
			m.showLook()
		}
	case triedMsg:
		if msg.seq != q.seq {
			return nil
		}
		q.trying = false
		if errors.Is(msg.err, context.Canceled) {
			return nil
		}
		l := m.lookOf(msg.key)
		if l.Tried = msg.text; msg.err != nil {
			l.Tried = []string{oneLine(msg.err)}
		}
		m.say("what if: " + strings.Join(l.Tried, "; "))
		m.showLook()
	}
	return nil
}

func (m *Model) diagnosisEnded(msg diagnosedMsg) tea.Cmd {
	q := &m.race
	if msg.seq != q.seq {
		return nil
	}
	q.stop()
	switch {
	case errors.Is(msg.err, context.Canceled):
		m.say("diagnosis cancelled")
	case msg.err != nil:
		m.complain(oneLine(msg.err))
	default:
		q.doc = msg.doc
		if len(msg.doc.Story) > 0 {
			m.say(msg.doc.Story[0])
		}
	}
	m.showRaces()
	return m.askScene()
}

// cancelRace ends a diagnosis or a what-if under way, and reports whether there was one.
func (m *Model) cancelRace() bool {
	switch {
	case m.race.active:
		m.race.stop()
		m.race.seq++
		m.say("diagnosis cancelled; what it found stays")
	case m.race.trying:
		m.race.stopIf()
		m.race.trying = false
		m.say("what-if cancelled")
	default:
		return false
	}
	m.showRaces()
	return true
}

// showRaces gives the pane what is known: a diagnosis of what runs now, or the findings of the run.
func (m *Model) showRaces() {
	label := func(a keymap.Action) string { return m.keys.Label(a) }
	d := races.Data{Source: m.sourceOf}
	q := &m.race
	key := label(keymap.Diff)
	switch {
	case m.diagnosed():
		d.Story, d.Findings, d.Causes, d.Barriers, d.Diagnosed = q.doc.Story, q.doc.Findings, q.doc.Causes, q.doc.Barriers, true
	case q.of == subject(m.req) && (q.active || q.found != nil):
		d.Findings, d.Causes = q.found, q.causes
		d.Hint = "The diagnosis is under way: findings stand below as they are found, causes when they are proven."
		if !q.active {
			d.Hint = "The diagnosis was cancelled; what it had found stands below. " + key + " starts it again."
		}
	case m.run == nil || m.run.report == nil:
		d.Hint = "Nothing has run yet."
	case m.run.plan == nil && m.onGPU():
		d.Hint = fmt.Sprintf("%s. %s diagnoses on the emulator, which can show where.", failureText(m.run.report), key)
	case m.run.plan == nil:
		d.Hint = failureText(m.run.report)
	default:
		d.Findings = m.run.report.Findings
		d.Hint = fmt.Sprintf("%s diagnoses: every checker, several schedules, causes with their proof. The run itself was watched for bad accesses, barriers and what was never written, not for races.", key)
	}
	q.shown = d.Findings
	m.pane.races.SetData(d)
	m.showLook()
}

// selected is the finding under the cursor.
func (m *Model) selected() *debugkern.FindingDoc {
	if i, ok := m.pane.races.Finding(); ok && i < len(m.race.shown) {
		return &m.race.shown[i]
	}
	return nil
}

// executed is the run that questions about findings are asked of; nil where none can be asked.
func (m *Model) executed() *debugkern.Run {
	if m.diagnosed() && m.race.doc.Run != nil {
		return m.race.doc.Run
	}
	if m.run != nil {
		return m.run.run
	}
	return nil
}

func (m *Model) lookOf(key string) *races.Look {
	if m.race.looks == nil {
		m.race.looks = map[string]*races.Look{}
	}
	if m.race.looks[key] == nil {
		m.race.looks[key] = &races.Look{}
	}
	return m.race.looks[key]
}

// lookKey is the key of what the cursor is on: a finding, a cause without one, a synchronisation; "" for none of them.
func (m *Model) lookKey() string {
	of := title(m.req) + " "
	if f := m.selected(); f != nil {
		return of + fmt.Sprint(f.Kind, f.Variable, f.Index, f.Block, f.KVTile, f.Warps, " ", f.Message)
	}
	if c := m.pane.races.Cause(); c != nil {
		return of + "cause " + c.Title
	}
	if b := m.pane.races.Barrier(); b != nil {
		return of + fmt.Sprint("synchronisation ", b.Source, b.Instr, m.cursor.Block)
	}
	return ""
}

// showLook gives the pane what was looked up for what the cursor is on.
func (m *Model) showLook() {
	key := m.lookKey()
	if key == "" {
		m.pane.races.SetLook(races.Look{})
		return
	}
	m.pane.races.SetLook(*m.lookOf(key))
}

// askScene looks the finding under the cursor up once the cursor rests.
func (m *Model) askScene() tea.Cmd {
	if m.race.look.cancel != nil {
		m.race.look.cancel()
	}
	m.race.look.seq++
	m.showLook()
	if m.view != keymap.Races || m.opt.races == nil || m.job.active || m.lookKey() == "" {
		return nil
	}
	l := m.lookOf(m.lookKey())
	if l.Scene != nil || l.Note != "" {
		return nil
	}
	_, ok := m.sceneWanted()
	switch {
	case !ok:
		l.Note = "it names no line of the source"
	case m.executed() == nil:
		l.Note = "this run's blocks cannot be executed again"
	default:
		seq := m.race.look.seq
		return tea.Tick(m.opt.quiet, func(time.Time) tea.Msg { return sceneDueMsg{seq} })
	}
	m.showLook()
	return nil
}

// underCursor is the line that the Races view's cursor stands for, nil where it stands for none.
func (m *Model) underCursor() *debugkern.SourceDoc {
	if f := m.selected(); f != nil {
		return f.Source
	}
	if c := m.pane.races.Cause(); c != nil {
		return c.Place.Source
	}
	if b := m.pane.races.Barrier(); b != nil {
		return b.Source
	}
	return nil
}

// sceneWanted is what to look up for what the cursor is on: a finding's two sides, or what a synchronisation guards.
func (m *Model) sceneWanted() (req debugkern.SceneRequest, ok bool) {
	if f := m.selected(); f != nil {
		return debugkern.SceneRequest{
			Block: f.Block, Variable: f.Variable, Index: f.Index, KVTile: f.KVTile, Sides: [2]*debugkern.SourceDoc{f.Source, f.Other}, Warps: f.Warps, Schedule: m.req.Schedule,
		}, f.Source != nil
	}
	if b := m.pane.races.Barrier(); b != nil && len(b.Variables) > 0 {
		return debugkern.SceneRequest{Block: m.cursor.Block, Variable: b.Variables[0], KVTile: -1, Sides: [2]*debugkern.SourceDoc{b.Source, nil}, Schedule: m.req.Schedule}, true
	}
	return req, false
}

func (m *Model) fetchScene() tea.Cmd {
	run := m.executed()
	req, ok := m.sceneWanted()
	if !ok || run == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.race.look.cancel = cancel
	seq, key, who := m.race.seq, m.lookKey(), m.opt.races
	return func() tea.Msg {
		defer cancel()
		scene, err := who.Scene(ctx, run, req)
		return sceneMsg{seq, key, scene, err}
	}
}

// racing is what keys do in the Races view where that is something else than in others.
func racing() map[keymap.Action]handler {
	return map[keymap.Action]handler{
		keymap.Open:    func(m *Model, _ string) tea.Cmd { return m.openFinding() },
		keymap.Diff:    func(m *Model, _ string) tea.Cmd { return m.diagnose() },
		keymap.BoundUp: func(m *Model, _ string) tea.Cmd { return m.findingTile() },
		keymap.NextBad: func(m *Model, _ string) tea.Cmd { return m.nextFinding(1) },
		keymap.PrevBad: func(m *Model, _ string) tea.Cmd { return m.nextFinding(-1) },
		keymap.Toggle:  func(m *Model, _ string) tea.Cmd { return m.foldAdvice() },
		keymap.WhatIf:  func(m *Model, _ string) tea.Cmd { return m.whatIf() },
		keymap.Replay:  func(m *Model, _ string) tea.Cmd { return m.replay() },
	}
}

// moveRaces moves the cursor of the list, or scrolls another part.
func (m *Model) moveRaces(part, n int) tea.Cmd {
	if part != races.List {
		return m.scrolled(m.pane.races.Scroll(part, n))
	}
	if !m.pane.races.Move(n) {
		return m.scrolled(false)
	}
	return m.askScene()
}

func (m *Model) nextFinding(dir int) tea.Cmd {
	if !m.pane.races.Next(dir) {
		m.say("no other finding")
		return nil
	}
	return m.askScene()
}

func (m *Model) foldAdvice() tea.Cmd {
	what, open, ok := m.pane.races.Fold()
	switch {
	case !ok:
		m.say("there is no " + what)
	case open:
		m.say(what + " unfolded")
	default:
		m.say(what + " folded")
	}
	return m.askScene()
}

// openFinding is Enter: the line in the Source view, at the moment of the conflict where that is known, or what is folded.
func (m *Model) openFinding() tea.Cmd {
	if m.pane.races.OnFold() {
		return m.foldAdvice()
	}
	block, kv, at := m.cursor.Block, -1, m.underCursor()
	if f := m.selected(); f != nil {
		block, kv = f.Block, f.KVTile
		if sc := m.lookOf(m.lookKey()).Scene; sc != nil && sc.Pair[0] >= 0 && m.run != nil && m.run.viewer != nil && slices.Contains(m.run.viewer.Blocks(), block) {
			return m.openConflict(sc)
		}
	} else if c := m.pane.races.Cause(); c != nil {
		block, kv = c.Place.Block, c.Place.KVTile
	}
	if at == nil {
		m.say("no finding to open here")
		return nil
	}
	return m.goToLine(at.File, at.Line, block, kv)
}

// openConflict steps the block to the earlier side of a conflict, in front of its access.
func (m *Model) openConflict(sc *debugkern.Scene) tea.Cmd {
	a := sc.Accesses[min(sc.Pair[0], sc.Pair[1])]
	b := sc.Accesses[max(sc.Pair[0], sc.Pair[1])]
	c := m.cursor
	c.Block, c.KVTile = sc.Request.Block, max(0, a.KVTile)
	m.past.push(m.cursor)
	m.cursor = m.run.nearest(c)
	if sc.Writers != nil {
		m.walk.array, m.walk.row, m.walk.col = sc.Request.Variable, 0, 0
		if index := sc.Request.Index; len(index) > 0 {
			m.walk.row = index[0]
			if len(index) > 1 {
				m.walk.col = index[1]
			}
		}
	}
	said := fmt.Sprintf("in front of the conflict on %s: warp %d here, warp %d at step %d", sc.Request.Variable, a.Warp, b.Warp, b.Step)
	return m.inSource("going to the conflict", func(ctx context.Context, w debugkern.Walk) (answer, error) {
		if _, err := w.Seek(ctx, a.Step); err != nil {
			return answer{lane: -1}, err
		}
		w.SetWarp(a.Warp)
		return answer{said: said, lane: bits.TrailingZeros32(a.Lanes)}, nil
	})
}

// findingTile opens the Tile view where the finding, or its cause, shows.
func (m *Model) findingTile() tea.Cmd {
	if m.run == nil || m.run.plan == nil {
		return m.nothingYet()
	}
	c := m.cursor
	f, cause := m.selected(), m.pane.races.Cause()
	if f == nil && cause == nil {
		m.say("no finding here")
		return nil
	}
	known := false
	if cause != nil {
		if s, ok := probes.ParseStage(cause.Stage); ok {
			c.Stage, known = s, true
		}
		c.Block, c.KVTile = cause.Place.Block, max(0, cause.Place.KVTile)
		if cause.Place.Row >= 0 {
			c.Row, c.Col = cause.Place.Row, max(0, cause.Place.Col)
		}
	}
	if f != nil {
		c.Block, c.KVTile = f.Block, max(0, f.KVTile)
		if s, ok := m.stageOf(f.Variable); ok {
			c.Stage, known = s, true
			switch len(f.Index) {
			case 1:
				c.Row, c.Col = f.Index[0], 0
			case 2:
				c.Row, c.Col = f.Index[0], f.Index[1]
			}
		}
	}
	cmd := tea.Batch(m.goTo(c), m.show(keymap.Tile))
	if !known {
		m.say("the finding belongs to no stage's tile: its block and kv tile are shown")
	}
	return cmd
}

// stageOf is the stage whose tile lies in a shared array: as the manifest says, else by the array's name.
func (m *Model) stageOf(variable string) (probes.Stage, bool) {
	for i := range m.run.plan.Stages {
		if sp := &m.run.plan.Stages[i]; variable != "" && sp.Capture.Shared == variable {
			return sp.Stage, true
		}
	}
	name := strings.TrimSuffix(strings.TrimPrefix(variable, "s"), "_smem")
	if s, ok := probes.ParseStage(name); ok && m.run.plan.Stage(s) != nil {
		return s, true
	}
	return 0, false
}

// whatIf tries, virtually, what would put the finding right.
func (m *Model) whatIf() tea.Cmd {
	f, cause, barrier, run := m.selected(), m.pane.races.Cause(), m.pane.races.Barrier(), m.executed()
	switch {
	case f == nil && cause == nil && barrier == nil:
		m.say("no finding here to put right")
		return nil
	case run == nil || m.opt.races == nil:
		m.say("this run's blocks cannot be executed again")
		return nil
	}
	if m.race.stopIf != nil {
		m.race.stopIf()
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.race.trying, m.race.stopIf = true, cancel
	seq, key, who := m.race.seq, m.lookKey(), m.opt.races
	m.say(map[bool]string{true: "taking it away", false: "trying what would put it right"}[barrier != nil])
	return func() tea.Msg {
		defer cancel()
		var text []string
		var err error
		switch {
		case f != nil:
			text, err = who.WhatIf(ctx, run, f)
		case cause != nil:
			text, err = who.WhatIfRight(ctx, run, cause)
		default:
			text, err = who.WhatIfWithout(ctx, run, barrier)
		}
		return triedMsg{seq, key, text, err}
	}
}

// replay runs again under the schedule that changes most.
func (m *Model) replay() tea.Cmd {
	if !m.diagnosed() {
		m.say(fmt.Sprintf("schedules are explored by a diagnosis: %s starts it", m.keys.Label(keymap.Diff)))
		return nil
	}
	worst, tried := m.worst()
	if worst == "" {
		m.say(fmt.Sprintf("no schedule of %d changed the output: nothing to replay", tried))
		return nil
	}
	req := clone(m.req)
	req.Schedule, req.Backend = worst, "emu"
	return m.choose(req, "replaying schedule "+worst)
}

// worst is the schedule that changes most for the finding under the cursor, else for any.
func (m *Model) worst() (schedule string, tried int) {
	at, ok := m.pane.races.Finding()
	most := -1.0
	for _, s := range m.race.doc.Schedules {
		tried = max(tried, s.Tried)
		if s.Worst == "" {
			continue
		}
		if ok && s.Finding == at {
			return s.Worst, tried
		}
		if v := float64(s.MaxAbs); v > most || schedule == "" {
			schedule, most = s.Worst, v
		}
	}
	return schedule, tried
}
