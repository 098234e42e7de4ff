//go:build unix

package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownFolder writes files into a folder and returns the build of its k.cu.
func ownFolder(t *testing.T, files map[string]string) Build {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := writeBelow(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	return Build{
		Name: "k.cu", File: filepath.Join(dir, "k.cu"), Source: files["k.cu"], Arch: "sm_80",
		Builtin: map[string]string{"ours.cuh": "#define OURS 7\n"},
	}
}

func readOf(headers []Header, dir, origin string) (names []string) {
	for _, h := range headers {
		if h.Origin != origin || h.Path == preInclude {
			continue
		}
		if rel, err := filepath.Rel(dir, h.Path); err == nil && origin == OriginOwn {
			h.Path = filepath.ToSlash(rel)
		}
		names = append(names, h.Path)
	}
	return names
}

const useX = "extern \"C\" __global__ void k(float* x) { x[0] = X; }\n"

// NVRTC reads the files that a C++ compiler would, and those that it has read are listed: one's own before
// ours, those in the directory of the including file first, nothing that a condition leaves out.
func TestHeadersRead(t *testing.T) {
	tc := toolchain(t)
	for _, c := range []struct {
		name  string
		files map[string]string
		with  func(*Build)
		own   []string
		ptx   string // X, as its bits
	}{
		{
			"beside",
			map[string]string{"k.cu": "#include \"a.h\"\n" + useX, "a.h": "#define X 1.0f\n", "b.h": ""}, nil,
			[]string{"a.h"}, "1065353216",
		},
		{"nested, beside the including file", map[string]string{
			"k.cu": "#include \"sub/a.h\"\n" + useX, "sub/a.h": "#include \"x.h\"\n",
			"sub/x.h": "#define X 2.0f\n", "x.h": "#define X 1.0f\n",
		}, nil, []string{"sub/a.h", "sub/x.h"}, "1073741824"},
		{
			"upwards", map[string]string{
				"k.cu": "#include \"sub/a.h\"\n" + useX, "sub/a.h": "#include \"../x.h\"\n",
				"x.h": "#define X 2.0f\n",
			}, nil,
			[]string{"sub/a.h", "x.h"}, "1073741824",
		},
		{
			"left out", map[string]string{
				"k.cu": "#include \"a.h\"\n" + useX,
				"a.h":  "#pragma once\n#define X 1.0f\n#if 0\n#include \"b.h\"\n#endif\n",
				"b.h":  "#error b\n",
			}, nil,
			[]string{"a.h"}, "1065353216",
		},
		{
			"brackets: directories in order before the source's own",
			map[string]string{
				"k.cu": "#include <x.h>\n" + useX, "x.h": "#define X 1.0f\n", "i/x.h": "#define X 2.0f\n",
				"j/x.h": "#define X 3.0f\n",
			},
			func(b *Build) { d := filepath.Dir(b.File); b.Include = []string{d + "/i", d + "/j"} },
			[]string{"i/x.h"}, "1073741824",
		},
		{
			"quotes: the source's own before directories",
			map[string]string{
				"k.cu": "#include \"x.h\"\n" + useX, "x.h": "#define X 1.0f\n", "i/x.h": "#define X 2.0f\n",
			},
			func(b *Build) { b.Include = []string{filepath.Dir(b.File) + "/i"} }, []string{"x.h"},
			"1065353216",
		},
		{
			"ours last", map[string]string{
				"k.cu": "#include \"ours.cuh\"\n#include <cstdint>\n" + useX, "ours.cuh": "#define X 1.0f\n",
			}, nil, []string{"ours.cuh"}, "1065353216",
		},
		{
			"the name is a macro's", map[string]string{
				"k.cu": "#define NAME \"a.h\"\n#include NAME\n" + useX, "a.h": "#define X 2.0f\n",
			}, nil, nil, "1073741824",
		},
		{"a mark of byte order, and a comment in the directive",
			map[string]string{"k.cu": "#include /* a */ \"a.h\"\n" + useX, "a.h": "\ufeff#define X 2.0f\n"},
			nil, []string{"a.h"}, "1073741824"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := ownFolder(t, c.files)
			if c.with != nil {
				c.with(&b)
			}
			p, err := tc.Compile(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if got := readOf(p.Headers, filepath.Dir(b.File), OriginOwn); !slices.Equal(got, c.own) {
				t.Errorf("read %v, want %v", got, c.own)
			}
			if !strings.Contains(p.Text, c.ptx) || strings.Contains(p.Text, os.TempDir()) || p.Log != "" {
				t.Errorf("log %q, PTX without %s, or with a temporary folder:\n%s", p.Log, c.ptx, p.Text)
			}
			if !slices.Contains(readOf(p.Headers, "", OriginBuiltin), "cmath") {
				t.Errorf("no stand-in is listed: %+v", p.Headers)
			}
		})
	}
}

// Copies with markers give the PTX that the files themselves give, debug lines included.
func TestMarkersLeaveNoTrace(t *testing.T) {
	tc := toolchain(t)
	b := ownFolder(t, map[string]string{
		"k.cu":    "#include \"sub/f.h\"\nextern \"C\" __global__ void k(float* x) {\n    x[0] = f(x[1]);\n}\n",
		"sub/f.h": "#pragma once\n__device__ inline float f(float x) {\n    return sinf(x);\n}\n",
	})
	c := closureOf(b, tc.IncludeDirs)
	marked, err := tc.compileAs(t.Context(), b, c, true)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := tc.compileAs(t.Context(), b, c, false)
	if err != nil || plain.Text != marked.Text || !strings.Contains(plain.Text, "\"sub/f.h\"") {
		t.Errorf("%v:\n%s\n%s", err, plain.Text, marked.Text)
	}
}

// An nvcc is given absolute paths, whatever it is started in, and what it says it has read is listed.
func TestNVCCOwnSource(t *testing.T) {
	n := scriptedNVCC(t, `{ echo "// $*"; pwd | sed 's|^|// in |'; } > "$out"
for s; do :; done
dir=$(dirname "$out")
printf 'out.ptx : %s \\\n /usr/include/stdio.h \\\n %s/with\\ space.h %s/builtin/ours.cuh\n' "$s" "$(dirname "$s")" "$dir" > "$dir/out.d"`)
	b := ownFolder(t, map[string]string{
		"k.cu": "int main() {}\n", "with space.h": "#define A\n", "unread.h": "",
	})
	b.Include, b.Std, b.Defines = []string{filepath.Dir(b.File) + "/inc"}, "c++20", []string{"X=1"}
	p, err := n.Compile(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		" -I " + b.Include[0] + " ", " -I " + filepath.Dir(b.File) + " ", "-std=c++20", "-DX=1", " -MD -MF ",
		" -x cu " + b.File + "\n",
	} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%s\nlacks %q", p.Text, want)
		}
	}
	if strings.Contains(p.Text, "-std=c++17") {
		t.Error("two languages")
	}
	if got := append(readOf(p.Headers, filepath.Dir(b.File), OriginOwn),
		readOf(p.Headers, "", OriginBuiltin)...); !slices.Equal(got, []string{"with space.h", "ours.cuh"}) {
		t.Errorf("read %v of %+v", got, p.Headers)
	}
}

// A source that is edited while nvcc reads it is not mixed with what it was.
func TestNVCCEditedMeanwhile(t *testing.T) {
	n := scriptedNVCC(t,
		`for s; do :; done; cp "$s" "$out"; [ -e "$s.edited" ] || { echo "// second" > "$s"; touch "$s.edited"; }`)
	b := ownFolder(t, map[string]string{"k.cu": "// first\n"})
	p, err := n.Compile(t.Context(), b)
	if err != nil || p.Text != "// second\n" {
		t.Errorf("%+v, %v", p, err)
	}
	n = scriptedNVCC(t, `for s; do :; done; cp "$s" "$out"; echo "// more" >> "$s"`)
	if _, err := n.Compile(t.Context(), b); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("edited each time: %v", err)
	}
}
