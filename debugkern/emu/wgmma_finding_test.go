package emu

import (
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

const wgmmaName = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"

// wgmmaKernel is a kernel around some instructions: 4096 bytes of zeros and ones in shared memory are
// operands, %rd6 and %rd7 their descriptors, %f0 to %f7 accumulators, %a0 to %a3 a fragment of A. Words in
// capitals stand for instructions.
func wgmmaKernel(body string) string {
	const mma = wgmmaName
	r := strings.NewReplacer(
		"FENCE", "wgmma.fence.sync.aligned;", "COMMIT", "wgmma.commit_group.sync.aligned;",
		"WAIT0", "wgmma.wait_group.sync.aligned 0;", "WAIT1", "wgmma.wait_group.sync.aligned 1;",
		"MMA2", mma+" {%f4, %f5, %f6, %f7}, %rd6, %rd7, %p1, 1, 1, 0, 0;",
		"MMAA", mma+" {%f0, %f1, %f2, %f3}, {%a0, %a1, %a2, %a3}, %rd7, %p1, 1, 1, 0;",
		"MMAF", mma+" {%f4, %f5, %f6, %f7}, {%f0, %f1, %f2, %f3}, %rd7, %p1, 1, 1, 0;",
		"MMA16", "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, "+
			"%rd6, %rd7, %p1, 1, 1, 0, 0;",
		"MMA", mma+" {%f0, %f1, %f2, %f3}, %rd6, %rd7, %p1, 1, 1, 0, 0;",
		"STORE", "st.global.f32 [%rd1], %f0;",
	)
	return `.version 8.0
.target sm_90a
.address_size 64
.visible .entry t(.param .u64 in, .param .u64 out)
{
	.reg .pred %p<5>; .reg .f32 %f<12>; .reg .b32 %r<9>; .reg .b32 %a<4>; .reg .b64 %rd<9>;
	.shared .align 1024 .b8 s[8192];
	ld.param.u64 %rd1, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd1, %rd2;
	mov.u32 %r1, s; shl.b32 %r2, %r0, 5; add.u32 %r2, %r2, %r1; mov.u32 %r3, 0x3c003c00; mov.u32 %r4, 0;
	st.shared.v4.u32 [%r2], {%r3, %r4, %r3, %r4}; st.shared.v4.u32 [%r2+16], {%r3, %r3, %r4, %r3};
	fence.proxy.async; bar.sync 0; shr.u32 %r5, %r0, 5;
	cvt.u64.u32 %rd6, %r1; shr.u64 %rd6, %rd6, 4; or.b64 %rd6, %rd6, 0x1000080000; add.u64 %rd7, %rd6, 64;
	setp.eq.u32 %p1, %r0, %r0; setp.ne.u32 %p2, %r5, 3; and.b32 %r8, %r0, 31; setp.lt.u32 %p4, %r8, 16;
	mov.u32 %a0, %r3; mov.u32 %a1, %r4; mov.u32 %a2, %r3; mov.u32 %a3, %r4;
	mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
	mov.f32 %f4, 0f00000000; mov.f32 %f5, 0f00000000; mov.f32 %f6, 0f00000000; mov.f32 %f7, 0f00000000;
` + r.Replace(body) + "\n	ret;\n}\n"
}

// TestWgmmaFindings: each misuse is found, with the line of the instruction, whenever products land; and what
// is right is silent.
func TestWgmmaFindings(t *testing.T) {
	const first = 17 // the line of the body's first instruction
	for _, c := range []struct {
		name, body string
		block      int
		line       int
		nth        int    // which of several findings of one mistake it is
		says       string // of the first finding, its kind before the colon; "" for none
		missing    string
	}{
		{name: "clean", body: "FENCE\nMMA\nMMA\nCOMMIT\nWAIT0\nSTORE"},
		{name: "two groups",
			body: "FENCE\nMMA\nCOMMIT\nMMA2\nCOMMIT\nWAIT1\nSTORE\nWAIT0\nst.global.f32 [%rd1], %f4;"},
		{name: "copies between products", body: "FENCE\nMMA\nmov.f32 %f4, %f0;\nmov.f32 %f5, %f1;\nMMA2\n" +
			"mov.f32 %f0, %f4;\nmov.f32 %f1, %f5;\nMMA\nCOMMIT\nWAIT0\nSTORE"},
		{name: "registers of A",
			body: "FENCE\nMMAA\nCOMMIT\nWAIT0\nmov.u32 %a0, 1;\nFENCE\nMMAA\nCOMMIT\nWAIT0\nSTORE"},
		{name: "read early", body: "FENCE\nMMA\nCOMMIT\nSTORE\nWAIT0", line: 3,
			says: "wgmma: %f0, an accumulator of " + wgmmaName + " at t.ptx:18, " +
				"is read by st.global.f32 before", missing: "wgmma.wait_group between t.ptx:18 and t.ptx:20"},
		{name: "copy read early", body: "FENCE\nMMA\nCOMMIT\nmov.f32 %f4, %f0;\nst.global.f32 [%rd1], %f4;\nWAIT0",
			line: 4, says: "wgmma: %f4, an accumulator of"},
		{name: "written early", body: "FENCE\nMMA\nCOMMIT\nmov.f32 %f1, 0f00000000;\nWAIT0\nSTORE", line: 3,
			says: "wgmma: %f1, an accumulator of"},
		{name: "not committed", body: "FENCE\nMMA\nWAIT0\nSTORE\nCOMMIT\nWAIT0", line: 3,
			says: "wgmma: %f0, an accumulator"},
		{name: "wait of too few", body: "FENCE\nMMA\nCOMMIT\nWAIT1\nSTORE\nWAIT0", line: 4,
			says: "wgmma: %f0, an accumulator"},
		{name: "no fence", body: "MMA\nCOMMIT\nWAIT0\nSTORE", line: 0,
			says:    "wgmma: no wgmma.fence stands before",
			missing: "wgmma.fence before t.ptx:17"},
		{name: "written behind the fence", line: 2,
			body: "FENCE\nadd.f32 %f2, %f0, %f1;\nMMA\nCOMMIT\nWAIT0\nSTORE",
			says: "wgmma: %f2 is written by add.f32 at t.ptx:18, behind the wgmma.fence at t.ptx:17, and is an " +
				"accumulator of " + wgmmaName,
			missing: "wgmma.fence between t.ptx:18 and t.ptx:19: move there the one at t.ptx:17"},
		{name: "written between products", line: 3,
			body: "FENCE\nMMA\nmov.f32 %f4, 0f00000000;\nMMA2\nCOMMIT\nWAIT0\nSTORE",
			says: "wgmma: %f4 is written by mov.f32 at t.ptx:19 since the last wgmma.fence, at t.ptx:17, and is an " +
				"accumulator of " + wgmmaName, missing: "wgmma.fence between t.ptx:19 and t.ptx:20"},
		{name: "no second fence", body: "FENCE\nMMA\nCOMMIT\nWAIT0\nSTORE\nMMA\nCOMMIT\nWAIT0\nSTORE", line: 5,
			says: "wgmma: %f0 is read by st.global.f32 at t.ptx:21 since the last wgmma.fence, at t.ptx:17"},
		{name: "A written early", body: "FENCE\nMMAA\nCOMMIT\nmov.u32 %a2, 7;\nWAIT0\nSTORE", line: 3,
			says: "wgmma: %a2, a register of A of"},
		{name: "A written behind the fence", line: 2,
			body: "FENCE\nmov.u32 %a3, 7;\nMMAA\nCOMMIT\nWAIT0\nSTORE",
			says: "wgmma: %a3 is written by mov.u32 at t.ptx:18, behind the wgmma.fence at t.ptx:17, and is a " +
				"register of A of " + wgmmaName},
		{name: "A is under way", body: "FENCE\nMMA\nMMAF\nCOMMIT\nWAIT0\nSTORE", line: 2,
			says: "wgmma: %f0, an accumulator of"},
		{name: "another shape", body: "FENCE\nMMA\nMMA16\nCOMMIT\nWAIT0\nSTORE", line: 2,
			says: "wgmma: %f0, an accumulator of"},
		{name: "never waited for", body: "FENCE\nMMA\nCOMMIT", line: 1, says: "wgmma: the block ends while",
			missing: "wgmma.commit_group and wgmma.wait_group 0 between t.ptx:18 and the end of the kernel"},
		{name: "never committed", body: "FENCE\nMMA\nWAIT0", line: 1,
			says: "wgmma: the block ends while " + wgmmaName + " may still read shared memory: " +
				"wgmma.wait_group.sync.aligned at t.ptx:19 does not wait for it, as it is in no group",
			missing: "wgmma.commit_group between t.ptx:18 and t.ptx:19"},
		{name: "read and never committed", body: "FENCE\nMMA\nWAIT0\nSTORE", line: 3, nth: 1,
			says: "wgmma: %f0, an accumulator of " + wgmmaName + " at t.ptx:18, is read by st.global.f32 " +
				"before a wgmma.wait_group covers it: wgmma.wait_group.sync.aligned at t.ptx:19 does not wait for it",
			missing: "wgmma.commit_group between t.ptx:18 and t.ptx:19"},
		{name: "one warp stays away", body: "FENCE\n@!%p2 bra E;\nMMA\nCOMMIT\nWAIT0\nE:", line: 2,
			says: "deadlock: no thread can go on: warps 0, 1, 2 at t.ptx:19 (" + wgmmaName + ");" +
				" warp 3 exited; " + wgmmaName + " at t.ptx:19 needs all four warps of warpgroup 0, " +
				"and has warps 0, 1, 2: warp 3 exited"},
		{name: "two products", body: "FENCE\n@!%p2 bra E;\nMMA\nbra F;\nE:\nMMA\nF:\nCOMMIT\nWAIT0", line: 2,
			says: "deadlock: no thread can go on: warps 0, 1, 2 at t.ptx:19"},
		{name: "two warps", block: 64, body: "FENCE\nMMA\nCOMMIT\nWAIT0", line: 1,
			says: "wgmma: " + wgmmaName + " is of four warps, and the last warpgroup of the block has 2"},
		{name: "part of a warp", body: "setp.ne.u32 %p3, %r0, 5;\nFENCE\n@%p3 wgmma.mma_async.sync.aligned." +
			"m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd6, %rd7, %p1, 1, 1, 0, 0;\nCOMMIT\nWAIT0\nSTORE", line: 2,
			says: "wgmma: " + wgmmaName + " is executed by 31 of the 32 threads"},
		{name: "a wait of part of a warp", line: 3,
			body: "FENCE\nMMA\nCOMMIT\n@%p4 wgmma.wait_group.sync.aligned 0;\nWAIT0\nSTORE",
			says: "wgmma: wgmma.wait_group.sync.aligned is executed by lanes 0-15"},
		{name: "an mma of part of a warp", line: 0,
			body: "@%p4 mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 " +
				"{%r6, %r7}, {%r3}, {%r3}, {%r3, %r3};",
			says: "barrier: mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 is executed by lanes 0-15 of warp"},
		{name: "two descriptors",
			body: "cvt.u64.u32 %rd3, %r5;\nadd.u64 %rd6, %rd6, %rd3;\nFENCE\nMMA\nCOMMIT\nWAIT0\nSTORE",
			line: 3, says: "the matrix descriptor of A is not the same for all threads of the warpgroup"},
		{name: "two scales", body: "FENCE\nsetp.ne.u32 %p1, %r5, 2;\nMMA\nCOMMIT\nWAIT0\nSTORE", line: 2,
			says: "scale-d is not the same for all threads"},
		{name: "outside of shared memory", body: "add.u64 %rd7, %rd7, 8192;\nFENCE\nMMA\nCOMMIT\nWAIT0\nSTORE",
			line: 2,
			says: "operand B: its tile (K-major, no swizzle, start"},
		{name: "half a swizzle", body: "or.b64 %rd7, %rd7, 0x4000000000000008;\nFENCE\nMMA\nCOMMIT\nWAIT0\nSTORE",
			line: 2,
			says: "does not start where the pattern of the swizzle starts: that is a multiple of 1024 bytes"},
		{name: "never written", body: "add.u64 %rd7, %rd7, 256;\nFENCE\nMMA\nCOMMIT\nWAIT0\nSTORE", line: 2,
			says: "uninitialised: s[5120] is read before it is written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := load8(t, "t.ptx", wgmmaKernel(c.body))
			for _, async := range []string{"latest", "earliest", "random"} {
				l := &target.Launch{
					Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{128, 1, 1},
					Args: inOut(make([]byte, 8), 1024),
				}
				if l.Schedule.Async = async; c.block > 0 {
					l.Block[0] = c.block
				}
				r, err := k.Launch(t.Context(), l)
				if err != nil {
					t.Fatal(err)
				}
				if c.says == "" {
					if len(r.Findings) > 0 {
						t.Fatalf("%s: %+v", async, r.Findings)
					}
					continue
				}
				if len(r.Findings) == 0 {
					t.Fatalf("%s: no finding", async)
				}
				if len(r.Findings) <= c.nth {
					t.Fatalf("%s: %d findings", async, len(r.Findings))
				}
				f := r.Findings[c.nth]
				if got := string(f.Kind) + ": " + f.Message; !strings.Contains(got, c.says) {
					t.Errorf("%s: %s", async, got)
				}
				if f.Source == nil || f.Source.Line != first+c.line {
					t.Errorf("%s: at %v, want line %d", async, f.Source, first+c.line)
				}
				if c.missing != "" && f.Missing != c.missing {
					t.Errorf("%s: missing %q, want %q", async, f.Missing, c.missing)
				}
			}
		})
	}
}
