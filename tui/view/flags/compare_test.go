package flags_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"tilescope/configs"
	"tilescope/tui/tuitest"
	"tilescope/tui/view"
	"tilescope/tui/view/viewtest"
)

// pinnedAgainst is a driver with stage2 pinned as A and p-stale-m on screen as B, in Flags.
func pinnedAgainst(t *testing.T, w, h int) *viewtest.Driver {
	return viewtest.Start(t, w, h).Press("4", "a").Command("fault p-stale-m")
}

func TestBisectShowsTheSmallestSet(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("4", "B")
	d.HasStatus("no run is pinned")
	d = pinnedAgainst(t, 120, 40)
	d.M.Req.Seed = 7 // the run on screen decides, not what is asked for next
	d.Press("B").HasStatus("smallest set: +p-stale-m")
	if a, b := d.E.Bisected[0], d.E.Bisected[1]; len(a.Faults) != 0 || len(b.Faults) != 1 ||
		a.Seed != b.Seed || a.Shape != b.Shape {
		t.Errorf("bisected %+v, %+v", a, b)
	}
	for _, want := range []string{
		"smallest set: +p-stale-m", "every smaller set was tried", "✓ agree: USE_CP_ASYNC=0",
		"✗ diverge (P): +p-stale-m", "– unresolved: +p-stale-m USE_CP_ASYNC=0: fault",
		"tilescope compare stage2 stage2", "or set the flags", // the reason of the last step, wrapped
	} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
	n := len(d.E.Asked())
	d.Press("enter")
	ran := d.E.Asked()[n:]
	if len(ran) != 2 || len(ran[0].Faults) != 1 || len(ran[1].Faults) != 0 {
		t.Fatalf("the pair: ran %+v", ran)
	}
	d.HasStatus("A and B differ first in P")
}

func TestCompareKernelAgainstKernel(t *testing.T) {
	d := pinnedAgainst(t, 120, 40).Press("C")
	d.HasStatus("A and B differ first in P")
	for _, want := range []string{
		"A AGAINST B, BIT BY BIT", "P  ≠ 137/65536, most 1.5000, 1024 ulp", "S  ✓ 65536 cells equal",
		"only run B has V",
	} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
	d.Press("enter")
	if c := d.M.Cursor; d.M.Showing() != view.Tile || c.Stage != "P" || c.KVTile != 1 ||
		c.Row != 4 || c.Col != 9 {
		t.Fatalf("view %s, cursor %+v", d.M.Showing(), c)
	}
	for _, want := range []string{"A stage2", "B stage2 p-stale-m", "B - A ulp", "from A"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
	d.Press("n").HasStatus("cell where A and B differ")
	d.Press("D").HasStatus("kernel, reference, error")
	d.Press("4").Command("unpin")
	if d.M.Run.Pair != nil || strings.Contains(d.Press("2").Text(), "B - A") {
		t.Error("A is still beside B")
	}
}

// B and C while the run after a change is under way wait for that run. They are not done where it was
// cancelled, could not run, or another was asked for in its place.
func TestBisectAndCompareWaitForTheRun(t *testing.T) {
	running := func(key string) *viewtest.Driver {
		d := viewtest.Start(t, 120, 40).Press("4", "a")
		d.Manual = true
		d.Command("fault p-stale-m").Press(key)
		return d
	}
	d := running("B")
	d.HasStatus("the bisection starts when this run has ended")
	d.Late()
	d.HasStatus("smallest set: +p-stale-m")
	d = running("C")
	d.HasStatus("the comparison starts when this run has ended")
	d.Late()
	d.HasStatus("A and B differ first in P")

	d = running("B").Press("esc")
	d.HasStatus("cancelled")
	d.Late()
	d = running("B").Command("seed 5")
	d.Late()
	if d.E.Bisected[1].Target != "" || !strings.Contains(d.Text(), "seed 5") {
		t.Errorf("bisected %+v after another request:\n%s", d.E.Bisected, d.Text())
	}
	d = running("B")
	d.E.Fail = errors.New("no such fault")
	d.Late()
	d.E.Fail = nil
	d.Press("x")
	if d.E.Bisected[1].Target != "" {
		t.Errorf("bisected %+v after a run that failed", d.E.Bisected)
	}
}

// An equal pair says so, and has nowhere to go.
func TestCompareEqual(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("4", "a", "C")
	d.HasStatus("equal to the bit")
	d.Press("enter").HasStatus("no cell differs")
}

func TestVersusScreens(t *testing.T) {
	for _, size := range viewtest.Sizes {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			d := pinnedAgainst(t, size[0], size[1]).Press("C", "B")
			d.Fits("bisected")
			screen := d.Text()
			d.Press("C")
			d.Fits("compared")
			screen += "\n" + d.Text()
			d.Press("enter")
			d.Fits("beside each other")
			golden.RequireEqual(t, screen+"\n"+d.Text()+"\n")
		})
	}
}

// TestComparedFiguresAreWhole: at every width the numbers of A's and B's stages are written in full.
func TestComparedFiguresAreWhole(t *testing.T) {
	for _, w := range []int{80, 100, 120, 200} {
		d := pinnedAgainst(t, w, 60)
		n := 0
		for _, l := range strings.Split(d.Text(), "\n") {
			if i := strings.LastIndex(l, "P   "); i >= 0 && strings.Contains(l, "137") {
				if n++; strings.Contains(l[i:], "…") || !strings.Contains(l[i:], "1.3") {
					t.Errorf("%d columns: %q", w, l)
				}
			}
		}
		if n == 0 {
			t.Errorf("%d columns: no line of stage P with its bad cells:\n%s", w, d.Text())
		}
	}
}

// TestBisectNamesTheFlagsOfItsEnds: two runs of one target differ by their flags, also where there is
// nothing to bisect.
func TestBisectNamesTheFlagsOfItsEnds(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("4", "a").Command("flag USE_CP_ASYNC off").Press("B")
	for _, want := range []string{
		"A ✓ stage2: agree", "B ✓ stage2 USE_CP_ASYNC=0: agree", "the same verdict",
		"a race changes nothing in many orders of warps",
	} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
}

// TestBisectPointsToTheDiagnosis: where both ends agree a race may all the same be there; where both are
// wrong another run is wanted.
func TestBisectPointsToTheDiagnosis(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("4", "a").Command("flag USE_CP_ASYNC off").Press("B")
	d.HasStatus(":diagnose looks for races in B")
	if d.Command("diagnose"); d.M.Showing() != view.Races {
		t.Errorf("it shows %s", d.M.Showing())
	}
	d = viewtest.Start(t, 120, 40, viewtest.Request(viewtest.Faulty)).Press("4", "a")
	d.Command("flag USE_CP_ASYNC off").Press("B")
	d.HasStatus("A and B both diverge: nothing to bisect; pin a run with another verdict")
	if strings.Contains(d.Text(), "a race changes nothing") {
		t.Errorf("both are wrong:\n%s", d.Text())
	}
}

// Esc ends a bisection; its answer, when it comes, is dropped.
func TestBisectCancelled(t *testing.T) {
	d := pinnedAgainst(t, 80, 24)
	d.Manual = true
	d.Press("B")
	d.Press("esc").HasStatus("the bisection cancelled")
	d.Late()
	if strings.Contains(d.Text(), "smallest set") || d.M.Task.Active {
		t.Error("a cancelled bisection is shown")
	}
}

func TestPinnedRunStandsBesideTheNext(t *testing.T) {
	d := viewtest.Start(t, 120, 40).Press("4", "a").Command("fault p-stale-m").Press("4")
	for _, want := range []string{"A stage2", "B stage2 p-stale-m", "✓ agree", "✗ diverge"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
	if d.Press("A"); strings.Contains(d.Text(), "A stage2") {
		t.Error("still pinned")
	}
}

// TestCompareWithin: a tolerance is given with the command, and is part of what the comparison says.
func TestCompareWithin(t *testing.T) {
	d := pinnedAgainst(t, 120, 40)
	d.Command("compare 1e-3,1e-5")
	for _, want := range []string{"A AGAINST B, WITHIN A TOLERANCE", "rtol 0.001, atol 1e-05 of the larger"} {
		if !strings.Contains(d.Text(), want) {
			t.Errorf("no %q:\n%s", want, d.Text())
		}
	}
	for _, bad := range []string{"small", "-1", "1e-3,NaN", "1,2,3"} {
		d.Command("compare " + bad)
		if !strings.Contains(d.Text(), "expected RTOL or RTOL,ATOL") {
			t.Errorf("%s:\n%s", bad, d.Text())
		}
	}
	d.Command("compare")
	if !strings.Contains(d.Text(), "BIT BY BIT") {
		t.Errorf("without a tolerance:\n%s", d.Text())
	}
}

// TestAnotherKernelIsNotCompared: A, and what was bisected, of one kernel are compared with no run of
// another, by no table and by no command; back on its own kernel they are there again.
func TestAnotherKernelIsNotCompared(t *testing.T) {
	cat, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	d := viewtest.Start(t, 120, 40, viewtest.Engine(func(e *tuitest.Engine) { e.Cat = cat })).
		Press("4", "a").Command("fault p-stale-m").Press("B")
	if d.Says("BISECTED"); t.Failed() {
		return
	}
	d.Command("variant gemm_wmma")
	for _, never := range []string{"BISECTED", "equal bits", "run A: "} {
		if strings.Contains(d.Text(), never) {
			t.Errorf("%q on another kernel:\n%s", never, d.Text())
		}
	}
	d.Says("run A stage2", "A is of another kernel")
	runs := len(d.E.Asked())
	for _, key := range []string{"B", "C"} {
		d.Press(key).HasStatus("A is of another kernel, with other stages: a pins a run of this one, A unpins A")
	}
	if n := len(d.E.Asked()) - runs; n != 0 || !d.M.Status.Bad {
		t.Errorf("%d runs", n)
	}
	if d.Command("variant stage1").Says("run A: ", "equal bits", "BISECTED"); !d.M.Current() {
		t.Error("it has not run")
	}
	d.Command("variant gemm_wmma").Press("a").Command("seed 3")
	d.Says("stage run A: ") // its stages are called A and B too
}

// TestErrorsAreNamed: where runs are compared their figures are headed "max error" at every size, and the
// legend has both names of errors.
func TestErrorsAreNamed(t *testing.T) {
	for _, size := range viewtest.Sizes {
		d := viewtest.Start(t, size[0], size[1]).Open(view.Flags).Press("a")
		d.Command("fault p-stale-m on").Open(view.Flags).Says("max error", " bad")
		if strings.Contains(d.Text(), "A: error") {
			t.Errorf("%v: an error without a name:\n%s", size, d.Text())
		}
		d.Fits("flags")
		d.Press("tab", "?").Says("max error", "worst error")
	}
}
