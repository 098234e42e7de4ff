package schema

import "math"

// extent is a grid or block of a sequence's step.
var extent = either(whole(1, math.MaxInt32), Value{
	Form: Text, Kind: "`X,Y,Z`", Pattern: `^ *[0-9]+( *, *[0-9]+){0,2} *$`,
},
	list(whole(1, math.MaxInt32)))

// sequences are the sections of the other document that `check` takes.
var sequences = []Section{
	{
		Name: "sequence",
		Help: "Launches and fills in stream order over named buffers, for `tilescope check`. A document of its own.",
		Keys: []Key{
			{"schema", words("tilescope.sequence/1"), need, "", "the format", "schema: tilescope.sequence/1"},
			{"name", label, need, "", "the sequence's name", "name: split_and_combine"},
			{"include", list(path), free, "", "directories that headers are looked for in",
				"include: [../common]"},
			{"defines", texts, free, "", "preprocessor symbols, NAME or NAME=VALUE", "defines: [TILE=64]"},
			{"std", text, free, "c++17", "the language to compile as", "std: c++20"},
			{"instantiate", texts, free, "", "kernel templates with arguments", `instantiate: ["k<64>"]`},
			{"buffers", names(Identifier, text), need, "", "memory by name, as `--arg` takes it",
				"buffers: {part: \"unwritten:f32[4,64]\"}"},
			{"steps", listOf("step"), need, "", "launches and fills, in order",
				"steps: [{memset: part, value: 0}]"},
		},
	},
	{
		Name: "step", At: "steps[]", Help: "A launch, or with `memset` a fill, which has a `value` alone.",
		Keys: []Key{
			{"file", path, free, "", "of a launch, needed: the .cu or .ptx", "file: split.cu"},
			{"entry", text, free, "the only one", "which of its kernels", "entry: split"},
			{"grid", extent, free, "", "of a launch, needed: blocks", "grid: [4, 8]"},
			{"block", extent, free, "", "of a launch, needed: threads of a block", "block: 128"},
			{"shared", whole(0, 1<<20), free, "0", "dynamic shared memory of a block, bytes", "shared: 4096"},
			{"cooperative", truth, free, "", "blocks may rely on being resident together",
				"cooperative: true"},
			{
				"args", names("", either(scalar, names(`^[0-9]+$`, scalar))), free, "",
				"of a launch, needed: a buffer or a value for each parameter; of a struct those of its fields, " +
					"by their offsets in bytes",
				"args: {x: part, n: 64}",
			},
			{"memset", identifier, free, "", "the buffer that is filled", "memset: part"},
			{"value", whole(0, 255), free, "0", "the byte it is filled with", "value: 255"},
		},
	},
}
