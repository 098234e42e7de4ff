package check

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// inPlace reports whether the store under way is the end of an update in place of what the instruction at a
// past PC loaded: wmma.load of an accumulator, arithmetic on it, wmma.store over it. Both are of the warp as
// a whole, and the numbers that are stored are made of those that were loaded: every lane's load has returned
// before any lane can store. That is order by data, not by memory, so it holds for this load and this store
// alone, and never the other way round.
func (u *races) inPlace(past int) bool {
	load, store := &u.sites[past], u.s
	if load.in.Kind() != isa.LoadFragment || store.in.Kind() != isa.StoreFragment || load.fn != store.fn {
		return false
	}
	k := [2]int{past, u.e.PC}
	made, known := u.made[k]
	if !known {
		made = madeOf(load, store)
		if u.made == nil {
			u.made = map[[2]int]bool{}
		}
		u.made[k] = made
	}
	return made
}

// madeOf reports whether values flow from a load into every register that a store of the
// same function stores.
func madeOf(load, store *site) bool {
	from := make([]bool, len(load.fn.Regs))
	mark := func(in *ptx.Instr) (grew bool) {
		for _, r := range in.Args[0].Registers(nil) {
			grew = grew || !from[r]
			from[r] = true
		}
		return grew
	}
	mark(load.in)
	for grew := true; grew; {
		grew = false
		for _, in := range load.fn.Body {
			if in.HasDest() && !in.Kind().Reads() && takes(in, from) {
				grew = mark(in) || grew
			}
		}
	}
	stored := store.in.Args[1].Registers(nil)
	for _, r := range stored {
		if !from[r] {
			return false
		}
	}
	return len(stored) > 0
}

// takes reports whether an instruction computes with one of the registers marked.
func takes(in *ptx.Instr, marked []bool) bool {
	for i := range in.Args[1:] {
		for _, r := range in.Args[i+1].Registers(nil) {
			if marked[r] {
				return true
			}
		}
	}
	return false
}
