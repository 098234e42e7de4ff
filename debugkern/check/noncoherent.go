package check

import (
	"fmt"
	"math/bits"
	"sort"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// ld.global.nc (what __ldg and pointers to const __restrict__ become) and ldu read through a cache that no
// write of the launch reaches: they are for memory that is read-only as long as the kernel runs (PTX ISA,
// "ld.global.nc", "ldu"). Memory that the launch writes too, whoever writes it and whatever synchronisation
// stands between, may be read as it was before: a race that only another kind of load puts right. Programs
// without such a load are not watched.
func noncoherentKind() kind {
	return kind{set: Races, start: startNoncoherent, findings: noncoherentFindings}
}

// noncoherent reports whether an instruction reads what must not be written.
func noncoherent(in *ptx.Instr) bool { return in.Op == "ldu" || in.Kind() == isa.Load && in.Has("nc") }

func startNoncoherent(b *block) unit {
	u := &noncoherentUnit{b: b, sites: b.checker.program(b.view), seen: map[rangeKey]bool{}}
	for i := range u.sites {
		if noncoherent(u.sites[i].in) {
			return u
		}
	}
	return nil
}

// noncoherentUnit watches one block.
type noncoherentUnit struct {
	b             *block
	sites         []site
	seen          map[rangeKey]bool
	reads, writes []globalRange
	lo, hi        uint64 // the allocation looked at last
	writable      bool
}

type rangeKey struct {
	pc     int
	lo, hi uint64
}

// globalRange is bytes that neighbouring lanes of one instruction touched, the first time.
type globalRange struct {
	rangeKey
	warp, lane, tile int
	b                *block
}

// Interests implements unit.
func (u *noncoherentUnit) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAtomic)
}

// Event implements unit.
func (u *noncoherentUnit) Event(e *target.Event) {
	if e.Probe || e.Space != target.SpaceGlobal || e.Mask == 0 {
		return
	}
	list := &u.writes
	if noncoherent(e.Instr) {
		list = &u.reads
	} else if !u.sites[e.PC].writes {
		return
	}
	var now globalRange
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		addr := e.Addr[lane]
		if !u.written(addr) || u.b.view.Strays(e.PC, target.SpaceGlobal, addr) {
			continue
		}
		if addr == now.hi && now.hi > now.lo {
			now.hi += uint64(e.Bytes)
			continue
		}
		u.keep(list, now)
		now = globalRange{rangeKey{e.PC, addr, addr + uint64(e.Bytes)}, e.Warp, lane, e.KVTile, u.b}
	}
	u.keep(list, now)
}

func (u *noncoherentUnit) keep(list *[]globalRange, r globalRange) {
	if r.hi > r.lo && !u.seen[r.rangeKey] {
		u.seen[r.rangeKey] = true
		*list = append(*list, r)
	}
}

// written reports whether some instruction of the kernel can write to an address.
func (u *noncoherentUnit) written(addr uint64) bool {
	if addr < u.lo || addr >= u.hi {
		u.lo, u.hi, u.writable = u.b.view.Extent(addr)
	}
	return u.hi > u.lo && u.writable
}

// noncoherentFindings compares what was read so, in any block, with what was written in any.
func noncoherentFindings(_ *Checker, us []unit) []target.Finding {
	var reads, writes []globalRange
	for _, x := range us {
		u := x.(*noncoherentUnit)
		reads, writes = append(reads, u.reads...), append(writes, u.writes...)
	}
	sort.SliceStable(writes, func(i, j int) bool { return writes[i].lo < writes[j].lo })
	longest := uint64(0)
	for i := range writes {
		longest = max(longest, writes[i].hi-writes[i].lo)
	}
	type key struct {
		read, write target.Source
		variable    string
	}
	found := &causes{}
	for i := range reads {
		r := &reads[i]
		counted := map[key]bool{} // a read counts once, however often it is written
		for j := sort.Search(len(writes), func(j int) bool {
			return writes[j].lo+longest > r.lo
		}); j < len(writes) && writes[j].lo < r.hi; j++ {
			w := &writes[j]
			if w.hi <= r.lo {
				continue
			}
			f := r.finding(w)
			if k := (key{*f.Source, *f.Other, f.Variable}); !counted[k] {
				counted[k] = true
				found.add(k, f)
			}
		}
	}
	return mergeCauses([]*causes{found})
}

// finding describes a read of what was written.
func (r *globalRange) finding(w *globalRange) target.Finding {
	sites := r.b.checker.sites
	from, to := &sites[r.pc], &sites[w.pc]
	name, index := r.b.view.Name(target.SpaceGlobal, max(r.lo, w.lo))
	reader, writer := fmt.Sprintf("warp %d lane %d", r.warp, r.lane),
		fmt.Sprintf("warp %d lane %d", w.warp, w.lane)
	if r.b != w.b {
		reader, writer = r.b.says(reader), w.b.says(writer)
	}
	return target.Finding{
		Kind: target.Race, Variable: name, Index: index, Space: target.SpaceGlobal.String(), Block: r.b.id,
		KVTile: r.tile,
		Warps:  union([]int{r.warp}, []int{w.warp}), Lanes: union([]int{r.lane}, []int{w.lane}),
		Source: from.source(), Other: to.source(),
		Message: fmt.Sprintf(
			"%s: %s reads it at %s by %s, and %s writes it in the same launch at %s: that cache is never updated by writes, so the value may be any that the cell has had",
			element(name, index), reader, from.place(), from.in.Opcode(), writer, to.place()),
		Missing: fmt.Sprintf(
			"exclusive use for reading, which the non-coherent path requires, or an ordinary load at %s (no __ldg, no const __restrict__): the kernel writes there at %s",
			from.source(), to.source()),
	}
}

// says names a block's thread next to another block's.
func (b *block) says(thread string) string { return "block " + b.id.String() + ", " + thread }
