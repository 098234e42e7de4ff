package tui

import (
	"context"
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
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

// subject is what a diagnosis of the request on screen is about. What a replay changed does not belong to it.
func (m *Model) subject() string { return subject(m.nextRequest()) }

// shownSubject names what the Races view's findings are of: a diagnosis' request, or the run on screen.
func (m *Model) shownSubject() string {
	if m.diagnosing() || m.run == nil {
		return title(m.req)
	}
	return title(m.run.request)
}

// diagnosing reports whether the Races view shows a diagnosis of the request on screen: one that is over, or what one has found
// so far.
func (m *Model) diagnosing() bool {
	return m.diagnosed() || m.race.of == m.subject() && (m.race.active || m.race.found != nil)
}

// showRaces gives the pane what is known: a diagnosis of what runs now, or the findings of the run.
func (m *Model) showRaces() {
	label := func(a keymap.Action) string { return m.keys.Label(a) }
	d := races.Data{Source: m.sourceOf}
	q := &m.race
	key := label(keymap.Diff)
	whole := m.outcome()
	switch {
	case m.diagnosed():
		d.Story, d.Findings, d.Causes, d.Barriers, d.Diagnosed = q.doc.Story, q.doc.Findings, q.doc.Causes, q.doc.Barriers, true
	case m.diagnosing():
		d.Findings, d.Causes = q.found, q.causes
		d.Hint = "The diagnosis is under way: findings stand below as they are found, causes when they are proven."
		if !q.active {
			d.Hint = "The diagnosis was cancelled; what it had found stands below. " + key + " starts it again."
		}
	case m.run == nil:
		d.Hint = "Nothing has run yet."
	default:
		d.Findings = whole.Report().Findings
		d.Hint = fmt.Sprintf("%s diagnoses: every checker, several schedules, causes with their proof. The run itself was watched for bad accesses, barriers and what was never written, not for races.", key)
	}
	if whole.Previous() { // causes are of the request on screen, and the run is not
		m.pane.pipe.SetCauses(nil, false)
	} else {
		m.pane.pipe.SetCauses(d.Causes, d.Diagnosed)
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
	of := m.shownSubject() + " "
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
