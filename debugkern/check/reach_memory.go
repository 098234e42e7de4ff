package check

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// access is an instruction that reads or writes memory.
func (u *reachUnit) access() {
	x := &u.x
	in := x.Instr
	u.addresses()
	switch in.Kind() {
	case isa.Load:
		u.load()
	case isa.Store:
		u.store()
	case isa.LoadMatrix:
		u.loadMatrix()
	case isa.StoreMatrix:
		u.storeMatrix()
	case isa.LoadFragment:
		u.loadFragment()
	case isa.StoreFragment:
		u.storeFragment()
	case isa.Atomic, isa.Reduce:
		u.atomic()
	case isa.CopyAsync:
		u.copy()
	default: // whatever it takes, from memory too
		var all uint64
		for i := range u.sources {
			all |= 1 << min(i, lastSource)
		}
		u.harmed(all, "may be read by "+in.Op)
	}
}

// addresses: an undefined address does harm.
func (u *reachUnit) addresses() {
	x := &u.x
	for i := range x.Instr.Args {
		if op := &x.Instr.Args[i]; op.Kind == ptx.OpAddr {
			var t [32]uint64
			u.join(&t, op)
			u.harmed(over(&t, x.Mask), "is the address of "+x.Instr.Op)
		}
	}
	switch x.Instr.Kind() {
	case isa.LoadFragment, isa.StoreFragment, isa.CopyAsync: // the row stride, the bytes to copy
		for i := range x.Instr.Args {
			if op := &x.Instr.Args[i]; op.Kind == ptx.OpReg {
				var t [32]uint64
				u.join(&t, op)
				u.harmed(over(&t, x.Mask), "is an operand of "+x.Instr.Op)
			}
		}
	}
}

// cell is the key of a byte that a lane accesses.
func (u *reachUnit) cell(space target.Space, addr uint64, lane int) memoryAt {
	k := memoryAt{space: space, addr: addr}
	if space == target.SpaceLocal {
		k.thread = u.x.Warp*32 + lane
	}
	return k
}

// fetch is the bits of n bytes from addr on, with that of this place where some were never written. from
// is where a lane's access began, and total its bytes: a read names the variable at the first of them
// that was not written.
func (u *reachUnit) fetch(space target.Space, addr uint64, lane, n int, from uint64, total int) uint64 {
	var t uint64
	if len(u.mem) > 0 {
		for i := range n {
			t |= u.mem[u.cell(space, addr+uint64(i), lane)]
		}
	}
	if space == target.SpaceParam || space == target.SpaceConst ||
		u.b.view.Written(space, addr, u.x.Warp, lane, n) {
		return t
	}
	for i := range total {
		if at := from + uint64(i); !u.b.view.Written(space, at, u.x.Warp, lane, 1) {
			name, _ := u.b.view.Name(space, at)
			return t | u.bit(target.Uninitialised, name)
		}
	}
	return t
}

// keep gives n bytes their bits; in global memory, and in arguments of calls, they do harm.
func (u *reachUnit) keep(space target.Space, addr uint64, lane, n int, t uint64) {
	if space != target.SpaceShared && space != target.SpaceLocal {
		if t != 0 {
			name, _ := u.b.view.Name(space, addr)
			u.harmed(t, "is stored to "+element(name, nil))
		}
		return
	}
	if t == 0 && len(u.mem) == 0 {
		return
	}
	for i := range n {
		if k := u.cell(space, addr+uint64(i), lane); t == 0 {
			delete(u.mem, k)
		} else {
			u.mem[k] = t
		}
	}
}

func (u *reachUnit) load() {
	x := &u.x
	size := x.Instr.Type().Bytes()
	for i, op := range elements(&x.Instr.Args[0]) {
		if op.Kind != ptx.OpReg {
			continue
		}
		var t [32]uint64
		for j := range x.parts {
			p := &x.parts[j]
			each(p.mask, func(lane int) {
				t[lane] = u.fetch(p.space, p.addr[lane]+uint64(i*size), lane, size, p.addr[lane], p.bytes)
			})
		}
		u.set(op.Reg, &t)
	}
}

func (u *reachUnit) store() {
	x := &u.x
	size := x.Instr.Type().Bytes()
	for i, op := range elements(&x.Instr.Args[1]) {
		var t [32]uint64
		u.join(&t, op)
		for j := range x.parts {
			p := &x.parts[j]
			each(p.mask, func(lane int) { u.keep(p.space, p.addr[lane]+uint64(i*size), lane, size, t[lane]) })
		}
	}
}

// atomic is an update in place: what was there and what is added are one, and the first is returned.
func (u *reachUnit) atomic() {
	x := &u.x
	var t [32]uint64
	for i := range x.Instr.Args {
		if i > 0 || !x.Instr.HasDest() {
			if op := &x.Instr.Args[i]; op.Kind != ptx.OpAddr {
				u.join(&t, op)
			}
		}
	}
	any := u.found | over(&t, x.Mask) // lanes may update one cell one after the other
	for j := range x.parts {
		p := &x.parts[j]
		each(p.mask, func(lane int) { u.keep(p.space, p.addr[lane], lane, p.bytes, any) })
	}
	for lane := range t {
		t[lane] = any
	}
	if x.Instr.HasDest() {
		for _, r := range x.dests() {
			u.set(r, &t)
		}
	}
}

// copy is a cp.async. Between issue and wait nobody may look, so that the bytes have their
// bits from the issue on.
func (u *reachUnit) copy() {
	x := &u.x
	for j := range x.parts {
		p := &x.parts[j]
		each(p.mask, func(lane int) {
			for i := range p.bytes {
				from := p.from[lane] + uint64(i)
				u.keep(p.space, p.addr[lane]+uint64(i), lane, 1,
					u.fetch(target.SpaceGlobal, from, lane, 1, p.from[lane], p.bytes))
			}
		})
	}
}

// loadMatrix: see tags.loadMatrix.
func (u *reachUnit) loadMatrix() {
	x := &u.x
	p, f := &x.parts[0], isa.Matrix8(x.Instr.Has("trans"))
	for k, r := range x.dests() {
		var t [32]uint64
		for lane := range 32 {
			for h := range f.Elements {
				row, col := f.Cell(lane, h)
				at := p.addr[(8*k+row)&31]
				t[lane] |= u.fetch(p.space, at+uint64(2*col), lane, 2, at, 16)
			}
		}
		u.set(r, &t)
	}
}

// storeMatrix gives every row the bits of all registers.
func (u *reachUnit) storeMatrix() {
	x := &u.x
	var t [32]uint64
	u.join(&t, &x.Instr.Args[1])
	any := over(&t, x.Mask)
	for j := range x.parts {
		p := &x.parts[j]
		each(p.mask, func(lane int) { u.keep(p.space, p.addr[lane], lane, 16, any) })
	}
}

// loadFragment: see tags.loadFragment.
func (u *reachUnit) loadFragment() {
	x := &u.x
	regs, f := x.dests(), x.fragment()
	loaded := make([][32]uint64, len(regs))
	step, size := f.Moved()
	for j := range x.parts {
		p := &x.parts[j]
		for k := range p.bytes / size {
			first, _ := f.Register(p.element + k*step)
			for reg := first; reg < len(regs); reg += f.Distinct() {
				each(p.mask, func(lane int) {
					loaded[reg][lane] |= u.fetch(p.space, p.addr[lane]+uint64(k*size), lane, size,
						p.addr[lane], p.bytes)
				})
			}
		}
	}
	for i, r := range regs {
		u.set(r, &loaded[i])
	}
}

func (u *reachUnit) storeFragment() {
	x := &u.x
	regs, f := elements(&x.Instr.Args[1]), x.fragment()
	step, size := f.Moved()
	for j := range x.parts {
		p := &x.parts[j]
		for k := range p.bytes / size {
			reg, _ := f.Register(p.element + k*step)
			var t [32]uint64
			u.join(&t, regs[reg])
			each(p.mask, func(lane int) { u.keep(p.space, p.addr[lane]+uint64(k*size), lane, size, t[lane]) })
		}
	}
}
