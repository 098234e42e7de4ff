package ptx

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// compiled lists the compiler outputs in testdata.
func compiled(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/compiled/*.ptx")
	if err != nil || len(files) < 4 {
		t.Fatalf("testdata/compiled: %d files, %v", len(files), err)
	}
	return files
}

func mustParse(t testing.TB, name string, src []byte) *Module {
	t.Helper()
	m, err := Parse(name, src)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return m
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// printed parses src and prints it.
func printed(t testing.TB, o Printer, name string, src []byte) (*Module, []byte) {
	t.Helper()
	m := mustParse(t, name, src)
	var b bytes.Buffer
	if err := o.Print(&b, m); err != nil {
		t.Fatal(err)
	}
	return m, b.Bytes()
}

// forget zeroes every Pos reachable from v, Instr.Asm, which lives in a comment, and what only the parser
// looks up: what printing does not keep.
func forget(v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			return
		}
		seen[v.Pointer()] = true
		forget(v.Elem(), seen)
	case reflect.Struct:
		switch x := v.Addr().Interface().(type) {
		case *Pos:
			*x = Pos{}
			return
		case *Instr:
			x.Asm, x.form = false, nil
		}
		for i := range v.NumField() {
			forget(v.Field(i), seen)
		}
	case reflect.Slice:
		for i := range v.Len() {
			forget(v.Index(i), seen)
		}
	}
}

func same(a, b *Module) bool {
	a.source, b.source = "", ""
	forget(reflect.ValueOf(a), map[uintptr]bool{})
	forget(reflect.ValueOf(b), map[uintptr]bool{})
	return reflect.DeepEqual(a, b)
}

func TestCompilerOutputIsValid(t *testing.T) {
	for _, file := range compiled(t) {
		m := mustParse(t, file, readFile(t, file))
		if err := Validate(m); err != nil {
			t.Errorf("%v", err)
		}
		for _, f := range m.Funcs {
			for _, in := range f.Body {
				if !in.Form().Known() {
					t.Errorf("%s: opcode %s has no form", in.Pos, in.Op)
				}
			}
		}
	}
}

func TestPrintIsIdentity(t *testing.T) {
	own, _ := filepath.Glob("testdata/good/*.ptx")
	for _, file := range append(compiled(t), own...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, text := printed(t, Printer{}, "m", readFile(t, file))
			b, again := printed(t, Printer{}, "m", text)
			if !bytes.Equal(text, again) {
				t.Errorf("printing is not stable:\n%s", firstDifference(text, again))
			}
			if !same(a, b) {
				t.Errorf("parse, print, parse changed the module")
			}
		})
	}
}

func firstDifference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			return "-" + x[i] + "\n+" + strings.Join(y[i:min(i+1, len(y))], "")
		}
	}
	return "one is longer"
}

// TestPtxasAcceptsPrinted feeds the printed and the pinned text to NVIDIA's assembler, where there is one. It
// assembles the compiler's own text too: the printed one must give the same code.
func TestPtxasAcceptsPrinted(t *testing.T) {
	ptxas := findPtxas()
	if ptxas == "" {
		t.Skip("no ptxas in .toolchain or on the path")
	}
	for _, file := range compiled(t) {
		src := readFile(t, file)
		m, text := printed(t, Printer{}, file, src)
		if m.Version.Major > 8 {
			continue // newer than the pinned assembler reads
		}
		_, pinned := printed(t, Printer{Pin: true}, file, src)
		want := assemble(t, ptxas, file, src)
		if got := assemble(t, ptxas, file+" printed", text); !bytes.Equal(got, want) {
			t.Errorf("%s: the printed text assembles to other code", file)
		}
		assemble(t, ptxas, file+" pinned", pinned)
	}
}

func findPtxas() string {
	ptxas := filepath.Join("..", "..", ".toolchain", "nvidia", "cuda_nvcc", "bin", "ptxas")
	if _, err := os.Stat(ptxas); err == nil {
		return ptxas
	}
	ptxas, err := exec.LookPath("ptxas")
	if err != nil {
		return ""
	}
	return ptxas
}

func assemble(t *testing.T, ptxas, what string, src []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
	if err := os.WriteFile(in, src, 0o644); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command(ptxas, "-arch=sm_80", "-o", out, in).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", what, err, msg)
		return nil
	}
	return code(t, out)
}

// code joins the machine code of a cubin; the line tables beside it count lines of the PTX text,
// which printing moves.
func code(t *testing.T, cubin string) []byte {
	t.Helper()
	raw := bytes.Clone(readFile(t, cubin))
	binary.LittleEndian.PutUint32(raw[20:], 1) // cubins keep a toolkit version in e_version
	f, err := elf.NewFile(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, s := range f.Sections {
		if !strings.HasPrefix(s.Name, ".text.") {
			continue
		}
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, s.Name...), b...)
	}
	if len(all) == 0 {
		t.Errorf("%s holds no code", cubin)
	}
	return all
}
