package hostrun

import "slices"

// taint makes what statements assign unknown, as far as their text shows it.
func (x *execution) taint(list []*statement) {
	for _, s := range list {
		if s == nil {
			continue
		}
		for _, n := range []*node{s.init, s.cond, s.step} {
			x.taintNode(n)
		}
		if s.declared != nil {
			for _, d := range s.declared.vars {
				x.taintNode(d.first)
			}
		}
		x.taintNames(s.names)
		x.taint(s.body)
		x.taint(s.otherwise)
	}
}

func (x *execution) taintNode(n *node) {
	if n == nil {
		return
	}
	switch n.op {
	case opAssign, opStep:
		if len(n.args) > 0 {
			x.taintPlace(n.args[0])
		}
	case opUnary:
		if n.text == "&" {
			x.taintPlace(n.args[0])
		}
	case opCall:
		if m := n.args[0]; m.op == opMember { // v.push_back(...)
			x.taintPlace(m.args[0])
		}
		for _, a := range n.args[1:] {
			if a != nil && a.op == opName {
				if v := x.lookup(a.text); v != nil && v.load().object != nil {
					x.spoil(v.load())
				}
			}
		}
	}
	for _, a := range slices.Concat(n.args, n.config) {
		x.taintNode(a)
	}
	x.taint(n.body)
}

// taintPlace makes what an expression stands for unknown.
func (x *execution) taintPlace(n *node) {
	whole := true
	for n != nil {
		switch n.op {
		case opName:
			if v := x.lookup(n.text); v != nil {
				if old := v.load(); !whole ||
					old.kind != nil && old.kind.form != formPointer && old.object != nil {
					x.spoil(old)
				} else {
					v.store(value{kind: old.kind})
				}
			}
			return
		case opIndex, opMember, opUnary, opCast, opStep:
			whole = false
		case opBinary:
		default:
			return
		}
		if len(n.args) == 0 {
			return
		}
		n = n.args[0]
		if n != nil && n.op == opCast {
			n = n.args[0]
		}
	}
}

// spoil makes the memory of a value unknown, and what its pointers lead to.
func (x *execution) spoil(v value) {
	if v.object != nil {
		v.object.spoil()
	}
}

// taintNames makes every variable of a text that is not understood unknown.
func (x *execution) taintNames(names []string) {
	for _, name := range names {
		v := x.lookup(name)
		if v == nil {
			continue
		}
		old := v.load()
		if old.object != nil && old.kind != nil && old.kind.form == formPointer {
			x.spoil(old)
			continue
		}
		if old.object != nil {
			x.spoil(old)
			continue
		}
		v.store(value{kind: old.kind})
	}
}
