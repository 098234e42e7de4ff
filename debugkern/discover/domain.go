package discover

import (
	"encoding/binary"
	"math"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// domain says what operations make of values of the algebra. It implements lineage.Domain.
type domain struct {
	*algebra
	l          *target.Launch
	leaf       [][]value    // by argument and element
	operations []*operation // by instruction
	fed        func(op *lineage.Op, a, b []value, out value)
}

func newDomain(l *target.Launch) *domain {
	return &domain{algebra: newAlgebra(), l: l, leaf: make([][]value, len(l.Args))}
}

// Leaf implements lineage.Domain.
func (d *domain) Leaf(arg, index int) value {
	list := d.leaf[arg]
	if list == nil {
		list = make([]value, probes.Elems(d.l.Args[arg].Buffer.Dims))
		d.leaf[arg] = list
	}
	if index >= len(list) {
		return 0
	}
	if list[index] == 0 {
		list[index] = d.fresh(d.add1(atom{kind: element, arg: int32(arg), idx: int32(index)}), 1)
	}
	return list[index]
}

// Scalar implements lineage.Domain: a scalar argument is the number that the launch gives it.
func (d *domain) Scalar(arg, offset, n int) value {
	b := d.l.Args[arg].Scalar
	if offset < 0 || offset+n > len(b) {
		return 0
	}
	var p [8]byte
	copy(p[:], b[offset:min(offset+n, offset+8)])
	return d.of(form{bits: true, c: float64(binary.LittleEndian.Uint64(p[:]))})
}

// Const implements lineage.Domain.
func (d *domain) Const(bits uint64, t ptx.Type) value {
	if !t.Float() {
		return d.of(form{bits: true, c: float64(bits)})
	}
	return d.constant(number(bits, t))
}

// number decodes a constant of a floating-point type.
func number(bits uint64, t ptx.Type) float64 {
	switch t {
	case ptx.F64:
		return math.Float64frombits(bits)
	case ptx.F16, ptx.F16x2:
		return probes.F16.Value(bits & 0xffff)
	case ptx.BF16, ptx.BF16x2:
		return probes.BF16.Value(bits & 0xffff)
	}
	return float64(math.Float32frombits(uint32(bits)))
}

// Index implements lineage.Domain.
func (d *domain) Index() value { return 0 }

// typed is a value as an operand of a type: of a constant of no type its number.
func (d *domain) typed(x value, t ptx.Type) value {
	f := &d.forms[x]
	if x == 0 || !f.bits {
		return x
	}
	if !t.Float() {
		return d.constant(f.c)
	}
	return d.constant(number(uint64(f.c), t))
}

// Join implements lineage.Domain: a number whose low bytes are zero is the shorter one that the high bytes
// are, as f32 is of bf16.
func (d *domain) Join(op *lineage.Op, pieces []lineage.Piece[value]) value {
	var only *lineage.Piece[value]
	for i := range pieces {
		if p := &pieces[i]; p.Of == 0 || !zero(&d.forms[p.Of]) {
			if only != nil {
				return 0
			}
			only = p
		}
	}
	if only != nil && only.From == 0 && only.N == 2 && only.At == 2 && op.Bytes == 4 {
		return only.Of
	}
	return 0
}

// Select implements lineage.Selector: a mask that puts −inf in the place of a score, and a guard that puts 0
// in the place of a maximum of hidden scores.
func (d *domain) Select(op *lineage.Op, chosen, other value) (value, bool) {
	if chosen == 0 || other == 0 {
		return 0, false
	}
	c := d.typed(chosen, ptx.F32)
	if op.Bytes == 8 {
		c = d.typed(chosen, ptx.F64)
	}
	switch f := &d.forms[c]; {
	case f.n > 0:
	case f.c <= lowest:
		return d.hide(other)
	case f.c == 0:
		a, _, ok := d.forms[other].single()
		return other, ok && d.atoms[a].kind == maximum && d.allHidden(a)
	}
	return 0, false
}

// operation is what is known of an instruction before its operands are.
type operation struct {
	name    string // of its arithmetic: of an atomic what it does
	types   []ptx.Type
	t       ptx.Type // the type of the operands
	convert bool
	real    bool // it computes with floating-point numbers
	largest bool
}

// writesReal reports whether an instruction's results are floating-point numbers by its type.
func (o *operation) writesReal() bool { return len(o.types) > 0 && o.types[0].Float() }

// operation looks an instruction up, once.
func (d *domain) operation(op *lineage.Op) *operation {
	for op.PC >= len(d.operations) {
		d.operations = append(d.operations, nil)
	}
	o := d.operations[op.PC]
	if o != nil {
		return o
	}
	o = &operation{name: op.Form.Name, types: op.Instr.Types(), convert: op.Form.Kind == isa.Convert}
	if len(o.types) > 0 {
		o.t = o.types[len(o.types)-1]
		o.real = o.t.Float()
	}
	if op.Form.Kind.Updates() { // what memory has afterwards
		for _, m := range op.Instr.Mods {
			if m == "add" || m == "max" {
				o.name = m
			}
		}
	}
	o.largest = o.name == "max" || o.name == "redux" && op.Instr.Has("max")
	d.operations[op.PC] = o
	return o
}

// Op implements lineage.Domain.
func (d *domain) Op(op *lineage.Op, in []value) value {
	o := d.operation(op)
	switch {
	case len(o.types) == 0 || len(in) == 0:
		return 0
	case o.convert:
		return d.convert(o.types, in[0])
	case o.name == "shl":
		return d.shift(in)
	case !o.real:
		return 0
	}
	constant := true
	for i, x := range in {
		if x != 0 && d.forms[x].bits {
			in[i] = d.typed(x, o.t)
		}
		constant = constant && x != 0 && d.forms[in[i]].constant()
	}
	if constant && op.Form.Real != nil {
		return d.computed(op, in)
	}
	return d.arithmetic(o, in)
}

// computed is an operation on numbers.
func (d *domain) computed(op *lineage.Op, in []value) value {
	var x [3]float64
	for i := range min(len(in), 3) {
		x[i] = d.forms[in[i]].c
	}
	v := op.Form.Real(x[0], x[1], x[2])
	if op.Instr.Has("sat") {
		v = min(max(v, 0), 1)
	}
	return d.constant(v)
}

// arithmetic is an operation on floating-point numbers.
func (d *domain) arithmetic(o *operation, in []value) value {
	switch name := o.name; {
	case name == "add" && len(in) == 2:
		return d.sum(in[0], in[1], 1)
	case name == "sub" && len(in) == 2:
		return d.sum(in[0], in[1], -1)
	case name == "mul" && len(in) == 2:
		return d.times(in[0], in[1])
	case (name == "fma" || name == "mad") && len(in) == 3:
		if x, ok := d.extend(in[0], in[1], in[2]); ok {
			return x
		}
		return d.sum(d.times(in[0], in[1]), in[2], 1)
	case o.largest:
		x := in[0]
		for _, y := range in[1:] {
			x = d.largest(x, y)
		}
		return x
	case name == "neg":
		return d.scale(in[0], -1)
	case name == "div" && len(in) == 2:
		return d.times(in[0], d.invert(in[1]))
	case name == "rcp":
		return d.invert(in[0])
	case name == "ex2":
		return d.exp2(in[0])
	case name == "lg2":
		return d.log2(in[0])
	}
	return 0
}

// convert is a conversion: between types of floating-point numbers, and from whole numbers, the
// value stays what it is.
func (d *domain) convert(types []ptx.Type, x value) value {
	if len(types) < 2 || !types[0].Float() {
		return 0
	}
	return d.typed(x, types[len(types)-1])
}

// exponent is what is added to a whole number k so that the bits of the float sum, shifted to its exponent,
// are the float 2^k: 1.5·2^23 and the exponent's bias.
const exponent = 3<<22 + 127

// shift is the shift by which exponentials make a power of two of a whole number that was added to exponent.
func (d *domain) shift(in []value) value {
	if len(in) != 2 || in[0] == 0 || in[1] == 0 {
		return 0
	}
	f, by := d.forms[in[0]], d.forms[in[1]]
	if !by.bits || by.c != 23 || f.bits {
		return 0
	}
	if f.n == 0 {
		return d.constant(float64(math.Float32frombits(math.Float32bits(float32(f.c)) << 23)))
	}
	x := d.exp2(d.sum(in[0], d.constant(exponent), -1))
	if x == 0 {
		return 0
	}
	g := d.forms[x]
	a, c, ok := g.single()
	if !ok {
		return x
	}
	return d.unary(rough, a, c)
}

// Dot implements lineage.Domain.
func (d *domain) Dot(op *lineage.Op, acc value, a, b []value) value {
	out := d.dot(acc, a, b)
	if d.fed != nil {
		d.fed(op, a, b, out)
	}
	return out
}

// extend adds a product of two elements, or of a weight and an element, to a sum of such, as a matrix product
// does; false where it is another.
func (d *domain) extend(a, b, acc value) (value, bool) {
	if a == 0 || b == 0 || acc == 0 {
		return 0, false
	}
	x, y := &d.forms[a], &d.forms[b]
	i, c, ok := x.single()
	j, e, ok2 := y.single()
	if !ok || !ok2 || d.atoms[i].kind != element && d.atoms[j].kind != element || zero(&d.forms[acc]) {
		return 0, false
	}
	k, f, ok := d.forms[acc].single()
	if !ok || !near(f, c*e) || d.atoms[k].kind != product && d.atoms[k].kind != weighted {
		return 0, false
	}
	at := int32(len(d.pairs))
	p := atom{at: at}
	coef, ok := d.term2(&p, x, y)
	if !ok {
		d.pairs = d.pairs[:at]
		return 0, false
	}
	v := d.accumulate(acc, p, coef)
	if v == 0 {
		d.pairs = d.pairs[:at]
	}
	return v, v != 0
}

// dot adds products of elements, or of weights and elements, to an accumulator. Terms that
// are 0 count for nothing.
func (d *domain) dot(acc value, a, b []value) value {
	at := int32(len(d.pairs))
	p := atom{at: at}
	coef := 0.0
	for k := range a {
		if a[k] == 0 || b[k] == 0 {
			d.pairs = d.pairs[:at]
			return 0
		}
		x, y := &d.forms[a[k]], &d.forms[b[k]]
		if zero(x) || zero(y) {
			continue
		}
		c, ok := d.term2(&p, x, y)
		if !ok || coef != 0 && !near(c, coef) {
			d.pairs = d.pairs[:at]
			return 0
		}
		coef = c
	}
	return d.accumulate(acc, p, coef)
}

// zero reports whether a form is the number 0.
func zero(f *form) bool { return f.n == 0 && f.c == 0 }

// term2 adds one product to a sum that is being made; false where that is not of its kind.
func (d *domain) term2(p *atom, x, y *form) (coef float64, ok bool) {
	i, c, ok := x.single()
	j, e, ok2 := y.single()
	if !ok || !ok2 {
		return 0, false
	}
	q, r := &d.atoms[i], &d.atoms[j]
	first := p.n == 0
	switch {
	case q.kind == element && r.kind == element:
		if first {
			p.kind, p.arg, p.arg2, p.lo, p.lo2 = product, q.arg, r.arg, q.idx, r.idx
		} else if p.kind != product || p.arg != q.arg || p.arg2 != r.arg {
			return 0, false
		}
		p.lo, p.lo2 = min(p.lo, q.idx), min(p.lo2, r.idx)
		p.sum += mix(q.idx, r.idx)
		d.pairs = append(roomy(d.pairs), pair{q.idx, r.idx})
	case q.kind == power && r.kind == element, q.kind == element && r.kind == power:
		if q.kind == element {
			q, r = r, q
		}
		if q.n != 1 {
			return 0, false
		}
		if first {
			p.kind, p.alpha, p.arg, p.ref, p.ref2 = weighted, q.alpha, r.arg, q.ref, q.ref2
		} else if p.kind != weighted || p.alpha != q.alpha || p.arg != r.arg || p.ref != q.ref ||
			p.ref2 != q.ref2 {
			return 0, false
		}
		p.sum += q.sum
		d.pairs = append(roomy(d.pairs), pair{q.idx, r.idx})
	default:
		return 0, false
	}
	p.n++
	return c * e, true
}

// accumulate is the sum of an accumulator and what an instruction adds to it.
func (d *domain) accumulate(acc value, p atom, coef float64) value {
	if acc == 0 {
		return 0
	}
	f := &d.forms[acc]
	switch {
	case p.n == 0:
		return acc
	case zero(f):
		return d.fresh(d.add1(p), coef)
	}
	i, c, ok := f.single()
	q := &d.atoms[i]
	if !ok || !near(c, coef) || q.kind != p.kind || q.arg != p.arg || q.arg2 != p.arg2 ||
		q.alpha != p.alpha || q.ref != p.ref || q.ref2 != p.ref2 {
		return 0
	}
	q.extended = true
	p.left = i
	p.n += q.n
	p.sum += q.sum
	if p.kind == product {
		p.lo, p.lo2 = min(p.lo, q.lo), min(p.lo2, q.lo2)
	}
	return d.fresh(d.add1(p), coef)
}
