package configs

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

func (p *manifestParser) args(o *object) {
	seen := map[string]bool{}
	var pointers []Arg // in structs
	for i, n := range o.list("args") {
		a := p.section(n, fmt.Sprintf("args[%d]", i), "argument")
		if a == nil {
			continue
		}
		arg := Arg{Name: a.ident("name"), at: a.here()}
		if arg.Name != "" && seen[arg.Name] {
			a.fail("name", "a second argument named %s", arg.Name)
		}
		seen[arg.Name] = true
		if size, ok := p.structSize(a); ok {
			arg.DType, arg.Size = probes.U8, size
			fields := p.fields(a, &arg, len(p.m.Args), seen)
			pointers = append(pointers, fields...)
			p.m.Args = append(p.m.Args, arg)
			continue
		}
		if a.has("fields") {
			a.fail("fields", "only a struct has fields; write its size, as in type: struct{32}")
		}
		if p.tensorMap(a, &arg) {
			p.m.Args = append(p.m.Args, arg)
			continue
		}
		p.typed(a, &arg)
		if arg.Apart = a.has("parameter") && !a.truth("parameter"); arg.Apart {
			pointers = append(pointers, arg)
			continue
		}
		p.m.Args = append(p.m.Args, arg)
	}
	p.m.Args = append(p.m.Args, pointers...)
	p.mapsLead()
	p.tensorsOnce(o)
	p.declareElements()
}

// typed reads an argument, or a field of a struct, that is a number or a pointer.
func (p *manifestParser) typed(a *object, arg *Arg) {
	t := a.str("type")
	arg.Pointer = strings.HasSuffix(t, "*")
	if t != "" {
		var err error
		if arg.DType, err = probes.ParseDType(strings.TrimSuffix(t, "*")); err != nil {
			a.fail("type", "%v, with * for a pointer, or struct{BYTES}", err)
		}
	}
	if arg.Pointer {
		p.pointer(a, arg)
	} else if t != "" {
		p.scalar(a, arg)
	}
}

func (p *manifestParser) pointer(a *object, arg *Arg) {
	a.need("dims", "role")
	if a.has("value") {
		a.fail("value", "a pointer has dims and a role, not a value")
	}
	arg.Dims = a.exprs("dims", -1, p.m.scope, inShape)
	if a.has("strides") && arg.Dims != nil {
		arg.Strides = a.exprs("strides", len(arg.Dims), p.m.scope, inShape)
	}
	role := a.oneOf("role")
	if role == "scale" {
		a.fail("role", "a pointer is no scale; expected input, output, inout or scratch")
	}
	switch arg.Tensor = a.ident("tensor"); role {
	case "input":
		if arg.Role = probes.RoleInput; arg.Tensor == "" {
			arg.Tensor = arg.Name
		}
	case "output":
		arg.Role = probes.RoleOutput
	case "inout", "scratch":
		if role == "inout" {
			arg.Role = probes.RoleInOut
		}
		if a.has("tensor") {
			a.fail("tensor", "what a kernel changes or works in is no tensor; expected role: input or output")
		}
	}
	c := conventions()
	if t := arg.Tensor; t != "" && a.has("tensor") &&
		(t == c.Output.Name && role == "input" || c.input(t) != nil && role == "output") {
		a.fail("tensor", "tensor %s does not go with role %s", t, role)
	}
	if a.has("fill") || arg.Role == probes.RoleInOut {
		a.need("fill")
		p.fill(a, arg)
	}
	p.argReference(a, arg)
}

// isInput reports whether an argument is a tensor that the launch reads, and no scales of one.
func (m *Manifest) isInput(a Arg) bool {
	return a.Role == probes.RoleInput && (a.Fill != nil || !m.isScales(a.Tensor))
}

// isScales reports whether a tensor's name is that of the scales of a quantised input: a conventional
// one, or one of codes.
func (m *Manifest) isScales(tensor string) bool {
	of, ok := strings.CutSuffix(tensor, "s")
	return ok && (conventions().input(of) != nil || slices.ContainsFunc(m.Args, func(a Arg) bool {
		return a.Role == probes.RoleInput && a.Tensor == of && a.Fill == nil && !a.DType.Float()
	}))
}

func (p *manifestParser) scalar(a *object, arg *Arg) {
	a.need("value")
	for _, k := range []string{"dims", "strides", "tensor", "fill", "reference", "tolerance"} {
		if a.has(k) {
			a.fail(k, "a scalar has a value only; write the type with * for a pointer")
		}
	}
	arg.Value = a.expr("value", p.m.scope, inShape)
	role := a.str("role")
	if role != "" && role != "scale" {
		a.fail("role", "%q is the role of a pointer; a scalar may have role: scale", clip(role))
	}
	arg.IsScale = role == "scale" || arg.Name == "softmax_scale"
	switch arg.DType {
	case probes.F16, probes.BF16, probes.E4M3, probes.E5M2:
		a.fail("type", "a scalar of type %s is not supported; expected an integer, f32 or f64", arg.DType)
	}
}

func (p *manifestParser) tensorsOnce(o *object) {
	seen := map[string]string{}
	scale := ""
	for _, a := range p.m.Args {
		if a.DType != 0 && a.DType != probes.F32 && a.Fill == nil && p.m.isScales(a.Tensor) {
			p.fail(&yaml.Node{Line: a.at.line, Column: a.at.col}, a.at.field+".type",
				"the scales %s are f32*", a.Tensor)
		}
		at := &yaml.Node{Line: a.at.line, Column: a.at.col}
		if a.Tensor != "" && seen[a.Tensor] != "" {
			p.fail(at, a.at.field+".tensor", "%s is argument %s already", a.Tensor, seen[a.Tensor])
		}
		seen[a.Tensor] = a.Name
		if a.IsScale && scale != "" {
			p.fail(at, a.at.field+".role", "the scale is argument %s already", scale)
		}
		if a.IsScale {
			scale = a.Name
		}
	}
	if scale != "" && o.has("scale") {
		o.fail("scale", "argument %s is the scale already; remove one", scale)
	}
}

func (p *manifestParser) shared(o *object) {
	for i, n := range o.list("shared") {
		s := p.section(n, fmt.Sprintf("shared[%d]", i), "shared")
		if s == nil {
			continue
		}
		sh := Shared{
			Name: s.ident("name"), DType: s.dtype("type"), Dims: s.exprs("dims", -1, p.m.scope, inShape),
			When: s.condition("when", p.m.scope, inShape), Within: s.ident("within"),
			Offset: s.expr("offset", p.m.scope, inShape), at: s.here(),
		}
		if s.has("offset") && !s.has("within") {
			s.fail("within", "missing; an offset needs the symbol that it is an offset into")
		}
		for _, other := range p.m.Shared {
			if sh.Name != "" && other.Name == sh.Name && (sh.When == nil || other.When == nil) {
				s.fail("name", "a second array named %s; give both a when:, or remove one", sh.Name)
				break
			}
		}
		p.m.Shared = append(p.m.Shared, sh)
	}
}
