package debugkern

import (
	"fmt"
	"slices"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// agree compares a module with the plan. PTX has symbols and byte sizes; the manifest has names,
// types and dimensions. What both have must be equal, parameters as agreeEntry compares them. It returns
// whether the entry takes the control block of a build with probes.
func agree(m *ptx.Module, p *probes.Plan) (instrumented bool, err error) {
	entry := m.Func(p.Entry)
	if entry == nil || !entry.Entry {
		return false, fmt.Errorf("%s: no entry %q (it has %s)", m.Name, p.Entry, entryNames(m))
	}
	instrumented = len(entry.Params) > len(p.Parameters())
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
					"%s: stage %s is captured with %s: {line: %d}, but no instruction of %s stems from that line%s%s",
					entry.Pos.File, p.Stages[i].Stage, at.field, at.line, p.Entry,
					nearestLine(lines, at.line), linesMoved)
			}
		}
		if err := agreeTileLine(entry, p, &p.Stages[i]); err != nil {
			return err
		}
	}
	return nil
}

// agreeTileLine refuses a tile_at outside every loop, and one in a loop that does not contain the capture's
// place: neither line is executed once a tile. An edit of the source moves lines away from a manifest's.
func agreeTileLine(entry *ptx.Func, p *probes.Plan, sp *probes.StagePlan) error {
	c := &sp.Capture
	if c.TileLine == 0 || !sp.PerTile || p.Work.MaxTiles < 2 {
		return nil
	}
	g := cfg.New(entry)
	loops := g.Loops()
	within := func(body map[int]bool, pcs []int) bool {
		return slices.ContainsFunc(pcs, func(pc int) bool { return body[g.Of[pc]] })
	}
	tile := target.InstrsOf(entry, func(_ *ptx.Instr, src *target.Source) bool {
		return src.Line == c.TileLine
	})
	at := target.InstrsOf(entry, func(in *ptx.Instr, src *target.Source) bool {
		k := in.Kind() // what is called may have the barrier
		return c.AtLine > 0 && src.Line == c.AtLine || c.AtBarrier > 0 && (k == isa.Barrier || k == isa.Call)
	})
	var inner map[int]bool // the innermost loop round the first instruction of the line that lies in one
	for _, pc := range tile {
		for _, body := range loops {
			if body[g.Of[pc]] && (inner == nil || len(body) < len(inner)) {
				inner = body
			}
		}
		if inner != nil {
			break
		}
	}
	if inner != nil && (within(inner, at) || len(at) == 0) {
		return nil
	}
	where := fmt.Sprintf("at: {line: %d}", c.AtLine)
	if c.AtBarrier > 0 {
		where = "a barrier"
	}
	why := fmt.Sprintf("lies in no loop, and the %s loop has several tiles", p.Work.LoopName())
	if inner != nil {
		why = "lies in a loop that does not pass " + where
	}
	once := ""
	if list := onceIn(entry, g, loops, at); len(list) > 0 {
		once = fmt.Sprintf(" (%s)", text.Spans(list))
	}
	return fmt.Errorf("%s: stage %s is captured with tile_at: {line: %d}, which %s: name a line that the loop "+
		"passes once a tile%s%s", entry.Pos.File, sp.Stage, c.TileLine, why, once, linesMoved)
}

// linesMoved ends a message on a line of the manifest at which nothing can be captured.
const linesMoved = "; where the source was edited since, the manifest's lines have moved"

// onceIn lists the lines whose instructions lie in the largest loop that contains one of the instructions at,
// and in no loop inside it.
func onceIn(entry *ptx.Func, g *cfg.Graph, loops map[int]map[int]bool, at []int) []int {
	var outer map[int]bool
	for _, body := range loops {
		if slices.ContainsFunc(at, func(pc int) bool { return body[g.Of[pc]] }) && len(body) > len(outer) {
			outer = body
		}
	}
	lines := map[int]bool{} // of what lies in the loop: whether all of it lies in no loop within
	for pc := range entry.Body {
		src, loc := target.Blame(entry, pc), entry.Body[pc].Loc
		if src == nil || !outer[g.Of[pc]] || loc == nil || loc.InlinedAt != nil {
			continue
		}
		deeper := false
		for _, body := range loops {
			deeper = deeper || body[g.Of[pc]] && len(body) < len(outer)
		}
		if once, seen := lines[src.Line]; !seen || once {
			lines[src.Line] = !deeper
		}
	}
	var out []int
	for line, once := range lines {
		if once {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
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
