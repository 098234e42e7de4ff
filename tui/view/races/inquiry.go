package races

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/text"
	"tilescope/debugkern/walk"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// Investigator is what the view asks about a run. An engine may be one; a debugger's session is made one.
type Investigator interface {
	Diagnose(ctx context.Context, req debugkern.Request, o diagnose.Options) (*diagnose.Diagnosis, error)
	// Scene executes the finding's block again.
	Scene(ctx context.Context, run *debugkern.Run, req scene.Request) (*scene.Scene, error)
	// Hang executes a block again, under a schedule that may be "", and says why it cannot continue; nil
	// where it can.
	Hang(ctx context.Context, run *debugkern.Run, block probes.Dim3, schedule string) (*walk.Hang, error)
	// WhatIf applies virtually what would put a finding right, and words what came of it.
	WhatIf(ctx context.Context, run *debugkern.Run, f *report.Finding) ([]string, error)
	// Replay finds the schedule under which a race is replayed.
	Replay(ctx context.Context, run *debugkern.Run, f *report.Finding) (*diagnose.Replay, error)
	// WhatIfRight does the same for a cause that has no finding.
	WhatIfRight(ctx context.Context, run *debugkern.Run, c *diagnose.Cause) ([]string, error)
	// WhatIfWithout takes a synchronisation away instead.
	WhatIfWithout(ctx context.Context, run *debugkern.Run, b *diagnose.BarrierDoc) ([]string, error)
}

// session is the Investigator that a debugger's session is.
type session struct{ *debugkern.Session }

// Diagnose implements Investigator. A bug of ours ends the diagnosis, and not the terminal.
func (s session) Diagnose(
	ctx context.Context, req debugkern.Request, o diagnose.Options,
) (d *diagnose.Diagnosis, err error) {
	defer func() {
		if v := recover(); v != nil {
			d, err = nil, fmt.Errorf("a bug of ours ended the diagnosis: %v; please report it with what :command copies",
				v)
		}
	}()
	return diagnose.Diagnose(ctx, s.Session, req, o)
}

// Scene implements Investigator.
func (session) Scene(ctx context.Context, run *debugkern.Run, req scene.Request) (*scene.Scene,
	error) {
	return scene.Play(ctx, run, req)
}

// Hang implements Investigator.
func (session) Hang(ctx context.Context, run *debugkern.Run, block probes.Dim3, schedule string) (*walk.Hang,
	error) {
	a, err := run.Attempt(ctx, debugkern.Trial{Blocks: []probes.Dim3{block}, Schedule: schedule})
	if err != nil {
		return nil, err
	}
	w, err := a.Walk(block)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	line, err := w.(walk.Asynchronous).Record(ctx)
	if err != nil {
		return nil, err
	}
	return walk.HangOf(line), nil
}

// WhatIf implements Investigator.
func (session) WhatIf(ctx context.Context, run *debugkern.Run, f *report.Finding) ([]string, error) {
	a, err := diagnose.WhatIf(ctx, run, f)
	if err != nil {
		return nil, err
	}
	return a.Lines(), nil
}

// Replay implements Investigator.
func (session) Replay(ctx context.Context, run *debugkern.Run, f *report.Finding) (*diagnose.Replay, error) {
	return diagnose.FindReplay(ctx, run, f)
}

// WhatIfRight implements Investigator.
func (session) WhatIfRight(ctx context.Context, run *debugkern.Run, c *diagnose.Cause) ([]string, error) {
	a, err := diagnose.WhatIfRight(ctx, run, c)
	if err != nil {
		return nil, err
	}
	return a.Lines(), nil
}

// WhatIfWithout implements Investigator.
func (session) WhatIfWithout(ctx context.Context, run *debugkern.Run, b *diagnose.BarrierDoc) ([]string,
	error) {
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
	events *unread
	last   debugkern.Progress
	phases []debugkern.Progress // each phase's last progress, in the order in which they began
	began  time.Time
	ran    time.Duration // of it, as of the last second that passed

	of     topic
	doc    *diagnose.Diagnosis
	found  []report.Finding // so far
	causes []diagnose.Cause // so far
	shown  []report.Finding // what the pane lists

	replayed string // which race the replay is of, and what happens in it

	looks map[string]*Look // by finding
	look  struct {         // under way
		seq    int
		cancel context.CancelFunc
	}
	trying   bool
	tried    time.Time     // when it began
	triedFor time.Duration // as of the last second that passed
	stopIf   context.CancelFunc
}

func (q *inquiry) stop() {
	for _, c := range []context.CancelFunc{q.cancel, q.look.cancel, q.stopIf} {
		if c != nil {
			c()
		}
	}
	q.active, q.trying = false, false
}

// unread is what a diagnosis has reported and the program has not taken up yet: of each phase the last
// progress, in the order of the reports, and every finding and cause.
type unread struct {
	mu       sync.Mutex
	progress []debugkern.Progress
	findings []report.Finding
	causes   []diagnose.Cause
	wake     chan struct{}
}

func (t *unread) add(e diagnose.Event) {
	t.mu.Lock()
	if e.Progress != nil { // the next phase's must not hide that this one reached its end
		t.progress = slices.DeleteFunc(t.progress, func(x debugkern.Progress) bool {
			return x.Phase == e.Progress.Phase
		})
		t.progress = append(t.progress, *e.Progress)
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
	progressMsg struct {
		seq      int
		progress []debugkern.Progress // of each phase the last
		findings []report.Finding
		causes   []diagnose.Cause
	}
	diagnosedMsg struct {
		seq int
		doc *diagnose.Diagnosis
		err error
	}
	sanitizedMsg struct {
		seq int
		doc *diagnose.Diagnosis
	}
	sceneDueMsg struct{ seq int }
	sceneMsg    struct {
		seq   int
		key   string
		scene *scene.Scene
		hang  *walk.Hang
		err   error
	}
	triedMsg struct {
		seq  int
		key  string
		text []string
		err  error
	}
)

// topic is what a diagnosis is about: a request as titles name it, and of a file its whole launch, which no
// title has.
type topic struct{ title, launch string }

// subject is the topic of a request, whatever order of warps it asks for.
func subject(req debugkern.Request) topic {
	req.Schedule = ""
	out := topic{title: request.Title(req)}
	if req.Launch != nil {
		out.launch = text.JoinWords(req.Opening())
	}
	return out
}

// givenPTX is the PTX of a kernel that was given as such: it stands for sources that are not at hand.
func (v *Controller) givenPTX() (name string, text []string) {
	if v.Run == nil {
		return "", nil
	}
	man, _ := v.ManifestOf(v.Run.Request.Target)
	if man == nil {
		return "", nil
	}
	name = filepath.Base(man.SourcePath())
	if ext := filepath.Ext(name); ext != ".ptx" && ext != ".tsl" {
		return "", nil
	}
	return name, v.SourceOf(name)
}

// subject is what a diagnosis of the request on screen is about. What a replay changed does not belong to it.
func (v *Controller) subject() topic { return subject(v.NextRequest()) }

// shownSubject names what the Races view's findings are of: a diagnosis' request, or the run on screen.
func (v *Controller) shownSubject() string {
	if v.diagnosing() || v.Run == nil {
		return request.Title(v.Req)
	}
	return request.Title(v.Run.Request)
}

// diagnosing reports whether the Races view shows a diagnosis of the request on screen: one that is over, or
// what one has found so far.
func (v *Controller) diagnosing() bool {
	return v.diagnosed() || v.race.of == v.subject() && (v.race.active || v.race.found != nil)
}

// showRaces gives the pane what is known: a diagnosis of what runs now, or the findings of the run.
func (v *Controller) showRaces() {
	d := Data{Source: v.SourceOf, Patch: v.PatchOf, PTX: v.givenPTX}
	if v.Run != nil && v.Run.Plan != nil {
		d.Work = v.Run.Plan.Work
	}
	q := &v.race
	key := v.Keys.LabelIn(view.Races, keymap.Diagnose)
	whole := v.Outcome()
	switch {
	case v.diagnosed():
		d.Story, d.Findings, d.Causes, d.Barriers, d.Diagnosed = q.doc.Story, q.doc.Findings, q.doc.Causes,
			q.doc.Barriers, true
	case v.diagnosing():
		d.Findings, d.Causes, d.Running = q.found, q.causes, q.active
		ran := view.RanText(q.ran)
		d.Ran = ran
		if ran != "" {
			ran = " for " + ran
		}
		d.Hint = "The diagnosis is running" + ran +
			": findings are listed below as they are found, causes when they are proven."
		if !q.active {
			d.Hint = "The diagnosis was cancelled; what it had found is listed below. " + key +
				" starts it again."
		} else {
			d.Hint += v.phasesText()
		}
	case v.Run == nil:
		d.Hint = "Nothing has run yet."
	default:
		d.Findings, d.Pending = whole.Report().Findings, v.Job.Active
		d.Partly = v.Run.Request.Check != debugkern.EveryChecker
		checked := "Checked in this run: accesses outside of memory, barriers, reads of what was never written; " +
			"not checked: races, copies read too early, bank conflicts."
		if !d.Partly {
			checked = "Every checker watched this run."
		}
		if len(d.Findings) == 0 && d.Partly {
			checked = "\n" + v.checks()
		}
		d.Hint = fmt.Sprintf("%s diagnoses: every checker, several schedules, causes with their proof.\n%s", key,
			checked)
		if len(d.Findings) == 0 {
			d.Hint += "\n\nA finding is shown with its source lines, the cells of its variable, and the order of " +
				"warps around it." + v.known()
		}
	}
	if d.Diagnosed && v.Replaying() {
		d.Under = fmt.Sprintf("this text is of schedule %s; source, cells and order below are of the replay, "+
			"%s, for %s",
			request.Normal(v.NextRequest()).Schedule, v.Req.Schedule, v.race.replayed)
	}
	if whole.Previous() { // causes are of the request on screen, and the run is not
		v.causes, v.errors, v.over = nil, nil, false
	} else {
		v.causes, v.over = d.Causes, d.Diagnosed
		v.errors = slices.DeleteFunc(slices.Clone(d.Findings), isAdvice)
	}
	q.shown = d.Findings
	v.pane.SetData(d)
	v.Root.Announce(view.CausesFound{})
	v.showLook()
}

// progressed takes up how far a diagnosis has come.
func (q *inquiry) progressed(p debugkern.Progress) {
	q.last = p
	i := slices.IndexFunc(q.phases, func(x debugkern.Progress) bool { return x.Phase == p.Phase })
	if i < 0 {
		i = len(q.phases)
		q.phases = append(q.phases, p)
	}
	q.phases[i] = p
}

// phasesText lists the phases of a running diagnosis, "" before the first. The one under way is marked, and
// those that are complete; one that stopped before its end, as tries do that have found what they look for,
// has no tick.
func (v *Controller) phasesText() string {
	text := ""
	for _, p := range v.race.phases {
		if p.Phase == "" {
			continue
		}
		mark := v.Theme.Glyph.OK
		switch {
		case p.Phase == v.race.last.Phase:
			mark = v.Theme.Glyph.Pointer
		case p.Done < p.Total:
			mark = v.Theme.Glyph.Off
		}
		text += "\n" + mark + " " + strings.TrimPrefix(Under(p), "diagnosis: ")
	}
	if text != "" {
		text = "\n" + text
	}
	return text
}

// known is what the run on screen has shown, below a heading.
func (v *Controller) known() string {
	text := ""
	for i, f := range v.Known() {
		if i == 0 {
			text = "\n\nThis run:"
		}
		text += fmt.Sprintf("\n%-10s %s", f.Name, f.Text)
	}
	return text
}

// checks is the table of what is looked for in every run, and in a diagnosis.
func (v *Controller) checks() string {
	mark := map[bool]string{true: v.Theme.Glyph.OK, false: v.Theme.Glyph.Off}
	row := "%-34s%-12s%s"
	lines := []string{fmt.Sprintf(row, "looked for", "this run", "a diagnosis")}
	for _, c := range []struct {
		name string
		run  bool
	}{
		{"accesses outside of memory", true},
		{"barriers that not all reach", true},
		{"reads of what was never written", true},
		{"races", false},
		{"copies read too early", false},
		{"bank conflicts", false},
		{"what other orders of warps change", false},
		{"the cause, proven by experiments", false},
	} {
		lines = append(lines, fmt.Sprintf(row, c.name, mark[c.run], mark[true]))
	}
	return strings.Join(lines, "\n")
}

// selected is the finding under the cursor.
func (v *Controller) selected() *report.Finding {
	if i, ok := v.pane.Finding(); ok && i < len(v.race.shown) {
		return &v.race.shown[i]
	}
	return nil
}

// executed is the run that questions about findings are asked of; nil where none can be asked.
func (v *Controller) executed() *debugkern.Run {
	if v.diagnosed() && v.race.doc.Executed != nil {
		return v.race.doc.Executed
	}
	if v.Run != nil {
		return v.Run.Run
	}
	return nil
}

func (v *Controller) lookOf(key string) *Look {
	if v.race.looks == nil {
		v.race.looks = map[string]*Look{}
	}
	if v.race.looks[key] == nil {
		v.race.looks[key] = &Look{}
	}
	return v.race.looks[key]
}

// lookKey is the key of what the cursor is on: a finding, a cause without one, a synchronisation; "" for none
// of them.
func (v *Controller) lookKey() string {
	of := v.shownSubject() + " "
	if f := v.selected(); f != nil {
		return of + fmt.Sprint(f.Kind, f.Variable, f.Index, f.Block, f.KVTile, f.Warps, " ", f.Message)
	}
	if c := v.pane.Cause(); c != nil {
		return of + "cause " + c.Title
	}
	if b := v.pane.Barrier(); b != nil {
		return of + fmt.Sprint("synchronisation ", b.Source, b.Instr, v.Cursor.Block)
	}
	return ""
}

// showLook gives the pane what was looked up for what the cursor is on.
func (v *Controller) showLook() {
	key := v.lookKey()
	l := Look{}
	if key != "" {
		l = *v.lookOf(key)
	}
	v.pane.SetLook(l)
	v.Root.Focus(v.Focused()) // the parts on screen may be others
}

// askScene looks the finding under the cursor up once the cursor rests.
func (v *Controller) askScene() tea.Cmd {
	if v.race.look.cancel != nil {
		v.race.look.cancel()
	}
	v.race.look.seq++
	v.showLook()
	if v.Root.Showing() != view.Races || v.inquirer == nil || v.Job.Active || v.lookKey() == "" {
		return nil
	}
	l := v.lookOf(v.lookKey())
	if l.Scene != nil || l.Note != "" {
		return nil
	}
	_, ok := v.sceneWanted()
	switch {
	case !ok:
		l.Note, l.None = "no access of a variable is in question", v.selected() == nil
		if !l.None {
			l.Note = "the finding names no line of the source"
		}
	case v.executed() == nil:
		l.Note = "this run's blocks cannot be executed again"
	default:
		seq := v.race.look.seq
		return tea.Tick(v.Pace.Quiet, func(time.Time) tea.Msg { return sceneDueMsg{seq} })
	}
	v.showLook()
	return nil
}

// underCursor is the line that the Races view's cursor stands for, nil where it stands for none.
func (v *Controller) underCursor() *report.Source {
	if f := v.selected(); f != nil {
		return f.Source
	}
	if c := v.pane.Cause(); c != nil {
		return c.Place.Source
	}
	if b := v.pane.Barrier(); b != nil {
		return b.Source
	}
	return nil
}

// sceneWanted is what to look up for what the cursor is on: a finding's two sides, or what a synchronisation
// guards.
func (v *Controller) sceneWanted() (req scene.Request, ok bool) {
	if f := v.selected(); f != nil {
		return scene.Request{
			Block: f.Block, Variable: f.Variable, Index: f.Index, KVTile: f.KVTile,
			Sides: [2]*report.Source{f.Source, f.Other}, Warps: f.Warps, Schedule: v.Req.Schedule,
			Across: f.Across,
		}, f.Source != nil
	}
	if b := v.pane.Barrier(); b != nil && len(b.Variables) > 0 {
		return scene.Request{Block: v.Cursor.Block, Variable: b.Variables[0], KVTile: -1,
			Sides: [2]*report.Source{b.Source, nil}, Schedule: v.Req.Schedule}, true
	}
	return req, false
}

func (v *Controller) fetchScene() tea.Cmd {
	run := v.executed()
	req, ok := v.sceneWanted()
	if !ok || run == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(v.Ctx)
	v.race.look.cancel = cancel
	seq, key, who := v.race.seq, v.lookKey(), v.inquirer
	f := v.selected()
	hangs := f != nil && hanging(f.Kind)
	return func() tea.Msg {
		defer cancel()
		scene, err := who.Scene(ctx, run, req)
		msg := sceneMsg{seq: seq, key: key, scene: scene, err: err}
		if hangs && err == nil {
			msg.hang, msg.err = who.Hang(ctx, run, req.Block, req.Schedule)
		}
		return msg
	}
}
