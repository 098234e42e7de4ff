package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/probes"
)

const splitSum = `schema: tilescope.sequence/1
name: split_sum
include: [inc, /usr/inc]
defines: [N=4]
buffers:
  x: ones:f32[4096]
  partial: unwritten:f32[16]
steps:
  - {file: split.ptx, entry: part, grid: 16, block: [32, 8], shared: 64, args: {0: x, partial: partial, n: 4096, p: null}}
  - {memset: partial, value: 255}
`

func sequenceOf(t *testing.T, text string) (*Sequence, bool, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadSequence(t.Context(), path)
}

func TestSequence(t *testing.T) {
	s, ok, err := sequenceOf(t, splitSum)
	if err != nil || !ok || len(s.Steps) != 2 || len(s.Buffers) != 2 ||
		s.Buffers[1].Value != "unwritten:f32[16]" {
		t.Fatalf("%+v, %v, %v", s, ok, err)
	}
	st := s.Steps[0]
	if st.File != filepath.Join(s.Dir, "split.ptx") || st.Grid != (probes.Dim3{16, 1, 1}) ||
		st.Block != (probes.Dim3{32, 8, 1}) || st.Shared != 64 || len(st.Args) != 4 {
		t.Errorf("%+v", st)
	}
	if !st.Args[0].Buffer || st.Args[2].Buffer || st.Args[2].Value != "4096" || st.Args[3].Value != "null" {
		t.Errorf("%+v", st.Args)
	}
	if s.Steps[1].Memset != "partial" || s.Steps[1].Byte != 255 ||
		s.Compile.Include[0] != filepath.Join(s.Dir, "inc") || s.Compile.Include[1] != "/usr/inc" {
		t.Errorf("%+v %+v", s.Steps[1], s.Compile)
	}
	for _, text := range []string{"schema: tilescope.manifest/1\n", "[1]", "", "a: [", "name: x\n"} {
		if _, ok, err := sequenceOf(t, text); ok || err != nil {
			t.Errorf("%q is taken for a sequence: %v", text, err)
		}
	}
}

// Every mistake is one located error; all of them come at once.
func TestSequenceMistakes(t *testing.T) {
	for _, c := range []struct{ old, is, says string }{
		{"tilescope.sequence/1", "tilescope.sequence/2", "schema: expected tilescope.sequence/1"},
		{"name: split_sum\n", "", "name: missing"},
		{"name: split_sum", "name: a b", "is not a name"},
		{"x: ones:f32[4096]", "x y: ones:f32[4096]", "is not an identifier"},
		{"x: ones:f32[4096]", "x: [1]", "expected text, found a list"},
		{"  x: ones:f32[4096]\n", "  x: ones:f32[4096]\n  x: ones:f32[4]\n", "given twice"},
		{"file: split.ptx, ", "", "steps[0].file: missing"},
		{"grid: 16", "grid: 0", "out of range"},
		{"grid: 16", "grid: many", `"many" is not a whole number`},
		{"grid: 16", "grid: [1, 2, 3, 4]", "found 4 numbers"},
		{"block: [32, 8]", "block: {x: 3}", "block: "},
		{"shared: 64", "shared: -1", "out of range"},
		{"partial: partial", "partial: partal", "did you mean partial?"},
		{"n: 4096", "n: [1]", "found a list"},
		{"n: 4096", "n: {0: partal}", "did you mean partial?"},
		{"n: 4096", "n: {a: partial}", `"a" is no offset in bytes`},
		{"n: 4096", "n: {0: {8: partial}}", "found a mapping"},
		{"n: 4096", "n: {}", "a struct needs a field at least"},
		{"memset: partial", "memset: nosuch", `there is no buffer "nosuch"`},
		{"value: 255", "value: 256", "out of range"},
		{"memset: partial,", "memset: partial, grid: 4,", "a fill has a buffer and a value"},
		{"shared: 64", "value: 3", "belongs to memset"},
		{"entry: part", "enty: part", "did you mean entry?"},
		{"steps:", "steps: []\nmore:", "expected at least one launch"},
	} {
		if !strings.Contains(splitSum, c.old) {
			t.Fatalf("%q is not in the text", c.old)
		}
		_, ok, err := sequenceOf(t, strings.Replace(splitSum, c.old, c.is, 1))
		if !ok || err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "s.yaml:") {
			t.Errorf("%q: %v, want %q", c.is, err, c.says)
		}
	}
	_, _, err := sequenceOf(t, strings.NewReplacer("grid: 16", "grid: x", "value: 255", "value: x").
		Replace(splitSum))
	if err == nil || strings.Count(err.Error(), "s.yaml:") != 2 {
		t.Errorf("two mistakes: %v", err)
	}
}
