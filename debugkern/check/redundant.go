package check

import "tilescope/debugkern/target"

// Which barriers are needed is found in the same pass as the races: beside the last barrier, the clocks remember the last one
// that is another instruction (clocks.before). A pair of accesses that the one orders and the other does not is unordered
// without the first: it is needed, and for what is known. Until a barrier is known to be needed, nothing that it alone orders
// is forgotten (clocks.low), so what is never needed is redundant in the run that was watched, not just in part of it.

// needs is what is known of the barriers of a block.
type needs struct {
	ran     map[int]bool
	why     map[int]*need
	unclear map[int]bool // completed by part of the block once: not judged
}

// need is a pair of accesses that one barrier alone orders.
type need struct {
	pc       int
	variable string
	index    []int
	first    int // PC of the access before the barrier, and after it
	second   int
	wrote    bool // the first writes
}

func (n *needs) begin() {
	*n = needs{ran: map[int]bool{}, why: map[int]*need{}, unclear: map[int]bool{}}
}

func (n *needs) executed(pc int)    { n.ran[pc] = true }
func (n *needs) partial(pc int)     { n.unclear[pc] = true }
func (n *needs) known(pc int) *need { return n.why[pc] }

// needed notes that only the barrier at pc orders a past access before the one under way.
func (u *races) needed(pc int, a *access, wrote bool) {
	if u.need.why[pc] != nil {
		return
	}
	name, index := u.b.view.Name(u.e.Space, u.addr)
	u.need.why[pc] = &need{pc: pc, variable: name, index: index, first: a.pc(), second: u.e.PC, wrote: wrote}
}

// Need says what a synchronisation is there for.
type Need struct {
	PC, Index int // as in target.Event.PC, and in the function's body
	Func      string
	Source    *target.Source
	Instr     string
	// Needed: without it Variable races between First and Second. Else it orders nothing in the run that was watched, or, with
	// Unclear, was completed by a part of the block only and is not judged.
	Needed, Unclear bool
	Variable        string
	Element         []int
	First, Second   *target.Source
}

// Needs lists the synchronisations of whole blocks and whole warps that the watched blocks executed, by PC, with what each is
// needed for. Options.Set must contain Races or Redundant.
func (c *Checker) Needs() []Need {
	return nil
}

// adviceOf lists what orders nothing.
func adviceOf(c *Checker, us []unit, sites []site) []target.Finding { return nil }
