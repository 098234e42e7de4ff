package hostrun

import (
	"math"
	"slices"
)

// state is what is known of a value.
type state uint8

const (
	unknown state = iota
	bounded       // an integer from lo to hi, such as rand() % 10
	known
)

// value is what an expression evaluates to. Of a struct, an array or a vector object has the elements; of a
// pointer it is what it leads to, and at the element.
type value struct {
	kind   *ctype // nil: not even the type is known
	state  state
	i      int64 // of an integer; of a bounded one the least
	hi     int64
	f      float64
	object *object
	at     int64
	lambda *node
	scope  *scope
}

// number is a value as a floating-point one.
func (v value) number() float64 {
	if v.kind != nil && v.kind.form == formFloat {
		return v.f
	}
	return float64(v.i)
}

// truth is a value as a condition.
func (v value) truth() (yes, ok bool) {
	switch {
	case v.kind == nil:
		return false, false
	case v.kind.form == formPointer || v.object != nil:
		return v.object != nil, v.state == known
	case v.state == bounded:
		return true, v.i > 0 || v.hi < 0
	}
	return v.number() != 0, v.state == known
}

func integerValue(t *ctype, n int64) value { return value{kind: t, state: known, i: wrap(t, n)} }

// wrap is an integer as a type has it.
func wrap(t *ctype, n int64) int64 {
	switch {
	case t.name == "bool":
		if n != 0 {
			return 1
		}
		return 0
	case t.size == 1 && t.signed:
		return int64(int8(n))
	case t.size == 1:
		return int64(uint8(n))
	case t.size == 2 && t.signed:
		return int64(int16(n))
	case t.size == 2:
		return int64(uint16(n))
	case t.size == 4 && t.signed:
		return int64(int32(n))
	case t.size == 4:
		return int64(uint32(n))
	}
	return n
}

// convert is a value as a variable of a type has it.
func (x *execution) convert(v value, t *ctype) value {
	if t == nil || v.kind == t {
		return v
	}
	switch t.form {
	case formInt:
		switch {
		case v.state == unknown || !v.kind.scalar():
			return value{kind: t}
		case v.state == bounded:
			if wrap(t, v.i) != v.i || wrap(t, v.hi) != v.hi {
				return value{kind: t}
			}
			return value{kind: t, state: bounded, i: v.i, hi: v.hi}
		case v.kind.form == formFloat:
			if math.IsNaN(v.f) || math.Abs(v.f) > 1<<62 {
				return value{kind: t}
			}
			return integerValue(t, int64(v.f))
		}
		return integerValue(t, v.i)
	case formFloat:
		if v.state != known || !v.kind.scalar() {
			return value{kind: t}
		}
		f := v.number()
		if t.name != "double" { // the device's type rounds a half itself
			f = float64(float32(f))
		}
		return value{kind: t, state: known, f: f}
	case formPointer:
		if v.object == nil {
			return value{kind: t, state: v.state}
		}
		if v.object.elem == nil && t.elem != nil && t.elem.size > 0 && t.elem.form != formVoid {
			v.object.become(t.elem)
		}
		v.kind = t
		return v
	case formStruct:
		if t == dim3Type && v.kind.scalar() { // dim3 g = 8
			d := x.fresh(t)
			d.object.slots[0] = x.convert(v, uintType)
			return d
		}
	case formArray, formVector:
		if v.object != nil {
			return v
		}
	}
	return value{kind: t}
}

// object is memory: the elements of an array, a vector or an allocation, or the fields of a struct.
type object struct {
	elem   *ctype // nil: bytes whose type is not known yet, or a struct
	record *ctype // of a struct
	n      int64  // elements; bytes where elem is nil
	bytes  int64
	ints   []int64
	floats []float64
	states []state
	slots  []value // of elements that are no numbers, and of a struct's fields
	// everything that is not in states: written by something unknown, or never
	spoilt  bool
	written bool
	zero    bool // it begins with zeros
	padded  bool // rows of it end in bytes that were not asked for
	// of unknown integers that were stored: their range, where each had one
	lo, hi  int64
	ranged  bool
	endless bool // one had none
}

// mostElements is how many elements of an object are kept; those of a larger one are unknown.
const mostElements = 1 << 20

// mostExtent is how many elements an array or a vector has at most, and mostBytes how many bytes an
// allocation: larger ones are not known.
const (
	mostExtent = 1 << 40
	mostBytes  = 1 << 46
)

// become gives bytes their type.
func (o *object) become(t *ctype) {
	o.elem, o.n = t, o.bytes/t.size
}

// allocated is memory of so many bytes.
func allocated(bytes int64) *object {
	return &object{bytes: bytes, n: bytes}
}

// elements is memory of so many elements.
func elements(t *ctype, n int64) *object {
	o := &object{bytes: n, n: n}
	if t != nil && t.size > 0 {
		o.bytes = n * t.size
		o.become(t)
	}
	return o
}

// room makes room for the elements; false where they are too many or of no known type.
func (o *object) room() bool {
	if o.elem == nil || o.n > mostElements || o.n < 0 {
		return false
	}
	if !o.elem.scalar() {
		for int64(len(o.slots)) < o.n {
			o.slots = append(o.slots, value{kind: o.elem})
		}
		return true
	}
	if int64(len(o.states)) != o.n {
		had := len(o.states)
		o.states = append(o.states, make([]state, o.n-int64(had))...)
		for i := range o.states[had:] {
			if o.zero {
				o.states[had+i] = known
			}
		}
		if o.elem.form == formInt {
			o.ints = append(o.ints, make([]int64, o.n-int64(len(o.ints)))...)
		} else {
			o.floats = append(o.floats, make([]float64, o.n-int64(len(o.floats)))...)
		}
	}
	return true
}

// load is an element.
func (o *object) load(i int64) value {
	if o.record != nil {
		if i < 0 || i >= int64(len(o.slots)) {
			return value{}
		}
		return o.slots[i]
	}
	if o.elem == nil || i < 0 || i >= o.n {
		return value{kind: o.elem}
	}
	if !o.elem.scalar() {
		if i < int64(len(o.slots)) {
			return o.slots[i]
		}
		return value{kind: o.elem}
	}
	if i >= int64(len(o.states)) && o.zero {
		o.room()
	}
	if i >= int64(len(o.states)) || o.states[i] != known {
		if o.ranged && !o.endless {
			return value{kind: o.elem, state: bounded, i: o.lo, hi: o.hi}
		}
		return value{kind: o.elem}
	}
	if o.elem.form == formInt {
		return value{kind: o.elem, state: known, i: o.ints[i]}
	}
	return value{kind: o.elem, state: known, f: o.floats[i]}
}

// store keeps an element, which has the object's type.
func (o *object) store(i int64, v value) {
	o.written = true
	if o.record != nil {
		if i >= 0 && i < int64(len(o.slots)) {
			o.slots[i] = v
		}
		return
	}
	if i < 0 || i >= o.n || !o.room() {
		o.spoilt, o.endless = true, true
		return
	}
	if !o.elem.scalar() {
		o.slots[i] = v
		return
	}
	o.states[i] = unknown
	switch {
	case v.state == known && o.elem.form == formInt:
		o.states[i], o.ints[i] = known, v.i
	case v.state == known:
		o.states[i], o.floats[i] = known, v.f
	case v.state == bounded:
		o.widen(v.i, v.hi)
	default:
		o.endless = true
	}
}

// widen takes a range into that of the unknown elements.
func (o *object) widen(lo, hi int64) {
	if !o.ranged {
		o.lo, o.hi, o.ranged = lo, hi, true
	}
	o.lo, o.hi = min(o.lo, lo), max(o.hi, hi)
}

// spoil makes all elements unknown.
func (o *object) spoil() {
	o.spoilt, o.endless, o.written, o.zero = true, true, true, false
	clear(o.states)
	for i := range o.slots {
		if inner := o.slots[i].object; inner != nil && o.slots[i].kind != nil &&
			o.slots[i].kind.form != formPointer {
			inner.spoil()
			continue
		}
		o.slots[i] = value{kind: o.slots[i].kind}
	}
}

// copied is an object with the same elements.
func (x *execution) copied(o *object) *object {
	out := *o
	out.ints, out.floats = slices.Clone(o.ints), slices.Clone(o.floats)
	out.states, out.slots = slices.Clone(o.states), slices.Clone(o.slots)
	for i, v := range out.slots {
		if v.kind != nil && v.kind.form != formPointer && v.object != nil {
			out.slots[i] = x.clone(v)
		}
	}
	return &out
}

// leaf is a number of an object, or of an array or a struct in it.
type leaf struct {
	object *object
	at     int64
	kind   *ctype
}

// leaves are the numbers of an object from an element on, in the order of memory; nil where it has others
// than numbers, or too many.
func (o *object) leaves(from int64) (out []leaf) {
	if o.record == nil && !o.room() {
		return nil
	}
	for i := max(0, from); i < o.n; i++ {
		kind := o.elem
		if o.record != nil {
			kind = o.record.fields[i].kind
		}
		switch {
		case kind.scalar():
			out = append(out, leaf{o, i, kind})
		case o.slots[i].object != nil && kind.form != formPointer && kind.form != formVector:
			inner := o.slots[i].object.leaves(0)
			if inner == nil || len(out)+len(inner) > mostElements {
				return nil
			}
			out = append(out, inner...)
		default:
			return nil
		}
	}
	return out
}

// transfer copies bytes from one object to another, as cudaMemcpy does.
func transfer(to *object, at int64, from *object, start, bytes int64) {
	to.written = true
	if to.elem == nil && to.record == nil && from.elem != nil && from.elem.size > 0 {
		to.become(from.elem)
	}
	if to.elem == nil || from.elem == nil || !to.elem.scalar() || !from.elem.scalar() {
		transferLeaves(to, at, from, start, bytes)
		return
	}
	if to.elem.size != from.elem.size || to.elem.form != from.elem.form || !to.room() {
		to.spoil()
		return
	}
	to.overwrite(at, bytes)
	if from.spoilt || from.endless {
		to.endless = true
	}
	if from.ranged {
		to.widen(from.lo, from.hi)
	}
	for k := range bytes / to.elem.size {
		if at+k >= to.n {
			return
		}
		to.store(at+k, from.load(start+k))
	}
}

// overwrite forgets the values of an object where so many bytes from an element on are all of it.
func (o *object) overwrite(at, bytes int64) {
	if at == 0 && bytes >= o.bytes {
		o.spoilt, o.endless, o.ranged = false, false, false
	}
}

// transferLeaves copies between arrays of arrays and structs, number by number.
func transferLeaves(to *object, at int64, from *object, start, bytes int64) {
	into, of := to.leaves(at), from.leaves(start)
	for k := 0; bytes > 0; k++ {
		if k >= len(into) || k >= len(of) || into[k].kind.size != of[k].kind.size ||
			into[k].kind.form != of[k].kind.form {
			to.spoil()
			return
		}
		into[k].object.store(into[k].at, of[k].object.load(of[k].at))
		bytes -= into[k].kind.size
	}
}
