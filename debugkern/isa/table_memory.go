package isa

// memoryRows access memory (ISA 9.7.9), one address a lane.
var memoryRows = []row{
	{ops: "ld", args: "vl m- s-?", mods: "@mem @space @sem @scope @cache @vec", need: "@mem", kind: Load},
	{ops: "ldu", args: "vl m-", mods: "@mem global @vec", need: "@mem", kind: Load},
	{ops: "st", args: "m- vl s-?",
		mods: "@mem @space @sem @scope @cache @vec async mbarrier::complete_tx::bytes", need: "@mem",
		kind: Store, when: []variant{{mods: "async", kind: Store, args: "m- vl m-"}}},
	{ops: "atom", args: "vt m- Vt Vt? Vt?",
		mods: "@int @bit @flt @space @sem @scope @vec noftz L2::cache_hint " +
			"add min max inc dec exch cas and or xor", need: "@int @bit @flt", kind: Atomic,
		when: []variant{ // the last operand is the policy
			{mods: "L2::cache_hint cas", kind: Atomic, args: "vt m- Vt Vt s-?"},
			{mods: "L2::cache_hint", kind: Atomic, args: "vt m- Vt s-?"},
		}},
	{ops: "red", args: "m- Vt Vt?", mods: "@int @bit @flt @space @sem @scope @vec noftz L2::cache_hint " +
		"add min max inc dec and or xor async mbarrier::complete_tx::bytes", need: "@int @bit @flt",
		kind: Reduce, when: []variant{
			{mods: "L2::cache_hint", kind: Reduce, args: "m- Vt s-?"},
			{mods: "async", kind: Reduce, args: "m- Vt m-"},
		}},
	{ops: "cp", args: "x-? x-? x-? x-? x-? x-? x-?", mods: "@any", need: "async reduce", kind: BulkCopy,
		when: []variant{
			{mods: "bulk commit_group", kind: CommitBulk, args: "-"},
			{mods: "bulk wait_group", kind: WaitBulk, args: "i-"},
			{mods: "bulk prefetch tensor", kind: Hint, args: "x- x-? x-?"},
			{mods: "bulk prefetch", kind: Hint, args: "m- s- s-?"},
			{mods: "bulk", kind: BulkCopy},
			{mods: "mbarrier", kind: ArriveAsync, args: "m-"},
			{mods: "async commit_group", kind: CommitAsync},
			{mods: "async wait_group", kind: WaitAsync},
			{mods: "async wait_all", kind: WaitAsync},
			{mods: "async", kind: CopyAsync},
		}},
	{ops: "prefetch prefetchu", args: "m-",
		mods: "global local L1 L2 tensormap const param L2::evict_last L2::evict_normal", kind: Hint},
	{ops: "discard applypriority", args: "m- x-?", mods: "@any", kind: Hint},
}

// controlRows are control flow, and order between threads (ISA 9.7.12 to 9.7.14, 9.7.19).
var controlRows = []row{
	{ops: "bra", args: "l-", mods: "uni", kind: Branch},
	{ops: "brx", args: "s- l-", mods: "idx uni", need: "idx", kind: BranchIndexed},
	{ops: "call", args: "x- x- x- x-?", mods: "uni", kind: Call},
	{ops: "ret", args: "-", mods: "uni", kind: Return},
	{ops: "exit", args: "-", mods: "uni", kind: Exit},
	{ops: "trap", args: "-", mods: "uni", kind: Trap},
	{ops: "brkpt", args: "-", mods: "uni", kind: Breakpoint},
	{ops: "bar barrier", args: "x-? x-? x-? x-?",
		mods: "sync arrive red popc and or pred u32 warp cta cluster wait aligned acquire release relaxed",
		kind: Barrier, when: []variant{
			{mods: "cluster", kind: ClusterBarrier},
			{mods: "warp", kind: WarpBarrier},
			{mods: "red", kind: Barrier, args: "X-? x-? x-? x-?"},
		}},
	{ops: "membar", args: "-", mods: "cta gl gpu sys proxy alias async @any", kind: Fence},
	{ops: "fence", args: "x-? x-?", mods: "@any", kind: Fence},
	{ops: "mbarrier", args: "X- x-? x-? x-? x-?", mods: "@any",
		need: "init inval arrive arrive_drop test_wait try_wait pending_count expect_tx complete_tx",
		kind: MBarrier, when: []variant{
			{mods: "init", kind: MBarrier, args: "m- s-"},
			{mods: "inval", kind: MBarrier, args: "m-"},
			{mods: "arrive expect_tx", kind: MBarrier, args: "d- m- s-"},
			{mods: "arrive_drop expect_tx", kind: MBarrier, args: "d- m- s-"},
			{mods: "expect_tx", kind: MBarrier, args: "m- s-"},
			{mods: "complete_tx", kind: MBarrier, args: "m- s-"},
			{mods: "arrive", kind: MBarrier, args: "d- m- s-?"},
			{mods: "arrive_drop", kind: MBarrier, args: "d- m- s-?"},
			{mods: "test_wait", kind: MBarrier, args: "Q- m- s-"},
			{mods: "try_wait", kind: MBarrier, args: "Q- m- s- s-?"},
			{mods: "pending_count", kind: MBarrier, args: "d- s-"},
		}},
	{ops: "shfl", args: "P- st* su su su?", mods: "sync up down bfly idx b32", need: "b32", kind: Shuffle},
	{ops: "vote", args: "P- p- su?", mods: "sync all any uni ballot b32 pred", need: "all any uni ballot",
		kind: Vote, varies: SameInWarp},
	{ops: "match", args: "P- s- su", mods: "sync any all b32 b64", need: "any all", kind: Vote,
		varies: ByThread},
	{ops: "activemask", args: "du", mods: "b32", need: "b32", kind: Vote, varies: SameInWarp},
	{ops: "redux", args: "du su su", mods: "sync add min max and or xor u32 s32 b32 f32 abs NaN",
		need: "add min max and or xor", kind: Vote, varies: SameInWarp},
	{ops: "elect", args: "P- su", mods: "sync", need: "sync", kind: Vote, varies: SameInWarp},
	{ops: "nanosleep", args: "su", mods: "u32", need: "u32", kind: Hint},
	{ops: "griddepcontrol", args: "-", mods: "launch_dependents wait", need: "launch_dependents wait",
		kind: Hint},
	{ops: "pmevent", args: "i-", mods: "mask", kind: Hint},
}

// matrixRows are instructions of a whole warp on matrices (ISA 9.7.14).
var matrixRows = []row{
	{ops: "wmma", args: "x- x- x-? x-? x-?",
		mods: "load store mma a b c d sync aligned row col @shape @space @flt @int @sub " +
			"xor and popc satfinite @rnd",
		need: "load store mma", kind: Multiply, when: []variant{
			{mods: "load a", kind: LoadFragment, args: "XA x- x-?"},
			{mods: "load b", kind: LoadFragment, args: "XB x- x-?"},
			{mods: "load", kind: LoadFragment, args: "XC x- x-?"},
			{mods: "store", kind: StoreFragment, args: "x- xD x-?"},
			{mods: "mma", kind: Multiply, args: "XD xA xB xC x-?"},
		}},
	{ops: "mma", args: "VD VA VB VC x-? x-? x-? x-? x-? x-?", mods: "@any", need: "@shape", kind: Multiply,
		when: []variant{
			{mods: "sp", kind: Multiply, args: "VD VA VB VC s- i- x-? x-? x-? x-? x-? x-?"},
			{mods: "sp::ordered_metadata", kind: Multiply, args: "VD VA VB VC s- i- x-? x-? x-? x-? x-? x-?"},
		}},
	{ops: "ldmatrix", args: "vM m-",
		mods: "sync aligned m8n8 m16n16 m8n16 x1 x2 x4 trans @space b16 b8 b8x16 b6x16_p32 b4x16_p64",
		need: "x1 x2 x4", kind: LoadMatrix},
	{ops: "stmatrix", args: "m- vM", mods: "sync aligned m8n8 m16n8 x1 x2 x4 trans @space b16 b8",
		need: "x1 x2 x4", kind: StoreMatrix},
	{ops: "movmatrix", args: "d- s-", mods: "sync aligned m8n8 trans b16", need: "b16", kind: MoveMatrix},
	{ops: "wgmma", args: "-", mods: "@any", need: "mma_async fence commit_group wait_group",
		kind: WgmmaMultiply, when: []variant{
			{mods: "mma_async sp", kind: WgmmaSparse, args: "V- x- s- s- i- p- i-? i-? i-? i-?"},
			{mods: "mma_async", kind: WgmmaMultiply, args: "V- x- s- p- i-? i-? i-? i-?"},
			{mods: "fence", kind: WgmmaFence, args: "-"},
			{mods: "commit_group", kind: WgmmaCommit, args: "-"},
			{mods: "wait_group", kind: WgmmaWait, args: "i-"},
		}},
}
