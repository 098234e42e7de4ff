package emu

import (
	"fmt"

	"tilescope/debugkern/target"
)

// stuck ends a launch in which every resident block waits for another: a finding at the first of them.
func (o *blockOrder) stuck() {
	first := o.live[0]
	for _, b := range o.live {
		if b.index < first.index {
			first = b
		}
	}
	f := first.waitsAt()
	name, left := f.element(), 0
	for i := o.next; i < len(o.seq); i++ {
		if o.seq[i] < o.limit {
			left++
		}
	}
	f.Message = fmt.Sprintf("block %s waits at %s for another block to change %s; ", first.id, f.Source, name)
	switch n := len(o.r.ids); {
	case left == 0:
		f.Message += fmt.Sprintf("every block that has not ended waits (%d of %d), so none ever will",
			len(o.live), n)
	case o.r.l.Resident > 0:
		f.Message += fmt.Sprintf(
			"so does every resident block, and %d blocks have not begun: the launch needs %d blocks resident at once, %d are (--resident)",
			left, n, o.slots)
	default:
		f.Message += fmt.Sprintf(
			"so does every resident block, and %d blocks have not begun: the launch needs %d blocks, the chip holds %d",
			left, n, o.slots)
	}
	f.Consequence = "the launch never ends"
	for _, b := range o.live {
		b.broken = true
	}
	o.found.add(findingKey{kind: target.Deadlock, source: *f.Source}, f.Finding)
	for len(o.live) > 0 {
		o.finish(o.live[0])
	}
	for _, i := range o.seq[o.next:] {
		o.r.done[i].broken = true
	}
}

// advise reports, once, that a block was woken by one that had not begun when it began to wait.
func (o *blockOrder) advise(b, by *resident) {
	if o.advised {
		return
	}
	o.advised = true
	f := b.waitsAt()
	f.Severity = target.SeverityAdvice
	f.Message = fmt.Sprintf(
		"block %s waits at %s until block %s, which begins after it, changes %s: this ends only where both are resident at once, which nothing but a cooperative launch guarantees",
		b.id, f.Source, by.id, f.element())
	f.Consequence = fmt.Sprintf(
		"with fewer resident blocks the launch never ends (here %d blocks, room for %d): launch it cooperatively, or draw the order of work from an atomic counter",
		len(o.r.ids), o.slots)
	o.found.add(findingKey{kind: target.Deadlock, name: "advice"}, f.Finding)
}

// waitFinding is a finding at the place where a block polls.
type waitFinding struct{ target.Finding }

// waitsAt describes where a block waits for others, and for what.
func (b *resident) waitsAt() waitFinding {
	f := waitFinding{
		target.Finding{
			Kind: target.Deadlock, Severity: target.Deadlock.Severity(), Block: b.id, KVTile: -1, Count: 1,
			Space: target.SpaceGlobal.String(),
		},
	}
	in := b.p.entryInst()
	for _, w := range b.warps {
		if w.alive == 0 || !w.runnable() {
			continue
		}
		f.Warps = append(f.Warps, w.id)
		if w.lastPoll != nil && len(f.Lanes) == 0 {
			in = w.lastPoll
			f.Lanes = lanesOf(w.pollers & w.alive)
		}
	}
	f.Source = in.source()
	if len(b.wait.bytes) > 0 {
		p := b.wait.bytes[0]
		v := b.variableAt(target.SpaceGlobal, b.mem.allocs[p.alloc].base+uint64(p.off))
		f.Variable, f.Index = v.name, v.index
	}
	return f
}

// entryInst is the first instruction, for a place where none is known.
func (p *program) entryInst() *inst { return &p.code[0] }

func (f *waitFinding) element() string {
	s := f.Variable
	if s == "" {
		return "memory that it reads"
	}
	for _, i := range f.Index {
		s += fmt.Sprintf("[%d]", i)
	}
	return s
}
