package check

import (
	"fmt"
	"sort"

	"tilescope/debugkern/target"
)

// Which barriers are needed is found in the same pass as the races: besides the last barrier, the clocks have
// the last one that is another instruction (clocks.before). A pair of accesses that the one orders and the
// other does not is unordered without the first: it is needed, and for what is known. Until a barrier is
// known to be needed, nothing that it alone orders is forgotten (clocks.low), so what is never needed is
// redundant in the run that was watched, not just in part of it.

// needs is what is known of the barriers of a block.
type needs struct {
	ran     map[int]bool
	why     map[int]*need
	unclear map[int]bool // completed by part of the block once: not judged
	single  bool         // some order is between single threads, and none of the barriers can be judged
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
	name, index := u.b.view.Name(u.space, u.addr)
	u.need.why[pc] = &need{pc: pc, variable: name, index: index, first: a.pc(), second: u.e.PC, wrote: wrote}
}

// Need says what a synchronisation is there for.
type Need struct {
	PC, Index int // as in target.Event.PC, and in the function's body
	Func      string
	Source    *target.Source
	Instr     string
	// Needed: without it Variable races between First and Second. Else it orders nothing in the run that was
	// watched or, with Unclear, is not judged: barriers of a part of the block or warp, flags or fences order
	// accesses too, and only watching again without it (Options.Ignore) shows.
	Needed, Unclear bool
	Variable        string
	Element         []int
	First, Second   *target.Source
}

// Needs lists the synchronisations of whole blocks and whole warps that the watched blocks executed, by PC,
// with what each is needed for: the first pair of accesses that it alone orders, in the first block where
// there is one. Options.Set must contain Races or Redundant. It must not be called while a block executes.
func (c *Checker) Needs() []Need {
	return needsOf(c.unitsOf(raceKind().set))
}

func needsOf(us []unit) []Need {
	by := map[int]*Need{}
	var pcs []int
	for _, v := range us {
		u := v.(*races)
		for pc := range u.need.ran {
			if by[pc] == nil {
				pcs = append(pcs, pc)
				by[pc] = &Need{
					PC: pc, Index: u.sites[pc].index, Func: u.sites[pc].fn.Name, Source: u.sites[pc].source(),
					Instr: u.sites[pc].in.Opcode(),
				}
			}
			n := by[pc]
			n.Unclear = n.Unclear || u.need.unclear[pc] || u.need.single || u.clk.single
			why := u.need.why[pc]
			if why == nil || n.Needed || n.Unclear {
				continue
			}
			n.Needed, n.Variable, n.Element = true, why.variable, why.index
			n.First, n.Second = u.sites[why.first].source(), u.sites[why.second].source()
		}
	}
	sort.Ints(pcs)
	out := make([]Need, 0, len(pcs))
	for _, pc := range pcs {
		n := *by[pc]
		if n.Unclear {
			n = Need{PC: pc, Index: n.Index, Func: n.Func, Source: n.Source, Instr: n.Instr, Unclear: true}
		}
		out = append(out, n)
	}
	return out
}

// adviceOf lists what orders nothing: barriers, and waits for copies.
func adviceOf(c *Checker, us []unit, sites []site) []target.Finding {
	if !c.options.Set.Has(Redundant) || len(us) == 0 {
		return nil
	}
	var out []target.Finding
	first := us[0].(*races).b
	tell := func(pc int, msg string) {
		src := sites[pc].source()
		for i := range out {
			if out[i].Source.SameLine(src) {
				out[i].Count++ // the compiler made several of one
				return
			}
		}
		out = append(out, target.Finding{
			Kind: target.RedundantBarrier, Severity: target.SeverityAdvice, Message: msg, Block: first.id,
			KVTile: -1, Source: src, Count: 1,
		})
	}
	needs := needsOf(us)
	for _, n := range needs {
		if !n.Needed && !n.Unclear && !sharesLine(n, needs) {
			tell(n.PC, fmt.Sprintf("%s at %s orders nothing in this run: no pair of accesses depends on it",
				n.Instr, n.Source))
		}
	}
	for _, pc := range idleWaits(us) {
		tell(pc, fmt.Sprintf("%s at %s %s, though copies are pending",
			sites[pc].in.Opcode(), sites[pc].source(), target.NeverWaits))
	}
	return out
}

// sharesLine reports whether another copy of the same barrier, in an unrolled loop, is needed.
func sharesLine(n Need, all []Need) bool {
	for _, o := range all {
		if o.Needed && o.Source.SameLine(n.Source) {
			return true
		}
	}
	return false
}

// idleWaits lists the waits that covered nothing in any block, although something was under way each time.
func idleWaits(us []unit) []int {
	sum := map[int]waitUse{}
	for _, v := range us {
		for pc, w := range v.(*races).async.waits {
			s := sum[pc]
			sum[pc] = waitUse{s.executed + w.executed, s.idle + w.idle}
		}
	}
	var out []int
	for pc, w := range sum {
		if w.idle == w.executed {
			out = append(out, pc)
		}
	}
	sort.Ints(out)
	return out
}
