package debugkern

import (
	"slices"

	"tilescope/debugkern/ref"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// input reports whether an argument of the launch holds an input, or the scales of one.
func (c *contrast) input(arg int) bool {
	p := c.x.st.r.plan
	name := c.x.st.launch.Args[arg].Name
	return slices.ContainsFunc(p.Inputs, func(in probes.Input) bool {
		return p.Args[in.Arg].Name == name || in.Coded && in.Scales >= 0 && p.Args[in.Scales].Name == name
	})
}

// argument is the argument of the launch that holds an input, -1 where none does.
func (c *contrast) argument(input string) int {
	p := c.x.st.r.plan
	in := p.Input(input)
	if in == nil {
		return -1
	}
	return slices.IndexFunc(c.x.st.launch.Args, func(a target.Arg) bool {
		return a.Name == p.Args[in.Arg].Name && a.Buffer != nil
	})
}

// rect is rows and columns of a tile.
type rect struct{ rows, cols ref.Span }

// expected is what a cell should be made of: directly, and all that this is made of in turn.
type expected struct {
	direct  []ref.Part
	tiles   map[[2]int]rect // by stage and iteration
	element map[operandKey]bool
}

// expect works out what a cell should be made of. false where the manifest cannot say.
func (c *contrast) expect(row, col int) (*expected, bool) {
	i := c.g.Index(c.x.stage.Stage)
	direct, ok := c.g.MadeOf(i, c.block, c.kv, ref.Span{row, row + 1}, ref.Span{col, col + 1})
	if !ok {
		return nil, false
	}
	e := &expected{direct: direct, tiles: map[[2]int]rect{}, element: map[operandKey]bool{}}
	open := slices.Clone(direct)
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		if p.Stage < 0 {
			for _, k := range c.elementKeys(p) {
				e.element[k] = true
			}
			continue
		}
		at := [2]int{p.Stage, p.Iter}
		now, was := rect{p.Rows, p.Cols}, e.tiles[at]
		if was != (rect{}) {
			now = rect{around(was.rows, p.Rows), around(was.cols, p.Cols)}
		}
		if now == was {
			continue
		}
		e.tiles[at] = now
		if more, ok := c.g.MadeOf(p.Stage, c.block, p.Iter, now.rows, now.cols); ok {
			open = append(open, more...)
		} else if c.g.Defined(p.Stage) {
			return nil, false
		}
	}
	return e, true
}

func around(a, b ref.Span) ref.Span { return ref.Span{min(a[0], b[0]), max(a[1], b[1])} }

// elementKeys are the elements of a part of an input, as they lie in the argument.
func (c *contrast) elementKeys(p ref.Part) []operandKey {
	arg := c.argument(p.Input)
	if arg < 0 {
		return nil
	}
	a := c.x.st.r.plan.Arg(c.x.st.launch.Args[arg].Name)
	out := make([]operandKey, len(p.Elements))
	for i, e := range p.Elements {
		out[i] = operandKey{stage: -1, arg: arg, at: a.Place(e)}
	}
	return append(out, c.scaleKeys(p)...)
}

// scaleKeys are the scales that elements of a coded input are decoded with.
func (c *contrast) scaleKeys(p ref.Part) []operandKey {
	plan := c.x.st.r.plan
	in := plan.Input(p.Input)
	if in == nil || !in.Coded || in.Scales < 0 || plan.Quant == nil {
		return nil
	}
	name := plan.Args[in.Scales].Name
	arg := slices.IndexFunc(c.x.st.launch.Args, func(a target.Arg) bool {
		return a.Name == name && a.Buffer != nil
	})
	if arg < 0 || plan.Quant.Along >= len(in.Dims) {
		return nil
	}
	step := probes.Elems(in.Dims[plan.Quant.Along+1:])
	var out []operandKey
	for _, e := range p.Elements {
		k := operandKey{stage: -1, arg: arg, at: e / step % in.Dims[plan.Quant.Along]}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func (c *contrast) cellKeys(p ref.Part) []operandKey {
	var out []operandKey
	cols := c.g.Stage(p.Stage).Cols
	for r := p.Rows[0]; r < min(p.Rows[1], p.Valid[0]); r++ {
		for col := p.Cols[0]; col < min(p.Cols[1], p.Valid[1]); col++ {
			out = append(out, operandKey{stage: p.Stage, iter: p.Iter, arg: -1, at: r*cols + col})
		}
	}
	return out
}
