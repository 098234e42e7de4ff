//go:build unix

package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reduceSource is a reduction with a barrier missing in its loop, and a header with the extent of its array.
const reduceSource = `// tilescope: --grid 4 --block 256 --arg x=randn:f32[1024] --arg out=zeros:f32[4] --arg n=1024
#include "part.cuh"
__global__ void blockSum(const float* x, float* out, int n) {
    __shared__ float part[PART];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        BARRIER
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
`

// savedAndRun changes a kernel of one's own under the running program, as an editor does, with a compiler: a
// header mended, a source that does not build, and one that does again. The editor opens the file itself.
func savedAndRun(t *testing.T, program string) {
	tools, err := filepath.Abs(filepath.Join("..", ".toolchain"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tools); err != nil {
		t.Skip("no .toolchain: `make toolchain` fetches a compiler")
	}
	home := t.TempDir()
	save := func(name, text string) {
		t.Helper()
		path := filepath.Join(home, name)
		if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	save("red.cu", reduceSource)
	save("part.cuh", "#define PART 256\n#define BARRIER\n")
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho \"editing $*\"\nread line\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	x := openAt(t, program, home, 120, 40, []string{"TILESCOPE_TOOLCHAIN=" + tools, "EDITOR=" + editor,
		"VISUAL=" + editor}, "red.cu")
	x.shows("errors", "race part")
	x.press("2")
	x.shows("after the launch")
	save("part.cuh", "#define PART 256\n#define BARRIER __syncthreads();\n")
	x.shows("part.cuh saved:", "findings → 0", "after the launch")
	save("part.cuh", "#define PART 256\n#define BARRIER __syncthreads() oops;\n")
	x.shows("BUILD FAILED", "part.cuh", "Esc shows the previous run")
	x.press("\x1b")
	x.shows("previous run:", "after the launch")
	save("red.cu", strings.Replace(reduceSource, "        BARRIER\n", "        __syncthreads();\n", 1))
	x.shows("red.cu saved: no change")
	save("red.cu", strings.NewReplacer("        BARRIER\n", "        __syncthreads();\n",
		"--grid 4", "--grid 8", "[1024]", "[2048]", "f32[4]", "f32[8]", "n=1024", "n=2048").
		Replace(reduceSource))
	x.press("1")
	x.shows("grid 8") // the comment that gives the launch was read again
	x.press("2")
	x.shows("after the launch")
	x.press("e")
	x.shows("editing red.cu") // in the working directory
	x.press("\r")
	x.shows("red.cu closed, as it was")
	x.leaves()
}
