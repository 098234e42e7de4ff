package ptx

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestPerturbed perturbs the entries that compilers wrote: the result is a module like any other, which
// NVIDIA's assembler takes where there is one.
func TestPerturbed(t *testing.T) {
	ptxas := findPtxas()
	if ptxas == "" {
		t.Log("no ptxas in .toolchain or on the path: the modules are not assembled")
	}
	for _, file := range compiled(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := mustParse(t, "m", readFile(t, file))
			for i, f := range m.Entries() {
				p, points, err := Perturbed(m, f.Name, uint64(i))
				if err != nil {
					t.Fatal(err)
				}
				again, _, _ := Perturbed(m, f.Name, uint64(i))
				other, _, _ := Perturbed(m, f.Name, uint64(i)+1)
				text, same, different := textOf(t, p), textOf(t, again), textOf(t, other)
				if !bytes.Equal(text, same) || points > 4 && bytes.Equal(text, different) {
					t.Error("the delays are not the seed's")
				}
				if n := bytes.Count(text, []byte("nanosleep")); n > points || points > 8 && n < points/2 {
					t.Errorf("%d sleeps at %d places", n, points)
				}
				if ptxas != "" && m.Version.Major <= 8 {
					assemble(t, ptxas, f.Name, text)
				}
				stable(t, f.Name, p)
			}
		})
	}
}

func textOf(t *testing.T, m *Module) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPerturbedLeavesTogether: no delay stands inside inline assembly or a call.
func TestPerturbedLeavesTogether(t *testing.T) {
	const src = `.version 7.0
.target sm_80
.address_size 64
.func (.param .b32 r) f(.param .b32 a)
{
	ret;
}
.visible .entry k()
{
	.reg .b32 %r<4>;
	.reg .b32 %ts_delay;
	.shared .align 16 .b8 s[64];
	{
	.param .b32 a;
	.param .b32 b;
	st.param.b32 [a], %r1;
	call (b), f, (a);
	ld.param.b32 %r2, [b];
	}
	// begin inline asm
	ld.shared.u32 %r1, [s];
	st.shared.u32 [s+4], %r1;
	// end inline asm
	st.shared.u32 [s+8], %r1;
	ret;
}
`
	m := mustParse(t, "m", []byte(src))
	f := m.Func("k")
	want := map[string]bool{"call": true, "ld.param.b32": true, "st.shared.u32": true}
	n := 0
	for i, glued := range f.together() {
		if glued {
			n++
			if !want[f.Body[i].Opcode()] {
				t.Errorf("%s is held to what stands before it", f.Body[i].Opcode())
			}
		}
	}
	if n != 3 {
		t.Errorf("%d instructions are held to what stands before them, want 3", n)
	}
	for seed := range uint64(20) {
		p, points, err := Perturbed(m, "k", seed)
		if err != nil || points != 2 {
			t.Fatalf("%d places, %v", points, err)
		}
		text := string(textOf(t, p))
		stable(t, "k", p)
		if !strings.Contains(text, "[s];\n\tst.shared") || !strings.Contains(text, "%ts_delay_<5>") {
			t.Fatalf("a delay where there must be none:\n%s", text)
		}
	}
}

func TestPerturbedWantsADeviceThatSleeps(t *testing.T) {
	for _, head := range []string{".version 6.2\n.target sm_80\n", ".version 8.0\n.target sm_61\n"} {
		m := mustParse(t, "m", []byte(head+".address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"))
		if _, _, err := Perturbed(m, "k", 0); err == nil || !strings.Contains(err.Error(), "nanosleep") {
			t.Errorf("%v", err)
		}
	}
	m := mustParse(t, "m", []byte(loopPTX))
	if _, _, err := Perturbed(m, "x", 0); err == nil {
		t.Error("an entry that is not there is perturbed")
	}
}
