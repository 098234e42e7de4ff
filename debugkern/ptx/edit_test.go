package ptx

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stable fails unless printing and parsing m gives m again, and m is valid.
func stable(t *testing.T, what string, m *Module) {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, m); err != nil {
		t.Fatal(err)
	}
	if err := Validate(m); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	again := mustParse(t, "m", b.Bytes())
	again.Name = m.Name
	if !same(m, again) {
		t.Errorf("%s: parsing what is printed gives another module", what)
	}
}

// TestEditsStayConsistent puts every insertion at places all over each module, removes what stands there, and
// compares what the printer says with the module.
func TestEditsStayConsistent(t *testing.T) {
	own, _ := filepath.Glob("testdata/good/*.ptx")
	for _, file := range append(compiled(t), own...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src := readFile(t, file)
			m := mustParse(t, "m", src)
			_, before := printed(t, Printer{}, "m", src)
			for _, f := range m.Funcs {
				if f.Proto || len(f.Body) == 0 {
					continue
				}
				var edits []Edit
				for i := 0; i < len(f.Body); i += 1 + len(f.Body)/9 {
					edits = append(edits, Edit{Kind: InsertBarrier, Func: f.Name, At: i},
						Edit{Kind: InsertDelay, Func: f.Name, At: i, N: 100},
						Edit{Kind: InsertWarpSync, Func: f.Name, At: len(f.Body) - 1 - i}, Edit{
							Kind: InsertWaitAll, Func: f.Name, At: i,
						})
					if f.Body[i].Op != "call" {
						edits = append(edits, Edit{Kind: Remove, Func: f.Name, At: i})
					}
				}
				e, err := m.Edited(edits)
				if err != nil {
					t.Fatal(err)
				}
				stable(t, f.Name, e)
			}
			var after bytes.Buffer
			if err := Print(&after, m); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, after.Bytes()) {
				t.Error("an edit changed the module that it was made from")
			}
		})
	}
}

const loopPTX = `.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.visible .entry k(.param .u64 p)
{
	.reg .pred %p<3>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	.shared .align 4 .b8 s[64];
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, 0;
loop:
	bar.sync 0;
	cp.async.wait_group 1;
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, 4;
	@%p1 bra loop;
	st.shared.u32 [s], %r1;
	st.global.u32 [%rd1], %r1;
last:
	ret;
}
`

func edited(t *testing.T, edits ...Edit) *Func {
	t.Helper()
	m, err := mustParse(t, "m", []byte(loopPTX)).Edited(edits)
	if err != nil {
		t.Fatal(err)
	}
	stable(t, "loop", m)
	return m.Func("k")
}

func (f *Func) text() string {
	var all []string
	for _, in := range f.Body {
		s := f.InstrString(in)
		if len(in.Labels) > 0 {
			s = strings.Join(in.Labels, ":") + ": " + s
		}
		all = append(all, s)
	}
	return strings.Join(all, "\n")
}

func TestLabelsStayInFront(t *testing.T) {
	f := edited(t, Edit{Kind: InsertWarpSync, Func: "k", At: 2}, Edit{Kind: Remove, Func: "k", At: 2},
		Edit{Kind: SetWait, Func: "k", At: 3, N: 0},
		Edit{Kind: Remove, Func: "k", At: 9})
	want := `ld.param.u64 %rd1, [p]
mov.u32 %r1, 0
loop: bar.warp.sync -1
cp.async.wait_group 0
add.u32 %r1, %r1, 1
setp.lt.u32 %p1, %r1, 4
@%p1 bra loop
st.shared.u32 [s], %r1
st.global.u32 [%rd1], %r1`
	if got := f.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if at := f.Body[6].Args[0].Target; at != 2 || f.Labels["loop"] != 2 || f.Labels["last"] != 9 {
		t.Errorf("branch to %d, labels %v", at, f.Labels)
	}
}

func TestRemovedLabelPassesOn(t *testing.T) {
	f := edited(t, Edit{Kind: Remove, Func: "k", At: 2}, Edit{Kind: Remove, Func: "k", At: 3})
	if in := f.Body[2]; in.Op != "add" || len(in.Labels) != 1 || f.Body[4].Args[0].Target != 2 {
		t.Errorf("%s", f.text())
	}
	f = edited(t, Edit{Kind: Remove, Func: "k", At: 0}, Edit{Kind: Remove, Func: "k", At: 8})
	if n := len(f.Regs); n != 2 {
		t.Errorf("%d registers are left where nothing names %%rd1, want 2", n)
	}
}

func TestEditedData(t *testing.T) {
	m := mustParse(t, "m", []byte(loopPTX))
	e, err := m.Edited([]Edit{{Kind: SetData, Var: "table", Data: []byte{8, 7, 6, 5, 4, 3, 2, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	stable(t, "data", e)
	if e.Var("table").Init[0] != 8 || m.Var("table").Init[0] != 1 {
		t.Error("the data is not the copy's alone")
	}
}

func TestEditsThatDoNotFit(t *testing.T) {
	m := mustParse(t, "m", []byte(loopPTX))
	for _, c := range []struct {
		e    Edit
		want string
	}{
		{Edit{Kind: InsertBarrier, Func: "nobody"}, "no function"},
		{Edit{Kind: Remove, Func: "k", At: 10}, "instructions 0 to 9"},
		{Edit{Kind: Remove, Func: "k", At: -1}, "instructions 0 to 9"},
		{Edit{Kind: SetWait, Func: "k", At: 2}, "not a wait"},
		{Edit{Kind: InsertDelay, Func: "k", At: 2, N: 2_000_000}, "at most"},
		{Edit{Kind: SetData, Var: "table", Data: []byte{1}}, "8 bytes, not 1"},
		{Edit{Kind: SetData, Var: "s", Data: make([]byte, 64)}, "no initial data"},
		{Edit{Kind: SetData, Var: "none"}, "no variable"},
		{Edit{Kind: 99, Func: "k"}, "unknown"},
	} {
		if _, err := m.Edited([]Edit{c.e}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.e, err, c.want)
		}
	}
}

func TestSyncs(t *testing.T) {
	f := mustParse(t, "m", []byte(loopPTX)).Func("k")
	if got := f.Syncs(nil); len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("got %v, want [2 3]", got)
	}
}

func TestMutants(t *testing.T) {
	m := mustParse(t, "m", []byte(loopPTX))
	var what []string
	for _, x := range m.Func("k").Mutants(nil) {
		what = append(what, x.What)
		e, err := m.Edited(x.Edits)
		if err != nil {
			t.Fatal(err)
		}
		stable(t, x.What, e)
	}
	want := "without bar.sync 0; without cp.async.wait_group 1; cp.async.wait_group 1 for all but 2; cp.async.wait_group 1 for all but 0"
	if got := strings.Join(what, "; "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReplaceAndInsert(t *testing.T) {
	m, err := Parse("m.ptx", []byte(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
	.reg .f32 %f<4>;
	mov.f32 %f1, 0f3F800000;
	add.rn.f32 %f2, %f1, %f1;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Func("k")
	sub := f.Body[1].With(func(in *Instr) { in.Op = "sub"; in.Args[2].Reg = in.Args[0].Reg })
	twice := f.Body[0].With(func(in *Instr) { in.Args[1].Imm = 0x40000000 })
	out, err := m.Edited([]Edit{
		{Kind: Replace, Func: "k", At: 1, New: sub}, {Kind: Insert, Func: "k", At: 1, New: twice},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range out.Func("k").Body {
		got = append(got, out.Func("k").InstrString(in))
	}
	want := []string{"mov.f32 %f1, 0f3F800000", "mov.f32 %f1, 0f40000000", "sub.rn.f32 %f2, %f1, %f2", "ret"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s := f.InstrString(f.Body[1]); s != "add.rn.f32 %f2, %f1, %f1" {
		t.Errorf("the module itself has %s now", s)
	}
	for _, e := range []Edit{
		{Kind: Replace, Func: "k", At: 1}, {Kind: Insert, Func: "k", At: 1,
			New: &Instr{Op: "mov", Mods: []string{"f32"}, Args: []Operand{{Kind: OpReg, Reg: 99}}}},
	} {
		if _, err := m.Edited([]Edit{e}); err == nil ||
			!strings.Contains(err.Error(), "registers that the function does not have") {
			t.Errorf("%s: %v", e.Kind, err)
		}
	}
}

// TestFreshRegisters: edits may bring registers of their own, which they share, and an edit is the same after
// it was applied.
func TestFreshRegisters(t *testing.T) {
	m, err := Parse("m.ptx", []byte(`.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
	.reg .pred %p<2>;
	.reg .f32 %f<4>;
	mov.f32 %f1, 0f3F800000;
	add.rn.f32 %f2, %f1, %f1;
	setp.eq.f32 %p1, %f2, %f1;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Func("k")
	n := int32(len(f.Regs))
	load := f.Body[0].With(func(in *Instr) { in.Args[0].Reg = n })
	use := f.Body[1].With(func(in *Instr) { in.Args[2].Reg = n })
	edits := []Edit{
		{Kind: Insert, Func: "k", At: 1, New: load, Fresh: []Type{F32}},
		{Kind: Replace, Func: "k", At: 1, New: use, Fresh: []Type{F32}},
	}
	for range 2 {
		out, err := m.Edited(edits)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := Print(&text, out); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("out.ptx", text.Bytes()); err != nil {
			t.Errorf("what is printed does not parse: %v", err)
		}
		var got []string
		for _, in := range out.Func("k").Body {
			got = append(got, out.Func("k").InstrString(in))
		}
		want := []string{
			"mov.f32 %f1, 0f3F800000", "mov.f32 %ts_fresh0_, 0f3F800000", "add.rn.f32 %f2, %f1, %ts_fresh0_",
			"setp.eq.f32 %p1, %f2, %f1", "ret",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	edits[1].Fresh = []Type{B32}
	if _, err := m.Edited(edits); err == nil || !strings.Contains(err.Error(), "fresh register 0") {
		t.Errorf("two types of one register: %v", err)
	}
}
