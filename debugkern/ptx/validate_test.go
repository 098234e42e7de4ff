package ptx

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/kernels"
)

const oneInstruction = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
	.reg .pred %p<4>;
	.reg .b16 %rs<4>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.reg .f32 %f<4>;
	.reg .f64 %d<4>;
	INSTRUCTION
	ret;
}
`

// TestAgreesWithAssembler holds the validator to the verdicts of NVIDIA's assembler in
// testdata/assembler.txt.
func TestAgreesWithAssembler(t *testing.T) {
	for _, line := range strings.Split(string(readFile(t, "testdata/assembler.txt")), "\n") {
		verdict, instr, ok := strings.Cut(line, "\t")
		if !ok || verdict == "newer" {
			continue
		}
		m, err := Parse("m", []byte(strings.Replace(oneInstruction, "INSTRUCTION", instr, 1)))
		if err == nil {
			err = Validate(m)
		}
		if (err == nil) != (verdict == "ok") {
			t.Errorf("%s: assembler says %s, Validate %v", instr, verdict, err)
		}
	}
}

// TestAssemblerVerdicts re-asks the assembler, all good instructions at once and each bad one alone.
func TestAssemblerVerdicts(t *testing.T) {
	ptxas := findPtxas()
	if ptxas == "" {
		t.Skip("no ptxas in .toolchain or on the path")
	}
	if testing.Short() {
		t.Skip("one assembler process an instruction: not with -short")
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in.ptx")
	accepts := func(instr string) (bool, []byte) {
		src := strings.Replace(oneInstruction, "INSTRUCTION", instr, 1)
		if err := os.WriteFile(in, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
		msg, err := exec.Command(ptxas, "-arch=sm_80", "-o", filepath.Join(dir, "out"), in).CombinedOutput()
		return err == nil, msg
	}
	good := ""
	for _, line := range strings.Split(string(readFile(t, "testdata/assembler.txt")), "\n") {
		verdict, instr, _ := strings.Cut(line, "\t")
		switch verdict {
		case "ok":
			good += instr + "\n"
		case "bad":
			if ok, _ := accepts(instr); ok {
				t.Errorf("%s: the assembler takes it", instr)
			}
		}
	}
	if ok, msg := accepts(good); !ok {
		t.Errorf("the assembler refuses one marked ok:\n%s", msg)
	}
}

// TestEmbeddedKernels reads PTX texts that the program carries: each must be valid, every opcode known, and
// printing must keep it. One of 24 is read, all with TILESCOPE_LONG: they are variants of few kernels.
func TestEmbeddedKernels(t *testing.T) {
	archive, err := kernels.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	keys := archive.Keys()
	if len(keys) == 0 {
		t.Fatal("the archive is empty")
	}
	step := 24
	if os.Getenv("TILESCOPE_LONG") != "" {
		step = 1
	}
	for i := 0; i < len(keys); i += step {
		key := keys[i]
		e, ok, err := archive.Find(key)
		if err != nil || !ok {
			t.Fatal(key, err)
		}
		a, text := printed(t, Printer{}, e.Name, e.PTX)
		if err := Validate(a); err != nil {
			t.Errorf("%v", err)
		}
		for _, f := range a.Funcs {
			for _, in := range f.Body {
				if !in.Form().Known() {
					t.Errorf("%s: opcode %s has no form", in.Pos, in.Op)
				}
			}
		}
		b, again := printed(t, Printer{}, e.Name, text)
		if !bytes.Equal(text, again) || !same(a, b) {
			t.Errorf("%s: parse, print, parse changed the module", e.Name)
		}
	}
}
