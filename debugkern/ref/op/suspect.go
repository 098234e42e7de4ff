package op

import (
	"fmt"
	"math"

	"tilescope/probes"
)

// OpRel is the relative error of one float32 operation more than a stage's bound counts.
const OpRel = 2 * u32

// Suspect is a mistake that is typical for an operator.
type Suspect struct {
	Name, Value string // the fingerprint's name, and which quantity
	Own         bool   // it needs the kernel's own operands
	Zero        bool   // it says that cells are 0
	// Predict fills what the scene's Cells would be, and how far a kernel with that mistake may be from
	// it before the last rounding; false where it says nothing about this tile.
	Predict func(sc *Scene, v, pre []float64) bool
}

// Scene is a tile of a wrong stage with what its stage is computed from. Kernel is the scene's own: its
// scratch memory is that of the tile.
type Scene struct {
	Tile
	Kernel   Kernel
	In       []*Value
	Out      *Value
	Ref, Pre Matrix // the local estimate
	Stride   int    // columns of a row
	Cells    []int  // that are predicted, row-major: right ones are among them
	Wrong    int    // how many of the tile's cells are beyond their bound
	Coefs    *Coefs
}

// Suspicious is a kernel that has typical mistakes. constants are the named constants of the graph.
type Suspicious interface {
	Suspects(constants []Constant) []Suspect
}

// Constant is a number of the algorithm, with its name.
type Constant struct {
	Name  string
	Value float64
}

// Constants are the named numbers of a node, and of those that it is computed from in place.
func Constants(n *probes.Node) []Constant {
	out := Factors(n)
	for _, a := range n.Args {
		if a.Node != nil {
			out = append(out, Constants(a.Node)...)
		}
	}
	return out
}

// Factors are the named numbers that a node multiplies by.
func Factors(n *probes.Node) []Constant {
	var out []Constant
	if x, ok := n.Params.Number["scale"]; ok && x != 0 && x != 1 && n.Op != "map" {
		out = append(out, Constant{n.Params.Word["scale"], x})
	}
	if x, ok := n.Params.Number["factor"]; ok && x != 0 && x != 1 {
		out = append(out, Constant{n.Params.Word["factor"], x})
	}
	return out
}

// The fingerprint names of the contract that operators use.
const (
	factorName   = "factor"
	offsetName   = "offset"
	shiftedName  = "shifted"
	permutedName = "permuted"
	termName     = "term"
)

// ExpError is the relative error of exp(s − m) as kernels evaluate it.
func ExpError(c *Coefs, s, m float64) float64 {
	x := exponential{Coefs: c}
	return x.rel(s, m, 0)
}

// linear is a kernel whose result is a sum over its first operand's columns.
type linear interface {
	Kernel
	// Over says what the sum runs along.
	Over() string
}

// Half computes the part of the scene's sum that one half of the summed columns, or rows, makes, without what
// is carried over.
func (sc *Scene) Half(second bool, out Matrix) {
	n := sc.Summed()
	sc.Part(func(j int) bool { return (2*j >= n+n%2) == second }, out)
}

// Summed is how many columns, or rows, of the first operand the scene's sum runs along.
func (sc *Scene) Summed() int {
	m := sc.In[0].M
	if _, byColumn := sc.innermost(); byColumn {
		return m.Rows
	}
	return m.Cols
}

// innermost is the kernel that forms the scene's sum, and whether that runs along rows.
func (sc *Scene) innermost() (k Kernel, byColumn bool) {
	k = sc.Kernel
	if a, ok := k.(*accumulateKernel); ok {
		k = a.inner
	}
	switch k := k.(type) {
	case *reduceKernel:
		byColumn = k.column
	case *matmulKernel:
		byColumn = k.turn
	}
	return k, byColumn
}

// Part computes the part of the scene's sum that some of the summed columns, or rows, make, without what is
// carried over.
func (sc *Scene) Part(takes func(j int) bool, out Matrix) {
	in := sc.In
	if k, ok := sc.Kernel.(*accumulateKernel); ok {
		in = in[:k.args]
	}
	kernel, byColumn := sc.innermost()
	m := NewMatrix(in[0].M.Rows, in[0].M.Cols)
	for r := range m.Rows {
		for c, x := range in[0].M.Row(r) {
			if byColumn && takes(r) || !byColumn && takes(c) {
				m.Row(r)[c] = x
			}
		}
	}
	part := *in[0]
	part.M, part.Reused = m, nil
	v := Value{M: out, Unit: sc.Out.Unit}
	kernel.Exact(&sc.Tile, append([]*Value{&part}, in[1:]...), &v)
}

// IsLinear reports whether a kernel's result is a sum over its first operand's columns, and what
// the sum runs along.
func IsLinear(k Kernel) (over string, ok bool) {
	if a, is := k.(*accumulateKernel); is {
		k = a.inner
	}
	if r, is := k.(*reduceKernel); is {
		if r.column {
			return "of the column", r.how != "max"
		}
		return "of the row", r.how != "max"
	}
	if l, is := k.(linear); is {
		return l.Over(), true
	}
	return "", false
}

// Over is what the products run along.
func (k *matmulKernel) Over() string { return along(k.over) }

// Over is what is added up.
func (k *rowsumKernel) Over() string { return along(k.over) }

// along names what a sum runs along: a dimension, which has a capital letter, as "of D";
// other words as they are.
func along(over string) string {
	if over != "" && over[0] >= 'A' && over[0] <= 'Z' {
		return "of " + over
	}
	return over
}

// IsMaximum reports whether a kernel computes maxima, that others are relative to.
func IsMaximum(k Kernel) bool { _, ok := k.(*rowmaxKernel); return ok }

// IsMasked reports whether a kernel leaves columns beyond the last valid one of its first operand out, which
// a kernel that forgets to mask them takes in.
func IsMasked(k Kernel) bool {
	switch k := k.(type) {
	case *rowmaxKernel, *expBelowKernel:
		return true
	case *accumulateKernel:
		_, ok := k.inner.(*rowsumKernel)
		return ok
	case *rowsumKernel:
		return true
	}
	return false
}

// Suspects: the maximum is taken of scaled numbers while the maximum carried over is not scaled, or one of
// the two is left out.
func (k *rowmaxKernel) Suspects(constants []Constant) []Suspect {
	var out []Suspect
	add := func(name string, q float64) {
		out = append(out, Suspect{
			Name: factorName, Value: fmt.Sprintf("%s (%.6g) on the tile's row maximum", name, q), Own: true,
			Predict: func(sc *Scene, v, pre []float64) bool {
				for i, r := range sc.Cells {
					old, top := sc.Kernel.(*rowmaxKernel).maxima(sc, r, q)
					v[i], pre[i] = max(old, top)/sc.Out.Unit, math.Abs(top)*OpRel
				}
				return true
			},
		})
	}
	for _, c := range constants {
		add(c.Name, c.Value)
		add("1/"+c.Name, 1/c.Value)
	}
	add("log2 e", math.Log2E)
	add("ln 2", math.Ln2)
	add("-1: the sign", -1)
	if !k.running {
		return out
	}
	for _, tile := range []bool{true, false} {
		value := "carried m left out"
		if !tile {
			value = "the tile's row maximum left out"
		}
		out = append(out, Suspect{
			Name: termName, Value: value, Own: true, Predict: func(sc *Scene, v, pre []float64) bool {
				for i, r := range sc.Cells {
					old, top := sc.Kernel.(*rowmaxKernel).maxima(sc, r, 1)
					if v[i], pre[i] = old/sc.Out.Unit, 0; tile {
						v[i] = top / sc.Out.Unit
					}
				}
				return true
			},
		})
	}
	return out
}

// maxima returns the maximum before and that of q times what takes part in row r, natural.
func (k *rowmaxKernel) maxima(sc *Scene, r int, q float64) (old, top float64) {
	old, _, _ = k.before(sc.In, r)
	top = math.Inf(-1)
	s := sc.In[0]
	for j, x := range s.M.Row(r)[:s.Cols] {
		if v := x * s.Unit * q; v > top && k.mask.Visible(sc.Block, sc.Iter, r, j) {
			top = v
		}
	}
	return old, top
}

// Suspects change the coefficient of what is carried over (right: exp(m_old − m), or 1) or of the iteration's
// own part (right: 1). Each is given as a power of that exponential times a number.
func (k *accumulateKernel) Suspects([]Constant) []Suspect {
	carried, made := "carried "+k.name, "the tile's "+k.part
	type coefficients struct {
		value     string
		power     float64 // of exp(m_old − m_new)
		old, made float64
		madePower float64
		again     float64 // of what is carried over, not rescaled, besides
	}
	all := []coefficients{
		{carried + " left out", 1, 0, 1, 0, 0},
		{carried + " counted twice", 1, 2, 1, 0, 0},
		{made + " left out", 1, 1, 0, 0, 0},
		{made + " counted twice", 1, 1, 2, 0, 0},
	}
	if k.by {
		m := k.column
		exp := fmt.Sprintf("exp(%s_old − %s_new)", m, m)
		inverse := fmt.Sprintf("exp(%s_new − %s_old)", m, m)
		all = []coefficients{
			{carried + ", coefficient 1 instead of " + exp, 0, 1, 1, 0, 0},
			{carried + ", coefficient " + exp + " squared", 2, 1, 1, 0, 0},
			{carried + ", coefficient " + inverse + ": the rescale inverted", -1, 1, 1, 0, 0},
			all[0], all[1], all[2], all[3],
			{made + ", coefficient " + inverse + ": relative to the old maximum", 1, 1, 1, -1, 0},
			{made + " rescaled too, by " + exp, 1, 1, 1, 1, 0},
			{carried + " added again without being rescaled: coefficient 1 + " + exp, 1, 1, 1, 0, 1},
		}
	}
	var out []Suspect
	for _, x := range all {
		out = append(out, Suspect{
			Name: termName, Value: x.value, Own: true, Predict: func(sc *Scene, v, pre []float64) bool {
				k := sc.Kernel.(*accumulateKernel)
				own, ownErr := k.own(sc)
				for n, i := range sc.Cells {
					c, rel, old := k.carry[i/sc.Stride], k.cerr[i/sc.Stride], 0.0
					if before := sc.In[k.args]; !before.Missing {
						old = before.M.Data[i]
					}
					a, b := x.old*math.Pow(c, x.power)+x.again, x.made*math.Pow(c, x.madePower)
					if old == 0 {
						a = 0
					}
					made := own.Data[i]
					v[n] = a*old + b*made
					pre[n] = math.Abs(b)*ownErr.Data[i] + math.Abs(b*made)*(math.Abs(x.madePower)*rel+OpRel) +
						math.Abs(a*old)*(math.Abs(x.power)*(rel+u32)+OpRel)
				}
				return true
			},
		})
	}
	return out
}

// own computes the iteration's own part and its error.
func (k *accumulateKernel) own(sc *Scene) (Matrix, Matrix) {
	k.carries(&sc.Tile, sc.In)
	v := Value{
		M: NewMatrix(sc.Ref.Rows, sc.Ref.Cols), Err: NewMatrix(sc.Ref.Rows, sc.Ref.Cols), Unit: sc.Out.Unit,
	}
	k.inner.onto(&sc.Tile, sc.In[:k.args], k.base, nil, &v)
	return v.M, v.Err
}

// Codes is a tensor that a kernel decodes with scales.
type Codes interface {
	Tensor
	Name() string
	// Scale is the scale that an element is decoded with, and which of the scales that is.
	Scale(first int) (scale float64, group int)
	Scales() []float32
	// Others are the scales of the launch's other tensors, by name.
	Others() []NamedScales
	Quantiser() *probes.Quantiser
}

// NamedScales are the scales of a tensor.
type NamedScales struct {
	Name   string
	Scales []float32
}

// Suspects use the scales of other heads and other tensors in place of a decoded tile's own, and add whole or
// half codes; or they read a tile from elsewhere in its input.
func (k *loadKernel) Suspects([]Constant) []Suspect {
	out := k.placeSuspects()
	if c, ok := k.tensor.(Codes); ok && c.Coded() {
		return append(append(k.scaleSuspects(c), k.offsetSuspects(c)...), out...)
	}
	return out
}

// placeSuspects take another index of a dimension that the tile does not run along, or an input whose memory
// has two dimensions in the other order.
func (k *loadKernel) placeSuspects() []Suspect {
	var out []Suspect
	add := func(name, value string, place func(k *loadKernel, index []int) int) {
		out = append(out, Suspect{Name: name, Value: value, Predict: func(sc *Scene, v, pre []float64) bool {
			k := sc.Kernel.(*loadKernel)
			index, all, x := make([]int, len(k.dims)), 1, make([]float64, 1)
			for _, n := range k.dims {
				all *= n
			}
			for n, i := range sc.Cells {
				for d, e := range k.at {
					index[d] = e.At(sc.Block, sc.Iter)
				}
				for axis, by := range [2]int{i / sc.Stride, i % sc.Stride} {
					if d := k.along[axis]; d >= 0 {
						index[d] += by
					}
				}
				if at := place(k, index); at < 0 || at >= all {
					v[n] = math.NaN()
				} else {
					k.tensor.Decode(x, at)
					v[n], pre[n] = x[0], math.Abs(x[0])*k.rel()
				}
			}
			return true
		}})
	}
	linear := func(index, stride []int) (at int) {
		for d, i := range index {
			at += i * stride[d]
		}
		return at
	}
	for d, n := range k.dims {
		if n == 1 || d == k.along[0] || d == k.along[1] {
			continue
		}
		for _, by := range []int{1, -1} {
			add(shiftedName, fmt.Sprintf("%s by %+d in dimension %d", k.name, by, d),
				func(k *loadKernel, index []int) int {
					return linear(index, k.stride) + by*k.stride[d]
				})
		}
		add(shiftedName, fmt.Sprintf("%s from index 0 of dimension %d", k.name, d),
			func(k *loadKernel, index []int) int {
				return linear(index, k.stride) - index[d]*k.stride[d]
			})
	}
	for d := range k.dims {
		for e := d + 1; e < len(k.dims); e++ {
			if k.dims[d] == 1 || k.dims[e] == 1 {
				continue
			}
			add(permutedName, fmt.Sprintf("dimensions %d and %d of %s exchanged in memory", d, e, k.name),
				func(k *loadKernel, index []int) int {
					turned := append([]int(nil), k.dims...)
					turned[d], turned[e] = turned[e], turned[d]
					stride := strides(turned)
					stride[d], stride[e] = stride[e], stride[d]
					return linear(index, stride)
				})
		}
	}
	return out
}

func (k *loadKernel) scaleSuspects(c Codes) []Suspect {
	var out []Suspect
	name, scales, q := c.Name()+"s[h]", c.Scales(), c.Quantiser()
	ratio := func(value string, f func(own float64, group int) float64) {
		out = append(out, Suspect{
			Name: factorName, Value: value, Predict: func(sc *Scene, v, pre []float64) bool {
				k := sc.Kernel.(*loadKernel)
				own, group := k.tensor.(Codes).Scale(k.first(&sc.Tile))
				q := f(own, group)
				for n, i := range sc.Cells {
					v[n] = sc.Ref.Data[i] * q
					pre[n] = math.Abs(q)*sc.Pre.Data[i] + math.Abs(v[n])*OpRel
				}
				return true
			},
		})
	}
	heads := len(scales)
	for o := 1; o < min(heads, 9); o++ {
		value := fmt.Sprintf("%ss[(h+%d) %% H]/%s", c.Name(), o, name)
		if o == 1 {
			value = fmt.Sprintf("%ss[h+1]/%s", c.Name(), name)
		}
		ratio(value, func(own float64, h int) float64 { return float64(scales[(h+o)%heads]) / own })
	}
	if heads > 1 {
		ratio(c.Name()+"s[0]/"+name, func(own float64, _ int) float64 { return float64(scales[0]) / own })
	}
	for _, o := range c.Others() {
		ratio(o.Name+"s[h]/"+name, func(own float64, h int) float64 {
			if h >= len(o.Scales) {
				return 1
			}
			return float64(o.Scales[h]) / own
		})
	}
	ratio("1/"+name+": the scale left out", func(own float64, _ int) float64 { return 1 / own })
	ratio(name+": the scale applied twice", func(own float64, _ int) float64 { return own })
	for _, x := range []Constant{{"levels/max: the range left out", q.Levels / q.Max},
		{"levels/(levels+1/2)", q.Levels / (q.Levels + 0.5)},
		{"levels/(levels+1)", q.Levels / (q.Levels + 1)}} {
		ratio(fmt.Sprintf("%s (%.6g)", x.Name, x.Value), func(float64, int) float64 { return x.Value })
	}
	return out
}

func (k *loadKernel) offsetSuspects(c Codes) []Suspect {
	q := c.Quantiser()
	zero := float64(q.Zero)
	out := []Suspect{{
		Name: offsetName, Value: "-256 steps where the code is 128 or more: bytes taken as signed",
		Predict: func(sc *Scene, v, pre []float64) bool {
			k := sc.Kernel.(*loadKernel)
			scale, _ := k.tensor.(Codes).Scale(k.first(&sc.Tile))
			step := q.Max / q.Levels * scale
			for n, i := range sc.Cells {
				v[n], pre[n] = sc.Ref.Data[i], sc.Pre.Data[i]
				if math.Round(v[n]/step+zero) >= 128 {
					v[n] -= 256 * step
					pre[n] = sc.Coefs[TermDecode] * (math.Abs(v[n]) + 256*step)
				}
			}
			return true
		},
	}}
	for _, steps := range []float64{zero, -zero, 1, -1, 0.5, -0.5} {
		value := fmt.Sprintf("%g steps of max/levels·%ss[h]", steps, c.Name())
		if math.Abs(steps) == zero {
			value += ": the zero point"
		}
		out = append(out, Suspect{
			Name: offsetName, Value: value, Predict: func(sc *Scene, v, pre []float64) bool {
				k := sc.Kernel.(*loadKernel)
				scale, _ := k.tensor.(Codes).Scale(k.first(&sc.Tile))
				d := steps * q.Max / q.Levels * scale
				for n, i := range sc.Cells {
					v[n] = sc.Ref.Data[i] + d
					pre[n] = sc.Coefs[TermDecode] * (math.Abs(v[n]) + math.Abs(d))
				}
				return true
			},
		})
	}
	return out
}
