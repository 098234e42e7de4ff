package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// rewrite turns a module into another that differs in some functions and variables. What does not change is
// shared: functions keep their instructions unless these name something that moved.
type rewrite struct {
	changes map[*Func]*change
	data    map[*Var][]byte
	vars    map[*Var]*Var
	funcs   map[*Func]*Func
}

// change is what happens to one function.
type change struct {
	before map[int][]*Instr // inserted in front of a body index, in order
	gone   map[int]bool
	swap   map[int]*Instr
	decls  []*RegDecl // declared at the top of the body; Regs of the function that they add are in regs
	regs   []Reg
}

func (w *rewrite) change(f *Func) *change {
	c := w.changes[f]
	if c == nil {
		c = &change{before: map[int][]*Instr{}, gone: map[int]bool{}, swap: map[int]*Instr{}}
		w.changes[f] = c
	}
	return c
}

func (c *change) insert(at int, in ...*Instr) { c.before[at] = append(c.before[at], in...) }

// fresh declares registers that the function does not have, under names of their own.
func (c *change) fresh(f *Func, types []Type) error {
	for i, t := range types {
		if i < len(c.regs) {
			if c.regs[i].Type != t {
				return fmt.Errorf("fresh register %d of %s is %s and %s", i, f.Name, c.regs[i].Type, t)
			}
			continue
		}
		name := fmt.Sprintf("%%ts_fresh%d_", i)
		for slices.ContainsFunc(f.Decls, func(d *RegDecl) bool { return strings.HasPrefix(d.Name, name) }) {
			name += "_"
		}
		c.decls = append(c.decls, &RegDecl{Name: name, Type: t, Pos: f.Pos})
		c.regs = append(c.regs, Reg{Type: t, Num: -1, Decl: int32(i)})
	}
	return nil
}

// apply makes the new module.
func (w *rewrite) apply(m *Module) *Module {
	out := *m
	out.source = ""
	w.vars, w.funcs = map[*Var]*Var{}, map[*Func]*Func{}
	out.Vars = slices.Clone(m.Vars)
	for i, v := range out.Vars {
		out.Vars[i] = w.variable(v, nil)
	}
	out.Funcs = slices.Clone(m.Funcs)
	for i, f := range out.Funcs {
		out.Funcs[i] = w.header(f, &out)
	}
	for _, f := range m.Funcs {
		w.body(f)
	}
	out.Items = slices.Clone(m.Items)
	for i := range out.Items {
		it := &out.Items[i]
		if it.Var != nil {
			it.Var = w.vars[it.Var]
		}
		if it.Func != nil {
			it.Func = w.funcs[it.Func]
		}
	}
	return &out
}

// variable returns what stands for v in the new module: itself where nothing about it changes.
func (w *rewrite) variable(v *Var, owner *Func) *Var {
	n := v
	if data, ok := w.data[v]; ok || v.Func != owner {
		c := *v
		c.Func = owner
		if ok {
			c.Init = data
		}
		n = &c
	}
	w.vars[v] = n
	return n
}

// header copies a function but for its instructions: it belongs to another module.
func (w *rewrite) header(f *Func, m *Module) *Func {
	n := *f
	n.Module = m
	w.funcs[f] = &n
	for _, list := range []*[]*Var{&n.Params, &n.Return, &n.Vars} {
		*list = slices.Clone(*list)
		for i, v := range *list {
			(*list)[i] = w.variable(v, &n)
		}
	}
	return &n
}

// body fills in the instructions of the copy of f.
func (w *rewrite) body(f *Func) {
	n, c := w.funcs[f], w.changes[f]
	if c == nil {
		n.Body = slices.Clone(f.Body)
		for i, in := range n.Body {
			if names(in.Args) {
				cp := *in
				cp.Args = w.operands(in.Args, nil)
				n.Body[i] = &cp
			}
		}
		return
	}
	start := w.instructions(f, n, c)
	n.Labels = make(map[string]int, len(f.Labels))
	for name, at := range f.Labels {
		n.Labels[name] = int(start[at])
	}
	n.Decls = append(slices.Clone(f.Decls), c.decls...)
	n.Regs = append(slices.Clone(f.Regs), c.regs...)
	if len(c.decls) > 0 { // they are declared first
		n.Decls = append(slices.Clone(c.decls), f.Decls...)
		for i := range n.Regs {
			if i < len(f.Regs) {
				n.Regs[i].Decl += int32(len(c.decls))
			}
		}
	}
	n.items(f, c)
	n.renumber()
}

// names reports whether an operand refers to a variable or a function, which have new addresses in a copy.
func names(ops []Operand) bool {
	for i := range ops {
		if ops[i].Var != nil || ops[i].Func != nil || names(ops[i].Elems) {
			return true
		}
	}
	return false
}

// instructions fills n.Body from f's and returns, for every old index, where what stood there begins now.
func (w *rewrite) instructions(f, n *Func, c *change) []int32 {
	start := make([]int32, len(f.Body)+1)
	at := int32(0)
	for i := range f.Body {
		start[i] = at
		at += int32(len(c.before[i]))
		if !c.gone[i] {
			at++
		}
	}
	start[len(f.Body)] = at
	n.Body = make([]*Instr, 0, at)
	var labels []string // of what is gone, waiting for the next instruction
	put := func(in Instr, of *Instr) {
		in.Pos, in.Loc, in.Index = of.Pos, of.Loc, len(n.Body)
		in.Labels, labels = labels, nil
		n.Body = append(n.Body, &in)
	}
	for i, old := range f.Body {
		labels = append(labels, old.Labels...)
		for _, in := range c.before[i] {
			put(*in, old)
		}
		if c.gone[i] {
			continue
		}
		in := *old
		if s := c.swap[i]; s != nil {
			in = *s
		}
		in.Args = w.operands(in.Args, start)
		if in.Guard != nil {
			g := *in.Guard
			in.Guard = &g
		}
		put(in, old)
	}
	return start
}

// operands copies operands with everything that they refer to in its new place; start nil
// leaves branch targets.
func (w *rewrite) operands(ops []Operand, start []int32) []Operand {
	if ops == nil {
		return nil
	}
	out := slices.Clone(ops)
	for i := range out {
		op := &out[i]
		if op.Var != nil {
			if v := w.vars[op.Var]; v != nil {
				op.Var = v
			}
		}
		if op.Func != nil {
			if f := w.funcs[op.Func]; f != nil {
				op.Func = f
			}
		}
		if op.Kind == OpLabel && start != nil {
			op.Target = start[op.Target]
			op.Targets = slices.Clone(op.Targets)
			for j, t := range op.Targets {
				op.Targets[j] = start[t]
			}
		}
		op.Elems = w.operands(op.Elems, start)
	}
	return out
}

// items rebuilds n.Items from f's: what is inserted stands directly before the instruction, behind
// its labels and .loc.
func (n *Func) items(f *Func, c *change) {
	n.Items = make([]Item, 0, len(f.Items)+len(n.Body)-len(f.Body)+len(c.decls))
	for i, d := range c.decls {
		n.Items = append(n.Items, Item{Kind: ItemReg, Index: i, Pos: d.Pos})
	}
	next := 0
	instr := func() {
		n.Items = append(n.Items, Item{Kind: ItemInstr, Index: next, Pos: n.Body[next].Pos})
		next++
	}
	for _, it := range f.Items {
		switch it.Kind {
		case ItemReg:
			it.Index += len(c.decls)
		case ItemInstr:
			for range c.before[it.Index] {
				instr()
			}
			if !c.gone[it.Index] {
				instr()
			}
			continue
		}
		n.Items = append(n.Items, it)
	}
}

// renumber gives registers their indices in order of first appearance again. The function's
// operands are its own.
func (n *Func) renumber() {
	to := make([]int32, len(n.Regs))
	for i := range to {
		to[i] = -1
	}
	var regs []Reg
	use := func(r *int32) {
		if to[*r] < 0 {
			to[*r] = int32(len(regs))
			regs = append(regs, n.Regs[*r])
		}
		*r = to[*r]
	}
	var walk func(ops []Operand)
	walk = func(ops []Operand) {
		for i := range ops {
			if op := &ops[i]; op.Kind == OpReg || op.Kind == OpAddr && op.Base == BaseReg {
				use(&op.Reg)
			}
			walk(ops[i].Elems)
		}
	}
	for _, in := range n.Body {
		if in.Guard != nil {
			use(&in.Guard.Reg)
		}
		walk(in.Args)
	}
	n.Regs = regs
}
