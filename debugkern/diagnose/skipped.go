package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/check"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Threads that a barrier of the block should order have to come to it equally often. Where a branch leads
// some warps past it, those that did come meet at one of its later executions, or when the others have left.
// The trial has one barrier in its place, where the branches meet.

// meetings counts how often each warp of a block comes to each barrier of all its threads.
type meetings struct {
	fn    *ptx.Func
	times map[int]*[32]int // by instruction
}

// Event implements target.Observer.
func (m *meetings) Event(e *target.Event) {
	if e.Class != target.ClassBarrier || e.Func != m.fn || e.Instr == nil || e.Warp >= 32 ||
		!ofBlock(e.Instr) {
		return
	}
	n := m.times[e.Instr.Index]
	if n == nil {
		n = &[32]int{}
		m.times[e.Instr.Index] = n
	}
	n[e.Warp]++
}

// ofBlock reports whether an instruction is a barrier of all threads of the block, and not of a probe.
func ofBlock(in *ptx.Instr) bool {
	return in.Kind() == isa.Barrier && len(in.Args) == 1 && !fromProbe(in.Loc)
}

// skipped is a barrier that some warps of a block come to less often than others.
type skipped struct {
	at     *report.Source
	block  probes.Dim3
	copies []int // its instructions
	times  []int // by warp
	branch *report.Source
}

// skip looks for barriers that some warps of a race's block go past, and tries one behind what they skip.
func (q *inquiry) skip(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || s.cause.Kind != "race" || s.cause.Finding < 0 ||
		!slices.ContainsFunc(fn.Body, ofBlock) {
		return nil
	}
	block := q.doc.Findings[s.cause.Finding].Block
	m := &meetings{times: map[int]*[32]int{}}
	a, err := q.run.Attempt(q.ctx, debugkern.Trial{Blocks: []probes.Dim3{block}})
	if err != nil {
		return q.fatal(err)
	}
	m.fn = a.Entry()
	if _, err := a.Play(q.ctx, block, m); err != nil {
		return q.fatal(err)
	}
	for _, x := range m.skipped(fn, (q.run.Plan.Block.Count()+31)/32) {
		r := x.moved(fn)
		if r == nil {
			continue
		}
		if ok, err := q.adopt(s, r); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		x.block, s.skipped = block, x
		st, err := scene.Stand(q.ctx, q.run, block)
		if err != nil {
			return q.fatal(err)
		}
		x.separate(fn, st)
		return nil
	}
	return nil
}

// skipped lists the lines with a barrier that some warps come to less often than others, where the barriers
// of all lines together do not make that up.
func (m *meetings) skipped(fn *ptx.Func, warps int) []*skipped {
	var out []*skipped
	total := make([]int, warps)
	for i := range fn.Body {
		n := m.times[i]
		if n == nil {
			continue
		}
		at := inKernel(fn, i)
		k := slices.IndexFunc(out, func(x *skipped) bool { return x.at.At() == at.At() })
		if k < 0 {
			k = len(out)
			out = append(out, &skipped{at: at, times: make([]int, warps)})
		}
		out[k].copies = append(out[k].copies, i)
		for w := range warps {
			out[k].times[w] += n[w]
			total[w] += n[w]
		}
	}
	if even(total) {
		return nil
	}
	return slices.DeleteFunc(out, func(x *skipped) bool { return even(x.times) })
}

// even reports whether all numbers are the same.
func even(list []int) bool { return len(list) == 0 || slices.Min(list) == slices.Max(list) }

// moved puts one barrier where all ways from the barrier's copies, and from what decides about them, meet;
// nil where not all threads come there together.
func (x *skipped) moved(fn *ptx.Func) *remedy {
	g := cfg.New(fn)
	after := g.Postdominators()
	to := -1
	for b := range g.Succ {
		meets := !slices.ContainsFunc(x.copies, func(i int) bool {
			return b == g.Of[i] || !after[g.Of[i]][b]
		})
		if meets && after[0][b] && g.Start[b] > x.copies[len(x.copies)-1] {
			to = g.Start[b]
			break
		}
	}
	if to < 0 {
		return nil
	}
	edits := []ptx.Edit{{Kind: ptx.InsertBarrier, Func: fn.Name, At: to}}
	if !check.UniformityOf(fn).Allows(edits[0]) {
		return nil
	}
	for _, i := range x.copies {
		edits = append(edits, ptx.Edit{Kind: ptx.Remove, Func: fn.Name, At: i})
	}
	where := "behind what some warps skip"
	for i := to; i < g.Start[g.Of[to]+1]; i++ {
		if at := inKernel(fn, i); at != nil && at.File == x.at.File && at.Line > x.at.Line {
			where = fmt.Sprintf("before line %d", at.Line)
			break
		}
	}
	what := fmt.Sprintf("the barrier of line %d", x.at.Line)
	return &remedy{
		text: fmt.Sprintf("with %s moved %s", what, where), at: x.at,
		advice: fmt.Sprintf("move %s %s, where all warps come equally often", what, where),
		edits:  func(*debugkern.Run) []ptx.Edit { return edits },
	}
}

// separate finds the branch by which warps that never come to a copy of the barrier go past it.
func (x *skipped) separate(fn *ptx.Func, st *scene.Standing) {
	var come, away uint32
	for w, n := range x.times {
		if n == 0 {
			away |= 1 << w
		} else if n == slices.Max(x.times) {
			come |= 1 << w
		}
	}
	lane := func(warp int) (int, int) { return warp, 0 }
	for _, i := range x.copies {
		if b, _ := separating(fn, i, st, come, away, lane); come != 0 && away != 0 && b >= 0 {
			x.branch = blame(fn, b)
			return
		}
	}
}

// describe says how often each warp comes to the barrier, and which branch leads past it.
func (x *skipped) describe(q *inquiry, c *Cause) {
	var parts []string
	for _, n := range slices.Backward(slices.Compact(slices.Sorted(slices.Values(x.times)))) {
		var set uint32
		for w, times := range x.times {
			if times == n {
				set |= 1 << w
			}
		}
		times := "not at all"
		if n > 0 {
			times = timesText(n)
		}
		parts = append(parts, members("warp", set)+" "+times)
	}
	c.why = fmt.Sprintf("in block %s the warps do not come equally often to the barrier at %s: %s", x.block,
		x.at.At(), strings.Join(parts, ", "))
	if x.branch != nil {
		at := x.branch.Outermost()
		c.why += fmt.Sprintf("; the branch at %s leads past it", lineText(&at, x.at))
		c.why = q.citing(c.why, ", ", &at)
	}
}
