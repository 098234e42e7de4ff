package debugkern

import (
	"context"
	"fmt"
	"slices"

	"tilescope/debugkern/build"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
)

// What ptxas does otherwise than the PTX says (target.CompilerNote) is advice: no GPU executes the PTX.

// CompilerNotes compiles an entry with the session's ptxas and returns, as advice, what that says it does
// otherwise than the PTX: it serialises wgmma, inserts waits, or ignores setmaxnreg. loaded is the same
// kernel as a GPU loaded it, whose compiler is asked where no ptxas takes the PTX; nil for none. There is
// nothing to say, and nothing is compiled, where the module has neither wgmma nor setmaxnreg. The only error
// is that of a ctx that has ended.
func (s *Session) CompilerNotes(
	ctx context.Context, b *build.Build, entry string, loaded *target.Resources,
) ([]report.Finding, error) {
	if !slices.ContainsFunc(b.Module.Funcs, func(f *ptx.Func) bool {
		return slices.ContainsFunc(f.Body, multiplies) || slices.ContainsFunc(f.Body, setsRegisters)
	}) {
		return nil, nil
	}
	assembled := false
	tools, err := s.builder.Toolchain(ctx)
	if err == nil && tools.PTXAS != "" {
		if res, err := tools.Assemble(ctx, b.Text, entry, b.Module.Target); err == nil {
			assembled, loaded = true, res
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if loaded == nil || len(loaded.Notes) == 0 {
		return nil, nil
	}
	by := "the driver's compiler"
	if assembled {
		by = tools.Assembler(ctx)
	}
	var found []target.Finding
	for i := range loaded.Notes {
		n := loaded.Notes[i]
		if !assembled {
			n.Line = 0 // of the PTX as it was printed for the driver
		}
		found = append(found, noteFinding(&n, by, b.Module, entry))
	}
	return report.FindingsOf(found), nil
}

// noteFinding is a note as advice, at the instruction that it names, else at the first that it is about.
func noteFinding(n *target.CompilerNote, by string, m *ptx.Module, entry string) target.Finding {
	fn := m.Func(n.Function)
	if fn == nil {
		fn = m.Func(entry)
	}
	f := target.Finding{
		Kind: target.Wgmma, Severity: target.SeverityAdvice, KVTile: -1, Count: 1, Missing: n.Remedy(),
		Message: fmt.Sprintf("%s reports of %s: %s", by, fn.Demangled, n),
	}
	is := multiplies
	switch {
	case n.Line > 0:
		is = func(in *ptx.Instr) bool { return in.Pos.Line >= n.Line }
	case n.IgnoresRegisters():
		is = setsRegisters
	}
	if at := slices.IndexFunc(fn.Body, is); at >= 0 {
		f.Source = target.Blame(fn, at)
	}
	switch {
	case n.Repairs():
		f.Consequence = "the compiled code orders what the PTX leaves undefined: that a GPU's results are " +
			"right, or equal, does not show that the PTX is right"
	case n.Serializes():
		f.Consequence = "each product waits for the one before it"
	}
	return f
}

func multiplies(in *ptx.Instr) bool {
	return in.Kind() == isa.WgmmaMultiply || in.Kind() == isa.WgmmaSparse
}

func setsRegisters(in *ptx.Instr) bool { return in.Kind() == isa.SetRegisters }

// CompilerNotes returns what the compiler says of the run's build without probes, as Session.CompilerNotes
// does.
func (r *Run) CompilerNotes(ctx context.Context) ([]report.Finding, error) {
	st := r.state
	if st == nil {
		return nil, nil
	}
	b, err := st.session.builder.Kernel(ctx, st.r.sel, buildOptions(r.Request, false))
	if err != nil {
		return nil, failedBuild(err)
	}
	return st.session.CompilerNotes(ctx, b, st.r.plan.Entry, st.resources)
}
