package hostrun

import "slices"

// declareAll declares the variables of a declaration.
func (x *execution) declareAll(d *declaration) {
	if d.bound {
		x.declareParts(d, x.value(d.vars[0].first))
		return
	}
	kind := x.resolve(&typeName{name: d.kind.name, args: d.kind.args})
	for _, v := range d.vars {
		x.declareOne(kind, d.kind, v)
		made := x.scope.vars[v.name]
		made.fixed = d.kind.constant && v.pointers == 0 && !v.refers && made.value.kind.scalar()
	}
}

// declareParts declares structured bindings: the fields of a struct, or the elements of an array.
func (x *execution) declareParts(d *declaration, of value) {
	if of.object != nil && of.kind != nil && of.kind.form != formPointer && !d.vars[0].refers {
		of = x.clone(of)
	}
	for i, v := range d.vars {
		if of.object == nil || of.kind == nil || of.kind.form == formPointer || int64(i) >= of.object.n {
			x.declare(v.name, &variable{})
			continue
		}
		x.declare(v.name, &variable{object: of.object, at: int64(i)})
	}
}

func (x *execution) declareOne(kind *ctype, spelled *typeName, d declarator) {
	if d.refers && d.first != nil && !d.call {
		if to := x.place(d.first); to != nil {
			x.declare(d.name, to)
			return
		}
	}
	var first value
	if d.first != nil && !d.call && (d.first.op != opList || spelled.name == "auto") {
		first = x.value(d.first)
	}
	if spelled.name == "auto" {
		if d.pointers > 0 && first.kind == nil {
			first = value{kind: pointerTo(nil)}
		}
		x.declare(d.name, &variable{value: x.clone(first)})
		return
	}
	t := x.declaredType(kind, &typeName{name: spelled.name}, d)
	switch {
	case t == nil:
		x.declare(d.name, &variable{})
	case d.first == nil && t.form == formStruct && t.constructed():
		x.declare(d.name, &variable{value: x.construct(t, nil)})
	case d.first == nil:
		x.declare(d.name, &variable{value: x.fresh(t)})
	case d.call:
		x.declare(d.name, &variable{value: x.construct(t, d.first.args)})
	case d.first.op == opList:
		x.declare(d.name, &variable{value: x.listed(t, d.first)})
	default:
		x.declare(d.name, &variable{value: x.clone(x.convert(first, t))})
	}
}

// declaredType is the type of a variable: pointers and extents are around the type of its declaration. kind
// is that type with its pointers left out, or nil.
func (x *execution) declaredType(kind *ctype, spelled *typeName, d declarator) *ctype {
	t := kind
	for range d.pointers - spelled.pointers {
		t = pointerTo(t)
	}
	for i := len(d.dims) - 1; i >= 0; i-- {
		n := int64(-1)
		switch {
		case d.dims[i] != nil:
			if v := x.value(d.dims[i]); v.state == known && v.kind.form == formInt && v.i >= 0 {
				n = v.i
			}
		case d.first != nil && d.first.op == opList:
			n = int64(len(d.first.args))
		}
		if t == nil || n < 0 || n > mostExtent {
			return nil
		}
		t = arrayOf(t, n)
	}
	return t
}

// fresh is a variable that begins with nothing.
func (x *execution) fresh(t *ctype) value {
	v := value{kind: t}
	switch {
	case t == nil:
	case t.form == formArray:
		v.object = elements(t.elem, t.n)
		if !t.elem.scalar() && t.elem.form != formPointer && v.object.room() {
			for i := range v.object.slots {
				x.step()
				v.object.slots[i] = x.fresh(t.elem)
			}
		}
	case t.form == formVector:
		v.object = elements(t.elem, 0)
	case t.form == formStruct:
		v.object = &object{record: t, n: int64(len(t.fields)), bytes: t.size}
		for _, f := range t.fields {
			of := x.fresh(f.kind)
			switch {
			case f.first != nil && f.first.op == opList:
				of = x.listed(f.kind, f.first)
			case f.first != nil:
				of = x.convert(x.value(f.first), f.kind)
			}
			v.object.slots = append(v.object.slots, of)
		}
	}
	return v
}

// zeroed is a value of which every number is zero.
func (x *execution) zeroed(t *ctype) value {
	switch {
	case t == nil:
		return value{}
	case t.scalar() || t.form == formPointer:
		return value{kind: t, state: known}
	}
	v := x.fresh(t)
	if v.object == nil {
		return v
	}
	if t.form == formArray && t.elem.scalar() && v.object.room() {
		for i := range v.object.states {
			v.object.states[i] = known
		}
		v.object.written = true
		return v
	}
	for i := range v.object.slots {
		if t.form == formStruct && t.fields[i].first != nil {
			continue
		}
		v.object.slots[i] = x.zeroed(v.object.slots[i].kind)
	}
	return v
}

// listed is a value made of a list in braces.
func (x *execution) listed(t *ctype, list *node) value {
	switch {
	case t == nil:
		for _, a := range list.args {
			x.value(a)
		}
		return value{}
	case t.scalar() || t.form == formPointer:
		if len(list.args) == 1 {
			return x.convert(x.value(list.args[0]), t)
		}
		return value{kind: t, state: known}
	case t == dim3Type:
		return x.construct(t, list.args)
	case t.form == formVector:
		v := value{kind: t, object: elements(t.elem, int64(len(list.args)))}
		x.fill(v.object, t.elem, list.args)
		return v
	case t.form == formArray:
		v := x.zeroed(t)
		x.fill(v.object, t.elem, list.args)
		return v
	case t.form != formStruct:
		return x.construct(t, list.args)
	}
	if t.constructed() {
		return x.construct(t, list.args)
	}
	v := x.zeroed(t)
	next := 0
	for _, a := range list.args {
		if a.op == opAssign && len(a.args) == 1 {
			next = slices.IndexFunc(t.fields, func(f field) bool { return "."+f.name == a.text })
			a = a.args[0]
		}
		if next < 0 || next >= len(t.fields) {
			break
		}
		v.object.slots[next] = x.item(t.fields[next].kind, a)
		next++
	}
	return v
}

// item is an element of a list in braces.
func (x *execution) item(t *ctype, n *node) value {
	if n.op == opList && n.kind == nil {
		return x.listed(t, n)
	}
	return x.clone(x.convert(x.value(n), t))
}

func (x *execution) fill(o *object, elem *ctype, list []*node) {
	for i, a := range list {
		o.store(int64(i), x.item(elem, a))
	}
}

// clone is a copy of a value: a struct's, an array's or a vector's elements are copied with it.
func (x *execution) clone(v value) value {
	if v.object == nil || v.kind == nil || v.kind.form == formPointer {
		return v
	}
	x.spend(v.object.n)
	v.object = x.copied(v.object)
	return v
}
