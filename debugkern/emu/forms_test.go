package emu

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/ptx"
)

// form is one line of a list of forms, expanded: an instruction, and what the loader says of it,
// "" where it takes it.
type form struct {
	place   string
	instr   string
	refusal string
}

// readForms expands the lines of a list.
func readForms(t *testing.T, file string) (out []form) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		instr, refusal, _ := strings.Cut(line, " ! ")
		for _, s := range expanded(instr) {
			place := fmt.Sprintf("%s:%d", file, i+1)
			out = append(out, form{place, strings.NewReplacer("<", "{", ">", "}").Replace(s), refusal})
		}
	}
	return out
}

// expanded writes out the parts of the first {a/b}, and of those behind it.
func expanded(s string) (out []string) {
	before, rest, ok := strings.Cut(s, "{")
	if !ok {
		return []string{s}
	}
	parts, after, ok := strings.Cut(rest, "}")
	if !ok {
		return []string{s}
	}
	tails := expanded(after)
	for _, p := range strings.Split(parts, "/") {
		for _, tail := range tails {
			out = append(out, before+p+tail)
		}
	}
	return out
}

// module is a kernel with the instruction.
func (f *form) module() string {
	return fmt.Sprintf(`.version 9.0
.target sm_89
.address_size 64
.global .align 16 .b8 gv[64];
.const .align 16 .b8 cv[64] = {1, 2, 3};
.visible .entry t(.param .u64 pin, .param .u64 pout)
{
	.reg .pred %%p<10>; .reg .b8 %%b<10>; .reg .b16 %%h<10>; .reg .b32 %%r<20>; .reg .b64 %%d<20>; .reg .b128 %%q<4>;
	.shared .align 16 .b8 sm[1024]; .shared .align 8 .b64 mb; .local .align 16 .b8 lv[64];
	ld.param.u64 %%d10, [pin]; mov.u64 %%d11, sm;
	%s;
	ret;
}
`, f.instr)
}

// TestForms: the loader takes every form of the lists, and says what stands there of those that it refuses.
func TestForms(t *testing.T) {
	taken, refused := 0, 0
	for _, f := range append(readForms(t, "forms.txt"), readForms(t, "forms_sm90.txt")...) {
		m, err := ptx.Parse("t.ptx", []byte(f.module()))
		if err == nil {
			err = ptx.Validate(m)
		}
		if err == nil {
			_, err = New(chip.SM90()).Load(t.Context(), m, "t")
		}
		switch {
		case f.refusal == "" && err != nil:
			t.Errorf("%s: %s: %v", f.place, f.instr, err)
		case f.refusal != "" && (err == nil || !strings.Contains(err.Error(), f.refusal)):
			t.Errorf("%s: %s: %v, want a refusal that says %q", f.place, f.instr, err, f.refusal)
		case err == nil:
			taken++
		default:
			refused++
		}
	}
	if taken < 1000 {
		t.Errorf("%d forms: the list was not read", taken)
	}
	t.Logf("%d forms are taken, %d refused", taken, refused)
}
