package walk_test

import (
	"context"
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// TestBreakpointInAnUnrolledLoop: a line that was unrolled into copies with branches between them is hit in
// each copy. The maximum over a row's scores is one: between two writes of it there is a stop.
func TestBreakpointInAnUnrolledLoop(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{
		Target: "attention_causal", Shape: "partial49", Faults: []string{"mask-late"},
	}, probes.Dim3{})
	ok := must(t)
	i := slices.IndexFunc(w.Listing(), func(l walk.Listing) bool {
		return strings.HasPrefix(l.Text, "max.f32") && l.Line > 0
	})
	if i < 0 {
		t.Fatal("no maximum in the kernel")
	}
	at := w.Listing()[i]
	ok(w.Seek(ctx, math.MaxUint64))
	w.SetWarp(0)
	writes, err := w.RegisterWrites(ctx, at.Writes[0], 31)
	writes = slices.DeleteFunc(writes, func(x target.WriteSite) bool {
		return !strings.HasPrefix(x.Instr, "max.f32")
	})
	if err != nil || len(writes) < 8 {
		t.Fatalf("%d writes of %s, %v", len(writes), at.Writes[0], err)
	}
	w.SetBreakpoints([]walk.Breakpoint{{Line: at.Line}})
	ok(w.Seek(ctx, 0))
	var stops []uint64
	for p := ok(w.Continue(ctx)); p.Stop == "breakpoint"; p = ok(w.Continue(ctx)) {
		if !w.Listing()[p.Listing].Begins {
			t.Fatalf("stopped at %+v, where the listing has no place of a breakpoint", p)
		}
		if p.Warp == 0 {
			stops = append(stops, p.Step)
		}
	}
	for k, write := range writes[1:] {
		before := writes[k].Step
		if !slices.ContainsFunc(stops, func(s uint64) bool { return before < s && s <= write.Step }) {
			t.Errorf("no stop between the writes of %s at steps %d and %d", at.Writes[0], before, write.Step)
		}
	}
}

// TestBreakpointWhereAllIsInlined: on a line that has no instruction of its own, because all of its code was
// inlined from what it calls, a breakpoint stops where that begins, forwards and backwards, and its condition
// is one of the warp there.
func TestBreakpointWhereAllIsInlined(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "stage2", Shape: "small"}, probes.Dim3{})
	ok := must(t)
	own := map[string]bool{}
	spelled := func(file string, line int) string { return fmt.Sprintf("%s:%d", path.Base(file), line) }
	for _, l := range w.Listing() {
		own[spelled(l.File, l.Line)] = true
	}
	var at walk.Breakpoint
	for _, l := range w.Listing() {
		if sites := l.Calls.Sites(); len(sites) > 0 && !own[spelled(sites[0].File, sites[0].Line)] {
			at = walk.Breakpoint{File: path.Base(sites[0].File), Line: sites[0].Line}
			break
		}
	}
	if at.Line == 0 {
		t.Fatal("every line has an instruction of its own")
	}
	w.SetBreakpoints([]walk.Breakpoint{at})
	var there []walk.Position
	for p := ok(w.Continue(ctx)); p.Stop == "breakpoint"; p = ok(w.Continue(ctx)) {
		if l := w.Listing()[p.Listing]; !l.CalledFrom(at.File, at.Line) {
			t.Fatalf("stopped at %+v", l)
		}
		there = append(there, p)
	}
	if len(there) == 0 {
		t.Fatalf("%+v stops nowhere", at)
	}
	for i := len(there) - 1; i >= 0; i-- {
		if p := ok(w.Reverse(ctx)); !reflect.DeepEqual(p, there[i]) {
			t.Errorf("stop %d is %+v forwards, %+v backwards", i, there[i], p)
		}
	}
	c := conditional(t, at.Line, "if warp==1 && lane==5")
	w.SetBreakpoints([]walk.Breakpoint{c})
	ok(w.Seek(ctx, 0))
	if p := ok(w.Continue(ctx)); p.Stop != "breakpoint" || p.Warp != 1 || p.Lane != 5 {
		t.Errorf("with a condition it stopped at %+v", p)
	}
}

// TestStepBackFromAMacro: two steps back from the store of a macro that captures a value lead out of its
// line, though indices of an earlier line are computed in the middle of it.
func TestStepBackFromAMacro(t *testing.T) {
	ctx := context.Background()
	_, w := walked(t, debugkern.Request{Target: "log_softmax_row", Shape: "small"}, probes.Dim3{})
	ok := must(t)
	lines := map[int]bool{}
	p := ok(w.Step(ctx, target.StepProbe, 1))
	for ; len(lines) < 2; p = ok(w.Step(ctx, target.StepInstruction, 1)) {
		if p.Stop == "end" {
			t.Fatalf("stores of the macros on lines %v alone", lines)
		}
		l := w.Listing()[p.Listing]
		if !strings.HasPrefix(l.Text, "st.global.f32") || lines[l.Line] {
			continue
		}
		lines[l.Line] = true
		first := ok(w.Step(ctx, target.StepLine, -1))
		second := ok(w.Step(ctx, target.StepLine, -1))
		if second.Source.Line == l.Line || first.Source.Line < second.Source.Line {
			t.Errorf("two steps back from the store at line %d lead to lines %d and %d", l.Line,
				first.Source.Line, second.Source.Line)
		}
		ok(w.Seek(ctx, p.Step))
	}
}
