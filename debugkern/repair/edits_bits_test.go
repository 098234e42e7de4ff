package repair

import (
	"strings"
	"testing"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
)

// menuOf is a menu of the edits of the instructions of a function, over two tensors of 2-byte elements.
func menuOf(t *testing.T, body string) *menu {
	t.Helper()
	mod, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
	.reg .f32 %f<9>;
	.reg .b16 %rs<5>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.reg .pred %p<3>;
`+body+`
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	m := &menu{
		fn: mod.Funcs[0], defs: map[int32][]int{}, element: []int{2, 2}, args: []string{"x", "y"},
		listed: map[string]bool{}, meant: map[edited][][]int{}, group: map[string][]int{},
	}
	m.key, m.places = make([]string, len(m.fn.Body)), make([]string, len(m.fn.Body))
	m.needs()
	return m
}

// edit applies the only candidate of a menu.
func (m *menu) edit(t *testing.T, name string) *ptx.Func {
	t.Helper()
	if len(m.out) != 1 {
		t.Fatalf("%d candidates, want 1", len(m.out))
	}
	mod := &ptx.Module{Name: name, Funcs: []*ptx.Func{m.fn}}
	out, err := mod.Edited(m.out[0].edits)
	if err != nil {
		t.Fatal(err)
	}
	return out.Funcs[0]
}

// opcodes are the opcodes of a function from an instruction on.
func opcodes(fn *ptx.Func, from, n int) string {
	var out []string
	for _, in := range fn.Body[from:min(from+n, len(fn.Body))] {
		out = append(out, in.Opcode())
	}
	return strings.Join(out, " ")
}

// TestBits: integers that are the bits of floats are compared as floats instead, and no other integers are.
func TestBits(t *testing.T) {
	m := menuOf(t, `
	mov.b32 %r1, %f1;
	add.f32 %f2, %f1, %f1;
	mov.b32 %r2, %f2;
	max.s32 %r3, %r1, %r2;
	setp.hi.u32 %p1, %r1, %r2;
	max.s32 %r4, %r1, %r5;
	redux.sync.min.u32 %r6, %r7, %r1;
	mov.b32 %r7, 3;
	redux.sync.min.u32 %r8, %r3, -1;`)
	for i, want := range map[int]string{3: "max.f32", 4: "setp.gt.f32", 5: "", 6: ""} {
		m.out = nil
		if m.bits(0, i); want == "" {
			if len(m.out) > 0 {
				t.Errorf("%s: %s", m.fn.Body[i].Opcode(), m.out[0].what())
			}
			continue
		}
		if got := opcodes(m.edit(t, "k"), i, 1); got != want {
			t.Errorf("%s becomes %s, want %s", m.fn.Body[i].Opcode(), got, want)
		}
	}
	m.out = nil
	m.bits(0, 8)
	const want = "shr.s32 or.b32 xor.b32 redux.sync.min.u32 not.b32 shr.s32 or.b32 xor.b32 ret"
	if got := opcodes(m.edit(t, "k"), 8, 9); got != want {
		t.Errorf("redux becomes %s, want %s", got, want)
	}
}

// TestClamped: an exchange between lanes of another mode has that mode's bounds, of a segment too.
func TestClamped(t *testing.T) {
	m := menuOf(t, `
	mov.b32 %r1, 0;
	shfl.sync.up.b32 %r2, %r3, 1, %r1, -1;
	shfl.sync.bfly.b32 %r2, %r3, 1, 0x181f, -1;
	shfl.sync.up.b32 %r2, %r3, 1, %r4, -1;`)
	for _, c := range []struct {
		at   int
		mode string
		want uint64
		ok   bool
	}{{1, "bfly", 31, true}, {1, "down", 31, true}, {2, "up", 0x1800, true}, {3, "bfly", 0, false}} {
		ok := false
		in := m.fn.Body[c.at].With(func(in *ptx.Instr) { ok = m.clamped(in, c.mode) })
		if ok != c.ok || ok && in.Args[3].Imm != c.want {
			t.Errorf("instruction %d as %s: %v, %#x, want %#x", c.at, c.mode, ok, in.Args[3].Imm, c.want)
		}
	}
	m.modifiers(0, 1)
	for _, c := range m.out {
		if in := c.edits[0].New; in.Kind() != isa.Shuffle || in.Args[3].Imm != 31 {
			t.Errorf("%s leaves the bounds of another mode", c.what())
		}
	}
	if len(m.out) != 2 {
		t.Errorf("%d modes instead of up, want 2", len(m.out))
	}
}

// TestSquares: of two elements of a tensor that are multiplied with themselves, both become a product with
// the other tensor's; a product of two different elements stays.
func TestSquares(t *testing.T) {
	m := menuOf(t, `
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.global.u16 %rs1, [%rd1];
	cvt.f32.f16 %f1, %rs1;
	cvt.f32.f16 %f2, %rs1;
	mul.f32 %f3, %f1, %f2;
	ld.global.u16 %rs2, [%rd1+2];
	cvt.f32.f16 %f4, %rs2;
	fma.rn.f32 %f5, %f4, %f4, %f3;
	mul.f32 %f6, %f1, %f4;`)
	m.squares(0, 9)
	if len(m.out) > 0 {
		t.Fatalf("a product of two elements: %s", m.out[0].what())
	}
	m.squares(0, 5)
	m.squares(1, 8)
	fn := m.edit(t, "k")
	const want = "ld.param.u64 ld.param.u64 sub.s64 add.s64 ld.global.u16 cvt.f32.f16 mul.f32"
	if got := opcodes(fn, 5, 7); got != want {
		t.Errorf("mul becomes %s, want %s", got, want)
	}
	if got := opcodes(fn, 14, 7); got != strings.Replace(want, "mul", "fma.rn", 1) {
		t.Errorf("fma becomes %s", got)
	}
	if what := m.out[0].what(); what != "y times x in place of x times x" {
		t.Error(what)
	}
}
