package configs

import (
	"math"
	"regexp"

	"go.yaml.in/yaml/v3"

	"tilescope/probes"
)

// fillKinds are what an argument may hold before the launch, by their names in manifests.
var fillKinds = map[string]probes.FillKind{
	"randn": probes.FillRandn, "rand": probes.FillRand, "zeros": probes.FillZeros, "ones": probes.FillOnes,
	"iota": probes.FillIota, "computed": probes.FillComputed, "nan": probes.FillNaN, "inf": probes.FillInf,
	"-inf": probes.FillNegInf, "unwritten": probes.FillUnwritten,
}

var randInt = regexp.MustCompile(`^randint\((.+)\)$`)

// elementName is the index of an element, row-major, in the expression of a fill.
const elementName = "i"

// fill reads what an argument holds before the launch: a name of fillKinds, randint(LO, HI), a list of
// numbers, or {each: EXPRESSION}.
func (p *manifestParser) fill(a *object, arg *Arg) {
	if arg.Role != probes.RoleInput && arg.Role != probes.RoleInOut {
		a.fail("fill",
			"only role: input and inout are filled; an output and scratch memory are not written before the launch")
		return
	}
	if !a.has("fill") {
		return // reported
	}
	arg.Fill = &Fill{}
	switch deref(a.vals["fill"]).Kind {
	case yaml.SequenceNode:
		arg.Fill.Kind = probes.FillValues
		arg.Fill.List = a.exprs("fill", -1, p.m.scope, inShape)
		return
	case yaml.MappingNode:
		p.fillEach(a, arg)
		return
	}
	text := a.str("fill")
	if text == "" {
		return // reported
	}
	if kind, ok := fillKinds[text]; ok {
		arg.Fill.Kind = kind
		switch {
		case kind == probes.FillUnwritten && arg.Role == probes.RoleInput:
			a.fail("fill",
				"an input is written before the launch; expected role: inout for memory that may be read and written")
		case kind == probes.FillComputed &&
			(arg.Role != probes.RoleInput || arg.DType != 0 && !arg.DType.Float()):
			a.fail("fill", "what is computed is an input of a floating-point type")
		case kind >= probes.FillNaN && kind <= probes.FillNegInf && arg.DType != 0 && !arg.DType.Float():
			a.fail("fill", "%s has no value %s", arg.DType, text)
		}
		return
	}
	m := randInt.FindStringSubmatch(text)
	if m == nil {
		a.fail("fill", "unknown fill %q; expected %s", clip(text),
			or(append(sortedKeys(fillKinds), "randint(LO, HI)", "a list of numbers", "{each: EXPRESSION}")))
		return
	}
	bounds := splitArguments(m[1])
	if len(bounds) != 2 {
		a.fail("fill", "randint takes two numbers, both included; found %d", len(bounds))
		return
	}
	at := a.at("fill")
	arg.Fill.Kind = probes.FillRandInt
	for i, to := range []**Expr{&arg.Fill.Lo, &arg.Fill.Hi} {
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: bounds[i], Line: at.Line, Column: at.Column}
		*to = p.number(n, a.field("fill"), p.m.scope, inShape)
	}
}

// fillEach reads {each: EXPRESSION}: a number for each element, by the element's index i.
func (p *manifestParser) fillEach(a *object, arg *Arg) {
	o := a.within("fill")
	if o == nil {
		return
	}
	sc := p.m.scope.clone()
	arg.Fill.Kind, arg.Fill.index = probes.FillValues, sc.add(elementName, classElement)
	arg.Fill.Each = o.expr("each", sc, inElement)
}

// splitArguments splits a text at the commas that stand in no parentheses.
func splitArguments(text string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out, from = append(out, text[from:i]), i+1
			}
		}
	}
	return append(out, text[from:])
}

// filled resolves what an argument of some elements holds before the launch where no file says it.
func (r *resolver) filled(a Arg, elems int) (out probes.Fill, err error) {
	f := a.Fill
	if f == nil {
		return out, nil
	}
	out.Kind = f.Kind
	if f.Kind == probes.FillValues {
		out.Values, err = r.listed(a, elems)
		return out, err
	}
	for _, bound := range []struct {
		x  *Expr
		to *int64
	}{{f.Lo, &out.Lo}, {f.Hi, &out.Hi}} {
		if bound.x == nil {
			continue
		}
		v, err := bound.x.integer(r.env, -1<<31, 1<<32-1)
		if err != nil {
			return out, err
		}
		*bound.to = int64(v)
	}
	if out.Lo > out.Hi {
		return out, r.m.errorAt(a.at.sub("fill"), "randint(%d, %d): no number lies between", out.Lo, out.Hi)
	}
	return out, nil
}

// listed evaluates the numbers of a list, or one for each element.
func (r *resolver) listed(a Arg, elems int) ([]float64, error) {
	if elems > maxExtents {
		return nil, r.m.errorAt(a.at.sub("fill"),
			"%s has %d elements (shape %s); at most %d are computed from an expression", a.Name, elems,
			r.shape, maxExtents)
	}
	out := make([]float64, 0, elems)
	if f := a.Fill; f.Each != nil {
		outer := r.env
		defer func() { r.env = outer }()
		r.env = outer.widened(1) // the index may be the first name after those in scope
		for i := range elems {
			if i%lookEvery == 0 && r.ctx.Err() != nil {
				return nil, r.ctx.Err()
			}
			r.env.vars[f.index] = intValue(int64(i))
			v, err := r.element(f.Each, a.DType)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}
	if n := len(a.Fill.List); n != elems {
		return nil, r.m.errorAt(a.at.sub("fill"), "%d numbers for the %d elements of %s (shape %s)", n, elems,
			a.Name, r.shape)
	}
	for _, x := range a.Fill.List {
		v, err := r.element(x, a.DType)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// element evaluates one number of an argument's type.
func (r *resolver) element(x *Expr, t probes.DType) (float64, error) {
	if t.Float() {
		v, err := x.value(r.env)
		if err != nil {
			return 0, err
		}
		return v.real(), nil
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	if limits, ok := ranges[t]; ok {
		lo, hi = limits[0], limits[1]
	}
	const exact = 1 << 53 // whole numbers up to it are numbers of the list
	v, err := x.integer(r.env, max(lo, -exact), min(hi, exact))
	if err != nil {
		return 0, err
	}
	return float64(v), nil
}
