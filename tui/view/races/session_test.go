package races_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/tui"
	"tilescope/tui/view"
	"tilescope/tui/view/races"
)

// TestRacesOnASession asks a real session what the view asks: the diagnosis, the scene of its race, and
// what puts it right.
func TestRacesOnASession(t *testing.T) {
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := tui.New(context.Background(), tui.Options{
		Engine: s, Request: debugkern.Request{Target: "stage2", Shape: "small", Faults: []string{"sync-p"}},
	}, tui.Look{Profile: colorprofile.ASCII})
	m.Switch(view.Races)
	v := m.Shown().(*races.Controller)
	if v.Inquirer() == nil {
		t.Fatal("a session cannot be asked")
	}
	told := 0
	doc, err := v.Inquirer().Diagnose(t.Context(), m.Req, diagnose.Options{
		Schedules: 8, OnEvent: func(e diagnose.Event) {
			if e.Finding != nil {
				told++
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(doc.Findings, func(f report.Finding) bool { return f.Kind == "race" })
	if i < 0 || told == 0 {
		t.Fatalf("%d findings told, no race among %d", told, len(doc.Findings))
	}
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	v.Show(doc)
	for v.Selected() == nil || v.Selected().Kind != "race" {
		if !v.Pane().Move(1) {
			t.Fatal("the race is not in the list")
		}
	}
	m.Update(v.FetchScene()())
	text := v.Pane().Text() + m.View().Content
	for _, want := range []string{
		"SCHEDULE block", "CELLS " + v.Selected().Variable, "writes, step", "reads, step",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q:\n%s", want, text)
		}
	}
	lines, err := v.Inquirer().WhatIf(t.Context(), doc.Executed, v.Selected())
	if err != nil || !strings.Contains(lines[0], "is gone") {
		t.Errorf("what if: %v, %v", lines, err)
	}
	b := slices.IndexFunc(doc.Barriers, func(b diagnose.BarrierDoc) bool {
		return b.Needed && strings.HasPrefix(b.Instr, "bar.sync")
	})
	if lines, err = v.Inquirer().WhatIfWithout(t.Context(), doc.Executed, &doc.Barriers[b]); err != nil ||
		!strings.Contains(lines[0], "then race on") {
		t.Errorf("without %s: %v, %v", doc.Barriers[b].Instr, lines, err)
	}
}
