package check

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/target"
)

// barrierKind watches how block barriers are used: with how many threads, and by whole warps.
// Barriers that divergent threads reach at different places, and blocks in which nobody can go on,
// the emulator reports itself.
func barrierKind() kind {
	return kind{
		set: Barriers,
		start: func(b *block) unit {
			u := &barriers{b: b, sites: b.checker.program(b.view), behind: b.checker.behindBarriers(b.view)}
			n := b.view.Launch().Block.Count()
			for i := range u.began {
				u.began[i] = uint32(1<<max(0, min(32, n-32*i)) - 1)
			}
			u.alive, u.past = u.began, make([][32]uint32, len(u.behind.at))
			return u
		},
		findings: func(_ *Checker, us []unit) []target.Finding {
			var all []*causes
			for _, u := range us {
				all = append(all, &u.(*barriers).found)
			}
			return mergeCauses(all)
		},
	}
}

// barriers watches one block.
type barriers struct {
	b     *block
	sites []site
	began [32]uint32 // the lanes that the block has
	alive [32]uint32
	came  [16][]comer
	done  [16][]comer // who came when the barrier last completed
	found causes

	behind *behindBarriers
	past   [][32]uint32 // by number in behind.at: the lanes that have executed it
}

// comer is some lanes of a warp that wait at a barrier, or have arrived at it.
type comer struct {
	pc, warp, threads, tile int
	mask                    uint32
	off                     uint32 // lanes that came with them and are switched off
	counted                 bool
}

// Interests implements unit.
func (u *barriers) Interests() target.ClassSet {
	classes := target.Classes(target.ClassBarrier, target.ClassBarrierDone, target.ClassExit)
	if len(u.behind.at) > 0 {
		classes |= target.Classes(target.ClassStore, target.ClassAtomic, target.ClassShuffle)
	}
	return classes
}

// Event implements unit.
func (u *barriers) Event(e *target.Event) {
	switch e.Class {
	case target.ClassExit:
		u.alive[e.Warp] &^= e.Mask
	case target.ClassBarrier:
		if !e.Probe {
			u.arrive(e)
		}
	case target.ClassBarrierDone:
		u.whole(u.came[e.Barrier])
		u.bypassed(u.came[e.Barrier])
		u.alone(e.Barrier, u.came[e.Barrier])
		u.done[e.Barrier], u.came[e.Barrier] = u.came[e.Barrier], u.done[e.Barrier][:0]
	case target.ClassStore, target.ClassAtomic, target.ClassShuffle:
		if n, ok := u.behind.number(e.PC); ok {
			u.past[n][e.Warp] |= e.Mask
		}
	}
}

// arrive compares what an arrival expects with what those before it do.
func (u *barriers) arrive(e *target.Event) {
	c := comer{
		pc: e.PC, warp: e.Warp, threads: e.Threads, tile: e.KVTile, mask: e.Mask, off: e.Off,
		counted: counted(&u.sites[e.PC]),
	}
	if c.counted && c.threads%32 != 0 {
		u.add(c, c, fmt.Sprintf("barrier %d at %s is for %d threads: the number must be a multiple of 32",
			e.Barrier, u.place(c), c.threads))
	}
	for _, o := range u.came[e.Barrier] {
		if o.counted != c.counted || c.counted && o.threads != c.threads {
			u.mismatch(e.Barrier, o, c)
			break
		}
	}
	u.came[e.Barrier] = append(u.came[e.Barrier], c)
}

// mismatch is a barrier that two instructions use for different numbers of threads.
func (u *barriers) mismatch(id int, a, b comer) {
	if b.pc < a.pc {
		a, b = b, a
	}
	u.add(a, b, fmt.Sprintf(target.BarrierUse+"%d is for %s at %s (warp %d), and for %s at %s (warp %d)",
		id, a.expects(), u.place(a), a.warp, b.expects(), u.place(b), b.warp))
}

// counted reports whether a barrier instruction names a number of threads.
func counted(s *site) bool {
	n := 1
	if s.in.HasDest() {
		n = 3
	}
	return len(s.in.Args) > n
}

func (c comer) expects() string {
	if !c.counted {
		return "all threads"
	}
	return fmt.Sprintf("%d threads", c.threads)
}

// whole looks for warps that came to an aligned barrier in parts, or without some of their lanes (PTX ISA,
// "barrier": all threads of the warp must execute the same instruction). A warp may come in parts to one
// instruction, and all of it to several: it may arrive and then wait as well, and counts twice.
func (u *barriers) whole(cs []comer) {
	var parts []comer // by instruction and warp, of those that lanes are missing from
	for _, c := range cs {
		i := slices.IndexFunc(parts, func(o comer) bool { return o.pc == c.pc && o.warp == c.warp })
		if i < 0 {
			parts = append(parts, c)
		} else {
			parts[i].mask |= c.mask
			parts[i].off |= c.off
		}
	}
	parts = slices.DeleteFunc(parts, func(c comer) bool {
		return !aligned(&u.sites[c.pc]) || (u.alive[c.warp]|c.off)&^c.mask == 0
	})
	if len(parts) == 0 {
		return
	}
	c := parts[0]
	for _, o := range parts[1:] {
		if o.warp == c.warp {
			u.add(c, o, fmt.Sprintf(
				"lanes %s of warp %d reach the barrier at %s, lanes %s the one at %s: "+
					"all lanes of a warp must execute the same one",
				laneText(c.mask), c.warp, u.place(c), laneText(o.mask), u.place(o)))
			return
		}
	}
	u.add(c, c, fmt.Sprintf("the barrier at %s is reached by lanes %s of warp %d only: lanes %s do not execute it",
		u.place(c), laneText(c.mask), c.warp, laneText((u.alive[c.warp]|c.off)&^c.mask)))
}

// alone reports a phase of a named barrier at which no warp takes part but those that wait, and which is over
// because some of them have arrived before as well: it is over before all that it is for have come.
func (u *barriers) alone(id int, cs []comer) {
	var waits, came [32]uint32
	last, first, n := -1, -1, 0
	for i, c := range cs {
		came[c.warp] |= c.mask
		if !u.sites[c.pc].in.Has("arrive") {
			waits[c.warp] |= c.mask
			last = i
		} else if first < 0 {
			first = i
		}
	}
	var warps []int
	for w, mask := range came {
		if mask != 0 {
			warps = append(warps, w)
		}
		n += bits.OnesCount32(mask)
	}
	if last < 0 || first < 0 || !cs[last].counted || n >= cs[last].threads || came != waits {
		return
	}
	c, before := cs[last], cs[first]
	u.add(c, before, fmt.Sprintf(target.BarrierUse+"%d at %s is for %d threads, and is over with the %d of %s: warp %d "+
		"has arrived at %s before, and counts twice", id, u.place(c), c.threads, n, warpText(warps, "", ""),
		before.warp, u.place(before)))
}

// aligned reports whether a barrier needs whole warps.
func aligned(s *site) bool { return s.in.Op == "bar" || s.in.Has("aligned") }

// End implements target.Ender: whoever still waits at a barrier for a number of threads waits for too many.
// Arrivals that nobody waits for are left by warps that take turns: the last one has no successor.
func (u *barriers) End() {
	// Barriers whose arrivals went elsewhere say more than others that are waited at in the same place.
	for _, misdirected := range []bool{true, false} {
		for id, cs := range u.came {
			u.lacks(id, cs, misdirected)
		}
	}
}

// lacks reports a barrier at which threads still wait, where arrivals that it lacks were made at another
// one, or else where none were.
func (u *barriers) lacks(id int, cs []comer, misdirected bool) {
	n := 0
	var waiting []comer
	for _, c := range cs {
		n += bits.OnesCount32(c.mask)
		if !u.sites[c.pc].in.Has("arrive") {
			waiting = append(waiting, c)
		}
	}
	if len(waiting) == 0 || !waiting[0].counted {
		return
	}
	first, last := waiting[0], waiting[len(waiting)-1]
	if d := u.done[id]; len(d) > 0 && (!d[0].counted || d[0].threads != first.threads) {
		if !misdirected { // some went through with another number, and the others wait for them
			u.mismatch(id, d[0], first)
		}
		return
	}
	at, warps := u.arrivedElsewhere(id, cs)
	if misdirected != (len(warps) > 0) {
		return
	}
	var who string
	if !misdirected {
		who = u.whoElse(cs, u.done[id])
	} else {
		who = fmt.Sprintf("%s arrived at barrier %d (%s), at which no thread waits",
			warpText(warps, " has", " have"), at, u.place(u.came[at][0]))
	}
	f := u.add(first, last, fmt.Sprintf("barrier %d at %s is for %d threads, and only %d come: %s", id,
		u.place(first), first.threads, n, who))
	for _, c := range waiting { // of this barrier; another one at the same place is the same cause
		f.Warps = union(f.Warps, []int{c.warp})
	}
	if misdirected {
		f.Other = u.sites[u.came[at][0].pc].source()
	}
}

// arrivedElsewhere finds a barrier at which other warps than those that came to barrier id have arrived,
// for as many threads, and no thread waits; no warps where there is none.
func (u *barriers) arrivedElsewhere(id int, cs []comer) (at int, warps []int) {
	came := func(list []comer, warp int) bool {
		return slices.ContainsFunc(list, func(c comer) bool { return c.warp == warp })
	}
	for at, list := range u.came {
		if at == id || len(list) == 0 || slices.ContainsFunc(list, func(c comer) bool {
			return !u.sites[c.pc].in.Has("arrive") || c.threads != cs[0].threads || came(cs, c.warp)
		}) {
			continue
		}
		for _, c := range list {
			if !slices.Contains(warps, c.warp) {
				warps = append(warps, c.warp)
			}
		}
		slices.Sort(warps)
		return at, warps
	}
	return 0, nil
}

// whoElse says what became of the warps that did not come: of those that came the last time that all did,
// where there was such a time, and else of the others of the block.
func (u *barriers) whoElse(cs, before []comer) string {
	var came, partners [32]bool
	for _, c := range cs {
		came[c.warp] = true
	}
	where, any := "", false
	for _, c := range before {
		if !came[c.warp] {
			partners[c.warp], any = true, true
			if at := u.place(c); !strings.Contains(where, at) {
				where += ", " + at
			}
		}
	}
	if any {
		where = ", which came the time before (" + strings.TrimPrefix(where, ", ") + "),"
	}
	var gone, others []int
	for w := range (u.b.view.Launch().Block.Count() + 31) / 32 {
		switch {
		case came[w] || any && !partners[w]:
		case u.alive[w] == 0:
			gone = append(gone, w)
		default:
			others = append(others, w)
		}
	}
	switch {
	case len(gone) > 0 && len(others) > 0:
		return warpText(gone, where+" has", where+" have") + " exited, " +
			warpText(others, " is", " are") + " elsewhere"
	case len(gone) > 0:
		return warpText(gone, where+" has", where+" have") + " exited"
	case len(others) > 0:
		return warpText(others, where+" is", where+" are") + " elsewhere"
	}
	return "the block has no more"
}

// warpText writes warps with their verb: "warps 2, 3 have".
func warpText(warps []int, one, many string) string {
	if len(warps) == 1 {
		return fmt.Sprintf("warp %d%s", warps[0], one)
	}
	if len(warps) <= 4 {
		return "warps " + strings.ReplaceAll(strings.Trim(fmt.Sprint(warps), "[]"), " ", ", ") + many
	}
	var mask uint32 // a block has at most 32 warps
	for _, w := range warps {
		mask |= 1 << w
	}
	return "warps " + laneText(mask) + many
}

func (u *barriers) place(c comer) string { return u.sites[c.pc].place() }

// add makes a finding of two arrivals, and returns that of its place.
func (u *barriers) add(a, b comer, msg string) *target.Finding {
	if b.pc < a.pc {
		a, b = b, a
	}
	type key struct{ source, with target.Source } // what is wrong in two ways at one place is one cause
	src, other := u.sites[a.pc].source(), u.sites[b.pc].source()
	f := target.Finding{
		Kind: target.Barrier, Message: msg, Block: u.b.id, Warps: union([]int{a.warp}, []int{b.warp}),
		Lanes:  laneList(a.mask | b.mask),
		KVTile: b.tile, Source: src,
	}
	if a.pc != b.pc {
		f.Other = other
	}
	k := key{*src, *other}
	u.found.add(k, f)
	return u.found.seen(k)
}

func laneList(mask uint32) []int {
	var out []int
	for ; mask != 0; mask &= mask - 1 {
		out = append(out, bits.TrailingZeros32(mask))
	}
	return out
}

// laneText writes a mask as ranges: "0-15, 20".
func laneText(mask uint32) string {
	s := ""
	for i := 0; i < 32; i++ {
		if mask>>i&1 == 0 {
			continue
		}
		j := i
		for j < 31 && mask>>(j+1)&1 != 0 {
			j++
		}
		if s != "" {
			s += ", "
		}
		if s += fmt.Sprint(i); j > i {
			s += fmt.Sprintf("-%d", j)
		}
		i = j
	}
	return s
}
