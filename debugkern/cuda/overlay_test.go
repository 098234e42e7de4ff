//go:build unix

package cuda

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/cache"
)

// overlaidFolder is a source that includes a header of its own, both read with other texts
// than their files have.
func overlaidFolder(t *testing.T) Build {
	t.Helper()
	b := ownFolder(t, map[string]string{
		"k.cu":      "#include \"sub/f.cuh\"\nextern \"C\" __global__ void k(int* p) { *p = F; }\n",
		"sub/f.cuh": "#define F 11\n", "other.cuh": "#define G 1\n",
	})
	dir := filepath.Dir(b.File)
	b.Source = strings.Replace(b.Source, "= F", "= F + 4000", 1)
	b.Overlay = map[string]string{b.File: b.Source, filepath.Join(dir, "sub", "f.cuh"): "#define F 222\n"}
	b.Arch = "sm_80"
	return b
}

// checkOverlaid holds a build to the texts that were to be read: their PTX, their digests, their names.
func checkOverlaid(t *testing.T, b Build, p *PTX, err error, want string) {
	t.Helper()
	header := filepath.Join(filepath.Dir(b.File), "sub", "f.cuh")
	if err != nil || !strings.Contains(p.Text, want) {
		t.Fatalf("%v:\n%+v", err, p)
	}
	if !slices.Contains(p.Headers, NewHeader(header, b.Overlay[header], OriginOwn)) {
		t.Errorf("headers %+v", p.Headers)
	}
	if text, err := os.ReadFile(header); err != nil || string(text) != "#define F 11\n" {
		t.Errorf("the file itself: %q, %v", text, err)
	}
}

// A header is read as the overlay has it, by NVRTC and from the cache; one that is not read, or cannot be, is
// an error and no build of something else.
func TestOverlay(t *testing.T) {
	tc := toolchain(t)
	tc.cache = cache.Open(cache.Options{
		Dir: t.TempDir(), Max: 1 << 20, KeyFile: filepath.Join(t.TempDir(), "key"),
	})
	b := overlaidFolder(t)
	p, err := tc.Compile(t.Context(), b)
	checkOverlaid(t, b, p, err, "4222")
	again, err := tc.Compile(t.Context(), b)
	checkOverlaid(t, b, again, err, "4222")
	if !again.Cached {
		t.Error("compiled twice")
	}
	plain := b
	plain.Overlay = nil
	if p, err := tc.Compile(t.Context(), plain); err != nil || !strings.Contains(p.Text, "4011") || p.Cached {
		t.Errorf("without the overlay: %v", err)
	}
	header := filepath.Join(filepath.Dir(b.File), "sub", "f.cuh")
	broken := b
	broken.Overlay = map[string]string{header: "#define F nope\n"}
	var ce *CompileError
	if _, err := tc.Compile(t.Context(), broken); !errors.As(err, &ce) ||
		!strings.Contains(err.Error(), "nope") {
		t.Errorf("an overlay that does not compile: %v", err)
	}
	for what, change := range map[string]func(*Build){
		"does not include": func(b *Build) {
			b.Overlay = map[string]string{filepath.Join(filepath.Dir(b.File), "other.cuh"): "#define G 2\n"}
		},
		"made by a macro": func(b *Build) {
			b.Source = "#define OTHER \"other.cuh\"\n#include OTHER\n" + b.Source
		},
	} {
		b := overlaidFolder(t)
		change(&b)
		var oe *OverlayError
		if _, err := tc.Compile(t.Context(), b); !errors.As(err, &oe) ||
			!strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// nvcc reads copies of the files whose texts are changed; its diagnostics name the files, not the copies.
func TestOverlayNVCC(t *testing.T) {
	n := scriptedNVCC(t, `for s; do :; done
root=$(dirname "$s")
{ cat "$s" "$root/sub/f.cuh"; echo "	.file	1 \"$s\""; echo "	.file	2 \"$root/sub/f.cuh\""; } > "$out"
printf 'out.ptx : %s %s/sub/f.cuh\n' "$s" "$root" > "$(dirname "$out")/out.d"`)
	b := overlaidFolder(t)
	p, err := n.Compile(t.Context(), b)
	checkOverlaid(t, b, p, err, "#define F 222")
	for _, want := range []string{
		"= F + 4000", "\t.file\t1 \"" + b.Name + "\"\n", "\t.file\t2 \"sub/f.cuh\"\n",
	} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%s\nlacks %q", p.Text, want)
		}
	}
	b.Overlay[filepath.Join(filepath.Dir(b.File), "other.cuh")] = ""
	var oe *OverlayError
	if _, err := n.Compile(t.Context(), b); !errors.As(err, &oe) {
		t.Errorf("a header that is not included: %v", err)
	}
}

// Precompiled headers fit one set of header texts: a build with others goes without.
func TestPrecompiledFitsItsHeaders(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p, lib := &precompiled{}, &nvrtc{major: 12, minor: 8}
	defer p.close()
	b := Build{Source: "#include \"a.h\"\n", Headers: map[string]string{"a.h": "1"}}
	for i := range 2 {
		extra, done := p.options(lib, b, nil)
		done(nil)
		if i == 1 && extra == nil {
			t.Error("not used the second time")
		}
		b := b
		b.Headers = map[string]string{"a.h": "2"}
		extra, done = p.options(lib, b, nil)
		done(nil)
		if extra != nil {
			t.Errorf("another header: %v", extra)
		}
	}
}
