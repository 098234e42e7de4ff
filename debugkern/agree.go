package debugkern

import (
	"fmt"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// agree compares a module with the plan. PTX has symbols and byte sizes; the manifest has names,
// types and dimensions. What both have must be equal. It returns whether the entry takes the control
// block of a build with probes.
func agree(m *ptx.Module, p *probes.Plan) (instrumented bool, err error) {
	entry := m.Func(p.Entry)
	if entry == nil || !entry.Entry {
		return false, fmt.Errorf("%s: no entry %q (it has %s)", m.Name, p.Entry, entryNames(m))
	}
	args := p.Parameters()
	switch len(entry.Params) {
	case len(args):
	case len(args) + 1:
		if last := entry.Params[len(args)]; last.Size != 8 {
			return false,
				fmt.Errorf("%s: entry %s has one parameter more than the manifest's %d args, and it is no pointer to a control block",
					position(entry.Pos), p.Entry, len(args))
		}
		instrumented = true
	default:
		return false, fmt.Errorf("%s: entry %s takes %d parameters, the manifest lists %d args",
			position(entry.Pos), p.Entry, len(entry.Params), len(args))
	}
	for i, a := range args {
		want := a.Bytes(m.AddressSize / 8)
		if got := entry.Params[i].Size; got != want {
			return false, fmt.Errorf("%s: parameter %d has %d bytes, the manifest's arg %s has %d",
				position(entry.Params[i].Pos), i, got, a.Name, want)
		}
	}
	if err := agreeShared(m, entry, p); err != nil {
		return false, err
	}
	if err := agreeLines(entry, p); err != nil {
		return false, err
	}
	return instrumented, agreeRegisters(entry, p)
}

// agreeRegisters refuses a capture of registers at instructions that the entry does not have, or with
// cells outside the tile.
func agreeRegisters(entry *ptx.Func, p *probes.Plan) error {
	for i := range p.Stages {
		sp := &p.Stages[i]
		if sp.Capture.Kind != probes.CaptureRegister {
			continue
		}
		g := target.Gather{Plan: sp}
		if _, err := g.Points(entry, p.Block.Count()); err != nil {
			return err
		}
		if _, err := g.Begins(entry); err != nil {
			return err
		}
	}
	return nil
}

// agreeLines refuses a capture at a line that no instruction stems from: it would never happen.
func agreeLines(entry *ptx.Func, p *probes.Plan) error {
	var lines map[int]bool
	for i := range p.Stages {
		c := p.Stages[i].Capture
		if c.Kind != probes.CaptureShared {
			continue
		}
		if lines == nil {
			lines = sourceLines(entry)
		}
		for _, at := range []struct {
			field string
			line  int
		}{{"at", c.AtLine}, {"tile_at", c.TileLine}} {
			if at.line > 0 && !lines[at.line] {
				return fmt.Errorf(
					"%s: stage %s is captured with %s: {line: %d}, but no instruction of %s stems from that line%s",
					entry.Pos.File, p.Stages[i].Stage, at.field, at.line, p.Entry,
					nearestLine(lines, at.line))
			}
		}
	}
	return nil
}

// sourceLines is every line of the CUDA source that an instruction, or a call it was inlined
// through, stems from.
func sourceLines(entry *ptx.Func) map[int]bool {
	lines := map[int]bool{}
	for _, in := range entry.Body {
		for l := in.Loc; l != nil; l = l.InlinedAt {
			lines[l.Line] = true
		}
	}
	delete(lines, 0)
	return lines
}

func nearestLine(lines map[int]bool, line int) string {
	if len(lines) == 0 {
		return ": the PTX has no debug lines (compile with -lineinfo)"
	}
	best := 0
	for l := range lines {
		if d, b := abs(l-line), abs(best-line); best == 0 || d < b || d == b && l < best {
			best = l
		}
	}
	return fmt.Sprintf("; the nearest is %d", best)
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

// agreeShared compares sizes of the shared arrays that both know. An array of the manifest that the compiler
// left out (nothing uses it in this build) is no disagreement; one that the manifest does not name is only
// unnamed. The dynamic one has the size that the launch gives it.
func agreeShared(m *ptx.Module, entry *ptx.Func, p *probes.Plan) error {
	for _, sym := range m.SharedLayout(entry) {
		for _, a := range p.Shared {
			switch {
			case a.Within != "" || a.Name != sym.Demangled:
			case sym.Var.Dynamic() && a.Bytes > p.DynShared:
				return fmt.Errorf(
					"%s: shared array %s is the launch's dynamic shared memory, %d bytes, %s%v in the manifest has %d",
					position(sym.Var.Pos), a.Name, p.DynShared, a.DType, a.Dims, a.Bytes)
			case !sym.Var.Dynamic() && a.Bytes != sym.Size:
				return fmt.Errorf("%s: shared array %s has %d bytes in the PTX, %s%v in the manifest has %d",
					position(sym.Var.Pos), a.Name, sym.Size, a.DType, a.Dims, a.Bytes)
			}
		}
	}
	return nil
}

func entryNames(m *ptx.Module) string {
	names := "none"
	for i, e := range m.Entries() {
		if i == 0 {
			names = e.Name
		} else {
			names += ", " + e.Name
		}
	}
	return names
}

func position(p ptx.Pos) string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }
