package races

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/tui/keymap"
	"tilescope/tui/view"
)

// diagnosed reports whether the diagnosis on screen is of what runs now.
func (v *Controller) diagnosed() bool { return v.race.doc != nil && v.race.of == v.subject() }

// Diagnosis is the diagnosis of the request on screen, nil where there is none that has ended.
func (v *Controller) Diagnosis() *diagnose.Diagnosis {
	if !v.diagnosed() || v.race.active {
		return nil
	}
	return v.race.doc
}

// UnderWay returns the outcome of the diagnosis that runs for the request on screen: whether it has ended,
// and what it has found, nil where it was cancelled, failed or gave way to another one. It is nil where none
// runs.
func (v *Controller) UnderWay() func() (d *diagnose.Diagnosis, ended bool) {
	if !v.race.active || v.race.of != v.subject() {
		return nil
	}
	seq := v.race.seq
	return func() (*diagnose.Diagnosis, bool) {
		if v.race.seq != seq {
			return nil, true
		}
		return v.race.doc, !v.race.active
	}
}

// Diagnose shows the view with the diagnosis of the request on screen, and starts one where there is none.
func (v *Controller) Diagnose() tea.Cmd {
	shown := v.Root.Open(view.Races)
	if v.race.of == v.subject() && (v.race.active || v.race.doc != nil) {
		return shown
	}
	return tea.Batch(shown, v.diagnose())
}

// Diagnoser returns what diagnoses a request, nil where the engine cannot.
func (v *Controller) Diagnoser() func(context.Context, debugkern.Request,
	diagnose.Options) (*diagnose.Diagnosis,
	error) {
	if v.inquirer == nil {
		return nil
	}
	return v.inquirer.Diagnose
}

// diagnose starts a diagnosis of the request on screen.
func (v *Controller) diagnose() tea.Cmd {
	if v.inquirer == nil {
		v.Say("this program cannot diagnose")
		return nil
	}
	if v.NotOpen() {
		return nil
	}
	if v.race.active && v.race.of == v.subject() {
		v.Say("this diagnosis is running: " + v.Keys.Label(keymap.Cancel) + " cancels it")
		return nil
	}
	v.race.stop()
	ctx, cancel := context.WithCancel(v.Ctx)
	v.race = inquiry{
		seq: v.race.seq + 1, active: true, ctx: ctx, cancel: cancel,
		events: &unread{wake: make(chan struct{}, 1)}, began: v.Now(),
		of: v.subject(), looks: map[string]*Look{},
	}
	v.Say("diagnosing " + v.race.of.title)
	v.showRaces()
	v.Root.Layout()
	req, seq, t, who := v.NextRequest(), v.race.seq, v.race.events, v.inquirer
	req.Schedule = ""
	if v.Fail != nil && v.OnGPU() {
		req.Backend = "emu" // the GPU could not run it; the emulator may show where
	}
	run := func() tea.Msg {
		doc, err := who.Diagnose(ctx, req, diagnose.Options{OnEvent: t.add})
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil || !doc.Pending() {
			cancel()
		}
		return diagnosedMsg{seq, doc, err}
	}
	return tea.Batch(run, listenDiagnosis(ctx, t, seq))
}

// listenDiagnosis waits until a diagnosis reports something, or ends.
func listenDiagnosis(ctx context.Context, t *unread, seq int) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		progress := t.progress
		t.progress = nil
		return progressMsg{seq, progress, slices.Clone(t.findings), slices.Clone(t.causes)}
	}
}

// secondPassed takes up how long a diagnosis and a what-if have run.
func (v *Controller) secondPassed() {
	now := v.Now()
	if v.race.trying {
		v.race.triedFor = now.Sub(v.race.tried)
	}
	if v.race.active {
		v.race.ran = now.Sub(v.race.began)
		v.showRaces()
	}
}

// raceMsg takes up what was found out.
func (v *Controller) raceMsg(msg tea.Msg) tea.Cmd {
	q := &v.race
	switch msg := msg.(type) {
	case progressMsg:
		if msg.seq != q.seq || !q.active {
			return nil
		}
		for _, p := range msg.progress {
			q.progressed(p)
		}
		q.found, q.causes = msg.findings, msg.causes
		v.showRaces()
		return tea.Batch(listenDiagnosis(q.ctx, q.events, q.seq), v.askScene())
	case diagnosedMsg:
		return v.diagnosisEnded(msg)
	case sanitizedMsg:
		v.sanitized(msg)
	case sceneDueMsg:
		if msg.seq == q.look.seq {
			return v.fetchScene()
		}
	case sceneMsg:
		if msg.seq == q.seq && !errors.Is(msg.err, context.Canceled) {
			l := v.lookOf(msg.key)
			if l.Scene, l.Hang = msg.scene, msg.hang; msg.err != nil {
				l.Note = view.OneLine(msg.err)
			}
			v.showLook()
		}
	case replayMsg:
		return v.replayFound(msg)
	case triedMsg:
		if msg.seq != q.seq {
			return nil
		}
		q.trying = false
		if errors.Is(msg.err, context.Canceled) {
			return nil
		}
		l := v.lookOf(msg.key)
		if l.Tried = msg.text; msg.err != nil {
			l.Tried = []string{view.OneLine(msg.err)}
		}
		v.Say("what if: " + strings.Join(l.Tried, "; "))
		v.showLook()
	}
	return nil
}

func (v *Controller) diagnosisEnded(msg diagnosedMsg) tea.Cmd {
	q := &v.race
	if msg.seq != q.seq {
		return nil
	}
	if msg.err != nil || !msg.doc.Pending() {
		q.cancel() // not the what-if that was asked for meanwhile
	}
	q.active = false
	var later tea.Cmd
	switch {
	case errors.Is(msg.err, context.Canceled):
		v.Say("diagnosis cancelled")
	case msg.err != nil:
		v.Complain(view.OneLine(msg.err))
	default:
		msg.doc = v.withStated(msg.doc)
		q.doc = msg.doc
		v.Say(v.result(msg.doc))
		later = awaitSanitizer(q.ctx, q.cancel, msg)
	}
	v.showRaces()
	return tea.Batch(v.askScene(), later)
}

// withStated adds to a diagnosis what differs from the expectations that the launch on screen states: a run
// compares these, and a diagnosis does not.
func (v *Controller) withStated(doc *diagnose.Diagnosis) *diagnose.Diagnosis {
	if v.Run == nil || v.Run.Report == nil {
		return doc
	}
	stated := slices.DeleteFunc(slices.Clone(v.Run.Report.Findings), func(f report.Finding) bool {
		return f.Kind != string(target.Expectation)
	})
	if len(stated) == 0 {
		return doc
	}
	out := *doc
	out.Findings = slices.Concat(doc.Findings, stated)
	noun := "differences"
	if len(stated) == 1 {
		noun = "difference"
	}
	out.Story = append(slices.Clone(doc.Story),
		fmt.Sprintf("not diagnosed: %d %s from what the launch expects, found by the run", len(stated), noun))
	return &out
}

// result says that a diagnosis has ended and what it came to; its story stands in the view.
func (v *Controller) result(doc *diagnose.Diagnosis) string {
	q := &v.race
	text := "diagnosed " + q.of.title
	if ran := view.RanText(v.Now().Sub(q.began)); ran != "" {
		text += " in " + ran
	}
	n, k := errorsOf(doc.Findings), len(doc.Causes)
	if n+k == 0 {
		text += ": nothing found"
	} else {
		text += ": " + causesText(k, n)
	}
	if v.Root.Showing() != view.Races && v.diagnosed() {
		text += fmt.Sprintf(" · more in %s [%d]", view.Races, v.Keys.Number(view.Races))
	}
	return text
}

// Adopt takes up a diagnosis of a request that was made for something else, where the view has none of it.
func (v *Controller) Adopt(req debugkern.Request, doc *diagnose.Diagnosis) {
	if of := subject(req); of != v.subject() || v.race.active || v.diagnosed() {
		return
	}
	v.race.stop()
	ctx, cancel := context.WithCancel(v.Ctx)
	cancel() // nothing of it is under way
	v.race = inquiry{
		seq: v.race.seq + 1, ctx: ctx, cancel: cancel, events: &unread{wake: make(chan struct{}, 1)},
		of: v.subject(), doc: doc, looks: map[string]*Look{},
	}
	v.showRaces()
}

// awaitSanitizer waits for what compute-sanitizer says of a diagnosis that is on screen already; nil where it
// is not at work. What is on screen is not changed: the message has a document of its own.
func awaitSanitizer(ctx context.Context, cancel context.CancelFunc, msg diagnosedMsg) tea.Cmd {
	if !msg.doc.Pending() {
		return nil
	}
	doc := *msg.doc
	doc.Causes, doc.Sanitizer = slices.Clone(doc.Causes), slices.Clone(doc.Sanitizer)
	return func() tea.Msg {
		defer cancel()
		if err := doc.Await(ctx, diagnose.SanitizerWait, nil); err != nil {
			return nil // the diagnosis on screen is another one, or stays as it is
		}
		return sanitizedMsg{msg.seq, &doc}
	}
}

// sanitized takes up the answers of compute-sanitizer.
func (v *Controller) sanitized(msg sanitizedMsg) {
	if msg.seq != v.race.seq {
		return
	}
	v.race.doc = msg.doc
	var says []string
	for i := range msg.doc.Sanitizer {
		says = append(says, msg.doc.Sanitizer[i].Says)
	}
	v.Say("compute-sanitizer " + strings.Join(says, "; "))
	v.showRaces()
}

// cancelRace ends a diagnosis or a what-if under way, and reports whether there was one.
func (v *Controller) cancelRace() bool {
	switch {
	case v.race.active:
		v.race.stop()
		v.race.seq++
		v.Say("diagnosis cancelled; what it found stays")
	case v.race.trying:
		v.race.stopIf()
		v.race.trying = false
		v.Say("what-if cancelled")
	default:
		return false
	}
	v.showRaces()
	return true
}
