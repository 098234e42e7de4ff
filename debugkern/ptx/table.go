package ptx

import (
	"strings"
	"sync"
)

// modSets are the named sets of modifiers in forms.
var modSets = map[string]string{
	"int":   "u8 u16 u32 u64 s8 s16 s32 s64 u16x2 s16x2",
	"bit":   "b8 b16 b32 b64 b128",
	"flt":   "f16 f16x2 bf16 bf16x2 f32 f64 f32x2",
	"mem":   "u8 u16 u32 u64 s8 s16 s32 s64 b8 b16 b32 b64 b128 f32 f64",
	"sub":   "tf32 e4m3 e5m2 e4m3x2 e5m2x2 u4 s4 b1 e2m1 e2m3 e3m2 ue8m0 e2m1x2 e2m3x2 e3m2x2 ue8m0x2 f8f6f4",
	"rnd":   "rn rz rm rp",
	"rndi":  "rni rzi rmi rpi",
	"cmp":   "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan",
	"bool":  "and or xor",
	"space": "const global local param shared shared::cta shared::cluster param::entry param::func",
	"sem":   "weak relaxed acquire release acq_rel sc volatile mmio",
	"scope": "cta cluster gpu sys",
	"cache": "ca cg cs lu cv wb wt nc L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last " +
		"L1::no_allocate L2::cache_hint L2::64B L2::128B L2::256B L2::evict_first L2::evict_last L2::evict_normal unified",
	"vec": "v2 v4 v8",
	"shape": "m16n16k16 m32n8k16 m8n32k16 m16n16k8 m8n8k4 m8n8k16 m8n8k32 m8n8k128 m16n8k4 m16n8k8 m16n8k16 m16n8k32 " +
		"m16n8k64 m16n8k128 m16n8k256",
	"any": "", // modifiers are not checked
}

// formRow is what the validator knows about some opcodes: one line of the table.
//
// args lists the operands, destination first, each as a kind and a type class. Kinds: d destination register (or _), P
// destination predicate or pair of them, s source (register, special register, constant, symbol), p source predicate, m
// address, v register or vector for .vN, D and S like d and s but a vector is allowed too, V vector, i integer constant, l
// label, x anything. Type classes: t the instruction's type, w twice its width, 1 and 2 its first and second type, l at
// least as wide as the type, u 32 bits, - unchecked. A '?' marks operands that may be left out.
//
// mods lists the modifiers, sets of them by @name. need lists sets of which one member must be there.
type formRow struct{ ops, args, mods, need string }

var formRows = []formRow{
	{"add sub", "dt st st", "@int @flt @rnd ftz sat cc", "@int @flt"},
	{"addc subc", "dt st st", "@int cc", "@int"},
	{"mul", "dw st st", "@int @flt @rnd ftz sat lo hi wide", "@int @flt"},
	{"mul24", "dt st st", "u32 s32 lo hi", "u32 s32"},
	{"mad", "dw st st sw", "@int @flt @rnd ftz sat lo hi wide cc", "@int @flt"},
	{"madc", "dt st st st", "@int lo hi cc", "@int"},
	{"mad24", "dt st st st", "u32 s32 lo hi sat", "u32 s32"},
	{"fma", "dt st st st", "@flt @rnd ftz sat relu oob", "@rnd oob"},
	{"div", "dt st st", "@int @flt @rnd ftz approx full", "@int @flt"},
	{"rem", "dt st st", "@int", "@int"},
	{"abs neg", "dt st", "@int @flt ftz", "@int @flt"},
	{"min max", "dt st st st?", "@int @flt ftz NaN xorsign abs relu", "@int @flt"},
	{"copysign", "dt st st", "f32 f64", "f32 f64"},
	{"and or xor", "dt st st", "b16 b32 b64 pred", "b16 b32 b64 pred"},
	{"not", "dt st", "b16 b32 b64 pred", "b16 b32 b64 pred"},
	{"cnot", "dt st", "b16 b32 b64", "b16 b32 b64"},
	{"lop3", "P- x- x- x- x- x-?", "b32 and or", "b32"},
	{"shl", "dt st su", "b16 b32 b64", "b16 b32 b64"},
	{"shr", "dt st su", "@int @bit", "@int @bit"},
	{"shf", "dt st st su", "l r clamp wrap b32", "l r"},
	{"prmt", "dt st st st", "b32 f4e b4e rc8 ecl ecr rc16", "b32"},
	{"bfe", "dt st su su", "u32 u64 s32 s64", "u32 u64 s32 s64"},
	{"bfi", "dt st st su su", "b32 b64", "b32 b64"},
	{"bfind", "du st", "u32 u64 s32 s64 shiftamt", "u32 u64 s32 s64"},
	{"fns", "du st su su", "b32", "b32"},
	{"bmsk", "du su su", "clamp wrap b32", "clamp wrap"},
	{"szext", "dt st su", "clamp wrap u32 s32", "clamp wrap"},
	{"popc clz", "du st", "b32 b64", "b32 b64"},
	{"brev", "dt st", "b32 b64", "b32 b64"},
	{"sad", "dt st st st", "@int", "@int"},
	{"dp4a dp2a", "d- s- s- s-", "u32 s32 lo hi", "u32 s32"},
	{"vadd vsub vabsdiff vmin vmax vshl vshr vmad vset", "x- x- x- x-? x-?", "@any", ""},
	{"setp", "P- st st p-?", "@int @bit @flt @cmp @bool ftz", "@cmp"},
	{"set", "d1 s2 s2 p-?", "@int @bit @flt @cmp @bool ftz", "@cmp"},
	{"selp", "dt st st p-", "@int @bit @flt", "@int @bit @flt"},
	{"slct", "d1 s1 s1 s2", "@int @bit @flt ftz", "@int @bit @flt"},
	{"testp", "P- st", "f32 f64 finite infinite number notanumber normal subnormal", "f32 f64"},
	{"rcp sqrt", "dt st", "f32 f64 approx ftz @rnd", "f32 f64"},
	{"rsqrt", "dt st", "f32 f64 approx ftz", "f32 f64"},
	{"sin cos lg2", "dt st", "f32 approx ftz", "f32"},
	{"ex2 tanh", "dt st", "f32 f16 f16x2 bf16 bf16x2 approx ftz", "f32 f16 f16x2 bf16 bf16x2"},
	{"mov", "Dt St", "u16 u32 u64 s16 s32 s64 b16 b32 b64 b128 f16 f16x2 bf16 f32 f64 pred",
		"u16 u32 u64 s16 s32 s64 b16 b32 b64 b128 f16 f16x2 bf16 f32 f64 pred"},
	{"cvt", "D1 S2 S-? s-?", "@int @bit @flt @sub @rnd @rndi rna rs ftz sat satfinite relu scaled::n2::ue8m0 pack",
		"@int @flt @sub"},
	{"cvta", "d- s-", "to global shared local const param u32 u64 shared::cta shared::cluster param::entry", "u32 u64"},
	{"isspacep", "P- s-", "@space", "@space"},
	{"mapa", "d- x- s-", "@space u32 u64", "u32 u64"},
	{"ld", "vl m- s-?", "@mem @space @sem @scope @cache @vec", "@mem"},
	{"ldu", "vl m-", "@mem global @vec", "@mem"},
	{"st", "m- vl s-?", "@mem @space @sem @scope @cache @vec async mbarrier::complete_tx::bytes", "@mem"},
	{"prefetch prefetchu", "m-", "global local L1 L2 tensormap const param L2::evict_last L2::evict_normal", ""},
	{"atom", "vt m- Vt Vt? Vt?", "@int @bit @flt @space @sem @scope @vec noftz L2::cache_hint " +
		"add min max inc dec exch cas and or xor", "@int @bit @flt"},
	{"red", "m- Vt Vt?", "@int @bit @flt @space @sem @scope @vec noftz L2::cache_hint add min max inc dec and or xor " +
		"async mbarrier::complete_tx::bytes", "@int @bit @flt"},
	{"bra", "l-", "uni", ""},
	{"brx", "s- l-", "idx uni", "idx"},
	{"call", "x- x- x- x-?", "uni", ""},
	{"ret exit trap brkpt", "", "uni", ""},
	{"bar barrier", "x-? x-? x-? x-?", "sync arrive red popc and or pred u32 warp cta cluster wait aligned acquire release relaxed", ""},
	{"membar", "", "cta gl gpu sys proxy alias async @any", ""},
	{"fence", "x-? x-?", "@any", ""},
	{"shfl", "P- st su su su?", "sync up down bfly idx b32", "b32"},
	{"vote", "d- p- su?", "sync all any uni ballot b32 pred", "all any uni ballot"},
	{"match", "P- s- su", "sync any all b32 b64", "any all"},
	{"activemask", "du", "b32", "b32"},
	{"redux", "du su su", "sync add min max and or xor u32 s32 b32 f32 abs NaN", "add min max and or xor"},
	{"elect", "P- su", "sync", "sync"},
	{"cp", "x-? x-? x-? x-? x-? x-? x-?", "@any", "async reduce"},
	{"createpolicy", "d- x-? x-? x-? x-?", "@any", ""},
	{"discard applypriority", "m- x-?", "@any", ""},
	{"mbarrier", "x- x-? x-? x-? x-?", "@any", "init inval arrive arrive_drop test_wait try_wait pending_count expect_tx complete_tx"},
	{"tensormap", "x- x-? x-? x-? x-?", "@any", ""},
	{"wmma", "x- x- x-? x-? x-?", "load store mma a b c d sync aligned row col @shape @space @flt @int @sub xor and popc satfinite @rnd", "load store mma"},
	{"mma", "V- V- V- V- x-? x-? x-? x-? x-? x-?", "@any", "@shape"},
	{"ldmatrix", "v- m-", "sync aligned m8n8 m16n16 m8n16 x1 x2 x4 trans @space b16 b8 b8x16 b6x16_p32 b4x16_p64", "x1 x2 x4"},
	{"stmatrix", "m- v-", "sync aligned m8n8 m16n8 x1 x2 x4 trans @space b16 b8", "x1 x2 x4"},
	{"movmatrix", "d- s-", "sync aligned m8n8 trans b16", "b16"},
	{"wgmma", "x-? x-? x-? x-? x-? x-? x-? x-?", "@any", ""},
	{"nanosleep", "su", "u32", "u32"},
	{"griddepcontrol", "", "launch_dependents wait", "launch_dependents wait"},
	{"pmevent", "i-", "mask", ""},
	{"getctarank", "d- x-", "@space u32 u64", "u32 u64"},
	{"alloca", "d- s- s-?", "u32 u64", "u32 u64"},
	{"stacksave stackrestore", "x-", "u32 u64", "u32 u64"},
	{"setmaxnreg", "i-", "inc dec sync aligned u32", "inc dec"},
	{"tex tld4 txq suld sust sured suq", "x- x- x-? x-? x-?", "@any", ""},
	{"clusterlaunchcontrol multimem", "x- x-? x-? x-?", "@any", ""},
}

// rule is a form made ready for checking.
type rule struct {
	args []argRule
	min  int // operands that must be there
	mods map[string]bool
	any  bool // modifiers are not checked
	need []string
}

type argRule struct{ kind, class byte }

// rules builds the table on first use.
var rules = sync.OnceValue(func() map[string]*rule {
	table := map[string]*rule{}
	for _, row := range formRows {
		r := &rule{mods: map[string]bool{}}
		for _, a := range strings.Fields(row.args) {
			r.args = append(r.args, argRule{a[0], a[1]})
			if !strings.HasSuffix(a, "?") {
				r.min = len(r.args)
			}
		}
		for _, m := range expand(row.mods) {
			r.mods[m] = true
		}
		r.any = strings.Contains(row.mods, "@any")
		r.need = expand(row.need)
		for _, op := range strings.Fields(row.ops) {
			table[op] = r
		}
	}
	return table
})

// expand replaces @name by the members of the set.
func expand(list string) []string {
	var out []string
	for _, m := range strings.Fields(list) {
		if m[0] == '@' {
			out = append(out, strings.Fields(modSets[m[1:]])...)
		} else {
			out = append(out, m)
		}
	}
	return out
}

// Known reports whether the validator has a form for the opcode whose first component is op. An unknown one is no error
// here: the executor says what it cannot model.
func Known(op string) bool { return rules()[op] != nil }
