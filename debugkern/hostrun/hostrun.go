// Package hostrun executes the host's part of a CUDA source as far as that is needed to see with what it
// launches its kernels.
//
// The one idea: a value is known or it is not. main is interpreted from its first statement with numbers,
// structs, arrays, vectors and memory of the device; whatever an unknown function, an unknown condition or a
// text that is not understood may have changed is unknown from there on, and a loop that takes too long
// leaves what it assigns unknown. What Run returns of a launch is therefore what a program without arguments
// passes, or nothing. There is one exception: an unknown function is taken to change what it gets the address
// of, not a number that it may take by reference.
//
// It must not know PTX, manifests or what executes a kernel.
package hostrun

import (
	"maps"
	"slices"
	"strings"

	"tilescope/debugkern/hostcode"
)

// Launch is a launch that was reached, with what it is given.
type Launch struct {
	Line   int
	Kernel string // as it is spelled, without template arguments
	// Grid and Block are nil where they are not known. Shared is the dynamic shared memory in bytes, -1 where
	// it is not known.
	Grid, Block *[3]int64
	Shared      int64
	Cooperative bool
	Cluster     *[3]int64 // blocks of a cluster, an attribute of the launch; nil: it has none
	// Assumed: the program has asked for what depends on the device, and was given what the assumed one has
	Assumed  bool
	Args     []Argument
	Template []*int64 // the arguments in angle brackets; nil: a type, or not known
	Symbols  []Symbol // the variables of the device that were copied to, in order
}

// Argument is a value that a launch is given, as far as it is known: one of the pointers is set, or none.
type Argument struct {
	Int    *int64
	Float  *float64
	Memory *Memory
	Struct *Struct
}

// Struct is an argument of a struct's type.
type Struct struct {
	Name   string
	Bytes  int64
	Fields []Field // numbers and pointers of it, in order; those of structs within it too
}

// Field is a part of a struct.
type Field struct {
	Name     string // with those of the structs around it: "shape.rows"
	At       int64  // in bytes
	Type     string // of a number, as CUDA spells it; of a pointer that of its elements
	Pointer  bool
	Argument Argument
}

// Memory is memory of the device that an argument leads to.
type Memory struct {
	Bytes  int64 // from where the argument points to its end
	Offset int64 // of the argument in the allocation, in bytes
	Type   string
	// Written: the host copies something into it. Ints are its elements where it has integers and all of them
	// are known, Floats the same of floating-point numbers.
	Written bool
	Padded  bool // its rows end in bytes that were not asked for, as those of cudaMallocPitch
	Ints    []int64
	Floats  []float64
	// Range: all elements are integers from Lo to Hi, whichever.
	Range  bool
	Lo, Hi int64
}

// Symbol is a variable of the device that the host copies numbers to.
type Symbol struct {
	Name string
	// Initial is the list in braces that gives it these numbers, "" where they are not known; Random reports
	// that floating-point numbers which are not known are random ones from -1 to 1.
	Initial string
	Random  bool
}

// Run executes a translation unit's main, and where it has none, or it reaches no launch, each function that
// launches a kernel and has no parameters. It returns every place of a launch that was reached, as it was
// reached first.
func Run(units ...*hostcode.Unit) []Launch {
	kernels := hostcode.Kernels(units...)
	if len(kernels) == 0 {
		return nil
	}
	x := newExecution(units, kernels)
	if !x.main("main") || len(x.launches) > 0 {
		return x.launches
	}
	for _, name := range slices.Sorted(maps.Keys(x.functions)) {
		for _, f := range x.functions[name] {
			if len(f.source.Params) == 0 && name != "main" && launches(f.source.Body) {
				x.main(name)
			}
		}
	}
	return x.launches
}

func launches(code []hostcode.Token) bool {
	return slices.ContainsFunc(code, func(t hostcode.Token) bool { return t.Text == "<<<" })
}

func newExecution(units []*hostcode.Unit, kernels []*hostcode.Kernel) *execution {
	code := hostcode.CodeOf(units...)
	x := &execution{
		types: map[string]bool{}, macros: map[string]*macro{}, aliases: hostcode.Aliases(units...),
		sources: map[string]hostcode.Record{}, records: map[string]*ctype{},
		functions: map[string][]*function{},
		globals:   map[string]*variable{}, kernels: map[string]*hostcode.Kernel{}, symbols: map[string]bool{},
		scope: &scope{},
	}
	x.records["cudaLaunchConfig_t"], x.records["cudaLaunchAttribute"] = launchConfig, launchAttribute
	x.records["cudaDeviceProp"] = deviceProperties
	for name, id := range attributes {
		x.globals[name] = &variable{value: integerValue(intType, id)}
	}
	for name := range x.aliases {
		x.types[name] = true
	}
	for _, name := range code.Enums {
		x.types[name], x.aliases[name] = true, "int"
	}
	for _, r := range code.Records {
		x.types[r.Name] = true
		x.sources[r.Name] = r
		for i := 0; i+2 < len(r.Body); i++ {
			if r.Body[i].Text == "using" && r.Body[i+2].Text == "=" {
				x.types[r.Body[i+1].Text] = true
			}
		}
		for _, p := range r.Template {
			x.types[p.Name] = x.types[p.Name] || typed(p)
		}
	}
	for _, m := range code.Macros {
		of := &macro{params: m.Params, body: join(m.Body)}
		if m.Call && of.params == nil {
			of.params = []string{}
		}
		if len(of.body) > 0 || m.Call {
			x.macros[m.Name] = of
		}
	}
	for i := range code.Functions {
		f := &code.Functions[i]
		x.functions[f.Name] = append(x.functions[f.Name], &function{source: f})
		for _, t := range f.Template {
			x.types[t.Name] = x.types[t.Name] || typed(t)
		}
	}
	for _, k := range kernels {
		x.kernels[k.Name] = k
	}
	for _, c := range hostcode.Constants(units...) { // enumerators among them
		p := &parser{code: join(hostcode.TokensOf(c.Value)), types: x.types, macros: x.macros}
		if n := p.expression(); !p.failed && p.i == len(p.code) && n != nil && x.globals[c.Name] == nil &&
			x.macros[c.Name] == nil {
			x.globals[c.Name] = &variable{value: x.guarded(n)}
		}
	}
	x.variables(code.Variables)
	return x
}

// typed reports a template's parameter that is a type.
func typed(p hostcode.Parameter) bool {
	return strings.HasPrefix(p.Type, "typename") || strings.HasPrefix(p.Type, "class")
}

// guarded evaluates a constant.
func (x *execution) guarded(n *node) (v value) {
	defer x.rescue()
	return x.value(n)
}

// variables declares the variables at namespace scope.
func (x *execution) variables(list [][]hostcode.Token) {
	x.space = x.scope
	defer x.rescue()
	for _, code := range list {
		p := &parser{
			code:   append(join(code), token{kind: hostcode.Punctuation, text: ";"}),
			types:  x.types,
			macros: x.macros,
		}
		if p.alias(x) {
			continue
		}
		d := p.declaration()
		if d == nil || p.failed {
			continue
		}
		x.scope.vars = map[string]*variable{}
		x.declareAll(d)
		for name, v := range x.scope.vars {
			x.globals[name] = v
		}
		x.scope.vars = nil
	}
}

// ends reports what an execution panics with where it takes too long or its program ends.
func ends(r any) bool { return r == errSpent || r == errStopped || r == errEnded }

// rescue ends an execution that takes too long, or whose program ends.
func (x *execution) rescue() {
	if r := recover(); r != nil && !ends(r) {
		panic(r)
	}
}

// main executes a function without arguments; false where it took too long.
func (x *execution) main(name string) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if !ends(r) {
				panic(r)
			}
			ok = r == errEnded
		}
	}()
	x.scope, x.calls, x.loops, x.frame = &scope{outer: x.space}, 0, 0, frame{}
	for _, f := range x.functions[name] {
		x.parse(f)
		x.enter()
		for i, d := range f.head.params {
			v := &variable{}
			if i == 0 && name == "main" {
				v.value = integerValue(intType, 1)
			}
			x.declare(d.name, v)
		}
		x.runHere(f.body)
		x.leave()
	}
	return true
}
