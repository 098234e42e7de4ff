package bugs

import (
	"hash/fnv"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReasons: what a story says of a bug, one of each kind of reason that a diagnosis has for a wrong value:
// operands, how they come together, the operation, the line as it should read, and each kind of edit of two
// places or of what the source lacks.
func TestReasons(t *testing.T) {
	for _, c := range []struct{ name, says string }{
		{"quad-sum-pairs", `not made of S\[0\]\[4\.\.7.*which lanes 2, 3 of warps 0 and 1 have.*:173`},
		{
			"swizzle-not-read",
			`multiplies Q\[0\]\[\d+\] with K\[1\]\[\d+\], where K\[1\]\[\d+\] belongs, in 64 products`,
		},
		{"bias-read-as-half", `the elements of bias are f32, and are read as f16 here`},
		{"divided-by-m", `is made of m\[0\], taken at .*:199, where l\[0\] belongs`},
		{"gain-from-beta", `is made of beta\[0\] twice, taken at .*:91, and not of gamma\[0\]`},
		{
			"second-pass-late",
			`not made of X\[0\]\[0\.\.31\]; the others are taken at .*:69 and come together at .*:70`,
		},
		{
			"last-columns-dropped",
			`not made of P\[0\]\[0\.\.31\].* at all; in right cells they come in at .*:165`,
		},
		{"products-to-key-rows", `gets at .*:165 what belongs to cell \(16,0\), made of P\[16\]\[0\.\.15\]`},
		{"b-registers-overlap", `taken at .*:65 .*, which .*:55 .* loads into a register that nothing reads`},
		{
			"one-exponential-for-two-columns",
			`not made of X\[0\].*compared at .*:113 only the largest enters.*\(called from .*:114\)`,
		},
		{"max-of-one-half", `not made of X\[2\]\[32\.\.63\], which .*:112 loads`},
		{"p-step-by-columns", `is made of P\[0\]\[0\.\.15\] twice, taken at .*:559, and not of P\[0\]\[16\.\.31\]`},
		{"third-part-twice-fourth-never", `twice, taken at .*:138, and not of`},
		{"partner-maximum-alone", `have themselves: at .*:442 they take what others have and leave that out`},
		{"tile-sum-kept-for-the-next", `twice: in l of the iteration before, and in what is added up at .*:242`},
		{"values-by-score-gradient", `dV is made of dS where P belongs .*, which is read at .*:200`},
		{"key-moved-behind-the-gate", `key0, which is in it, moves on at line 194 alone`},
		{"window-edge-from-walk-start", `keeps the value that it begins with: by the condition at .*:159 `},
		{"mask-by-first-key", `look at the comparison at .*:190.*column 1 of row 0 should not take part`},
		{"lse-as-plain-sum", `computed as 2\^\(\(S - 0\)\*1\.4427\)/LSE, and the manifest has exp\(S - LSE\)`},
		{"tanh-exponent-not-doubled", `the multiplication \(\*\) at .*:82 .* would have to be 2 times what it is`},
		{"tanh-by-pade", `the result of the division \(/\) at .*:83 would have to be tanh\(0\.79788`},
		{"inverse-root-without-newton", `at .*:86 would have to be rsqrt\(var \+ 1e-05\)`},
		{"eps-times-variance", `1/sqrt\(var\*eps \+ var\)\), and the manifest has`},
		{"exponential-by-its-bits", `(?s)one cause.*rounded to an integer at .*:62 `},
		{"decoded-in-half", `(?s)one cause.*at .*:14\) on did not round to f16`},
		{"v-awaited-at-first-stage", `complete on v_full\[1\], at which no thread waits .*v_full\[0\] instead \(.*:276\)`},
		{"second-maximum-overwrites-the-first", `computed at .*:114(?s:.*)look at .*:114, and at what its operands`},
		{
			"missing-keys-out-of-the-maximum-alone",
			`line 229 compares 73 with 73 for column 9, and P does not depend on that`,
		},
		{
			"infinity-a-digit-short",
			`line 130 compares 17 with 17 for column 17, and what is chosen there takes part all the same`,
		},
		{
			"outputs-of-a-head-columns-first",
			`it is the value of cell \(1,0\)(?s:.*)by which the value of cell \(1,0\) is stored in cell \(0,1\)`,
		},
		{
			"odd-lanes-own-pair-stored-first",
			`is read at .*:299, and at that by which the cell is stored at line 303`,
		},
		{"two-floats-stored-for-two-halves", `writes 2 of type f32, of 4 bytes each, where elements of O have 2`},
		{"warps-cut-off-store-nothing", `and at the condition at line 603, which leaves it out`},
		{"line-of-the-table-twice", `8 entries are wrong: lane 19 element 0 \(4,4\) for \(4,6\)`},
		{"gain-read-as-half", `loaded from gamma\[6\]: (?s:.*)the elements of gamma are f32, and are read as f16`},
		{"second-round-taken-for-first", `the wait at .*:154 is never executed`},
		{"consumer-without-rows-leaves", `(?s)one cause.*warps 8-11 have left the kernel: they parted at .*:171`},
		{"tile-rows-past-end-unset", `(?s)one cause.*the index comes from i at .*:71`},
		{"causal-no-barrier-a", `(?s)sQ at lines 98 and 135, to sK at lines 112.*between lines 114 and 119`},
		{"part-overwritten", `put __syncthreads\(\) between lines 212 and 213`},
		{"barrier-if-full", `move the barrier of line 78 out of the condition .* block 2,0,0 do not meet`},
		{"u-columns-unset", `lines 67 and 68 both write U_smem\[0:32\]\[16:32\]; U_smem\[0:32\]\[48:64\]`},
		{"quadrants-exchanged", `its column follows warp % 2, and nothing follows warp / 2`},
		{"exit-without-rows", `warp 3 leaves at .*:242, and no thread writes .* sKT .*:327\), read at :384`},
		{"row-128-apart", `one row further its index in X is 128 further, and should be 160`},
		{"q-rows-of-first-warp", `8 rows further its index in Q is 0 further, and should be 512`},
		{
			"kv-rows-of-queries", // not every block has another head of K than the block before
			`block 0,1,0 begins with K\[0\]\[0\]\[0\]\[0\], as it should, and block 0,2,0 begins with ` +
				`K\[0\]\[0\]\[64\]\[0\], and should with K\[0\]\[1\]\[0\]\[0\]`,
		},
		{"tables-built-crosswise", `(?s)one cause.*K has what belongs in V, and V what belongs in K`},
		{"refilled-before-stored", `(?s)one cause.*look at the call at .*:130: at what it is given`},
		{"rescale-before-the-quad-agrees", `(?s)one cause.*l, first at .* made wrong at .*:235 `},
		{"accumulated-fragment", `the sum at .*:157 goes on from one that is used at line 1`},
		{"half-mask", `for column 17 line 402 compares 1 with 17`},
		{"sum-in-half", `right with float throughout, not f16 in between`},
		{"no-root", `:86: 1/x instead of 1/sqrt\(x\)`},
		{"gelu-constant", "write `const float phi2 = .*0\\.707106781f"},
		{"mean-over-128", `:65: C in place of 128; that is 160 here, and 160 itself leaves shape small`},
		{"buffer-not-toggled", `(?s)sA\[1\] is never written or read.*index of the buffer at .*:129`},
		{"log-added", "write `Y\\[at\\] = .*__fsub_rn\\(__fsub_rn"},
		{"block-axes-exchanged", `blockIdx\.x and blockIdx\.y exchanged`},
		{"b-rows-of-k", `:118 .*N in place of K where it is computed with`},
		{"v-of-interleaved-heads", "of `kv_base` of line 78 in place of `v_head` of line 99"},
		{"guard-without-block", ":298: `query0` of line 129 added to `row0` of line 169"},
		{"odd-last-row-unwritten", ":138: the number itself in place of the next lower multiple of 2"},
		{"diagonal-sign-turned", ":154: write `const int last = query - key0;`"},
		{
			"columns-not-rewound",
			`line 71, which would make it, is never executed .* line 69 compares 224 with 203`,
		},
		{"merge-loop-of-warps", `look at which cells .*:165 stores: the wrong ones are those`},
		{"query-tiles-counted", `divisor 16 in place of divisor 32`},
		{"squares-of-both-rows", `a sum that begins with 0 each time`},
		{"query0-unsigned", `a difference that is not below 0`},
		{"columns-first-unwrapped", `threadIdx\.x & 8 in place of threadIdx\.x & 24`},
		{"leader-of-eight", `threadIdx\.x % 4 in place of threadIdx\.x % 8`},
		{"sink-of-score-zero", "write `l_smem\\[first_row \\+ lane\\] = 0\\.0f;`"},
		{"largest-of-fnuz", `simulated_fp8\.cuh:10: 3\.52755906 \(max / levels\) in place of 1\.88976383`},
		{"unseen-row-left-out", "leave out the `continue`; the line is `if \\(kv \\* TILE_N >= end\\)"},
		{"normalised-in-place", "write `const float xhat = .*__half2float\\(X\\[at\\]\\)"},
		{"l-reduced-again", `:294: leave out the call of row_sum`},
		{"coefficient-of-x-alone", `:82 .*the factor on the whole sum, not on one term of it`},
		{"maximum-down-the-quads", `exchange at \S+:167 .* brings from lanes 4, .* of lanes 1–3 of warps 0 and 1`},
		{
			"rows-of-a-head-as-of-scores", // whose tile is written by another loop, rightly
			`begins 384 elements apart, and a multiple of 72 belongs there; the index comes from r at .*:101: `,
		},
		{
			"batch-counted-twice",
			`begins with K\[2\]\[0\]\[0\]\[0\], where K\[1\]\[0\]\[0\]\[0\] belongs; one blockIdx\.z further its ` +
				`index in K is 36864 further, and should be 18432: 18432 by blockIdx\.z and 18432 by kv_head of .*:72`,
		},
		{
			"lse-of-rounded-rows",
			`LSE\[1\]\[0\]\[23\], where LSE\[1\]\[0\]\[0\] belongs; one blockIdx\.z further its index in LSE is 64 ` +
				`further, and should be 41: 64 by what is computed at .*:166`,
		},
		{
			"scratch-by-column-half", // the mask of the address is computed before the loop, in bytes
			`(?s)race on sPV_frag at .*:561\n.*warps 0 and 2 both write sPV_frag\[0\].*no thread of the block uses ` +
				`\[2\] and \[3\].*at .*:561 and line 569: % 4 in place of % 2 in the first index of sPV_frag`,
		},
		{
			"l-summed-in-first-lane", `with __shfl_xor_sync in place of __shfl_down_sync at \S+:104 and line 105, ` +
				`nothing is wrong`,
		},
		{
			"statistics-interleaved",
			`row 2 of m is stored at m_smem\[1\] by .*:127, whose index is t / 32 \+ i \* WARPS`,
		},
		{
			"delta-shuffled-up",
			`(?s):162 does not bring there: it brings lane 0 of warp 0 its own value.*at \S+:162: write .*shfl_xor`,
		},
		{"delta-of-o-and-o", `:158 and line 157: dO times O in place of O times O`},
		{
			"part-read-transposed",
			`stored at \S+:561 in another order than it is read in at line 569;(?s).*:561 stores row-major`,
		},
		{"l-half-twice", `S\[0\]\[16\.\.31\], which lanes 0–3 of warp 1 have and .*:508 does not bring there`},
		{"u-rescaled-unpadded", `is made of m@0\[26\], m\[26\], taken at .*:176, where m@0\[25\], m\[25\] belongs`},
		{"rescale-by-column-parity", `m@0\[9\], m\[9\], taken at .*:275, where m@0\[1\], m\[1\] belongs`},
		{"dv-from-dk", `dK where dV belongs .*, which is read at .*:228`},
		{"copy-of-half-chunk", `the copy at .*:9 .* reads less than it writes.*(?s).*16 in place of 8`},
		{"mask-by-last-row-of-warp", `is 40 in rows 1–6, and would have to be 34, 35, 36, 37, 38, 39`},
		{"query-of-first-block", `is 0, 1, 2, 3, 4, 5 in rows 0–5, and would have to be at least 15`},
		{"factor-kept-where-m-stays", `:508 reads again what it read in the iteration before, stored at line 459`},
		{"reciprocal-in-integers", `the multiplication \(\*\) at .*:65 has a factor 0, which is made at line 53`},
		{"l-grows-only-with-m", `it keeps its value of the tile before: by the condition at .*:115 `},
		{"infinity-of-double", `the constant 0xfff00000 at .*:86 is a NaN as a float`},
		{
			"consumer-counted-twice",
			`warps 8, 9, 10, 11 give the probe rows or columns outside of the tile at line 210.*(?s).*row0 there is from`,
		},
		{"carried-sum-twice", `what .*:164 gives, which the first addition .* at line 168 begins with`},
		{"dq-of-first-tile", `block 0,0,0 adds to dQ in rows 0–31 3 times, in rows 32–95 never`},
		{"last-column-repeated", `X\[0\]\[11\.\.63\] too, which lies past the last row or column .*stored at .*:106`},
		{"output-as-bf16", `the wrong cells of O are right as bf16 numbers, and are read as f16`},
		{"weights-summed-before-stored", `line 485 reads sP before line 487 writes it`},
		{"scales-as-one-array", `the kernel reads nothing of Vs`},
		{"gamma-beta-exchanged", `:43: write .layernorm\(const half\* __restrict__ X, const float\* __restrict__ gamma,`},
		{"gradients-stored-crosswise", `made wrong at .*:227: right with dK and dV exchanged`},
		{"v-coordinate-in-tiles", `V\[0\]\[0\]\[1\]\[0\], taken at own_hopper.cuh:56 `},
		{"epilogue-to-last-row-of-c", `cell there is counted by the loop at .*:157`},
		{"break-for-continue", `by the condition at .*:159 .*; where it holds, it leaves the loop`},
		{"barrier-of-every-other-tile", `the barrier of line 122 is under a condition: write .__syncthreads\(\);  // B. in place of .if \(tile % 2 == 1\)`},
		{"halves-of-rows-synced-apart", `the barrier of line 156 is one of 128 of the block's 256 threads`},
		{"first-warp-does-not-wait", `at the barrier of line 192 threads arrive \(bar\.arrive\) and do not wait`},
		{"decoded-by-another-thread", `put __syncthreads\(\) between lines 318 and 320`},
		{"rows-past-end-skip-the-exchange", `(?s)one cause.*also seen of it: hang on v_empty.*before the branch at .*:235`},
		{"weights-raised-never-lowered", `write .sP\[row\]\[lane\] = __float2half_rn\(p\);`},
		{"keys-all-before-values", `they wait for each other: warp 0 waits at own_stage5_hopper\.cu:154 for k_empty\[1\]`},
		{"values-copied-over-keys", `have the copy at own_stage5_hopper\.cu:159 write sV in place of sK`},
		{"panels-over-the-first", `8 copies that own_stage5_hopper\.cu:118 issues write the same bytes of sK`},
		{"group-closed-before-its-products", `move the wgmma\.commit_group of line 195 before line 200`},
		{"scales-declared-v-before-k", `exchange the parameters Vs and Ks at .*:202 and line 203`},
		{"products-never-committed", `(?s)put wgmma\.commit_group before own_stage5_hopper\.cu:280.*nothing is wrong`},
		{"producer-awaits-other-phase", `the wait at own_stage5_hopper\.cu:154 for k_empty\[0\] .*is over at once`},
		{"quad-maximum-shuffled-down", `look at which operand is taken at own_stage5_hopper\.cu:101`},
		{"window-in-fixed-chunks", `(?s)one cause.*is 8 in rows 24.29, and would have to be at most 0`},
		{"x-read-as-bf16", `the elements of X are f16, and the bits of one are taken as f32`},
		{"columns-added-before-product", `dO\[0\]\[0\]\[0\]\[0\] with O\[0\]\[0\]\[0\]\[32\], where`},
		{"block-column-in-words", `rows_first at own_m16n8k16\.cuh:35`},
		{"signature-has-s-before-h", `:44: write .int H, int S, int D, float softmax_scale TS_PARAM\) \{. in place of`},
		{"values-released-while-multiplied", `(?s)v_empty\[0\] at own_stage5_hopper\.cu:282 gives sV\[0\] free.*behind line 283`},
		{
			"next-gradients-copied-before-dv",
			`belongs: that lay in sdO, and .*:75 \(called from .*:188\) has stored the other over it before it was read`,
		},
		{"rescaled-by-the-threads-own-factor", `m@0\[26\], m\[26\], taken at .*:177, where m@0\[0\], m\[0\] belongs`},
		{"dq-added-behind-the-walk", `look at the condition at .*:218, which leaves line 221 out`},
		{"u-rescaled-a-tile-late", `multiplied at .*:202 by a factor in which m of this tile has no part; it is made at`},
		{"k-decoded-ahead-of-the-wait", `the waits for it at lines 323 and 325 stand behind the read at line 310`},
		{"v-multiplied-without-transpose", `with imm-trans-b 1 of wgmma in place of 0 at own_hopper\.cuh:154 the finding is gone`},
		{
			"a-pair-seen-by-its-first-key",
			`decides about m, which is right, and what is chosen by it at line 168 is not(?s:.*)comparison at .*:168`,
		},
		{
			"scores-cleared-at-every-step",
			`read before, and the sum at .*:75 .* begins anew behind them, with what is set at .*:372`,
		},
		{"third-word-taken-from-the-second", `taken at own_flashcore\.cuh:105 .*, which .*:92 .* loads into a register`},
		{"dq-taken-for-half", `elements of dQ are f32, of 4 bytes, and .*:220 writes numbers of type f16`},
		{
			"output-of-a-token-over-heads",
			`one row further its index in O is 128 further, and should be 64(?s:.*)is stored at .*:301`,
		},
		{"mbarrier-past-the-shared-memory", `the block has 49224 bytes of shared memory, and this is byte 49224`},
		{"coefficient-not-multiplied-out", `the result of the operation at .*:82 would have to be tanh\(`},
		{"eps-of-another-library", `:86: write .*__fadd_rn\(var_smem\[r\], eps\)`},
		{"parts-of-dq-zeroed-by-late-blocks", `:146: leave out .*: what stands in these cells by then`},
		{
			"logarithm-of-two-for-the-natural-one",
			`the result of log2f at .*:142 would have to be 0\.693147(?s:.*):142: write logf in place of log2f`,
		},
		{
			"half-of-the-pairs-packed",
			`(?s)one cause.*registers that nothing has written, taken at .*:154.*:254 writes p: `,
		},
		{
			"whole-column-inside-its-panel",
			`(?s)one cause.*reads sV too, which holds nothing that S is computed from.*computed at \S+:98: `,
		},
		{"root-of-the-scale-once", `made wrong at .*:209: right without the sqrt\(x\)`},
		{"keys-seen-capped-by-the-queries", `looks like mask \(without its offset of 32`},
		{"maximum-of-bits", `:68 \(.*: floats in place of the bits of floats as unsigned numbers`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			says(t, c.name, c.says)
		})
	}
}

// turn skips a bug unless it is one of the sixteenth part that is diagnosed each time, by its name, or
// TILESCOPE_LONG is set: make stories.
func turn(t *testing.T, name string) {
	t.Helper()
	h := fnv.New32a()
	h.Write([]byte("11/" + name))
	if h.Sum32()%16 != 0 && os.Getenv("TILESCOPE_LONG") == "" {
		t.Skip("one bug of sixteen is diagnosed without TILESCOPE_LONG: make stories has all")
	}
}

// says requires the story of a bug, of one of the sets that diagnose is developed with, to match a regular
// expression.
func says(t *testing.T, name, want string) {
	t.Helper()
	turn(t, name)
	bugs := developing(t)
	i := slices.IndexFunc(bugs, func(b *bug) bool { return b.Name == name })
	if i < 0 {
		t.Fatal("there is no such bug")
	}
	d := bugs[i].answer(t)
	if d == nil {
		t.FailNow()
	}
	if story := strings.Join(d.Story, "\n"); !regexp.MustCompile(want).MatchString(story) {
		t.Errorf("the story does not say %q:\n%s", want, story)
	}
}
