package emu

import (
	"fmt"
	"slices"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// linePasses counts how often each warp has passed a line in each kv tile. Lanes that diverged pass one after
// the other: a warp has passed as often as that of its lanes which has done so most often. Where the line is
// a block barrier there is one counter for the block, as if it had one warp.
type linePasses struct {
	first, last int32 // instructions of the line
	// on: by warp: lanes that have executed its last instruction and nothing outside it since
	on     []uint32
	lanes  [][32]uint16 // by warp: passes in the lane's kv tile
	passes [][]uint16   // by warp and kv tile
	kv     int          // the tile that is awaited
	fresh  bool         // a warp has passed since the last capture
}

func newLinePasses(pcs []int32, warps int) linePasses {
	l := linePasses{
		on: make([]uint32, warps), lanes: make([][32]uint16, warps), passes: make([][]uint16, warps),
	}
	if len(pcs) > 0 {
		l.first, l.last = pcs[0], pcs[len(pcs)-1]
	}
	return l
}

// event notes that lanes of a warp stand on the line's last instruction, or have gone past it. tiles is, by
// lane, how many kv tiles it has begun.
func (l *linePasses) event(e *target.Event, tiles *[32]int32) {
	w, pc := e.Warp, int32(e.PC)
	if pc == l.last {
		l.on[w] |= e.Mask
		return
	}
	m := l.on[w] & e.Mask
	if m == 0 || pc >= l.first && pc < l.last {
		return
	}
	l.on[w] &^= m
	for lane := range l.lanes[w] {
		if m>>lane&1 == 0 {
			continue
		}
		kv := max(int(tiles[lane])-1, 0)
		if l.lanes[w][lane]++; int(l.lanes[w][lane]) > l.at(w, kv) {
			l.count(w, kv)
		}
	}
}

// count adds a pass of a warp in a kv tile, and returns their number.
func (l *linePasses) count(w, kv int) int {
	for len(l.passes[w]) <= kv {
		l.passes[w] = append(l.passes[w], 0)
	}
	l.passes[w][kv]++
	l.fresh = true
	return int(l.passes[w][kv])
}

// at is how often a warp has passed in a kv tile.
func (l *linePasses) at(w, kv int) int {
	if kv >= len(l.passes[w]) {
		return 0
	}
	return int(l.passes[w][kv])
}

// most is the largest number of passes of any warp in a kv tile.
func (l *linePasses) most(kv int) int {
	n := 0
	for w := range l.passes {
		n = max(n, l.at(w, kv))
	}
	return n
}

func (l *linePasses) clone() linePasses {
	t := *l
	t.on, t.lanes, t.passes = slices.Clone(l.on), slices.Clone(l.lanes), slices.Clone(l.passes)
	for i := range t.passes {
		t.passes[i] = slices.Clone(t.passes[i])
	}
	return t
}

// blockBarriers lists those of the instructions that wait for the block, or for a part of it.
func (p *program) blockBarriers(pcs []int32) []int32 {
	var out []int32
	for _, pc := range pcs {
		if in := &p.code[pc]; in.flow == flowBarrier && in.bar.op != barArrive {
			out = append(out, pc)
		}
	}
	return out
}

// checkPasses ends the launch where a line was passed more often in a kv tile than the watch says, or less.
func (b *block) checkPasses() {
	if b.watch == nil || b.err != nil {
		return
	}
	for i := range b.watch.places {
		p := &b.watch.places[i]
		if p.w.AtLine == 0 {
			continue
		}
		tile, n := p.mostPassed()
		where := fmt.Sprintf("in tile %d of block %s", tile, b.id)
		if p.tilePC < 0 {
			where = fmt.Sprintf("in block %s", b.id)
		}
		msg := ""
		switch {
		case p.w.Pass == 0 && n > 1:
			msg = fmt.Sprintf(
				"stage %s is captured at line %d, which is passed %d times %s: say which with pass: first, last or 1 to %d",
				p.w.Stage, p.w.AtLine, n, where, n)
			if p.w.TileLine > 0 && p.tile <= 0 {
				msg = fmt.Sprintf("stage %s is captured at line %d, which is passed %d times in block %s, and its "+
					"tile_at, line %d, once: name a line that the loop passes once a tile", p.w.Stage, p.w.AtLine, n,
					b.id, p.w.TileLine)
			}
		case n > 0 && p.w.Pass > n && !b.broken:
			msg = fmt.Sprintf("stage %s is captured at pass %d of line %d, which is passed %d times %s",
				p.w.Stage, p.w.Pass, p.w.AtLine, n, where)
		}
		if msg != "" {
			b.err = &target.Fault{
				Kind: "passes", Msg: msg, Block: b.id,
				Source: &target.Source{File: p.w.File, Line: p.w.AtLine},
			}
			return
		}
	}
}

// mostPassed is the kv tile in which the line was passed most often, of those that are
// captured, and how often.
func (p *watchPlace) mostPassed() (tile, n int) {
	tiles := 1
	for _, w := range p.line.passes {
		tiles = max(tiles, len(w))
	}
	if !p.w.PerTile {
		tiles = 1
	}
	for kv := range tiles {
		if m := p.line.most(kv); m > n {
			tile, n = kv, m
		}
	}
	return tile, n
}

// lastPass reports whether this capture of a tile is the last one; takes is what an execution in which
// nothing was replaced captured.
func (p *watchPlace) lastPass(kv int, takes []int) bool {
	return p.w.Pass != probes.PassLast || kv < len(takes) && p.takes(kv) == takes[kv]
}
