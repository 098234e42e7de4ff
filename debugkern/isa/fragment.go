package isa

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Fragment is how the lanes of a warp hold a matrix in registers of 32 bits, or of 64 where the elements have
// as many.
//
// Cells are numbered by row and column of the matrix as the multiplication sees it: A as [m][k], B as [n][k],
// C and D as [m][n]; a sparse A as [m][k/2], the elements that it has. Element e of a lane lies in register
// e / PerRegister, the first element of a register in its low bits.
type Fragment struct {
	Role        ArgClass // ClassA, ClassB, or ClassC for an accumulator
	Rows, Cols  int      // of the matrix
	Elements    int      // of a lane
	Bits        int      // of an element: 1, 4, 8, 16, 32 or 64
	PerRegister int      // elements of a register: 2 of 16 bits, 1 of 32
	// Registers is how many a lane has. Where they hold more than Elements, those behind repeat the first
	// ones.
	Registers int
	// Cells[e][lane] is Cols·row + column of element e, for matrices of at most 256 cells (Small).
	Cells [8][32]uint8
	cells [][32]uint16 // the same for all
}

// Small reports whether Cells has the matrix.
func (f *Fragment) Small() bool { return f.Elements <= 8 && f.Rows*f.Cols <= 256 }

// Distinct returns how many registers hold different elements: the first ones.
func (f *Fragment) Distinct() int { return f.Elements / f.PerRegister }

// Register returns the register of element e, and which of its elements that is.
func (f *Fragment) Register(e int) (reg, part int) { return e / f.PerRegister, e % f.PerRegister }

// Cell returns the row and column of element e of a lane.
func (f *Fragment) Cell(lane, e int) (row, col int) {
	c := int(f.cells[e][lane&31])
	return c / f.Cols, c % f.Cols
}

// Moved returns what a lane moves between memory and registers at once: a number of elements that lie side by
// side, and their bytes. It is one element, or a register of elements smaller than a byte.
func (f *Fragment) Moved() (elements, bytes int) {
	if f.Bits < 8 {
		return f.PerRegister, 4
	}
	return 1, f.Bits / 8
}

// operandCell is the row and column of element e of an operand with rows and columns of so many bits: of A,
// whose registers go down 16 rows before they go on along k, or of B, whose go along k first (PTX ISA,
// "Matrix Fragments for mma.m16n8k16", and so on; all have this in common). Four lanes share a row, and a
// register holds 32 bits of it.
//
// PTX leaves the fragments of wmma open. Those of m16n16k16 with f16 are of this kind too, as read back on an
// H200: with r = lane/4 and c = 2·(lane%4), the registers of A hold the cells
//
//	(r,c) (r,c+1)   (r+8,c) (r+8,c+1)   (r,c+8) (r,c+9)   (r+8,c+8) (r+8,c+9)
//
// and registers 4 to 7 repeat 0 to 3. For the other fragments of wmma it is assumed; a kernel that relies on
// it relies on the compiler.
func (f *Fragment) operandCell(lane, e int) (row, col int) {
	reg, part := f.Register(e)
	along := max(f.Cols/(4*f.PerRegister), 1) // registers of a row
	down, right := reg/along, reg%along
	if f.Role == ClassA && f.Rows > 8 {
		down, right = reg&1+reg/(2*along)*2, reg>>1%along
	}
	return lane>>2 + 8*down, lane&3*f.PerRegister + part + right*4*f.PerRegister
}

// accumulatorCell is the row and column of element e of an accumulator: pairs of columns, 16 rows before the
// next columns, and 16 columns before the next rows.
func (f *Fragment) accumulatorCell(lane, e int) (row, col int) {
	row, col = lane>>2, lane&3*2+e&1
	switch pair := e >> 1; {
	case f.Rows == 8:
		return row, col + 8*pair
	case f.Rows == 16:
		return row + 8*(pair&1), col + 8*(pair>>1)
	default:
		return row + 8*pair, col
	}
}

// shape names a fragment: opcode (with sparseMark where A is sparse), shape modifier, what it is, and
// what its elements are.
type shape struct {
	op, shape string
	role      ArgClass
	element   string
}

const sparseMark = ".sp"

// multiplied are the shapes of matrix products, by opcode and by what the elements of the operands are.
var multiplied = []struct{ op, elements, shapes string }{
	{"wmma", "f16 bf16 b8", "m16n16k16 m32n8k16 m8n32k16"},
	{"wmma", "tf32", "m16n16k8"},
	{"wmma", "f64", "m8n8k4"},
	{"wmma", "b4", "m8n8k32"},
	{"wmma", "b1", "m8n8k128"},
	{"mma", "f16 bf16", "m16n8k8 m16n8k16"},
	{"mma", "tf32", "m16n8k4 m16n8k8"},
	{"mma", "f64", "m8n8k4 m16n8k4 m16n8k8 m16n8k16"},
	{"mma", "b8", "m8n8k16 m16n8k16 m16n8k32"},
	{"mma", "b4", "m8n8k32 m16n8k32 m16n8k64"},
	{"mma", "b1", "m8n8k128 m16n8k128 m16n8k256"},
}

// sparse are the shapes of products of a sparse A.
var sparse = []struct{ elements, shapes string }{
	{"f16 bf16", "m16n8k16 m16n8k32"},
	{"tf32", "m16n8k8 m16n8k16"},
	{"b8", "m16n8k32 m16n8k64"},
	{"b4", "m16n8k64 m16n8k128"},
}

// elementBits are the sizes of elements: of operands, and of accumulators.
var elementBits = map[string]int{
	"f16": 16, "bf16": 16, "tf32": 32, "b8": 8, "b4": 4, "b1": 1, "f64": 64, "b32": 32,
}

// fragments are the layouts of all operands and accumulators.
var fragments = sync.OnceValue(func() map[shape]*Fragment {
	t := map[shape]*Fragment{}
	add := func(op, elements, shapes string, part int) {
		for _, name := range strings.Fields(shapes) {
			m, n, k := extents(name)
			for _, element := range strings.Fields(elements) {
				t[shape{op, name, ClassA, element}] = newFragment(op, element, ClassA, m, k/part)
				t[shape{op, name, ClassB, element}] = newFragment(op, element, ClassB, n, k)
			}
			for _, element := range []string{"f16", "b32", "f64"} {
				if (element == "f64") == (elements == "f64") {
					t[shape{op, name, ClassC, element}] = newFragment(op, element, ClassC, m, n)
				}
			}
		}
	}
	for _, x := range multiplied {
		add(x.op, x.elements, x.shapes, 1)
	}
	for _, x := range sparse {
		add("mma"+sparseMark, x.elements, x.shapes, 2)
	}
	return t
})

// extents reads the numbers of a shape.
func extents(name string) (m, n, k int) {
	if _, err := fmt.Sscanf(name, "m%dn%dk%d", &m, &n, &k); err != nil {
		panic("BUG: shape " + name)
	}
	return m, n, k
}

func newFragment(op, element string, role ArgClass, rows, cols int) *Fragment {
	f := &Fragment{Role: role, Rows: rows, Cols: cols, Elements: rows * cols / 32, Bits: elementBits[element]}
	f.PerRegister = max(32/f.Bits, 1)
	if f.Registers = f.Distinct(); op == "wmma" && element == "f16" && role != ClassC {
		f.Registers = 8
	}
	if role == ClassC {
		f.fill(f.accumulatorCell)
	} else {
		f.fill(f.operandCell)
	}
	return f
}

func (f *Fragment) fill(cell func(lane, e int) (row, col int)) {
	f.cells = make([][32]uint16, f.Elements)
	for e := range f.cells {
		for lane := range f.cells[e] {
			row, col := cell(lane, e)
			f.cells[e][lane] = uint16(f.Cols*row + col)
			if f.Small() {
				f.Cells[e&7][lane] = uint8(f.Cols*row + col)
			}
		}
	}
}

// elements say what elements a type names: those of operands, and of accumulators.
var elements = map[string]string{
	"f16": "f16", "bf16": "bf16", "tf32": "tf32", "f64": "f64", "f32": "b32", "s32": "b32",
	"s8": "b8", "u8": "b8",
	"e4m3": "b8", "e5m2": "b8", "s4": "b4", "u4": "b4", "b1": "b1",
}

// Fragment returns the layout of the matrix that an operand of class c is, in an instruction with these
// modifiers; nil where the table has none: for shapes that no executor has. Of wgmma it is what one warp has
// (Wgmma); its B lies in shared memory, and is nil.
func (f *Form) Fragment(c ArgClass, mods []string) *Fragment {
	if f.Kind == WgmmaMultiply {
		d, a, _, _, _ := Wgmma(mods)
		switch c {
		case ClassA:
			return a
		case ClassC, ClassD:
			return d
		}
		return nil
	}
	name := elements[f.element(c, mods)]
	if name == "" {
		return nil
	}
	if c == ClassD {
		c = ClassC
	}
	op := f.Name
	if Sparse(mods) {
		op += sparseMark
	}
	for _, m := range mods {
		if frag := fragments()[shape{op, m, c, name}]; frag != nil {
			return frag
		}
	}
	return nil
}

// element returns the type of the elements of an operand of class c. A product names the types of D, A, B and
// C, and one of f16 by wmma those of D and C alone.
func (f *Form) element(c ArgClass, mods []string) string {
	types := typesOf(mods)
	switch {
	case c < ClassA || c > ClassD || len(types) == 0:
		return ""
	case len(types) == 4:
		return types[map[ArgClass]int{ClassD: 0, ClassA: 1, ClassB: 2, ClassC: 3}[c]]
	case len(types) == 1 && f.Name == "wmma":
		return types[0]
	case len(types) > 2 || f.Name == "mma":
		return ""
	case c == ClassA || c == ClassB:
		return "f16"
	case c == ClassD:
		return types[0]
	}
	return types[1]
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

// Wgmma returns the layouts of what one warp of a warpgroup has in registers, in a wgmma.mma_async with these
// modifiers: its 16 rows of D, and of A where it lies in registers. The operands have k elements of a row,
// and D has n columns (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts"). ok is false where the
// modifiers name no product.
func Wgmma(mods []string) (d, a *Fragment, n, k int, ok bool) {
	types := typesOf(mods)
	for _, m := range mods {
		var rows int
		if c, err := fmt.Sscanf(m, "m%dn%dk%d", &rows, &n, &k); c != 3 || err != nil || rows != 64 ||
			n < 8 || n > 256 || k < 8 || len(types) < 3 {
			continue
		}
		out, in := elements[types[0]], elements[types[1]]
		if elementBits[out] == 0 || elementBits[in] == 0 || asyncDepth(in) != k {
			return nil, nil, 0, 0, false
		}
		return asyncSum(out, n), asyncOperand(in), n, k, true
	}
	return nil, nil, 0, 0, false
}

// asyncDepth is how many elements a row of wgmma's A has: 32 bytes of them.
func asyncDepth(element string) int { return 256 / elementBits[element] }

// asyncOperand is the layout of one warp's 16 rows of A.
func asyncOperand(element string) *Fragment {
	return newFragment("wgmma", element, ClassA, 16, asyncDepth(element))
}

// asyncSum is the layout of one warp's 16 rows of D.
func asyncSum(element string, n int) *Fragment { return newFragment("wgmma", element, ClassC, 16, n) }

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
		f := Fragment{
			Role: ClassMatrices, Rows: 8, Cols: 8, Elements: 2, Bits: 16, PerRegister: 2, Registers: 1,
		}
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

// Layout is the layout of one matrix of a product by mma, with the words that name it.
type Layout struct {
	Shape   string // "m16n8k16"
	Element string // of the matrix: f16, bf16, tf32, f64, f32, s32; b8, b4, b1 for all types of so many bits
	Sparse  bool   // the product has a sparse A
	*Fragment
}

// Layouts lists the layouts of every product by mma: for each shape and type of element A, B, and the
// accumulators, dense ones first.
func Layouts() []Layout {
	var out []Layout
	add := func(elements, shapes string, isSparse bool) {
		op := "mma"
		if isSparse {
			op += sparseMark
		}
		for _, name := range strings.Fields(shapes) {
			for _, element := range strings.Fields(elements) {
				for _, role := range []ArgClass{ClassA, ClassB} {
					out = append(out, Layout{name, element, isSparse, fragments()[shape{op, name, role,
						element}]})
				}
				for _, acc := range accumulators(element) {
					kind := map[string]string{"f32": "b32", "s32": "b32"}[acc]
					if kind == "" {
						kind = acc
					}
					out = append(out, Layout{name, acc, isSparse, fragments()[shape{op, name, ClassC, kind}]})
				}
			}
		}
	}
	for _, x := range multiplied {
		if x.op == "mma" {
			add(x.elements, x.shapes, false)
		}
	}
	for _, x := range sparse {
		add(x.elements, x.shapes, true)
	}
	return out
}

// accumulators are the types in which products of so typed elements are added up.
func accumulators(element string) []string {
	switch element {
	case "f16":
		return []string{"f32", "f16"}
	case "bf16", "tf32":
		return []string{"f32"}
	case "f64":
		return []string{"f64"}
	}
	return []string{"s32"} // of 8 bits f32 too, with the same layout
}

// asyncColumns are some of the numbers of columns that wgmma has, every multiple of 8 up to 256: the layout
// of each begins those of the wider ones.
var asyncColumns = []int{8, 16, 32, 64, 96, 128, 192, 256}

// AsyncLayouts lists the layouts of wgmma's matrices in registers, one warp's 16 of their 64 rows: warp w of
// the warpgroup has rows 16w to 16w + 15 (PTX ISA, "Register Fragments" of wgmma). They are those of mma with
// 16 rows: A for each type of element, and the accumulators for each number of columns.
func AsyncLayouts() []Layout { return slices.Clone(asyncLayouts()) }

var asyncLayouts = sync.OnceValue(func() []Layout {
	var out []Layout
	for _, element := range []string{"f16", "bf16", "tf32", "b8"} {
		out = append(out, Layout{
			Shape: fmt.Sprintf("m64k%d", asyncDepth(element)), Element: element,
			Fragment: asyncOperand(element),
		})
	}
	for _, n := range asyncColumns {
		for _, acc := range []struct{ dtype, element string }{{"f32", "b32"}, {"f16", "f16"}} {
			out = append(out, Layout{
				Shape: fmt.Sprintf("m64n%d", n), Element: acc.dtype,
				Fragment: asyncSum(acc.element, n),
			})
		}
	}
	return out
})
