package ptx

// Space is a state space.
type Space uint8

// State spaces. SpaceGeneric is also "none given".
const (
	SpaceGeneric Space = iota
	SpaceReg
	SpaceSreg
	SpaceConst
	SpaceGlobal
	SpaceLocal
	SpaceParam
	SpaceShared
	SpaceTex
)

var spaceNames = [...]string{"generic", "reg", "sreg", "const", "global", "local", "param", "shared", "tex"}

// String is the ISA's spelling without the dot; "generic" for SpaceGeneric.
func (s Space) String() string { return spaceNames[s] }

// SpaceOf maps a modifier ("shared", "shared::cta", "param::entry") to its space; false if it names none.
func SpaceOf(mod string) (Space, bool) {
	switch mod {
	case "reg":
		return SpaceReg, true
	case "const":
		return SpaceConst, true
	case "global":
		return SpaceGlobal, true
	case "local":
		return SpaceLocal, true
	case "param", "param::entry", "param::func":
		return SpaceParam, true
	case "shared", "shared::cta", "shared::cluster":
		return SpaceShared, true
	case "tex":
		return SpaceTex, true
	}
	return SpaceGeneric, false
}

// Type is a fundamental or instruction type.
type Type uint8

// Types, in the ISA's spelling.
const (
	TypeNone Type = iota
	Pred
	B8
	B16
	B32
	B64
	B128
	U8
	U16
	U32
	U64
	S8
	S16
	S32
	S64
	F16
	F16x2
	BF16
	BF16x2
	TF32
	F32
	F64
	F32x2
	E4M3
	E5M2
	E4M3x2
	E5M2x2
	U16x2
	S16x2
	U4
	S4
	U2
	S2
	B1
	TexRef
	SamplerRef
	SurfRef
	numTypes
)

var typeInfo = [numTypes]struct {
	name string
	bits int
}{
	TypeNone: {"", 0}, Pred: {"pred", 1}, B8: {"b8", 8}, B16: {"b16", 16}, B32: {"b32", 32}, B64: {"b64", 64},
	B128: {"b128", 128}, U8: {"u8", 8}, U16: {"u16", 16}, U32: {"u32", 32}, U64: {"u64", 64}, S8: {"s8", 8},
	S16: {"s16", 16}, S32: {"s32", 32}, S64: {"s64", 64}, F16: {"f16", 16}, F16x2: {"f16x2", 32},
	BF16: {"bf16", 16}, BF16x2: {"bf16x2", 32}, TF32: {"tf32", 32}, F32: {"f32", 32}, F64: {"f64", 64},
	F32x2: {"f32x2", 64}, E4M3: {"e4m3", 8}, E5M2: {"e5m2", 8}, E4M3x2: {"e4m3x2", 16},
	E5M2x2: {"e5m2x2", 16}, U16x2: {"u16x2", 32}, S16x2: {"s16x2", 32}, U4: {"u4", 4}, S4: {"s4", 4},
	U2: {"u2", 2}, S2: {"s2", 2}, B1: {"b1", 1}, TexRef: {"texref", 64}, SamplerRef: {"samplerref", 64},
	SurfRef: {"surfref", 64},
}

// String is the ISA's spelling without the dot.
func (t Type) String() string { return typeInfo[t].name }

// Bits is the width of one value; 1 for predicates.
func (t Type) Bits() int { return typeInfo[t].bits }

// Bytes is the size of one value in memory, 0 for predicates and sub-byte types.
func (t Type) Bytes() int { return typeInfo[t].bits / 8 }

// Single is the type of one number of a packed type, and the type itself of any other.
func (t Type) Single() Type {
	switch t {
	case F16x2:
		return F16
	case BF16x2:
		return BF16
	case E4M3x2:
		return E4M3
	case E5M2x2:
		return E5M2
	case F32x2:
		return F32
	}
	return t
}

// Signed reports whether t is a signed integer type.
func (t Type) Signed() bool { return t >= S8 && t <= S64 || t == S16x2 || t == S4 || t == S2 }

// Integer reports whether t is an integer type, signed or unsigned, of one value; types of
// bits alone are none.
func (t Type) Integer() bool { return t >= U8 && t <= S64 }

// Float reports whether t is a floating-point type, packed ones included.
func (t Type) Float() bool { return t >= F16 && t <= E5M2x2 }

// TypeOf maps a modifier to a type; false if it names none.
func TypeOf(mod string) (Type, bool) {
	if len(mod) < 2 {
		return TypeNone, false
	}
	switch mod[0] {
	case 'p', 'b', 'u', 's', 'f', 't', 'e':
	default:
		return TypeNone, false
	}
	for t := Pred; t < numTypes; t++ {
		if typeInfo[t].name == mod {
			return t, true
		}
	}
	return TypeNone, false
}
