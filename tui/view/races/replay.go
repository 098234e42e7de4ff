package races

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern/diagnose"
	"tilescope/tui/keymap"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// replay runs once under the schedule that changes most, or ends that: the run after it is under the schedule
// that stood before.
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
	worst, own, tried := v.worst()
	if worst == nil {
		v.Say(fmt.Sprintf("no schedule of %d changed the output: nothing to replay", tried))
		return nil
	}
	of := v.subjectOf(worst, own)
	v.race.replayed = of
	ends := v.Keys.LabelIn(view.Races, replay) + " or :undo"
	return v.Once(worst.Worst, "emu", ends, fmt.Sprintf("replaying schedule %s once, which changes the "+
		"output most of those tried for %s; %s ends it: %s again", worst.Worst, of, ends,
		request.Normal(v.NextRequest()).Schedule))
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

// subjectOf names what a schedule changes most: "race sP[4][9] line 140/144". Where that is not the finding
// under the cursor, it says so.
func (v *Controller) subjectOf(s *diagnose.ScheduleDoc, own bool) string {
	of := "the kernel as a whole"
	if all := v.race.doc.Findings; s.Finding >= 0 && s.Finding < len(all) {
		f := all[s.Finding]
		f.Warps, f.KVTile, f.Count = nil, -1, 0
		of = title(&f, nil)
	}
	if !own {
		of += ", not the one chosen"
	}
	return of
}

// Hint implements view.Hinter: the key that replays ends the replay.
func (v *Controller) Hint(a keymap.Action) string {
	if a == replay && v.Replaying() {
		return "end replay"
	}
	return ""
}
