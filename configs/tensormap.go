package configs

import (
	"fmt"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// Tensor maps as arguments: the tensor that one describes lies in the memory of another argument, which need
// be no parameter of the kernel.

// tensorMap reads an argument of type tensormap; false where it is of another type.
func (p *manifestParser) tensorMap(a *object, arg *Arg) bool {
	if !a.has("type") || deref(a.vals["type"]).Value != "tensormap" {
		if a.has("map") {
			a.fail("map", "only an argument of type tensormap has one")
		}
		if a.has("parameter") && !isPointer(a) {
			a.fail("parameter", "only memory can be reached without a parameter")
		}
		return false
	}
	arg.DType, arg.Size, arg.Map = probes.U8, tensormap.Bytes, &ArgMap{at: a.here()}
	a.need("map")
	for _, k := range []string{
		"parameter", "dims", "strides", "role", "tensor", "fill", "value", "reference", "tolerance",
	} {
		if a.has(k) {
			a.fail(k, "a tensor map has a map only")
		}
	}
	o := a.within("map")
	if o == nil {
		return true
	}
	m := arg.Map
	o.need("of", "box")
	m.at, m.Of = o.here(), o.ident("of")
	m.Spec = tensormap.Spec{
		DType: o.oneOf("dtype"), Interleave: o.oneOf("interleave"), Promotion: o.oneOf("promotion"),
		Fill: o.oneOf("fill"),
	}
	if o.has("swizzle") {
		if mode := deref(o.vals["swizzle"]).Value; slices.Contains(tensormap.Modes("swizzle"), mode) {
			m.Spec.Swizzle = mode
		} else {
			m.Swizzle = o.expr("swizzle", p.m.scope, inShape)
		}
	}
	m.Box = o.exprs("box", -1, p.m.scope, inShape)
	m.Dims, m.Strides = o.exprs("dims", -1, p.m.scope, inShape), o.exprs("strides", -1, p.m.scope, inShape)
	m.Steps, m.Offset = o.exprs("steps", -1, p.m.scope, inShape), o.expr("offset", p.m.scope, inShape)
	return true
}

// isPointer reports whether an argument's type is a pointer.
func isPointer(a *object) bool {
	t := ""
	if a.has("type") {
		t = deref(a.vals["type"]).Value
	}
	return len(t) > 0 && t[len(t)-1] == '*'
}

// mapsLead checks that every tensor map is of an argument's memory.
func (p *manifestParser) mapsLead() {
	for i := range p.m.Args {
		m := p.m.Args[i].Map
		if m == nil || m.Of == "" {
			continue
		}
		if of := p.m.argIndex(m.Of); of < 0 || !p.m.Args[of].Pointer {
			p.fail(&yaml.Node{Line: m.at.line, Column: m.at.col}, m.at.field+".of",
				"no argument %s with memory", m.Of)
		}
	}
}

// argIndex is the place of an argument, -1 where there is none of that name.
func (m *Manifest) argIndex(name string) int {
	for i := range m.Args {
		if m.Args[i].Name == name {
			return i
		}
	}
	return -1
}

// tensorMap resolves the tensor map of an argument, once every argument has its extents.
func (r *resolver) tensorMap(a Arg, out *probes.Arg) error {
	m, of := a.Map, r.m.argIndex(a.Map.Of)
	mem := &r.plan.Args[of]
	s := m.Spec
	for _, x := range []struct {
		from []*Expr
		lo   int64
		to   *[]int64
	}{{m.Box, 1, &s.Box}, {m.Dims, 1, &s.Dims}, {m.Strides, 0, &s.Strides}, {m.Steps, 1, &s.Steps}} {
		if x.from == nil {
			continue
		}
		ns, err := r.integers(x.from, x.lo, math.MaxInt64)
		if err != nil {
			return err
		}
		for _, n := range ns {
			*x.to = append(*x.to, int64(n))
		}
	}
	if m.Offset != nil {
		n, err := m.Offset.integer(r.env, 0, math.MaxInt64)
		if err != nil {
			return err
		}
		s.Offset = int64(n)
	}
	if m.Swizzle != nil {
		n, err := m.Swizzle.integer(r.env, 0, 128)
		if err != nil {
			return err
		}
		if s.Swizzle = fmt.Sprintf("%dB", n); n == 0 || n == 16 {
			s.Swizzle = "none"
		}
	}
	made, err := s.Map(mem.DType.String(), mem.Dims, mem.Strides)
	if err == nil {
		err = s.Within(made, m.Of, int64(mem.MemoryElems())*int64(mem.DType.Size()))
	}
	if err != nil {
		return &ShapeError{
			Kernel: r.m.Name, Shape: r.shape, Say: fmt.Sprintf("tensor map %s: %v", a.Name, err),
		}
	}
	out.Map = &probes.ArgMap{Map: *made, Of: of, Skip: s.Offset}
	return nil
}
