package races

import (
	"strings"
	"testing"

	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/tui/theme"
)

// TestAGuessIsNoEffect: what a finding leads to is one fact, that something is a guess another.
func TestAGuessIsNoEffect(t *testing.T) {
	const launch = "the launch is a guess: --grid 6 --block 128"
	for _, c := range [][3]string{
		{"O is wrong", "O is wrong", ""}, {launch, "", launch},
		{"O is wrong; " + launch, "O is wrong", launch},
		{"O is wrong; depends on a guess: k.yaml:3; " + launch, "O is wrong",
			"depends on a guess: k.yaml:3; " + launch},
	} {
		if effect, guess := guessed(c[0]); effect != c[1] || guess != c[2] {
			t.Errorf("%q: %q and %q", c[0], effect, guess)
		}
	}
}

// TestAboutSaysAFactOnce: what the finding says is no evidence of the cause as well, and places stand without
// the folders of their files, but in what is copied and where two files have one name.
func TestAboutSaysAFactOnce(t *testing.T) {
	const file = "kernels/deep/k.cu"
	message := "race on sP: warp 0 writes it at " + file + ":14, warp 1 reads it at " + file + ":20"
	d := Data{
		Diagnosed: true, Story: []string{"diverges", "1. race on sP between " + file + ":14 and line 20"},
		Findings: []report.Finding{{Kind: "race", Variable: "sP", Message: message,
			Source: &report.Source{File: file, Line: 14}, Other: &report.Source{File: file, Line: 20}}},
		Causes: []diagnose.Cause{{Kind: "race", Title: "race on sP",
			Proof: []string{message, "schedules: 3 of 4"},
			Alone: "with a barrier, nothing is wrong", Again: "tilescope run k.yaml"}},
	}
	p := NewPane(theme.New(theme.Options{}))
	p.SetSize(160, 60)
	p.SetData(d)
	for !p.atFinding() {
		if !p.Move(1) {
			t.Fatal("the finding is not in the list")
		}
	}
	screen := strings.Join(p.View(), "\n")
	if n := strings.Count(screen, "warp 0 writes it at k.cu:14"); n != 1 {
		t.Errorf("the message stands %d times:\n%s", n, screen)
	}
	for _, want := range []string{" evidence schedules: 3 of 4", " if fixed with a barrier",
		" command  tilescope run", "between k.cu:14 and line 20"} {
		if !strings.Contains(screen, want) {
			t.Errorf("nothing says %q:\n%s", want, screen)
		}
	}
	if !strings.Contains(p.Text(), "between "+file+":14") {
		t.Errorf("copied:\n%s", p.Text())
	}
	d.Findings[0].Other = &report.Source{File: "other/k.cu", Line: 20}
	p.SetData(d)
	if s := strings.Join(p.View(), "\n"); !strings.Contains(s, "between "+file+":14") {
		t.Errorf("two files of one name:\n%s", s)
	}
}

// TestAboutBeginsWithWhatIsNew: what a what-if came to, and a replay, stand first, and are scrolled to.
func TestAboutBeginsWithWhatIsNew(t *testing.T) {
	p := NewPane(theme.New(theme.Options{}))
	p.SetSize(120, 40)
	d := Data{Findings: []report.Finding{{Kind: "race", Message: strings.Repeat("long words ", 200)}}}
	p.SetData(d)
	if !p.Scroll(About, 3) {
		t.Fatal("nothing to scroll")
	}
	p.SetLook(Look{Tried: []string{"with a barrier: the race is gone"}})
	if s := strings.Join(p.View(), "\n"); !strings.Contains(s, "what if  with a barrier: the race is gone") {
		t.Errorf("scrolled away:\n%s", s)
	}
	p.Scroll(About, 3)
	d.Under = "cells are of the replay"
	p.SetData(d)
	if s := strings.Join(p.View(), "\n"); !strings.Contains(s, "schedule cells are of the replay") {
		t.Errorf("scrolled away:\n%s", s)
	}
	p.Scroll(About, 3)
	p.SetData(Data{Running: true}) // another diagnosis
	d.Under = ""
	p.SetData(d)
	if p.Scroll(About, -1) {
		t.Error("what another diagnosis was scrolled to is kept")
	}
}

// atFinding reports whether the cursor is on a finding of its own row.
func (p *Pane) atFinding() bool {
	_, ok := p.Finding()
	return ok
}
