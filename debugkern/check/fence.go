package check

import (
	"tilescope/debugkern/target"
)

// Fences. A strong write that follows a fence of its thread (or is a release) hands on what the thread did and knew before the
// fence; a strong read that sees the value, followed by a fence (or being an acquire), takes it over (PTX ISA, "Memory
// consistency model": release and acquire patterns). What a location hands on is kept by address and follows the writes to it:
// a strong read always sees the last one, since the emulator executes one access after the other. An atomic continues what it
// reads (a release sequence), any other write ends it.

// fenceKey is a location.
type fenceKey struct {
	space target.Space
	addr  uint64
}

// fenceState is what the threads of one block have released and may acquire.
type fenceState struct {
	last    map[int]arrival // by thread: at its last fence
	pending map[int][]uint32
	at      map[fenceKey][]uint32
}

// fenced is a fence of some lanes.
func (u *races) fenced(e *target.Event) {
	s := &u.sites[e.PC]
	_ = s
	f := &u.fence
	if f.last == nil {
		f.last, f.pending, f.at = map[int]arrival{}, map[int][]uint32{}, map[fenceKey][]uint32{}
	}
	for lane := range 32 {
		if e.Mask>>lane&1 == 0 {
			continue
		}
		t := 32*e.Warp + lane
		if row := f.pending[t]; row != nil {
			u.clk.merge(t, row)
			delete(f.pending, t)
		}
		f.last[t] = u.clk.arrive(e.Warp, e.PC, 1<<lane, true)
	}
}

// access is a strong access of one lane to a location.
func (f *fenceState) access(u *races, key fenceKey, lane int) {
	s := u.s
	if len(f.last) == 0 && !s.release && len(f.at) == 0 {
		return
	}
	if f.last == nil {
		f.last, f.pending, f.at = map[int]arrival{}, map[int][]uint32{}, map[fenceKey][]uint32{}
	}
	t := 32*u.e.Warp + lane
	seen := f.at[key]
	if s.reads && seen != nil {
		if s.acquire {
			u.clk.merge(t, seen)
		} else {
			f.pending[t] = joined(f.pending[t], seen)
		}
	}
	if !s.writes {
		return
	}
	mine, ok := f.last[t]
	if s.release {
		mine, ok = u.clk.arrive(u.e.Warp, u.e.PC, 1<<lane, true), true
	}
	if !ok {
		if !s.reads {
			delete(f.at, key)
		}
		return
	}
	row := make([]uint32, len(u.clk.rows))
	if s.reads && seen != nil {
		copy(row, seen)
	}
	mine.tell(row)
	f.at[key] = row
}

// joined is the union of two rows.
func joined(a, b []uint32) []uint32 {
	row := append([]uint32(nil), a...)
	if row == nil {
		return b
	}
	maximum(row, b)
	return row
}

// overwritten ends what weak writes to a location's bytes hide.
func (f *fenceState) overwritten(addr uint64, n int) {
	for k := range f.at {
		if k.space == target.SpaceShared && k.addr+8 > addr && k.addr < addr+uint64(n) {
			delete(f.at, k)
		}
	}
}

func (f *fenceState) sync(u *races, warp int, mask uint32) {}
func (f *fenceState) exchange(u *races, as []arrival)      {}
func (f *fenceState) everyone(u *races)                    {}
