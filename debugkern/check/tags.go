package check

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// tags attaches something to values, and follows it through registers and memory as values are
// copied. A place is a unit of two bytes; a value's tag is on its first unit, the others have none.
// The zero T is no tag.
type tags[T comparable] struct {
	regs map[registerAt]*[32][unitsMax]T
	mem  map[memoryAt]T
}

// unitsMax is the units of the widest register.
const unitsMax = 4

type registerAt struct {
	warp int
	registerKey
}

// memoryAt is a unit of memory; local memory belongs to a thread.
type memoryAt struct {
	space  target.Space
	thread int
	addr   uint64
}

func newTags[T comparable]() *tags[T] {
	return &tags[T]{regs: map[registerAt]*[32][unitsMax]T{}, mem: map[memoryAt]T{}}
}

// register returns the tags of a register, nil where it has none.
func (g *tags[T]) register(x *executing, reg int32) *[32][unitsMax]T {
	return g.regs[registerAt{x.Warp, registerKey{x.Func, reg}}]
}

// operand returns the tags of a plain operand, nil where it has none.
func (g *tags[T]) operand(x *executing, op *ptx.Operand) *[32][unitsMax]T {
	if op.Kind != ptx.OpReg {
		return nil
	}
	return g.register(x, op.Reg)
}

// set gives the executing lanes of a register their tags; nil: none.
func (g *tags[T]) set(x *executing, reg int32, t *[32][unitsMax]T) {
	k := registerAt{x.Warp, registerKey{x.Func, reg}}
	old := g.regs[k]
	if old == nil {
		if t == nil {
			return
		}
		old = new([32][unitsMax]T)
		g.regs[k] = old
	}
	each(x.Mask, func(lane int) {
		if t == nil {
			old[lane] = [unitsMax]T{}
		} else {
			old[lane] = t[lane]
		}
	})
}

func (x *executing) at(p *part, lane, offset int) memoryAt {
	k := memoryAt{space: p.space, addr: (p.addr[lane] + uint64(offset)) &^ 1}
	if p.space == target.SpaceLocal {
		k.thread = x.Warp*32 + lane
	}
	return k
}

// put writes a unit of memory.
func (g *tags[T]) put(k memoryAt, t T) {
	var none T
	if t == none {
		if len(g.mem) > 0 {
			delete(g.mem, k)
		}
		return
	}
	g.mem[k] = t
}

// move follows an instruction that only copies values. It reports false for any other, whose results then
// keep the tags that they had.
func (g *tags[T]) move(x *executing) bool {
	switch x.Instr.Kind() {
	case isa.Load:
		g.load(x)
	case isa.Store:
		g.store(x)
	case isa.LoadMatrix:
		g.loadMatrix(x)
	case isa.LoadFragment:
		g.loadFragment(x)
	case isa.StoreFragment:
		g.storeFragment(x)
	case isa.CopyAsync:
		g.copy(x)
	case isa.CommitAsync, isa.WaitAsync:
	case isa.Shuffle:
		g.shuffle(x)
	case isa.Select:
		g.choose(x)
	case isa.Move:
		g.mov(x)
	case isa.Multiply:
		return false
	default:
		return g.rearrange(x)
	}
	return true
}

func (g *tags[T]) load(x *executing) {
	size := x.Instr.Type().Bytes()
	for i, r := range elements(&x.Instr.Args[0]) {
		if r == nil || r.Kind != ptx.OpReg {
			continue
		}
		var t [32][unitsMax]T
		for j := range x.parts {
			p := &x.parts[j]
			each(p.mask, func(lane int) {
				for u := 0; 2*u < size; u++ {
					t[lane][u] = g.mem[x.at(p, lane, i*size+2*u)]
				}
			})
		}
		g.set(x, r.Reg, &t)
	}
}

func (g *tags[T]) store(x *executing) {
	size := x.Instr.Type().Bytes()
	for i, r := range elements(&x.Instr.Args[1]) {
		t := g.operand(x, r)
		for j := range x.parts {
			p := &x.parts[j]
			each(p.mask, func(lane int) {
				for u := 0; 2*u < size; u++ {
					var v T
					if t != nil && size > 1 {
						v = t[lane][u]
					}
					g.put(x.at(p, lane, i*size+2*u), v)
				}
			})
		}
	}
}

// elements lists the operands of a vector, or the operand itself.
func elements(op *ptx.Operand) []*ptx.Operand {
	if op.Kind != ptx.OpVec {
		return []*ptx.Operand{op}
	}
	out := make([]*ptx.Operand, len(op.Elems))
	for i := range op.Elems {
		out[i] = &op.Elems[i]
	}
	return out
}

// fragment is the layout of what a wmma.load or wmma.store moves.
func (x *executing) fragment() *isa.Fragment {
	in := x.Instr
	if in.HasDest() {
		return in.Fragment(in.Form().Args[0].Class)
	}
	return in.Fragment(in.Form().Args[1].Class)
}

func (g *tags[T]) loadFragment(x *executing) {
	regs, f := x.dests(), x.fragment()
	if f.Bits < 16 { // smaller than a unit
		for _, r := range regs {
			g.set(x, r, nil)
		}
		return
	}
	loaded := make([][32][unitsMax]T, len(regs))
	_, size := f.Moved()
	for j := range x.parts {
		p := &x.parts[j]
		for k := range p.bytes / size {
			first, unit := f.Register(p.element + k)
			for reg := first; reg < len(regs); reg += f.Distinct() {
				each(p.mask, func(lane int) { loaded[reg][lane][unit] = g.mem[x.at(p, lane, k*size)] })
			}
		}
	}
	for i, r := range regs {
		g.set(x, r, &loaded[i])
	}
}

func (g *tags[T]) storeFragment(x *executing) {
	regs, f := elements(&x.Instr.Args[1]), x.fragment()
	_, size := f.Moved()
	for j := range x.parts {
		p := &x.parts[j]
		for k := range p.bytes / size {
			reg, unit := f.Register(p.element + k)
			t := g.operand(x, regs[reg])
			each(p.mask, func(lane int) {
				var v, none T
				if t != nil {
					v = t[lane][unit]
				}
				g.put(x.at(p, lane, k*size), v)
				for u := 2; u < size; u += 2 {
					g.put(x.at(p, lane, k*size+u), none)
				}
			})
		}
	}
}

// loadMatrix: lane 8k + r points at row r of matrix k (PTX ISA, ldmatrix).
func (g *tags[T]) loadMatrix(x *executing) {
	if len(x.parts) == 0 {
		return
	}
	p, f := &x.parts[0], isa.Matrix8(x.Instr.Has("trans"))
	for k, r := range x.dests() {
		var t [32][unitsMax]T
		for lane := range 32 {
			for u := range f.Elements {
				row, col := f.Cell(lane, u)
				t[lane][u] = g.mem[x.at(p, (8*k+row)&31, 2*col)]
			}
		}
		g.set(x, r, &t)
	}
}

// copy is a cp.async. What it copies lands later; nobody may look before.
func (g *tags[T]) copy(x *executing) {
	for j := range x.parts {
		p := &x.parts[j]
		each(p.mask, func(lane int) {
			for o := 0; o < p.bytes; o += 2 {
				from := memoryAt{space: target.SpaceGlobal, addr: (p.from[lane] + uint64(o)) &^ 1}
				g.put(x.at(p, lane, o), g.mem[from])
			}
		})
	}
}

func (g *tags[T]) shuffle(x *executing) {
	in := x.Instr
	t := g.operand(x, &in.Args[1])
	dst := in.Args[0].Registers(nil)
	if len(dst) == 0 {
		return
	}
	if t == nil {
		g.set(x, dst[0], nil)
		return
	}
	var out [32][unitsMax]T
	each(x.Mask, func(lane int) {
		out[lane] = t[shuffleSource(in, lane, int(x.src[2][0][lane]), int(x.src[3][0][lane]))]
	})
	g.set(x, dst[0], &out)
}

func (g *tags[T]) choose(x *executing) {
	in := x.Instr
	a, b := g.operand(x, &in.Args[1]), g.operand(x, &in.Args[2])
	var out [32][unitsMax]T
	each(x.Mask, func(lane int) {
		from := b
		if (x.src[3][0][lane] != 0) != in.Args[3].Neg {
			from = a
		}
		if from != nil {
			out[lane] = from[lane]
		}
	})
	g.set(x, in.Args[0].Reg, &out)
}

// mov copies registers, and packs and unpacks vectors.
func (g *tags[T]) mov(x *executing) {
	dst, src := elements(&x.Instr.Args[0]), elements(&x.Instr.Args[1])
	width := min(max(x.Instr.Type().Bytes()/2, 1), unitsMax)
	if x.Instr.Type() == ptx.Pred {
		return
	}
	var whole [32][unitsMax]T
	for i, s := range src {
		if t := g.operand(x, s); t != nil {
			each(x.Mask, func(lane int) {
				copy(whole[lane][i*width/len(src):(i+1)*width/len(src)], t[lane][:])
			})
		}
	}
	for i, d := range dst {
		if d.Kind != ptx.OpReg {
			continue
		}
		var t [32][unitsMax]T
		each(x.Mask, func(lane int) { copy(t[lane][:], whole[lane][i*width/len(dst):(i+1)*width/len(dst)]) })
		g.set(x, d.Reg, &t)
	}
}

// rearrange follows integer instructions that move halves about: prmt and and with constants, shifts by
// 16, changes of width.
func (g *tags[T]) rearrange(x *executing) bool {
	in := x.Instr
	if len(in.Args) < 2 || in.Args[0].Kind != ptx.OpReg {
		return false
	}
	moves, ok := unitMoves(in)
	if !ok {
		return false
	}
	var out [32][unitsMax]T
	for u, m := range moves {
		if m.arg == 0 || m.unit < 0 || m.unit >= unitsMax {
			continue
		}
		if t := g.operand(x, &in.Args[m.arg]); t != nil {
			each(x.Mask, func(lane int) { out[lane][u] = t[lane][m.unit] })
		}
	}
	g.set(x, in.Args[0].Reg, &out)
	return true
}

// unitMove says which unit of which operand a unit of the result is; operand 0: of none.
type unitMove struct{ arg, unit int }

// unitMoves says so for every unit of an integer instruction's result; ok is false where it does
// more than move them.
func unitMoves(in *ptx.Instr) (moves [unitsMax]unitMove, ok bool) {
	units := min(max(in.Type().Bytes()/2, 1), unitsMax)
	last := &in.Args[len(in.Args)-1]
	imm := last.Imm
	switch {
	case in.Kind() == isa.Convert:
		ts := in.Types()
		if len(ts) != 2 || isFloat(ts[0]) || isFloat(ts[1]) {
			return moves, false
		}
		for u := range max(min(ts[0].Bytes(), ts[1].Bytes())/2, 1) {
			moves[u] = unitMove{1, u}
		}
	case last.Kind != ptx.OpInt:
		return moves, false
	case in.Op == "prmt" && len(in.Mods) == 1 && len(in.Args) == 4:
		for u := range 2 {
			lo, hi := int(imm>>(8*u)&15), int(imm>>(8*u+4)&15)
			if lo%2 == 0 && hi == lo+1 && hi < 8 {
				moves[u] = unitMove{1 + lo/4, lo % 4 / 2}
			}
		}
	case in.Op == "and":
		for u := range units {
			if imm>>(16*u)&0xffff == 0xffff {
				moves[u] = unitMove{1, u}
			}
		}
	case (in.Op == "shl" || in.Op == "shr") && imm%16 == 0:
		by := int(imm / 16)
		if in.Op == "shl" {
			by = -by
		}
		for u := range units {
			if from := u + by; from >= 0 && from < units {
				moves[u] = unitMove{1, from}
			}
		}
	default:
		return moves, false
	}
	return moves, true
}
