package lineage

import (
	"math/bits"
	"slices"
	"sort"
	"sync"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// index finds who wrote a register or a byte of memory. Each part is made when it is first needed.
type index struct {
	stepsOnce sync.Once
	start     []uint32  // by warp and PC: where its steps begin in order
	order     []uint32  // steps, by warp and PC, then by time
	defs      [][][]def // by function and register: the instructions that write it
	graphs    []*cfg.Graph
	deciders  [][][]int // by function and block

	memoryOnce sync.Once
	writes     map[granule][]written

	mu       sync.Mutex
	inverses map[*isa.Fragment][]uint16
}

// def is an instruction that writes a register, with the number of the destination.
type def struct {
	pc  int32
	dst uint8
}

// granuleBits is the size of the pieces of memory whose writers are listed together.
const granuleBits = 7

// granule is a piece of memory; of local memory, a warp's.
type granule struct {
	space target.Space
	warp  uint16
	at    uint64
}

// written is an access that wrote into a granule: by a store or atomic, the landing of a copy, or
// a call (access -1).
type written struct {
	step   uint32
	access int32
}

// byPC lists the plain steps by warp and PC.
func (t *Trace) byPC() *index {
	x := &t.idx
	x.stepsOnce.Do(func() {
		n := t.warps * len(t.flows)
		x.start = make([]uint32, n+1)
		for i := range t.steps.n {
			if s := t.steps.at(i); s.kind == stepPlain {
				x.start[int(s.warp)*len(t.flows)+int(s.pc)+1]++
			}
		}
		for i := range n {
			x.start[i+1] += x.start[i]
		}
		x.order = make([]uint32, x.start[n])
		next := slices.Clone(x.start[:n])
		for i := range t.steps.n {
			if s := t.steps.at(i); s.kind == stepPlain {
				k := int(s.warp)*len(t.flows) + int(s.pc)
				x.order[next[k]] = uint32(i)
				next[k]++
			}
		}
		for _, f := range t.funcs {
			defs := make([][]def, len(f.Regs))
			for j := range f.Body {
				pc := t.base[f] + int32(j)
				for k, d := range t.flows[pc].dst {
					if d.reg >= 0 {
						defs[d.reg] = append(defs[d.reg], def{pc, uint8(k)})
					}
				}
			}
			x.defs = append(x.defs, defs)
			x.graphs = append(x.graphs, nil)
			x.deciders = append(x.deciders, nil)
		}
	})
	return x
}

// at lists the steps of a warp at a PC, in order.
func (x *index) at(t *Trace, warp, pc int) []uint32 {
	k := warp*len(t.flows) + pc
	return x.order[x.start[k]:x.start[k+1]]
}

// before finds the last step of a warp at a PC, before step i, in which a lane took part; -1 for none.
func (t *Trace) before(warp, pc, lane, i int) int {
	list := t.byPC().at(t, warp, pc)
	for k := sort.Search(len(list), func(k int) bool { return int(list[k]) >= i }) - 1; k >= 0; k-- {
		if t.steps.at(int(list[k])).mask>>lane&1 != 0 {
			return int(list[k])
		}
	}
	return -1
}

// writer finds the last write of a register of a lane before step i; step -1 for none.
func (t *Trace) writer(fn, warp, lane int, reg int32, i int) (step int, dst uint8) {
	step = -1
	for _, d := range t.byPC().defs[fn][reg] {
		if k := t.before(warp, int(d.pc), lane, i); k > step {
			step, dst = k, d.dst
		}
	}
	return step, dst
}

// inverse is, by cell, 256 times the lane and the element that hold it first.
func (t *Trace) inverse(f *isa.Fragment) []uint16 {
	x := &t.idx
	x.mu.Lock()
	defer x.mu.Unlock()
	if inv := x.inverses[f]; inv != nil {
		return inv
	}
	inv := make([]uint16, f.Rows*f.Cols)
	for e := f.Elements - 1; e >= 0; e-- {
		for lane := 31; lane >= 0; lane-- {
			row, col := f.Cell(lane, e)
			inv[row*f.Cols+col] = uint16(lane<<8 | e)
		}
	}
	if x.inverses == nil {
		x.inverses = map[*isa.Fragment][]uint16{}
	}
	x.inverses[f] = inv
	return inv
}

// graph is a function's control flow, with the blocks that decide about each block.
func (t *Trace) graph(fn int) (*cfg.Graph, [][]int) {
	x := t.byPC()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.graphs[fn] == nil {
		g := cfg.New(t.funcs[fn])
		x.graphs[fn], x.deciders[fn] = g, g.Deciders()
	}
	return x.graphs[fn], x.deciders[fn]
}

// memoryWrites lists who wrote each granule.
func (t *Trace) memoryWrites() map[granule][]written {
	x := &t.idx
	x.memoryOnce.Do(func() {
		x.writes = map[granule][]written{}
		for i := range t.steps.n {
			s := t.steps.at(i)
			switch s.kind {
			case stepLand:
				t.note(i, s, int(t.steps.at(int(s.aux)).aux), s.mask)
				continue
			case stepPass:
				for _, p := range t.passes[s.aux] {
					for g := p.To >> granuleBits; g <= (p.To+uint64(p.Size)-1)>>granuleBits; g++ {
						t.wrote(granule{target.SpaceLocal, s.warp, g}, written{uint32(i), -1})
					}
				}
				continue
			}
			switch t.flows[s.pc].kind {
			case flowStore, flowStoreRows, flowStoreTile, flowAtomic:
				for k := range int(s.n) {
					t.note(i, s, int(s.aux)+k, ^uint32(0))
				}
			}
		}
	})
	return x.writes
}

func (t *Trace) wrote(g granule, w written) {
	list := t.idx.writes[g]
	if n := len(list); n > 0 && list[n-1] == w {
		return
	}
	t.idx.writes[g] = append(list, w)
}

// note lists an access in the granules that its lanes write to.
func (t *Trace) note(i int, s *step, access int, mask uint32) {
	a := t.accesses.at(access)
	g := granule{space: a.space}
	if a.space == target.SpaceLocal {
		g.warp = s.warp
	}
	last := ^uint64(0)
	for m := a.mask & mask; m != 0; m &= m - 1 {
		addr := t.addr(a, bits.TrailingZeros32(m)&31)
		for p := addr >> granuleBits; p <= (addr+uint64(a.bytes)-1)>>granuleBits; p++ {
			if p == last {
				continue
			}
			last, g.at = p, p
			t.wrote(g, written{uint32(i), int32(access)})
		}
	}
}

// Functions lists the functions of the program: the entry first.
func (t *Trace) Functions() []*ptx.Func { return t.funcs }
