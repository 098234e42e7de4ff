package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/diagnose"
)

// The change that puts a race right is found again from its finding alone; what no
// synchronisation orders says so.
func TestWhatIfOfAFinding(t *testing.T) {
	d := run(t, "stage2", "small", "sync-p")
	i := slices.IndexFunc(d.Causes, func(c diagnose.Cause) bool { return c.Kind == "race" })
	if i < 0 {
		t.Fatalf("no race among the causes:\n%s", strings.Join(d.Story, "\n"))
	}
	a, err := diagnose.WhatIf(t.Context(), d.Executed, &d.Findings[d.Causes[i].Finding])
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(a.Lines(), "\n")
	if !a.Gone || !strings.Contains(text, "is gone") || !strings.Contains(text, "cost: ") ||
		!strings.Contains(text, "__sync") {
		t.Errorf("gone %v after %d:\n%s", a.Gone, a.Tried, text)
	}
	d = run(t, "stage3b", "small", "softmax-race")
	i = slices.IndexFunc(d.Causes, func(c diagnose.Cause) bool { return c.Kind == "race" })
	if i < 0 {
		t.Fatalf("no race among the causes:\n%s", strings.Join(d.Story, "\n"))
	}
	if _, err := diagnose.WhatIf(t.Context(), d.Executed, &d.Findings[d.Causes[i].Finding]); err == nil ||
		!strings.Contains(err.Error(), "no synchronisation can order this") {
		t.Errorf("an unguarded update: %v", err)
	}
}

// A synchronisation that is said to be needed is missed when it is taken away.
func TestWhatIfWithoutASynchronisation(t *testing.T) {
	d := run(t, "stage2", "small")
	needed := 0
	for i := range d.Barriers {
		b := &d.Barriers[i]
		a, err := diagnose.WhatIfWithout(t.Context(), d.Executed, b)
		if err != nil {
			t.Errorf("%s of %+v: %v", b.Instr, b.Source, err)
			continue
		}
		t.Logf("%v %s", b.Needed, strings.Join(a.Lines(), "; "))
		if b.Needed && !a.Gone {
			needed++
		}
		if !b.Needed && !a.Gone {
			t.Errorf("said not to be needed: %s", a.Lines()[0])
		}
	}
	if needed < 4 {
		t.Errorf("%d synchronisations are missed", needed)
	}
}

func TestWhatIfOfATable(t *testing.T) {
	d := run(t, "stage3b", "small", "lut-order")
	i := slices.IndexFunc(d.Causes, func(c diagnose.Cause) bool { return c.Kind == "table" })
	if i < 0 {
		t.Fatalf("no table among the causes:\n%s", strings.Join(d.Story, "\n"))
	}
	a, err := diagnose.WhatIfRight(t.Context(), d.Executed, &d.Causes[i])
	if err != nil {
		t.Fatal(err)
	}
	if !a.Gone || !a.Outcome.Turned {
		t.Errorf("the right table:\n%s", strings.Join(a.Lines(), "\n"))
	}
}

// What a synchronisation orders is found where the variable races without its removal too: with the barrier
// behind the softmax left out, U_smem races between warps, and without a __syncwarp() within one as well.
func TestWhatIfWithoutAndARace(t *testing.T) {
	d := run(t, "stage2", "small", "sync-p")
	var without []string
	for i := range d.Barriers {
		b := &d.Barriers[i]
		if b.Instr != "bar.warp.sync" || !slices.Contains(b.Variables, "U_smem") {
			continue
		}
		a, err := diagnose.WhatIfWithout(t.Context(), d.Executed, b)
		if err != nil {
			t.Fatal(err)
		}
		without = append(without, a.Lines()[0])
		if a.Gone {
			t.Errorf("needed (%s), and yet nothing comes: %s", b.Because, a.Lines()[0])
		}
	}
	if len(without) != 1 || !strings.Contains(without[0], "race on U_smem") {
		t.Errorf("synchronisations of a warp that U_smem needs: %q", without)
	}
}
