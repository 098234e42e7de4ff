package hostrun

import (
	"slices"
	"strings"
)

// perhaps leaves out a statement that may be executed: what it assigns is unknown behind it. Where it may
// leave the loop or the function at hand, what that assigns is unknown as well.
func (x *execution) perhaps(s *statement) {
	x.taint([]*statement{s})
	leavesLoop, returns := jumps([]*statement{s}, s.kind == switchStatement)
	x.frame.parted = x.frame.parted || returns
	if x.frame.loops > 0 && (leavesLoop || returns) {
		panic(errParted)
	}
}

// abandon leaves out what is left of a loop.
func (x *execution) abandon(s *statement) {
	x.taint([]*statement{s})
	_, returns := jumps(s.body, false)
	x.frame.parted = x.frame.parted || returns
}

// jumps reports whether statements leave or continue the loop around them, and whether they return. inSwitch:
// a break is that of a switch.
func jumps(list []*statement, inSwitch bool) (leavesLoop, returns bool) {
	for _, s := range list {
		if s == nil {
			continue
		}
		bodies := [][]*statement{s.body, s.otherwise}
		if s.cond != nil && s.cond.op == opMacro {
			bodies = append(bodies, s.cond.body)
		}
		own := inSwitch || s.kind == switchStatement
		leaves, back := false, s.kind == returnStatement || slices.Contains(s.names, "return")
		for _, b := range bodies {
			l, r := jumps(b, own)
			leaves, back = leaves || l, back || r
		}
		switch s.kind {
		case forStatement, rangeStatement, whileStatement, doStatement:
			leaves = false // a loop of its own
		case continueStatement:
			leaves = true
		case breakStatement:
			leaves = !inSwitch
		case unknownStatement:
			leaves = slices.Contains(s.names, "break") || slices.Contains(s.names, "continue")
		}
		leavesLoop, returns = leavesLoop || leaves, returns || back
	}
	return leavesLoop, returns
}

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
		x.taintGiven(n.args[1:])
		x.taintCalled(n.args[0], n.args[1:])
	case opLaunch:
		x.taintGiven(n.args[1:])
	}
	for _, a := range slices.Concat(n.args, n.config) {
		x.taintNode(a)
	}
	x.taint(n.body)
}

// taintGiven makes the memory unknown that a call or a launch is given.
func (x *execution) taintGiven(args []*node) {
	for _, a := range args {
		if a != nil && a.op == opName {
			if v := x.lookup(a.text); v != nil {
				x.spoil(v.load())
			}
		}
	}
}

// taintCalled makes unknown what a function of the source may assign: what it takes by reference, and
// variables at namespace scope.
func (x *execution) taintCalled(callee *node, args []*node) {
	if callee.op != opName || x.depth > mostDepth {
		return
	}
	outer := x.scope
	x.depth++
	defer func() { x.scope, x.depth = outer, x.depth-1 }()
	for _, f := range x.functions[callee.text[strings.LastIndexByte(callee.text, ':')+1:]] {
		x.parse(f)
		for i, p := range f.head.params {
			if p.refers && i < len(args) {
				x.taintPlace(args[i])
			}
		}
		x.scope = x.space
		x.taint(f.body)
		x.scope = outer
	}
}

// taintPlace makes what an expression stands for unknown.
func (x *execution) taintPlace(n *node) {
	whole := true
	for n != nil {
		switch n.op {
		case opName:
			if v := x.lookup(n.text); v != nil && !v.fixed {
				if old := v.load(); !whole ||
					old.kind != nil && old.kind.form != formPointer && old.object != nil {
					x.spoil(old)
				} else {
					v.store(value{kind: old.kind})
				}
			}
			return
		case opIndex, opMember, opUnary, opCast, opStep, opCall: // v.at(2), v.back()
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
		if v == nil || v.fixed {
			continue
		}
		if old := v.load(); old.object != nil {
			x.spoil(old)
		} else {
			v.store(value{kind: old.kind})
		}
	}
}
