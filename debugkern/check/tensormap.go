package check

import (
	"fmt"
	"math/bits"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// Tensor maps in memory. Threads write them through the generic proxy, and a tensor copy reads its map
// through the tensormap proxy. That sees a write only where the writer releases it to that proxy
// (fence.proxy.tensormap::generic.release, tensormap.cp_fenceproxy), and the thread that issues the copy, or
// one that it is ordered after, then acquires the map (fence.proxy.tensormap::generic.acquire). What was
// there before the launch has to be acquired too (PTX ISA 8.8.4: the tensormap proxy is not acquired at a
// kernel's start); whether it was released is not known here.
//
// Which writes are released is part of threads' rows, as proxied is (bulk.go).

// mapBytes is the size of a tensor map.
const mapBytes = 128

// mapAcquire is a fence that acquires a map, by some lanes of a warp.
type mapAcquire struct {
	stamp      uint32
	warp, pc   int
	mask       uint32
	scope      scope
	unreleased []uint32 // stamps of the map's writes that were not released to it
}

// mapFence reports whether an instruction is a fence of the tensormap proxy.
func mapFence(in *ptx.Instr) bool { return in.Kind() == isa.Fence && in.Has("tensormap::generic") }

// usesMaps reports whether a program makes tensor maps in memory, or fences them.
func usesMaps(sites []site) bool {
	return slices.ContainsFunc(sites, func(s site) bool { return s.in.Kind().OfMap() || mapFence(s.in) })
}

// mapAccess is a tensormap instruction, as accesses of 16 bytes each. Lanes that name the same address count
// as one.
func (u *races) mapAccess(e *target.Event) {
	if u.b.checker.ignored[e.PC] {
		return
	}
	copies := e.Instr.Kind() == isa.CopyMap
	o, addr := *e, *e.Addr
	o.Bytes, o.Addr = lineSize, &addr
	if o.Class = target.ClassStore; copies && e.Space == target.SpaceShared {
		o.Class = target.ClassLoad
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		if lane := bits.TrailingZeros32(m) & 31; namedBefore(e, lane) {
			o.Mask &^= 1 << lane
		}
	}
	for range mapBytes / lineSize {
		u.access(&o)
		for i := range addr {
			addr[i] += lineSize
		}
	}
	if copies && o.Class == target.ClassStore {
		u.releaseMaps(e)
	}
}

// namedBefore reports whether a lower lane that executes the instruction has the lane's address.
func namedBefore(e *target.Event, lane int) bool {
	for m := e.Mask & (1<<lane - 1); m != 0; m &= m - 1 {
		if e.Addr[bits.TrailingZeros32(m)&31] == e.Addr[lane] {
			return true
		}
	}
	return false
}

// releaseMaps makes what some lanes have done, and are ordered after, visible to the tensormap proxy.
func (u *races) releaseMaps(e *target.Event) {
	if u.bulk == nil {
		return
	}
	released, epoch := u.clk.mapExtension()
	for m := e.Mask; m != 0; m &= m - 1 {
		u.clk.visible(e.Warp, bits.TrailingZeros32(m)&31, released, epoch)
	}
	u.clk.warps[e.Warp].fresh = true
}

// fenceMaps is a fence of the tensormap proxy.
func (u *races) fenceMaps(e *target.Event) {
	if u.bulk == nil {
		return
	}
	if !e.Instr.Has("acquire") {
		u.releaseMaps(e)
		return
	}
	stamp := u.ownStamp(e)
	for addr, lanes := range lanesByAddress(e) {
		if e.Space == target.SpaceGlobal {
			u.acquireMap(e, addr, lanes, stamp)
		}
	}
}

// acquireMap notes that lanes of a warp acquire the map at an address.
func (u *races) acquireMap(e *target.Event, addr uint64, lanes, stamp uint32) {
	a := mapAcquire{stamp: stamp, warp: e.Warp, pc: e.PC, mask: lanes, scope: u.sites[e.PC].scope}
	u.eachWrite(addr, func(w *access) {
		for l := lanes; l != 0; l &= l - 1 {
			if u.mapReleased(w, bits.TrailingZeros32(l)&31, e.Warp) {
				return
			}
		}
		a.unreleased = append(a.unreleased, w.stamp)
	})
	maps := u.bulk.maps
	maps[addr] = append(slices.DeleteFunc(maps[addr], func(o mapAcquire) bool {
		return o.warp == a.warp && o.mask&^a.mask == 0 && o.scope <= a.scope // a comes after it
	}), a)
}

// eachWrite calls f for the block's last write to each part of a map in global memory.
func (u *races) eachWrite(addr uint64, f func(w *access)) {
	for at := addr; at < addr+mapBytes; at += lineSize {
		l := u.glob.lines[at>>lineBits]
		if l == nil {
			continue
		}
		for i := range l.cells {
			if w := &l.cells[i].w; w.stamp >= u.clk.first && w.stamp != underWay {
				f(w)
			}
		}
	}
}

// mapReleased reports whether a write was released to the tensormap proxy, as far as a thread knows.
func (u *races) mapReleased(w *access, lane, warp int) bool {
	released, epoch := u.clk.mapExtension()
	t := 32*warp + lane
	if w.stamp <= u.clk.component(t, epoch) {
		return true
	}
	for o := w.mask & u.clk.warps[w.warp()].existing(); o != 0; o &= o - 1 {
		if w.stamp <= u.clk.component(t, released+32*w.warp()+bits.TrailingZeros32(o)&31) {
			return true
		}
	}
	return false
}

// readMap is the read of its map by a tensor copy that a lane issues.
func (u *races) readMap(e *target.Event, lane int) {
	if e.Map == nil || e.Map.Space != target.SpaceGlobal || !u.b.checker.options.Set.Has(Races) {
		return
	}
	addr := e.Map.Addr
	space, before := u.space, len(u.order)
	u.space = target.SpaceGlobal
	if u.watched(addr) {
		if u.grid != nil {
			u.grid.across(u, addr, mapBytes, lane, nil)
		}
		u.eachGlobal(addr, mapBytes, func(c *cell) { u.read(c, 1<<lane, &u.glob.list) })
	}
	if len(u.order) == before {
		u.unseenMap(addr, lane)
	}
	u.space = space
}

// unseenMap reports a map of which a tensor copy need not see what was written.
func (u *races) unseenMap(addr uint64, lane int) {
	var last *access
	u.eachWrite(addr, func(w *access) {
		if last == nil || w.stamp > last.stamp {
			last = w
		}
	})
	acquired, released := false, -1
	for i := range u.bulk.maps[addr] {
		a := &u.bulk.maps[addr][i]
		if last == nil && a.scope < scopeDevice || last != nil && a.stamp < last.stamp || !u.after(a, lane) {
			continue
		}
		acquired = true
		if last == nil || !slices.Contains(a.unreleased, last.stamp) {
			return
		}
		released = a.pc
	}
	u.addUnseen(addr, lane, last, acquired, released)
}

// after reports whether what a lane of the current warp does comes after an acquire.
func (u *races) after(a *mapAcquire, lane int) bool {
	for l := a.mask; l != 0; l &= l - 1 {
		if u.clk.ordered(a.stamp, a.warp, bits.TrailingZeros32(l)&31, u.e.Warp, lane) {
			return true
		}
	}
	return false
}

// addUnseen adds the finding: of the block's last write to a map, nil where it has made none, and of a copy.
// acquired is whether an acquire stands between the two, at PC to.
func (u *races) addUnseen(addr uint64, lane int, last *access, acquired bool, to int) {
	name, index := u.b.view.Name(target.SpaceGlobal, addr)
	here := &u.sites[u.e.PC]
	f := target.Finding{
		Kind: target.ProxyFence, Variable: name, Index: index, Space: target.SpaceGlobal.String(),
		Block: u.b.id, Warps: []int{u.e.Warp}, Lanes: []int{lane}, KVTile: u.e.KVTile, Source: here.source(),
	}
	what := placeName(name, index, target.SpaceGlobal)
	now := u.now(lane).by()
	const tail = "need not see it: the tensormap proxy reads the map"
	if last == nil {
		f.Message = fmt.Sprintf(
			"%s: the tensor map is from before the launch, or another block's, and the copy that %s issues at %s %s, and no fence.proxy.tensormap::generic.acquire of .gpu or .sys scope stands before the copy",
			what, now, here.place(), tail)
		f.Missing = fmt.Sprintf("fence.proxy.tensormap::generic.acquire.gpu (.sys where the host wrote it) for %s before %s",
			what, f.Source)
		u.mapFound.add(earlyKey{source: *f.Source}, f)
		return
	}
	past := side{pc: last.pc(), warp: last.warp(), lane: bits.TrailingZeros32(last.mask) & 31}
	first := &u.sites[past.pc]
	f.Other, f.Source = f.Source, first.source()
	f.Warps = union(f.Warps, []int{past.warp})
	need, from, until := "acquire", f.Source, f.Other
	f.Missing = fmt.Sprintf("fence.proxy.tensormap::generic.acquire.gpu for %s between %s and %s", what, from, until)
	if acquired {
		need = "release"
		f.Missing = fmt.Sprintf(
			"fence.proxy.tensormap::generic.release.gpu by the thread that writes it, or tensormap.cp_fenceproxy in the place of the write, between %s and the acquire at %s",
			from, u.sites[to].source())
	}
	f.Message = fmt.Sprintf(
		"%s: %s writes the tensor map at %s, and the copy that %s issues at %s %s, and no fence.proxy.tensormap::generic.%s stands between",
		what, past.by(), first.place(), now, here.place(), tail, need)
	u.mapFound.add(earlyKey{*f.Source, *f.Other}, f)
}

// mapFindings are those of tensor maps in memory.
func mapFindings(us []unit) []target.Finding {
	var all []*causes
	for _, u := range us {
		all = append(all, &u.(*races).mapFound)
	}
	return mergeCauses(all)
}
