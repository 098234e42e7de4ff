package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/tui/keymap"
)

// TestRacesOnASession asks a real session what the view asks: the diagnosis, the scene of its race, and what puts it right.
func TestRacesOnASession(t *testing.T) {
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(context.Background(), Options{Engine: s, Request: debugkern.Request{Target: "stage2", Shape: "small", Faults: []string{"sync-p"}}}, plainLook)
	if m.opt.races == nil {
		t.Fatal("a session cannot be asked")
	}
	told := 0
	doc, err := m.opt.races.Diagnose(t.Context(), m.req, diagnose.Options{Schedules: 8, Tell: func(e diagnose.Event) {
		if e.Finding != nil {
			told++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(doc.Findings, func(f debugkern.FindingDoc) bool { return f.Kind == "race" })
	if i < 0 || told == 0 {
		t.Fatalf("%d findings told, no race among %d", told, len(doc.Findings))
	}
	m.resize(120, 40)
	m.view = keymap.Races
	m.race.doc, m.race.of = doc, subject(m.req)
	m.showRaces()
	for m.selected() == nil || m.selected().Kind != "race" {
		if !m.pane.races.Move(1) {
			t.Fatal("the race is not in the list")
		}
	}
	m.Update(m.fetchScene()())
	text := m.pane.races.Text() + strings.Join(m.screen(), "\n")
	for _, want := range []string{"SCHEDULE block", "CELLS " + m.selected().Variable, "writes, step", "reads, step"} {
		if !contains(text, want) {
			t.Errorf("nothing says %q:\n%s", want, text)
		}
	}
	lines, err := m.opt.races.WhatIf(t.Context(), doc.Run, m.selected())
	if err != nil || !contains(lines[0], "is gone") {
		t.Errorf("what if: %v, %v", lines, err)
	}
	b := slices.IndexFunc(doc.Barriers, func(b diagnose.BarrierDoc) bool { return b.Needed && strings.HasPrefix(b.Instr, "bar.sync") })
	if lines, err = m.opt.races.WhatIfWithout(t.Context(), doc.Run, &doc.Barriers[b]); err != nil || !contains(lines[0], "then race on") {
		t.Errorf("without %s: %v, %v", doc.Barriers[b].Instr, lines, err)
	}
}
