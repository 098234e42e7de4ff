package diagnose

import (
	"fmt"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
)

// An mbarrier that counts one arrival of each warp gets one of each lane, where the condition lacks that has
// one lane arrive: a single instruction of a warp then ends several phases, and those who wait for them by
// parity pass too early, or never. The trial has the first lane of each warp arrive alone.

// warpwide is a line at which all lanes of a warp arrive, and end more than one phase.
type warpwide struct {
	name     string // of the mbarrier
	expected int    // arrivals in a phase
	lanes    int    // that arrive at once
	phases   int    // that they end, the one that they begin in counted too
	at       *report.Source
	instr    []int // of the line, in the entry's body
}

// oneLaneArrives looks for lines at which more lanes of a warp arrive than a phase counts, and tries what it
// is like when one of them does.
func (q *inquiry) oneLaneArrives(s *suspect) error {
	t, err := q.arrivalsOf(s)
	if err != nil || t == nil {
		return err
	}
	fn := q.run.Entry()
	for _, w := range warpwideIn(t, fn) {
		if ok, err := q.adopt(s, w.ofOneLane(fn)); err != nil {
			return err
		} else if ok {
			s.warpwide = w
			return nil
		}
	}
	return nil
}

// warpwideIn lists the lines at which one instruction of a warp ends more than one phase of an mbarrier,
// each with the first mbarrier at which it does.
func warpwideIn(t *walk.Timeline, fn *ptx.Func) (out []*warpwide) {
	for i := range t.MBarriers {
		m := &t.MBarriers[i]
		for from := 0; from < len(m.Arrivals); {
			a, to := &m.Arrivals[from], from
			for to < len(m.Arrivals) && m.Arrivals[to].Step == a.Step && m.Arrivals[to].PC == a.PC &&
				m.Arrivals[to].Warp == a.Warp {
				to++
			}
			last := &m.Arrivals[to-1]
			w := &warpwide{
				name: m.Name, lanes: to - from, phases: int(last.Number-a.Number) + 1,
				at: report.SourceOf(a.Source),
			}
			from = to
			if a.Promise || w.phases < 2 || w.at == nil ||
				a.PC >= len(fn.Body) || fn.Body[a.PC].Guard != nil ||
				slices.ContainsFunc(out, func(o *warpwide) bool { return *o.at == *w.at }) {
				continue
			}
			w.expected = expectedOf(t, m.Addr)
			w.instr = arrivingAt(t, w.at)
			out = append(out, w)
		}
	}
	return out
}

// arrivingAt lists the instructions of a line that arrive at mbarriers.
func arrivingAt(t *walk.Timeline, at *report.Source) (instr []int) {
	for i := range t.MBarriers {
		for _, a := range t.MBarriers[i].Arrivals {
			if src := report.SourceOf(a.Source); src != nil && *src == *at && !slices.Contains(instr, a.PC) {
				instr = append(instr, a.PC)
			}
		}
	}
	return instr
}

// ofOneLane has the first lane of each warp arrive alone.
func (w *warpwide) ofOneLane(fn *ptx.Func) *remedy {
	fresh := []ptx.Type{ptx.B32, ptx.Pred}
	n := int32(len(fn.Regs))
	lane, first := ptx.RegisterOf(n), ptx.RegisterOf(n+1)
	var edits []ptx.Edit
	for _, i := range w.instr {
		insert := func(in *ptx.Instr) {
			edits = append(edits, ptx.Edit{Kind: ptx.Insert, Func: fn.Name, At: i, Fresh: fresh, New: in})
		}
		insert(&ptx.Instr{Op: "mov", Mods: []string{"u32"}, Args: []ptx.Operand{
			lane, {Kind: ptx.OpSpecial, Name: "%laneid", Comp: -1, Reg: -1},
		}})
		insert(&ptx.Instr{Op: "setp", Mods: []string{"eq", "u32"}, Args: []ptx.Operand{
			first, lane, ptx.IntegerOf(0),
		}})
		edits = append(edits, ptx.Edit{
			Kind: ptx.Replace, Func: fn.Name, At: i, Fresh: fresh, New: fn.Body[i].With(func(in *ptx.Instr) {
				in.Guard = &ptx.Guard{Reg: n + 1}
			}),
		})
	}
	at := w.at.Outermost()
	return &remedy{
		text:   fmt.Sprintf("with one lane of each warp arriving at %s", at.At()),
		advice: fmt.Sprintf("at %s: have one lane of each warp arrive (lane 0, say); the line is", at.At()),
		edits:  func(*debugkern.Run) []ptx.Edit { return edits }, at: &at, cite: true,
	}
}

// describe says how many lanes arrive, and how many arrivals a phase counts.
func (w *warpwide) describe() string {
	at := w.at.Outermost()
	return fmt.Sprintf("all %d lanes of a warp arrive at %s at %s, and a phase of it is over with %s: one "+
		"instruction ends %d phases", w.lanes, w.name, at.At(), arrivalsText(w.expected), w.phases)
}
