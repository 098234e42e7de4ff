package fp

import "math"

// CmpOp is a floating-point comparison of setp: the set of relations for which
// it holds.
type CmpOp uint8

const (
	less CmpOp = 1 << iota
	equal
	greater
	unordered

	Eq  = equal
	Ne  = less | greater
	Lt  = less
	Le  = less | equal
	Gt  = greater
	Ge  = greater | equal
	Equ = Eq | unordered
	Neu = Ne | unordered
	Ltu = Lt | unordered
	Leu = Le | unordered
	Gtu = Gt | unordered
	Geu = Ge | unordered
	Num = less | equal | greater
	Nan = unordered
)

// ParseCmp returns the comparison of the ISA's name ("lt", "neu", "num", ...).
func ParseCmp(name string) (op CmpOp, ok bool) {
	op, ok = cmpNames[name]
	return op, ok
}

var cmpNames = map[string]CmpOp{
	"eq": Eq, "ne": Ne, "lt": Lt, "le": Le, "gt": Gt, "ge": Ge,
	"equ": Equ, "neu": Neu, "ltu": Ltu, "leu": Leu, "gtu": Gtu, "geu": Geu,
	"num": Num, "nan": Nan,
}

// Cmp32 is setp.op.f32; flush the operands first for .ftz.
func Cmp32(op CmpOp, a, b uint32) bool {
	return cmp(op, float64(Float32(a)), float64(Float32(b)))
}

// Cmp16 is setp.op.f16.
func Cmp16(op CmpOp, a, b uint16) bool { return cmp(op, F16ToFloat64(a), F16ToFloat64(b)) }

// CmpBF16 is setp.op.bf16.
func CmpBF16(op CmpOp, a, b uint16) bool { return cmp(op, BF16ToFloat64(a), BF16ToFloat64(b)) }

// Cmp64 is setp.op.f64.
func Cmp64(op CmpOp, a, b uint64) bool {
	return cmp(op, math.Float64frombits(a), math.Float64frombits(b))
}

func cmp(op CmpOp, x, y float64) bool {
	rel := unordered
	switch {
	case x < y:
		rel = less
	case x > y:
		rel = greater
	case x == y:
		rel = equal
	}
	return op&rel != 0
}
