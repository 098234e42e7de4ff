package check

import (
	"encoding/binary"
	"fmt"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
)

// entry is a cell of memory that held a NaN which no arithmetic of the block had put there when an
// instruction first loaded it: a tag below 0 is its number, from -1 down, and goes with the value as an
// origin's does.
type entry struct {
	space   target.Space
	addr    uint64
	written bool
	source  *target.Source // of the load
	// updated is where an atomic changed it last before; nil: none did
	updated *target.Source
	at      entryKey
}

// entryKey is a cell and the instruction that loads it: a probe may do so before the kernel does.
type entryKey struct {
	cell memoryAt
	pc   int
}

// enter marks the cells that are about to be copied and may hold a NaN without an origin. What type they have
// is not known to a copy, so each is looked at as every type that it may be: a mark is asked for only where
// arithmetic finds a NaN.
func (u *originUnit) enter() {
	x := &u.x
	for j := range x.parts {
		p := &x.parts[j]
		each(p.mask, func(lane int) {
			space, addr := p.space, p.addr[lane]
			if x.Instr.Kind() == isa.CopyAsync {
				space, addr = target.SpaceGlobal, p.from[lane]
			}
			buf := u.bytes[:p.bytes]
			buf = buf[:u.view.Memory(space, addr, x.Warp, lane, buf)]
			for off := 0; off+2 <= len(buf); off += 2 {
				if mayBeNaN(buf, off) {
					u.mark(space, addr+uint64(off), lane)
				}
			}
		})
	}
}

// mayBeNaN reports whether a NaN of some type begins at an offset. The first two bytes of a float32 are the
// low ones, so what a NaN is recognised by may stand behind them.
func mayBeNaN(buf []byte, off int) bool {
	if binary.LittleEndian.Uint16(buf[off:])&0x7fff > 0x7c00 { // a NaN of bf16 is one of f16 too
		return true
	}
	if len(buf) >= off+8 && binary.LittleEndian.Uint64(buf[off:])<<1 > 0x7ff<<53 {
		return true
	}
	return len(buf) >= off+4 && binary.LittleEndian.Uint32(buf[off:])<<1 > 0xff<<24
}

// updated notes which cells of shared memory an atomic has changed.
func (u *originUnit) updated() {
	x := &u.x
	for j := range x.parts {
		p := &x.parts[j]
		if p.space == target.SpaceShared {
			each(p.mask, func(lane int) { u.updates[x.at(p, lane, 0)] = x.Instr.Index })
		}
	}
}

func (u *originUnit) mark(space target.Space, addr uint64, lane int) {
	x := &u.x
	k := memoryAt{space: space, addr: addr &^ 1}
	if space == target.SpaceLocal {
		k.thread = x.Warp*32 + lane
	}
	at := entryKey{k, x.PC}
	was := u.tags.mem[k]
	if was > 0 || was < 0 && u.entries[-was-1].at.cell != k {
		return // what was made has an origin, and what was stored there came in elsewhere
	}
	number := u.loaded[at]
	if number == 0 {
		e := entry{
			space: space, addr: addr, written: u.view.Written(space, addr, x.Warp, lane, 2),
			source: target.Blame(x.Func, x.Instr.Index), at: at,
		}
		if pc, ok := u.updates[k]; ok {
			e.updated = target.Blame(x.Func, pc)
		}
		u.entries = append(u.entries, e)
		number = int32(-len(u.entries))
		u.loaded[at] = number
	}
	u.tags.mem[k] = number
}

// entrance says how a NaN came in that no arithmetic made: tag is an entry's, or 0.
func (u *originUnit) entrance(tag int32) string {
	if tag >= 0 {
		return "NaN enters here, made by no arithmetic (a constant, or bits put together otherwise)"
	}
	e := &u.entries[-tag-1]
	name, index := u.view.Name(e.space, e.addr)
	if name == "" {
		return "NaN enters here, made by no arithmetic of this block"
	}
	from := "loaded from " + element(name, index)
	if here := target.Blame(u.x.Func, u.x.Instr.Index); e.source.Line != here.Line ||
		e.source.File != here.File {
		from += " at " + e.source.String()
	}
	if e.updated != nil {
		return fmt.Sprintf("NaN enters here, %s; the atomic at %s had changed what was there before it", from,
			e.updated)
	}
	if !e.written {
		return fmt.Sprintf("NaN enters here, %s before anything was written there", from)
	}
	if e.space == target.SpaceGlobal {
		if _, _, writable := u.view.Extent(e.addr); !writable {
			return fmt.Sprintf("NaN enters here, %s, where the input has it", from)
		}
	}
	return fmt.Sprintf("NaN enters here, %s, where no arithmetic of this block put it", from)
}

// copies reports whether an instruction copies memory to registers or to shared memory.
func (x *executing) copies() bool {
	return x.Instr.Kind().Loads() || x.Instr.Kind() == isa.CopyAsync
}

// undefined makes a shuffle the origin of what its lanes read from lanes that do not take part: as
// executed here, a NaN.
func (u *originUnit) undefined() {
	x := &u.x
	var out [32][unitsMax]int32
	reg, bad := x.dests()[0], false
	if t := u.tags.register(x, reg); t != nil {
		out = *t
	}
	each(x.Mask, func(lane int) {
		from := shuffleSource(x.Instr, lane, int(x.src[2][0][lane]), int(x.src[3][0][lane]))
		if x.Mask>>from&1 != 0 {
			return
		}
		bad = true
		out[lane] = [unitsMax]int32{u.begin(lane, func() string {
			return fmt.Sprintf(
				"an undefined value is read here, of lane %d, which does not take part in the exchange", from)
		})}
	})
	if bad {
		u.tags.set(x, reg, &out)
	}
}
