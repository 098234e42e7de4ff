package target

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Gather asks a backend to capture threads' registers without a probe (probes.CaptureRegister). File is the
// base name of the source that lines are in, "" for any.
type Gather struct {
	Plan *probes.StagePlan
	File string
}

// Point is one instruction at which registers are gathered into a stage's tile.
type Point struct {
	Take *probes.Take
	PC   int // index into the entry's body
	// After: the registers are those that the instruction writes, read when it has executed;
	// else as it finds them.
	After bool
	Regs  []int32 // indices into the entry's Regs
	Bits  int     // of an element; a register has Parts of them, the first in its low bits
	Parts int
	// Cells are the cells of the tile, Cols·row + column, by thread of the block (warp·32 + lane), register
	// and part; -1: not captured, OutsideTile: a thread that executes the instruction has a position that the
	// tile does not have.
	Cells []int32
}

// OutsideTile stands for the cell of a position outside the tile.
const OutsideTile = -2

// Cell is the cell of a thread's part of a register, -1 for none.
func (p *Point) Cell(thread, reg, part int) int {
	return int(p.Cells[(thread*len(p.Regs)+reg)*p.Parts+part])
}

// Points finds the instructions of a gather in an entry, and the cells that their registers are. It does so
// for blocks of the given number of threads. Mistakes of the capture (no such instruction, a cell outside the
// tile) are errors that begin with the manifest's field.
func (g *Gather) Points(f *ptx.Func, threads int) ([]Point, error) {
	var out []Point
	for i := range g.Plan.Capture.Takes {
		t := &g.Plan.Capture.Takes[i]
		pcs, err := g.instructions(f, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Field, err)
		}
		for n, pc := range pcs {
			p := Point{Take: t, PC: pc}
			if err = g.registers(f, &p); err == nil {
				err = g.cells(f, &p, n, threads)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", t.Field, place(f, pc), err)
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// Begins is the instruction that begins an iteration of the capture, -1 where it counts executions alone.
func (g *Gather) Begins(f *ptx.Func) (int, error) {
	c := &g.Plan.Capture
	switch {
	case c.TilePTX > 0:
		for pc, in := range f.Body {
			if in.Pos.Line == c.TilePTX {
				return pc, nil
			}
		}
		return -1, fmt.Errorf("stage %s: tile_at: no instruction of %s begins on line %d of %s", g.Plan.Stage,
			f.Name, c.TilePTX, f.Pos.File)
	case c.TileLine > 0:
		if on := g.onLine(f, g.File, c.TileLine, func(*ptx.Instr) bool { return true }); len(on) > 0 {
			return on[0], nil
		}
		return -1, fmt.Errorf("stage %s: tile_at: no instruction of %s stems from line %d", g.Plan.Stage,
			f.Name, c.TileLine)
	}
	return -1, nil
}

// place is where an instruction stands in the PTX, and what it is, for messages.
func place(f *ptx.Func, pc int) string {
	in := f.Body[pc]
	return fmt.Sprintf("%s:%d (%s)", path.Base(in.Pos.File), in.Pos.Line, in.Opcode())
}

// onLine lists the instructions that blame falls on a source line for, and that are meant.
func (g *Gather) onLine(f *ptx.Func, file string, line int, meant func(*ptx.Instr) bool) []int {
	return InstrsOf(f, func(in *ptx.Instr, at *Source) bool {
		return meant(in) && at.Line == line &&
			(file == "" || path.Base(strings.ReplaceAll(at.File, `\`, "/")) == file)
	})
}

// InstrsOf lists the instructions of a function that meant accepts, by their index in its body; src is the
// source line that Blame gives for each. Instructions of probes, and those without debug lines, are left out.
func InstrsOf(f *ptx.Func, meant func(in *ptx.Instr, src *Source) bool) []int {
	var out []int
	for pc, in := range f.Body {
		if in.Loc == nil || in.Loc.Within(IsProbe) {
			continue
		}
		if src := Blame(f, pc); src != nil && meant(in, src) {
			out = append(out, pc)
		}
	}
	return out
}

// instructions finds what an entry of the capture means.
func (g *Gather) instructions(f *ptx.Func, t *probes.Take) ([]int, error) {
	what, meant := "instruction that writes a register",
		func(in *ptx.Instr) bool { return len(in.Dests(nil)) > 0 }
	switch {
	case t.Fragment:
		what, meant = "tensor-core product", func(in *ptx.Instr) bool { return in.Kind().Product() }
	case t.Name != "" || t.Operand > 0:
		what, meant = "instruction", func(*ptx.Instr) bool { return true }
	}
	if t.Line == 0 {
		return atPTX(f, t.PTX, what, meant)
	}
	file := g.File
	if t.File != "" {
		file = t.File
	}
	on := g.onLine(f, file, t.Line, meant)
	switch {
	case len(on) == 0:
		return nil, fmt.Errorf("no %s of %s stems from line %d", what, f.Name, t.Line)
	case t.Nth != nil:
		var out []int
		for _, n := range t.Nth {
			if n >= len(on) {
				return nil, fmt.Errorf("nth %d: line %d has %d of that kind (%s), counted from 0", n, t.Line,
					len(on), what)
			}
			out = append(out, on[n])
		}
		return out, nil
	case t.Fragment:
		on = chainEnds(f, on)
		if len(on) > probes.TakeInstrs {
			return nil, fmt.Errorf("line %d has %d accumulators; list at most %d at a time with nth", t.Line,
				len(on), probes.TakeInstrs)
		}
		return on, nil
	case len(on) > 1:
		return nil, fmt.Errorf("line %d has %d of that kind (%s): say which with nth, from 0", t.Line,
			len(on), what)
	}
	return on, nil
}

// atPTX finds the instructions that begin on lines of the PTX.
func atPTX(f *ptx.Func, lines []int, what string, meant func(*ptx.Instr) bool) ([]int, error) {
	var out []int
	for _, line := range lines {
		found, other := -1, -1
		for pc, in := range f.Body {
			if in.Pos.Line == line && found < 0 {
				if other = pc; meant(in) {
					found = pc
				}
			}
		}
		switch {
		case found >= 0:
			out = append(out, found)
		case other >= 0:
			return nil, fmt.Errorf("%s is no %s", place(f, other), what)
		default:
			return nil, fmt.Errorf("no instruction of %s begins on line %d of %s", f.Name, line,
				path.Base(f.Pos.File))
		}
	}
	return out, nil
}

// chainEnds leaves out the products whose accumulators a later one of the list goes on with.
func chainEnds(f *ptx.Func, list []int) []int {
	var out []int
	for i, pc := range list {
		d := f.Body[pc].FragmentRegs(isa.ClassD)
		goesOn := false
		for _, later := range list[i+1:] {
			in := f.Body[later]
			if goesOn = slices.Equal(d, in.FragmentRegs(isa.ClassC)); goesOn ||
				slices.Equal(d, in.FragmentRegs(isa.ClassD)) {
				break
			}
		}
		if !goesOn {
			out = append(out, pc)
		}
	}
	return out
}

// registers settles which registers are read, and how many elements each has.
func (g *Gather) registers(f *ptx.Func, p *Point) error {
	in, size := f.Body[p.PC], 8*g.Plan.DType.Size()
	p.Bits = size
	if p.Take.Fragment {
		c := fragmentClass(p.Take.Of)
		frag := in.Fragment(c)
		switch {
		case frag == nil:
			return fmt.Errorf("the layout of its fragment is not known")
		case frag.Bits != size:
			return fmt.Errorf("its elements have %d bits, the stage's dtype %s has %d", frag.Bits,
				g.Plan.DType, size)
		case frag.Rows > probes.TakeRows || frag.Cols > probes.TakeCols:
			return fmt.Errorf("a fragment of %d×%d is larger than %d×%d", frag.Rows, frag.Cols,
				probes.TakeRows, probes.TakeCols)
		}
		p.After, p.Parts = c == isa.ClassD, frag.PerRegister
		if p.Regs = in.FragmentRegs(c); len(p.Regs) < frag.Distinct() {
			return fmt.Errorf("it has %d registers where %d are expected", len(p.Regs), frag.Distinct())
		}
		p.Regs = p.Regs[:frag.Distinct()]
		return nil
	}
	reg, err := g.register(f, p)
	if err != nil {
		return err
	}
	p.Regs = []int32{reg}
	if f.Regs[reg].Type == ptx.Pred {
		return fmt.Errorf("%s is a predicate", f.RegName(reg))
	}
	width := f.Regs[reg].Type.Bits()
	if width < size {
		return fmt.Errorf("%s has %d bits, the stage's dtype %s has %d", f.RegName(reg), width,
			g.Plan.DType, size)
	}
	p.Parts = width / size
	return nil
}

// register is the one register of an entry that is no fragment. It is read after the instruction
// where that writes it.
func (g *Gather) register(f *ptx.Func, p *Point) (int32, error) {
	in, t := f.Body[p.PC], p.Take
	written := in.Dests(nil)
	if t.Name != "" {
		var all []int32
		for i := range in.Args {
			all = in.Args[i].Registers(all)
		}
		for _, r := range all {
			if f.RegName(r) == t.Name {
				p.After = slices.Contains(written, r)
				return r, nil
			}
		}
		return 0, fmt.Errorf("it has no register %s", t.Name)
	}
	if t.Operand >= len(in.Args) {
		return 0, fmt.Errorf("it has %d operands, counted from 0, not one of number %d",
			len(in.Args), t.Operand)
	}
	regs := in.Args[t.Operand].Registers(nil)
	if t.Element >= len(regs) {
		return 0, fmt.Errorf("operand %d has %d registers, counted from 0, not one of number %d", t.Operand,
			len(regs), t.Element)
	}
	r := regs[t.Element]
	p.After = slices.Contains(written, r)
	return r, nil
}

func fragmentClass(of probes.FragmentOf) isa.ArgClass {
	return [...]isa.ArgClass{isa.ClassD, isa.ClassA, isa.ClassB}[of]
}

// cells settles the cell of each thread's part of each register; n is the instruction's place in its entry.
func (g *Gather) cells(f *ptx.Func, p *Point, n, threads int) error {
	frag := f.Body[p.PC].Fragment(fragmentClass(p.Take.Of))
	warps := (threads + 31) / 32
	for thread := range warps * 32 {
		for reg := range p.Regs {
			for part := range p.Parts {
				cell := -1
				if thread < threads {
					var row, col int
					if p.Take.Fragment {
						row, col = p.fragmentCell(frag, n, thread, reg*p.Parts+part)
					} else {
						at := ((n*p.Take.Warps+thread/32)*32+thread%32)*probes.TakeParts + part
						row, col = int(p.Take.Row[at]), int(p.Take.Col[at])
					}
					switch outside := row >= g.Plan.Rows || col >= g.Plan.Cols; {
					case outside && p.Take.Fragment: // every lane executes it
						return fmt.Errorf(
							"warp %d lane %d has row %d, column %d, and a tile of %s is %d×%d (a position below 0 is not captured)",
							thread/32, thread%32, row, col, g.Plan.Stage, g.Plan.Rows, g.Plan.Cols)
					case outside:
						cell = OutsideTile
					case row >= 0 && col >= 0:
						cell = row*g.Plan.Cols + col
					}
				}
				p.Cells = append(p.Cells, int32(cell))
			}
		}
	}
	return nil
}

// fragmentCell is the position in the tile of element e of a thread's fragment.
func (p *Point) fragmentCell(frag *isa.Fragment, n, thread, e int) (row, col int) {
	r, c := frag.Cell(thread%32, e)
	t, warp := p.Take, thread/32
	if t.Row == nil {
		return warp*frag.Rows + r, n*frag.Cols + c
	}
	at := n*t.Warps + warp
	return int(t.Row[at*probes.TakeRows+r]), int(t.Col[at*probes.TakeCols+c])
}
