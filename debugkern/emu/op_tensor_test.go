package emu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// tensorCase is a product: types of D, A, B and C, and what stands behind them.
type tensorCase struct{ op, shape, d, a, b, c, more string }

var tensorCases = []tensorCase{
	{"mma", "m16n8k8", "f32", "tf32", "tf32", "f32", ""},
	{"mma", "m16n8k4", "f32", "tf32", "tf32", "f32", ""}, {"mma", "m8n8k4", "f64", "f64", "f64", "f64", ""},
	{"mma", "m16n8k4", "f64", "f64", "f64", "f64", ""}, {"mma", "m16n8k8", "f64", "f64", "f64", "f64", ""},
	{"mma", "m16n8k16", "f64", "f64", "f64", "f64", ""}, {"mma", "m8n8k16", "s32", "s8", "u8", "s32", ""},
	{"mma", "m16n8k16", "s32", "u8", "s8", "s32", ""},
	{"mma", "m16n8k32", "s32", "s8", "s8", "s32", "satfinite"},
	{"mma", "m8n8k32", "s32", "s4", "s4", "s32", ""}, {"mma", "m16n8k32", "s32", "u4", "s4", "s32", ""},
	{"mma", "m16n8k64", "s32", "s4", "u4", "s32", ""},
	{"mma", "m8n8k128", "s32", "b1", "b1", "s32", "xor.popc"},
	{"mma", "m16n8k128", "s32", "b1", "b1", "s32", "and.popc"},
	{"mma", "m16n8k256", "s32", "b1", "b1", "s32", "and.popc"},
	{"mma", "m16n8k32", "f32", "e4m3", "e5m2", "f32", ""},
	{"mma", "m16n8k16", "f32", "e5m2", "e5m2", "f32", ""},
	{"mma", "m16n8k32", "f16", "e4m3", "e4m3", "f16", ""},
	{"mma", "m16n8k16", "f32", "bf16", "bf16", "f32", ""}, {"mma", "m16n8k8", "f16", "f16", "f16", "f16", ""},
	{"wmma", "m16n16k16", "f32", "bf16", "bf16", "f32", ""},
	{"wmma", "m32n8k16", "f32", "bf16", "bf16", "f32", ""},
	{"wmma", "m8n32k16", "f32", "bf16", "bf16", "f32", ""},
	{"wmma", "m32n8k16", "f32", "f16", "f16", "f32", ""},
	{"wmma", "m8n32k16", "f16", "f16", "f16", "f16", ""},
	{"wmma", "m16n16k16", "f16", "f16", "f16", "f32", ""},
	{"wmma", "m16n16k8", "f32", "tf32", "tf32", "f32", ""},
	{"wmma", "m8n8k4", "f64", "f64", "f64", "f64", ""}, {"wmma", "m16n16k16", "s32", "s8", "s8", "s32", ""},
	{"wmma", "m32n8k16", "s32", "u8", "u8", "s32", "satfinite"},
	{"wmma", "m8n32k16", "s32", "s8", "s8", "s32", ""}, {"wmma", "m8n8k32", "s32", "s4", "s4", "s32", ""},
	{"wmma", "m8n8k128", "s32", "b1", "b1", "s32", "xor.popc"},
}

func (c tensorCase) String() string { return c.op + "." + c.shape + "." + strings.Join(c.types(), ".") }

func (c tensorCase) types() []string {
	if c.op == "wmma" && c.a == "f16" {
		return []string{c.d, c.c}
	}
	return []string{c.d, c.a, c.b, c.c}
}

// encode is a small integer as an element.
func encode(typ string, v int) uint64 {
	switch typ {
	case "f64":
		return math.Float64bits(float64(v))
	case "f32", "tf32":
		return uint64(math.Float32bits(float32(v)))
	case "f16":
		return uint64(fp.F32ToF16(math.Float32bits(float32(v))))
	case "bf16":
		return uint64(math.Float32bits(float32(v)) >> 16)
	case "e4m3":
		return uint64(fp.F32ToE4M3(math.Float32bits(float32(v)), false))
	case "e5m2":
		return uint64(fp.F32ToE5M2(math.Float32bits(float32(v)), false))
	}
	return uint64(v)
}

var tensorBits = map[string]int{
	"f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "e4m3": 8,
	"e5m2": 8, "s4": 4, "u4": 4, "b1": 1,
}

// matrix is rows of small integers.
func smallMatrix(rng *rand.Rand, typ string, rows, cols int) [][]int {
	lo, hi := -2, 2
	switch {
	case typ == "b1":
		lo, hi = 0, 1
	case typ[0] == 'u':
		lo = 0
	}
	m := make([][]int, rows)
	for i := range m {
		m[i] = make([]int, cols)
		for j := range m[i] {
			m[i][j] = lo + rng.IntN(hi-lo+1)
		}
	}
	return m
}

// pack puts elements behind each other, the first in the low bits.
func pack(typ string, rows [][]int, swap bool) []byte {
	var out []byte
	n, acc := 0, uint64(0)
	put := func(v int) {
		bits := tensorBits[typ]
		if bits == 64 {
			out = binary.LittleEndian.AppendUint64(out, encode(typ, v))
			return
		}
		acc |= encode(typ, v) & (1<<bits - 1) << n
		for n += bits; n >= 8; n -= 8 {
			out, acc = append(out, byte(acc)), acc>>8
		}
	}
	if swap {
		for j := range rows[0] {
			for i := range rows {
				put(rows[i][j])
			}
		}
		return out
	}
	for i := range rows {
		for _, v := range rows[i] {
			put(v)
		}
	}
	return out
}

// byLanes is a matrix as the registers of the lanes hold it, behind each other.
func byLanes(f *isa.Fragment, typ string, m [][]int) []byte {
	var out []byte
	for lane := range 32 {
		for r := range f.Registers {
			v := uint64(0)
			for part := range f.PerRegister {
				row, col := f.Cell(lane, r%f.Distinct()*f.PerRegister+part)
				v |= encode(typ, m[row][col]) & (1<<f.Bits - 1) << (part * f.Bits)
			}
			out = binary.LittleEndian.AppendUint64(out, v)
		}
	}
	return out
}

// module is a kernel that multiplies what lies at the first three arguments. Registers of mma are 8 bytes
// apart, wmma's matrices lie row by row, B column by column.
func (c tensorCase) module(form *isa.Form, mods []string) string {
	regs := func(name string, class isa.ArgClass) (string, int) {
		f := form.Fragment(class, mods)
		var list []string
		for i := range f.Registers {
			kind := "r"
			if f.Bits == 64 {
				kind = "d"
			}
			list = append(list, fmt.Sprintf("%%%s%s%d", kind, name, i))
		}
		return strings.Join(list, ","), f.Registers
	}
	var b strings.Builder
	b.WriteString(
		".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry t(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n")
	b.WriteString(
		"\t.reg .b32 %t, %ra<8>, %rb<8>, %rc<8>, %rd<8>;\n\t.reg .b64 %o, %x, %da<8>, %db<8>, %dc<8>, %dd<8>;\n\tmov.u32 %t, %tid.x;\n")
	layout := map[string]string{"a": "row", "b": "col", "c": "row"}
	for name, class := range map[string]isa.ArgClass{"a": isa.ClassA, "b": isa.ClassB, "c": isa.ClassC} {
		list, n := regs(name, class)
		typ := map[string]string{"a": c.a, "b": c.b, "c": c.c}[name]
		fmt.Fprintf(&b, "\tld.param.u64 %%x, [%s];\n", name)
		if c.op == "wmma" {
			fmt.Fprintf(&b, "\twmma.load.%s.sync.aligned.%s.%s.%s {%s}, [%%x];\n", name, layout[name],
				c.shape, typ, list)
			continue
		}
		fmt.Fprintf(&b, "\tmul.wide.u32 %%o, %%t, %d;\n\tadd.u64 %%x, %%x, %%o;\n", 8*n)
		for i, r := range strings.Split(list, ",") {
			bits := map[bool]int{true: 64, false: 32}[tensorBits[typ] == 64]
			fmt.Fprintf(&b, "\tld.global.b%d %s, [%%x+%d];\n", bits, r, 8*i)
		}
	}
	d, n := regs("d", isa.ClassD)
	a, _ := regs("a", isa.ClassA)
	bb, _ := regs("b", isa.ClassB)
	cc, _ := regs("c", isa.ClassC)
	fmt.Fprintf(&b, "\t%s.%s {%s}, {%s}, {%s}, {%s};\n\tld.param.u64 %%x, [d];\n", c.op,
		strings.Join(mods, "."), d, a, bb, cc)
	if c.op == "wmma" {
		fmt.Fprintf(&b, "\twmma.store.d.sync.aligned.row.%s.%s [%%x], {%s};\n", c.shape, c.d, d)
	} else {
		fmt.Fprintf(&b, "\tmul.wide.u32 %%o, %%t, %d;\n\tadd.u64 %%x, %%x, %%o;\n", 8*n)
		for i, r := range strings.Split(d, ",") {
			if tensorBits[c.d] == 64 {
				fmt.Fprintf(&b, "\tst.global.b64 [%%x+%d], %s;\n", 8*i, r)
			} else {
				fmt.Fprintf(&b, "\tcvt.u64.u32 %%o, %s;\n\tst.global.b64 [%%x+%d], %%o;\n", r, 8*i)
			}
		}
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

// mods are the modifiers of the product.
func (c tensorCase) mods() []string {
	var mods []string
	if c.op == "wmma" {
		mods = []string{"mma"}
	}
	if c.a == "b1" && c.op == "wmma" {
		mods = append(mods, "xor", "popc")
	}
	mods = append(mods, "sync", "aligned")
	if c.op == "wmma" {
		mods = append(mods, "row", "col", c.shape)
	} else {
		mods = append(mods, c.shape, "row", "col")
	}
	if c.op == "mma" && c.more == "satfinite" {
		mods = append(mods, "satfinite")
	}
	mods = append(mods, c.types()...)
	switch {
	case c.a == "b1" && c.op == "mma":
		mods = append(mods, strings.Split(c.more, ".")...)
	case c.op == "wmma" && c.more == "satfinite":
		mods = append(mods, "satfinite")
	}
	return mods
}

// TestTensorProducts: every product of small integers is right, in every type and shape, through registers
// (mma) or memory (wmma).
func TestTensorProducts(t *testing.T) {
	for i, c := range tensorCases {
		t.Run(c.String(), func(t *testing.T) {
			var m, n, k int
			if _, err := fmt.Sscanf(c.shape, "m%dn%dk%d", &m, &n, &k); err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			A, B, C := smallMatrix(rng, c.a, m, k), smallMatrix(rng, c.b, n, k), smallMatrix(rng, c.c, m, n)
			want := make([][]int, m)
			for row := range want {
				want[row] = append([]int{}, C[row]...)
				for col := range n {
					for e := range k {
						x, y := A[row][e], B[col][e]
						if strings.HasPrefix(c.more, "xor") {
							want[row][col] += x ^ y
						} else {
							want[row][col] += x * y
						}
					}
				}
			}
			form, mods := isa.Lookup(c.op, c.mods()), c.mods()
			a, b, cc, wantBytes := pack(c.a, A, false), pack(c.b, B, false), pack(c.c, C, false),
				pack(c.d, want, false)
			if c.op == "mma" {
				frag := func(class isa.ArgClass) *isa.Fragment { return form.Fragment(class, mods) }
				a, b, cc, wantBytes = byLanes(frag(isa.ClassA), c.a, A), byLanes(frag(isa.ClassB), c.b, B),
					byLanes(frag(isa.ClassC), c.c, C), byLanes(frag(isa.ClassD), c.d, want)
			}
			text := c.module(form, mods)
			got := launchTensor(t, New(chip.SM90()), text, a, b, cc, len(wantBytes))
			if string(got) != string(wantBytes) {
				t.Errorf("got  % x\nwant % x", got[:64], wantBytes[:64])
			}
		})
	}
}

// launchTensor executes a product on a backend.
func launchTensor(t *testing.T, on target.Backend, text string, a, b, c []byte, size int) []byte {
	t.Helper()
	k := loadOn(t, on, "t.ptx", text)
	buffer := func(name string, init []byte, size int) target.Arg {
		return target.Arg{
			Name: name, Buffer: &target.Buffer{
				DType: probes.U8, Dims: []int{size}, Bytes: size, Init: init, Output: init == nil,
			},
		}
	}
	res, err := k.Launch(t.Context(), &target.Launch{Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1},
		Args: []target.Arg{
			buffer("a", a, len(a)), buffer("b", b, len(b)), buffer("c", c, len(c)), buffer("d", nil, size),
		}})
	if err != nil || len(res.Findings) > 0 {
		t.Fatal(err, res)
	}
	return res.Outputs["d"]
}

// randomElements fills n elements of a type: numbers near 1, any bits, and zeros.
func randomElements(rng *rand.Rand, typ string, n int) []byte {
	var out []byte
	bits := tensorBits[typ]
	if bits < 8 {
		for range n * bits / 8 {
			out = append(out, byte(rng.Uint32()))
		}
		return out
	}
	for range n {
		v := rng.Uint64()
		switch k := rng.IntN(16); {
		case typ == "f64" && k < 12:
			v = math.Float64bits(rng.NormFloat64())
		case typ == "f64":
			// payloads of NaN are not modelled
			v = math.Float64bits(math.Ldexp(rng.NormFloat64(), rng.IntN(200)-100))
		case k < 10 && (typ == "f32" || typ == "tf32" || typ == "f16" || typ == "bf16"):
			v = map[string]func(uint32) uint64{
				"f32":  func(v uint32) uint64 { return uint64(v) },
				"tf32": func(v uint32) uint64 { return uint64(v) },
				"f16":  func(v uint32) uint64 { return uint64(fp.F32ToF16(v)) },
				"bf16": func(v uint32) uint64 { return uint64(v >> 16) },
			}[typ](math.Float32bits(float32(rng.NormFloat64())))
		case k == 10:
			v = 0
		}
		out = binary.LittleEndian.AppendUint64(out, v)[:len(out)+bits/8]
	}
	return out
}

// TestGPUTensorProducts compares products of arbitrary operands with what the GPU computes, to the bit, and
// says for each type and shape how many elements differ. What a GPU computes for fp8 with mma.sync holds for
// its own architecture.
func TestGPUTensorProducts(t *testing.T) {
	gpu, mine := openGPU(t), New(chip.SM90())
	for i, c := range tensorCases {
		t.Run(c.String(), func(t *testing.T) {
			var m, n, k int
			if _, err := fmt.Sscanf(c.shape, "m%dn%dk%d", &m, &n, &k); err != nil {
				t.Fatal(err)
			}
			mods := c.mods()
			form := isa.Lookup(c.op, mods)
			text := c.module(form, mods)
			rng := rand.New(rand.NewPCG(9, uint64(i)))
			size, differ, total := tensorBits[c.d]/8, 0, 0
			for range 40 {
				a, b, cc, out := randomElements(rng, c.a, m*k), randomElements(rng, c.b, n*k),
					randomElements(rng, c.c, m*n), m*n*size
				if c.op == "mma" { // registers hold what they hold: any bits are elements
					lanes := func(class isa.ArgClass, typ string) []byte {
						f := form.Fragment(class, mods)
						var regs []byte
						for range 32 * f.Registers {
							e := randomElements(rng, typ, f.PerRegister)
							regs = append(append(regs, e...), make([]byte, 8-len(e))...)
						}
						return regs
					}
					a, b, cc = lanes(isa.ClassA, c.a), lanes(isa.ClassB, c.b), lanes(isa.ClassC, c.c)
					out, size = 32*8*form.Fragment(isa.ClassD, mods).Registers, 8
				}
				x, y := launchTensor(t, gpu, text, a, b, cc, out), launchTensor(t, mine, text, a, b, cc, out)
				for i := 0; i < len(x); i += size {
					total++
					if string(x[i:i+size]) != string(y[i:i+size]) {
						if differ++; differ <= 3 {
							t.Logf("element %d: GPU % x, emulator % x", i/size, x[i:i+size], y[i:i+size])
						}
					}
				}
			}
			if differ > 0 {
				t.Errorf("%d of %d differ", differ, total)
			}
		})
	}
}
