package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// fenceMissing are the two lines in the text of a fence that is missing between blocks: that of the access
// ahead of the write of the flag, that of the access behind the read of it.
var fenceMissing = regexp.MustCompile(`^` + regexp.QuoteMeta(target.MemoryFence) +
	`(?: between (\S+):(\d+) and the write of the flag)?(?:.* between the read of the flag and ([^\s,]+):(\d+))?`)

// scopeMissing are the instruction and its line in the text of a scope that reaches the own block only.
var scopeMissing = regexp.MustCompile(`^` + regexp.QuoteMeta(target.WiderScope) +
	` for the (\S+) at (\S+):(\d+)`)

// fenceRemedies order two blocks that hand data on by a flag: a fence ahead of the write of the flag, behind
// the read of it, or both; or the scope of the device for an instruction whose scope is the block.
func fenceRemedies(fn *ptx.Func, f *report.Finding) []remedy {
	if f.Missing == nil {
		return nil
	}
	if m := scopeMissing.FindStringSubmatch(*f.Missing); m != nil {
		return scopeRemedies(fn, m[1], &report.Source{File: m[2], Line: number(m[3])})
	}
	m := fenceMissing.FindStringSubmatch(*f.Missing)
	if m == nil {
		return nil
	}
	var ahead, behind []int
	var written, read string
	if m[1] != "" {
		first := &report.Source{File: m[1], Line: number(m[2])}
		ahead = flagWrites(fn, accessesAt(fn, first))
		written = "before the write of the flag at " + onLines(fn, ahead)
	}
	if m[3] != "" {
		then := &report.Source{File: m[3], Line: number(m[4])}
		behind = flagReads(fn, accessesAt(fn, then))
		read = "after the read of the flag at " + onLines(fn, behind)
	}
	edits := func(at []int, more int) (out []ptx.Edit) {
		for _, i := range at {
			out = append(out, ptx.Edit{
				Kind: ptx.Insert, Func: fn.Name, At: i + more,
				New: &ptx.Instr{Op: "fence", Mods: []string{"acq_rel", "gpu"}},
			})
		}
		return out
	}
	var out []remedy
	for _, way := range []struct {
		where string
		edits []ptx.Edit
		fits  bool
	}{
		{written, edits(ahead, 0), len(ahead) > 0},
		{read, edits(behind, 1), len(behind) > 0},
		{written + " and " + read, append(edits(ahead, 0), edits(behind, 1)...), len(ahead)*len(behind) > 0},
	} {
		if way.fits {
			what := target.MemoryFence + " " + way.where
			out = append(out, remedy{
				text: "with " + what, advice: "put " + what, at: blame(fn, slices.Concat(ahead, behind)[0]),
				cite: true, edits: func(*debugkern.Run) []ptx.Edit { return way.edits },
			})
		}
	}
	return out
}

// scopeRemedies gives the instructions of a line that have such an opcode the scope of the device.
func scopeRemedies(fn *ptx.Func, opcode string, at *report.Source) []remedy {
	var edits []ptx.Edit
	for _, i := range instructionsAt(fn, at) {
		if in := fn.Body[i]; in.Opcode() == opcode {
			wide := "gpu"
			if in.Op == "membar" {
				wide = "gl"
			}
			edits = append(edits, ptx.Edit{Kind: ptx.Replace, Func: fn.Name, At: i, New: in.With(
				func(in *ptx.Instr) {
					in.Mods = slices.Clone(in.Mods)
					for k := range in.Mods {
						if in.Mods[k] == "cta" {
							in.Mods[k] = wide
						}
					}
				})})
		}
	}
	if len(edits) == 0 {
		return nil
	}
	what := fmt.Sprintf("the scope of the device for the %s at line %d", opcode, at.Line)
	return []remedy{{
		text: "with " + what, at: at, cite: true,
		advice: fmt.Sprintf("give the %s at %s the scope of the device: %s, not __threadfence_block(); "+
			"cuda::thread_scope_device", opcode, at.At(), target.MemoryFence),
		edits: func(*debugkern.Run) []ptx.Edit { return edits },
	}}
}

// flagAccess reports an access of global memory that may hand data on to another block: an atomic, or one
// that is volatile, relaxed or stronger.
func flagAccess(in *ptx.Instr) bool {
	k := in.Kind()
	if !k.Reads() && !k.Writes() || in.Has("shared") || k == isa.MBarrier {
		return false
	}
	return k.Updates() || slices.ContainsFunc(in.Mods, func(m string) bool {
		return slices.Contains([]string{"volatile", "relaxed", "acquire", "release"}, m)
	})
}

// flagWrites are the first writes of a flag behind accesses, all of the kernel where none follows.
func flagWrites(fn *ptx.Func, from []int) []int {
	return flagsBy(fn, from, 1, isa.Kind.Writes)
}

// flagReads are the last reads of a flag ahead of accesses, all of the kernel where none precedes.
func flagReads(fn *ptx.Func, to []int) []int {
	return flagsBy(fn, to, -1, isa.Kind.Reads)
}

// flagsBy are the accesses of a flag that stand next to some, in one direction.
func flagsBy(fn *ptx.Func, from []int, step int, is func(isa.Kind) bool) (out []int) {
	flag := func(i int) bool { return flagAccess(fn.Body[i]) && is(fn.Body[i].Kind()) && i+1 < len(fn.Body) }
	for _, i := range from {
		for i += step; i >= 0 && i < len(fn.Body); i += step {
			if flag(i) {
				if !slices.Contains(out, i) {
					out = append(out, i)
				}
				break
			}
		}
	}
	if out != nil {
		return out
	}
	for i := range fn.Body {
		if flag(i) {
			out = append(out, i)
		}
	}
	return out
}

// onLines names the lines of instructions: "line 15", "lines 15 and 22".
func onLines(fn *ptx.Func, at []int) string {
	var lines []int
	for _, i := range at {
		if n := outermostLine(fn.Body[i]); !slices.Contains(lines, n) {
			lines = append(lines, n)
		}
	}
	return linesText(lines)
}

// lacksFence reports a race whose checker names a memory fence, or the scope of one, as what is missing.
func lacksFence(f *report.Finding) bool {
	return f.Missing != nil && slices.ContainsFunc([]string{target.MemoryFence, target.WiderScope},
		func(begins string) bool { return strings.HasPrefix(*f.Missing, begins) })
}
