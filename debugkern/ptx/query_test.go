package ptx

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func load(t *testing.T, file string) *Module {
	t.Helper()
	return mustParse(t, filepath.Base(file), readFile(t, filepath.Join("testdata", file)))
}

func library(file string) bool { return strings.HasPrefix(file, "include/") }

func TestInlinedAt(t *testing.T) {
	f := load(t, "good/inlined.ptx").Func("inlined")
	body := f.Body
	if body[0].Loc != nil {
		t.Errorf("an instruction before any .loc has %+v", body[0].Loc)
	}
	var chain []string
	for l := body[2].Loc; l != nil; l = l.InlinedAt {
		chain = append(chain, fmt.Sprintf("%s:%d:%d %s", l.Name, l.Line, l.Col, l.Func))
	}
	want := "include/detail.hpp:692:4 row_max; include/crt/mma.hpp:709:1 stage16; kernel.cu:20:7 "
	if got := strings.Join(chain, "; "); got != want {
		t.Errorf("chain\n got %s\nwant %s", got, want)
	}
	if l := body[2].Loc.Caller(library); l.Name != "kernel.cu" || l.Line != 20 {
		t.Errorf("Caller = %+v, want kernel.cu:20", l)
	}
	if l := body[2].Loc.Caller(func(file string) bool {
		return strings.HasSuffix(file, "detail.hpp")
	}); l.Line != 709 {
		t.Errorf("Caller skipping one file = %+v, want mma.hpp:709", l)
	}
	if l := body[2].Loc.Caller(func(string) bool { return true }); l.Line != 20 {
		t.Errorf("Caller where all is library = %+v, want the outermost", l)
	}
	if l := body[3].Loc.Caller(library); l != nil {
		t.Errorf("line 0 has caller %+v", l)
	}
	if l := f.Source(3, library); l == nil || l.Line != 20 {
		t.Errorf("Source of line 0 = %+v, want that of the instruction before", l)
	}
	if l := f.Source(0, library); l == nil || l.Line != 10 {
		t.Errorf("Source before any .loc = %+v, want that of the instruction after", l)
	}
}

// TestCompilerLines: in the compiler's output every wmma instruction comes from mma.hpp and is
// blamed on the kernel.
func TestCompilerLines(t *testing.T) {
	for _, file := range []string{"compiled/wmma.ptx", "compiled/wmma13.ptx"} {
		m := load(t, file)
		f := m.Func("tile_product")
		lines := map[string]int{}
		for i, in := range f.Body {
			if in.Op != "wmma" {
				continue
			}
			if in.Loc.Name != "include/crt/mma.hpp" || !strings.HasPrefix(in.Loc.Func, "nvcuda::wmma::") {
				t.Errorf("%s: %s is at %+v", in.Pos, in.Opcode(), in.Loc)
			}
			l := f.Source(i, library)
			if l.Name != "wmma.cu" || l.Func != "" {
				t.Errorf("%s: blamed on %+v", in.Pos, l)
			}
			lines[in.Mods[0]] = l.Line
		}
		want := map[string]int{"load": 43, "mma": 44, "store": 46}
		src := strings.Split(string(readFile(t, "testdata/compiled/wmma.cu")), "\n")
		for what, line := range want {
			if lines[what] != line || !strings.Contains(src[line-1], what+"_") {
				t.Errorf("%s: wmma.%s on line %d (%s), want %d", file, what, lines[what],
					src[max(lines[what]-1, 0)], line)
			}
		}
	}
}

func TestPositions(t *testing.T) {
	src := readFile(t, "testdata/compiled/halfops.ptx")
	lines := strings.Split(string(src), "\n")
	for _, f := range mustParse(t, "m", src).Funcs {
		for _, in := range f.Body {
			at := lines[in.Pos.Line-1][in.Pos.Col-1:]
			if !strings.HasPrefix(at, in.Opcode()) {
				t.Errorf("%s: %s is not at %q", in.Pos, in.Opcode(), at)
			}
			for _, op := range in.Args {
				at := lines[op.Pos.Line-1][op.Pos.Col-1:]
				if op.Kind == OpReg && !strings.HasPrefix(at, f.RegName(op.Reg)) {
					t.Errorf("%s: %s is not at %q", op.Pos, f.RegName(op.Reg), at)
				}
			}
		}
	}
}

func TestScopes(t *testing.T) {
	f := load(t, "good/scopes.ptx").Func("scopes")
	types := map[string][]Type{}
	for _, in := range f.Body {
		if in.Op == "mov" && in.Args[0].Kind == OpReg {
			op := in.Args[0]
			name := f.RegName(op.Reg)
			types[name] = append(types[name], f.Regs[op.Reg].Type)
		}
	}
	if got := fmt.Sprint(types["f"]); got != "[f32 b32 b16 f32]" {
		t.Errorf("f is declared as %s, want [f32 b32 b16 f32]", got)
	}
	if got := fmt.Sprint(types["a"]); got != "[b32 b64]" {
		t.Errorf("a is declared as %s, want [b32 b64]", got)
	}
	var targets []int32
	for _, in := range f.Body {
		if in.Op == "bra" {
			targets = append(targets, in.Args[0].Target)
		}
		if in.Asm != (in.Pos.Line >= 18 && in.Pos.Line <= 20) {
			t.Errorf("%s: Asm is %v", in.Pos, in.Asm)
		}
	}
	last := int32(len(f.Body) - 1)
	if got, want := fmt.Sprint(targets), fmt.Sprint([]int32{7, last, 10}); got != want {
		t.Errorf("branches go to %s, want %s", got, want)
	}
	if g := f.Body[10].Guard; g == nil || !g.Neg || f.RegName(g.Reg) != "%p1" {
		t.Errorf("guard of the negated branch is %+v", g)
	}
	if got := f.InstrString(f.Body[10]); got != "@!%p1 bra.uni done" {
		t.Errorf("InstrString = %q", got)
	}
}

func TestRegistersAreDense(t *testing.T) {
	for _, f := range load(t, "compiled/halfops.ptx").Funcs {
		used := make([]bool, len(f.Regs))
		var walk func(ops []Operand)
		walk = func(ops []Operand) {
			for _, op := range ops {
				if op.Reg >= 0 {
					used[op.Reg] = true
				}
				walk(op.Elems)
			}
		}
		for _, in := range f.Body {
			walk(in.Args)
			if in.Guard != nil {
				used[in.Guard.Reg] = true
				if f.Regs[in.Guard.Reg].Type != Pred {
					t.Errorf("%s: guard register has type %s", in.Pos, f.Regs[in.Guard.Reg].Type)
				}
			}
		}
		for i, u := range used {
			if !u {
				t.Errorf("%s: register %s has a slot and no use", f.Name, f.RegName(int32(i)))
			}
		}
	}
}

func TestCallsAndBranchTargets(t *testing.T) {
	m := load(t, "good/calls.ptx")
	f := m.Func("calls")
	var calls []*Instr
	for _, in := range f.Body {
		switch in.Op {
		case "call":
			calls = append(calls, in)
		case "brx":
			l0, l1 := f.Labels["$L0"], f.Labels["$L1"]
			if got := fmt.Sprint(in.Args[1].Targets); got != fmt.Sprintf("[%d %d]", l0, l1) {
				t.Errorf("brx.idx goes to %s, want [%d %d]", got, l0, l1)
			}
		}
	}
	if len(calls) != 4 {
		t.Fatalf("%d calls, want 4", len(calls))
	}
	for i, want := range []string{"leaf", "vprintf", "", "stop"} {
		c := calls[i]
		if got := c.Args[1].Func; (got == nil) != (want == "") || got != nil && got.Name != want {
			t.Errorf("call %d goes to %+v, want %q", i, got, want)
		}
		for _, a := range append(c.Args[0].Elems, c.Args[2].Elems...) {
			if a.Var == nil || a.Var.Space != SpaceParam || a.Var.Func != f {
				t.Errorf("call %d passes %+v, not a parameter variable", i, a)
			}
		}
	}
	if a, b := calls[0].Args[2].Elems[0].Var, calls[1].Args[2].Elems[0].Var; a == b || a.Size != 4 ||
		b.Size != 8 {
		t.Errorf("param0 of the two calls: %d and %d bytes, want two variables of 4 and 8", a.Size, b.Size)
	}
	if !m.Func("stop").NoReturn || !m.Func("vprintf").Proto || len(calls[2].Args) != 4 {
		t.Error("noreturn, prototype or call prototype lost")
	}
	var offs []int
	for _, p := range f.Params {
		offs = append(offs, p.Offset)
	}
	if fmt.Sprint(offs) != "[0 8 12]" || f.ParamBytes() != 16 {
		t.Errorf("parameters at %v, %d bytes, want [0 8 12], 16", offs, f.ParamBytes())
	}
	if dims, exact, ok := f.BlockBound(); dims != [3]uint64{128, 1, 1} || exact || !ok {
		t.Errorf("block bound %v, exact %t, %t", dims, exact, ok)
	}
	if d, ok := f.Directive("maxntid"); !ok || fmt.Sprint(d.Args) != "[128 1 1]" {
		t.Errorf("maxntid is %+v", d)
	}
	if got := f.Labels["$end"]; got != len(f.Body) {
		t.Errorf("label at the end stands at %d, want %d", got, len(f.Body))
	}
}

func TestSharedLayout(t *testing.T) {
	m := load(t, "good/calls.ptx")
	var got []string
	syms := m.SharedLayout(m.Func("calls"))
	for _, s := range syms {
		got = append(got, fmt.Sprintf("%s@%d+%d%s", s.Demangled, s.Addr, s.Size,
			map[bool]string{true: "..."}[s.Dynamic]))
	}
	want := "sLeaf@0+24 sA@32+20 sB@52+6 dynamic@64+0..."
	if strings.Join(got, " ") != want {
		t.Errorf("layout\n got %s\nwant %s", strings.Join(got, " "), want)
	}
	if n := StaticShared(syms[:3]); n != 58 {
		t.Errorf("static bytes = %d, want 58", n)
	}
	got = nil
	m = load(t, "compiled/wmma.ptx")
	for _, s := range m.SharedLayout(m.Func("tile_product")) {
		got = append(got, fmt.Sprintf("%s@%d+%d", s.Qualified, s.Addr, s.Size))
	}
	if want := "tile_product::sA@0+4608 tile_product::sB@4608+4608 tile_product::sC@9216+5120"; strings.Join(
		got, " ") != want {
		t.Errorf("layout\n got %s\nwant %s", strings.Join(got, " "), want)
	}
	m = load(t, "compiled/halfops.ptx")
	if got := m.SharedLayout(m.Func("half_math")); len(got) != 0 {
		t.Errorf("an entry without shared memory is given %d symbols", len(got))
	}
	got = nil
	for _, s := range m.SharedLayout(m.Func("counters")) {
		got = append(got, s.Demangled)
	}
	if fmt.Sprint(got) != "[sPart sTail sTail sBins]" {
		t.Errorf("counters has %v", got)
	}
}

func TestInitialData(t *testing.T) {
	m := load(t, "good/data.ptx")
	for _, c := range []struct{ name, want string }{
		{"cTable", "0000803f0000c03f00000040000080be"},
		{"gGrid", "010000000200000003000000040000000000000000000000"},
		{"gFlat", "01000000020000000300000004000000"},
		{"gVec", "000000000000803f0000004000004040"},
		{"gSigned", "ff100e03"},
		{"gHits", "07000000"},
		{"gSum", "10000000"},
		{"gPtr", strings.Repeat("00", 24)},
		{"gDouble", "000000000000f83f"},
	} {
		if got := fmt.Sprintf("%x", m.Var(c.name).Init); got != c.want {
			t.Errorf("%s = %s, want %s", c.name, got, c.want)
		}
	}
	if v := m.Var("gMore"); v.Init != nil || v.Size != 4 {
		t.Errorf("gMore has %v, %d bytes", v.Init, v.Size)
	}
	if got := fmt.Sprintf("%+v", m.Var("gPtr").Relocs); got !=
		"[{Offset:0 Size:8 Sym:gHits Addend:0 Generic:true Mask:0} {Offset:8 Size:8 Sym:gGrid Addend:8 Generic:false Mask:0}]" {
		t.Errorf("gPtr holds %s", got)
	}
	str := load(t, "compiled/halfops.ptx").Var("$str")
	if got := string(str.Init); got != "bin %u of %d: %f\n\x00" {
		t.Errorf("$str = %q", got)
	}
}

func TestPin(t *testing.T) {
	src := ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<9>;\n.reg .b16 %h<9>;\n" +
		"add.f32 %r1, %r2, %r3;\nadd.rz.f32 %r1, %r2, %r3;\nmul.ftz.f32 %r1, %r2, %r3;\nsub.f16 %h1, %h2, %h3;\n" +
		"mul.f16x2 %r1, %r2, %r3;\nadd.s32 %r1, %r2, %r3;\nmul.lo.s32 %r1, %r2, %r3;\nfma.rn.f32 %r1, %r2, %r3, %r4;\nret;\n}\n"
	_, text := printed(t, Printer{Pin: true}, "m", []byte(src))
	for _, want := range []string{
		"add.rn.f32\t", "add.rz.f32\t", "mul.rn.ftz.f32\t", "sub.rn.f16\t", "mul.rn.f16x2\t",
		"\tadd.s32\t", "\tmul.lo.s32\t", "fma.rn.f32\t",
	} {
		if bytes.Count(text, []byte(want)) != 1 {
			t.Errorf("pinned text lacks %q:\n%s", want, text)
		}
	}
}

func TestRewriteFiles(t *testing.T) {
	src := readFile(t, "testdata/compiled/wmma.ptx")
	rename := func(name string) string { return "/opt/" + name }
	text, err := RewriteFileText("m", src, rename)
	if err != nil {
		t.Fatal(err)
	}
	m := mustParse(t, "m", src)
	m.RewriteFiles(rename)
	again := mustParse(t, "m", text)
	if !same(m, again) {
		t.Error("rewriting the text and the module differ")
	}
	if got := m.FileName(2); got != "/opt/include/crt/mma.hpp" {
		t.Errorf("file 2 is %s", got)
	}
	back, err := RewriteFileText("m", text, func(name string) string {
		return strings.TrimPrefix(name, "/opt/")
	})
	if err != nil || !bytes.Equal(back, src) {
		t.Errorf("rewriting back does not give the text again: %v", err)
	}
}
