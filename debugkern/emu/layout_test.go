package emu

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// layoutKernel is a kernel of one warpgroup that brings tile s of 64 rows of 64 halves by parameter m0, waits
// for it, and goes on with body. DESC(START, STRIDE, MODE) in it puts a matrix descriptor into %d4: its start
// from s on, stride offset and swizzle mode; MMA is a product of rows 0 to 63 and rows 0 to 7 of it, SUM
// the same as a part of the sum before, ROWS(START) a product of which B is MN-major at START.
func layoutKernel(body string) string {
	const product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d4, %d4, "
	r := strings.NewReplacer("MMA", product+"0, 1, 1, 0, 0;", "SUM", product+"1, 1, 1, 0, 0;",
		"BEGIN", "wgmma.fence.sync.aligned;",
		"END", "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;")
	for strings.Contains(body, "DESC(") {
		at := strings.Index(body, "DESC(")
		end := at + strings.Index(body[at:], ")")
		var start, stride, mode uint64
		if _, err := fmt.Sscanf(body[at:end], "DESC(%d, %d, %d", &start, &stride, &mode); err != nil {
			panic(err)
		}
		body = body[:at] + fmt.Sprintf("add.u64 %%d4, %%d3, %d; shr.u64 %%d4, %%d4, 4; or.b64 %%d4, %%d4, %#x;",
			start, 16>>4<<16|stride>>4<<32|mode<<62) + body[end+1:]
	}
	for strings.Contains(body, "ROWS(") {
		body = strings.Replace(body, "ROWS(", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"+
			accumulators(32)+"}, {%a0, %a0, %a0, %a0}, %d4, 1, 1, 1, 1; //", 1)
	}
	return `.version 8.6
.target sm_90a
.address_size 64
.visible .entry t(.param .u64 in, .param .u64 out, .param .align 64 .b8 m0[128], .param .align 64 .b8 m1[128])
{
	.reg .pred %p<4>; .reg .f32 %f<36>; .reg .b32 %r<9>; .reg .b32 %a<4>; .reg .b64 %d<9>;
	.shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 bar;
	mov.b64 %d1, m0; cvta.param.u64 %d1, %d1; mov.b64 %d2, m1; cvta.param.u64 %d2, %d2;
	mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0; mov.u32 %r1, s; cvt.u64.u32 %d3, %r1; mov.u32 %a0, 0;
	@%p1 mbarrier.init.shared::cta.b64 [bar], 1;
	fence.proxy.async.shared::cta;
	bar.sync 0;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 8192;
	@%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {0, 0}], [bar];
W:
	mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0;
	@!%p3 bra W;
` + r.Replace(body) + "\n	ret;\n}\n"
}

// accumulators lists so many registers.
func accumulators(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%%f%d", i))
	}
	return strings.Join(out, ", ")
}

// TestLayout: reading a tile in another layout than a copy wrote it in is found, with both places and what to
// change; what fits, and what threads wrote, is silent.
func TestLayout(t *testing.T) {
	const four = "\nDESC(32, 1024, 1)\nSUM\nDESC(64, 1024, 1)\nSUM\nDESC(96, 1024, 1)\nSUM\nEND"
	byThreads := "mad.lo.u32 %r2, %r0, 64, %r1; mov.u32 %r3, 0;\n" +
		"st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3}; st.shared.v4.u32 [%r2+16], {%r3, %r3, %r3, %r3};\n" +
		"st.shared.v4.u32 [%r2+32], {%r3, %r3, %r3, %r3}; st.shared.v4.u32 [%r2+48], {%r3, %r3, %r3, %r3};\n" +
		"fence.proxy.async.shared::cta; bar.sync 0;\n"
	store := "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d2, {0, 0}], [s];\n" +
		"@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;"
	for _, c := range []struct {
		name, body    string
		load, store   tensormap.Swizzle // of the maps
		says, missing string            // of the first finding; "" for none
	}{
		{name: "fits", body: "BEGIN\nDESC(0, 1024, 1)\nMMA" + four, load: 3},
		{name: "fits without its last slices", load: 3,
			body: "BEGIN\nDESC(0, 1024, 1)\nMMA\nDESC(32, 1024, 1)\nSUM\nEND"},
		{name: "another swizzle", body: "BEGIN\nDESC(0, 1024, 2)\nMMA\nEND", load: 3,
			says:    "lines of 128 bytes, swizzle 128B, and the descriptor (K-major, 64-byte swizzle",
			missing: "swizzle 128B in the matrix descriptor at t.ptx:20, or swizzle 64B in tensor map m0"},
		{name: "no swizzle read", body: "BEGIN\nDESC(0, 1024, 0)\nMMA\nEND", load: 3,
			says:    "swizzle 128B, and the descriptor (K-major, no swizzle",
			missing: "swizzle 128B in the matrix"},
		{name: "no swizzle written", body: "BEGIN\nDESC(0, 1024, 1)\nMMA\nEND",
			says:    "swizzle none, and the descriptor (K-major, 128-byte",
			missing: "or swizzle 128B in tensor map m0"},
		{name: "no swizzle and long lines", body: "BEGIN\nDESC(0, 1024, 0)\nMMA\nEND",
			says: "for chunk 0 of line 1", missing: "lines of 16 bytes, or a swizzle, in tensor map m0"},
		{name: "half the stride", body: "BEGIN\nDESC(0, 512, 1)\nMMA\nEND", load: 3,
			says:    "takes chunk 0 of line 4 of the box for chunk 0 of line 8",
			missing: "a stride offset of 1024 bytes in place of 512"},
		{name: "the same rows again", body: "BEGIN\nDESC(0, 0, 1)\nMMA\nEND", load: 3},
		{name: "k stands still", load: 3, body: "BEGIN\nDESC(0, 1024, 1)\nMMA\nSUM\nSUM\nSUM\nEND",
			says:    "4 products of one sum read the same slice of operand A",
			missing: "by 32 bytes within a line of 128, in the descriptor of operand A at t.ptx:21"},
		{name: "the same slice for two sums", body: "BEGIN\nDESC(0, 1024, 1)\nMMA\nMMA\nEND", load: 3},
		{name: "all slices, one twice", body: "BEGIN\nDESC(0, 1024, 1)\nMMA\nSUM" + four, load: 3},
		{name: "rows along k", load: 3, body: "BEGIN\nDESC(0, 1024, 1)\nROWS(0)\nDESC(2048, 1024, 1)\nROWS(0)\n" +
			"DESC(4096, 1024, 1)\nROWS(0)\nDESC(6144, 1024, 1)\nROWS(0)\nEND"},
		{name: "rows along k stand still", load: 3, body: "BEGIN\nDESC(0, 1024, 1)\nROWS(0)\nROWS(0)\nEND",
			says:    "2 products of one sum read the same slice of operand B",
			missing: "by 2048 bytes, which is 16 lines of 128"},
		{name: "rows along k, half the stride", load: 3, body: "BEGIN\nDESC(0, 512, 1)\nROWS(0)\nEND",
			says:    "takes chunk 0 of line 4 of the box for chunk 0 of line 8",
			missing: "a stride offset of 1024 bytes"},
		{name: "threads wrote it", body: byThreads + "BEGIN\nDESC(0, 512, 2)\nMMA\nEND", load: 3},
		{name: "stored alike", body: store, load: 3, store: 3},
		{name: "stored with another swizzle", body: store, load: 3, store: 0,
			says:    "this one reads lines of 128 bytes, swizzle none",
			missing: "swizzle 128B and lines of 128 bytes in the map of the copy at t.ptx:18, or swizzle none in tensor map m0"},
		{name: "threads wrote what is stored", body: byThreads + store, load: 3, store: 0},
	} {
		m := func(of int, s tensormap.Swizzle) target.Arg {
			return target.Arg{Name: fmt.Sprintf("m%d", of), Scalar: make([]byte, tensormap.Bytes),
				Map: &target.TensorMap{Of: of, Map: tensormap.Map{
					DType: tensormap.F16, Dims: []uint64{64, 64}, Strides: []uint64{128},
					Box: []uint32{64, 64}, Steps: []uint32{1, 1}, Swizzle: s,
				}}}
		}
		for _, async := range []string{"", "earliest", "random"} {
			l := &target.Launch{
				Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{128, 1, 1}, Budget: 1 << 20,
				Schedule: target.Schedule{Async: async},
				Args: []target.Arg{
					{Name: "in", Buffer: &target.Buffer{
						DType: probes.F16, Dims: []int{64, 64}, Init: bytes.Repeat([]byte{0, 0x3c}, 4096),
					}},
					{Name: "out", Buffer: &target.Buffer{
						DType: probes.F16, Dims: []int{64, 64}, Bytes: 8192, Output: true,
					}},
					m(0, c.load), m(1, c.store),
				},
			}
			res := launchTB(t, load8(t, "t.ptx", layoutKernel(c.body)), l)
			if c.says == "" {
				if len(res.Findings) > 0 {
					t.Errorf("%s %s: %+v", c.name, async, res.Findings)
				}
				continue
			}
			if len(res.Findings) == 0 {
				t.Errorf("%s %s: nothing is found", c.name, async)
				continue
			}
			if f := res.Findings[0]; f.Kind != target.Layout || f.Other == nil || f.Other.Line != 14 ||
				!strings.Contains(f.Message, c.says) || !strings.Contains(f.Missing, c.missing) {
				t.Errorf("%s %s: %+v, want %q and %q", c.name, async, res.Findings, c.says, c.missing)
			}
		}
	}
}
