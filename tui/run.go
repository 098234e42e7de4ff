package tui

import (
	"context"
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/source"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// ranMsg is a run that ended: well, failed (then err says why), or cancelled.
type ranMsg struct {
	gen  int
	run  *view.Run
	err  error
	stop bool // cancelled
}

// Start implements view.Root.
func (m *Model) Start(req debugkern.Request) tea.Cmd {
	if m.Fail != nil && m.Fail.Opening != nil && req.Target == m.Req.Target {
		return m.palette().openWords(m.Fail.Opening)
	}
	m.Job.Stop()
	m.Release()
	// whoever starts a run for a saved file notes these after this
	m.file.saved, m.file.rebound, m.file.other = nil, "", ""
	m.Requested(req)
	m.Job.Begin(m.Ctx, m.Now())
	m.Announce(view.Started{})
	if m.Run == nil {
		m.draw()
	}
	m.Announce(view.RequestChanged{})
	return tea.Batch(m.runCmd(request.Clone(req)), m.Job.Listen(), m.Changed(), m.file.watch())
}

// runCmd executes a request and gathers what the first frame of the result needs.
func (m *Model) runCmd(req debugkern.Request) tea.Cmd {
	engine, j, before := m.Engine, m.Job, m.Run
	edition, expectations := m.Edition, m.opt.Expectations
	return func() tea.Msg {
		defer j.Cancel()
		run, err := engine.Run(j.Ctx, req, j.Report)
		if err == nil && expectations != nil {
			err = expectations(j.Ctx, req, run.Report, j.Report)
		}
		if j.Ctx.Err() != nil {
			return ranMsg{gen: j.Gen, err: j.Ctx.Err(), stop: true}
		}
		r := &view.Run{Name: request.Title(req), Request: req, Edition: edition}
		var failed *report.Error
		if errors.As(err, &failed) {
			r.Code, r.NoCompiler, r.Untrusted = failed.Code, build.Lacks(err), build.Untrusted(err)
		}
		switch {
		case failed != nil && failed.Report != nil:
			r.Report = failed.Report
			r.Source, r.Patch = gatherText(j.Ctx, engine, req, r.Report)
			return ranMsg{gen: j.Gen, run: r, err: err}
		case err != nil: // it did not come so far that the engine writes a document
			r.Report = &report.Run{Target: req.Target, Verdict: report.Failed,
				Error: &report.Failure{Message: err.Error()}}
			return ranMsg{gen: j.Gen, run: r, err: err}
		}
		r.Run, r.Report, r.Plan, r.Viewer = run, run.Report, run.Plan, view.ViewerOf(engine, run)
		r.Summary = view.Summarise(j.Ctx, r.Viewer, r.Plan)
		if before != nil && before.Run != nil && request.Same(before.Request, req) &&
			!sameBits(before.Report, r.Report) {
			if r.Changes, err = debugkern.Differences(j.Ctx, before.Run, run); err != nil {
				return ranMsg{gen: j.Gen, err: err, stop: true}
			}
		}
		return ranMsg{gen: j.Gen, run: r}
	}
}

// ran shows a run that ended, unless another was asked for since.
func (m *Model) ran(msg ranMsg) tea.Cmd {
	if msg.gen != m.Job.Gen {
		return nil
	}
	m.Job.Stop()
	switch {
	case msg.stop:
		m.Say("cancelled; " + m.Keys.Label(keymap.Again) + " runs again")
		return nil
	case msg.err != nil:
		return m.ranBadly(msg)
	}
	saved, rebound, other := m.file.answers(), m.file.rebound, m.file.other
	m.file.rebound, m.file.other = "", ""
	changed, part := effect(saved, m.Run, msg.run), compiledPart(msg.run.Report)
	if changed != "" && other != "" {
		changed = strings.Replace(changed, " saved: ", " saved: "+other+"; ", 1)
	}
	if changed != "" && part != "" && (m.Run == nil || part != compiledPart(m.Run.Report)) {
		changed += " · " + part
	}
	if rebound != "" {
		head := savedFiles(saved) + " saved: "
		changed = strings.TrimSuffix(head+rebound+"; "+strings.TrimPrefix(changed, head), "; ")
	}
	if m.Replaying() && m.Run != nil && changed == "" {
		changed = "replayed once under " + msg.run.Request.Schedule + ": " +
			changeBetween(m.Run.Report, msg.run.Report, "") + "; " + m.ReplayEnds() +
			" ends the replay"
	}
	chosen, before := m.Chosen(), m.Run
	m.DropAnswer()
	m.Run, m.Fail, m.Gen = msg.run, nil, msg.gen
	m.undone.ran(m, msg.run.Request)
	m.Announce(view.NewRun{Gen: msg.gen})
	m.PlaceFirstBad(m.restored || changed != "") // after a save the cursor stays
	m.restored = false
	if part != "" && changed == "" && (saved != nil || before == nil || part != compiledPart(before.Report)) {
		m.Say(part)
	}
	m.draw()
	cmd := tea.Batch(m.reportTrouble(), m.Set(m.Cursor), m.file.watch(), m.Announce(view.Ran{Gen: msg.gen}))
	if changed == "" && chosen != "" && m.Status.Text == chosen {
		changed = chosen + " · " + m.came(before, msg.run)
	}
	for _, v := range able[view.Follower](m.views) {
		if text := v.Followed(); text != "" {
			changed = strings.TrimPrefix(changed+" · "+text, " · ")
		}
	}
	if changed != "" && !m.Status.Bad {
		m.Hold(changed)
	}
	return cmd
}

// compiledPart says what of the source was compiled, where that is not the whole of it; else "".
func compiledPart(r *report.Run) string {
	if r == nil {
		return ""
	}
	return strings.Join(r.Build.Notes, "; ")
}

// came is what a run that was chosen came to: where one flag or fault alone makes it differ from the run
// before, what that has changed, else its verdict.
func (m *Model) came(before, after *view.Run) string {
	if before != nil && before.Report != nil && oneSwitch(before.Request, after.Request) {
		return changeBetween(before.Report, after.Report, "")
	}
	return m.topLine().verdict(after.Report)
}

// oneSwitch reports whether two requests differ in one flag or fault, and in nothing else.
func oneSwitch(a, b debugkern.Request) bool {
	if len(request.Differences(a, b)) != 1 {
		return false
	}
	b.Set, b.Faults = a.Set, a.Faults
	return request.Same(a, b)
}

// ranBadly shows why a request has no run. The run before stays, dimmed and headed, where the failure leaves
// it room.
func (m *Model) ranBadly(msg ranMsg) tea.Cmd {
	m.Fail = msg.run
	m.file.answers()
	m.failure.closed = false
	cmd := m.Announce(view.Failed{})
	m.draw()
	m.ComplainOf(msg.err, true)
	return tea.Batch(cmd, m.file.watch(), m.SeekConsent(msg.err))
}

// reportTrouble shows the engine's warning once: a cache that cannot be written to, a compiler that is not
// trusted.
func (m *Model) reportTrouble() tea.Cmd {
	engine, ok := m.Engine.(interface{ Trouble() error })
	if !ok || m.troubled {
		return nil
	}
	err := engine.Trouble()
	if err == nil || prebuilt(m.Run.Report) && build.Untrusted(err) {
		return nil
	}
	m.troubled = true
	m.ComplainOf(err, false)
	return m.SeekConsent(err)
}

// prebuilt reports whether a run needed no compiler. What such a run's diagnosis would have compiled is no
// reason to ask for consent: the diagnosis goes without.
func prebuilt(r *report.Run) bool { return r.Backend.Builder == "embedded" }

// textEngine is what an engine may know of sources that no run can be asked for.
type textEngine interface {
	SourceText(ctx context.Context, req debugkern.Request, file string) []string
	SourceChanges(ctx context.Context, req debugkern.Request, file string) (faults []string, lines []int)
}

var _ textEngine = (*debugkern.Session)(nil)

// gatherText reads, while nobody waits, the sources that a failed run points into, and what patches have
// changed of them.
func gatherText(ctx context.Context, engine view.Engine, req debugkern.Request,
	r *report.Run) (text func(string) []string, patch func(string) source.Patch) {
	e, ok := engine.(textEngine)
	if !ok || r == nil || r.Error == nil {
		return nil, nil
	}
	known, patches := map[string][]string{}, map[string]source.Patch{}
	read := func(file string) {
		if _, ok := known[file]; !ok {
			known[file] = e.SourceText(ctx, req, file)
			faults, lines := e.SourceChanges(ctx, req, file)
			patches[file] = source.Patch{By: strings.Join(faults, ", "), Lines: lines}
		}
	}
	read("")
	for _, x := range view.Reasons(r.Error) {
		read(x.File)
	}
	return func(file string) []string { return known[file] },
		func(file string) source.Patch { return patches[file] }
}
