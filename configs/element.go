package configs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"tilescope/debugkern/input"
	"tilescope/probes"
)

// Expressions that depend on the block may read elements of integer inputs, one subscript in brackets for
// each dimension: ceil_div(used[batch], TILE_N). They are evaluated when the inputs' values are known: a plan
// holds for those inputs.

// Values gives the elements of an integer input of a plan, row-major, as the launch will have them. The plan
// has arguments and inputs, and nothing else yet.
type Values func(ctx context.Context, p *probes.Plan, in *probes.Input) ([]int64, error)

// Seeded gives what inputs hold that are made from a seed.
func Seeded(seed uint64) Values {
	return func(ctx context.Context, p *probes.Plan, in *probes.Input) ([]int64, error) {
		return input.Whole(ctx, in.Fill, p.Args[in.Arg].DType, in.Elems(), seed, in.Arg)
	}
}

// integerInput is an input whose elements expressions may read.
type integerInput struct {
	arg, rank int
}

// declareElements makes the elements of the integer inputs known to expressions.
func (p *manifestParser) declareElements() {
	for i, a := range p.m.Args {
		if a.Pointer && p.m.isInput(a) && a.Fill != nil && !a.DType.Float() {
			p.m.scope.inputs[a.Tensor] = integerInput{i, len(a.Dims)}
		}
	}
}

// elements are an integer input's.
type elements struct {
	name   string
	dims   []int
	values []int64
}

// elementSource gives expressions the elements of inputs.
type elementSource struct {
	load func(arg int) (*elements, error)
	made map[int]*elements
	err  error // of load

	noted []string // elements that an evaluation has read, where note is set
	note  bool
}

// of returns the elements of an argument; nil after a mistake, which is stored.
func (s *elementSource) of(arg int) *elements {
	if t := s.made[arg]; t != nil || s.err != nil {
		return t
	}
	t, err := s.load(arg)
	if s.err = err; err == nil {
		s.made[arg] = t
	}
	return s.made[arg]
}

// element compiles an element of an integer input.
func (c *exprCompiler) element(n *ast.MemberNode) term {
	var of ast.Node = n
	var subscripts []ast.Node
	for {
		m, ok := of.(*ast.MemberNode)
		if !ok {
			break
		}
		subscripts, of = append(subscripts, m.Property), m.Node
	}
	slices.Reverse(subscripts)
	id, ok := of.(*ast.IdentifierNode)
	if !ok {
		return c.fail("only an input has elements")
	}
	in, ok := c.scope.inputs[id.Value]
	switch {
	case !ok:
		return c.fail("%s is no integer input%s", id.Value, suggest(id.Value, sortedKeys(c.scope.inputs)))
	case c.allowed&classBlock == 0:
		return c.fail("an element of %s may not stand here; allowed are %s", id.Value,
			c.scope.classText(c.allowed))
	case len(subscripts) != in.rank:
		return c.fail("%s has %d dimensions, not %d", id.Value, in.rank, len(subscripts))
	}
	outer := c.within
	c.within = id.Value
	evals := make([]eval, len(subscripts))
	for i, s := range subscripts {
		x := c.compile(s)
		c.numeric("a subscript", x)
		evals[i] = x.eval
	}
	c.within = outer
	c.expr.reads = true
	return numberTerm(func(e *env) value { return e.element(in.arg, evals) })
}

// element evaluates an element of an input.
func (e *env) element(arg int, subscripts []eval) value {
	if e.elements == nil {
		return e.fail("the elements of inputs are not known here")
	}
	t := e.elements.of(arg)
	if t == nil {
		return e.fail("%v", e.elements.err)
	}
	at := 0
	var index []int64
	for d, f := range subscripts {
		v := f(e)
		i, ok := v.whole()
		switch {
		case e.err != nil:
			return value{}
		case !ok:
			return e.fail("%s has no element %v: a subscript is a whole number", t.name, v)
		case i < 0 || i >= int64(t.dims[d]):
			return e.fail("%s has no element %d of dimension %d: it has 0 to %d", t.name, i, d, t.dims[d]-1)
		}
		at = at*t.dims[d] + int(i)
		if e.elements.note {
			index = append(index, i)
		}
	}
	v := t.values[at]
	if e.elements.note {
		text := fmt.Sprintf("%s%s = %d", t.name, strings.ReplaceAll(fmt.Sprint(index), " ", "]["), v)
		if !slices.Contains(e.elements.noted, text) {
			e.elements.noted = append(e.elements.noted, text)
		}
	}
	return intValue(v)
}

// readings lists the elements that an evaluation of x reads: ", used[1] = 17".
func (r *resolver) readings(x *Expr) string {
	s := r.env.elements
	if !x.reads || s == nil || s.err != nil {
		return ""
	}
	s.note, s.noted = true, nil
	err := r.env.err
	r.env.err = nil
	x.eval(r.env)
	s.note, r.env.err = false, err
	if len(s.noted) == 0 {
		return ""
	}
	return ", " + strings.Join(s.noted, ", ")
}

// elementsOf loads the elements of an argument for expressions.
func (r *resolver) elementsOf(arg int) (*elements, error) {
	for i := range r.plan.Inputs {
		in := &r.plan.Inputs[i]
		if in.Arg != arg {
			continue
		}
		if n := in.Elems(); n > maxExtents {
			return nil, r.m.errorAt(r.m.Args[arg].at.sub("dims"),
				"%s has %d elements (shape %s); expressions read inputs of at most %d", in.Name, n,
				r.shape, maxExtents)
		}
		values, err := r.given(r.ctx, r.plan, in)
		if err != nil {
			return nil, err
		}
		return &elements{in.Name, in.Dims, values}, nil
	}
	return nil, fmt.Errorf("argument %d is no input", arg)
}
