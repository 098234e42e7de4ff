package check

import (
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
)

// undefinedUse is what a function can do with registers that no path, or not every path, has written: decided
// from its text alone. Almost every kernel has none, and then nothing has to be watched.
type undefinedUse struct {
	// sinks: instructions that may put such a value into memory, use it as an address, or branch on it
	sinks  map[int]bool
	carry  cfg.RegSet // registers that may be read while undefined
	guards []int      // instructions whose guard may be undefined, ascending
}

// undefinedUses finds where registers of f may be read before they are written. The set of registers that may
// be undefined flows forwards through the text: an instruction makes its destinations undefined where a
// source may be, and defined otherwise; a guarded one may leave them as they were. Lanes that part follow
// paths of their own, so what holds on every path holds for every lane.
func undefinedUses(f *ptx.Func) *undefinedUse {
	u := &undefinedUse{sinks: map[int]bool{}, carry: cfg.NewRegSet(f)}
	if len(f.Body) == 0 || len(f.Regs) == 0 {
		return u
	}
	at := make([]cfg.RegSet, len(f.Body)+1) // before each instruction; nil: not reached yet
	at[0] = cfg.NewRegSet(f)
	for r := range f.Regs {
		at[0].Add(int32(r))
	}
	state := cfg.NewRegSet(f)
	for changed := true; changed; {
		changed = false
		for i, in := range f.Body {
			if at[i] == nil {
				continue
			}
			copy(state, at[i])
			u.step(in, i, state)
			next, falls := cfg.Next(in)
			if falls {
				next = append(next, int32(i+1))
			}
			for _, t := range next {
				if at[t] == nil {
					at[t] = cfg.NewRegSet(f)
					changed = true
				}
				// A jump back means another pass; a fall through is seen in this one.
				if at[t].Join(state) && int(t) <= i {
					changed = true
				}
			}
		}
	}
	for i, in := range f.Body {
		if in.Guard != nil && at[i] != nil && at[i].Has(in.Guard.Reg) {
			u.guards = append(u.guards, i)
		}
	}
	return u
}

// step moves state over one instruction.
func (u *undefinedUse) step(in *ptx.Instr, i int, state cfg.RegSet) {
	var reads, writes []int32
	for k := range in.Args {
		if k == 0 && in.HasDest() {
			writes = in.Args[k].Registers(writes)
			continue
		}
		reads = in.Args[k].Registers(reads)
	}
	if in.Guard != nil {
		reads = append(reads, in.Guard.Reg)
	}
	undefined := false
	for _, r := range reads {
		if state.Has(r) {
			u.carry.Add(r)
			undefined = true
		}
	}
	if undefined && in.Kind().Observable() {
		u.sinks[i] = true
	}
	if in.Kind().Loads() || zeroes(in) {
		undefined = false
	}
	for _, r := range writes {
		switch {
		case undefined:
			state.Add(r)
		case in.Guard == nil:
			state.Drop(r)
		}
	}
}

// zeroes reports whether the result is 0 whatever the sources hold.
func zeroes(in *ptx.Instr) bool {
	if in.Op != "xor" && in.Op != "sub" || len(in.Args) != 3 || in.Type() == ptx.F32 || in.Type() == ptx.F64 {
		return false
	}
	a, b := &in.Args[1], &in.Args[2]
	return a.Kind == ptx.OpReg && b.Kind == ptx.OpReg && a.Reg == b.Reg
}
