package walk_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// moment is everything that can be seen of a walk's state.
type moment struct {
	pos    walk.Position
	warps  []target.Warp
	regs   []walk.Register
	shared map[string]walk.SharedView
}

func see(w walk.Walk) moment {
	m := moment{
		pos: w.Position(), warps: w.Warps(), regs: w.Registers(), shared: map[string]walk.SharedView{},
	}
	m.pos.Stop, m.pos.Note = "", ""
	for _, a := range w.Arrays() {
		m.shared[a.Name], _ = w.Shared(a.Name)
	}
	return m
}

func walked(t *testing.T, req debugkern.Request, block probes.Dim3) (*debugkern.Run, walk.Walk) {
	t.Helper()
	run := debugtest.Run(t, req)
	w, err := run.Walk(context.Background(), block)
	if err != nil {
		t.Fatal(err)
	}
	return run, w
}

// must is a motion that ends well.
func must(t *testing.T) func(walk.Position, error) walk.Position {
	return func(p walk.Position, err error) walk.Position {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// TestStepsThereAndBack goes from random moments k units forwards and k back: what can be seen is the same.
// Units of more than an instruction start at a beginning of theirs.
func TestStepsThereAndBack(t *testing.T) {
	ctx := context.Background()
	for _, schedule := range []string{"in-order:0", "random:4"} {
		_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small", Schedule: schedule},
			probes.Dim3{0, 0, 0})
		ok := must(t)
		end := ok(w.Seek(ctx, math.MaxUint64)).Step
		if end < 1000 || w.Position().Stop != "end" {
			t.Fatalf("the block ends at %+v", w.Position())
		}
		rng := rand.New(rand.NewPCG(1, 5))
		units := map[string]func(n int) (walk.Position, error){
			"instruction": func(n int) (walk.Position, error) {
				return w.Step(ctx, target.StepInstruction, n)
			},
			"line":    func(n int) (walk.Position, error) { return w.Step(ctx, target.StepLine, n) },
			"over":    func(n int) (walk.Position, error) { return w.StepOver(ctx, n) },
			"barrier": func(n int) (walk.Position, error) { return w.Step(ctx, target.StepBarrier, n) },
			"probe":   func(n int) (walk.Position, error) { return w.Step(ctx, target.StepProbe, n) },
		}
		for name, step := range units {
			for range 6 {
				ok(w.Seek(ctx, rng.Uint64N(end)))
				if name != "instruction" {
					ok(step(1))
				}
				from, k := see(w), 1+rng.IntN(9)
				if from.pos.Warp < 0 || walk.Over(w) {
					continue
				}
				moved := 0
				for moved < k {
					p := ok(step(1))
					if p.Stop == "end" || p.Note != "" && p.Stop == "step" { // the warp's last
						ok(w.Seek(ctx, p.Step))
						break
					}
					moved++
				}
				if moved < k {
					continue
				}
				there := w.Position().Step
				if ok(step(-k)); !reflect.DeepEqual(see(w), from) {
					t.Fatalf("%s, %s: %d steps from %+v to %d and back: %+v", schedule, name, k, from.pos,
						there, w.Position())
				}
				if p := ok(step(k)); p.Step != there {
					t.Errorf("%s, %s: %d steps at once lead to %d, one by one to %d", schedule, name, k,
						p.Step, there)
				}
			}
		}
	}
}

// TestWhoWroteLeadsThere compares Writes with what stepping over each write changes, and the last of them
// before the tile was captured with Run.Writer.
func TestWhoWroteLeadsThere(t *testing.T) {
	ctx := context.Background()
	run, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{0, 0, 0})
	ok := must(t)
	ok(w.Seek(ctx, math.MaxUint64))
	ws, err := w.Writes(ctx, "sS", 9, 13)
	if err != nil || len(ws) == 0 {
		t.Fatal(ws, err)
	}
	for _, x := range ws {
		p := ok(w.Seek(ctx, x.Step))
		if p.Warp != x.Warp || w.Listing()[p.Listing].Text != x.Instr || x.Source == nil ||
			*p.Source != *x.Source || x.Fragment == "" {
			t.Errorf("at %+v, expected %+v", p, x)
		}
		p = ok(w.Step(ctx, target.StepInstruction, 1))
		if v, _ := w.Shared("sS"); !v.Written[9*v.Tile.Cols+13] {
			t.Errorf("not written after %+v: %+v", x, p)
		}
	}
	at, err := run.Writer(ctx, debugkern.Cell{Place: debugkern.Place{Stage: "S"}, Row: 9, Col: 13})
	if err != nil || at.Step != ws[0].Step || at.Lane != ws[0].Lane {
		t.Errorf("the run says %+v, the walk %+v: %v", at, ws[0], err)
	}
}

// TestBreakpoints stops at lines, captures and changes of a cell, both ways alike.
func TestBreakpoints(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{0, 0, 0})
	ok := must(t)
	line := 0
	for _, l := range w.Listing() {
		if l.PC > walk.Lines(w)/2 && l.Line > 0 && !l.Probe {
			line = l.Line
			break
		}
	}
	for _, b := range []walk.Breakpoint{
		{Line: line}, {Stage: "S"}, {Stage: "P"}, {Array: "sS", Row: 3, Col: 30},
	} {
		w.SetBreakpoints([]walk.Breakpoint{b})
		ok(w.Seek(ctx, 0))
		var there []walk.Position
		for p := ok(w.Continue(ctx)); p.Stop == "breakpoint"; p = ok(w.Continue(ctx)) {
			there = append(there, p)
		}
		if len(there) == 0 || len(there) > 400 {
			t.Fatalf("%+v: %d stops", b, len(there))
		}
		if b.Line > 0 && there[0].Source.Line != line {
			t.Errorf("%+v: stopped at %+v", b, there[0])
		}
		for i := len(there) - 1; i >= 0; i-- {
			if p := ok(w.Reverse(ctx)); !reflect.DeepEqual(p, there[i]) {
				t.Errorf("%+v: stop %d is %+v forwards, %+v backwards", b, i, there[i], p)
			}
		}
		if p := ok(w.Reverse(ctx)); p.Stop != "start" || p.Step != 0 {
			t.Errorf("%+v: the last way back ends at %+v", b, p)
		}
	}
}

// TestRegisterWrites finds the writes of an accumulator, and the values that stepping over them shows.
func TestRegisterWrites(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{0, 0, 0})
	ok := must(t)
	ok(w.Step(ctx, target.StepBarrier, 3))
	for w.Position().Stop != "end" && len(w.Registers()) == 0 {
		ok(w.Step(ctx, target.StepInstruction, 1))
	}
	for _, r := range w.Registers()[:min(6, len(w.Registers()))] {
		here := see(w)
		ws, err := w.RegisterWrites(ctx, r.Name, 5)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(see(w), here) {
			t.Fatal("asking moved the block")
		}
		for i, x := range ws {
			if x.Step >= here.pos.Step || x.Lane != 5 || i > 0 && ws[i-1].Step >= x.Step {
				t.Errorf("%s: %+v", r.Name, x)
			}
		}
		if len(ws) > 0 {
			ok(w.Seek(ctx, ws[len(ws)-1].Step))
			if !w.Registers()[0].Named {
				t.Errorf("%s is not named where it is written", r.Name)
			}
			ok(w.Seek(ctx, here.pos.Step))
			w.SetWarp(here.pos.Warp)
		}
	}
}

// TestWalkIsCalledOff leaves the block where it was.
func TestWalkIsCalledOff(t *testing.T) {
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{0, 0, 0})
	must(t)(w.Seek(context.Background(), 333))
	here := see(w)
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	err := walk.RunToEnd(ctx, w, func() {
		if n++; n == 1500 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || n > 1500+256 || !reflect.DeepEqual(see(w), here) {
		t.Errorf("%v after %d events, at %+v", err, n, w.Position())
	}
	if p, err := w.Continue(ctx); !errors.Is(err, context.Canceled) || p != w.Position() {
		t.Error(p, err)
	}
}

// TestMarksAreThinned keeps a bounded number of snapshots, and the way back right.
func TestMarksAreThinned(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{0, 0, 0})
	walk.MarkAlways(w)
	ok := must(t)
	for range 3 * walk.MaxMarks {
		ok(w.Step(ctx, target.StepInstruction, 1))
		if n := walk.Mark(w); n > walk.MaxMarks {
			t.Fatalf("%d marks", n)
		}
	}
	want := see(w)
	ok(w.Step(ctx, target.StepInstruction, -20))
	if ok(w.Step(ctx, target.StepInstruction, 20)); !reflect.DeepEqual(see(w), want) {
		t.Error("another state")
	}
}

// No steps of any unit are no motion.
func TestWalkOfNoSteps(t *testing.T) {
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "single16", Backend: "emu"}, probes.Dim3{})
	at, err := w.Step(context.Background(), target.StepInstruction, 5)
	if err != nil {
		t.Fatal(err)
	}
	for u := target.StepInstruction; u <= target.StepEnd; u++ {
		if now, err := w.Step(context.Background(), u, 0); err != nil || now != at {
			t.Errorf("unit %d: %+v, %v; was %+v", u, now, err, at)
		}
	}
}
