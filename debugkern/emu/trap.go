package emu

import (
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// A trap ends its block as a finding: what was captured before it is judged, and other blocks go on. The
// source's own (__trap() is inline assembly, assert a call) is a decision of the kernel. The compiler puts
// one where it proved the path undefined: the wrong operation is gone, the line in force is often another's,
// and the finding lists what may have been there.

// trap ends the block at a trap instruction that the lanes of m execute.
func (w *warp) trap(in *inst, m uint32) {
	msg := "the kernel executed trap"
	if in.src.Kind() == isa.Breakpoint {
		msg = "the kernel executed brkpt, which is a trap without a debugger"
	}
	consequence := ""
	if w.blk.p.syncsGrid() && !w.blk.l.Cooperative {
		consequence = "the kernel waits for its whole grid, and the launch is not cooperative: --cooperative"
	}
	if compilerMade(in.fn, in.src) {
		msg = "the compiler proved this path undefined and put a trap in its place"
		consequence = "candidates: " + strings.Join(candidates(in.fn, in.src.Index), "; ")
	}
	w.endWithTrap(in, m, msg, consequence)
}

// assertion ends the block at a failed assert: __assertfail(message, file, line, function,
// size of a character).
func assertion(w *warp, in *inst, m uint32) {
	msg := "an assertion failed"
	lane := lanesOf(m)[0]
	frame, _ := w.argFrame(in.call, lane)
	if c := in.call; len(c.copies) > 0 && c.copies[0].size == 8 {
		if text := w.blk.cString(w, lane, le.Uint64(frame[c.copies[0].from:])); text != "" {
			msg += ": " + text
		}
	}
	w.endWithTrap(in, m, msg, "")
}

// endWithTrap adds the finding and ends the block.
func (w *warp) endWithTrap(in *inst, m uint32, msg, consequence string) {
	b := w.blk
	b.broken = true
	src := w.called(in)
	if text := src.Calls.Text(src.Function); text != "" {
		msg += ", " + text
	}
	lanes := lanesOf(m)
	b.found.add(findingKey{kind: target.Trap, pc: int32(w.pcOf(in)), source: *src}, target.Finding{
		Kind: target.Trap, Severity: target.Trap.Severity(), Message: msg, Block: b.id, Warps: []int{w.id},
		Lanes:  lanes,
		KVTile: w.tile(in, lanes[0]), Source: src, Consequence: consequence, Count: 1,
	})
}

// trapped reports whether a trap ended the block.
func (b *block) trapped() bool {
	return b.broken && slices.ContainsFunc(b.found.order, func(k findingKey) bool {
		return k.kind == target.Trap
	})
}

// compilerMade reports whether the compiler put a trap there: the function has CUDA lines, and the trap is no
// inline assembly. PTX without lines was written by hand, and its traps too.
func compilerMade(f *ptx.Func, in *ptx.Instr) bool {
	return in.Kind() == isa.Trap && !in.Asm && slices.ContainsFunc(f.Body, func(i *ptx.Instr) bool {
		return i.Loc != nil && i.Loc.Line > 0
	})
}

// candidates lists what the compiler may have found undefined on the way to a trap, nearest evidence first:
// the branch that leads there, arrays of a thread indexed by a computed value, divisions by a computed value,
// then what leaves no trace.
func candidates(f *ptx.Func, trap int) []string {
	var out []string
	at := func(i int) string { return target.Blame(f, i).Place() }
	if i := deciding(f, trap); i >= 0 {
		out = append(out, "what only the condition at "+at(i)+" leads to")
	}
	index, divide := "", ""
	for i, in := range f.Body {
		switch {
		case (in.Kind() == isa.Load || in.Kind() == isa.Store) && in.Space() == ptx.SpaceLocal &&
			indexed(in) && index == "":
			index = at(i)
		case (in.Op == "div" || in.Op == "rem") && !in.Type().Float() && len(in.Args) == 3 &&
			in.Args[2].Kind == ptx.OpReg && divide == "":
			divide = at(i)
		}
	}
	local := "a local array indexed past its end (one kept in registers leaves no access)"
	if index != "" {
		local = "a local array indexed past its end, as at " + index
	}
	out = append(out, local)
	if divide != "" {
		out = append(out, "a division by zero, as at "+divide)
	} else {
		out = append(out, "a division by zero")
	}
	return append(out, "a null pointer", "a function that ends without its return",
		"a signed loop counter that overflows")
}

// indexed reports whether an access takes its address from a register.
func indexed(in *ptx.Instr) bool {
	return slices.ContainsFunc(in.Args, func(op ptx.Operand) bool {
		return op.Kind == ptx.OpAddr && op.Base == ptx.BaseReg
	})
}

// deciding is the last conditional branch that leads to the block of instruction i: one that jumps to its
// label, or falls through to it; -1 where there is none.
func deciding(f *ptx.Func, i int) int {
	for hops := 0; hops < 16; hops++ {
		begin := i
		for begin > 0 && len(f.Body[begin].Labels) == 0 && f.Body[begin-1].Kind() != isa.Branch {
			begin--
		}
		next := -1
		for j, in := range f.Body {
			jumps := in.Kind() == isa.Branch && len(in.Args) > 0 && in.Args[0].Kind == ptx.OpLabel &&
				int(in.Args[0].Target) == begin
			if in.Guard != nil && (jumps || in.Kind() == isa.Branch && j+1 == begin) {
				return j
			}
			if jumps {
				next = j
			}
		}
		if next < 0 && begin > 0 && f.Body[begin-1].Kind() != isa.Branch {
			next = begin - 1
		}
		if next < 0 {
			return -1
		}
		i = next
	}
	return -1
}
