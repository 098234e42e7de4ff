package walk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/debugkern/walk/expr"
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
			"turn":    func(n int) (walk.Position, error) { return w.Step(ctx, walk.StepTurn, n) },
			"round":   func(n int) (walk.Position, error) { return w.Step(ctx, walk.StepRound, n) },
			"async":   func(n int) (walk.Position, error) { return w.Step(ctx, walk.StepAsync, n) },
		}
		for name, step := range units {
			for range 6 {
				ok(w.Seek(ctx, rng.Uint64N(end)))
				if name != "instruction" {
					ok(step(1))
				}
				if name == "over" { // from a function that is left there is no way back
					for len(w.Frames()) > 1 {
						ok(step(1))
					}
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
				ok(step(-k))
				if name == "round" { // the current warp may have ended on the way
					w.SetWarp(from.pos.Warp)
				}
				if !reflect.DeepEqual(see(w), from) {
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

// conditional is a breakpoint on a line with a condition.
func conditional(t *testing.T, line int, text string) walk.Breakpoint {
	t.Helper()
	c, err := expr.ParseCondition(text)
	if err != nil {
		t.Fatal(err)
	}
	return walk.Breakpoint{Line: line, When: c}
}

// TestConditions: a breakpoint with a condition stops at exactly those stops of the same one without at which
// the condition holds, both ways, and a count picks the same ones from any moment.
func TestConditions(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "validation"}, probes.Dim3{0, 0, 0})
	ok := must(t)
	line := 0
	for _, l := range w.Listing() {
		if strings.HasPrefix(l.Text, "wmma.store") && l.Line > 0 && !l.Probe {
			line = l.Line
			break
		}
	}
	stops := func(b walk.Breakpoint) (out []walk.Position) {
		t.Helper()
		w.SetBreakpoints([]walk.Breakpoint{b})
		ok(w.Seek(ctx, 0))
		for p := ok(w.Continue(ctx)); p.Stop == "breakpoint"; p = ok(w.Continue(ctx)) {
			out = append(out, p)
		}
		for i := len(out) - 1; i >= 0; i-- {
			if p := ok(w.Reverse(ctx)); !reflect.DeepEqual(p, out[i]) {
				t.Errorf("%s: stop %d is %+v forwards, %+v backwards", b.When, i, out[i], p)
			}
		}
		if p := ok(w.Reverse(ctx)); p.Stop != "start" {
			t.Errorf("%s: one stop more backwards: %+v", b.When, p)
		}
		return out
	}
	all := stops(conditional(t, line, ""))
	if len(all) < 6 {
		t.Fatalf("line %d: %d stops", line, len(all))
	}
	steps := func(ps []walk.Position, keep func(i int, p walk.Position) bool) (out []uint64) {
		for i, p := range ps {
			if keep(i, p) {
				out = append(out, p.Step)
			}
		}
		return out
	}
	any := func(int, walk.Position) bool { return true }
	for _, x := range []struct {
		text string
		keep func(i int, p walk.Position) bool
	}{
		{"warp == 1", func(_ int, p walk.Position) bool { return p.Warp == 1 }},
		{"kv == 0 && warp != 0", func(_ int, p walk.Position) bool { return p.KVTile == 0 && p.Warp != 0 }},
		{"lane == 3 && kv == 1", func(_ int, p walk.Position) bool { return p.KVTile == 1 }},
		{"active && lane == 31", any}, {"lane == 32", func(int, walk.Position) bool { return false }},
		{"threadIdx.x == 40", func(_ int, p walk.Position) bool { return p.Warp == 1 }},
		{"hits >= 3", func(i int, _ walk.Position) bool { return i >= 2 }},
		{"hits % 2", func(i int, _ walk.Position) bool { return i%2 == 1 }},
		{"hits == 4", func(i int, _ walk.Position) bool { return i == 3 }},
	} {
		got, want := steps(stops(conditional(t, line, x.text)), any), steps(all, x.keep)
		if !slices.Equal(got, want) {
			t.Errorf("%s: stops at %v, expected %v", x.text, got, want)
		}
	}
	// from the middle, the count is the same
	w.SetBreakpoints([]walk.Breakpoint{conditional(t, line, "hits == 5")})
	ok(w.Seek(ctx, all[2].Step))
	if p := ok(w.Continue(ctx)); p.Step != all[4].Step || !strings.HasSuffix(p.Note, "hit 5") ||
		p.Breakpoint != 0 {
		t.Errorf("hits == 5 from stop 3 leads to %+v, expected %+v", p, all[4])
	}
	w.SetBreakpoints([]walk.Breakpoint{conditional(t, line, ""), {Stage: "S"}, conditional(t, line,
		"warp==1")})
	here := see(w)
	n, err := w.Hits(ctx)
	if err != nil || n[0].Times != 5 || n[2].Times >= 5 || n[2].Warps != 1 || n[0].Warps < 2 ||
		n[1].Warps != 0 || !reflect.DeepEqual(see(w), here) {
		t.Errorf("hits %v, %v, at %+v", n, err, w.Position())
	}
	// from where it was set: before that it is not hit, and the hit at that moment is the first
	later := conditional(t, line, "hits == 2")
	later.From = all[3].Step
	w.SetBreakpoints([]walk.Breakpoint{later})
	ok(w.Seek(ctx, 0))
	if p := ok(w.Continue(ctx)); p.Step != all[4].Step {
		t.Errorf("hits == 2 from stop 4 leads to %+v, expected %+v", p, all[4])
	}
	if n, err := w.Hits(ctx); err != nil || n[0].Times != 2 {
		t.Errorf("hits %v, %v, expected 2 from stop 4", n, err)
	}
	if p := ok(w.Reverse(ctx)); p.Stop == "breakpoint" {
		t.Errorf("going back stops at %+v", p)
	}
	ok(w.Seek(ctx, all[4].Step))
	// counted from the middle, without having been there before
	other := []walk.Breakpoint{conditional(t, line+1, "step > 0"), conditional(t, line, "step > 1")}
	w.SetBreakpoints(other)
	ok(w.Seek(ctx, all[7].Step-1))
	ok(w.Continue(ctx))
	if n, err := w.Hits(ctx); err != nil || n[1].Times != 8 {
		t.Errorf("hits %v, %v at stop 8", n, err)
	}
	w.SetBreakpoints([]walk.Breakpoint{conditional(t, line, "sS[lane + 1000][0] > 0")})
	ok(w.Seek(ctx, 0))
	if p := ok(w.Continue(ctx)); p.Step != all[0].Step ||
		!strings.Contains(p.Note, "first index of sS is 1000") {
		t.Errorf("a condition without a value: %+v", p)
	}
}

// TestConditionsOnCellsAndStages: with the values of the moment at which the cell has changed, or the stage
// was captured.
// TestConditionsOnRegistersOfOneCopy: a line that was unrolled is several places with registers of their
// own. A condition on the register of one stops there alone, both ways, not where it has what that one left.
func TestConditionsOnRegistersOfOneCopy(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{0, 0, 0})
	ok := must(t)
	line, name := 0, ""
	used := func(register string) bool {
		return slices.ContainsFunc(w.Registers(), func(r walk.Register) bool { return r.Name == register })
	}
	for _, l := range w.Listing() { // a rounding that reads a register which an earlier line wrote
		from, is := strings.CutPrefix(l.Text, "cvt.rn.f16.f32 ")
		if _, name, _ = strings.Cut(from, ", "); !is || l.Line <= 0 || l.Probe || l.Line == line {
			continue
		}
		line = l.Line
		places := map[int]bool{}
		w.SetBreakpoints([]walk.Breakpoint{conditional(t, line, "")})
		ok(w.Seek(ctx, 0))
		for p := ok(w.Continue(ctx)); p.Stop == "breakpoint"; p = ok(w.Continue(ctx)) {
			places[p.PC] = used(name)
		}
		in := slices.Collect(maps.Values(places))
		if slices.Contains(in, true) && slices.Contains(in, false) {
			break
		}
		name = ""
	}
	if name == "" {
		t.Fatal("no line has a place at which the register of another one is not in use")
	}
	w.SetBreakpoints([]walk.Breakpoint{conditional(t, line, name+" == "+name)})
	for _, dir := range []func(context.Context) (walk.Position, error){w.Reverse, w.Continue} {
		stops := 0
		for p := ok(dir(ctx)); p.Stop == "breakpoint"; p = ok(dir(ctx)) {
			stops++
			if !used(name) {
				t.Fatalf("step %d, pc %d: %s is not in use", p.Step, p.PC, name)
			}
		}
		if stops == 0 {
			t.Errorf("no stop at line %d if %s == %s", line, name, name)
		}
	}
}

func TestConditionsOnCellsAndStages(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "validation"}, probes.Dim3{0, 0, 0})
	ok := must(t)
	first := func(b walk.Breakpoint, text string) walk.Position {
		b.When, _ = expr.ParseCondition(text)
		w.SetBreakpoints([]walk.Breakpoint{b})
		ok(w.Seek(ctx, 0))
		return ok(w.Continue(ctx))
	}
	cell := walk.Breakpoint{Array: "sS", Row: 3, Col: 30}
	p := first(cell, "sS[3][30] != 0")
	v, err := evaluate(w, "sS[3][30]", 0)
	if p.Stop != "breakpoint" || err != nil || !v.Holds() {
		t.Errorf("%+v: sS[3][30] is %s, %v", p, v, err)
	}
	sites, err := w.Writes(ctx, "sS", 3, 30)
	if err != nil || len(sites) == 0 || sites[len(sites)-1].Source == nil {
		t.Fatalf("writes %+v, %v", sites, err)
	}
	line := sites[len(sites)-1].Source.Line
	if !strings.Contains(p.Note, fmt.Sprintf(", written at line %d", line)) || p.Writer == nil ||
		p.Writer.Source.Line != line {
		t.Errorf("%q, %+v, written at line %d", p.Note, p.Writer, line)
	}
	if w.SetWarp(p.Warp ^ 1); w.Position().Writer != p.Writer {
		t.Errorf("another warp is looked at: %+v, expected %+v", w.Position().Writer, p.Writer)
	}
	if p := ok(w.Step(ctx, target.StepInstruction, 1)); p.Writer != nil {
		t.Errorf("a step later %+v", p.Writer)
	}
	for _, name := range []string{"sKT", "sK_u8"} { // by a store of a vector, by cp.async
		p := first(walk.Breakpoint{Array: name, Row: 3, Col: 5}, "")
		if sites, err = w.Writes(ctx, name, 3, 5); err != nil || len(sites) == 0 || p.Writer == nil ||
			sites[len(sites)-1].PC != p.Writer.PC {
			t.Errorf("%+v, %+v: writes %+v, %v", p, p.Writer, sites, err)
		}
	}
	if p := first(cell, "sS[3][30] > 1e6"); p.Stop != "end" {
		t.Errorf("stopped at %+v", p)
	}
	if p := first(walk.Breakpoint{Stage: "S"}, "hits == 1"); !strings.HasPrefix(p.Note, "S of kv tile 0") {
		t.Errorf("%+v", p)
	}
	if p := first(walk.Breakpoint{Stage: "S"}, "kv == 7"); p.Stop != "end" {
		t.Errorf("%+v", p)
	}
}

func evaluate(w walk.Walk, text string, lane int) (expr.Value, error) {
	e, err := expr.Parse(text)
	if err != nil {
		return expr.Value{}, err
	}
	if err := e.Check(w.State()); err != nil {
		return expr.Value{}, err
	}
	return e.Eval(w.State(), lane)
}

// TestState compares what expressions read with what the walk shows elsewhere.
func TestState(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "validation"}, probes.Dim3{0, 1, 0})
	p := must(t)(w.Seek(ctx, 3000))
	for _, r := range w.Registers() {
		for _, lane := range []int{0, 17} {
			v, err := evaluate(w, fmt.Sprintf("%s@lane%d", r.Name, lane), 3)
			if err != nil || r.Type != "pred" && v.Bits != r.Bits[lane] || v.Holds() != (r.Bits[lane] != 0) {
				t.Errorf("%s lane %d is %s, %v; expected %x", r.Name, lane, v, err, r.Bits[lane])
			}
		}
	}
	view, _ := w.Shared("sQ")
	for i := range 40 {
		row, col := i%view.Tile.Rows, i*7%view.Tile.Cols
		v, err := evaluate(w, fmt.Sprintf("sQ[%d][%d]", row, col), 0)
		if err != nil || v.Bits != view.Tile.Bits(row, col) ||
			v.Unwritten == view.Written[row*view.Tile.Cols+col] {
			t.Errorf("sQ[%d][%d] is %s, %v", row, col, v, err)
		}
	}
	for text, want := range map[string]int64{
		"step": 3000, "warp": int64(p.Warp), "kv": int64(p.KVTile), "lane": 9, "blockIdx.y": 1, "%ctaid.x": 0,
		"thread": int64(p.Warp*32 + 9), "threadIdx.x": int64(p.Warp*32 + 9), "blockDim.x": 128,
		"pc":     int64(p.PC),
		"active": int64(p.Mask >> 9 & 1),
	} {
		if v, err := evaluate(w, text, 9); err != nil || v.Int != want {
			t.Errorf("%s is %s, %v; expected %d", text, v, err, want)
		}
	}
	for text, want := range map[string]string{
		"%r99999": "the kernel has no register %r99999 (%r0 to", "%nope1": "no register %nope1",
		"sX[1]": `no shared array "sX" in this build (shared arrays: `, "sQ[1]": "2 dimensions",
		"sQ[999][0]":   "the first index of sQ is 999, expected 0 to ",
		"sQ[0][4 - 5]": "the second index of sQ is -1",
	} {
		if v, err := evaluate(w, text, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %s, %v; expected %s", text, v, err, want)
		}
	}
}

// TestFrames: the calls that code was inlined through, stepping out of them, and stepping over them.
func TestFrames(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{0, 0, 0})
	ok := must(t)
	if _, err := w.StepOut(ctx, 1); !errors.Is(err, walk.ErrOutermost) {
		t.Fatalf("out of the kernel: %v", err)
	}
	deep := 0
	for n := 0; n < 400 && deep < 12; n++ {
		from := ok(w.Step(ctx, target.StepLine, 1))
		in := w.Frames()
		if len(in) == 0 || in[0].Line != from.Source.Line {
			t.Fatalf("at %+v: frames %+v", from, in)
		}
		if len(in) == 1 {
			continue
		}
		deep++
		if in[0].Function == "" || in[len(in)-1].Function == "" {
			t.Errorf("frames without names: %+v", in)
		}
		if p := ok(w.StepOut(ctx, 1)); p.Stop == "step" && p.Note == "" && len(w.Frames()) > len(in) {
			t.Errorf("out of %+v leads to %+v", in, w.Frames())
		}
		ok(w.Seek(ctx, from.Step))
		w.SetWarp(from.Warp)
		if p := ok(w.StepOut(ctx, -1)); p.Step >= from.Step {
			t.Errorf("back out of step %d leads to %+v", from.Step, p)
		}
		ok(w.Seek(ctx, from.Step))
		w.SetWarp(from.Warp)
	}
	if deep == 0 {
		t.Error("nothing is inlined")
	}
}

// TestInlinedHelpers: in a kernel whose lines call helpers that call helpers, every step out ends in the
// caller of the chain at hand, or further out, and every step over, forwards and backwards, in a line of the
// same function at the same depth, or of a caller: never in a helper that is called from there.
func TestInlinedHelpers(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "swizzle3a", Shape: "small"}, probes.Dim3{0, 0, 0})
	ok := must(t)
	ok(w.Seek(ctx, 3000))
	chain := func(frames []walk.Frame) string { return fmt.Sprint(frames) }
	outer := func(of []walk.Frame, n int) string { return chain(of[len(of)-n:]) }
	callers, further, bodies, helpers := 0, 0, 0, 0
	for range 400 {
		from := ok(w.Step(ctx, target.StepLine, 1))
		in := w.Frames()
		if from.Stop != "step" || len(in) == 0 {
			continue
		}
		again := func() {
			ok(w.Seek(ctx, from.Step))
			w.SetWarp(from.Warp)
		}
		if len(in) > 1 {
			for _, n := range []int{1, -1} {
				p := ok(w.StepOut(ctx, n))
				if out := w.Frames(); p.Stop == "step" {
					if len(out) >= len(in) || outer(out, len(out)-1) != outer(in, len(out)-1) {
						t.Fatalf("step %d: %d out of %+v leads to %+v", from.Step, n, in, out)
					}
					if p.Source.Line != out[0].Line {
						t.Fatalf("out of %+v: line %d, frames %+v", in, p.Source.Line, out)
					}
					if len(out) == len(in)-1 {
						callers++
					} else {
						further++
					}
				}
				again()
			}
			helpers++
		} else {
			bodies++
		}
		for _, n := range []int{-1, 1} {
			p := ok(w.StepOver(ctx, n))
			out := w.Frames()
			if p.Stop == "step" && (len(out) > len(in) || outer(out, len(out)-1) != outer(in, len(out)-1)) {
				t.Fatalf("step %d: %d over from %+v leads to %+v", from.Step, n, in, out)
			}
			again()
		}
	}
	if callers < 4*further || callers == 0 || bodies == 0 || helpers == 0 {
		t.Errorf("%d in a helper, %d in the body; out to the caller %d times, further out %d", helpers, bodies,
			callers, further)
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
