package ptx

import (
	"fmt"

	"tilescope/debugkern/isa"
)

// Mutant is a module's entry with one synchronisation changed: what a checker has to notice,
// or to prove harmless.
type Mutant struct {
	At    int // the synchronisation, in the entry's body
	Edits []Edit
	What  string // "without bar.sync 0", "wait_group 1 waits for all but 2"
	// Removed: the instruction is gone, and nothing else is changed
	Removed bool
}

// Mutants lists the mutants of f: each of Syncs(skip) removed in turn, each wait for cp.async moved by one
// group either way, and what asyncMutants lists. A barrier with a result (bar.red) is not removed: what its
// result would be is open.
func (f *Func) Mutants(skip func(file string) bool) []Mutant {
	var ms []Mutant
	for at, in := range f.Body {
		switch {
		case in.Loc.Within(skip):
		case in.syncs():
			ms = append(ms, f.blockMutants(at)...)
		default:
			ms = append(ms, f.asyncMutants(at)...)
		}
	}
	return ms
}

// blockMutants are those of a barrier, and of a wait for cp.async.
func (f *Func) blockMutants(at int) []Mutant {
	in := f.Body[at]
	var ms []Mutant
	if !in.Has("red") {
		ms = append(ms, f.without(at))
	}
	if !in.asyncWait() {
		return ms
	}
	wait := func(n uint64) {
		ms = append(ms, Mutant{
			At: at, Edits: []Edit{{Kind: SetWait, Func: f.Name, At: at, N: n}},
			What: fmt.Sprintf("%s for all but %d", f.InstrString(in), n),
		})
	}
	n := in.waitsFor()
	if wait(n + 1); n > 0 {
		wait(n - 1)
	}
	return ms
}

// asyncMutants are those of what orders asynchronous copies and products: fences, commits and arrivals are
// removed, and waits that have no result; of others that have one it is as if the phase were over, or that of
// the other parity is waited for; a wait for groups leaves one more; the arrivals and bytes that an mbarrier
// expects are more and fewer.
func (f *Func) asyncMutants(at int) []Mutant {
	switch in := f.Body[at]; in.Kind() {
	case isa.Fence, isa.CommitBulk, isa.WgmmaFence, isa.WgmmaCommit, isa.ClusterBarrier:
		return []Mutant{f.without(at)}
	case isa.WaitBulk, isa.WgmmaWait:
		return append([]Mutant{f.without(at)}, f.added(at, 0, "waits for all but", 1)...)
	case isa.MBarrier:
		switch {
		case in.Has("init"):
			return f.added(at, 1, "with a count of", 1, -1)
		case in.Has("expect_tx"):
			const piece = 16
			last := len(in.Args) - 1
			return append([]Mutant{f.without(at)}, f.added(at, last, "expecting bytes:", piece, -piece)...)
		case in.Has("arrive"), in.Has("arrive_drop"), in.Has("complete_tx"):
			return []Mutant{f.without(at)}
		case in.Has("test_wait"), in.Has("try_wait"):
			return f.waitMutants(at)
		}
	}
	return nil
}

// without is the mutant that lacks an instruction.
func (f *Func) without(at int) Mutant {
	return Mutant{
		At: at, Edits: []Edit{{Kind: Remove, Func: f.Name, At: at}}, Removed: true,
		What: "without " + f.InstrString(f.Body[at]),
	}
}

// added are mutants whose operand, a number, is another by each of some steps.
func (f *Func) added(at, operand int, what string, by ...int) []Mutant {
	in := f.Body[at]
	if operand >= len(in.Args) {
		return nil
	}
	var ms []Mutant
	for _, d := range by {
		switch a := in.Args[operand]; a.Kind {
		case OpInt:
			n := int(a.Imm) + d
			if n < 0 {
				continue
			}
			changed := in.With(func(c *Instr) { c.Args[operand] = integer(uint64(n)) })
			ms = append(ms, Mutant{
				At: at, Edits: []Edit{{Kind: Replace, Func: f.Name, At: at, New: changed}},
				What: fmt.Sprintf("%s %s %d", f.InstrString(in), what, n),
			})
		case OpReg:
			ms = append(ms, f.computed(at, operand, "add", integer(uint64(d)),
				fmt.Sprintf("%s %s %s%+d", f.InstrString(in), what, f.RegName(a.Reg), d)))
		}
	}
	return ms
}

// computed is the mutant whose operand, a register, is combined with a number before.
func (f *Func) computed(at, operand int, op string, with Operand, what string) Mutant {
	in := f.Body[at]
	fresh := RegisterOf(int32(len(f.Regs)))
	typ := map[string]string{"add": "s32", "xor": "b32"}[op]
	return Mutant{
		At: at, What: what, Edits: []Edit{
			{Kind: Insert, Func: f.Name, At: at, Fresh: []Type{U32}, New: &Instr{
				Op: op, Mods: []string{typ}, Args: []Operand{fresh, in.Args[operand], with}, Loc: in.Loc,
			}},
			{Kind: Replace, Func: f.Name, At: at, Fresh: []Type{U32},
				New: in.With(func(c *Instr) { c.Args[operand] = fresh })},
		},
	}
}

// waitMutants are a wait for an mbarrier that finds its phase over at once, and one for the other parity.
func (f *Func) waitMutants(at int) []Mutant {
	in := f.Body[at]
	over := in.With(func(c *Instr) {
		c.Op, c.Mods = "setp", []string{"eq", "u32"}
		c.Args = []Operand{in.Args[0], integer(0), integer(0)}
	})
	ms := []Mutant{{
		At: at, Edits: []Edit{{Kind: Replace, Func: f.Name, At: at, New: over}},
		What: f.InstrString(in) + " not waited for",
	}}
	const parity = 2
	if !in.Has("parity") || len(in.Args) <= parity {
		return ms
	}
	what := f.InstrString(in) + " with the other parity"
	switch a := in.Args[parity]; a.Kind {
	case OpInt:
		other := in.With(func(c *Instr) { c.Args[parity] = integer(a.Imm ^ 1) })
		ms = append(ms, Mutant{
			At: at, What: what, Edits: []Edit{{Kind: Replace, Func: f.Name, At: at, New: other}},
		})
	case OpReg:
		ms = append(ms, f.computed(at, parity, "xor", integer(1), what))
	}
	return ms
}

// waitsFor is how many of the latest groups a wait leaves pending.
func (in *Instr) waitsFor() uint64 {
	if in.Has("wait_group") && len(in.Args) > 0 && in.Args[0].Kind == OpInt {
		return in.Args[0].Imm
	}
	return 0
}
