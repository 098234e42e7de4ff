package emu

import "tilescope/debugkern/ptx"

// loops finds the natural loops of f and gives each instruction the outermost one around it, and each branch that is a
// back edge of an outermost loop that loop's number. A loop here is the span from its header to its last back edge, which
// for compilers' block order is the natural loop.
func (d *decoder) loops(f *ptx.Func) {
	type span struct{ head, last int }
	var spans []span
	for i, in := range f.Body {
		if in.Op != "bra" || len(in.Args) == 0 || int(in.Args[0].Target) > i {
			continue
		}
		spans = append(spans, span{int(in.Args[0].Target), i})
	}
	outer := func(s span) span { // the widest span that overlaps s, grown until nothing does
		for grew := true; grew; {
			grew = false
			for _, t := range spans {
				if t.head <= s.last && t.last >= s.head && (t.head < s.head || t.last > s.last) {
					s.head, s.last = min(s.head, t.head), max(s.last, t.last)
					grew = true
				}
			}
		}
		return s
	}
	ids := map[span]int32{}
	for _, s := range spans {
		o := outer(s)
		id, ok := ids[o]
		if !ok {
			id = int32(d.p.nloops)
			ids[o] = id
			d.p.nloops++
			for i := o.head; i <= o.last; i++ {
				d.p.code[d.base+i].inLoop = id
			}
		}
		if s.head == o.head {
			d.p.code[d.base+s.last].loop = id
		}
	}
	// Only a loop with a block barrier in it is a walk over tiles.
	walks := map[int32]bool{}
	for i := range f.Body {
		if in := &d.p.code[d.base+i]; in.flow == flowBarrier && in.inLoop >= 0 {
			walks[in.inLoop] = true
		}
	}
	for i := range f.Body {
		if in := &d.p.code[d.base+i]; in.inLoop >= 0 && !walks[in.inLoop] {
			in.inLoop = -1
		}
	}
}

// tile is the iteration of the walk over tiles that the warp is in at an instruction, -1 outside one.
func (w *warp) tile(in *inst) int {
	if in.inLoop < 0 {
		return -1
	}
	return int(w.loops[in.inLoop])
}
