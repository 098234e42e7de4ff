package races

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/tui/keymap"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// replay runs once under a schedule in which the race under the cursor happens, or ends that: the run after
// it is under the schedule that stood before. Which schedule that is, is tried in the background.
func (v *Controller) replay() tea.Cmd {
	if v.Replaying() {
		return v.EndReplay()
	}
	if v.race.trying {
		v.Say(fmt.Sprintf("the what-if is not finished: replay after it, or cancel it (%s)",
			v.Keys.Label(keymap.Cancel)))
		return nil
	}
	if !v.diagnosed() {
		v.Say(fmt.Sprintf("schedules are explored by a diagnosis: %s starts it", v.Keys.LabelIn(view.Races,
			keymap.Diagnose)))
		return nil
	}
	f, known, of := v.toReplay()
	run, who := v.executed(), v.inquirer
	switch {
	case f == nil:
		_, _, tried := v.worst()
		if tried == 0 {
			v.Say("nothing to replay: no race was found, and no other schedule tried")
			return nil
		}
		v.Say(fmt.Sprintf("no schedule of %d changed the output: nothing to replay", tried))
		return nil
	case known != nil:
		return v.replayUnder(known, of)
	case run == nil || who == nil:
		v.Say("this run's blocks cannot be executed again")
		return nil
	}
	ctx, cancel := context.WithCancel(v.Ctx)
	v.race.trying, v.race.stopIf, v.race.tried, v.race.triedFor = true, cancel, v.Now(), 0
	v.Say("looking for a schedule in which " + of + " happens")
	seq := v.race.seq
	return func() tea.Msg {
		defer cancel()
		r, err := who.Replay(ctx, run, f)
		return replayMsg{seq, of, r, err}
	}
}

// replayMsg is the schedule that was found for a race.
type replayMsg struct {
	seq    int
	of     string
	replay *diagnose.Replay
	err    error
}

// replayFound replays what was found, unless another diagnosis stands in its place.
func (v *Controller) replayFound(msg replayMsg) tea.Cmd {
	if msg.seq != v.race.seq {
		return nil
	}
	v.race.trying = false
	switch {
	case errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		v.ComplainOf(msg.err, false)
		return nil
	}
	return v.replayUnder(msg.replay, msg.of)
}

// replayUnder runs once under a schedule that was found; where none shows more than the run, it says so.
func (v *Controller) replayUnder(r *diagnose.Replay, of string) tea.Cmd {
	if r.Schedule == "" {
		why := "nothing to replay"
		if r.RunRaced {
			why = "the run on screen already shows it, so there is nothing to replay"
		}
		v.Say(fmt.Sprintf("%s: %s: %s", of, why, replayText(r)))
		return nil
	}
	v.race.replayed = of + ": " + replayText(r)
	ends := v.Keys.LabelIn(view.Races, replay) + " or :undo"
	return v.Once(r.Schedule, "emu", ends,
		fmt.Sprintf("replaying schedule %s once, for %s; %s ends it: %s again", r.Schedule,
			v.race.replayed, ends, request.Normal(v.NextRequest()).Schedule))
}

// replayText words a replay, and which cells it counts as bad: Pipe counts those that a stage makes bad
// itself apart from those that earlier stages made bad.
func replayText(r *diagnose.Replay) string {
	if r.Wrong < 0 {
		return r.Says()
	}
	return r.Says() + " (against the true inputs, earlier stages' errors included)"
}

// toReplay is the race under the cursor, else the one that changes most, what a diagnosis has found to
// replay it by, and its title, which says where it is not the one chosen. nil where no schedule changes
// anything.
func (v *Controller) toReplay() (f *report.Finding, known *diagnose.Replay, of string) {
	worst, own, _ := v.worst()
	if worst == nil {
		return nil, nil, ""
	}
	all := v.race.doc.Findings
	if s := v.selected(); s != nil && !own && s.Kind == "race" && !s.Across {
		return s, nil, v.titleOf(s)
	}
	if worst.Finding < 0 || worst.Finding >= len(all) {
		return nil, nil, ""
	}
	f = &all[worst.Finding]
	if of = v.titleOf(f); !own {
		of += ", not the one chosen"
	}
	return f, worst.Replay, of
}

// titleOf names a race as a whole: "race sP[4][9] line 140/144".
func (v *Controller) titleOf(f *report.Finding) string {
	one := *f
	one.Warps, one.KVTile, one.Count = nil, -1, 0
	return title(&one, nil)
}

// worst is the schedule that changes most for the finding under the cursor, else for any; own says that it is
// that finding's. nil where none of those that were tried changed anything.
func (v *Controller) worst() (worst *diagnose.ScheduleDoc, own bool, tried int) {
	at, ok := v.pane.Finding()
	for i := range v.race.doc.Schedules {
		s := &v.race.doc.Schedules[i]
		tried = max(tried, s.Tried)
		switch {
		case s.Worst == "":
		case ok && s.Finding == at:
			return s, true, tried
		case worst == nil || s.MaxAbs > worst.MaxAbs:
			worst = s
		}
	}
	return worst, false, tried
}

// Hint implements view.Hinter: the key that replays ends the replay.
func (v *Controller) Hint(a keymap.Action) string {
	if a == replay && v.Replaying() {
		return "end replay"
	}
	return ""
}
