package lineage

import "tilescope/debugkern/target"

// Reads visits what a lane reads of global memory in step i that the block has not written: elements of
// arguments, as the launch found them or another block left them. A leaf is valid during the call.
func (t *Trace) Reads(i, lane int, visit func(*Leaf)) {
	s := t.steps.at(i)
	f := &t.flows[s.pc]
	if s.kind != stepPlain || !f.reads() {
		return
	}
	w := walker{t: t}
	for k := range int(s.n) {
		if f.bulk && k == 0 { // the destination
			continue
		}
		a := t.accesses.at(int(s.aux) + k)
		if a.mask>>lane&1 == 0 || a.space != target.SpaceGlobal && a.space != target.SpaceConst {
			continue
		}
		w.bytes(Place{a.space, t.addr(a, lane), int(a.bytes), int(s.warp)*32 + lane, i}, ByValue, 1)
	}
	for k := range w.out {
		if l := w.out[k].Leaf; l != nil {
			visit(l)
		}
	}
}

// Places lists the bytes of memory that a value was read from by the step that gave it; none where that step
// reads no memory.
func (t *Trace) Places(r Ref) []Place {
	var out []Place
	w := walker{t: t, cut: func(p Place) (int, bool) {
		out = append(out, p)
		return 0, true
	}}
	w.uses(r)
	return out
}
