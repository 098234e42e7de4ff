package schema

import (
	"math"
	"slices"

	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// sections is the table. A row is a key; the reference, the JSON Schema and the reader's
// checks follow from it.
var sections = slices.Concat([]Section{
	{Name: "manifest", Help: "A kernel: what is launched, and what its stages mean. The document.",
		Keys: []Key{
			{"schema", words("tilescope.kernel/1"), need, "", "the format", "schema: tilescope.kernel/1"},
			{"name", label, need, "",
				"the kernel's name, and that of its only variant where it declares none", "name: my_gemm"},
			{"title", text, free, "", "one line for lists and headings", "title: C = A·B by WMMA"},
			{"source", path, free, "", "the CUDA source; this or `ptx`", "source: my_gemm.cu"},
			{"ptx", path, free, "",
				"PTX in place of a source, also that of a bundle (`.tsl`); nothing is compiled then, and flags and a gate say how it was",
				"ptx: my_gemm.ptx"},
			{"include", list(path), free, "",
				"directories that headers are looked for in, after the source's own", "include: [../common]"},
			{"defines", names(Identifier, scalar), free, "",
				"preprocessor symbols that are no flags", "defines: {TILE: 64}"},
			{"std", Value{Form: Text, Kind: "a C++ standard", Pattern: Standard}, free, "c++17",
				"the language to compile as", "std: c++20"},
			{"arch", Value{Form: Text, Kind: "an architecture", Pattern: Architecture}, free, "any",
				"the architecture that the source is written for: what it is compiled for", "arch: sm_90a"},
			{"instantiate", texts, free, "",
				"kernel templates with arguments, in addition to those that the source instantiates",
				`instantiate: ["gemm<64,128>"]`},
			{"entry", identifier, need, "", "the kernel's name in the PTX", "entry: my_gemm"},
			{"constants", names(Identifier, expression), free, "",
				"names for expressions; of flags and of constants before them",
				"constants: {TILE_M: 64, BUFFERS: 2 + USE_THREE}"},
			{"requires", listOf("requirement"), free, "",
				"what must hold of a shape; another is refused",
				`requires: [{that: K % 16 == 0, say: "K is a multiple of 16"}]`},
			{"launch", sub("launch"), need, "",
				"the launch's geometry", "launch: {grid: [ceil_div(M, TILE_M), 1, 1], block: [128, 1, 1]}"},
			{"args", listOf("argument"), need, "",
				"the kernel's parameters, in order", `args: [{name: n, type: i32, value: M}]`},
			{"scale", expression, free, "1 / sqrt(D)",
				"what scores are multiplied by, where no argument is it (`role: scale`)", "scale: 0.125"},
			{"quantiser", sub("quantiser"), free, "",
				"how the host encodes inputs of 8 bits",
				"quantiser: {kind: sim-fp8, zero: 128, levels: 127, max: 448}"},
			{"computed", sub("computed"), free, "",
				"what the inputs with `fill: computed` are: stages over a grid of their own, which the host computes",
				"computed: {stages: [{name: total, dims: [M, 1], op: {reduce: X, how: sum}, capture: {output: sums, at: [0], rows: 0}}]}"},
			{"work", sub("work"), free, "",
				"where a block and an iteration are in the problem, by name",
				"work: {row: bx * TILE_M, tiles: ceil_div(K, 16)}"},
			{"loops", listOf("loop"), free, "",
				"the loops of a block, the outermost first, in place of `work.tiles`",
				"loops: [{name: kt, count: ceil_div(K, 16)}]"},
			{"shared", listOf("shared"), free, "",
				"arrays in shared memory", "shared: [{name: sA, type: f16, dims: [64, 16]}]"},
			{"flags", listOf("flag"), free, "",
				"preprocessor symbols that runs set (`--set`)", "flags: [{name: USE_BIAS}]"},
			{"variants", names(Label, either(flagValues, sub("variant"))), free, "",
				"named sets of flags, each a target", "variants: {plain: {}, biased: {USE_BIAS: 1}}"},
			{"default", label, free, "the first",
				"the variant that the kernel's own name means", "default: plain"},
			{"gates", list(either(label, sub("gate"))), free, "",
				"builds that stop after some stages, or have stages injected: a conventional name, or a mapping",
				"gates: [qk]"},
			{"stages", listOf("stage"), free, "",
				"what a block computes and leaves to be compared, in order; none: the checkers alone",
				"stages: [{name: C, axes: [row, col], dtype: f32, dims: [64, 64], valid: [64, 64], per: block, capture: probe}]"},
			{
				"shapes", names(`^[A-Za-z_][A-Za-z0-9_.+-]*$`,
					either(listedShape, names(Identifier, whole(1, math.MaxInt32)))), free, "",
				"named problem sizes (`--shape`): extents by name, or [B, H, S, D]; `validation`, or else the first, is taken where none is named",
				"shapes: {small: {M: 64, N: 48, K: 32}}",
			},
			{"thresholds", sub("thresholds"), free, "",
				"limits of `tilescope gates`, and of the output's verdict",
				"thresholds: {ptxas: {registers: 96}}"},
			{"references", names(Identifier, sub("named-reference")), free, "",
				"names for references that several stages or outputs have",
				"references: {torch: {command: [python3, ref.py]}}"},
			{"faults", listOf("fault"), free, "",
				"planted mistakes (`--fault`)",
				"faults: [{name: no-sync, patch: no-sync.patch, base: plain, shape: small, help: a barrier too few}]"},
		}},
	{Name: "launch", At: "launch", Help: "Expressions may use the shape, constants and flags.", Keys: []Key{
		{"grid", exprs(3), need, "", "blocks", "grid: [ceil_div(S, TILE_M), H, B]"},
		{"block", exprs(3), need, "", "threads of a block", "block: [32 * WARPS, 1, 1]"},
		{"shared", expression, free, "0",
			"dynamic shared memory of a block, bytes", "shared: 2 * TILE_M * 64"},
		{"cluster", exprs(3), free, "[1, 1, 1]",
			"blocks of a cluster, where the kernel is not compiled for clusters of a size", "cluster: [2, 1, 1]"},
		{"cooperative", truth, free, "", "a cooperative launch: blocks may wait for all others (`grid.sync()`)",
			"cooperative: true"},
	}},
	{
		Name: "argument", At: "args[]",
		Help: "A parameter: a pointer has `dims` and a `role`, a scalar a `value`.",
		Keys: []Key{
			{"name", identifier, need, "", "the parameter's name", "name: A"},
			{"type", either(argumentTypes(), structs, words("tensormap")), need, "",
				"the type of the scalar, or of what the pointer leads to; a struct's bytes", `type: "f16*"`},
			{"parameter", truth, free, "true",
				"of a pointer: `false` where the kernel has no such parameter, and tensor maps lead to its memory",
				"parameter: false"},
			{"map", sub("tensormap"), free, "",
				"of a `tensormap`, needed: the tensor that it describes", "map: {of: A, box: [64, 64]}"},
			{"dims", extents, free, "",
				"of a pointer, needed: the extents of its memory, row-major", "dims: [M, K]"},
			{"strides", extents, free, "row-major",
				"of a pointer: elements from one index to the next, by dimension", "strides: [1, M]"},
			{"role", words("input", "output", "inout", "scratch", "scale"), free, "",
				"of a pointer, needed: what the host does with it; `scale`: a scalar that is the scale of scores",
				"role: input"},
			{"tensor", identifier, free, "the name",
				"of `input` and `output`: the tensor that it is", "tensor: Q"},
			{"fill", fills, free, "",
				"of `input` and `inout`: what it holds before the launch", "fill: randint(0, 255)"},
			{"value", expression, free, "", "of a scalar, needed", "value: 1 / sqrt(D)"},
			{"reference", either(words("none"), identifier, sub("reference")), free, "none",
				"of `output` and `inout`: what it is compared with after the launch",
				"reference: {npz: right.npz}"},
			{"tolerance", tolerance, free, "", "of an output with a reference: how far it may be from that",
				"tolerance: {rtol: 1e-3, atol: 1e-5}"},
			{"fields", listOf("field"), free, "",
				"of a struct, needed: the numbers and pointers in it; other bytes are 0",
				`fields: [{at: 0, type: "f32*", dims: [M], role: input}, {at: 8, type: i32, value: M}]`},
		},
	},
	{
		Name: "tensormap", At: "args[].map",
		Help: "A tensor map, as a host makes one with cuTensorMapEncodeTiled. Lists have the order of the " +
			"memory's extents, the innermost dimension last.",
		Keys: []Key{
			{"of", identifier, need, "", "the argument whose memory the tensor lies in", "of: A"},
			{"box", extents, need, "", "elements that a copy moves over, by dimension", "box: [64, TILE_K]"},
			{"dtype", words(tensormap.Types()...), free, "the memory's", "the type of an element",
				"dtype: bf16"},
			{"dims", extents, free, "the memory's", "extents of the tensor", "dims: [H, S, D]"},
			{"strides", extents, free, "without gaps",
				"bytes from one index to the next, of each dimension but the last",
				"strides: [2 * D, 2 * H * D]"},
			{"steps", extents, free, "1 each", "element strides: of how many elements one is copied",
				"steps: [2, 1]"},
			{"interleave", words(tensormap.Modes("interleave")...), free, "none", "the layout of channels",
				"interleave: 16B"},
			{"swizzle", either(words(tensormap.Modes("swizzle")...), expression), free, "none",
				"the bytes within which chunks of 16 are permuted in shared memory; of an expression, 16 and 0 are `none`",
				"swizzle: 128B"},
			{"promotion", words(tensormap.Modes("promotion")...), free, "none", "what L2 fetches at once",
				"promotion: 128B"},
			{"fill", words(tensormap.Modes("fill")...), free, "zero",
				"what elements outside the tensor are read as", "fill: nan"},
			{"offset", expression, free, "0", "the memory's byte that the tensor begins with",
				"offset: 2 * M * K"},
		},
	},
	{
		Name: "field", At: "args[].fields[]",
		Help: "A number or a pointer in a struct, as a parameter of its own would be.",
		Keys: []Key{
			{"at", whole(0, MaxStruct-1), need, "", "its first byte in the struct", "at: 8"},
			{"name", identifier, free, "the struct's and the byte, `x+8`",
				"of a pointer: the argument's name", "name: data"},
			{"type", argumentTypes(), need, "",
				"the type of the number, or of what the pointer leads to", `type: "f16*"`},
			{"dims", extents, free, "", "as of an argument", "dims: [M, K]"},
			{"strides", extents, free, "row-major", "as of an argument", "strides: [1, M]"},
			{"role", words("input", "output", "inout", "scratch", "scale"), free, "", "as of an argument",
				"role: input"},
			{"tensor", identifier, free, "the name", "as of an argument", "tensor: Q"},
			{"fill", fills, free, "", "as of an argument", "fill: randint(0, 255)"},
			{"value", expression, free, "", "as of an argument", "value: M"},
		},
	},
	{Name: "fill", At: "args[].fill", Keys: []Key{
		{"each", expression, need, "", "the number of each element, by its index `i`, row-major",
			"each: i * 17"},
	}},
	{Name: "requirement", At: "requires[]", Keys: []Key{
		{"that", condition, need, "", "the condition, over the shape, constants and flags", "that: D == 64"},
		{"say", text, need, "",
			"the message of a shape for which it does not hold", `say: "the kernel is compiled for D = 64"`},
	}},
	{
		Name: "quantiser", At: "quantiser",
		Help: "A byte is zero + round(x / scale / max · levels), the scale absmax / max of all numbers that " +
			"share it.",
		Keys: []Key{
			{"kind", words("sim-fp8"), need, "", "the encoding", "kind: sim-fp8"},
			{"zero", whole(0, 255), need, "", "the byte that means 0", "zero: 128"},
			{"levels", positive, need, "", "the number of steps to either side", "levels: 127"},
			{"max", positive, need, "", "the number that the last step means, before the scale", "max: 448"},
			{"along", whole(0, probes.MaxDims-1), free, "1",
				"the dimension whose indices have scales of their own", "along: 1"},
		},
	},
	{
		Name: "work", At: "work",
		Help: "Positions, by names of the author's own; conventional stages need `batch`, `head`, `query` " +
			"and `key`. Expressions may use the block index `bx`, `by`, `bz`, and, but for `tiles`, " +
			"`batch`, `head` and `query`, the iteration `kv`.",
		Keys: []Key{
			{"tiles", expression, free, "1", "iterations of the block's loop", "tiles: ceil_div(S, TILE_N)"},
			{"hidden", sub("hidden"), free, "",
				"rows of a block that do not see the first keys", "hidden: {rows: 1, first_key: TILE_N}"},
		}, Others: &Key{"POSITION", expression, free, "",
			"where the block, or the iteration, is: a name for expressions below", "row: bx * TILE_M"},
	},
	{
		Name: "computed", At: "computed",
		Help: "A graph in double precision over the same arguments: nothing is launched.", Keys: []Key{
			{"grid", exprs(3), free, "[1, 1, 1]", "the blocks that its stages are cut into",
				"grid: [1, H, B]"},
			{"work", sub("work"), free, "", "positions of its blocks and iterations",
				"work: {batch: bz, head: by}"},
			{"loops", listOf("loop"), free, "", "loops of a block, as the kernel's",
				"loops: [{name: kt, count: ceil_div(K, 16)}]"},
			{
				"stages", listOf("computed-stage"), need, "",
				"its stages; each computed input is cut out by one of them",
				"stages: [{name: total, dims: [M, 1], op: {reduce: X, how: sum}, capture: {output: sums, at: [0], rows: 0}}]",
			},
		},
	},
	{Name: "computed-stage", At: "computed.stages[]",
		Help: "As a stage of the kernel, but nothing is captured.", Keys: computedStageKeys()},
	{Name: "hidden", At: "work.hidden", Keys: []Key{
		{"rows", expression, need, "", "so many rows, from the first on", "rows: 1"},
		{"first_key", expression, need, "", "the first key that they see", "first_key: TILE_N"},
	}},
	{Name: "loop", At: "loops[]", Keys: []Key{
		{"name", identifier, need, "", "a name for expressions: the iteration, from 0", "name: kt"},
		{"count", expression, need, "", "how many iterations", "count: ceil_div(K, 16)"},
	}},
	{Name: "shared", At: "shared[]", Help: "An array in shared memory: PTX has symbols and sizes alone.",
		Keys: []Key{
			{"name", identifier, need, "",
				"the symbol in the PTX, or with `within` a name of one's own", "name: sS"},
			{"type", dtype, need, "", "the type of its elements", "type: f16"},
			{"dims", extents, need, "", "its extents, row-major", "dims: [TILE_M, TILE_N]"},
			{"when", condition, free, "", "the array is there under these flags", `when: "!USE_FUSED"`},
			{"within", identifier, free, "",
				"the symbol that it is a part of, such as the dynamic one", "within: smem"},
			{"offset", expression, free, "0", "where it begins there, bytes", "offset: 4096"},
		}},
	{Name: "flag", At: "flags[]", Keys: []Key{
		{"name", identifier, need, "",
			"the preprocessor symbol, and its name in expressions", "name: USE_CP_ASYNC"},
		{"values", list(whole(math.MinInt32, math.MaxInt32)), free, "[0, 1]",
			"the values it may have, at least two", "values: [1, 2, 4]"},
		{"default", whole(math.MinInt32, math.MaxInt32), free, "0, else the first",
			"the value unless it is set", "default: 2"},
		{"help", text, free, "", "one line", `help: "K and V arrive by cp.async"`},
		{"requires", conditions, free, "",
			"conditions over flags that must hold where it is not 0", "requires: [USE_WMMA]"},
		{"conflicts", conditions, free, "",
			"conditions over flags that must not hold where it is not 0", "conflicts: [UNROLL > 2]"},
	}},
	{
		Name: "variant", At: "variants.NAME",
		Help: "A variant with faults planted; one without is the mapping of its flags alone.",
		Keys: []Key{
			{"flags", flagValues, free, "", "its flags", "flags: {USE_FUSED: 1}"},
			{"faults", list(label), free, "", "its faults", "faults: [lut-order]"},
			{"help", text, free, "", "one line", `help: "as it was reported"`},
		},
	},
	{
		Name: "gate", At: "gates[]",
		Help: "A key that is left out has the value of the conventional gate of that name.",
		Keys: []Key{
			{"name", label, need, "", "as `--gate` takes it", "name: qk"},
			{"define", identifier, free, "",
				"the preprocessor symbol; needed but for a conventional gate", "define: DEBUG_QK_ONLY"},
			{"judged", stages, free, "",
				"the stages that run; needed but for a conventional gate", "judged: [Q, K, S]"},
			{"inject", stages, free, "", "the stages that the host injects", "inject: [S]"},
			{"uniform", truth, free, "", "`--inject uniform` is possible", "uniform: true"},
			{"help", text, free, "", "one line", "help: the kernel stops after S"},
		},
	},
	{Name: "thresholds", At: "thresholds", Keys: []Key{
		{"output", sub("output"), free, "",
			"the output's verdict, against attention on the inputs before quantising",
			"output: {max_abs: 0.05}"},
		{"ptxas", sub("ptxas"), free, "", "what the compiler may allot", "ptxas: {registers: 96}"},
		{"performance", either(sub("performance"), listOf("performance")), free, "",
			"the speed-up that is wanted; of a list the first entry whose `when` holds",
			"performance: {min_speedup: 1.05}"},
	}},
	{Name: "output", At: "thresholds.output", Keys: []Key{
		{"max_abs", number, free, "0.06", "the largest error of a cell", "max_abs: 0.06"},
		{"mean_abs", number, free, "0.02", "the mean error", "mean_abs: 0.02"},
		{"bad_fraction", number, free, "0.01", "the share of cells above max_abs", "bad_fraction: 0.01"},
	}},
	{Name: "ptxas", At: "thresholds.ptxas", Keys: []Key{
		{"registers", whole(0, 255), free, "128", "registers of a thread", "registers: 96"},
		{"shared_bytes", whole(0, 1<<20), free, "49152",
			"static shared memory of a block", "shared_bytes: 49152"},
		{"spills", whole(0, math.MaxInt32), free, "0", "bytes that are spilled", "spills: 0"},
	}},
	{Name: "performance", At: "thresholds.performance", Keys: []Key{
		{"when", condition, free, "", "the shapes and flags that it is for", "when: S >= 512"},
		{"min_speedup", number, free, "1.1",
			"how many times as fast as what it is compared with", "min_speedup: 1.1"},
	}},
	{
		Name: "fault", At: "faults[]",
		Help: "A planted mistake: a patch or a symbol of the source, or (`host: true`) of the host.",
		Keys: []Key{
			{"name", label, need, "", "as `--fault` takes it", "name: missing-sync"},
			{"define", identifier, free, "",
				"the preprocessor symbol that plants it, and its name in expressions",
				"define: FAULT_MISSING_SYNC"},
			{"patch", path, free, "",
				"a unified diff of the source that plants it", "patch: faults/missing-sync.patch"},
			{"base", label, need, "", "the variant that it is planted in", "base: stage2"},
			{"shape", label, free, "",
				"a shape that shows it; needed where the manifest has shapes", "shape: validation"},
			{"needs", condition, free, "", "what must hold for it to show", "needs: S > TILE_M"},
			{"help", text, need, "", "one line", `help: "no barrier before P is read"`},
			{"host", truth, free, "", "the host's mistake: `quantiser` or `work`", "host: true"},
			{"quantiser", sub("fault-quantiser"), free, "",
				"how the host encodes instead", "quantiser: {encode_levels: 100}"},
			{"work", sub("work"), free, "",
				"positions as they become; they may use none of `work`", "work: {head: H - 1 - by}"},
		},
	},
	{Name: "fault-quantiser", At: "faults[].quantiser", Keys: []Key{
		{"encode_levels", positive, need, "",
			"levels of encoding, those of decoding staying as they are", "encode_levels: 100"},
	}},
	{
		Name: "stage", At: "stages[]",
		Help: "A step whose tile is compared. A conventional name (`Q K V S m l P U O`) brings axes, " +
			"dependence and operator with it.",
		Keys: stageKeys,
	},
	{Name: "compute", At: "stages[].compute", Help: "How the kernel rounds on the way to the stage.",
		Keys: slices.Concat([]Key{
			{"when", condition, free, "",
				"of a list: the shapes and flags that the entry is for", "when: USE_WMMA_PV"},
			{"unit", words("none", "fma", "mul-add", "tensor", "shuffle"), need, "",
				"how sums are made: a chain of fma, products and sums rounded each, tensor-core blocks, a tree",
				"unit: tensor"},
			{"acc", dtype, need, "", "the type of the sum", "acc: f32"},
			{"block", whole(1, 1024), free, "",
				"of `tensor`, needed: products that one instruction sums", "block: 16"},
			{"split", expression, free, "1", "partial sums that are added at the end", "split: 2"},
		}, instructionKeys())},
	{
		Name: "capture", At: "stages[].capture",
		Help: "Where the tile is found without a probe: in shared memory while the kernel runs, or in an " +
			"output after it.",
		Keys: []Key{
			{"shared", identifier, free, "", "the array in shared memory", "shared: sS"},
			{"at", either(sub("moment"), extents), free, "",
				"of `shared`, needed: when; of `output`: the position of the tile's first cell, by dimension",
				"at: {line: 77}"},
			{"tile_at", sub("line"), free, "",
				"of `shared` (needed), `mma` and `register`, for a stage per tile: what begins an iteration",
				"tile_at: {line: 40}"},
			{"mma", either(sub("mma"), listOf("mma")), free, "",
				"matrix fragments of tensor-core instructions (`wmma`, `mma`, `wgmma`), after they were executed",
				"mma: {line: 48}"},
			{"register", either(sub("register"), listOf("register")), free, "",
				"threads' registers", `register: {ptx: 330, row: "div(lane, 4)"}`},
			{"combine", words("same", "sum"), free, "same",
				"of `mma` and `register`: threads that have the same cell have the same bits, or parts of a sum",
				"combine: sum"},
			{"output", identifier, free, "", "the argument that the tile is cut out of", "output: out"},
			{"rows", whole(0, probes.MaxDims-1), free, "",
				"of `output` with `at`, needed: the dimension that rows run along", "rows: 2"},
			{"cols", whole(0, probes.MaxDims-1), free, "",
				"of `output` with `at`: the dimension that columns run along; without it one column",
				"cols: 3"},
		},
	},
	{
		Name: "reference", At: "stages[].reference and args[].reference",
		Help: "Exactly one of `npz`, `command` and `kernel`.",
		Keys: slices.Concat(referenceKeys, []Key{
			{"array", text, free, "the stage's or argument's name",
				"of `npz` and `command`: the array", "array: y"},
		}),
	},
	{Name: "named-reference", At: "references", Help: "Exactly one of `npz`, `command` and `kernel`.",
		Keys: referenceKeys},
	{
		Name: "tolerance", At: "stages[].tolerance and args[].tolerance",
		Help: "`rtol` and `atol`, or `baseline`.", Keys: []Key{
			{"rtol", number, free, "0", "the error that is allowed for each unit of the right number",
				"rtol: 1e-3"},
			{"atol", number, free, "0", "the error that is allowed in addition", "atol: 1e-5"},
			{"baseline", text, free, "",
				"a reference, or an array of the same one, whose largest error is the measure (FlashAttention's rule)",
				"baseline: unfused"},
			{"factor", positive, free, "2", "of `baseline`: how many times its error is allowed",
				"factor: 2"},
		},
	},
	{Name: "moment", At: "stages[].capture.at", Help: "Exactly one of `barrier` and `line`.", Keys: []Key{
		{"barrier", whole(1, math.MaxInt32), free, "",
			"after the block's N-th barrier since the iteration began", "barrier: 2"},
		{"line", whole(1, math.MaxInt32), free, "",
			"when the last warp has passed this line of the source", "line: 77"},
		{"pass", either(words("first", "last"), whole(1, math.MaxUint16)), free, "",
			"of `line`: which time", "pass: last"},
	}},
	{Name: "line", At: "stages[].capture.tile_at", Help: "Exactly one of them.", Keys: []Key{
		{"line", whole(1, math.MaxInt32), free, "", "a line of the source", "line: 40"},
		{"ptx", whole(1, math.MaxInt32), free, "", "of `mma` and `register`: a line of the PTX", "ptx: 210"},
	}},
	{Name: "mma", At: "stages[].capture.mma", Help: "Exactly one of `ptx` and `line`. " + takeHelp,
		Keys: slices.Concat(takeKeys, []Key{
			{"row", perInstruction, free, "the fragment's rows",
				"the cell's row in the tile; `r` and `c` are the row and column in the fragment, of `wgmma` that of one warp",
				"row: 16 * warp + r"},
			{"col", perInstruction, free, "the fragment's columns", "the cell's column in the tile",
				"col: 8 * i + c"},
			{"of", words("d", "a", "b"), free, "d", "which fragment", "of: a"},
		})},
	{Name: "register", At: "stages[].capture.register", Help: "Exactly one of `ptx` and `line`. " + takeHelp,
		Keys: slices.Concat(takeKeys, []Key{
			{"row", perInstruction, need, "",
				"the cell's row in the tile; `e` is the part of a register that holds several numbers",
				`row: "div(lane, 4)"`},
			{"col", perInstruction, free, "0", "the cell's column in the tile", "col: 2 * (lane % 4) + e"},
			{"name", text, free, "", "the register, in place of `operand`", `name: "%f12"`},
			{"operand", whole(0, 15), free, "0", "which operand of the instruction", "operand: 1"},
			{"element", whole(0, 127), free, "0", "which register of an operand that is a vector",
				"element: 2"},
		})},
}, operations, sequences)

// referenceKeys say where arrays to compare with come from.
var referenceKeys = []Key{
	{"npz", path, free, "", "an archive of arrays", "npz: right.npz"},
	{"command", texts, free, "",
		"a program that writes them, run in the manifest's folder, which must be trusted",
		"command: [python3, ref.py]"},
	{"timeout", text, free, "60s", "of `command`: how long it may take", "timeout: 2m"},
	{"kernel", path, free, "", "the manifest of another kernel, run on the same inputs",
		"kernel: naive.yaml"},
}

// tolerance is how far something may be from its reference.
var tolerance = either(words("derived"), sub("tolerance"))

// takeHelp says what the expressions of a capture from registers may use.
const takeHelp = "Expressions may use `warp`, `lane`, which of the instructions it is, `i`, from 0, and in `tile` how often it was executed " +
	"before, `n`."

// takeKeys are what captures from registers have in common.
var takeKeys = []Key{
	{"ptx", oneOrMore(1), free, "", "lines of instructions in the PTX", "ptx: [330, 421]"},
	{"line", whole(1, math.MaxInt32), free, "", "the instructions of this line of the source", "line: 48"},
	{"file", path, free, "the kernel's source", "of `line`: the file, as the PTX names it", "file: ref.py"},
	{"nth", oneOrMore(0), free, "all", "of `line`: which of its instructions, from 0", "nth: [0, 1]"},
	{"tile", expression, free, "n", "the iteration that a value belongs to", "tile: div(n, 4)"},
	{"pass", either(words("first", "last"), whole(1, math.MaxUint16)), free, "",
		"which time, where it is executed several times in an iteration", "pass: first"},
}

// perInstruction is an expression for all instructions, or one for each.
var perInstruction = either(expression, extents)

// oneOrMore is a number, or a list of numbers.
func oneOrMore(from int) Value {
	n := whole(from, math.MaxInt32)
	return either(n, list(n))
}

// stageKeys are the keys of a stage.
var stageKeys = []Key{
	{"name", identifier, need, "", "a conventional name, or with `axes` one of one's own", "name: S"},
	{"when", condition, free, "",
		"the entry is for these flags; entries for one stage stand together", "when: USE_FUSED_SOFTMAX"},
	{"dtype", dtype, need, "", "the type of the tile's cells", "dtype: f16"},
	{"dims", exprs(2), need, "", "rows and columns of the tile", "dims: [TILE_M, TILE_N]"},
	{"axes", texts, free, "", "what rows and columns run along, one name for a column", "axes: [row, col]"},
	{"valid", exprs(2), need, "",
		"the rows and columns that are compared", "valid: [min(TILE_M, S - query), TILE_N]"},
	{"outside", words("zero", "neg-inf", "unspecified"), free, "unspecified",
		"what other cells hold", "outside: neg-inf"},
	{"per", words("block", "tile"), need, "", "one tile a block, or one an iteration", "per: tile"},
	{"phase", words("before", "each", "after"), free, "",
		"when it is computed, as to the loop", "phase: after"},
	{"of", stages, free, "", "the stages that it is computed from", "of: [S]"},
	{"from", stages, free, "",
		"the stages that the kernel's own tiles are taken of for the local judgement", "from: [S, m]"},
	{"scaled", truth, free, "", "of S: multiplied by the scale already", "scaled: true"},
	{"domain", words("natural", "log2"), free, "natural", "of m: the domain of the maxima", "domain: log2"},
	{"normalised", truth, free, "", "of P: divided by the row's sum", "normalised: true"},
	{"compute", either(sub("compute"), listOf("compute")), free, "",
		"how it rounds; of a list the first entry whose `when` holds",
		"compute: {unit: tensor, acc: f32, block: 16}"},
	{"array", identifier, free, "", "the shared array that it lies in, for showing", "array: sS"},
	{"transposed", truth, free, "", "it lies there column by column", "transposed: true"},
	{"capture", either(words("probe", "frag", "none"), sub("capture")), need, "",
		"how it is taken: by the source's probe, as raw fragments, not at all, or from memory",
		"capture: probe"},
	{"index", expression, free, "row-major",
		"of `capture: probe` and `{shared: …}`: which of the tile's elements, as the array has them, the cell of row `r` and column `c` is",
		`index: "r * 64 + xor(div(c, 8), r % 8) * 8 + c % 8"`},
	{"help", text, free, "", "one line", `help: "S=QKᵀ"`},
	{"op", operation, free, "", "what it computes, in place of the convention", "op: {matmul: [A, B]}"},
	{"unit", text, free, "1",
		"natural units for one of the stage's own, with `op`: `softmax_scale` for raw scores",
		"unit: softmax_scale"},
	{"reference", either(words("graph", "none"), identifier, sub("reference")), free, "graph",
		"what it is compared with: its operators (`graph`), nothing (`none`), a name of `references`, or arrays",
		"reference: none"},
	{"tolerance", tolerance, free, "derived", "how far it may be from that",
		"tolerance: {rtol: 1e-3, atol: 1e-5}"},
}

// computedStageKeys are the keys of a stage that the host computes: name, dims and operator are needed, and
// its only capture is an input.
func computedStageKeys() []Key {
	var out []Key
	for _, k := range stageKeys {
		switch k.Name {
		case "name", "dims", "op":
			k.Need = true
		case "capture":
			k = Key{"capture", sub("capture"), free, "", "the computed input that the stage is",
				"capture: {output: LSE, at: [batch, head, 0], rows: 2}"}
		case "dtype":
			k.Need, k.Default = false, "f64"
		case "valid":
			k.Need, k.Default = false, "all"
		case "per":
			k.Need, k.Default = false, "block"
		case "when", "axes", "phase":
		default:
			continue
		}
		out = append(out, k)
	}
	return out
}

// flagValues is a mapping of flags to values.
var flagValues = Value{
	Form: Names, Kind: "a mapping of flags to values", Pattern: Identifier,
	Of: []Value{either(whole(math.MinInt32, math.MaxInt32), truth)},
}

// listedShape is a shape as a list.
var listedShape = Value{
	Form: List, Kind: "a list of 4 whole numbers", Of: []Value{whole(1, math.MaxInt32)}, Length: 4,
}

// fills are what memory may hold before a launch.
var fills = either(words("randn", "rand", "zeros", "ones", "iota", "nan", "inf", "-inf",
	"unwritten", "computed"),
	Value{Form: Text, Kind: "`randint(LO, HI)`", Pattern: `^randint\(.+\)$`}, extents, sub("fill"))
