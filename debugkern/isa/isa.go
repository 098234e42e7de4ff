// Package isa is the table of PTX instructions: what every part of the program that reads, checks, edits or
// executes PTX needs to know of an opcode. A row of the table (table*.go) gives an instruction's operands and
// which of them it writes, its modifiers, its kind, and how its result depends on its operands; fragment.go
// gives the registers that hold its matrices.
//
// The one idea: no other package names an opcode in order to ask one of these questions. An executor chooses
// what to do by Kind, a checker by Kind and Form; what an instruction computes, to the bit, is the
// executor's. To add an instruction: its row here, its arithmetic in the executor, its test.
//
// Opcodes and modifiers are strings, spelled as in the PTX ISA without dots. The package must not know
// modules, registers or executors.
package isa

import (
	"slices"
	"strings"
	"sync"
)

// Arg is what an instruction takes as one operand.
type Arg struct {
	Kind     ArgKind
	Class    ArgClass
	Optional bool
	Address  bool // the result may be the address that this operand is, or lie in the same variable
}

// ArgKind is the form of an operand.
type ArgKind byte

// Kinds of operands, by their letters in the table.
const (
	ArgDest      ArgKind = 'd' // destination register, or _
	ArgDestVec   ArgKind = 'D' // destination register, or a vector of them
	ArgDestPair  ArgKind = 'P' // destination register, or a pair d|p
	ArgDestPred  ArgKind = 'Q' // destination predicate, or a pair of them
	ArgDestAny   ArgKind = 'X' // a destination of any form
	ArgSource    ArgKind = 's' // register, special register, constant or symbol
	ArgSourceVec ArgKind = 'S' // the same, or a vector
	ArgPred      ArgKind = 'p' // source predicate
	ArgAddress   ArgKind = 'm' // address in brackets
	ArgData      ArgKind = 'v' // register, or the vector that .v2, .v4, .v8 asks for
	ArgVec       ArgKind = 'V' // register or vector
	ArgInt       ArgKind = 'i' // integer constant
	ArgLabel     ArgKind = 'l'
	ArgAny       ArgKind = 'x'
)

// dest reports whether an operand of this kind is written where it stands first. Of a load's data operand it
// is.
func (k ArgKind) dest() bool {
	return strings.IndexByte("dDPQXvV", byte(k)) >= 0
}

// ArgClass is what the type of an operand has to fit.
type ArgClass byte

// Classes of types, by their letters in the table.
const (
	ClassNone      ArgClass = '-' // not checked
	ClassType      ArgClass = 't' // the instruction's type
	ClassWide      ArgClass = 'w' // the type, of twice the width with .wide
	ClassFirst     ArgClass = '1' // the first type
	ClassLast      ArgClass = '2' // the last type
	ClassFirstWide ArgClass = '3' // the first type, in a register that may be wider
	ClassLastWide  ArgClass = '4' // the last type, in a register that may be wider
	ClassLeast     ArgClass = 'l' // at least as wide as the type
	ClassWord      ArgClass = 'u' // 32 bits
	ClassA         ArgClass = 'A' // the registers of fragment A of the instruction's shape
	ClassB         ArgClass = 'B' // of B
	ClassC         ArgClass = 'C' // of C
	ClassD         ArgClass = 'D' // of D
	ClassMatrices  ArgClass = 'M' // a register for each matrix that .x1, .x2, .x4 asks for
)

// Fragment reports whether the operand is a matrix fragment.
func (c ArgClass) Fragment() bool { return c >= ClassA && c <= ClassD || c == ClassMatrices }

// Form is what the table says of an instruction: of an opcode, or of an opcode with some of its modifiers
// (wmma.load). Forms are shared and never changed.
type Form struct {
	Name string // of the opcode
	Kind Kind
	Args []Arg
	Min  int  // operands that must be there
	Dest bool // the first operand is written
	// Bytewise: byte i of the result depends on bytes i of the operands only.
	Bytewise bool
	// Real is the function of real numbers that the instruction rounds where its type is of floats; nil where
	// there is none.
	Real func(a, b, c float64) float64
	// Infix is how Real is written between its operands, "+" or "·" and "+"; nil: as a function.
	Infix []string

	mods    map[string]bool
	anyMods bool
	need    []string
	also    []Need
	varies  Variance
	when    []string // the modifiers that make this form of the opcode
}

// Need is a set of modifiers of which an instruction must have one.
type Need struct {
	Of   string // "int", "f32": only where the instruction's type is that; "": always
	Mods []string
	Text string // for a message: ".lo, .hi or .wide"
}

// HasMod reports whether a modifier is one of the opcode's.
func (f *Form) HasMod(mod string) bool { return f.anyMods || f.mods[mod] }

// Need returns the modifiers of which every instruction of the form must have one; nil where it needs none.
func (f *Form) Need() []string { return f.need }

// Also returns what else it needs, by type.
func (f *Form) Also() []Need { return f.also }

// Known reports whether the table has the opcode.
func (f *Form) Known() bool { return f != &unknown }

// unknown is the form of an opcode that the table does not have.
var unknown = Form{Dest: true, mods: map[string]bool{}, anyMods: true}

// Lookup returns the form of an instruction: that of its opcode whose modifiers it has most of. For an opcode
// that the table does not have, the form is not Known: it says that the first operand is written, and nothing
// else.
func Lookup(op string, mods []string) *Form {
	for _, f := range table()[op] {
		if f.matches(mods) {
			return f
		}
	}
	return &unknown
}

func (f *Form) matches(mods []string) bool {
	for _, m := range f.when {
		if !slices.Contains(mods, m) {
			return false
		}
	}
	return true
}

// Opcodes returns the first components of all opcodes, sorted.
func Opcodes() []string {
	var ops []string
	for op := range table() {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	return ops
}

// Forms returns the forms of an opcode, those with the most modifiers first.
func Forms(op string) []*Form { return table()[op] }

// table builds the forms from their rows on first use.
var table = sync.OnceValue(func() map[string][]*Form {
	t := map[string][]*Form{}
	for _, rows := range [][]row{arithmeticRows, bitRows, selectRows, memoryRows, controlRows, matrixRows,
		otherRows} {
		for _, r := range rows {
			for _, op := range strings.Fields(r.ops) {
				t[op] = r.forms(op)
			}
		}
	}
	return t
})

// row is one line of the table, for opcodes that agree in everything but their names.
//
// args lists the operands, destination first, each as the letters of a kind and of a class. A '*' marks those
// whose address the result may be, a '?' those that may be left out. mods lists the modifiers, sets of them
// by @name (mods.go). need lists those of which one must be there, also more of them for some types.
type row struct {
	ops, args, mods, need string
	kind                  Kind
	also                  string // "int: lo hi wide"
	bytewise              bool
	real                  func(a, b, c float64) float64
	infix                 string
	varies                Variance
	when                  []variant // forms of the opcode with some modifiers, the most specific first
}

// variant is what is different in an instruction that has certain modifiers.
type variant struct {
	mods string
	kind Kind
	args string // "": those of the row
}

func (r row) forms(op string) []*Form {
	base := &Form{
		Name: op, Kind: r.kind, Bytewise: r.bytewise, Real: r.real, Infix: strings.Fields(r.infix),
		mods: map[string]bool{}, anyMods: strings.Contains(r.mods, "@any"), need: expand(r.need),
		varies: r.varies,
	}
	for _, m := range expand(r.mods) {
		base.mods[m] = true
	}
	if r.also != "" {
		base.also = []Need{needOf(r.also)}
	}
	base.operands(r.args)
	var out []*Form
	for _, v := range r.when {
		f := *base
		f.Kind, f.when = v.kind, strings.Fields(v.mods)
		if v.args != "" {
			f.operands(v.args)
		}
		out = append(out, &f)
	}
	return append(out, base)
}

// operands reads the column args.
func (f *Form) operands(args string) {
	f.Args, f.Min, f.Dest = nil, 0, false
	if args == "-" {
		return
	}
	for _, s := range strings.Fields(args) {
		a := Arg{Kind: ArgKind(s[0]), Class: ArgClass(s[1]), Optional: strings.Contains(s[2:], "?"),
			Address: strings.Contains(s[2:], "*")}
		f.Args = append(f.Args, a)
		if !a.Optional {
			f.Min = len(f.Args)
		}
	}
	f.Dest = len(f.Args) > 0 && f.Args[0].Kind.dest()
}

// needOf reads the column also.
func needOf(s string) Need {
	of, list, typed := strings.Cut(s, ": ")
	if !typed {
		of, list = "", s
	}
	n := Need{Of: of, Mods: expand(list)}
	var words []string
	for _, m := range strings.Fields(list) {
		if m == "@rnd" {
			words = append(words, "a rounding modifier")
		} else {
			words = append(words, "."+m)
		}
	}
	last := len(words) - 1
	n.Text = strings.Join(words[:last], ", ") + " or " + words[last]
	return n
}
