// Package lineage says what the values of one executed block are made of.
//
// The one idea: what one executed warp instruction did is data flow between places (lanes' registers and
// bytes of memory), and only a little of it is not in the text: the order of execution, the lanes, the
// addresses, the source lanes of a shuffle, the side that a select took. Record executes a block once and
// notes that little; everything else is a walk over the record. Forwards (Interpret) a Domain of the caller's
// says what operations make of abstract values, and the walk moves these through registers, shared memory,
// copies and matrix fragments. Backwards (Walk) a value is followed to the argument elements and constants
// that it is made of.
//
// The package must not know kernels, stages or references, and executes through target.Stepper alone.
package lineage

import (
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Options say what Record notes.
type Options struct {
	// Until is the clock at which recording ends; 0: at the block's end.
	Until uint64
	// Memory ends recording before the trace takes more bytes; 0: the launch's budget alone decides.
	Memory int64
}

// Step is one recorded warp instruction. Index is its place in the trace: steps are numbered from
// 0 in the order of execution. Clock is the block's clock (target.Event.Step), which also counts
// what no lane executed.
type Step struct {
	Index int
	Clock uint64
	Warp  int
	PC    int // in the program: target.Event.PC
	Func  *ptx.Func
	Instr *ptx.Instr
	Mask  uint32 // lanes that executed it
}

// Value is what one lane's destination register got from one step: Index counts the registers of the
// destination, in the order of the operand.
type Value struct {
	Step  uint32
	Lane  uint8
	Index uint8
}

// Op is an operation that Interpret asks a Domain about: one lane's result, or one of several parts
// of it, where the instruction computes with packed numbers (f16x2: part 0 is the low half). It is
// valid during the call.
type Op struct {
	Step
	Lane  int
	Dest  int // which register of the destination
	Part  int // of a packed result; for a matrix product the element of the register
	Parts int // 1 where the result is one number
	Bytes int // of the part
	Form  *isa.Form
	// Row and Col are, of a matrix product, the place of the accumulator's element in the instruction's D.
	Row, Col int
}

// Value is the register that the operation's result is part of.
func (o *Op) Value() Value { return Value{uint32(o.Index), uint8(o.Lane), uint8(o.Dest)} }

// Piece is bytes of a value: N of them, from byte From of Of on, which lie from byte At on of what they
// are put together to.
type Piece[T any] struct {
	Of          T
	From, At, N int
}

// Domain says what operations make of abstract values. Interpret moves values through moves, packs,
// loads, stores, shuffles, selects, copies and fragments by itself and calls the Domain only where
// something is computed. Where all of an integer operation's operands are indices (made of thread
// numbers, immediates, scalar arguments and the like, and of no element of a buffer), so is its result,
// and the Domain is not asked.
//
// A zero T is a value like any other.
type Domain[T any] interface {
	// Leaf is an element of an argument's buffer, which this block did not write: as the launch found it, or
	// as another block left it. arg indexes target.Launch.Args.
	Leaf(arg, element int) T
	// Scalar is n bytes, from byte offset on, of a scalar argument.
	Scalar(arg, offset, n int) T
	// Const is an immediate operand: the bits as an instruction of this type has them.
	Const(bits uint64, t ptx.Type) T
	// Index is anything made of no argument: addresses, thread numbers, bytes of memory that nobody wrote.
	Index() T
	// Op is the result of an operation on the operands in, in the order of the instruction's source operands.
	// Of a redux, vote or match they are the values of the member lanes; of atom and red what memory had,
	// then the operands.
	Op(op *Op, in []T) T
	// Dot is one element of a matrix product: acc + Σ a[k]·b[k]. The slices are valid during the call.
	Dot(op *Op, acc T, a, b []T) T
	// Join is a value that an operation takes as one, but that was put together from pieces of others (the
	// bytes between them are indices or zero): two halves read as one word, or one byte of a word.
	Join(op *Op, pieces []Piece[T]) T
}

// Selector is a Domain that wants to be asked about a select between two values: chosen is the one that the
// execution took. Where it returns false the result is chosen.
type Selector[T any] interface {
	Select(op *Op, chosen, other T) (T, bool)
}

// Store is what Interpret reports of a value that is stored to global memory: an element of an argument's
// buffer, or Arg -1 and the address.
type Store struct {
	Step
	Lane    int
	Arg     int
	Element int // of the buffer, by its type; Offset is that of the first byte
	Offset  int
	Addr    uint64
	Bytes   int
}

// Kind is the way in which a value depends on another.
type Kind uint8

const (
	ByValue   Kind = iota // it is computed from it
	ByAddress             // it is where the value was taken from, or part of the index
	ByControl             // it decided that the operation was executed, or which operand a select took
)

func (k Kind) String() string { return [...]string{"value", "address", "control"}[k] }

// LeafKind says where a lineage ends.
type LeafKind uint8

const (
	LeafElement   LeafKind = iota // an element of an argument's buffer, as the launch found it
	LeafScalar                    // a scalar argument
	LeafImmediate                 // a constant in the instruction
	LeafSpecial                   // a special register (%tid), or the address of a variable
	LeafConstant                  // initial contents of a module's variable
	LeafUnwritten                 // memory or a register that nobody wrote
	LeafElsewhere                 // global memory that another block of the launch wrote
	LeafFill                      // what a tensor copy fills in, where its box lies outside the tensor
	LeafCut                       // where the caller had the walk end (Query.Cut)
)

// InvalidAccess is the name of a leaf of what an access that lies out of bounds or is misaligned should have
// read.
const InvalidAccess = "an access that is out of bounds or misaligned"

// Leaf is one end of a lineage.
type Leaf struct {
	Kind    LeafKind
	Arg     int          // of LeafElement and LeafScalar: index in target.Launch.Args; else -1
	Element int          // by its place in the buffer's memory
	Bits    uint64       // of LeafImmediate
	Name    string       // of LeafSpecial ("%tid.x"), LeafConstant and LeafUnwritten (the variable)
	Space   target.Space // of memory
	Addr    uint64
	Cut     int // of LeafCut: what the caller's function returned
}

// Place is bytes of memory at a moment: N bytes at Addr, as step At (which has not executed yet) would find
// them. Thread is the thread of the block whose local memory it is. At -1 is the end of the trace.
type Place struct {
	Space  target.Space
	Addr   uint64
	N      int
	Thread int
	At     int
}

// Count is how often a leaf enters a value: the number of ways in which its value, or the address or
// control of something, depends on it; saturating.
type Count struct {
	Leaf
	Times [3]uint64 // by Kind
}

// Block is the block of which a trace is.
func (t *Trace) Block() probes.Dim3 { return t.id }
