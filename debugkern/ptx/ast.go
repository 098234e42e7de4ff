// Package ptx reads PTX modules: scanner, parser, validator, printer, and positions both in the PTX text and
// in the CUDA source it was compiled from (.loc, inlined-at chains included).
//
// The one idea: a function is kept twice over the same data. Func.Body is the flat list of instructions
// an executor walks by index, with registers, variables and branch targets already resolved, so that it
// needs no maps; Func.Items is the same list with everything that only a reader or the printer cares
// about (scopes, declarations, labels, .loc, .pragma) in its place. Spelling is the PTX ISA's throughout:
// "ld", "shared", "m16n16k16".
//
// The package knows the shape of PTX; what an opcode's operands are, and what is written, it asks the
// instruction table (isa). An unknown opcode parses like any other, and the executor is the one to say
// what it cannot model.
package ptx

import "tilescope/debugkern/isa"

// Pos is a place in the PTX text. Line and Col count from 1; Col counts bytes.
type Pos struct {
	File string // Module.Name
	Line int
	Col  int
}

// Version is the PTX ISA version of the .version directive.
type Version struct{ Major, Minor int }

// Module is one PTX translation unit.
type Module struct {
	Name        string // name given to Parse; used in positions
	Version     Version
	Target      string   // first target, such as "sm_80"
	Targets     []string // all of .target, in order ("sm_80", "debug", ...)
	AddressSize int      // 32 or 64
	Files       []File   // .file table, in order of appearance
	Vars        []*Var   // module-scope variables, in declaration order
	Funcs       []*Func  // entries and functions, prototypes (Proto) included, in declaration order
	Aliases     []Alias
	Sections    []*Section // .section blocks (debug data)
	Items       []TopItem  // everything above in the order of the text, for the printer

	source string // the text that it was parsed from; "" once it was changed
}

// Source returns the text that the module was parsed from, whose lines its positions are; "" for a module
// that was changed since, or made of another.
func (m *Module) Source() string { return m.source }

// File is one .file directive. Time and Size are 0 where not given.
type File struct {
	Index int
	Name  string
	Time  uint64
	Size  uint64
	Pos   Pos
}

// Alias is one .alias directive: Name stands for Target.
type Alias struct {
	Name, Target string
	Pos          Pos
}

// TopItemKind says which member of a TopItem is set.
type TopItemKind uint8

// Kinds of TopItem.
const (
	TopVar     TopItemKind = iota // Var
	TopFunc                       // Func
	TopFile                       // Index into Module.Files
	TopAlias                      // Index into Module.Aliases
	TopSection                    // Index into Module.Sections
	TopPragma                     // Text
)

// TopItem is one module-level item.
type TopItem struct {
	Kind  TopItemKind
	Var   *Var
	Func  *Func
	Index int
	Text  string
}

// Section is a .section block. Only .debug_str is interpreted (it holds the names of inlined functions); the
// rest is kept to be printed again.
type Section struct {
	Name  string // with its leading dot, ".debug_str"
	Items []SectionItem
	Pos   Pos
}

// SectionItem is a label (Label set) or one data directive (Type and Values).
type SectionItem struct {
	Label  string
	Type   Type
	Values []SectionValue
}

// SectionValue is an integer (Sym empty), or a label plus Imm, or, with Minus set, the
// difference Sym - Minus + Imm.
type SectionValue struct {
	Imm        int64
	Sym, Minus string
}

// Linkage is the linking directive before a declaration.
type Linkage uint8

// Linkages; LinkNone is internal linkage.
const (
	LinkNone Linkage = iota
	LinkVisible
	LinkExtern
	LinkWeak
	LinkCommon
)

// Func is a kernel entry or a device function.
type Func struct {
	Name      string
	Demangled string // C++ name without parameter list, Name where it is not mangled
	Entry     bool
	Proto     bool // declaration without a body
	Linkage   Linkage
	NoReturn  bool
	// Params: input parameters in order; for entries Offset is the byte offset in the launch parameter block
	Params     []*Var
	Return     []*Var // return parameters of a .func (at most one from compilers)
	Directives []Directive
	Decls      []*RegDecl // every .reg declaration, nested scopes included, in order
	// Regs: registers that the body names, dense, in order of first appearance; Operand.Reg indexes it
	Regs []Reg
	// Vars: .local, .shared, .param and other variables declared in the body, nested scopes included
	Vars []*Var
	Body []*Instr
	// Labels: label -> index in Body (may be len(Body)); of duplicates in nested scopes the first
	Labels map[string]int
	// Items: Body with declarations, scopes, labels and .loc between, for the printer and source views
	Items  []Item
	Module *Module
	Pos    Pos
	End    Pos // closing brace
}

// Directive is a performance-tuning or other directive of a function header: Name without
// the dot ("maxntid").
type Directive struct {
	Name string
	Args []uint64
	Text string // string argument (.pragma) or uninterpreted rest (.attribute)
}

// ItemKind says which member of an Item is set.
type ItemKind uint8

// Kinds of Item.
const (
	ItemInstr   ItemKind = iota // Index into Body
	ItemOpen                    // { opens a nested scope
	ItemClose                   // } closes it
	ItemLabel                   // Text
	ItemReg                     // Index into Decls; several declarations may stem from one statement
	ItemVar                     // Index into Vars
	ItemLoc                     // Loc
	ItemPragma                  // Text
	ItemTargets                 // .branchtargets Text: Names
	ItemProto                   // .callprototype: Text is the label, Names one raw string
)

// Item is one statement of a function body in text order.
type Item struct {
	Kind  ItemKind
	Index int
	Text  string
	Names []string
	Loc   *Loc
	Pos   Pos
}

// RegDecl is one .reg declaration: Name, or Name0 … Name(Count-1) where Count > 0 (`.reg .b32 %r<100>`).
type RegDecl struct {
	Name  string
	Type  Type
	Vec   int // 0, or 2 or 4 for a vector register
	Count int // 0 for a single register
	Pos   Pos
}

// Reg is one register of a function.
type Reg struct {
	Type Type
	Vec  int8
	Decl int32 // index in Func.Decls
	Num  int32 // number within a counted declaration, else -1
}

// Var is a variable in any addressable space, parameters included.
type Var struct {
	Name string // as in the PTX
	// Demangled: the variable's own name in the source ("_ZZ4mainE2sQ" -> "sQ"), Name where it is not mangled
	Demangled string
	Qualified string // the full C++ name ("main::sQ"), Name where it is not mangled
	Space     Space
	Linkage   Linkage
	Type      Type
	Vec       int     // 0, or 2 or 4
	Align     int     // bytes; the type's natural alignment where not given
	AlignSet  bool    // .align was written
	Size      int     // bytes; 0 for an unsized array (`.extern .shared x[]`)
	Dims      []int   // array dimensions; a first 0 stands for []
	Init      []byte  // Size bytes, or nil where not initialised; bytes that a Reloc covers are 0
	Relocs    []Reloc // addresses in Init
	Ptr       bool    // kernel parameter with .ptr
	PtrSpace  Space   // SpaceGeneric where not given
	PtrAlign  int
	Attr      []string // .attribute contents, .managed and so on
	Offset    int      // entry parameters only: byte offset in the parameter block
	Func      *Func    // function whose parameter or body variable this is; nil at module scope
	Pos       Pos
}

// Reloc is an address inside initial data: Size bytes at Offset hold the address of Sym plus Addend,
// as a generic address where Generic is set. Mask is that of the `0xFF00(sym)` form, which takes one
// byte of the address.
type Reloc struct {
	Offset, Size int
	Sym          string
	Addend       int64
	Generic      bool
	Mask         uint64 // 0 where there is none
}

// Instr is one instruction.
type Instr struct {
	Pos   Pos
	Loc   *Loc // CUDA source place in force, nil where there is none
	Guard *Guard
	Op    string // first component of the opcode: "ld", "wmma", "cp"
	// Mods: the others in order, without dots: "load", "a", "sync", "aligned", "row",
	// "m16n16k16", "shared", "f16"
	Mods []string
	// Args: destination first; `call` always has three: OpList returns, callee, OpList arguments
	// (then the prototype)
	Args   []Operand
	Labels []string // labels that stand directly before
	Index  int      // own index in Func.Body
	Asm    bool     // between "begin inline asm" and "end inline asm"

	form *isa.Form // what Form returns, where the parser has looked it up
}

// Guard is the predicate of a guarded instruction.
type Guard struct {
	Reg int32 // index in Func.Regs
	Neg bool  // @!%p
}

// OperandKind is the form of an operand.
type OperandKind uint8

// Operand forms, with the members that each sets.
const (
	OpNone    OperandKind = iota
	OpReg                 // Reg; Comp for %v.x; Neg for !%p
	OpSpecial             // Name ("%tid"), Comp (0 for .x) or -1
	OpInt                 // Imm: two's complement; Unsigned where spelled U or too large for int64
	OpF32                 // Imm: the 32 bits of a 0f literal
	OpF64                 // Imm: the 64 bits of a 0d or decimal literal
	// OpSym: Name, Var (or Func) and Off: the address of a variable or function, or a .param variable by name
	OpSym
	OpAddr  // [Reg+Off], [Var+Off] or [Imm]: see Base
	OpVec   // {Elems}
	OpPair  // Elems[0] | Elems[1], as in setp and shfl
	OpList  // (Elems), in call
	OpLabel // Name, Target
	OpSink  // _
)

// BaseKind is what the address in brackets starts from.
type BaseKind uint8

// Bases of an OpAddr.
const (
	BaseReg BaseKind = iota // Reg + Off
	BaseSym                 // Var (Name) + Off
	BaseImm                 // Off alone
)

// Operand is one operand. Members not named by its kind are zero, but Reg and Comp, which are -1
// where they do not apply.
type Operand struct {
	Kind     OperandKind
	Base     BaseKind
	Neg      bool // !%p
	Unsigned bool
	Comp     int8  // 0..3 for .x .y .z .w (.r .g .b .a)
	Reg      int32 // index in Func.Regs
	Target   int32 // OpLabel: index in Func.Body; may be len(Body)
	Imm      uint64
	Off      int64
	Name     string
	Var      *Var
	Func     *Func
	Targets  []int32 // OpLabel naming a .branchtargets list: the body indices of its labels
	Elems    []Operand
	Pos      Pos
}

// Loc is a place in the CUDA source. Line and Col count from 1; Line 0 is code the compiler
// could not attribute.
type Loc struct {
	File      int    // .file index
	Name      string // file name of that index, "" where the module has none
	Line, Col int
	// Func: demangled name of the inlined function this place lies in; "" in the function's own body
	Func      string
	Mangled   string
	FuncLabel string // label in .debug_str and offset, as written
	FuncOff   int64
	InlinedAt *Loc // the call that was inlined, nil in the function's own body
}
