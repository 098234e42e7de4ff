package check

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
)

// A wait by parity tells two phases of an mbarrier apart, no more: that it passes says that the phase before
// is over only as long as the next one cannot be over too. So the next phase must not complete before the
// wait has passed: something that it needs, an arrival or a copy, has to be ordered behind the wait. Where
// nothing is, the wait may find the next phase over as well, and then it lasts until the one after, or for
// ever: a wrong parity, or a phase that completes twice between two waits (PTX ISA, "mbarrier.test_wait").

// phasePasses is who has passed a wait since an mbarrier's last phase was over, and what the open one needs.
type phasePasses struct {
	list   []passing
	needed []uint32 // what the threads had done whose arrivals and copies the phase needs
	epoch  uint32   // blockEpoch of the last of these
	pc     int      // of the last of these
}

// phaseFindings are those of phases, without those that races explain: where the copy that ends a phase
// races, it is the same order that is missing.
func phaseFindings(us []unit, found []target.Finding) []target.Finding {
	var all []*causes
	for _, u := range us {
		all = append(all, &u.(*races).early)
	}
	return slices.DeleteFunc(mergeCauses(all), func(f target.Finding) bool {
		return f.Other != nil && slices.ContainsFunc(found, func(r target.Finding) bool {
			return r.Source != nil && *r.Source == *f.Other || r.Other != nil && *r.Other == *f.Other
		})
	})
}

// passing is a wait that lanes of a warp have passed: the last one of the warp.
type passing struct {
	pc, warp, tile int
	mask           uint32
	stamp          uint32
}

// heldBack notes that the open phase of an mbarrier, -1 for none, needs what a lane does now.
func (u *races) heldBack(mbar, lane int) {
	if mbar < 0 {
		return
	}
	p := &u.phase(mbar).passes
	if p.needed == nil {
		p.needed = make([]uint32, len(u.clk.rows))
	}
	u.publishLane(lane, p.needed)
	p.epoch, p.pc = u.clk.blockEpoch, u.e.PC
}

// publishLane raises a row to the clock of a lane of the current warp: what it has done, and is ordered
// after.
func (u *races) publishLane(lane int, row []uint32) {
	a := u.clk.arrive(u.e.Warp, u.e.PC, 1<<lane, true)
	a.publishClock(row)
}

// lanesByAddress yields the addresses that the lanes of an event name, each once, with its lanes.
func lanesByAddress(e *target.Event) iter.Seq2[uint64, uint32] {
	return func(yield func(uint64, uint32) bool) {
		for m := e.Mask; m != 0; {
			addr, lanes := e.Addr[bits.TrailingZeros32(m)&31], uint32(0)
			for l := m; l != 0; l &= l - 1 {
				if i := bits.TrailingZeros32(l) & 31; e.Addr[i] == addr {
					lanes |= 1 << i
				}
			}
			m &^= lanes
			if !yield(addr, lanes) {
				return
			}
		}
	}
}

// passed notes the lanes that have passed a wait.
func (u *races) passed(e *target.Event) {
	stamp := u.ownStamp(e)
	for addr, lanes := range lanesByAddress(e) {
		if addr+8 > u.bytes {
			continue
		}
		p := &u.phase(int(addr)).passes
		now := passing{pc: e.PC, warp: e.Warp, tile: e.KVTile, mask: lanes, stamp: stamp}
		if i := slices.IndexFunc(p.list, func(o passing) bool { return o.warp == e.Warp }); i >= 0 {
			p.list[i] = now
		} else {
			p.list = append(p.list, now)
		}
	}
}

// ownStamp is a stamp that nothing before the event has.
func (u *races) ownStamp(e *target.Event) uint32 {
	w := &u.clk.warps[e.Warp]
	w.fresh = true
	stamp := u.clk.stamp(w, moment{int32(e.KVTile), int32(e.Iteration), int32(e.Loop)})
	w.fresh = true
	return stamp
}

// overtaken looks for waits that the phase which has just completed did not need to be passed.
func (u *races) overtaken(mbar int, c *phaseClock) {
	p := &c.passes
	defer p.reset()
	if !u.b.checker.options.Set.Has(Races) {
		return
	}
	for i := range p.list {
		x := &p.list[i]
		ordered := x.stamp <= p.epoch
		for l := range 32 { // lanes of a warp execute a wait together
			ordered = ordered || p.needed != nil && p.needed[32*x.warp+l] >= x.stamp
		}
		if ordered {
			continue
		}
		name, index := u.b.view.Name(target.SpaceShared, uint64(mbar))
		u.addEarly(x.pc, p.pc, target.Finding{
			Kind: target.MBarrier, Variable: name, Index: index, Space: target.SpaceShared.String(),
			Warps: []int{x.warp}, Lanes: laneList(x.mask), KVTile: x.tile,
			Message: fmt.Sprintf(
				"%s: nothing that the next phase needs is ordered behind the wait of warp %d at %s: the wait may find that phase over as well, which %s ends, and then passes a phase too late, or never",
				placeName(name, index, target.SpaceShared), x.warp, u.sites[x.pc].place(),
				u.sites[p.pc].place()),
			Consequence: "the block can hang",
		})
	}
}

// reset begins the next phase.
func (p *phasePasses) reset() {
	p.list, p.epoch = p.list[:0], 0
	clear(p.needed)
}

// earlyKey identifies a finding of phases or turns by its two places.
type earlyKey struct{ source, with target.Source }

// addEarly adds a finding about phases of an mbarrier or of a named barrier: at one instruction, and what
// may come too early for it at another, which may be the same.
func (u *races) addEarly(at, with int, f target.Finding) {
	src, other := u.sites[at].source(), u.sites[with].source()
	f.Block, f.Source = u.b.id, src
	if at != with {
		f.Other = other
	}
	u.early.add(earlyKey{*src, *other}, f)
}
