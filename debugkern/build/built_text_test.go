package build

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/cuda"
)

// TestBuiltText: a build has the texts that it was made of after their files have changed; of a header whose
// file changed before it was read, and of names that two headers share, it has none.
func TestBuiltText(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := func(name, text string) cuda.Header {
		return cuda.NewHeader(write(name, text), text, cuda.OriginOwn)
	}
	b := &Build{Headers: []cuda.Header{
		own("a.cuh", "int a;"), own("x/same.cuh", "int x;"), own("y/same.cuh", "int y;"),
		own("late.cuh", "old"),
	}}
	write("late.cuh", "new")
	b.keepTexts(context.Background(), "k.cu", &SourceSet{Text: []byte("int k;\nint l;")})
	write("a.cuh", "changed")
	m := &configs.Manifest{Dir: dir, Source: "k.cu"}
	for name, want := range map[string]string{
		"k.cu": "int k;", filepath.Join(dir, "k.cu"): "int k;", "a.cuh": "int a;", "x/same.cuh": "int x;",
		"same.cuh": "", "late.cuh": "", "other.cuh": "",
	} {
		lines, ok := b.BuiltText(m, name)
		if ok != (want != "") || ok && lines[0] != want {
			t.Errorf("%s: %q, %t", name, lines, ok)
		}
	}
}
