package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/pane/list"
	"tilescope/tui/request"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// The tour's kernel and the fault planted in it. The emulator runs it: no GPU is needed.
const (
	tourTarget = "stage2"
	tourFault  = "p-stale-m"
)

// tourLines is the height of the strip below the view: a rule and what to do.
const tourLines = 3

// tour is the tutorial: a strip below the view says what to do next, and sees by the state whether it was
// done.
type tour struct {
	at      int
	base    any    // what the step began with; nil: it has not begun
	done    []bool // of each step: done, and not skipped
	started time.Time

	before ran // the request before the tour
	from   keymap.Scope
	back   bool // there was one
}

// step is one step of the tour.
type step struct {
	name string
	view keymap.Scope // where it begins
	// leads: text says how to come to the view; of the other steps the strip does, in any other view, where
	// their keys would do something else
	leads bool
	text  func(m *Model, k keyNames) string
	// base is what done compares with: taken when the step begins
	base func(m *Model) any
	done func(m *Model, base any) bool
}

// keyNames writes an action's keys in a view; where it has none, its name as the palette takes it.
type keyNames func(s keymap.Scope, a keymap.Action) string

func (m *Model) keyName(s keymap.Scope, a keymap.Action) string {
	for _, b := range m.Keys.All() {
		if b.Action == a && b.Works(s) {
			if b = b.At(s); len(b.Keys) > 0 {
				return b.Label
			}
			return ":" + b.Name(s)
		}
	}
	return ""
}

// tourSteps are the steps in their order.
func tourSteps() []step {
	nothing := func(*Model) any { return true }
	return []step{
		{
			name: "go through the stages", view: view.Pipe,
			text: func(_ *Model, k keyNames) string {
				return "This attention kernel has a fault. Stage P is wrong; U and O are only tainted by it. " +
					"Go to another stage: " + k(view.Pipe, keymap.Down) + " or " + k(view.Pipe,
					keymap.Up) + "."
			},
			base: func(m *Model) any { return m.Cursor.Stage },
			done: func(m *Model, was any) bool { return m.Run != nil && m.Cursor.Stage != was },
		},
		{
			name: "open the tile that went wrong", view: view.Pipe,
			text: func(m *Model, k keyNames) string {
				return m.wayToGuilty(k) + " tile with " + k(view.Pipe,
					keymap.Open) + ". It opens at the first bad cell."
			},
			base: nothing,
			done: func(m *Model, _ any) bool { return m.view == view.Tile && m.onGuilty() },
		},
		{
			name: "go to the next bad cell", view: view.Tile,
			text: func(_ *Model, k keyNames) string {
				return "What the kernel computed, the reference, and the error. " + k(view.Tile,
					keymap.NextBad) +
					" goes to the next bad cell, " + k(view.Tile, keymap.PrevBad) + " back."
			},
			base: func(m *Model) any { return m.Cursor },
			done: func(m *Model, was any) bool { return m.view == view.Tile && m.Cursor != was },
		},
		{
			name: "write the numbers another way", view: view.Tile,
			text: func(_ *Model, k keyNames) string {
				return k(view.Tile, keymap.Format) + " writes the numbers another way: fixed, scientific, " +
					"hexadecimal, bits, ulp. Press it once."
			},
			base: func(m *Model) any { return m.Numbers.Format },
			done: func(m *Model, was any) bool { return m.Numbers.Format != was },
		},
		{
			name: "find out who wrote the cell", view: view.Tile,
			text: func(_ *Model, k keyNames) string {
				return "Who wrote this cell? " + k(view.Tile,
					keymap.Who) + " says it: warp, lane and line. " +
					k(view.Tile, keymap.Who) + " again goes to that moment in view Source."
			},
			base: nothing,
			done: func(m *Model, _ any) bool { return m.view == view.Source },
		},
		{
			name: "step the kernel", view: view.Source,
			text: func(_ *Model, k keyNames) string {
				return "The kernel is stopped before that write, with every register of the warp. " +
					k(view.Source, "step") + " steps a line, " + k(view.Source,
					"step-back") + " steps back. Take a step."
			},
			base: func(m *Model) any { return m.clock() },
			done: func(m *Model, was any) bool { return m.clock() != was },
		},
		{
			name: "have the fault explained", view: view.Races, leads: true,
			text: func(_ *Model, k keyNames) string {
				return "Why is it wrong? In view Races (5) " + k(view.Races, keymap.Diagnose) +
					" tries every explanation by an experiment. It takes some seconds; the story is what is left."
			},
			base: nothing,
			done: func(m *Model, _ any) bool {
				for _, v := range able[view.Diagnoser](m.views) {
					if v.HasCauses() {
						return true
					}
				}
				return false
			},
		},
		{
			name: "take the fault out", view: view.Flags, leads: true,
			text: func(_ *Model, k keyNames) string {
				return "View Flags (4) lists flags and faults: " + k(view.Flags, keymap.Search) + tourFault +
					" and Enter finds it, " + k(view.Flags,
					keymap.Toggle) + " takes it out and runs again. The verdict turns."
			},
			base: nothing,
			done: func(m *Model, _ any) bool {
				return len(m.Req.Faults) == 0 && m.Current() && m.Run.Report.Verdict == report.Agree
			},
		},
	}
}

// wayToGuilty says how to come to the stage that went wrong first from where the cursor is in Pipe, and to
// open its: "Go back to P (k ↑) and open its", "P is selected: open its".
func (m *Model) wayToGuilty(k keyNames) string {
	if m.Run == nil || len(m.Run.Report.Guilty) == 0 {
		return "Open the wrong stage's"
	}
	guilty := m.Run.Report.Guilty[0].Stage
	at, to := m.Run.Plan.Index(m.Cursor.Stage), m.Run.Plan.Index(probes.Stage(guilty))
	key := keymap.Up
	switch {
	case at == to:
		return guilty + " is selected: open its"
	case at < to:
		key = keymap.Down
	}
	return fmt.Sprintf("Go back to %s (%s) and open its", guilty, k(view.Pipe, key))
}

// onGuilty reports whether the cursor is in the stage where the run first went wrong.
func (m *Model) onGuilty() bool {
	if m.Run == nil || len(m.Run.Report.Guilty) == 0 {
		return false
	}
	return m.Run.Report.Guilty[0].Stage == m.Cursor.Stage.String()
}

// clock is how far the block in view Source has been stepped.
func (m *Model) clock() uint64 {
	for _, v := range able[view.Clocked](m.views) {
		return v.Clock()
	}
	return 0
}

// height is how many lines of the screen the tour has.
func (t *tour) height() int {
	if t == nil {
		return 0
	}
	return tourLines
}

// startTour begins the tour, or begins it anew.
func (m *Model) startTour(string) tea.Cmd {
	t := &tour{done: make([]bool, len(tourSteps())), started: m.now(), before: m.as(m.NextRequest()),
		from: m.view, back: !m.opt.Tour || m.Run != nil}
	if m.tour != nil {
		t.before, t.from, t.back = m.tour.before, m.tour.from, m.tour.back
	}
	m.tour, m.over = t, nil
	m.setSearch("")
	m.setFilter("")
	m.Switch(view.Pipe)
	cmd := m.Choose(debugkern.Request{Target: tourTarget, Faults: []string{tourFault}, Backend: "emu"},
		"a tour of eight steps: the strip below says what to do")
	return tea.Batch(cmd, m.Announce(view.Shown{}))
}

// skipStep goes on to the next step of the tour.
func (m *Model) skipStep(string) tea.Cmd {
	if m.tour == nil {
		m.Say("no tour is running: :" + string(keymap.Tour) + " starts one")
		return nil
	}
	m.Say("skipped: " + tourSteps()[m.tour.at].name)
	return m.nextStep(false)
}

// nextStep ends the step of the tour under way.
func (m *Model) nextStep(done bool) tea.Cmd {
	t, steps := m.tour, tourSteps()
	t.done[t.at], t.base = done, nil
	if t.at++; t.at == len(steps) {
		return m.endTour(true)
	}
	var cmd tea.Cmd
	if !done && m.view != steps[t.at].view { // what was skipped would have led there
		cmd = m.Open(steps[t.at].view)
	}
	return tea.Batch(cmd, m.tourOn())
}

// tourOn looks whether the step of the tour under way has been done.
func (m *Model) tourOn() tea.Cmd {
	t := m.tour
	if t == nil || m.Job.Active || m.waiting() {
		return nil
	}
	s := tourSteps()[t.at]
	if t.base == nil {
		t.base = s.base(m)
		return nil
	}
	if !s.done(m, t.base) {
		return nil
	}
	m.Say(m.Theme.Glyph.OK + " " + s.name)
	return m.nextStep(true)
}

// endTour leaves the tour, with a summary where it came to its end, and goes back to what was on the screen
// before.
func (m *Model) endTour(whole bool) tea.Cmd {
	t := m.tour
	m.tour = nil
	m.Layout()
	if whole {
		m.cover(m.summary(t))
	} else {
		m.Say("the tour is left: :" + string(keymap.Tour) + " starts it again")
	}
	if !t.back || request.Same(t.before.req, m.Req) {
		return nil
	}
	m.Switch(t.from)
	const says = "the tour is over: back to "
	if m.Engine.Catalogue().Adopted(t.before.req.Target) != nil { // a kernel's file, which no name stands for
		return tea.Batch(m.back(&t.before, says), m.Announce(view.Shown{}))
	}
	return tea.Batch(m.Choose(t.before.req, says+request.Title(t.before.req)), m.Announce(view.Shown{}))
}

// summary lists what was done, and where to go on.
func (m *Model) summary(t *tour) (*overlay, list.Data) {
	o := &overlay{opens: keymap.Tour}
	n := 0
	d := list.Data{Note: "Esc closes"}
	add := func(lead, text string, run func() tea.Cmd) {
		d.Items = append(d.Items, list.Item{Lead: lead, Text: text, Head: lead == ""})
		o.run, o.text = append(o.run, run), append(o.text, text)
	}
	add("", "What you have done", nil)
	for i, s := range tourSteps() {
		mark := m.Theme.Glyph.OK
		if !t.done[i] {
			mark = m.Theme.Glyph.Off
			s.name += " (skipped)"
		} else {
			n++
		}
		add(mark, s.name, nil)
	}
	took := m.now().Sub(t.started).Round(time.Second)
	d.Title = fmt.Sprintf("TOUR %d of %s in %s", n, theme.Count(len(t.done), "step"), took)
	add("", "Where to go on (Enter carries out)", nil)
	add(m.keyName(m.view, keymap.Help), "the keys and the legend of the pane in focus", func() tea.Cmd {
		return m.openHelp("")
	})
	add(m.keyName(m.view, keymap.Command), "the palette: every command and action by name", func() tea.Cmd {
		return m.Ask(":", "")
	})
	add(":fault", "plant another fault", func() tea.Cmd { return m.Ask(":", "fault ") })
	add(":variant", "open another kernel", func() tea.Cmd { return m.Ask(":", "variant ") })
	add(":tour", "the tour again", func() tea.Cmd { return m.startTour("") })
	return o, d
}

// strip is the tour's part of the screen, nil without a tour.
func (m drawing) strip() []string {
	t := m.tour
	if t == nil {
		return nil
	}
	g, s := m.Theme.Glyph, tourSteps()[t.at]
	note := m.keyName(m.view, keymap.SkipStep) + " skips · " + m.keyName(m.view, keymap.Cancel) + " leaves"
	out := []string{m.Theme.Rule(g.H, g.H, fmt.Sprintf(" TOUR %d/%d: %s ", t.at+1, len(t.done), s.name), note,
		m.w, true)}
	what := s.text(m.Model, m.keyName)
	if m.view != s.view && !s.leads {
		what = fmt.Sprintf("This step is done in view %s: %d opens it.", s.view, m.Keys.Number(s.view))
	}
	for _, text := range m.Theme.Wrap(what, m.w-2) {
		out = append(out, m.Theme.Line(m.w).Space(1).Add(m.Theme.Strong, text).Done())
	}
	for len(out) < tourLines {
		out = append(out, m.Theme.Line(m.w).Done())
	}
	return out[:tourLines]
}
