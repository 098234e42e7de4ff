package ptx

// fragment lengths, in registers a lane (ISA 9.7.14.4 and 9.7.14.5): a, b, and c/d of f32 and of f16. 0 is not checked.
var fragmentLengths = map[string]struct{ a, b, f32, f16 int }{
	"wmma m16n16k16": {8, 8, 8, 4},
	"wmma m32n8k16":  {8, 8, 8, 4},
	"wmma m8n32k16":  {8, 8, 8, 4},
	"mma m16n8k16":   {4, 2, 4, 2},
	"mma m16n8k8":    {2, 1, 4, 2},
}

// fragments checks the number of registers of matrix operands for half-precision inputs, and of ldmatrix.
func (v *validator) fragments(in *Instr) {
	if in.Op == "ldmatrix" || in.Op == "stmatrix" {
		n := map[bool]int{in.Has("x1"): 1, in.Has("x2"): 2, in.Has("x4"): 4}[true]
		data := &in.Args[boolBit(in.Op == "stmatrix")]
		if !in.Has("m16n16") {
			v.length(in, data, n)
		}
		return
	}
	shape := ""
	for _, m := range in.Mods {
		if _, ok := fragmentLengths[in.Op+" "+m]; ok {
			shape = in.Op + " " + m
		}
	}
	types := in.Types()
	if shape == "" || len(types) == 0 || !halfInputs(in, types) {
		return
	}
	l := fragmentLengths[shape]
	acc := func(t Type) int {
		if t == F32 {
			return l.f32
		}
		return l.f16
	}
	first, last := types[0], types[len(types)-1]
	switch {
	case in.Has("load") && in.Has("a"):
		v.length(in, &in.Args[0], l.a)
	case in.Has("load") && in.Has("b"):
		v.length(in, &in.Args[0], l.b)
	case in.Has("load"):
		v.length(in, &in.Args[0], acc(first))
	case in.Has("store"):
		v.length(in, &in.Args[1], acc(first))
	case len(in.Args) >= 4:
		v.length(in, &in.Args[0], acc(first))
		v.length(in, &in.Args[1], l.a)
		v.length(in, &in.Args[2], l.b)
		v.length(in, &in.Args[3], acc(last))
	}
}

// halfInputs reports whether the multiplied matrices are f16: the only type named, or those between d's and c's.
func halfInputs(in *Instr, types []Type) bool {
	if in.Op == "mma" {
		return len(types) == 4 && types[1] == F16 && types[2] == F16
	}
	for _, t := range types {
		if t != F16 && t != F32 {
			return false
		}
	}
	return len(types) <= 2
}

func (v *validator) length(in *Instr, op *Operand, n int) {
	got := 1
	if op.Kind == OpVec {
		got = len(op.Elems)
	}
	if got != n {
		v.errorf(op.Pos, "%s wants a vector of %d, not %d", in.Opcode(), n, got)
	}
}
