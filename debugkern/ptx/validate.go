package ptx

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
)

// Validate checks every instruction of m against the instruction table: modifiers, number and kind of
// operands, register types, state spaces of named variables, vector and fragment lengths. Names and labels
// were resolved by Parse. An opcode that the table does not have passes: the executor says what it cannot
// model. The error is an Errors.
func Validate(m *Module) error { return ValidateContext(context.Background(), m) }

// ValidateContext is Validate with a context: where that ends first, the error is its own.
func ValidateContext(ctx context.Context, m *Module) error {
	v := &validator{}
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
	fn   *Func
	errs Errors
}

func (v *validator) errorf(pos Pos, format string, args ...any) {
	if len(v.errs) < maxErrors {
		v.errs = append(v.errs, &Error{pos, fmt.Sprintf(format, args...)})
	}
}

func (v *validator) instr(in *Instr) {
	f := in.Form()
	if !f.Known() || !v.modifiers(in, f) {
		return
	}
	if n := len(in.Args); n < f.Min || n > len(f.Args) {
		want := fmt.Sprint(f.Min)
		if f.Min != len(f.Args) {
			want = fmt.Sprintf("%d to %d", f.Min, len(f.Args))
		}
		v.errorf(in.Pos, "%s takes %s operands, not %d", in.Opcode(), want, n)
		return
	}
	types := in.Types()
	before := len(v.errs)
	for i := range in.Args {
		if v.kind(in, i, f.Args[i]); len(v.errs) == before {
			v.types(in, &in.Args[i], f.Args[i], types)
		}
		if len(v.errs) != before {
			return
		}
	}
	for i := range in.Args {
		v.address(in, &in.Args[i], f.Args[i])
		v.length(in, &in.Args[i], f.Args[i])
	}
	for _, need := range f.Also() {
		if needed(need.Of, in.Type()) && !slices.ContainsFunc(need.Mods, in.Has) {
			v.errorf(in.Pos, "%s lacks %s", in.Opcode(), need.Text)
		}
	}
}

// needed reports whether a need of instructions of some type is one of those of type t.
func needed(of string, t Type) bool {
	return of == "" || of == "int" && !t.Float() || of == t.String()
}

// modifiers checks that each is one of the opcode's and that a needed one is there.
func (v *validator) modifiers(in *Instr, f *isa.Form) bool {
	for _, m := range in.Mods {
		if !f.HasMod(m) {
			v.errorf(in.Pos, "%s: .%s is not a modifier of %s", in.Opcode(), m, in.Op)
			return false
		}
	}
	need := f.Need()
	if len(need) == 0 || slices.ContainsFunc(need, in.Has) {
		return true
	}
	some := need[:min(4, len(need))]
	more := ""
	if len(some) < len(need) {
		more = " …"
	}
	v.errorf(in.Pos, "%s lacks one of .%s%s", in.Opcode(), strings.Join(some, " ."), more)
	return false
}

var kindNames = [...]string{OpNone: "nothing", OpReg: "a register", OpSpecial: "a special register",
	OpInt: "an integer", OpF32: "an f32 constant", OpF64: "an f64 constant", OpSym: "a symbol",
	OpAddr: "an address",
	OpVec:  "a vector", OpPair: "a pair", OpList: "a list", OpLabel: "a label", OpSink: "_"}

// kind checks the form of operand i.
func (v *validator) kind(in *Instr, i int, a isa.Arg) {
	op, ok, want := &in.Args[i], true, ""
	scalar := op.Kind == OpReg || op.Kind == OpSpecial || op.Kind == OpInt || op.Kind == OpF32 ||
		op.Kind == OpF64 ||
		op.Kind == OpSym
	dest := (op.Kind == OpReg || op.Kind == OpSink) && !op.Neg
	switch a.Kind {
	case isa.ArgDest:
		ok, want = dest, "a destination register"
	case isa.ArgDestVec:
		ok, want = dest || op.Kind == OpVec, "a destination register or vector"
	case isa.ArgDestPair, isa.ArgDestPred:
		ok, want = dest || op.Kind == OpPair, "a destination register or pair"
	case isa.ArgSource:
		ok, want = scalar || op.Kind == OpLabel, "a register or constant"
	case isa.ArgSourceVec:
		ok, want = scalar || op.Kind == OpVec || op.Kind == OpLabel, "a register, constant or vector"
	case isa.ArgPred:
		ok, want = op.Kind == OpReg && v.fn.Regs[op.Reg].Type == Pred || op.Kind == OpInt, "a predicate"
	case isa.ArgAddress:
		ok, want = op.Kind == OpAddr, "an address in brackets"
	case isa.ArgData, isa.ArgVec:
		ok, want = scalar || op.Kind == OpVec || op.Kind == OpSink, "a register or vector"
	case isa.ArgInt:
		ok, want = op.Kind == OpInt, "an integer constant"
	case isa.ArgLabel:
		ok, want = op.Kind == OpLabel, "a label"
	}
	if !ok {
		v.errorf(op.Pos, "operand %d of %s is %s, not %s", i+1, in.Opcode(), kindNames[op.Kind], want)
	}
}

// types checks an operand's register type, or its constant, against its class.
func (v *validator) types(in *Instr, op *Operand, a isa.Arg, types []Type) {
	if a.Kind == isa.ArgDestPred {
		v.predicates(in, op)
		return
	}
	if len(types) == 0 || a.Class == isa.ClassNone || a.Class.Fragment() {
		return
	}
	want, wide := types[len(types)-1], false
	switch a.Class {
	case isa.ClassWide:
		wide = in.Has("wide")
	case isa.ClassFirst, isa.ClassFirstWide:
		want = types[0]
	case isa.ClassWord:
		want = B32
	}
	loose := a.Class == isa.ClassLeast || a.Class == isa.ClassFirstWide || a.Class == isa.ClassLastWide
	switch op.Kind {
	case OpReg:
		r := v.fn.Regs[op.Reg]
		if r.Vec != 0 && op.Comp < 0 && (a.Class != isa.ClassLeast || int(r.Vec) != in.Vec()) &&
			in.Kind() != isa.Move {
			v.errorf(op.Pos, "%s is a vector register: name a component", v.fn.RegName(op.Reg))
			return
		}
		if !fits(r.Type, want, wide, loose) {
			note := ""
			if wide {
				note = " doubled"
			}
			v.errorf(op.Pos, "%s is a .%s register, which does not fit .%s%s of %s", v.fn.RegName(op.Reg),
				r.Type, want,
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
	if k := in.Kind(); k != isa.Move && k != isa.Convert {
		v.errorf(op.Pos, "special register %s can be read by mov and cvt only, not by %s", op.Name,
			in.Opcode())
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

// vector checks that a vector of registers in mov or cvt adds up to the type, and in ld and st has .vN
// elements.
func (v *validator) vector(in *Instr, op *Operand, want Type) {
	switch in.Kind() {
	case isa.Move:
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
	case isa.Load, isa.Store:
		if n := in.Vec(); n != len(op.Elems) {
			v.errorf(op.Pos, "%s takes %d elements, not %d", in.Opcode(), n, len(op.Elems))
			return
		}
		for i := range op.Elems {
			v.types(in, &op.Elems[i], isa.Arg{Kind: isa.ArgDest, Class: isa.ClassLeast}, []Type{want})
		}
	}
}

// fits reports whether a register of type r may stand where the instruction wants type t: same size, and the
// same kind unless one of them is untyped bits (ISA 9.4). Memory accesses and conversions take wider
// registers too (9.4.1).
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

// address checks that a variable named in brackets lies in the space that the instruction accesses, and that
// an address register can hold an address.
func (v *validator) address(in *Instr, op *Operand, a isa.Arg) {
	if k := in.Kind(); op.Kind != OpAddr || k.OfWarp() || !k.Reads() && !k.Writes() ||
		a.Kind != isa.ArgAddress {
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

// length checks the number of registers of a vector or fragment.
func (v *validator) length(in *Instr, op *Operand, a isa.Arg) {
	if a.Kind == isa.ArgData && a.Class == isa.ClassLeast {
		if n := in.Vec(); n > 1 && op.Kind != OpVec && !(op.Kind == OpReg && v.fn.Regs[op.Reg].Vec != 0) {
			v.errorf(op.Pos, "%s wants a vector of %d", in.Opcode(), n)
		}
		return
	}
	if !a.Class.Fragment() {
		return
	}
	got := 1
	if op.Kind == OpVec {
		got = len(op.Elems)
	}
	if n := in.Form().Registers(a.Class, in.Mods); n > 0 && n != got {
		v.errorf(op.Pos, "%s wants a vector of %d, not %d", in.Opcode(), n, got)
	}
}
