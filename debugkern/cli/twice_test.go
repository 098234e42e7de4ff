package cli

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/npy"
	"tilescope/debugkern/npy/npytest"
)

// twice is a folder with the kernel of testdata/reference, y = 2x and c += index, and archives: good.npz has
// both as they should be.
type twice struct {
	t    *testing.T
	dir  string
	x, y []float64
	text string // of twice.yaml
}

func newTwice(t *testing.T) *twice {
	t.Helper()
	f := &twice{t: t, dir: t.TempDir()}
	for _, name := range []string{"twice.ptx", "twice.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", "reference", name))
		if err != nil {
			t.Fatal(err)
		}
		f.put(name, text)
		f.text = string(text)
	}
	dump := filepath.Join(f.dir, "dump.npz")
	if _, errText, code := call(t, "run", f.path("twice.yaml"), "--dump", dump, "--backend",
		"emu"); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	for _, v := range floats(t, dump, "x") {
		f.x, f.y = append(f.x, v), append(f.y, 2*v)
	}
	f.archive("good.npz", f.goodY(), f.goodC())
	return f
}

func (f *twice) path(name string) string { return filepath.Join(f.dir, name) }

func (f *twice) put(name string, content []byte) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), content, 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func (f *twice) archive(name string, arrays ...npytest.Array) {
	f.put(name, npytest.Archive(arrays...))
}

func (f *twice) goodY() npytest.Array { return npytest.Floats("y", npy.F64, []int{4, 16}, f.y...) }

func (f *twice) goodC() npytest.Array {
	c := make([]int64, 64)
	for i := range c {
		c[i] = 2 * int64(i)
	}
	return npytest.Whole("c", npy.I32, []int{64}, c...)
}

// wrong is y with element 17 off by one.
func (f *twice) wrong(name string) npytest.Array {
	y := slices.Clone(f.y)
	y[17]++
	return npytest.Floats(name, npy.F64, []int{4, 16}, y...)
}

// manifest writes a manifest with keys added to arguments y and c, and lines before the arguments.
func (f *twice) manifest(name, y, c, top string) string {
	f.t.Helper()
	text := strings.Replace(f.text, "role: output}", "role: output"+y+"}", 1)
	text = strings.Replace(text, "fill: iota}", "fill: iota"+c+"}", 1)
	text = strings.Replace(text, "args:", top+"args:", 1)
	f.put(name, []byte(text))
	return f.path(name)
}

// floats reads an f4 array of an archive.
func floats(t *testing.T, path, name string) []float64 {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name + ".npy")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	b = b[10+int(b[8])+int(b[9])<<8:]
	var out []float64
	for i := 0; i < len(b); i += 4 {
		out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))))
	}
	return out
}
