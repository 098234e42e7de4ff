package bugs

import (
	"testing"
)

// TestFindings: what a story that begins with a finding says of its cause, and of the change that was tried:
// one bug for each way in which a finding is explained.
func TestFindings(t *testing.T) {
	for _, c := range []struct{ name, says string }{
		{
			"sum-inside-branch", `(?s)lane 0 of warp 0 waits in shfl\.sync.*for lanes 1-31.*they parted at line 72` +
				".*execute warp_sum.*before the branch at .*:72.*the deadlock is gone, nothing is wrong",
		},
		{
			"a-rows-four-apart", "(?s)its row in sA is 4 further from one i to the next, and should be 8, " +
				"THREADS / TILE_K.*write `.*sA\\[buffer\\]\\[i \\* \\(THREADS / TILE_K\\) \\+ t / TILE_K\\].*" +
				"nothing is wrong",
		},
		{
			"b-columns-of-32", "its column in sB does not move with warp % 2, and should by 32: then every store",
		},
		{
			"part-rows-of-32", "(?s)a row of sPV_frag has 16 elements, and .* 32 apart.*write `.*pv_frag, 16, .*" +
				"nothing is wrong; shape partial .* is right with it too",
		},
		{
			"row-read-in-pairs", `(?s)misaligned on X.*2 elements of X at once, and its rows have 203.*also seen` +
				`.*out-of-bounds on X`,
		},
		{
			"buffer-beyond-one", "(?s)of sA reaches 1 .* where 0 is the last: it is made of buffer.*write `" +
				"const int buffer = kt % BUFFERS;`.*modulo 1 the finding is gone",
		},
		{
			"decode-of-two-buffers", "(?s)fills buffers 0, 1, 2, 0 of sK_u8 in turn, .* reads buffers 0, 1, 0, 1.*" +
				"write `.*&sK_u8\\[kv % BUFFERS\\].*nothing is wrong",
		},
		{
			"ring-stepped-between-keys-and-values", `phase 0 of v_full\[1\] is over by an arrival of warp 0 at .*:159, ` +
				`(?s:.*)comes from stage at .*:156.*stage at .*:187`,
		},
		{
			"last-step-of-scores-under-way", `(?s)one cause.*wgmma_wait<1>.*with wgmma.wait_group 0 in place of 1 at ` +
				`.*:200 the finding is gone, nothing is wrong`,
		},
		{
			"quarters-of-a-row-agreed-within-the-warp",
			`warp 1 lane 0 writes quarter\[128\] at .*:159, .* reads it at ` +
				`.*the bar.warp.sync of line 160 orders the lanes of one warp alone`,
		},
		{"queries-in-registers-ahead-of-barrier-a", `between lines 84 and 95 of own_attention_gqa.cu`},
		{
			"row-kept-in-128-halves", `writes 2 bytes from byte 1024 of row_smem on; row_smem has 1024 bytes`,
		},
		{
			"tile-fetched-into-copies",
			`of the store at .*:131 the compiler has left nothing: what it stores is never set`,
		},
		{
			"copied-by-another-thread", `thread t waits for its own copies.* row t % 32, column 16·\(t / 32\).*` +
				`reads it from row t / 4, column 16·\(t % 4\) on`,
		},
		{
			"c-without-col0", `columns 64-191 of C are never written.*its column in C is 0 further from one ` +
				`blockIdx\.x to the next, and should be 64`,
		},
		{
			"v-released-as-k", "(?s)one cause.*v_empty\\[0\\], which needs 8 as well, gets none.*write `.*" +
				"mbarrier_arrive\\(&shared.v_empty\\[stage\\]\\);`.*nothing is wrong",
		},
		{
			"barrier-behind-continue", `(?s)to the barrier at .*:77: warp 0 2 times, warp 1 once, warps 2-3 not at ` +
				`all; the branch at line 56 leads past it.*change: move the barrier of line 77 .*nothing is wrong`,
		},
		{
			"v-freed-by-one-consumer", `(?s)one cause.*v_empty\[0\] is over with 4 arrivals, .* at .*:139, and 8 ` +
				`come for each: warps 4-11.*at .*:139: initialise v_empty with 8 arrivals.*nothing is wrong`,
		},
		{
			"rescaled-behind-the-fence", `is written by mul\.rn\.f32 at own_stage5_hopper\.cu:277, behind the ` +
				`wgmma\.fence at .*called from own_stage5_hopper\.cu:275(?s:.*)change: wgmma\.fence between ` +
				`own_stage5_hopper\.cu:277 and .*: move there the one at .*called from own_stage5_hopper\.cu:275`,
		},
		{
			"q-tile-of-a-consumer", `(?s)one cause.*copy of 16384 bytes at .*:118, 148\), and its destination has 8192` +
				`.*behind its start the copy at .*:118, 155\) begins.*also seen of it: hang`,
		},
		{
			"walk-from-block-end", `(?s)ran for 2 of 3, 1 of 2 and 0 of 1 tiles in 6 of 12 blocks.*begins with tile 1 ` +
				`of Q, and should with tile 0: tiles lack at the beginning, and none at the end.*change: .*` +
				`with 15 in place of 16 there every stage is right`,
		},
		{
			"prefetch-as-far-as-buffers", `(?s)one cause.*tile 3 is copied to buffer 0 of 3 of sK_u8 at .*249, 310\), ` +
				`and tile 0, which is there, is read only afterwards, at .*:323\): copies run 3 tiles ahead of the ` +
				`reads, and 3 buffers allow 2.*also seen of it: cp-async on sV_u8.*copy at most 2 tiles ahead`,
		},
		{
			"edge-keeps-last-tile", `(?s)one cause.*cell \(0,5\) of A is still A\[0\]\[69\], taken at .*:113 .*, as ` +
				`in k tile 2, and 0 belongs there; 864 cells of k tile 3 keep.*also seen of it: arithmetic of stage ` +
				`B.*write 0 in these cells`,
		},
		{
			"first-tile-replaces", `change: at own_stage5_hopper\.cu:197: its condition left out: ` +
				`always 1; the line is .*kv > 0`,
		},
		{
			"end-of-tile-announced-not-awaited", `(?s)at the barrier of line 167 threads arrive \(bar\.arrive\) and do ` +
				`not wait.*write .__syncthreads\(\);  // D. in place of .*in place of the barrier of line 167 the race ` +
				`is gone, nothing is wrong`,
		},
		{
			"softmax-waits-and-products-do-not", `change: put __syncthreads\(\) in place of the barriers of lines 177 ` +
				`and 178`,
		},
		{
			"maximum-settled-by-the-first-tile", `by the condition at own_\S+:478, which compares 1 with 0 there, the ` +
				`result of the maximum at line 154`,
		},
		{
			"products-added-from-the-second-tile", `made wrong at own_stage5_hopper\.cu:197: right with its condition ` +
				`left out: always 1`,
		},
		{
			"q-takes-the-columns-of-k", `(?s)made wrong by what is passed at own_\S+:373.*change: look at what is passed at`,
		},
		{
			"every-lane-frees-the-keys", `(?s)all 32 lanes of a warp arrive at k_empty\[0\] at own_\S+:206, and a phase ` +
				`of it is over with 8 arrivals: one instruction ends 4 phases.*with one lane of each warp arriving at ` +
				`own_\S+:206 .* nothing is wrong`,
		},
		{
			"first-turn-given-behind-own-wait", `(?s)warps 4-7 and warps 8-11 wait for each other at own_\S+:192.*` +
				`warps 4-7 wait at barrier 1 for 128 of 256 threads, .*the next arrival behind the wait at ` +
				`own_stage5_hopper\.cu:192 is at own_stage5_hopper\.cu:193`,
		},
		{
			"round-by-a-shift-of-the-stages", `(?s)pass the wait at own_\S+:192 2 times by phase 0 of k_full\[0\], ` +
				`which is over already, and no thread waits for phase 1.*parity there is from own_\S+:188`,
		},
		{
			"partners-part-added-behind-its-own-sync",
			`(?s)put __syncthreads\(\) between lines 158 and 164, and ` +
				`__syncthreads\(\) between lines 164 and 158.*the race is gone .*nothing is wrong`,
		},
		{
			"one-call-for-both-products-scaled",
			`for dP alone, as S, which is right, is made at the same line`,
		},
		{
			"swizzle-numbered-as-in-tensor-maps", `(?s)with code 3 in bits 62 and 63, says 32 bytes.*swizzle there is ` +
				`from own_hopper\.cuh:111.*with code 1 in place of 3 .* nothing is wrong`,
		},
		{
			"bits-converted-as-a-count", `the bits of the result of the conversion at own_\S+:261 are converted as if ` +
				`they were an integer`,
		},
		{
			"buffer-numbers-go-on", `writes 16 bytes from sV_u8\[3\]\[0\]\[0\] on; sV_u8 has 3×32×64 elements`,
		},
		{
			"maximum-goes-on-from-row-zero", `the maximum at own_softmax_row\.cu:113 goes on from an earlier one`,
		},
		{
			"stored-in-steps-of-a-group", `(?s)12416 never written: one cause.*stage O, first at \(8,0\): never written`,
		},
		{
			"one-number-for-both-pairs", `race on half_max between .*:410 and line 442, on m_smem at line \d+`,
		},
		{
			"l-never-reduced", `(?s)one cause.*also seen of it: arithmetic of stage O`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			says(t, c.name, c.says)
		})
	}
}
