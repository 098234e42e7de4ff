package check

import (
	"fmt"
	"math/bits"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Two shared arrays may share bytes on purpose, one being dead when the other is used. It is an error where a
// value is read through one array's name that was written through the other's: the second overwrote what the
// first still needed.
//
// PTX has no names for the parts of a variable, so an instruction is given the name of the smallest declared
// array that holds every byte the instruction touched in its block: who runs over the whole of sS is not in a
// table that shares its first half. An instruction that fits two arrays of the same size, or none, has no
// name and is no evidence.
//
// Bytes that no two arrays share are not looked at; where no arrays overlap, nothing is.
func overlapKind() kind {
	return kind{set: Overlap, start: startOverlap, findings: overlapFindings}
}

func startOverlap(b *block) unit {
	l := b.view.Launch()
	as := sharedArrays(b.view.Program()[0], l.Shared, l.DynShared)
	u := &overlapUnit{id: b.id, arrays: as, extents: map[int]*extent{}, read: map[overlapPair]*overlapRead{}}
	for i := range as {
		for j := i + 1; j < len(as); j++ {
			if as[i].overlaps(&as[j]) {
				u.shared = append(u.shared, [2]int{
					max(as[i].addr, as[j].addr), min(as[i].end(), as[j].end()),
				})
			}
		}
	}
	if len(u.shared) == 0 {
		return nil
	}
	u.writers = make([]int32, b.view.SharedBytes())
	return u
}

// overlapUnit watches one block.
type overlapUnit struct {
	id      probes.Dim3
	arrays  []sharedArray
	shared  [][2]int // ranges of bytes that belong to two arrays
	writers []int32  // by byte: PC plus one of the last write
	extents map[int]*extent
	read    map[overlapPair]*overlapRead
	pairs   []overlapPair // in order of first occurrence
}

// extent is what an instruction touched in shared memory.
type extent struct {
	lo, hi int
	source *target.Source
	probe  bool
}

// overlapPair is a load that read what a store wrote.
type overlapPair struct{ reader, writer int }

// overlapRead is the first time that it did, and how often it did.
type overlapRead struct {
	addr, kv, count int
	warps, lanes    uint64
}

func (u *overlapUnit) Interests() target.ClassSet {
	return target.Classes(target.ClassLoad, target.ClassStore, target.ClassAtomic, target.ClassAsync,
		target.ClassAsyncLand, target.ClassBulkLand)
}

// Event implements target.Observer.
func (u *overlapUnit) Event(e *target.Event) {
	if e.Space != target.SpaceShared {
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		lo := int(e.Addr[lane])
		hi := min(lo+e.Bytes, len(u.writers))
		if lo < 0 || lo >= hi {
			continue
		}
		landed := e.Class == target.ClassAsyncLand || e.Class == target.ClassBulkLand
		if !landed {
			u.touch(e, lo, hi)
		}
		if !u.inShared(lo, hi) {
			continue
		}
		if (e.Class == target.ClassLoad || e.Class == target.ClassAtomic) && !e.Probe {
			u.reads(e, lane, lo, hi)
		}
		if e.Class == target.ClassStore || e.Class == target.ClassAtomic || landed {
			for i := lo; i < hi; i++ {
				u.writers[i] = int32(e.PC) + 1
			}
		}
	}
}

// End implements target.Ender.
func (u *overlapUnit) End() { u.writers = nil }

// touch widens the instruction's extent.
func (u *overlapUnit) touch(e *target.Event, lo, hi int) {
	x := u.extents[e.PC]
	if x == nil {
		x = &extent{lo: lo, hi: hi, source: target.Blame(e.Func, e.Instr.Index), probe: e.Probe}
		u.extents[e.PC] = x
	}
	x.lo, x.hi = min(x.lo, lo), max(x.hi, hi)
}

func (u *overlapUnit) inShared(lo, hi int) bool {
	for _, r := range u.shared {
		if lo < r[1] && r[0] < hi {
			return true
		}
	}
	return false
}

// reads notes who wrote the bytes that one lane reads.
func (u *overlapUnit) reads(e *target.Event, lane, lo, hi int) {
	last := int32(0)
	for i := lo; i < hi; i++ {
		w := u.writers[i]
		if w == 0 || w == last {
			continue
		}
		last = w
		k := overlapPair{e.PC, int(w) - 1}
		r := u.read[k]
		if r == nil {
			r = &overlapRead{addr: i, kv: e.KVTile}
			u.read[k] = r
			u.pairs = append(u.pairs, k)
		}
		r.count++
		r.warps |= 1 << (e.Warp & 63)
		r.lanes |= 1 << lane
	}
}

// name is the array that an instruction is taken to access, nil where that is not settled.
func (u *overlapUnit) name(pc int) *sharedArray {
	x := u.extents[pc]
	if x == nil || x.probe {
		return nil
	}
	var best *sharedArray
	for i := range u.arrays {
		a := &u.arrays[i]
		switch {
		case !a.contains(x.lo, x.hi):
		case best == nil || a.Bytes < best.Bytes:
			best = a
		case a.Bytes == best.Bytes && a.Name != best.Name:
			return nil
		}
	}
	return best
}

func overlapFindings(_ *Checker, us []unit) []target.Finding {
	type cause struct{ reader, writer string }
	blocks := make([]*causes, 0, len(us))
	for _, x := range us {
		u := x.(*overlapUnit)
		cs := &causes{}
		for _, k := range u.pairs {
			a, b := u.name(k.reader), u.name(k.writer)
			if a == nil || b == nil || a.Name == b.Name {
				continue
			}
			cs.add(cause{a.Name, b.Name}, u.finding(k, a, b))
		}
		blocks = append(blocks, cs)
	}
	return mergeCauses(blocks)
}

func (u *overlapUnit) finding(k overlapPair, a, b *sharedArray) target.Finding {
	r, from, by := u.read[k], u.extents[k.reader], u.extents[k.writer]
	lo, hi := max(a.addr, b.addr), min(a.end(), b.end())
	at := a.index(r.addr)
	other := a.overwritten(b, r.addr)
	return target.Finding{
		Kind: target.Overlap, Variable: a.Name, Index: at, Space: target.SpaceShared.String(), Block: u.id,
		Warps: bitList(r.warps), Lanes: bitList(r.lanes), KVTile: r.kv, Source: from.source, Other: by.source,
		Neighbour: b.Name,
		Message: fmt.Sprintf("%s and %s share %d bytes: %s is read at %s after %s was written over it at %s",
			a.Name, b.Name, hi-lo,
			element(a.Name, at), from.source, other, by.source),
		Consequence: fmt.Sprintf(
			"%s reads %s's values: give each array bytes of its own, or fill %s again before it is read",
			from.source, b.Name, a.Name),
		Count: r.count,
	}
}

// overwritten names the element of b at an address of a.
func (a *sharedArray) overwritten(b *sharedArray, addr int) string {
	return element(b.Name, b.index(addr))
}

// element writes an array's element: "sS[17][9]".
func element(name string, index []int) string {
	for _, i := range index {
		name += fmt.Sprintf("[%d]", i)
	}
	return name
}

// placeName writes an element as element does, and memory that belongs to no variable as "shared memory".
func placeName(variable string, index []int, space target.Space) string {
	if variable == "" {
		return space.String() + " memory"
	}
	return element(variable, index)
}
