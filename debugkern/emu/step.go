package emu

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// stepper is a block executed under a debugger's hand. It implements target.Block.
type stepper struct {
	b *block
}

// Open prepares block id of a launch with memory of its own. Where the blocks of the launch share memory, it
// gets what the others wrote at the moments at which it would in the launch.
func (k *Kernel) Open(l *target.Launch, id probes.Dim3) (target.Block, error) {
	s, err := k.open(l, id)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (k *Kernel) open(l *target.Launch, id probes.Dim3) (*stepper, error) {
	one := *l
	one.Only = []probes.Dim3{id}
	if err := k.check(&one); err != nil {
		return nil, err
	}
	p := k.stepped()
	sum := steppedNeeds(p, &one)
	if err := sum.Within(l.Memory.Limit()); err != nil {
		return nil, err
	}
	release, err := l.Memory.Reserve(fmt.Sprintf("executing block %s of %s again", id,
		p.entry.Name), sum.Total())
	if err != nil {
		return nil, err
	}
	s, err := k.openReserved(p, l, &one, id)
	if err != nil {
		release()
		return nil, err
	}
	budget.Until(l.Memory, s, release)
	return s, nil
}

// openReserved makes the block of one, which is l with that block alone; memory for it is reserved.
func (k *Kernel) openReserved(p *program, l, one *target.Launch, id probes.Dim3) (*stepper, error) {
	mem, err := newMemory(p, one, true)
	if err != nil {
		return nil, err
	}
	if p.clusterOf(l).Count() > 1 {
		b, err := k.openCluster(p, l, one, mem, id)
		if err != nil {
			return nil, err
		}
		return &stepper{b}, nil
	}
	b := newBlock(p, one, mem)
	if k.orders(l) {
		inputs, err := k.replay(context.Background(), l, id)
		if err != nil {
			return nil, err
		}
		b.receive(inputs)
		b.ordered = true
	}
	b.begin(id)
	return &stepper{b}, nil
}

func (s *stepper) ID() probes.Dim3 { return s.b.id }

func (s *stepper) Observe(o target.Observer) { s.b.observe(o) }

func (s *stepper) Steps() uint64 { return s.b.clock }

func (s *stepper) Shared() (data, written []byte) { return s.b.shared, s.b.swrit }

func (s *stepper) Findings() []target.Finding { return s.b.found.list(s.b.l.Grid) }

// Register returns a register of one lane by its index in the entry's Regs; predicates are 0 or 1.
func (s *stepper) Register(warp, lane, reg int) uint64 {
	regs := s.b.p.regs[s.b.p.entry]
	if warp < 0 || warp >= len(s.b.warps) || lane < 0 || lane > 31 || reg < 0 || reg >= len(regs) {
		return 0
	}
	w := s.b.warps[warp]
	switch r := regs[reg]; r.bank {
	case bankPred:
		return uint64(w.pred[r.slot] >> lane & 1)
	case bank32:
		return uint64(w.lane32(r.slot, lane))
	case bank64:
		return w.lane64(r.slot, lane)
	}
	return 0
}

// Warps describes where every lane stands.
func (s *stepper) Warps() []target.Warp {
	out := make([]target.Warp, len(s.b.warps))
	for i, w := range s.b.warps {
		t := target.Warp{Index: i, Exited: w.exists &^ w.alive}
		for j := range w.groups {
			g := &w.groups[j]
			t.Groups = append(t.Groups, target.Group{PC: int(g.pc), Mask: g.mask})
			switch {
			case g.wait == waitMBarrier:
				at := w.sharedAddress(s.b.p.code[g.pc].mem, bits.TrailingZeros32(g.mask)&31)
				t.Wait = "mbarrier " + s.b.variableAt(target.SpaceShared, at).String()
			case g.wait == waitCluster:
				t.Wait = "barrier.cluster"
			case g.wait == waitRegisters:
				t.Wait = target.WaitRegisters
			case g.wait == waitWarpgroup:
				t.Wait = fmt.Sprintf("warpgroup %d", w.id/wgmmaWarps)
			case g.wait == waitBarrier:
				t.Wait = fmt.Sprintf("barrier %d", g.barrier)
			case g.wait == waitLanes && t.Wait == "":
				t.Wait = fmt.Sprintf("lanes %#08x", g.need&w.alive&^g.mask)
			}
		}
		if w.runnable() {
			t.Wait = ""
		}
		out[i] = t
	}
	return out
}

// Step executes one unit.
func (s *stepper) Step(ctx context.Context, u target.Unit) (target.Stop, error) {
	b := s.b
	switch u {
	case target.StepInstruction:
		b.stepTo = b.clock + 1
		defer func() { b.stepTo = noStep }()
		return s.execute(ctx, nil, "step")
	case target.StepLine:
		return s.execute(ctx, s.lineEnds(), "step")
	case target.StepBarrier:
		return s.execute(ctx, func(e *target.Event) bool {
			return e.Class == target.ClassBarrierDone
		}, "barrier")
	case target.StepProbe:
		filled := false
		return s.execute(ctx, func(e *target.Event) bool {
			// The header is one thread's; the slot is full when all have come to the next barrier.
			filled = filled || e.Probe && e.Class == target.ClassStore && e.Bytes == probes.SlotHeader
			return filled && e.Class == target.ClassBarrierDone
		}, "probe")
	}
	return s.execute(ctx, nil, "end")
}

// lineEnds is a breakpoint on the first instruction of the current warp that lies on another line.
func (s *stepper) lineEnds() func(*target.Event) bool {
	warp, first := -1, ""
	return func(e *target.Event) bool {
		if e.Class == target.ClassBarrierDone || e.Class == target.ClassAsyncLand {
			return false
		}
		line := s.b.p.code[e.PC].where()
		if warp < 0 {
			warp, first = e.Warp, line
		}
		return e.Warp == warp && line != first
	}
}

// Run executes to a breakpoint or the end.
func (s *stepper) Run(ctx context.Context, stop func(*target.Event) bool) (target.Stop, error) {
	return s.execute(ctx, stop, "breakpoint")
}

// execute runs until halt says so; reason is what that is called.
func (s *stepper) execute(
	ctx context.Context, halt func(*target.Event) bool, reason string,
) (target.Stop, error) {
	b := s.b
	if err := ctx.Err(); err != nil {
		return s.stopped("step"), err
	}
	var flag atomic.Bool
	defer context.AfterFunc(ctx, func() { flag.Store(true) })()
	b.stop = &flag
	b.halt, b.halted = halt, false
	b.attend()
	if c := b.cluster; c != nil {
		c.steer(&flag)
		c.run(b)
		c.steer(nil)
	} else {
		b.run()
	}
	halted := b.halted
	b.halt, b.halted, b.stop = nil, false, nil
	b.attend()
	switch {
	case b.err != nil:
		return s.stopped("end"), b.err
	case b.cluster != nil && b.cluster.err != nil:
		return s.stopped("end"), b.cluster.err
	case b.cluster != nil && b.cluster.waits:
		return s.stopped("end"), errClusterWaits
	case ctx.Err() != nil:
		return s.stopped("step"), ctx.Err()
	case b.trapped():
		return s.stopped("trap"), nil
	case b.broken:
		return s.stopped("deadlock"), nil
	case b.ended():
		return s.stopped("end"), nil
	case halted:
		return s.stopped(reason), nil
	}
	return s.stopped("step"), nil
}

// stopped says where the block stands: at the warp that ran last, if it still can.
func (s *stepper) stopped(reason string) target.Stop {
	b := s.b
	st := target.Stop{Reason: reason}
	for i := range b.warps {
		w := b.warps[(b.last+i)%len(b.warps)]
		if len(w.groups) > 0 {
			st.Warp, st.PC = w.id, int(w.groups[min(w.cur, len(w.groups)-1)].pc)
			break
		}
	}
	return st
}
