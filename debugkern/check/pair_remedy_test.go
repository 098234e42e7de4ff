package check_test

import (
	"context"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// TestPairsRemedies: what a finding advises as an edit of the PTX, made to the faulty entry, takes
// the finding away and makes none of its own: no race on what was put in order, and nobody waits for
// those who do not come.
func TestPairsRemedies(t *testing.T) {
	mended := 0
	for _, file := range kernelFiles(t, "testdata/pair/*.ptx") {
		m, text := readModule(t, file)
		c := readTwins(t, file, text)[0]
		for _, f := range c.found(t, m, target.Schedule{}) {
			if len(f.Remedy) == 0 || c.set&pairErrors == 0 {
				continue
			}
			mended++
			edited, err := m.Edited(f.Remedy)
			if err != nil {
				t.Errorf("%s: %v", c.entry, err)
				continue
			}
			for _, s := range pairSchedules {
				for _, g := range c.found(t, edited, s) {
					if g.Variable == f.Variable && g.Kind == f.Kind && g.Index != nil && sameLines(&f, &g) ||
						g.Kind == target.Barrier || g.Kind == target.Deadlock {
						t.Errorf("%s, %s, with %s before %d: still %s: %s", c.entry, s.Policy,
							f.Remedy[0].Kind, f.Remedy[0].At, g.Kind, g.Message)
					}
				}
			}
		}
	}
	if mended < 30 {
		t.Errorf("%d findings come with a remedy: too few to prove anything", mended)
	}
}

// found is all that is found in an entry of a module.
func (c *twin) found(t *testing.T, m *ptx.Module, s target.Schedule) []target.Finding {
	t.Helper()
	k, err := emu.New(chip.SM90()).Load(context.Background(), m, c.entry)
	if err != nil {
		t.Fatal(c.entry, err)
	}
	fs, err := c.run(k, m.Func(c.entry), s)
	if err != nil {
		t.Fatal(c.entry, err)
	}
	return fs
}

func sameLines(f, g *target.Finding) bool {
	return f.Source != nil && g.Source != nil && f.Other != nil && g.Other != nil &&
		f.Source.Line == g.Source.Line && f.Other.Line == g.Other.Line
}
