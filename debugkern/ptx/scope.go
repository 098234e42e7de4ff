package ptx

// symbol is what a name in a scope stands for: one of its members is set.
type symbol struct {
	reg  *regRange
	vr   *Var
	fn   *Func
	list *branchList
	set  bool
	decl Pos
}

// branchList is a .branchtargets list, and the operands that name it.
type branchList struct {
	labels []*Operand
	users  []*Operand
}

// regRange is a register declaration and the dense indices given to those of its registers
// that were used, plus 1.
type regRange struct {
	decl  int32
	count int
	dense []int32
}

// scope is one level of { }: names declared in it hide those outside.
type scope struct {
	up      *scope
	names   map[string]symbol
	counted map[string]*regRange // by prefix: `%r<100>` under "%r"
	labels  map[string]int32
	pending []pendingLabel
}

// pendingLabel is an operand naming what was not declared when it was read: a label of this or an outer
// scope, or a function declared later. The operand lives in its instruction's Args.
type pendingLabel struct {
	op     *Operand
	branch bool // in a place where only a label can stand
}

func (s *scope) declare(name string, sym symbol) (Pos, bool) {
	if s.names == nil {
		s.names = map[string]symbol{}
	}
	if old, dup := s.names[name]; dup {
		return old.decl, false
	}
	sym.set = true
	s.names[name] = sym
	return Pos{}, true
}

// lookup finds name in s or around it.
func (s *scope) lookup(name string) symbol {
	for ; s != nil; s = s.up {
		if sym, ok := s.names[name]; ok {
			return sym
		}
	}
	return symbol{}
}

// register finds the register called name and its number within its declaration (-1 for a plain one).
// Registers hide variables of outer scopes and the other way round, so the search goes outwards through both.
func (s *scope) register(name string) (r *regRange, num int, sym symbol) {
	digits := len(name)
	for digits > 0 && class[name[digits-1]]&clsDigit != 0 {
		digits--
	}
	for ; s != nil; s = s.up {
		if sym, ok := s.names[name]; ok {
			return sym.reg, -1, sym
		}
		if s.counted == nil {
			continue
		}
		num, scale := 0, 1
		for i := len(name) - 1; i >= digits && len(name)-i <= 7; i-- {
			num += int(name[i]-'0') * scale
			scale *= 10
			if name[i] == '0' && i != len(name)-1 {
				continue // no register is written with a leading zero
			}
			if r := s.counted[name[:i]]; r != nil && num < r.count {
				return r, num, symbol{set: true}
			}
		}
	}
	return nil, -1, symbol{}
}

// specialNames are the special registers of ISA section 10 and, at true, those with components.
var specialNames = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range []string{
		"%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid",
		"%cluster_nctaid",
	} {
		m[n] = true
	}
	for _, n := range []string{
		"%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%is_explicit_cluster",
		"%cluster_ctarank", "%cluster_nctarank", "%lanemask_eq", "%lanemask_le", "%lanemask_lt",
		"%lanemask_ge",
		"%lanemask_gt", "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo",
		"%globaltimer_hi",
		"%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap",
		"%reserved_smem_offset_0", "%reserved_smem_offset_1", "%total_smem_size", "%aggr_smem_size",
		"%dynamic_smem_size", "%current_graph_exec", "WARP_SZ",
	} {
		m[n] = false
	}
	for i := range 8 {
		m["%pm"+string(rune('0'+i))] = false
		m["%pm"+string(rune('0'+i))+"_64"] = false
	}
	for i := range 32 {
		n := "%envreg"
		if i >= 10 {
			n += string(rune('0' + i/10))
		}
		m[n+string(rune('0'+i%10))] = false
	}
	return m
}()
