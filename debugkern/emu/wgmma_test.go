package emu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/fp"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestWgmmaTypes: every type and variant of wgmma gives, output by output, what fp's plain form of the
// arithmetic gives: the layouts of fragments and of core matrices are those of the kernel that a GPU
// executes.
func TestWgmmaTypes(t *testing.T) {
	m := chip.SM90().Arithmetic
	for _, c := range wgmmaCases() {
		k := load8(t, c.name, c.module())
		for _, async := range []string{"latest", "earliest", "random"} {
			d, err := c.launchOn(t.Context(), k, 1, 2, async)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			y := newTally()
			for i := range 2 {
				y.compare(c, m, 1+i, d[i*c.outBytes():][:c.outBytes()])
			}
			for class, wrong := range y.wrong {
				if wrong > 0 {
					t.Errorf("%s: %d of %d differ\n%s", c.name, wrong, y.outputs[class],
						strings.Join(y.text[class][:1], "\n"))
				}
			}
		}
	}
}

// wgmmaLayout is a product of f16 whose operands lie in shared memory in some layout.
type wgmmaLayout struct {
	n              int
	modeA, modeB   uint64
	majorA, majorB bool
	base           uint64 // where the operands start, after the alignment of the swizzle
}

const layoutRoom = 32 << 10 // bytes of shared memory for an operand

// tiles are the operands as element addresses, and their descriptors.
func (c *wgmmaLayout) tiles() (a, b tile, da, db uint64) {
	make := func(start, mode uint64, major bool) (tile, uint64) {
		span := [4]uint64{16, 128, 64, 32}[mode]
		leading, stride := uint64(128), uint64(256)
		switch {
		case mode != 0 && major:
			leading, stride = 16*span, 8*span
		case mode != 0:
			leading, stride = 16, 8*span
		case major: // 128 bytes from 8 rows to the next, and 8 of k behind all of them
			leading, stride = 128*32, 128
		}
		d := descriptor(start, leading, stride, 0, mode)
		return newTile(d, 2, major), d
	}
	a, da = make(c.base, c.modeA, c.majorA)
	b, db = make(c.base+layoutRoom, c.modeB, c.majorB)
	return a, b, da, db
}

// module copies shared memory from in, multiplies, and stores the accumulators.
func (c *wgmmaLayout) module() string {
	var s strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	var d []string
	for i := range c.n / 2 {
		d = append(d, fmt.Sprintf("%%f%d", i))
	}
	_, _, da, db := c.tiles()
	p(".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];")
	p(".visible .entry t(.param .u64 in, .param .u64 out)\n{")
	p(".reg .pred %%p<2>;\n.reg .f32 %%f<%d>;\n.reg .b32 %%r<9>;\n.reg .b64 %%rd<9>;", len(d))
	p("ld.param.u64 %%rd0, [in];\nld.param.u64 %%rd1, [out];\nmov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, s;")
	p("shl.b32 %%r2, %%r0, 2;\nadd.u32 %%r3, %%r1, %%r2;\ncvt.u64.u32 %%rd2, %%r2;")
	p("add.u64 %%rd3, %%rd0, %%rd2;\nadd.u64 %%rd4, %%rd1, %%rd2;\nmov.u32 %%r4, 0;")
	p("L:\nld.global.u32 %%r5, [%%rd3];\nst.shared.u32 [%%r3], %%r5;\nadd.u64 %%rd3, %%rd3, 512;")
	p("add.u32 %%r3, %%r3, 512;\nadd.u32 %%r4, %%r4, 512;")
	p("setp.lt.u32 %%p0, %%r4, %d;\n@%%p0 bra L;", 2*layoutRoom)
	p("fence.proxy.async;\nbar.sync 0;")
	p("shr.u32 %%r6, %%r1, 4;\ncvt.u64.u32 %%rd5, %%r6;")
	p("add.u64 %%rd6, %%rd5, 0x%x;\nadd.u64 %%rd7, %%rd5, 0x%x;", da, db)
	p("setp.ne.u32 %%p1, %%r0, %%r0;\nwgmma.fence.sync.aligned;")
	p("wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 {%s}, %%rd6, %%rd7, %%p1, 1, 1, %d, %d;", c.n,
		strings.Join(d, ", "), bit(c.majorA), bit(c.majorB))
	p("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;")
	for i, r := range d {
		p("st.global.f32 [%%rd4+%d], %s;", i*fragmentBytes, r)
	}
	p("ret;\n}")
	return s.String()
}

func bit(v bool) int {
	if v {
		return 1
	}
	return 0
}

// check multiplies small integers, whose products are exact, on a backend.
func (c *wgmmaLayout) check(t *testing.T, k target.Kernel) {
	t.Helper()
	a, b, _, _ := c.tiles()
	g := rand.New(rand.NewPCG(5, uint64(c.n)))
	in := make([]byte, 2*layoutRoom)
	fillTile := func(x *tile, rows int) [][]float64 {
		out := make([][]float64, rows)
		for r := range out {
			for e := range 16 {
				v := float64(g.IntN(31) - 15)
				out[r] = append(out[r], v)
				le.PutUint16(in[x.element(r, e):], fp.RoundF16(v))
			}
		}
		return out
	}
	va, vb := fillTile(&a, 64), fillTile(&b, c.n)
	args := inOut(in, 64*c.n*4)
	for i := range args {
		args[i].Buffer.DType = probes.U32
		args[i].Buffer.Dims = []int{args[i].Buffer.Bytes / 4}
	}
	r, err := k.Launch(t.Context(), &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{128, 1, 1}, DynShared: 2 * layoutRoom, Args: args,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) > 0 {
		t.Fatalf("%+v: %+v", c, r.Findings)
	}
	for row := range 64 {
		for col := range c.n {
			want := 0.0
			for i := range va[row] {
				want += va[row][i] * vb[col][i]
			}
			thread, reg := row/16*32+row%8*4+col%8/2, col/8*4+row%16/8*2+col%2
			got := fp.Float32(le.Uint32(r.Outputs["out"][reg*fragmentBytes+4*thread:]))
			if float64(got) != want {
				t.Fatalf("%+v: row %d column %d is %v, want %v", c, row, col, got, want)
			}
		}
	}
}

// wgmmaLayouts are all swizzles and orders of both operands, and all kinds of widths.
func wgmmaLayouts() (out []*wgmmaLayout) {
	n := []int{8, 16, 24, 64, 72, 128, 200, 256}
	for mode := range uint64(4) {
		for i := range 4 {
			c := &wgmmaLayout{
				n: n[len(out)%len(n)], modeA: mode, modeB: (mode + uint64(i)) % 4, majorA: i&1 != 0,
				majorB: i&2 != 0, base: uint64(i&1) * 1024,
			}
			same := *c
			same.n, same.modeB, same.base = 64, mode, 0
			out = append(out, c, &same)
		}
	}
	return out
}

func TestWgmmaLayouts(t *testing.T) {
	for _, c := range wgmmaLayouts() {
		c.check(t, load8(t, fmt.Sprintf("%+v", *c), c.module()))
	}
}

// TestGPUWgmmaLayouts: a GPU finds the elements where the emulator does.
func TestGPUWgmmaLayouts(t *testing.T) {
	b := openGPU(t)
	for _, c := range wgmmaLayouts() {
		c.check(t, loadOn(t, b, fmt.Sprintf("%+v", *c), c.module()))
	}
}

// BenchmarkWgmma is one wgmma of a warpgroup, from its issue to its landing.
func BenchmarkWgmma(b *testing.B) {
	for _, types := range []string{"f32.f16.f16", "f32.tf32.tf32", "f32.e4m3.e4m3", "s32.s8.s8"} {
		b.Run(types, func(b *testing.B) {
			for _, c := range wgmmaCases() {
				if c.name != types {
					continue
				}
				const n = 64
				text := c.module()
				at := strings.Index(text, "wgmma.mma_async")
				one := text[at : at+strings.Index(text[at:], "\n")+1]
				k := load8(b, c.name, text[:at]+strings.Repeat(one, n)+text[at+len(one):])
				for b.Loop() {
					if _, err := c.launchOn(b.Context(), k, 1, 1, ""); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*probeM*probeN), "ns/output")
			}
		})
	}
}
