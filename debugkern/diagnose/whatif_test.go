package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/diagnose"
)

// The change that puts a race right is found again from its finding alone; what no synchronisation orders says so.
func TestWhatIfOfAFinding(t *testing.T) {
	d := run(t, "stage2", "small", "sync-p")
	i := slices.IndexFunc(d.Causes, func(c diagnose.Cause) bool { return c.Kind == "race" })
	if i < 0 {
		t.Fatalf("no race among the causes:\n%s", strings.Join(d.Story, "\n"))
	}
	a, err := diagnose.WhatIf(t.Context(), d.Run, &d.Findings[d.Causes[i].Finding])
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(a.Lines(), "\n")
	if !a.Gone || !strings.Contains(text, "is gone") || !strings.Contains(text, "cost: ") || !strings.Contains(text, "__sync") {
		t.Errorf("gone %v after %d:\n%s", a.Gone, a.Tried, text)
	}
	d = run(t, "stage3b", "small", "softmax-race")
	i = slices.IndexFunc(d.Causes, func(c diagnose.Cause) bool { return c.Kind == "race" })
	if i < 0 {
		t.Fatalf("no race among the causes:\n%s", strings.Join(d.Story, "\n"))
	}
	if _, err := diagnose.WhatIf(t.Context(), d.Run, &d.Findings[d.Causes[i].Finding]); err == nil || !strings.Contains(err.Error(), "no synchronisation can order this") {
		t.Errorf("an unguarded update: %v", err)
	}
}

func TestWhatIfOfATable(t *testing.T) {
	d := run(t, "stage3b", "small", "lut-order")
	i := slices.IndexFunc(d.Causes, func(c diagnose.Cause) bool { return c.Kind == "table" })
	if i < 0 {
		t.Fatalf("no table among the causes:\n%s", strings.Join(d.Story, "\n"))
	}
	a, err := diagnose.WhatIfRight(t.Context(), d.Run, &d.Causes[i])
	if err != nil {
		t.Fatal(err)
	}
	if !a.Gone || !a.Outcome.Turned {
		t.Errorf("the right table:\n%s", strings.Join(a.Lines(), "\n"))
	}
}
