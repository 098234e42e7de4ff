package isa

import "strings"

// modSets are the named sets of modifiers in the table.
var modSets = map[string]string{
	"int":   "u8 u16 u32 u64 s8 s16 s32 s64 u16x2 s16x2",
	"bit":   "b8 b16 b32 b64 b128",
	"flt":   "f16 f16x2 bf16 bf16x2 f32 f64 f32x2",
	"mem":   "u8 u16 u32 u64 s8 s16 s32 s64 b8 b16 b32 b64 b128 f32 f64",
	"sub":   "tf32 e4m3 e5m2 e4m3x2 e5m2x2 u4 s4 b1 e2m1 e2m3 e3m2 ue8m0 e2m1x2 e2m3x2 e3m2x2 ue8m0x2 f8f6f4 u2 s2",
	"rnd":   "rn rz rm rp",
	"rndi":  "rni rzi rmi rpi",
	"cmp":   "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan",
	"bool":  "and or xor",
	"space": "const global local param shared shared::cta shared::cluster param::entry param::func",
	"sem":   "weak relaxed acquire release acq_rel sc volatile mmio",
	"scope": "cta cluster gpu sys",
	"cache": "ca cg cs lu cv wb wt nc L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last " +
		"L1::no_allocate L2::cache_hint L2::64B L2::128B L2::256B L2::evict_first L2::evict_last " +
		"L2::evict_normal unified",
	"vec": "v2 v4 v8",
	"shape": "m16n16k16 m32n8k16 m8n32k16 m16n16k8 m8n8k4 m8n8k16 m8n8k32 m8n8k128 m16n8k4 " +
		"m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256",
	"any": "", // modifiers are not checked
}

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
