package cuda

import (
	"os"
	"path/filepath"
	"testing"

	"tilescope/debugkern/cache"
)

// What a build depends on is in its key, and nothing else.
func TestBuildKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("own.h", "#include <deep.h>\n")
	write("deep.h", "#define N 1\n")
	write("unused.h", "1\n")
	tc := &Toolchain{NVRTCVersion: "12.0.140", headers: []string{"include", "12.0"}}
	base := func() Build {
		return Build{
			Name: "k.cu", Source: "#include \"own.h\"\n", Headers: map[string]string{"a.h": "A"},
			Defines: []string{"X=1"}, Arch: "sm_80", Include: []string{dir},
		}
	}
	key := tc.key(base())
	if tc.key(base()) != key {
		t.Fatal("the same build has two keys")
	}
	for name, change := range map[string]func(*Build){
		"name": func(b *Build) { b.Name = "l.cu" }, "source": func(b *Build) { b.Source += " " },
		"header":        func(b *Build) { b.Headers["a.h"] = "B" },
		"header's name": func(b *Build) { b.Headers = map[string]string{"b.h": "A"} },
		"define":        func(b *Build) { b.Defines[0] = "X=2" },
		"architecture":  func(b *Build) { b.Arch = "sm_90" },
		"option":        func(b *Build) { b.Options = []string{"-G"} },
	} {
		b := base()
		change(&b)
		if tc.key(b) == key {
			t.Errorf("another %s has the same key", name)
		}
	}
	if (&Toolchain{NVRTCVersion: "12.1", headers: tc.headers}).key(base()) == key ||
		(&Toolchain{NVRTCVersion: tc.NVRTCVersion, headers: []string{"include", "12.1"}}).key(base()) == key {
		t.Error("another compiler, or other headers, have the same key")
	}
	write("unused.h", "2\n")
	if tc.key(base()) != key {
		t.Error("a file that is not included changes the key")
	}
	write("deep.h", "#define N 2\n")
	if tc.key(base()) == key {
		t.Error("a file included by an included one does not change the key")
	}
}

func TestCompileFromCache(t *testing.T) {
	found := toolchain(t)
	tc := *found
	tc.cache = cache.Open(cache.Options{
		Dir: t.TempDir(), Max: 1 << 20, KeyFile: filepath.Join(t.TempDir(), "key"),
	})
	b := Build{
		Name: "one.cu", Source: "extern \"C\" __global__ void one(float* x) { *x = ONE; }\n",
		Defines: []string{"ONE=1.0f"}, Arch: "sm_80",
	}
	first, err := tc.Compile(t.Context(), b)
	if err != nil || first.Cached {
		t.Fatalf("cached %v, %v", first.Cached, err)
	}
	again, err := tc.Compile(t.Context(), b)
	if err != nil || !again.Cached || again.Text != first.Text || again.Compiler != first.Compiler {
		t.Errorf("cached %v, %v", again.Cached, err)
	}
	b.Defines[0] = "ONE=2.0f"
	if other, err := tc.Compile(t.Context(), b); err != nil || other.Cached || other.Text == first.Text {
		t.Errorf("another build: cached %v, %v", other.Cached, err)
	}
	files, _ := filepath.Glob(filepath.Join(tc.cache.Dir(), "*"))
	for _, f := range files {
		if err := os.WriteFile(f, []byte("torn"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if mended, err := tc.Compile(t.Context(), b); err != nil || mended.Cached {
		t.Errorf("from a damaged entry: %v", err)
	}
	b.Source = "nonsense"
	if _, err := tc.Compile(t.Context(), b); err == nil {
		t.Error("nonsense compiles")
	}
	if u, _ := tc.cache.Usage(); u.Entries != 2 {
		t.Errorf("%d entries: what does not compile is not kept", u.Entries)
	}
}
