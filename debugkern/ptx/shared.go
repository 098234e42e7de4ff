package ptx

// Symbol is a shared variable with its place in the block's shared memory.
type Symbol struct {
	*Var
	Addr    int  // byte address in the shared window
	Dynamic bool // `extern .shared x[]`: takes what the launch asks for; Size is 0
}

// SharedLayout places the shared variables that a launch of entry can touch: those declared in, or named
// by, the functions reachable from it. Addresses begin at 0. Static ones come in declaration order, each
// at its alignment; every dynamic one starts where they end, aligned to the largest alignment that any of
// them asks for (at least 16).
func (m *Module) SharedLayout(entry *Func) []Symbol {
	used := m.uses(entry)
	var syms []Symbol
	addr, dynAlign := 0, 16
	place := func(v *Var) {
		if v.Space != SpaceShared || !used[v] {
			return
		}
		if v.Dynamic() {
			dynAlign = max(dynAlign, v.Align)
			return
		}
		addr = alignUp(addr, v.Align)
		syms = append(syms, Symbol{Var: v, Addr: addr})
		addr += v.Size
	}
	all := m.sharedInOrder()
	for _, v := range all {
		place(v)
	}
	addr = alignUp(addr, dynAlign)
	for _, v := range all {
		if used[v] && v.Dynamic() {
			syms = append(syms, Symbol{Var: v, Addr: addr, Dynamic: true})
		}
	}
	return syms
}

// StaticShared is the number of bytes of static shared memory in a layout: where dynamic memory
// begins, if it has any.
func StaticShared(syms []Symbol) int {
	n := 0
	for _, s := range syms {
		n = max(n, s.Addr+s.Size)
	}
	return n
}

// Dynamic reports whether v is an unsized extern shared array.
func (v *Var) Dynamic() bool {
	return v.Space == SpaceShared && v.Size == 0 && len(v.Dims) > 0 && v.Dims[0] == 0
}

// sharedInOrder lists every shared variable of the module in the order of the text.
func (m *Module) sharedInOrder() []*Var {
	var vs []*Var
	for _, it := range m.Items {
		switch it.Kind {
		case TopVar:
			if it.Var.Space == SpaceShared {
				vs = append(vs, it.Var)
			}
		case TopFunc:
			for _, v := range it.Func.Vars {
				if v.Space == SpaceShared {
					vs = append(vs, v)
				}
			}
		}
	}
	return vs
}

// Uses reports whether functions reachable from entry name the module's variable v.
func (m *Module) Uses(entry *Func, v *Var) bool { return m.uses(entry)[v] }

// uses finds the variables that functions reachable from entry declare or name. An indirect call, or an
// address taken of a function, counts as a call.
func (m *Module) uses(entry *Func) map[*Var]bool {
	used, seen := map[*Var]bool{}, map[*Func]bool{}
	var visit func(f *Func)
	var walk func(ops []Operand)
	walk = func(ops []Operand) {
		for i := range ops {
			if v := ops[i].Var; v != nil {
				used[v] = true
			}
			if f := ops[i].Func; f != nil {
				visit(m.Definition(f))
			}
			walk(ops[i].Elems)
		}
	}
	visit = func(f *Func) {
		if seen[f] {
			return
		}
		seen[f] = true
		for _, v := range f.Vars {
			used[v] = true
		}
		for _, in := range f.Body {
			walk(in.Args)
		}
	}
	visit(entry)
	return used
}

// Definition returns the body that a call of f reaches: the definition of a prototype or alias, f
// where there is none.
func (m *Module) Definition(f *Func) *Func {
	if !f.Proto {
		return f
	}
	for _, a := range m.Aliases {
		if a.Name == f.Name {
			if d := m.Func(a.Target); d != nil {
				return d
			}
		}
	}
	if d := m.Func(f.Name); d != nil {
		return d
	}
	return f
}
