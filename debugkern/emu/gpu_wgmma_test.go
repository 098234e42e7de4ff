package emu

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/join"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestGPUWgmmaNumerics compares the arithmetic of wgmma on a GPU with the model's, to the bit, output by
// output. TILESCOPE_WGMMA_BLOCKS is how many tiles of 64×64 outputs each case has (2048); the test ends after
// TILESCOPE_WGMMA_SECONDS (50). It writes two files to the folder TILESCOPE_WGMMA_OUT: mismatches.txt, of the
// first differing outputs of each case and class with all of their inputs, and results.gz, the GPU's results
// of the first tiles of each case. With TILESCOPE_WGMMA_REPLAY=results.gz the same comparison is made with
// those results and needs no GPU: inputs are a function of the case and the tile.

// wgmmaCase is an instruction and what is special about its use.
type wgmmaCase struct {
	name    string
	inputs  string // what the inputs are a function of
	types   string // ".f32.f16.f16"
	form    fp.AsyncMMA
	sat     bool
	variant string // "", or one of wgmmaVariants
}

func (c *wgmmaCase) integer() bool { return strings.HasPrefix(c.types, ".s32") }

func (c *wgmmaCase) k() int {
	if c.integer() {
		return 32
	}
	return c.form.K()
}

// wgmmaVariants are other uses of an instruction: A in registers, operands negated, no C, and two with the
// same accumulator one behind the other.
var wgmmaVariants = []string{"registers", "neg-a", "neg-b", "no-c", "chain"}

// wgmmaCases are all types without a variant, and some with.
func wgmmaCases() (out []*wgmmaCase) {
	formats := map[string]fp.Format{
		"f16": fp.F16, "bf16": fp.BF16, "tf32": fp.TF32, "e4m3": fp.E4M3, "e5m2": fp.E5M2, "f32": fp.F32,
	}
	add := func(types, variant string) {
		ts := strings.Split(types, ".")[1:]
		c := &wgmmaCase{name: types[1:], types: types, variant: variant, sat: len(ts) == 4, inputs: types[1:]}
		if variant != "" {
			c.name += "/" + variant
		}
		if !c.integer() {
			c.form = fp.AsyncMMA{A: formats[ts[1]], B: formats[ts[2]], D: formats[ts[0]]}
		}
		out = append(out, c)
	}
	floats := []string{
		".f32.f16.f16", ".f16.f16.f16", ".f32.bf16.bf16", ".f32.tf32.tf32",
		".f32.e4m3.e4m3", ".f32.e4m3.e5m2", ".f32.e5m2.e4m3", ".f32.e5m2.e5m2",
		".f16.e4m3.e4m3", ".f16.e4m3.e5m2", ".f16.e5m2.e4m3", ".f16.e5m2.e5m2",
	}
	for _, types := range floats {
		add(types, "")
	}
	for _, a := range []string{"s8", "u8"} {
		add(".s32."+a+"."+a, "")
		add(".s32."+a+"."+a+".satfinite", "")
	}
	for _, variant := range wgmmaVariants {
		for _, i := range []int{0, 1, 3, 4, 10} {
			add(floats[i], variant)
		}
	}
	add(".s32.s8.s8", "registers")
	add(".s32.s8.s8", "chain")
	return out
}

// accumulators is how many registers a thread has of C and D.
func (c *wgmmaCase) accumulators() int {
	if c.form.D == fp.F16 && !c.integer() {
		return probeN / 4
	}
	return probeN / 2
}

const (
	operandBytes  = 64 * 32 // of A, and of B, in shared memory
	fragmentBytes = 512     // of one register of a warpgroup
)

func (c *wgmmaCase) inBytes() int  { return 2*operandBytes + c.outBytes() }
func (c *wgmmaCase) outBytes() int { return fragmentBytes * c.accumulators() }

// module is the kernel: each block has A, B and C at its place of in. A and B lie there as they lie in shared
// memory, in core matrices without a swizzle: 8 rows of 16 bytes each, two for the row's 32 bytes, one behind
// the other. A in registers lies there register by register.
func (c *wgmmaCase) module() string {
	var s strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	n := c.accumulators()
	var d []string
	for i := range n {
		d = append(d, fmt.Sprintf("%%d%d", i))
	}
	p(".version 8.0\n.target sm_90a\n.address_size 64")
	p(".visible .entry t(.param .u64 in, .param .u64 out)\n{")
	p(".reg .pred %%p<2>;\n.reg .b32 %%r<9>;\n.reg .b32 %%a<4>;\n.reg .b32 %%d<%d>;\n.reg .b64 %%rd<9>;", n)
	p(".shared .align 128 .b8 s[%d];", 2*operandBytes)
	p("mov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%ctaid.x;")
	p("ld.param.u64 %%rd0, [in];\ncvta.to.global.u64 %%rd0, %%rd0;")
	p("ld.param.u64 %%rd1, [out];\ncvta.to.global.u64 %%rd1, %%rd1;")
	p("mul.wide.u32 %%rd2, %%r1, %d;\nadd.s64 %%rd0, %%rd0, %%rd2;", c.inBytes())
	p("mul.wide.u32 %%rd2, %%r1, %d;\nadd.s64 %%rd1, %%rd1, %%rd2;", c.outBytes())
	p("mul.wide.u32 %%rd3, %%r0, 4;\nadd.s64 %%rd1, %%rd1, %%rd3;")
	p("mov.u32 %%r2, s;\nshl.b32 %%r3, %%r0, 5;\nadd.s32 %%r3, %%r3, %%r2;")
	p("mul.wide.u32 %%rd4, %%r0, 32;\nadd.s64 %%rd4, %%rd4, %%rd0;")
	p("ld.global.v4.u32 {%%r4, %%r5, %%r6, %%r7}, [%%rd4];\nst.shared.v4.u32 [%%r3], {%%r4, %%r5, %%r6, %%r7};")
	p("ld.global.v4.u32 {%%r4, %%r5, %%r6, %%r7}, [%%rd4+16];")
	p("st.shared.v4.u32 [%%r3+16], {%%r4, %%r5, %%r6, %%r7};")
	p("add.s64 %%rd5, %%rd0, %%rd3;") // registers of A, then of C
	for i := range 4 {
		p("ld.global.u32 %%a%d, [%%rd5+%d];", i, i*fragmentBytes)
	}
	for i, r := range d {
		p("ld.global.u32 %s, [%%rd5+%d];", r, 2*operandBytes+i*fragmentBytes)
	}
	p("fence.proxy.async;\nbar.sync 0;")
	// Descriptors: the address, 128 bytes to the second half of a row, 256 to the next 8 rows, all by 16.
	p("cvt.u64.u32 %%rd6, %%r2;\nshr.u64 %%rd6, %%rd6, 4;\nor.b64 %%rd6, %%rd6, 0x1000080000;")
	p("add.s64 %%rd7, %%rd6, %d;", operandBytes/16)
	p("setp.eq.u32 %%p0, %%r2, %%r2;\n")
	if c.variant == "no-c" {
		p("setp.ne.u32 %%p0, %%r2, %%r2;")
	}
	p("wgmma.fence.sync.aligned;")
	p("%s", c.instruction(strings.Join(d, ", ")))
	if c.variant == "chain" { // with a descriptor of its own: ptxas makes one product of two that are alike
		p("mov.u64 %%rd8, %%clock64;\nshr.u64 %%rd8, %%rd8, 63;\nadd.s64 %%rd8, %%rd8, %%rd7;")
		p("%s", strings.Replace(c.instruction(strings.Join(d, ", ")), "%rd7", "%rd8", 1))
	}
	p("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;")
	for i, r := range d {
		p("st.global.u32 [%%rd1+%d], %s;", i*fragmentBytes, r)
	}
	p("ret;\n}")
	return s.String()
}

func (c *wgmmaCase) instruction(d string) string {
	op := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk%d%s", probeN, c.k(), c.types)
	a, immA, immB := "%rd6", 1, 1
	switch c.variant {
	case "registers":
		a = "{%a0, %a1, %a2, %a3}"
	case "neg-a":
		immA = -1
	case "neg-b":
		immB = -1
	}
	args := fmt.Sprintf("{%s}, %s, %%rd7, %%p0", d, a)
	if c.integer() {
		return op + " " + args + ";"
	}
	args += fmt.Sprintf(", %d, %d", immA, immB)
	if c.form.K() == 16 { // transposes, of operands in shared memory
		args += ", 0"
		if c.variant != "registers" {
			args += ", 0"
		}
	}
	return op + " " + args + ";"
}

// encode is a tile as the kernel reads it.
func (c *wgmmaCase) encode(t *wgmmaTile) []byte {
	buf := make([]byte, c.inBytes())
	size := 32 / t.k
	put := func(at int, v uint32) {
		for i := range size {
			buf[at+i] = byte(v >> (8 * i))
		}
	}
	core := func(row, k int) int { return row/8*256 + k*size/16*128 + row%8*16 + k*size%16 }
	for i, v := range t.a {
		row, k := i/t.k, i%t.k
		if c.variant == "registers" {
			col := k * size / 4 // 4 bytes of a row are a register
			lane, reg := row%8*4+col%4, row%16/8+col/4*2
			put(reg*fragmentBytes+(row/16*32+lane)*4+k*size%4, v)
			continue
		}
		put(core(row, k), v)
	}
	for i, v := range t.b {
		put(operandBytes+core(i/t.k, i%t.k), v)
	}
	for i, v := range t.c {
		at, half := c.place(i/probeN, i%probeN)
		at += 2 * operandBytes
		if half {
			binary.LittleEndian.PutUint16(buf[at:], uint16(v))
		} else {
			binary.LittleEndian.PutUint32(buf[at:], v)
		}
	}
	return buf
}

// place is where an accumulator lies among those of its block, and whether it has 16 bits.
func (c *wgmmaCase) place(row, col int) (at int, half bool) {
	thread := row/16*32 + row%8*4 + col%8/2
	reg := col/8*4 + row%16/8*2 + col%2
	if c.form.D == fp.F16 && !c.integer() {
		return reg/2*fragmentBytes + thread*4 + col%2*2, true
	}
	return reg*fragmentBytes + thread*4, false
}

func (c *wgmmaCase) output(d []byte, row, col int) uint32 {
	at, half := c.place(row, col)
	if half {
		return uint32(binary.LittleEndian.Uint16(d[at:]))
	}
	return binary.LittleEndian.Uint32(d[at:])
}

// model is one element of D.
func (c *wgmmaCase) model(m *fp.Model, a, b []uint32, x uint32) uint32 {
	if c.variant == "no-c" {
		x = 0
	}
	times := 1 + strings.Count(c.variant, "chain")
	if c.integer() {
		var p, q [32]int32
		for i := range a {
			p[i], q[i] = int32(uint8(a[i])), int32(uint8(b[i]))
			if c.types[5] == 's' {
				p[i] = int32(int8(a[i]))
			}
			if c.types[8] == 's' {
				q[i] = int32(int8(b[i]))
			}
		}
		for range times {
			x = uint32(fp.DotInt(p[:], q[:], int32(x), c.sat))
		}
		return x
	}
	f := operandFormats[c.form.A]
	var neg [32]uint32
	if c.variant == "neg-a" || c.variant == "neg-b" {
		for i := range a {
			neg[i] = a[i] ^ 1<<(f.bits-1+f.shift)
		}
		a = neg[:len(a)]
	}
	for range times {
		x = m.DotAsync(c.form, a, b, x)
	}
	return x
}

// wgmmaTally counts what was compared of a case.
type wgmmaTally struct {
	sync.Mutex
	outputs, wrong map[int]int // by class
	text           map[int][]string
}

// mismatchesShown is how many outputs are written for each case and class.
const mismatchesShown = 40

func (y *wgmmaTally) compare(c *wgmmaCase, m *fp.Model, block int, d []byte) {
	t := newWgmmaTile(c, block)
	wrong := 0
	var text []string
	for i, x := range t.c {
		row, col := i/probeN, i%probeN
		a, b := t.a[row*t.k:][:t.k], t.b[col*t.k:][:t.k]
		got, want := c.output(d, row, col), c.model(m, a, b, x)
		if got == want {
			continue
		}
		if wrong++; len(text) < mismatchesShown/4 {
			text = append(text, fmt.Sprintf(
				"%s class %s tile %d row %d col %d gpu %08x model %08x c %08x\n  a %x\n  b %x",
				c.name, tileClasses[t.class], block, row, col, got, want, x, a, b))
		}
	}
	y.Lock()
	defer y.Unlock()
	y.outputs[t.class] += len(t.c)
	y.wrong[t.class] += wrong
	if len(y.text[t.class]) < mismatchesShown {
		y.text[t.class] = append(y.text[t.class], text...)
	}
}

// report logs the counts and returns the mismatches.
func (y *wgmmaTally) report(t *testing.T, c *wgmmaCase) (text []string) {
	total, wrong := 0, 0
	var classes []string
	for i, name := range tileClasses {
		total, wrong = total+y.outputs[i], wrong+y.wrong[i]
		if y.wrong[i] > 0 {
			classes = append(classes, fmt.Sprintf("%s %d/%d", name, y.wrong[i], y.outputs[i]))
			text = append(text, y.text[i]...)
		}
	}
	t.Logf("%-28s %10d outputs %9d differ  %s", c.name, total, wrong, strings.Join(classes, ", "))
	if wrong > 0 {
		t.Errorf("%s: the model is not the GPU's arithmetic", c.name)
	}
	return text
}

func newTally() *wgmmaTally {
	return &wgmmaTally{outputs: map[int]int{}, wrong: map[int]int{}, text: map[int][]string{}}
}

// compareAll compares the results of blocks first, first+1, …
func (y *wgmmaTally) compareAll(c *wgmmaCase, first int, results []byte) {
	m := chip.SM90().Arithmetic
	n := len(results) / c.outBytes()
	var g join.Group
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		g.Go(func() {
			for i := w; i < n; i += workers {
				y.compare(c, m, first+i, results[i*c.outBytes():][:c.outBytes()])
			}
		})
	}
	g.Wait()
}

const (
	tilesALaunch = 512
	tilesKept    = 32 // of each case, in results.gz, which then has under 16 MiB
)

func envInt(name string, or int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return or
}

// inputsOf are the inputs of some blocks.
func (c *wgmmaCase) inputsOf(first, n int) []byte {
	parts := make([][]byte, n)
	var g join.Group
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		g.Go(func() {
			for i := w; i < n; i += workers {
				parts[i] = c.encode(newWgmmaTile(c, first+i))
			}
		})
	}
	g.Wait()
	return slices.Concat(parts...)
}

func (c *wgmmaCase) launchOn(
	ctx context.Context, k target.Kernel, first, n int, async string,
) ([]byte, error) {
	args := inOut(c.inputsOf(first, n), n*c.outBytes())
	for i := range args {
		args[i].Buffer.DType = probes.U32
		args[i].Buffer.Dims = []int{args[i].Buffer.Bytes / 4}
	}
	l := &target.Launch{Grid: probes.Dim3{n, 1, 1}, Block: probes.Dim3{128, 1, 1}, Args: args}
	l.Schedule.Async = async
	r, err := k.Launch(ctx, l)
	if err != nil {
		return nil, err
	}
	if len(r.Findings) > 0 {
		return nil, fmt.Errorf("findings: %+v", r.Findings)
	}
	return r.Outputs["out"], nil
}

func TestGPUWgmmaNumerics(t *testing.T) {
	var kept bytes.Buffer
	var text []string
	var source func(c *wgmmaCase, first, n int) []byte
	blocks, until := 0, time.Now().Add(time.Duration(envInt("TILESCOPE_WGMMA_SECONDS", 50))*time.Second)
	if name := os.Getenv("TILESCOPE_WGMMA_REPLAY"); name != "" {
		data := readGzip(t, name)
		blocks = tilesKept
		source = func(c *wgmmaCase, _, n int) []byte {
			d := data[:min(n*c.outBytes(), len(data))]
			data = data[len(d):]
			return d
		}
	} else {
		b := openGPU(t)
		blocks = max(envInt("TILESCOPE_WGMMA_BLOCKS", 2048), tilesKept)
		kernels := map[*wgmmaCase]target.Kernel{}
		source = func(c *wgmmaCase, first, n int) []byte {
			if kernels[c] == nil {
				kernels[c] = loadOn(t, b, c.name, c.module())
			}
			d, err := c.launchOn(t.Context(), kernels[c], first, n, "")
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			return d
		}
	}
	cases := wgmmaCases()
	tallies := make([]*wgmmaTally, len(cases))
	// The kept tiles of every case come first, so that a run that is out of time has them all.
	for i, c := range cases {
		tallies[i] = newTally()
		d := source(c, 0, tilesKept)
		kept.Write(d)
		tallies[i].compareAll(c, 0, d)
	}
	for first := tilesKept; first < blocks && time.Now().Before(until); first += tilesALaunch {
		for i, c := range cases {
			if c.variant != "" && first > tilesKept || time.Now().After(until) {
				continue
			}
			n := min(tilesALaunch, blocks-first)
			tallies[i].compareAll(c, first, source(c, first, n))
		}
	}
	for i, c := range cases {
		text = append(text, tallies[i].report(t, c)...)
	}
	if dir := os.Getenv("TILESCOPE_WGMMA_OUT"); dir != "" {
		writeGzip(t, filepath.Join(dir, "results.gz"), kept.Bytes())
		all := []byte(strings.Join(text, "\n") + "\n")
		if err := os.WriteFile(filepath.Join(dir, "mismatches.txt"), all, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func readGzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeGzip(t *testing.T, name string, data []byte) {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
