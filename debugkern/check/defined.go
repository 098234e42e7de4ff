package check

import "tilescope/debugkern/ptx"

// regSet is a set of registers of a function.
type regSet []uint64

func (s regSet) has(r int32) bool { return s[r>>6]>>(r&63)&1 != 0 }
func (s regSet) add(r int32)      { s[r>>6] |= 1 << (r & 63) }
func (s regSet) drop(r int32)     { s[r>>6] &^= 1 << (r & 63) }

// join adds t and reports whether that changed anything.
func (s regSet) join(t regSet) (changed bool) {
	for i, v := range t {
		if s[i]|v != s[i] {
			s[i] |= v
			changed = true
		}
	}
	return changed
}

// undefinedUse is what a function can do with registers that no path, or not every path, has written: decided from its text
// alone. Almost every kernel has none, and then nothing has to be watched.
type undefinedUse struct {
	sinks  map[int]bool // instructions that may put such a value into memory, use it as an address, or branch on it
	carry  regSet       // registers that may be read while undefined
	guards []int        // instructions whose guard may be undefined, ascending
}

// undefinedUses finds where registers of f may be read before they are written. The set of registers that may be undefined
// flows forwards through the text: an instruction makes its destinations undefined where a source may be, and defined
// otherwise; a guarded one may leave them as they were. Lanes that part follow paths of their own, so what holds on every
// path holds for every lane.
func undefinedUses(f *ptx.Func) *undefinedUse {
	words := (len(f.Regs) + 63) / 64
	u := &undefinedUse{sinks: map[int]bool{}, carry: make(regSet, words)}
	if len(f.Body) == 0 || words == 0 {
		return u
	}
	at := make([]regSet, len(f.Body)+1) // before each instruction; nil: not reached yet
	at[0] = make(regSet, words)
	for r := range f.Regs {
		at[0].add(int32(r))
	}
	state := make(regSet, words)
	for changed := true; changed; {
		changed = false
		for i, in := range f.Body {
			if at[i] == nil {
				continue
			}
			copy(state, at[i])
			u.step(in, i, state)
			next, falls := successors(in)
			if falls {
				next = append(next, int32(i+1))
			}
			for _, t := range next {
				if at[t] == nil {
					at[t] = make(regSet, words)
					changed = true
				}
				// A jump back means another pass; a fall through is seen in this one.
				if at[t].join(state) && int(t) <= i {
					changed = true
				}
			}
		}
	}
	for i, in := range f.Body {
		if in.Guard != nil && at[i] != nil && at[i].has(in.Guard.Reg) {
			u.guards = append(u.guards, i)
		}
	}
	return u
}

// step moves state over one instruction.
func (u *undefinedUse) step(in *ptx.Instr, i int, state regSet) {
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
		if state.has(r) {
			u.carry.add(r)
			undefined = true
		}
	}
	if undefined && isSink(in) {
		u.sinks[i] = true
	}
	if in.Op == "ld" || in.Op == "ldmatrix" || in.Op == "wmma" && in.Has("load") || zeroes(in) {
		undefined = false
	}
	for _, r := range writes {
		switch {
		case undefined:
			state.add(r)
		case in.Guard == nil:
			state.drop(r)
		}
	}
}

// isSink reports whether an instruction lets values out: into memory that others see, as an address, or into control flow.
func isSink(in *ptx.Instr) bool {
	switch in.Op {
	case "st", "ld", "atom", "red", "ldmatrix", "stmatrix", "bra", "brx", "exit", "ret", "bar", "barrier", "trap":
		return true
	case "cp":
		return in.Has("async")
	case "wmma":
		return in.Has("load") || in.Has("store")
	}
	return false
}

// zeroes reports whether the result is 0 whatever the sources hold.
func zeroes(in *ptx.Instr) bool {
	if in.Op != "xor" && in.Op != "sub" || len(in.Args) != 3 || in.Type() == ptx.F32 || in.Type() == ptx.F64 {
		return false
	}
	a, b := &in.Args[1], &in.Args[2]
	return a.Kind == ptx.OpReg && b.Kind == ptx.OpReg && a.Reg == b.Reg
}

// successors is where an instruction can lead beside the next one, and whether it can lead there.
func successors(in *ptx.Instr) (to []int32, falls bool) {
	guarded := in.Guard != nil
	switch in.Op {
	case "bra":
		if len(in.Args) > 0 && in.Args[0].Kind == ptx.OpLabel {
			to = append(to, in.Args[0].Target)
		}
		return to, guarded
	case "brx":
		if len(in.Args) > 1 {
			to = append(to, in.Args[1].Targets...)
		}
		return to, guarded
	case "ret", "exit", "trap":
		return nil, guarded
	}
	return nil, true
}
