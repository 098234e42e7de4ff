//go:build unix

package attack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tilescope/debugkern/ptx/ptxtest"
)

// ptxCases are PTX texts that are cut, changed or hostile.
func ptxCases(g *good) (all []attack) {
	// several codes where chance decides what the text means
	run := func(name, text, says string, codes ...int) {
		all = append(all, attack{
			name: name, args: []string{"run", "k.yaml", "--shape", "small", "--timeout", "5s"},
			files: g.kernel(g.manifest, text), codes: codes, says: says,
		})
	}
	rng := rand.New(rand.NewPCG(12, 2))
	body := strings.Index(g.ptx, "{\n")
	end := strings.LastIndex(g.ptx, "ret;")
	for i := range 40 {
		run(fmt.Sprintf("cut %d", i), g.ptx[:body+rng.IntN(end-body)], "k.ptx:", 4)
	}
	for i := range 120 {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		// as chance will have it
		run(fmt.Sprintf("changed %d", i), ptxtest.Statements(rng, g.ptx, g.ptx, 1+rng.IntN(3)), "", 0, 1, 4)
	}
	for i := range 40 {
		b := []byte(g.ptx)
		for range 1 + rng.IntN(8) {
			b[rng.IntN(len(b))] = byte(rng.IntN(256))
		}
		run(fmt.Sprintf("bytes exchanged %d", i), string(b), "", 0, 1, 4)
	}
	for name, text := range map[string]string{
		"nothing": "", "a word": "hello", "NUL": "\x00\x00\x00", "a comment that never ends": "/* " + g.ptx,
		"a string that never ends":    g.ptx + "\n.file 1 \"x",
		"100,000 braces":              g.ptx + strings.Repeat("{", 100_000),
		"100,000 brackets":            g.ptx + ".global .b32 x = " + strings.Repeat("(", 100_000),
		"no version":                  strings.Replace(g.ptx, ".version", "//", 1),
		"twice":                       g.ptx + g.ptx[strings.Index(g.ptx, ".visible .entry"):],
		"an HTML page":                "<html>\x1b[31m</html>",
		"an instruction that is none": strings.Replace(g.ptx, "ret;", "nosuch.b32 %r1, %r2;\nret;", 1),
		"a label twice":               strings.Replace(g.ptx, "ret;", "X: X: ret;", 1),
		"a branch to nowhere":         strings.Replace(g.ptx, "ret;", "bra NOWHERE;\nret;", 1),
		"a register that is none":     strings.Replace(g.ptx, "ret;", "mov.u32 %nosuch, 1;\nret;", 1),
		"a line of 4 MB":              g.ptx + "\n" + strings.Repeat("x", 4<<20),
		"a number too large": strings.Replace(g.ptx, "ret;", "mov.u32 %r1, 99999999999999999999999;\nret;",
			1), "a string of escapes in an error": strings.Replace(g.ptx, "ret;",
			"\x1b]52;c;ZXZpbA==\x07 ret;", 1),
	} {
		run(name, text, "k.ptx:", 4)
	}
	entry := 1 + strings.Count(g.ptx[:strings.Index(g.ptx, ".visible .entry")], "\n")
	run("32-bit addresses", strings.Replace(g.ptx, ".address_size 64", ".address_size 32", 1),
		fmt.Sprintf("k.ptx:%d:10: error: 32-bit addressing is not modelled", entry), 4)
	run("an entry that is elsewhere", strings.ReplaceAll(g.ptx, "flashcore_vec", "other"),
		"k.ptx has no kernel flashcore_vec (it has other); `entry: NAME` in k.yaml chooses one", 4)
	for name, c := range map[string]struct {
		stop, says string
		code       int
	}{
		"a loop that never ends": {"L: bra L;", "instruction budget", 4},
		"a loop of one lane": {
			"mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\nL: bra L;\nE:",
			"instruction budget", 4,
		},
		"a trap":                     {"trap;", "diverge", 1},
		"a barrier for more threads": {"bar.sync 1, 1024;", "deadlock", 1},
		"a recursion of barriers":    {"L: bar.sync 0;\nbra L;", "instruction budget", 4},
	} {
		run(name, strings.Replace(g.ptx, "ret;", c.stop+"\nret;", 1), c.says, c.code)
		a := &all[len(all)-1]
		// the instructions end before the time
		a.args, a.within = append(a.args[:len(a.args)-1:len(a.args)-1], "1m"), time.Minute
	}
	return all
}

// sourceCases are CUDA sources and options of their compiler. NVRTC is given the device's part of a
// source: what is hostile to it is what the kernel refers to, or marked __device__. The same text of the
// host's is left out, and no compiler sees it.
func sourceCases() (all []attack) {
	compile := func(name, text string, code int, says string, args ...string) {
		all = append(all, attack{
			name: name, args: append([]string{"init", "k.cu"}, args...),
			files: map[string]string{"k.cu": text}, env: append(compiler(), "XDG_SECRET=hunter2"),
			codes: []int{code}, says: says, needs: "nvrtc", within: 40e9, set: awkwardHeaders,
			after: func(_ *box, got outcome) error { return nowhere(got, "hunter2") },
		})
		if code == 0 {
			all[len(all)-1].makes = described
		}
	}
	const kernel = "extern \"C\" __global__ void k(float* y) { y[threadIdx.x] = 1; }\n"
	compile("one that compiles", kernel, 0, "wrote k.yaml")
	for name, c := range map[string]struct{ text, says string }{ // not a kernel
		"nothing": {"", "k.cu is empty: it has no kernel"}, "comments": {"// k\n", noKernel},
		"garbage": {"\x01\x02\xff", noKernel}, "no kernel": {"int x;\n", noKernel},
		"a variable of the device's alone": {"__device__ int x;\n", noKernel},
	} {
		compile(name, c.text, 2, c.says)
	}
	for name, c := range map[string]struct{ text, says string }{ // does not compile
		"an error":                   {"#error \x1b]0;x\x07 mine\n" + kernel, "k.cu:1: catastrophic error"},
		"garbage in a kernel":        {strings.Replace(kernel, "1;", "\x01\x02\xff;", 1), "k.cu:1:"},
		"a header that is not there": {"#include \"nosuch.h\"\n" + kernel, "nosuch.h"},
		"itself":                     {"#include \"k.cu\"\n" + kernel, "includes itself"},
		"a NUL":                      {kernel + "\x00" + kernel, "k.cu:2: error: a NUL"},
		"a header of itself":         {"#include \"loop.h\"\n" + kernel, "loop.h"},
		"a device as a header":       {"#include \"/dev/zero\"\n" + kernel, "/dev/zero: is a device"},
		"a FIFO as a header":         {"#include \"fifo\"\n" + kernel, "work/fifo: is a FIFO"},
		"a FIFO as a header of the host's": {
			"#include <vector>\n#include \"fifo.h\"\nint main() {}\n" + kernel, "work/fifo.h: is a FIFO",
		},
		"a device as a header of the host's": {"#include \"/dev/zero\"\nint main() {}\n" + kernel,
			"/dev/zero: is a device"},
		"an environment as a header": {"#include \"/proc/self/environ\"\n" + kernel,
			"/proc/self/environ: is made by the operating system"},
		"an environment as a macro's header": {"#define E </proc/self/environ>\n#include E\n" + kernel,
			"environ:1: error"},
		"an environment as the place of an error": {
			"#line 1 \"/proc/self/environ\"\n__device__ int x = nosuch;\n" + kernel, "nosuch",
		},
		"a FIFO as the place of an error": {"#line 1 \"fifo\"\n__device__ int x = nosuch;\n" + kernel,
			"nosuch"},
		"1 TB as a header": {"#include \"huge.h\"\n" + kernel,
			"huge.h: has 1099511627776 bytes"},
	} {
		compile(name, c.text, 4, c.says)
	}
	for name, c := range laborious {
		source := func(mark, caller string) string {
			return strings.NewReplacer("MARK ", mark, "CALLER ", caller).Replace(c.text) + kernel
		}
		compile(name, source("__device__ ", "__global__ "), 4, c.says)
		all[len(all)-1].env = append(all[len(all)-1].env, limited...)
		compile(name+" of the host's", source("", ""), 0, "wrote k.yaml")
	}
	for name, args := range map[string][]string{
		"an include that is an option": {"-I", "--help"}, "a define that is an option": {"-D", "-x=1"},
		"a define of nothing": {"-D", ""}, "a define of control characters": {"-D", "\x1b[31m=1"},
		"a standard that is none":           {"--std", "nosuch"},
		"a standard that is an option":      {"--std", "--version"},
		"an architecture that is none":      {"--arch", "sm_nosuch"},
		"an architecture that is an option": {"--arch", "-rdc=true"},
		"an include that is a file":         {"-I", "k.cu"}, "an include that is not there": {"-I", "nosuch"},
	} {
		compile(name, kernel, 2, args[0], args...)
	}
	return all
}

// crash: of the compiler, or its own error: the stack that it gets is a little larger on one thread than on
// another.
const crash = "the compiler crashed|k.cu:1: error"

// laborious are declarations that take a compiler all of its stack or memory. MARK and CALLER are words of
// the device's, or nothing: then nothing compiles them.
var laborious = map[string]struct{ text, says string }{
	"templates without end": {
		"template<int N> struct A { static const int v = A<N+1>::v; };\nMARK int x = A<0>::v;\n",
		"k.cu:1: error: excessive recursion",
	},
	"macros that grow": {
		"#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(A(x)))))\nMARK int B(B(" +
			strings.Repeat("y", 100) + "));\n", "out of memory",
	},
	"200,000 brackets": {
		"MARK int x = " + strings.Repeat("(", 200_000) + "1" + strings.Repeat(")", 200_000) + ";\n", crash,
	},
	"200,000 braces": {
		"MARK int f() {" + strings.Repeat("{", 200_000) + strings.Repeat("}", 200_000) + " return 1; }\n" +
			"CALLER void g(int* y) { *y = f(); }\n", crash,
	},
	"400,000 minus signs": {"MARK int x = " + strings.Repeat("- ", 400_000) + "1;\n", crash},
}

// noKernel is what is said of a source without a kernel.
const noKernel = "k.cu has no kernel (a function marked __global__)"

// awkwardHeaders are files that a source may name and that nobody should read whole.
func awkwardHeaders(b *box) error {
	huge := filepath.Join(b.work, "huge.h")
	return errors.Join(makeFIFO(filepath.Join(b.work, "fifo")), makeFIFO(filepath.Join(b.work, "fifo.h")),
		os.WriteFile(filepath.Join(b.work, "loop.h"), []byte("#include \"loop.h\"\n"), 0o600),
		os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 1<<40))
}

// lutCases are headers whose table is no table, or a wrong one.
func lutCases() (all []attack) {
	judge := func(name, text string, code int) {
		all = append(all, attack{
			name: name, args: []string{"lut", "t.h"}, files: map[string]string{"t.h": text},
			codes: []int{code}, says: "t.h:",
		})
	}
	const head = "__constant__ int WMMA_ACCUM_LUT[32][8][2] = "
	rows := func(lane string) string {
		return "{" + strings.TrimSuffix(strings.Repeat(lane+",", 32), ",") + "}"
	}
	lane := func(pair string) string {
		return "{" + strings.TrimSuffix(strings.Repeat(pair+",", 8), ",") + "}"
	}
	judge("all the same", head+rows(lane("{0,0}"))+";", 1)
	for name, pair := range map[string]string{
		"beyond": "{16,0}", "negative": "{-1,0}", "a number of two": "{0x7fffffff,0}",
	} {
		judge(name, head+rows(lane(pair))+";", 1)
	}
	judge("too large", head+rows(lane("{99999999999999999999,0}"))+";", 2)
	for name, text := range map[string]string{
		"empty": "", "no table": "int x;", "declared": "extern " + strings.TrimSuffix(head, " = ") + ";",
		"cut":            head + rows(lane("{0,0}"))[:200],
		"a lane missing": head + "{" + strings.TrimSuffix(strings.Repeat(lane("{0,0}")+",", 31), ",") + "};",
		"an expression":  head + rows(lane("{f(1),0}")) + ";", "text": head + rows(lane(`{"a",0}`)) + ";",
		"floats": head + rows(lane("{0.5,0}")) + ";", "100,000 braces": head + strings.Repeat("{", 100_000),
		"a comment that never ends": "/* " + head + rows(lane("{0,0}")), "binary": "\x7fELF\x00\x00",
		"control characters": head + "{\x1b]0;x\x07", "triples": head + rows(lane("{0,0,0}")) + ";",
		"of other sizes": "int WMMA_ACCUM_LUT[1][1][1] = {{{0}}};",
		"a macro":        "#define T {0,0}\n" + head + rows(lane("T")) + ";",
		"8 MB":           head + strings.Repeat(" ", 8<<20) + "{", "no UTF-8": head + "\xff\xfe",
	} {
		judge(name, text, 2)
	}
	for name, args := range map[string][]string{
		"kind": {"--kind", "nosuch"}, "dtype": {"--dtype", "nosuch"}, "layout": {"--layout", "nosuch"},
		"backend": {"--backend", "nosuch"}, "two files": {"a", "b"}, "empty name": {""},
	} {
		all = append(all, attack{
			name: "a wrong " + name, args: append([]string{"lut"}, args...), codes: []int{2},
		})
	}
	return all
}
