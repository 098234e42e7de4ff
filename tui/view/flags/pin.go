package flags

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// pinnedMsg is the run that was pinned in an earlier session, run again.
type pinnedMsg struct {
	setup  *configs.Setup
	name   string
	report *report.Run
	err    error
}

// repin runs what an earlier session pinned as A, once, behind the first run: only its setup was remembered.
func (v *Controller) repin() tea.Cmd {
	if v.Pinned == nil || v.a != nil || v.repinned {
		return nil
	}
	v.repinned = true
	setup, engine, ctx := v.Pinned, v.Engine, v.Ctx
	req := request.With(v.Req, setup)
	return func() tea.Msg {
		run, err := engine.Run(ctx, req, func(debugkern.Progress) {})
		msg := pinnedMsg{setup: setup, name: request.Title(req), err: err}
		if err == nil {
			msg.report = run.Report
		}
		return msg
	}
}

func (v *Controller) repinnedRun(msg pinnedMsg) {
	switch {
	case v.Pinned != msg.setup: // pinned anew, or unpinned, since
	case msg.err != nil:
		v.Pinned = nil
		v.Complain("the run pinned as A is gone: " + view.OneLine(msg.err))
	default:
		v.a = &Pinned{Name: msg.name, Report: msg.report}
		v.Root.Announce(view.RequestChanged{})
		if v.Status.Text == "" {
			v.Say(fmt.Sprintf("A is %s, pinned in an earlier session; %s unpins it", msg.name,
				v.Keys.LabelIn(view.Flags, unpin)))
		}
	}
}

// pin remembers the run on screen as A.
func (v *Controller) pin(string) tea.Cmd {
	if v.Run == nil {
		return v.NothingYet()
	}
	if !v.Current() || v.Job.Active {
		v.Complain("the run on screen is not of what is set: pin it when the new one has ended")
		return nil
	}
	v.a = &Pinned{Name: v.Run.Name, Report: v.Run.Report}
	setup := request.SetupOf(v.Run.Request)
	v.Pinned = &setup
	load := v.alone()
	v.Say("A is " + v.Run.Name + ": switch something, and B is compared with it")
	v.Root.Announce(view.RequestChanged{})
	return tea.Batch(load, v.Root.Changed())
}

func (v *Controller) unpin(string) tea.Cmd {
	if v.a == nil && v.Pinned == nil {
		v.Say("no run is pinned: a pins this one")
		return nil
	}
	v.a, v.Pinned = nil, nil
	load := v.alone()
	v.Say("A unpinned")
	v.Root.Announce(view.RequestChanged{})
	return tea.Batch(load, v.Root.Changed())
}
