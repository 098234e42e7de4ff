package ptx

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"tilescope/debugkern/isa"
)

// EditKind says what an Edit does.
type EditKind uint8

// Edits of synchronisation, of constants and of time.
const (
	InsertBarrier  EditKind = iota // bar.sync 0 before instruction At
	InsertWarpSync                 // bar.warp.sync 0xffffffff before At
	InsertWaitAll                  // cp.async.wait_all before At
	InsertDelay                    // nanosleep.u32 N before At
	Remove                         // instruction At is gone
	SetWait                        // cp.async.wait_group (or wait_all) At waits for all but N groups
	SetData                        // variable Var starts with Data
	Replace                        // New is executed in the place of instruction At
	Insert                         // New is executed before instruction At
)

func (k EditKind) String() string {
	names := [...]string{
		"insert bar.sync", "insert bar.warp.sync", "insert cp.async.wait_all", "insert nanosleep", "remove",
		"set wait", "set data", "replace", "insert",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("edit kind %d", k)
}

// Edit is one virtual change to a module: what a what-if, a mutant or a perturbation applies to the
// parsed PTX, with no compiler in between. At indexes Func.Body of the unedited function, so that several
// edits can be given together.
type Edit struct {
	Kind EditKind
	Func string // entry or function; "" for SetData
	At   int
	N    uint64
	Var  string // SetData: name as in the PTX
	Data []byte // SetData: as many bytes as the variable has
	New  *Instr // Replace, Insert: over the function's registers; see Instr.With
	// Fresh are types of registers that New has beyond the function's: they follow those in number, from
	// len(Func.Regs) on. Edits of one function that are given together share them.
	Fresh []Type
}

// Edited returns a copy of m with edits applied; m is unchanged, and what no edit touches is shared with
// it. Inserted instructions take the Loc of instruction At, and a label in front of At stays in front of
// what is inserted; several insertions at one place stand in the order given. Labels of a removed
// instruction pass to the next. An edit that does not fit (no such function, index out of range, not a
// wait, wrong size) is an error.
func (m *Module) Edited(edits []Edit) (*Module, error) {
	if len(edits) == 0 {
		return m, nil
	}
	w := &rewrite{changes: map[*Func]*change{}, data: map[*Var][]byte{}}
	for _, e := range edits {
		if err := w.add(m, e); err != nil {
			return nil, fmt.Errorf("edit %s: %s: %w", m.Name, e.Kind, err)
		}
	}
	return w.apply(m), nil
}

// add notes one edit, after checking that it fits.
func (w *rewrite) add(m *Module, e Edit) error {
	if e.Kind == SetData {
		return w.setData(m, e)
	}
	f := m.Func(e.Func)
	if f == nil || f.Proto {
		return fmt.Errorf("no function %q with a body", e.Func)
	}
	if e.At < 0 || e.At >= len(f.Body) {
		return fmt.Errorf("%s has instructions 0 to %d, not %d", f.Name, len(f.Body)-1, e.At)
	}
	c := w.change(f)
	at := f.Body[e.At]
	switch e.Kind {
	case InsertBarrier:
		c.insert(e.At, &Instr{Op: "bar", Mods: []string{"sync"}, Args: []Operand{integer(0)}})
	case InsertWarpSync:
		// −1, as compilers write it
		c.insert(e.At, &Instr{
			Op: "bar", Mods: []string{"warp", "sync"}, Args: []Operand{integer(^uint64(0))},
		})
	case InsertWaitAll:
		c.insert(e.At, &Instr{Op: "cp", Mods: []string{"async", "wait_all"}})
	case InsertDelay:
		if e.N > maxDelay {
			return fmt.Errorf("%d ns: a thread sleeps at most %d (ISA 9.7.13, nanosleep)", e.N,
				uint64(maxDelay))
		}
		c.insert(e.At, &Instr{Op: "nanosleep", Mods: []string{"u32"}, Args: []Operand{integer(e.N)}})
	case Remove:
		c.gone[e.At] = true
	case SetWait:
		if !at.asyncWait() {
			return fmt.Errorf("instruction %d of %s is %s, not a wait for cp.async", e.At,
				f.Name, at.Opcode())
		}
		if e.N > 1<<31-1 {
			return fmt.Errorf("%d groups: out of range", e.N)
		}
		n := *at
		n.Mods, n.Args, n.form = []string{"async", "wait_group"}, []Operand{integer(e.N)}, nil
		c.swap[e.At] = &n
	case Replace, Insert:
		if err := c.fresh(f, e.Fresh); err != nil {
			return err
		}
		if e.New == nil || !f.holds(e.New, len(c.regs)) {
			return fmt.Errorf(
				"instruction %d of %s: the new one names registers that the function does not have",
				e.At, f.Name)
		}
		own := e.New.With(func(*Instr) {}) // its registers get other numbers
		if e.Kind == Insert {
			c.insert(e.At, own)
			break
		}
		c.swap[e.At] = own
	default:
		return fmt.Errorf("unknown kind")
	}
	return nil
}

// holds reports whether the function, with some fresh registers, has all that an instruction names.
func (f *Func) holds(in *Instr, fresh int) bool {
	var regs []int32
	for i := range in.Args {
		regs = in.Args[i].Registers(regs)
	}
	if in.Guard != nil {
		regs = append(regs, in.Guard.Reg)
	}
	for _, r := range regs {
		if r < 0 || int(r) >= len(f.Regs)+fresh {
			return false
		}
	}
	return true
}

// With returns a copy of the instruction as change leaves it; what it shares with the
// instruction is never changed.
func (in *Instr) With(change func(*Instr)) *Instr {
	out := *in
	out.Mods, out.Args, out.form = slices.Clone(in.Mods), cloneOperands(in.Args), nil
	if in.Guard != nil {
		g := *in.Guard
		out.Guard = &g
	}
	change(&out)
	return &out
}

func cloneOperands(ops []Operand) []Operand {
	out := slices.Clone(ops)
	for i := range out {
		out[i].Elems = cloneOperands(out[i].Elems)
	}
	return out
}

// maxDelay is the longest sleep that nanosleep takes, in nanoseconds.
const maxDelay = 1_000_000

// setData notes new initial data, after checking that the variable can have it.
func (w *rewrite) setData(m *Module, e Edit) error {
	v := m.variable(e.Var)
	switch {
	case v == nil:
		return fmt.Errorf("no variable %q", e.Var)
	case v.Space != SpaceGlobal && v.Space != SpaceConst:
		return fmt.Errorf("%s lies in .%s, which has no initial data", v.Name, v.Space)
	case v.Linkage == LinkExtern:
		return fmt.Errorf("%s is defined elsewhere", v.Name)
	case len(v.Relocs) > 0:
		return fmt.Errorf("%s holds addresses", v.Name)
	case len(e.Data) != v.Size:
		return fmt.Errorf("%s has %d bytes, not %d", v.Name, v.Size, len(e.Data))
	}
	w.data[v] = bytes.Clone(e.Data)
	return nil
}

// variable finds a variable that may have initial data: of the module, or declared in a function's body.
func (m *Module) variable(name string) *Var {
	if v := m.Var(name); v != nil {
		return v
	}
	for _, f := range m.Funcs {
		for _, v := range f.Vars {
			if v.Name == name {
				return v
			}
		}
	}
	return nil
}

// RegisterOf is an operand that is a register, by its index in Func.Regs.
func RegisterOf(r int32) Operand { return Operand{Kind: OpReg, Reg: r, Comp: -1} }

// IntegerOf is an operand that is an integer; a negative one is in two's complement.
func IntegerOf(v int64) Operand { return integer(uint64(v)) }

// FloatOf is an operand that is a number of type f32.
func FloatOf(x float32) Operand {
	return Operand{Kind: OpF32, Imm: uint64(math.Float32bits(x)), Reg: -1, Comp: -1}
}

func integer(v uint64) Operand { return Operand{Kind: OpInt, Imm: v, Reg: -1, Comp: -1} }

// asyncWait reports whether in waits for groups of cp.async.
func (in *Instr) asyncWait() bool { return in.Kind() == isa.WaitAsync }

// Syncs lists the body indices of the instructions that f's threads synchronise by: block barriers,
// warp barriers, waits for cp.async. Those that come from a file that skip claims (a probe's) are
// left out; skip may be nil.
func (f *Func) Syncs(skip func(file string) bool) []int {
	var at []int
	for i, in := range f.Body {
		if in.syncs() && !in.Loc.Within(skip) {
			at = append(at, i)
		}
	}
	return at
}

// syncs reports whether the instruction is one of those that Syncs lists.
func (in *Instr) syncs() bool {
	switch in.Kind() {
	case isa.WaitAsync, isa.Barrier, isa.WarpBarrier:
		return true
	}
	return false
}

// Within reports whether the place, or one that it was inlined into, lies in a file that is claims.
func (l *Loc) Within(is func(file string) bool) bool {
	for ; l != nil && is != nil; l = l.InlinedAt {
		if is(l.Name) {
			return true
		}
	}
	return false
}
