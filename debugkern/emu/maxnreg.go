package emu

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// setmaxnreg (PTX ISA, "setmaxnreg") changes how many registers the threads of a warp own. The block has a
// pool: what .dec gives back goes to it, and .inc waits until it has enough. All warps of a warpgroup execute
// the same setmaxnreg, and synchronise before the next one.
//
// Where the ISA is silent, this is what an H200 does: the pool is what the block was given at its start, in
// units of 8 registers a thread, and not what is free elsewhere in the SM; and a warp that exits does not
// return its registers to the pool. Counts are registers a thread here, of 32 threads a warp.

// registerPool is the registers of a block.
type registerPool struct {
	entry int   // a thread has at first; 0: not known, and no count is checked
	held  []int // by warp
	free  int   // registers a thread, added up over warps
	want  []int // by warp that waits in .inc: the count, else 0
	done  [][]*inst
}

// fewestRegisters is how many registers ptxas allots to a thread at least.
const fewestRegisters = 24

// maxNReg decodes setmaxnreg.action.sync.aligned.u32 imm.
func (d *decoder) maxNReg() {
	n := d.arg(0)
	if n.Kind != ptx.OpInt || n.Imm < fewestRegisters || n.Imm > 256 || n.Imm%chip.RegisterUnit != 0 {
		d.fail("setmaxnreg takes 24 to 256 registers, in multiples of 8")
	}
	d.warpgroupMods()
	o := d.out
	o.flow, o.imm = flowRegisters, n.Imm
	o.c = d.constant(bank32, uint64(allLanes))
	d.p.maxNReg = max(d.p.maxNReg, int(n.Imm))
}

// entryRegisters is how many registers a thread of an entry with setmaxnreg has at first: as many as the
// entry's directives allow, but no more than the largest count of a setmaxnreg (ptxas 12.0 and 12.9 allot
// so). 0: the directives allow any number; ptxas ignores setmaxnreg then.
func (p *program) entryRegisters() int {
	n := 0
	if d, ok := p.entry.Directive("maxnreg"); ok && len(d.Args) > 0 {
		n = max(int(d.Args[0]), fewestRegisters)
	}
	dims, _, bounded := p.entry.BlockBound()
	if blocks, ok := p.entry.Directive("minnctapersm"); ok && bounded && len(blocks.Args) > 0 {
		threads := int(dims[0] * dims[1] * dims[2])
		if m := p.chip.Registers(threads, int(blocks.Args[0])); n == 0 || m < n {
			n = m
		}
	}
	return (min(n, p.maxNReg) + chip.RegisterUnit - 1) / chip.RegisterUnit * chip.RegisterUnit
}

// beginRegisters gives the block its pool; a program without setmaxnreg has none.
func (b *block) beginRegisters() {
	if b.registers = nil; b.p.maxNReg == 0 {
		return
	}
	n := len(b.warps)
	r := &registerPool{
		entry: b.p.entryRegisters(), held: make([]int, n), want: make([]int, n), done: make([][]*inst, n),
	}
	r.free = r.entry * ((n+chip.WarpUnit-1)/chip.WarpUnit*chip.WarpUnit - n)
	for i := range r.held {
		r.held[i] = r.entry
	}
	b.registers = r
}

func (r *registerPool) clone() *registerPool {
	if r == nil {
		return nil
	}
	c := *r
	c.held, c.want, c.done = slices.Clone(r.held), slices.Clone(r.want), slices.Clone(r.done)
	return &c
}

// setRegisters executes setmaxnreg for the lanes of a warp.
func (w *warp) setRegisters(in *inst, m uint32) (stop bool) {
	if !w.whole(in, m) {
		return false
	}
	b, r := w.blk, w.blk.registers
	w.sameRegisters(in)
	g := &w.groups[w.cur]
	n, held := int(in.imm), r.held[w.id]
	inc := in.src.Has("inc")
	switch {
	case r.entry == 0:
		b.registersUnknown(w, in)
	case inc && n < held, !inc && n > held:
		b.wrongCount(w, in, n, held)
	case inc && n-held > r.free:
		r.want[w.id], g.wait = n, waitRegisters
		return true
	default:
		r.free += held - n
		r.held[w.id] = n
	}
	g.pc++
	if !inc {
		b.grantRegisters()
	}
	return b.released && b.sched.eager
}

// grantRegisters lets warps go on that wait for no more registers than there are.
func (b *block) grantRegisters() {
	r := b.registers
	for _, w := range b.warps {
		need := r.want[w.id] - r.held[w.id]
		if r.want[w.id] == 0 || need > r.free {
			continue
		}
		r.free -= need
		r.held[w.id], r.want[w.id] = r.want[w.id], 0
		for i := range w.groups {
			if g := &w.groups[i]; g.wait == waitRegisters {
				g.wait = waitNone
				g.pc++
				b.released = true
			}
		}
	}
}

// sameRegisters compares a setmaxnreg with what the other warps of the warpgroup have executed so far.
func (w *warp) sameRegisters(in *inst) {
	b, r := w.blk, w.blk.registers
	r.done[w.id] = append(slices.Clip(r.done[w.id]), in) // snapshots share what was there
	nth := len(r.done[w.id])
	for _, o := range b.warpgroupOf(w) {
		has := r.done[o.id]
		switch {
		case o == w:
		case len(has) >= nth && has[nth-1] != in:
			b.wgmmaFinding(w, in, has[nth-1], fmt.Sprintf(
				"warp %d executes %s %d, and warp %d of the same warpgroup %s %d at %s: "+
					"all four must execute the same one", w.id, in.src.Opcode(), in.imm, o.id,
				has[nth-1].src.Opcode(), has[nth-1].imm, has[nth-1].where()), "")
		case len(has) < nth-1 && o.alive != 0:
			before := r.done[w.id][nth-2]
			b.wgmmaFinding(w, in, before, fmt.Sprintf(
				"warp %d executes %s %d, and warp %d of the same warpgroup has not executed the %s %d before it: "+
					"the four warps have to synchronise between the two",
				w.id, in.src.Opcode(), in.imm, o.id, before.src.Opcode(), before.imm),
				"a barrier of the warpgroup between %s and %s")
			return
		}
	}
}

// endRegisters reports the setmaxnreg that some warps of a warpgroup have executed and others, which have
// exited, have not.
func (b *block) endRegisters() {
	r := b.registers
	for first := 0; r != nil && first < len(b.warps); first += wgmmaWarps {
		members := b.warpgroupOf(b.warps[first])
		most := members[0]
		for _, w := range members {
			if len(r.done[w.id]) > len(r.done[most.id]) {
				most = w
			}
		}
		n := len(r.done[most.id]) // the fewest of an exited warp
		for _, w := range members {
			if w.alive == 0 {
				n = min(n, len(r.done[w.id]))
			}
		}
		if len(r.done[most.id]) > n {
			b.partOfWarpgroup(most, r.done[most.id][n], members, n)
		} else if len(members) < wgmmaWarps && len(r.done[most.id]) > 0 {
			b.shortWarpgroup(most, r.done[most.id][0], len(members))
		}
	}
}

// partOfWarpgroup reports a setmaxnreg, the n-th, that exited warps have not executed.
func (b *block) partOfWarpgroup(w *warp, in *inst, members []*warp, n int) {
	var came, gone []int
	for _, o := range members {
		switch {
		case len(b.registers.done[o.id]) > n:
			came = append(came, o.id)
		case o.alive == 0:
			gone = append(gone, o.id)
		}
	}
	b.wgmmaFinding(w, in, nil, fmt.Sprintf(
		"%s %d is executed by %s of the warpgroup, and not by %s: all four must execute it",
		in.src.Opcode(), in.imm, warpList(came), warpList(gone)), "")
}

// wrongCount reports a count on the wrong side of what a thread has.
func (b *block) wrongCount(w *warp, in *inst, n, held int) {
	action, side := "setmaxnreg.dec", "more"
	if n < held {
		action, side = "setmaxnreg.inc", "fewer"
	}
	msg := fmt.Sprintf("%s %d: the threads of warp %d have %d registers, and %d are %s", action, n, w.id, held,
		n, side)
	if f := b.wgmmaFinding(w, in, nil, msg, ""); f != nil && f.Message == msg {
		f.Consequence = "undefined; an H200 raises an illegal instruction"
	}
}

// registersUnknown says that counts are not checked.
func (b *block) registersUnknown(w *warp, in *inst) {
	src := in.source()
	b.found.add(findingKey{kind: target.NotModelled, name: "setmaxnreg"}, target.Finding{
		Kind: target.NotModelled, Severity: target.NotModelled.Severity(), Block: b.id, KVTile: -1,
		Source: src,
		Message: fmt.Sprintf("the counts of setmaxnreg are not checked: how many registers a thread of %s has "+
			"at first is not known without .maxnreg, or .maxntid and .minnctapersm",
			b.p.entry.Demangled),
		Missing:     "__launch_bounds__(threads, 1), which writes .maxntid and .minnctapersm, or .maxnreg",
		Consequence: "ptxas ignores setmaxnreg then (C7508), unless it is given --maxrregcount",
		Count:       1,
	})
}

// starved reports whether a warp waits for registers.
func (b *block) starved() bool {
	return b.registers != nil && slices.ContainsFunc(b.registers.want, func(n int) bool { return n > 0 })
}

// registerHang reports warps that wait for registers which nobody gives back; it reports false where none
// wait. others are those that wait at something else.
func (b *block) registerHang(others []waiter) bool {
	if !b.starved() {
		return false
	}
	starves := func(id int) bool { return b.registers.want[id] > 0 }
	others = slices.DeleteFunc(slices.Clone(others), func(x waiter) bool {
		return slices.ContainsFunc(x.warps, starves)
	})
	b.endRegisters()
	for _, x := range b.waiters() { // part of a warp may wait at the same place for the rest of the warp
		x.warps = slices.DeleteFunc(x.warps, func(id int) bool { return !starves(id) })
		if len(x.warps) > 0 {
			b.registerHangAt(&x, others)
		}
	}
	b.broken = true
	return true
}

func (b *block) registerHangAt(x *waiter, others []waiter) {
	r, in := b.registers, &b.p.code[x.pc]
	src, n := in.source(), int(in.imm)
	need := 0
	for _, id := range x.warps {
		need += n - r.held[id]
	}
	threads := len(b.warps) * 32
	msg := fmt.Sprintf("%s %s at %s (%s) for %d registers a thread, which nothing can give: they need %d more, "+
		"and %d are free; the block has %d (%d threads with %d each at first), of which %s",
		warpList(x.warps), waitVerb(x.warps), src.Place(), in.src.Opcode(), n, 32*need, 32*r.free,
		threads*r.entry, threads, r.entry, b.holders())
	if len(others) > 0 {
		msg += "; " + b.whoWaits(others)
	}
	b.found.add(findingKey{kind: target.Hang, source: *src}, target.Finding{
		Kind: target.Hang, Severity: target.Hang.Severity(), Message: msg, Block: b.id, Warps: x.warps,
		Lanes: lanesOf(x.lanes), KVTile: b.warps[x.warps[0]].tile(in, bits.TrailingZeros32(x.lanes)),
		Source: src, Count: 1, Consequence: "the launch never ends", Missing: b.fitting(),
	})
}

// holders says who has the registers of the pool: "warps 0, 1, 2, 3 hold 168 a thread".
func (b *block) holders() string {
	r := b.registers
	var parts []string
	left := ""
	for from := 0; from < len(b.warps); {
		to, gone := from, b.warps[from].alive == 0
		var ids []int
		for ; to < len(b.warps) && r.held[to] == r.held[from] && (b.warps[to].alive == 0) == gone; to++ {
			ids = append(ids, to)
		}
		verb := "hold"
		if len(ids) == 1 {
			verb = "holds"
		}
		part := fmt.Sprintf("%s %s %d a thread", warpList(ids), verb, r.held[from])
		if gone {
			part += " (exited)"
			left = "; a warp that exits gives nothing back"
		}
		parts, from = append(parts, part), to
	}
	return strings.Join(parts, ", ") + left
}

// fitting is what would let the warps go on: counts of the warpgroups that the pool has.
func (b *block) fitting() string {
	r := b.registers
	most, sum := 0, 0
	var terms []string
	for first := 0; first < len(b.warps); first += wgmmaWarps {
		n := 0
		for _, w := range b.warpgroupOf(b.warps[first]) {
			n = max(n, r.held[w.id], r.want[w.id])
		}
		most, sum = most+r.entry, sum+n
		terms = append(terms, fmt.Sprint(n))
	}
	return fmt.Sprintf("counts of the warpgroups that add up to %d at most: %s are %d", most,
		strings.Join(terms, " + "), sum)
}
