// Package expr evaluates the expressions of a debugger: conditions of breakpoints, watches, what is printed.
//
//	lane == 3 && kv == 1        sP[4][lane] > 0.5        f32(%r12) * 2        %f12@lane3        hits >= 3
//
// The one idea: an expression is parsed once and evaluated for one lane of one warp at one moment, over an
// Env
// that reads registers and shared memory; whatever it names is checked when it is set, with the column where
// the name stands, not when execution comes to it.
//
// It must not know how a block is executed.
package expr

import (
	"fmt"
	"slices"
	"strings"
)

// Env is the state of one warp of a block at a moment.
type Env interface {
	// Name returns a variable of a lane: one of those of Names.
	Name(name string, lane int) (Value, error)
	// Register returns a register of a lane, by its name in the PTX with the percent sign.
	Register(name string, lane int) (Value, error)
	// Cell returns an element of a shared array.
	Cell(array string, index []int64) (Value, error)
}

// Scope says what can be named.
type Scope interface {
	// HasRegister and HasArray return nil, or why the name means nothing; n is the number of indices.
	HasRegister(name string) error
	HasArray(name string, n int) error
	// HasIndex returns nil, or why an array that is indexed by n numbers has no index at of a dimension.
	HasIndex(name string, n, dim int, at int64) error
}

// Error is an expression that means nothing.
type Error struct {
	Text string // the expression
	Pos  int    // byte in Text, from 0
	Msg  string // what was found and what was expected
	// Unknown is the name that no variable has, "" where the mistake is another.
	Unknown string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%q, column %d: %s", e.Text, e.Pos+1, e.Msg)
}

// Names are the variables of an Env with what they mean. Those marked with a lane differ by lane.
var Names = []struct {
	Name, Help string
	PerLane    bool
}{
	{"lane", "lane in its warp, 0 to 31", true},
	{"warp", "warp in its block", false},
	{"thread", "thread in its block, as warp*32 + lane", true},
	{"kv", "iteration of the loop over tiles, -1 outside it", false},
	{"step", "the block's clock", false},
	{"pc", "instruction, as the PTX pane numbers them", false},
	{"active", "1 in lanes that execute the instruction", true},
	{"threadIdx.x", "", true}, {"threadIdx.y", "", true}, {"threadIdx.z", "", true},
	{"blockIdx.x", "", false}, {"blockIdx.y", "", false}, {"blockIdx.z", "", false},
	{"blockDim.x", "", false}, {"blockDim.y", "", false}, {"blockDim.z", "", false},
	{"gridDim.x", "", false}, {"gridDim.y", "", false}, {"gridDim.z", "", false},
}

// special are the special registers of PTX that are another spelling of a variable.
var special = map[string]string{
	"%laneid": "lane", "%warpid": "warp", "%tid": "threadIdx", "%ctaid": "blockIdx", "%ntid": "blockDim",
	"%nctaid": "gridDim",
}

// Expr is a parsed expression. It is immutable.
type Expr struct {
	text string
	root node
	refs []ref
	from int // where text begins in what was parsed: positions count from there
}

// ref is something that an expression names.
type ref struct {
	kind    refKind
	name    string
	indices int           // of an array
	fixed   map[int]int64 // those of them that are numbers, by dimension
	lane    int           // of a register, -1: the lane that is evaluated
	pos     int
}

type refKind uint8

const (
	refName refKind = iota
	refRegister
	refArray
)

// String is the expression as it was written.
func (e *Expr) String() string { return e.text }

// Eval returns the value in a lane. An error says which part of the expression has none.
func (e *Expr) Eval(env Env, lane int) (Value, error) {
	v, err := e.root.eval(env, lane)
	if err != nil {
		return Value{}, fmt.Errorf("%q: %w", e.text, err)
	}
	return v, nil
}

// PerLane reports whether the value may differ from lane to lane.
func (e *Expr) PerLane() bool {
	return slices.ContainsFunc(e.refs, func(r ref) bool {
		switch r.kind {
		case refRegister:
			return r.lane < 0
		case refName:
			i := slices.IndexFunc(Names, func(n struct {
				Name, Help string
				PerLane    bool
			},
			) bool {
				return n.Name == r.name
			})
			return i >= 0 && Names[i].PerLane
		}
		return false
	})
}

// Uses reports whether the expression names any of some variables.
func (e *Expr) Uses(names ...string) bool {
	return slices.ContainsFunc(e.refs, func(r ref) bool {
		return r.kind == refName && slices.Contains(names, r.name)
	})
}

// Registers lists the registers that the expression names.
func (e *Expr) Registers() (out []string) {
	for _, r := range e.refs {
		if r.kind == refRegister && !slices.Contains(out, r.name) {
			out = append(out, r.name)
		}
	}
	return out
}

// OfWarp returns a variable or register of a single warp that the expression names, "" where there is none.
func (e *Expr) OfWarp() string {
	for _, r := range e.refs {
		switch {
		case r.kind == refRegister:
			return r.name
		case r.kind == refName && slices.Contains([]string{
			"lane", "warp", "thread", "pc", "active", "threadIdx.x", "threadIdx.y", "threadIdx.z",
		}, r.name):
			return r.name
		}
	}
	return ""
}

// Check returns an *Error for the first register, array or cell that a scope does not have.
func (e *Expr) Check(s Scope) error {
	for _, r := range e.refs {
		var err error
		switch r.kind {
		case refRegister:
			err = s.HasRegister(r.name)
		case refArray:
			err = s.HasArray(r.name, r.indices)
			for dim := 0; err == nil && dim < r.indices; dim++ {
				if at, ok := r.fixed[dim]; ok {
					err = s.HasIndex(r.name, r.indices, dim, at)
				}
			}
		}
		if err != nil {
			return &Error{Text: e.text, Pos: r.pos - e.from, Msg: err.Error()}
		}
	}
	return nil
}

// Bind returns the expression with variables of the caller's put in as numbers, as a cursor's row and column.
func (e *Expr) Bind(values map[string]int64) *Expr {
	return &Expr{text: e.text, root: e.root.bind(values), refs: e.refs, from: e.from}
}

// Ordinal is a dimension, counted from 0, in words.
func Ordinal(dim int) string {
	words := []string{"first", "second", "third", "fourth", "fifth", "sixth"}
	if dim < len(words) {
		return words[dim]
	}
	return fmt.Sprintf("%dth", dim+1)
}

// names lists what can stand where a value is expected, for messages.
func names(extra []string) string {
	out := slices.Clone(extra)
	for _, n := range Names {
		if !strings.HasSuffix(n.Name, ".y") && !strings.HasSuffix(n.Name, ".z") {
			out = append(out, strings.Replace(n.Name, ".x", ".xyz", 1))
		}
	}
	return strings.Join(out, " ")
}
