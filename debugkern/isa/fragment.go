package isa

import (
	"slices"
	"strings"
	"sync"
)

// Fragment is how the lanes of a warp hold a matrix in registers of 32 bits.
//
// Cells are numbered by row and column of the matrix as the multiplication sees it: A as [m][k], B as [n][k],
// C and D as [m][n]. Element e of a lane lies in register e / PerRegister, the first element of a register in
// its low bits.
type Fragment struct {
	Role        ArgClass // ClassA, ClassB, or ClassC for an accumulator
	Rows, Cols  int      // of the matrix
	Elements    int      // of a lane
	PerRegister int      // elements of a register: 2 of 16 bits, 1 of 32
	// Registers is how many a lane has. Where they hold more than Elements, those behind repeat the first
	// ones.
	Registers int
	// Cells[e][lane] is Cols·row + column of element e; all zero where the layout is not known (Known).
	Cells [8][32]uint8
	Known bool
}

// Distinct returns how many registers hold different elements: the first ones.
func (f *Fragment) Distinct() int { return f.Elements / f.PerRegister }

// Register returns the register of element e, and which of its elements that is.
func (f *Fragment) Register(e int) (reg, part int) { return e / f.PerRegister, e % f.PerRegister }

// Cell returns the row and column of element e of a lane.
func (f *Fragment) Cell(lane, e int) (row, col int) {
	c := int(f.Cells[e&7][lane&31])
	return c / f.Cols, c % f.Cols
}

// ElementBytes is the size of an element in memory.
func (f *Fragment) ElementBytes() int { return 4 / f.PerRegister }

// wmmaCell is the row and column of element e of an accumulator of wmma m16n16k16, and the row and k of its
// operand A. PTX leaves this layout open; it is the one read back on an H200. With r = lane/4 and c =
// 2·(lane%4), element pairs (0,1) (2,3) (4,5) (6,7) are the cells
//
//	(r,c) (r,c+1)   (r+8,c) (r+8,c+1)   (r,c+8) (r,c+9)   (r+8,c+8) (r+8,c+9)
//
// Loading an index shows the layout of the operands too: registers 4 to 7 repeat 0 to 3, so that 16 halves
// hold each cell twice.
func wmmaCell(lane, e int) (row, col int) {
	return lane>>2 + e>>1&1*8, lane&3*2 + e&1 + e>>2*8
}

// wmmaCellB is the column n and the k of element e of B: registers 1 and 2 are exchanged.
func wmmaCellB(lane, e int) (n, k int) { return wmmaCell(lane, e&1|e>>1&1<<2|e>>2&1<<1) }

// mmaCell is the row and column of element e of an accumulator of mma m16n8 (PTX ISA, "Matrix Fragments for
// mma.m16n8k16"), mmaCellA the row and k of its operand A, mmaCellB the column n and k of B; k8 has the first
// half of the elements.
func mmaCell(lane, e int) (row, col int) { return lane>>2 + 8*(e>>1), lane&3*2 + e&1 }

func mmaCellA(lane, e int) (row, k int) { return lane>>2 + 8*(e>>1&1), lane&3*2 + 8*(e>>2) + e&1 }

func mmaCellB(lane, e int) (n, k int) { return lane >> 2, lane&3*2 + 8*(e>>1) + e&1 }

// shape names a fragment: opcode, shape modifier, what it is, and whether an accumulator is of f32.
type shape struct {
	op, shape string
	role      ArgClass
	wide      bool
}

// fragments are the layouts of operands of 16 bits, and of accumulators. Of shapes whose layout is not known
// only the number of registers is given.
var fragments = sync.OnceValue(func() map[shape]*Fragment {
	t := map[shape]*Fragment{}
	put := func(op, name string, f Fragment, cell func(lane, e int) (row, col int)) {
		if cell != nil {
			f.fill(cell)
		}
		t[shape{op, name, f.Role, f.PerRegister == 1}] = &f
	}
	for _, name := range []string{"m16n16k16", "m32n8k16", "m8n32k16"} {
		a, b := wmmaCell, wmmaCellB
		if name != "m16n16k16" {
			a, b = nil, nil
		}
		whole := Fragment{Rows: 16, Cols: 16, Elements: 8}
		put("wmma", name, whole.as(ClassA, 2, 8), a)
		put("wmma", name, whole.as(ClassB, 2, 8), b)
		put("wmma", name, whole.as(ClassC, 1, 8), a)
		put("wmma", name, whole.as(ClassC, 2, 4), a)
	}
	for name, k := range map[string]int{"m16n8k16": 16, "m16n8k8": 8} {
		acc := Fragment{Rows: 16, Cols: 8, Elements: 4}
		put("mma", name, Fragment{Rows: 16, Cols: k, Elements: k / 2}.as(ClassA, 2, k/4), mmaCellA)
		put("mma", name, Fragment{Rows: 8, Cols: k, Elements: k / 4}.as(ClassB, 2, k/8), mmaCellB)
		put("mma", name, acc.as(ClassC, 1, 4), mmaCell)
		put("mma", name, acc.as(ClassC, 2, 2), mmaCell)
	}
	return t
})

// as completes a fragment with what it is and how registers hold it.
func (f Fragment) as(role ArgClass, perRegister, registers int) Fragment {
	f.Role, f.PerRegister, f.Registers = role, perRegister, registers
	return f
}

func (f *Fragment) fill(cell func(lane, e int) (row, col int)) {
	f.Known = true
	for e := range f.Elements {
		for lane := range f.Cells[e] {
			row, col := cell(lane, e)
			f.Cells[e][lane] = uint8(f.Cols*row + col)
		}
	}
}

// Fragment returns the layout of the matrix that an operand of class c is, in an instruction with these
// modifiers; nil where the table has none: for element types other than the 16-bit floats, and for shapes
// that no executor has.
func (f *Form) Fragment(c ArgClass, mods []string) *Fragment {
	types := typesOf(mods)
	if len(types) == 0 || !f.halfOperands(types) {
		return nil
	}
	wide := false
	switch c {
	case ClassA, ClassB:
		if f.Kind == LoadFragment && types[0] != "f16" {
			return nil
		}
	case ClassC:
		wide = types[len(types)-1] == "f32"
	case ClassD:
		c, wide = ClassC, types[0] == "f32"
	default:
		return nil
	}
	for _, m := range mods {
		if frag := fragments()[shape{f.Name, m, c, wide}]; frag != nil {
			return frag
		}
	}
	return nil
}

// halfOperands reports whether the multiplied matrices are of 16-bit floats: of f16 where only types of
// accumulators, or the one of a load or store, are named, else as the types between those of D and C say.
func (f *Form) halfOperands(types []string) bool {
	if f.Name == "mma" {
		return len(types) == 4 && types[1] == types[2] && (types[1] == "f16" || types[1] == "bf16")
	}
	for _, t := range types {
		if t != "f16" && t != "f32" {
			return false
		}
	}
	return len(types) <= 2
}

// Registers returns how many registers an operand of class c has in an instruction with these modifiers, 0
// where the table does not say.
func (f *Form) Registers(c ArgClass, mods []string) int {
	if c == ClassMatrices {
		return Matrices(mods)
	}
	if frag := f.Fragment(c, mods); frag != nil {
		return frag.Registers
	}
	return 0
}

// Matrices returns how many matrices of 16-bit elements an ldmatrix or stmatrix with these modifiers moves,
// each in one register; 0 for those of which one takes more.
func Matrices(mods []string) int {
	switch {
	case slices.Contains(mods, "m16n16"):
		return 0
	case slices.Contains(mods, "x4"):
		return 4
	case slices.Contains(mods, "x2"):
		return 2
	case slices.Contains(mods, "x1"):
		return 1
	}
	return 0
}

// Matrix8 returns the layout of one matrix of ldmatrix or stmatrix: Cells are of the matrix as it lies in
// memory, whose row r of matrix k is where lane 8k + r points (PTX ISA, "ldmatrix").
func Matrix8(transposed bool) *Fragment { return matrices8()[transposed] }

var matrices8 = sync.OnceValue(func() map[bool]*Fragment {
	t := map[bool]*Fragment{}
	for _, transposed := range []bool{false, true} {
		f := Fragment{Rows: 8, Cols: 8, Elements: 2}.as(ClassMatrices, 2, 1)
		f.fill(func(lane, e int) (row, col int) {
			if transposed {
				return lane&3*2 + e, lane >> 2
			}
			return lane >> 2, lane&3*2 + e
		})
		t[transposed] = &f
	}
	return t
})

// typeNames are the modifiers that are types.
var typeNames = sync.OnceValue(func() map[string]bool {
	t := map[string]bool{"pred": true}
	for _, set := range []string{"int", "bit", "flt", "sub"} {
		for _, m := range strings.Fields(modSets[set]) {
			t[m] = true
		}
	}
	return t
})

func typesOf(mods []string) []string {
	var out []string
	for _, m := range mods {
		if typeNames()[m] {
			out = append(out, m)
		}
	}
	return out
}
