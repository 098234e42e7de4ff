package check_test

import (
	"context"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// TestPairsNeeds: each barrier of a clean twin is there for something, or it is not; Checker.Needs
// says which, and taking it out of the PTX says so too: a needed one leaves a finding behind, a
// redundant one leaves none.
func TestPairsNeeds(t *testing.T) {
	needed, redundant := 0, 0
	for _, file := range kernelFiles(t, "testdata/pair/*.ptx") {
		m, text := readModule(t, file)
		c := readTwins(t, file, text)[1]
		c.set = check.Races | check.Async | check.Barriers
		for _, n := range c.needs(t, m) {
			if n.Unclear {
				continue
			}
			mutant, err := m.Edited([]ptx.Edit{{Kind: ptx.Remove, Func: n.Func, At: n.Index}})
			if err != nil {
				t.Fatal(c.entry, err)
			}
			fs := c.found(t, mutant, target.Schedule{})
			if n.Needed {
				needed++
			} else {
				redundant++
			}
			if n.Needed != (len(fs) > 0) {
				t.Errorf("%s without %s at %s: needed %v for %s, found %+v", c.entry, n.Instr, n.Source,
					n.Needed, n.Variable, fs)
			}
		}
	}
	if needed < 20 || redundant == 0 {
		t.Errorf("%d barriers are needed, %d are not: too few to prove anything", needed, redundant)
	}
}

func (c *twin) needs(t *testing.T, m *ptx.Module) []check.Need {
	t.Helper()
	k, err := emu.New(chip.SM90()).Load(context.Background(), m, c.entry)
	if err != nil {
		t.Fatal(c.entry, err)
	}
	ch := check.New(check.Options{Set: check.Races | check.Redundant})
	if _, err := k.Launch(context.Background(), c.launch(m.Func(c.entry), target.Schedule{},
		ch)); err != nil {
		t.Fatal(c.entry, err)
	}
	return ch.Needs()
}
