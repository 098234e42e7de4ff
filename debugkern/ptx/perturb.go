package ptx

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"tilescope/debugkern/isa"
)

// Perturbed returns a copy of m in which the warps of an entry sleep for a while in front of shared-memory
// accesses and synchronisations, each warp for another while at each place, as seed says; and the number of
// places. What is computed without a race stays what it is: sleeping orders nothing and no lane leaves its
// warp. Needs sm_70 and PTX ISA 6.3 (ISA 9.7.13, nanosleep).
func Perturbed(m *Module, entry string, seed uint64) (*Module, int, error) {
	f := m.Func(entry)
	if f == nil || !f.Entry || f.Proto {
		return nil, 0, fmt.Errorf("perturb %s: no entry %q", m.Name, entry)
	}
	if err := m.canSleep(); err != nil {
		return nil, 0, fmt.Errorf("perturb %s: %w", m.Name, err)
	}
	w := &rewrite{changes: map[*Func]*change{}}
	c := w.change(f)
	s := sleeper{
		change: c, rng: rand.New(rand.NewPCG(seed, 0x7065_7274_7572_6265)), first: int32(len(f.Regs)),
	}
	s.declare(f)
	s.prologue()
	points := 0
	together := f.together()
	for i, in := range f.Body {
		if together[i] || !in.perturbable() {
			continue
		}
		points++
		s.sleep(i)
	}
	return w.apply(m), points, nil
}

// canSleep refuses modules for devices without nanosleep.
func (m *Module) canSleep() error {
	if v := m.Version; v.Major < 6 || v.Major == 6 && v.Minor < 3 {
		return fmt.Errorf("PTX ISA %d.%d has no nanosleep (6.3 has)", v.Major, v.Minor)
	}
	digits := strings.TrimRight(strings.TrimPrefix(m.Target, "sm_"), "abcdefghijklmnopqrstuvwxyz")
	if sm, err := strconv.Atoi(digits); err != nil || sm < 70 {
		return fmt.Errorf("target %s has no nanosleep (sm_70 has)", m.Target)
	}
	return nil
}

// perturbable reports whether a race or a missing wait could show at the instruction.
func (in *Instr) perturbable() bool {
	switch k := in.Kind(); {
	case k.OfWarp(), k.AtBarrier(), k.Async(), k == isa.MBarrier, k == isa.Fence:
		return true
	case k.Reads(), k.Writes():
		return in.Space() == SpaceShared || in.Space() == SpaceGeneric
	}
	return false
}

// together marks the instructions that nothing may be put in front of: inside inline assembly, and from the
// first argument of a call to its last result (ISA 9.7.12, call: stores of arguments directly before, loads
// of results directly after).
func (f *Func) together() []bool {
	glued := make([]bool, len(f.Body))
	param := func(i int, k isa.Kind) bool {
		in := f.Body[i]
		return in.Kind() == k && in.Space() == SpaceParam && len(in.Args) == 2 && !f.isParam(in)
	}
	for i, in := range f.Body {
		if i > 0 && in.Asm && f.Body[i-1].Asm {
			glued[i] = true
		}
		if in.Kind() != isa.Call {
			continue
		}
		for j := i; j > 0 && param(j-1, isa.Store); j-- {
			glued[j] = true
		}
		for j := i + 1; j < len(f.Body) && param(j, isa.Load); j++ {
			glued[j] = true
		}
	}
	return glued
}

// isParam reports whether an access to .param memory is one to the function's own parameters.
func (f *Func) isParam(in *Instr) bool {
	for i := range in.Args {
		for _, p := range f.Params {
			if in.Args[i].Var == p {
				return true
			}
		}
	}
	return false
}

// sleeper makes the instructions of a perturbation. Register 0 of its own is the warp's number, unique in the
// grid but for very large ones; the others are scratch.
type sleeper struct {
	*change
	rng   *rand.Rand
	first int32 // its register 0 in Func.Regs
}

const sleeperRegs = 5

// declare adds the registers, under a name that the function does not have.
func (s *sleeper) declare(f *Func) {
	name := "%ts_delay"
	for taken := true; taken; {
		taken = false
		for _, d := range f.Decls {
			if strings.HasPrefix(d.Name, name) {
				name, taken = name+"_", true
			}
		}
	}
	s.decls = []*RegDecl{{Name: name, Type: B32, Count: sleeperRegs, Pos: f.Pos}}
	for i := range sleeperRegs {
		s.regs = append(s.regs, Reg{Type: B32, Num: int32(i)})
	}
}

func (s *sleeper) reg(i int32) Operand { return RegisterOf(s.first + i) }

func special(name string, comp int8) Operand {
	return Operand{Kind: OpSpecial, Name: name, Comp: comp, Reg: -1}
}

// prologue computes the warp's number: thread ((z·ny + y)·nx + x) / 32, and blocks far apart.
func (s *sleeper) prologue() {
	mov := func(r int32, from Operand) *Instr {
		return &Instr{Op: "mov", Mods: []string{"u32"}, Args: []Operand{s.reg(r), from}}
	}
	mad := func(d, a int32, b, c Operand) *Instr {
		return &Instr{Op: "mad", Mods: []string{"lo", "u32"}, Args: []Operand{s.reg(d), s.reg(a), b, c}}
	}
	s.insert(0,
		mov(0, special("%tid", 2)), mov(1, special("%ntid", 1)), mov(2, special("%tid", 1)),
		mad(0, 0, s.reg(1), s.reg(2)),
		mov(1, special("%ntid", 0)), mov(2, special("%tid", 0)), mad(0, 0, s.reg(1), s.reg(2)),
		&Instr{Op: "shr", Mods: []string{"u32"}, Args: []Operand{s.reg(0), s.reg(0), integer(5)}},
		mov(1, special("%ctaid", 0)), mad(0, 1, integer(64), s.reg(0)),
		mov(1, special("%ctaid", 1)), mad(0, 1, integer(8192), s.reg(0)),
	)
}

// shifts turn 32 random bits into nanoseconds: below 2^(32-shift). Long sleeps let one warp fall far behind,
// short ones move neighbours past each other.
var shifts = [...]uint64{26, 24, 22, 20}

// sleep puts a delay in front of a body index: the high bits of warp · odd + offset, spread evenly over any
// few warps. One place in five has none.
func (s *sleeper) sleep(at int) {
	mul, add := uint64(s.rng.Uint32()|1), uint64(s.rng.Uint32())
	k := s.rng.IntN(len(shifts) + 1)
	if k == len(shifts) {
		return
	}
	s.insert(at,
		&Instr{
			Op: "mad", Mods: []string{"lo", "u32"},
			Args: []Operand{s.reg(3), s.reg(0), integer(mul), integer(add)},
		},
		&Instr{Op: "shr", Mods: []string{"u32"}, Args: []Operand{s.reg(4), s.reg(3), integer(shifts[k])}},
		&Instr{Op: "nanosleep", Mods: []string{"u32"}, Args: []Operand{s.reg(4)}},
	)
}
