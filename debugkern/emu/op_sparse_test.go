package emu

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// sparseCase is a product of a sparse A: types of D and C, A, and B.
type sparseCase struct{ shape, d, a, b, more string }

var sparseCases = []sparseCase{
	{"m16n8k16", "f32", "f16", "f16", ""}, {"m16n8k16", "f16", "f16", "f16", ""},
	{"m16n8k16", "f32", "bf16", "bf16", ""}, {"m16n8k32", "f32", "f16", "f16", ""},
	{"m16n8k32", "f16", "f16", "f16", ""}, {"m16n8k32", "f32", "bf16", "bf16", ""},
	{"m16n8k8", "f32", "tf32", "tf32", ""}, {"m16n8k16", "f32", "tf32", "tf32", ""},
	{"m16n8k32", "s32", "s8", "u8", ""}, {"m16n8k32", "s32", "u8", "u8", "satfinite"},
	{"m16n8k64", "s32", "u8", "s8", ""}, {"m16n8k64", "s32", "s8", "s8", "satfinite"},
	{"m16n8k64", "s32", "s4", "u4", ""}, {"m16n8k64", "s32", "u4", "u4", "satfinite"},
	{"m16n8k128", "s32", "u4", "s4", ""}, {"m16n8k128", "s32", "s4", "s4", "satfinite"},
	{"m16n8k64", "f32", "e4m3", "e4m3", ""}, {"m16n8k64", "f32", "e4m3", "e5m2", ""},
	{"m16n8k64", "f32", "e5m2", "e4m3", ""}, {"m16n8k64", "f32", "e5m2", "e5m2", ""},
}

func (c sparseCase) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s.%s.%s.%s.%s.%s", c.shape, c.d, c.a, c.b, c.d, c.more), ".")
}

// mods are the modifiers of the product.
func (c sparseCase) mods(ordered bool) []string {
	sp := "sp"
	if ordered {
		sp = "sp::ordered_metadata"
	}
	mods := []string{sp, "sync", "aligned", c.shape, "row", "col"}
	if c.more != "" {
		mods = append(mods, c.more)
	}
	return append(mods, c.d, c.a, c.b, c.d)
}

// sparseForm is a case with what the instruction table says of it.
type sparseForm struct {
	sparseCase
	opcode     string
	a, b, c, d *isa.Fragment
	meta       *isa.Metadata
}

func (c sparseCase) form(ordered bool) *sparseForm {
	mods := c.mods(ordered)
	form := isa.Lookup("mma", mods)
	frag := func(class isa.ArgClass) *isa.Fragment { return form.Fragment(class, mods) }
	return &sparseForm{
		c, "mma." + strings.Join(mods, "."), frag(isa.ClassA), frag(isa.ClassB), frag(isa.ClassC),
		frag(isa.ClassD), form.Metadata(mods),
	}
}

// words is the number of registers that a lane puts in: those of A, B and C, and its metadata.
func (f *sparseForm) words() int { return f.a.Registers + f.b.Registers + f.c.Registers + 1 }

// module is a kernel whose blocks multiply what lies at in, and put the result at out.
func (f *sparseForm) module(selector int) string {
	list := func(name string, n int) string {
		var regs []string
		for i := range n {
			regs = append(regs, fmt.Sprintf("%%%s%d", name, i))
		}
		return "{" + strings.Join(regs, ",") + "}"
	}
	var b strings.Builder
	b.WriteString(
		".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry t(.param .u64 in, .param .u64 out)\n{\n")
	b.WriteString("\t.reg .b32 %t, %x, %a<4>, %b<4>, %c<4>, %d<4>, %e;\n\t.reg .b64 %i, %o;\n")
	b.WriteString(
		"\tmov.u32 %x, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %t, %x, 32, %t;\n\tld.param.u64 %i, [in]; ld.param.u64 %o, [out];\n")
	fmt.Fprintf(&b, "\tmad.wide.u32 %%i, %%t, %d, %%i; mad.wide.u32 %%o, %%t, %d, %%o;\n", 4*f.words(),
		4*f.d.Registers)
	at := 0
	load := func(name string, n int) {
		for i := range n {
			fmt.Fprintf(&b, "\tld.global.b32 %%%s%d, [%%i+%d];\n", name, i, at)
			at += 4
		}
	}
	load("a", f.a.Registers)
	load("b", f.b.Registers)
	load("c", f.c.Registers)
	fmt.Fprintf(&b, "\tld.global.b32 %%e, [%%i+%d];\n", at)
	fmt.Fprintf(&b, "\t%s %s, %s, %s, %s, %%e, %d;\n", f.opcode, list("d", f.d.Registers),
		list("a", f.a.Registers), list("b", f.b.Registers), list("c", f.c.Registers), selector)
	for i := range f.d.Registers {
		fmt.Fprintf(&b, "\tst.global.b32 [%%o+%d], %%d%d;\n", 4*i, i)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

// problem is one product: elements by cell, and the four bits of each chunk of each row.
type problem struct {
	a, b, c []uint64
	meta    [16][16]uint32
}

func (f *sparseForm) newProblem() *problem {
	return &problem{
		a: make([]uint64, f.a.Rows*f.a.Cols), b: make([]uint64, f.b.Rows*f.b.Cols),
		c: make([]uint64, f.c.Rows*f.c.Cols),
	}
}

// registers are what the lanes hold, lane after lane. Lanes whose metadata are not looked at hold other.
func (f *sparseForm) registers(p *problem, selector int, other uint32) []byte {
	words := make([]uint32, 32*f.words())
	at := 0
	put := func(frag *isa.Fragment, cells []uint64) {
		for lane := range 32 {
			for e := range frag.Elements {
				reg, part := frag.Register(e)
				row, col := frag.Cell(lane, e)
				words[lane*f.words()+at+reg] |= uint32(cells[row*frag.Cols+col]) << (part * frag.Bits)
			}
		}
		at += frag.Registers
	}
	put(f.a, p.a)
	put(f.b, p.b)
	put(f.c, p.c)
	for lane := range 32 {
		if lane&3/f.meta.Lanes != selector {
			words[lane*f.words()+at] = other
		}
	}
	for row := range f.a.Rows {
		for chunk := range f.meta.Chunks {
			lane, bit := f.meta.At(row, chunk, selector)
			words[lane*f.words()+at] |= p.meta[row][chunk] << bit
		}
	}
	var out []byte
	for _, w := range words {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return out
}

// results are the elements of D by cell, of problem i.
func (f *sparseForm) results(out []byte, i int) []uint64 {
	d := make([]uint64, f.d.Rows*f.d.Cols)
	for lane := range 32 {
		for e := range f.d.Elements {
			reg, part := f.d.Register(e)
			row, col := f.d.Cell(lane, e)
			w := binary.LittleEndian.Uint32(out[4*((32*i+lane)*f.d.Registers+reg):])
			d[row*f.d.Cols+col] = uint64(w) >> (part * f.d.Bits) & (1<<f.d.Bits - 1)
		}
	}
	return d
}

// operands are a row of A as it is, and the elements of a column of B that belong to it.
func (f *sparseForm) operands(p *problem, row, col int) (a, b []uint64) {
	a = p.a[row*f.a.Cols:][:f.a.Cols]
	for e := range a {
		k := f.meta.Column(e, p.meta[row][e*f.meta.Chunks/f.a.Cols])
		b = append(b, p.b[col*f.b.Cols+k])
	}
	return a, b
}

// launchSparse multiplies problems on a backend, one a block.
func (f *sparseForm) launchSparse(
	t *testing.T, on target.Backend, problems []*problem, selector int,
) (*target.Result, []byte) {
	t.Helper()
	var in []byte
	for _, p := range problems {
		in = append(in, f.registers(p, selector, 0x5f5f5f5f)...)
	}
	k := loadOn(t, on, "t.ptx", f.module(selector))
	size := len(problems) * 32 * 4 * f.d.Registers
	res, err := k.Launch(t.Context(), &target.Launch{
		Grid: probes.Dim3{len(problems), 1, 1}, Block: probes.Dim3{32, 1, 1}, Args: []target.Arg{
			{
				Name: "in", Buffer: &target.Buffer{
					DType: probes.U32, Dims: []int{len(in) / 4}, Bytes: len(in), Init: in,
				},
			},
			{
				Name:   "out",
				Buffer: &target.Buffer{DType: probes.U32, Dims: []int{size / 4}, Bytes: size, Output: true},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res, res.Outputs["out"]
}

// positions are the four bits that chunks of a product may have.
func (f *sparseForm) positions() (list []uint32) {
	for bits := range uint32(16) {
		if f.meta.Defined(bits) {
			list = append(list, bits)
		}
	}
	return list
}

// TestSparseProducts: every product of small integers is right, in every type and shape and for every
// selector, against the product of A with its zeros.
func TestSparseProducts(t *testing.T) {
	for i, c := range sparseCases {
		for _, ordered := range []bool{false, true} {
			f := c.form(ordered)
			t.Run(f.opcode, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(3, uint64(i)))
				for selector := range f.meta.Selectors() {
					p := f.newProblem()
					A, B, C := smallMatrix(rng, c.a, f.a.Rows, f.a.Cols),
						smallMatrix(rng, c.b, f.b.Rows, f.b.Cols), smallMatrix(rng, c.d, f.c.Rows, f.c.Cols)
					fill := func(to []uint64, typ string, m [][]int) {
						for j := range to {
							cols := len(m[0])
							to[j] = encode(typ, m[j/cols][j%cols]) & (1<<tensorBits[typ] - 1)
						}
					}
					fill(p.a, c.a, A)
					fill(p.b, c.b, B)
					fill(p.c, c.d, C)
					list := f.positions()
					dense := make([][]int, f.a.Rows)
					for row := range dense {
						dense[row] = make([]int, f.b.Cols)
						for chunk := range f.meta.Chunks {
							p.meta[row][chunk] = list[rng.IntN(len(list))]
						}
						for e, v := range A[row] {
							dense[row][f.meta.Column(e, p.meta[row][e*f.meta.Chunks/f.a.Cols])] = v
						}
					}
					res, out := f.launchSparse(t, New(chip.SM90()), []*problem{p}, selector)
					if len(res.Findings) > 0 {
						t.Fatalf("%+v", res.Findings[0])
					}
					for j, got := range f.results(out, 0) {
						row, col := j/f.d.Cols, j%f.d.Cols
						want := C[row][col]
						for k, v := range dense[row] {
							want += v * B[col][k]
						}
						if got != encode(c.d, want)&(1<<tensorBits[c.d]-1) {
							t.Fatalf("selector %d, row %d, column %d: %#x, want %d", selector, row,
								col, got, want)
						}
					}
				}
			})
		}
	}
}

// TestSparseMetadata: positions that the ISA leaves undefined are a finding that names the row and its
// columns; a selector that the shape does not have is refused.
func TestSparseMetadata(t *testing.T) {
	for _, c := range []struct {
		sparseCase
		ordered     bool
		bits        uint32
		columns, at string
	}{
		{sparseCases[0], false, 0b0101, "columns 4 to 7", "two equal positions"},
		{sparseCases[0], false, 0b0001, "", ""},
		{sparseCases[0], true, 0b0001, "columns 4 to 7", "falling order"},
		{sparseCases[7], false, 0b1100, "columns 2 to 3", "neither 0b0100 nor 0b1110"},
		{sparseCases[12], false, 0b1010, "columns 8 to 15", "two equal positions"},
	} {
		f := c.form(c.ordered)
		p := f.newProblem()
		for row := range f.a.Rows {
			for chunk := range f.meta.Chunks {
				p.meta[row][chunk] = 0b0100
			}
		}
		p.meta[9][1] = c.bits
		res, _ := f.launchSparse(t, New(chip.SM90()), []*problem{p}, 0)
		switch {
		case c.columns == "":
			if len(res.Findings) != 0 {
				t.Errorf("%s: %+v", f.opcode, res.Findings)
			}
		case len(res.Findings) != 1 || res.Findings[0].Kind != target.Layout || res.Findings[0].Count != 1 ||
			!strings.Contains(res.Findings[0].Message, "row 9, "+c.columns) ||
			!strings.Contains(res.Findings[0].Message, c.at):
			t.Errorf("%s: %+v", f.opcode, res.Findings)
		}
	}
	f := sparseCases[3].form(false)
	m, err := ptx.Parse("t.ptx", []byte(f.module(2)))
	if err == nil {
		_, err = New(chip.SM90()).Load(t.Context(), m, "t")
	}
	if err == nil || !strings.Contains(err.Error(), "selector must be below 2") {
		t.Errorf("%v", err)
	}
}

// sparseWays are ways in which a tensor core may add the products of a row and a column. The
// first is the emulator's.
var sparseWays = []struct {
	name string
	dot  func(f *sparseForm, m *fp.Model, a, b []uint64, c uint64) uint64
}{
	{"as a dense A of as many columns", nil},
	{"two steps, first half and second", func(f *sparseForm, m *fp.Model, a, b []uint64, c uint64) uint64 {
		n := len(a) / 2
		return f.plain(m, a[n:], b[n:], f.plain(m, a[:n], b[:n], c))
	}},
	{"two steps, second half and first", func(f *sparseForm, m *fp.Model, a, b []uint64, c uint64) uint64 {
		n := len(a) / 2
		return f.plain(m, a[:n], b[:n], f.plain(m, a[n:], b[n:], c))
	}},
	{
		"two steps, first of each chunk and second",
		func(f *sparseForm, m *fp.Model, a, b []uint64, c uint64) uint64 {
			return f.plain(m, every(a, 1), every(b, 1), f.plain(m, every(a, 0), every(b, 0), c))
		},
	},
	{"two steps, even and odd chunks", func(f *sparseForm, m *fp.Model, a, b []uint64, c uint64) uint64 {
		return f.plain(m, chunks(a, 2), chunks(b, 2), f.plain(m, chunks(a, 0), chunks(b, 0), c))
	}},
	{"from zero in one step, then c", func(f *sparseForm, m *fp.Model, a, b []uint64, c uint64) uint64 {
		return f.add(c, f.plain(m, a, b, 0))
	}},
	{"four steps", func(f *sparseForm, m *fp.Model, a, b []uint64, c uint64) uint64 {
		for n := len(a) / 4; len(a) > 0; a, b = a[n:], b[n:] {
			c = f.plain(m, a[:n], b[:n], c)
		}
		return c
	}},
}

func every(v []uint64, from int) (out []uint64) {
	for i := from; i < len(v); i += 2 {
		out = append(out, v[i])
	}
	return out
}

func chunks(v []uint64, from int) (out []uint64) {
	for i := from; i+1 < len(v); i += 4 {
		out = append(out, v[i], v[i+1])
	}
	return out
}

// plain adds products in one step, of any number.
func (f *sparseForm) plain(m *fp.Model, a, b []uint64, c uint64) uint64 {
	switch f.sparseCase.a {
	case "tf32":
		return wordProducts(8)(m, a, b, c)
	case "f16", "bf16":
		ab := map[string]fp.Format{"f16": fp.F16, "bf16": fp.BF16}[f.sparseCase.a]
		cd := map[string]fp.Format{"f16": fp.F16, "f32": fp.F32}[f.sparseCase.d]
		return halfProduct(fp.MMA{AB: ab, C: cd, D: cd})(m, a, b, c)
	case "e4m3", "e5m2": // widened
		var x, y []uint64
		for i := range a {
			x, y = append(x, widen8(f.sparseCase.a, a[i])), append(y, widen8(f.sparseCase.b, b[i]))
		}
		if len(x) > 16 {
			return halfProduct(fp.MMAF32F16)(m, x[16:], y[16:],
				halfProduct(fp.MMAF32F16)(m, x[:16], y[:16], c))
		}
		return halfProduct(fp.MMAF32F16)(m, x, y, c)
	}
	ta, _ := ptx.TypeOf(f.sparseCase.a)
	tb, _ := ptx.TypeOf(f.sparseCase.b)
	return integerProduct(ta, tb, f.more != "")(m, a, b, c)
}

func widen8(typ string, v uint64) uint64 {
	if typ == "e4m3" {
		return uint64(fp.E4M3ToF16(uint8(v)))
	}
	return uint64(fp.E5M2ToF16(uint8(v)))
}

func (f *sparseForm) add(c, sum uint64) uint64 {
	switch f.sparseCase.d {
	case "f32":
		return uint64(fp.Add32(uint32(c), uint32(sum)))
	case "f16":
		return uint64(fp.Add16(uint16(c), uint16(sum)))
	}
	return uint64(uint32(c) + uint32(sum))
}

// emulated is what the emulator computes.
func (f *sparseForm) emulated(m *fp.Model, a, b []uint64, c uint64) uint64 {
	switch f.sparseCase.a {
	case "e4m3", "e5m2":
		ta, _ := ptx.TypeOf(f.sparseCase.a)
		tb, _ := ptx.TypeOf(f.sparseCase.b)
		return byteProduct(fp.MMAF32F16, ta, tb)(m, a, b, c)
	}
	return f.plain(m, a, b, c)
}

// arbitrary fills a problem. kind chooses the values: near 1, any bits, sums that cancel, extremes, and
// everywhere positions that are defined. Where unchosen is set, it is what stands in B where no element of
// any row of A belongs.
func (f *sparseForm) arbitrary(rng *rand.Rand, kind int, unchosen uint64, has bool) *problem {
	p := f.newProblem()
	list := f.positions()
	one := list[rng.IntN(len(list))]
	for row := range f.a.Rows {
		for chunk := range f.meta.Chunks {
			if p.meta[row][chunk] = list[rng.IntN(len(list))]; has {
				p.meta[row][chunk] = one
			}
		}
	}
	fill := func(to []uint64, typ string) {
		for i := range to {
			to[i] = arbitraryElement(rng, typ, kind)
		}
	}
	fill(p.a, f.sparseCase.a)
	fill(p.b, f.sparseCase.b)
	fill(p.c, f.sparseCase.d)
	if kind == 2 { // c is close to minus the sum
		for i := range p.c {
			a, b := f.operands(p, i/f.c.Cols, i%f.c.Cols)
			if v := f.emulated(fp.SM90(), a, b, 0); f.sparseCase.d != "s32" {
				p.c[i] = (v ^ 1<<(tensorBits[f.sparseCase.d]-1)) + uint64(rng.IntN(9)) - 4
				p.c[i] &= 1<<tensorBits[f.sparseCase.d] - 1
			}
		}
	}
	if has {
		there := map[int]bool{}
		for e := range f.a.Cols {
			there[f.meta.Column(e, one)] = true
		}
		for i := range p.b {
			if !there[i%f.b.Cols] {
				p.b[i] = unchosen
			}
		}
	}
	return p
}

func arbitraryElement(rng *rand.Rand, typ string, kind int) uint64 {
	n := tensorBits[typ]
	mask := uint64(1)<<n - 1
	switch {
	case typ == "s32":
		if kind == 3 { // products carry it over the end of the range
			width := uint64(1) << (8 + 4*rng.IntN(3))
			return (1<<31 + rng.Uint64N(2*width) - width) & mask
		}
		return rng.Uint64() & mask
	case n < 8 || typ == "s8" || typ == "u8":
		return rng.Uint64() & mask
	case kind == 1:
		return rng.Uint64() & mask
	case kind == 3 && rng.IntN(2) == 0: // few bits, and zeros of both signs
		return rng.Uint64() & mask & ^(mask >> 4)
	}
	var b [4]byte
	copy(b[:], randomElements(rng, typ, 1))
	return uint64(binary.LittleEndian.Uint32(b[:])) & mask
}

// TestGPUSparseProducts measures how a GPU multiplies a sparse A: where the metadata lie, what
// positions that the ISA leaves undefined do, whether elements of B that are not chosen matter, and
// in how many steps products are added. It fails where the emulator differs. A GPU of sm_90 has no
// sparse multiplier of 4-bit or 8-bit floating-point elements behind these instructions: what it
// computes for them says nothing of sm_89.
func TestGPUSparseProducts(t *testing.T) {
	gpu := openGPU(t)
	for i, c := range sparseCases {
		t.Run(c.String(), func(t *testing.T) {
			f := c.form(false)
			f.measureLayout(t, gpu)
			f.measurePositions(t, gpu)
			f.measureUnchosen(t, gpu)
			f.measureSteps(t, gpu, uint64(i))
		})
	}
}

// measureLayout changes the positions of one chunk at a time, at every place that metadata can have, and
// compares the row and the chunk that change with those of the table.
func (f *sparseForm) measureLayout(t *testing.T, gpu target.Backend) {
	one := encode(f.sparseCase.a, 1) & (1<<tensorBits[f.sparseCase.a] - 1)
	base, moved := uint32(0b0100), uint32(0b1110)
	for selector := range f.meta.Selectors() {
		var problems []*problem
		type place struct{ row, chunk int }
		var places []place
		for row := range f.a.Rows {
			for chunk := range f.meta.Chunks {
				p := f.newProblem()
				for r := range f.a.Rows {
					for c := range f.meta.Chunks {
						p.meta[r][c] = base
					}
				}
				p.meta[row][chunk] = moved
				for e := range p.a {
					p.a[e] = one
				}
				// column n of B has bit n of the chunk's number plus 1, where moved positions point
				for col := range f.b.Rows {
					for k := range f.b.Cols {
						if within := k % f.meta.Chunk; within >= f.meta.Chunk/2 &&
							(k/f.meta.Chunk+1)>>col&1 != 0 {
							p.b[col*f.b.Cols+k] = encode(f.sparseCase.b,
								1) & (1<<tensorBits[f.sparseCase.b] - 1)
						}
					}
				}
				problems, places = append(problems, p), append(places, place{row, chunk})
			}
		}
		_, out := f.launchSparse(t, gpu, problems, selector)
		bad := 0
		for i, want := range places {
			d := f.results(out, i)
			var got []place
			for row := range f.d.Rows {
				n := 0
				for col := range f.d.Cols {
					if d[row*f.d.Cols+col] != 0 {
						n |= 1 << col
					}
				}
				if n != 0 {
					got = append(got, place{row, n - 1})
				}
			}
			if len(got) != 1 || got[0] != want {
				lane, bit := f.meta.At(want.row, want.chunk, selector)
				if bad++; bad <= 40 {
					t.Logf("layout: selector %d, lane %d, bits %d to %d: row and chunk %v, the table has %v",
						selector, lane, bit, bit+3, got, want)
				}
			}
		}
		if bad > 0 {
			t.Errorf("layout: selector %d: %d of %d places of metadata are others", selector,
				bad, len(places))
		}
	}
}

// measurePositions reads back which columns all sixteen positions choose.
func (f *sparseForm) measurePositions(t *testing.T, gpu target.Backend) {
	half := f.meta.Chunk / 2
	var problems []*problem
	for bits := range uint32(16) {
		for e := range half {
			p := f.newProblem()
			for r := range f.a.Rows {
				for c := range f.meta.Chunks {
					p.meta[r][c] = bits
				}
				p.a[r*f.a.Cols+e] = encode(f.sparseCase.a, 1) & (1<<tensorBits[f.sparseCase.a] - 1)
			}
			for col := range f.b.Rows {
				for k := range f.meta.Chunk {
					if (k+1)>>col&1 != 0 {
						p.b[col*f.b.Cols+k] = encode(f.sparseCase.b, 1) & (1<<tensorBits[f.sparseCase.b] - 1)
					}
				}
			}
			problems = append(problems, p)
		}
	}
	_, out := f.launchSparse(t, gpu, problems, 0)
	var lines []string
	for bits := range uint32(16) {
		line := fmt.Sprintf("%04b:", bits)
		for e := range half {
			d, n := f.results(out, int(bits)*half+e), 0
			for col := range f.d.Cols {
				if d[col] != 0 {
					n |= 1 << col
				}
			}
			line += fmt.Sprintf(" %d", n-1)
			if want := f.meta.Column(e, bits); n-1 != want {
				line += fmt.Sprintf("(emulator %d)", want)
				if f.meta.Defined(bits) {
					t.Errorf("positions %04b: element %d is column %d, want %d", bits, e, n-1, want)
				}
			}
		}
		if !f.meta.Defined(bits) {
			line += " undefined"
		}
		lines = append(lines, line)
	}
	t.Logf("positions: %s", strings.Join(lines, "; "))
}

// measureUnchosen puts infinities and NaNs where no row of A has an element.
func (f *sparseForm) measureUnchosen(t *testing.T, gpu target.Backend) {
	special := map[string][]uint64{"f16": {0x7c00, 0x7e00}, "bf16": {0x7f80, 0x7fc0},
		"tf32": {0x7f800000, 0x7fc00000}, "e4m3": {0x7f}, "e5m2": {0x7c, 0x7f},
		"s8": {0x7f}, "u8": {0xff}, "s4": {7}, "u4": {15}}[f.sparseCase.b]
	rng := rand.New(rand.NewPCG(21, 22))
	for _, v := range special {
		var problems []*problem
		for range 16 {
			problems = append(problems, f.arbitrary(rng, 0, v, true))
		}
		_, out := f.launchSparse(t, gpu, problems, 0)
		differ, total := f.compare(t, problems, out, f.emulated, 2)
		t.Logf("unchosen elements of B are %#x: %d of %d differ", v, differ, total)
		if differ > 0 {
			t.Errorf("elements of B that are not chosen matter: %d of %d differ", differ, total)
		}
	}
}

// compare counts the elements of D that differ from what a way of adding gives, and logs the first of them.
func (f *sparseForm) compare(
	t *testing.T, problems []*problem, out []byte, dot func(m *fp.Model, a, b []uint64, c uint64) uint64,
	log int,
) (differ, total int) {
	model := fp.SM90()
	for i, p := range problems {
		for j, got := range f.results(out, i) {
			row, col := j/f.d.Cols, j%f.d.Cols
			a, b := f.operands(p, row, col)
			want := dot(model, a, b, p.c[row*f.c.Cols+col])
			if total++; got == want {
				continue
			}
			if differ++; differ <= log {
				t.Logf("GPU %#x, emulator %#x: a %x, b %x, c %x", got, want, a, b, p.c[row*f.c.Cols+col])
			}
		}
	}
	return differ, total
}

// measureSteps compares arbitrary products with each way of adding them.
func (f *sparseForm) measureSteps(t *testing.T, gpu target.Backend, seed uint64) {
	rng := rand.New(rand.NewPCG(31, seed))
	var problems []*problem
	for i := range 600 {
		problems = append(problems, f.arbitrary(rng, i%4, 0, false))
	}
	for selector := range f.meta.Selectors() {
		part := problems
		if selector > 0 {
			part = problems[:40]
		}
		_, out := f.launchSparse(t, gpu, part, selector)
		differ, total := f.compare(t, part, out, f.emulated, 6)
		if differ > 0 {
			t.Errorf("selector %d: %d of %d differ", selector, differ, total)
		}
		if selector > 0 {
			continue
		}
		for _, way := range sparseWays {
			if way.dot != nil {
				differ, _ = f.compare(t, part, out, func(m *fp.Model, a, b []uint64, c uint64) uint64 {
					return way.dot(f, m, a, b, c)
				}, 0)
			}
			t.Logf("%s: %d of %d differ", way.name, differ, total)
		}
		f.measureEmulator(t, part, out)
	}
}

// measureEmulator compares the GPU's results with those of the emulator's instruction.
func (f *sparseForm) measureEmulator(t *testing.T, problems []*problem, out []byte) {
	_, mine := f.launchSparse(t, New(chip.SM90()), problems, 0)
	differ := 0
	for i := 0; i < len(out); i += 4 {
		if string(out[i:i+4]) != string(mine[i:i+4]) {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d registers differ from the emulator's", differ, len(out)/4)
	}
}
