package ptx

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Validate checks every instruction of m against the ISA's forms: modifiers, number and kind of operands, register types,
// state spaces of named variables, vector and fragment lengths. Names and labels were resolved by Parse. Instructions
// with an opcode that is not Known pass. The error is an Errors.
func Validate(m *Module) error { return ValidateContext(context.Background(), m) }

// ValidateContext is Validate with a context: where that ends first, the error is its own.
func ValidateContext(ctx context.Context, m *Module) error {
	v := &validator{rules: rules()}
	for _, f := range m.Funcs {
		v.fn = f
		for i, in := range f.Body {
			if i%lookEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if v.instr(in); len(v.errs) >= maxErrors {
				return v.errs.err()
			}
		}
	}
	return v.errs.err()
}

type validator struct {
	fn    *Func
	rules map[string]*rule
	errs  Errors
}

func (v *validator) errorf(pos Pos, format string, args ...any) {
	if len(v.errs) < maxErrors {
		v.errs = append(v.errs, &Error{pos, fmt.Sprintf(format, args...)})
	}
}

func (v *validator) instr(in *Instr) {
	r := v.rules[in.Op]
	if r == nil {
		return
	}
	if !v.modifiers(in, r) {
		return
	}
	if n := len(in.Args); n < r.min || n > len(r.args) {
		want := fmt.Sprint(r.min)
		if r.min != len(r.args) {
			want = fmt.Sprintf("%d to %d", r.min, len(r.args))
		}
		v.errorf(in.Pos, "%s takes %s operands, not %d", in.Opcode(), want, n)
		return
	}
	types := in.Types()
	before := len(v.errs)
	for i := range in.Args {
		v.kind(in, &in.Args[i], r.args[i], i)
		if len(v.errs) == before {
			v.types(in, &in.Args[i], r.args[i], types)
		}
		if len(v.errs) != before {
			return
		}
	}
	v.special(in)
}

// modifiers checks that each is one of the opcode's and that a needed one is there.
func (v *validator) modifiers(in *Instr, r *rule) bool {
	for _, m := range in.Mods {
		if !r.any && !r.mods[m] {
			v.errorf(in.Pos, "%s: .%s is not a modifier of %s", in.Opcode(), m, in.Op)
			return false
		}
	}
	if len(r.need) == 0 {
		return true
	}
	for _, m := range in.Mods {
		if slices.Contains(r.need, m) {
			return true
		}
	}
	some := r.need[:min(4, len(r.need))]
	more := ""
	if len(some) < len(r.need) {
		more = " …"
	}
	v.errorf(in.Pos, "%s lacks one of .%s%s", in.Opcode(), strings.Join(some, " ."), more)
	return false
}

var kindNames = [...]string{OpNone: "nothing", OpReg: "a register", OpSpecial: "a special register",
	OpInt: "an integer", OpF32: "an f32 constant", OpF64: "an f64 constant", OpSym: "a symbol", OpAddr: "an address",
	OpVec: "a vector", OpPair: "a pair", OpList: "a list", OpLabel: "a label", OpSink: "_"}

// kind checks the form of operand i.
func (v *validator) kind(in *Instr, op *Operand, a argRule, i int) {
	ok, want := true, ""
	scalar := op.Kind == OpReg || op.Kind == OpSpecial || op.Kind == OpInt || op.Kind == OpF32 || op.Kind == OpF64 ||
		op.Kind == OpSym
	reg := op.Kind == OpReg || op.Kind == OpSink
	switch a.kind {
	case 'd':
		ok, want = reg && !op.Neg || op.Kind == OpPair && in.Op == "vote", "a destination register"
	case 'D':
		ok, want = reg || op.Kind == OpVec, "a destination register or vector"
	case 'P':
		ok, want = reg || op.Kind == OpPair, "a destination register or pair"
	case 's':
		ok, want = scalar || op.Kind == OpLabel, "a register or constant"
	case 'S':
		ok, want = scalar || op.Kind == OpVec || op.Kind == OpLabel, "a register, constant or vector"
	case 'p':
		ok, want = op.Kind == OpReg && v.fn.Regs[op.Reg].Type == Pred || op.Kind == OpInt, "a predicate"
	case 'm':
		ok, want = op.Kind == OpAddr, "an address in brackets"
	case 'v', 'V':
		ok, want = scalar || op.Kind == OpVec || op.Kind == OpSink, "a register or vector"
	case 'i':
		ok, want = op.Kind == OpInt, "an integer constant"
	case 'l':
		ok, want = op.Kind == OpLabel, "a label"
	}
	if !ok {
		v.errorf(op.Pos, "operand %d of %s is %s, not %s", i+1, in.Opcode(), kindNames[op.Kind], want)
	}
}

// types checks an operand's register type, or its constant, against its class.
func (v *validator) types(in *Instr, op *Operand, a argRule, types []Type) {
	if len(types) == 0 || a.class == '-' {
		return
	}
	want, wide := types[len(types)-1], false
	switch a.class {
	case 'w':
		wide = in.Has("wide")
	case '1':
		want = types[0]
	case '2':
		want = types[len(types)-1]
	case 'u':
		want = B32
	}
	loose := a.class == 'l' || in.Op == "cvt"
	switch op.Kind {
	case OpReg:
		r := v.fn.Regs[op.Reg]
		if r.Vec != 0 && op.Comp < 0 && (a.class != 'l' || int(r.Vec) != in.Vec()) && in.Op != "mov" {
			v.errorf(op.Pos, "%s is a vector register: name a component", v.fn.RegName(op.Reg))
			return
		}
		if !fits(r.Type, want, wide, loose) {
			note := ""
			if wide {
				note = " doubled"
			}
			v.errorf(op.Pos, "%s is a .%s register, which does not fit .%s%s of %s", v.fn.RegName(op.Reg), r.Type, want,
				note, in.Opcode())
		}
	case OpSpecial:
		v.specialReg(in, op, want)
	case OpInt:
		if want.Float() {
			v.errorf(op.Pos, "integer constant for the float type .%s of %s", want, in.Opcode())
		}
	case OpF32, OpF64:
		switch {
		case !want.Float() && !bit(want):
			v.errorf(op.Pos, "float constant for the integer type .%s of %s", want, in.Opcode())
		case bit(want) && op.Kind == OpF64 && want.Bits() < 64:
			v.errorf(op.Pos, "f64 constant for the %d bits of %s", want.Bits(), in.Opcode())
		}
	case OpVec:
		v.vector(in, op, want)
	}
}

// specialReg checks a special register read: by mov or cvt only, and not as 64 bits where it has 32 (ISA 10).
func (v *validator) specialReg(in *Instr, op *Operand, want Type) {
	if op.Name == "WARP_SZ" {
		return
	}
	if in.Op != "mov" && in.Op != "cvt" {
		v.errorf(op.Pos, "special register %s can be read by mov and cvt only, not by %s", op.Name, in.Opcode())
		return
	}
	switch op.Name {
	case "%clock64", "%globaltimer", "%gridid", "%current_graph_exec":
		return
	}
	if want.Bits() == 64 && !strings.HasSuffix(op.Name, "_64") {
		v.errorf(op.Pos, "%s has 32 bits, %s wants 64", op.Name, in.Opcode())
	}
}

// vector checks that a vector of registers in mov or cvt adds up to the type, and in ld and st has .vN elements.
func (v *validator) vector(in *Instr, op *Operand, want Type) {
	switch in.Op {
	case "mov":
		bits := 0
		for _, e := range op.Elems {
			if e.Kind != OpReg {
				return // a sink or constant: its width is what is left
			}
			bits += v.fn.Regs[e.Reg].Type.Bits()
		}
		if bits != want.Bits() {
			v.errorf(op.Pos, "the elements have %d bits together, .%s has %d", bits, want, want.Bits())
		}
	case "ld", "ldu", "st":
		if n := in.Vec(); n != len(op.Elems) {
			v.errorf(op.Pos, "%s takes %d elements, not %d", in.Opcode(), n, len(op.Elems))
			return
		}
		for i := range op.Elems {
			v.types(in, &op.Elems[i], argRule{'d', 'l'}, []Type{want})
		}
	}
}

// fits reports whether a register of type r may stand where the instruction wants type t: same size, and the same kind
// unless one of them is untyped bits (ISA 9.4). Memory accesses and conversions take wider registers too (9.4.1).
func fits(r, t Type, wide, loose bool) bool {
	if r == Pred || t == Pred {
		return r == t
	}
	bits := t.Bits()
	if wide {
		bits *= 2
	}
	if r.Bits() != bits && (!loose || r.Bits() < bits) {
		return false
	}
	if bit(r) || bit(t) || wide || loose && r.Bits() > bits {
		return true
	}
	return r.Float() == t.Float()
}

func bit(t Type) bool { return t >= B8 && t <= B128 || t == TF32 || t >= E4M3 && t <= E5M2x2 }

// special checks what the table cannot say.
func (v *validator) special(in *Instr) {
	switch in.Op {
	case "ld", "ldu", "st", "atom", "red":
		for i := range in.Args {
			v.addressSpace(in, &in.Args[i])
		}
		if in.Vec() > 1 && (in.Op == "ld" || in.Op == "st") {
			data := &in.Args[boolBit(in.Op == "st")]
			if data.Kind != OpVec && !(data.Kind == OpReg && v.fn.Regs[data.Reg].Vec != 0) {
				v.errorf(data.Pos, "%s wants a vector of %d", in.Opcode(), in.Vec())
			}
		}
	case "setp", "testp", "isspacep":
		v.predicates(in, &in.Args[0])
	case "mul", "mad":
		if t := in.Type(); !t.Float() && !in.Has("lo") && !in.Has("hi") && !in.Has("wide") {
			v.errorf(in.Pos, "%s lacks .lo, .hi or .wide", in.Opcode())
		}
	case "div":
		if in.Type() == F32 && !in.Has("approx") && !in.Has("full") && !rounded(in) {
			v.errorf(in.Pos, "%s lacks .approx, .full or a rounding modifier", in.Opcode())
		}
	case "rcp", "sqrt":
		if !in.Has("approx") && !rounded(in) {
			v.errorf(in.Pos, "%s lacks .approx or a rounding modifier", in.Opcode())
		}
	case "wmma", "mma", "ldmatrix", "stmatrix":
		v.fragments(in)
	}
}

// predicates checks that a destination, or both of a pair, are predicate registers.
func (v *validator) predicates(in *Instr, op *Operand) {
	if op.Kind == OpReg && v.fn.Regs[op.Reg].Type != Pred {
		v.errorf(op.Pos, "%s is a .%s register, not a predicate, which %s writes", v.fn.RegName(op.Reg),
			v.fn.Regs[op.Reg].Type, in.Op)
	}
	for i := range op.Elems {
		v.predicates(in, &op.Elems[i])
	}
}

func rounded(in *Instr) bool { return in.Has("rn") || in.Has("rz") || in.Has("rm") || in.Has("rp") }

// addressSpace checks that a variable named in brackets lies in the space that the instruction accesses, and that an
// address register can hold an address.
func (v *validator) addressSpace(in *Instr, op *Operand) {
	if op.Kind != OpAddr {
		return
	}
	if op.Base == BaseReg {
		if t := v.fn.Regs[op.Reg].Type; t.Bits() < 16 || t.Float() {
			v.errorf(op.Pos, "%s is a .%s register and cannot hold an address", v.fn.RegName(op.Reg), t)
		}
		return
	}
	if sp := in.Space(); op.Var != nil && sp != SpaceGeneric && op.Var.Space != sp {
		v.errorf(op.Pos, "%s lies in .%s, %s accesses .%s", op.Var.Name, op.Var.Space, in.Opcode(), sp)
	}
}
