package diagnose

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
)

// A wait at an mbarrier may lack arrivals of threads that have left the loop in which they arrived before,
// and exited. The place to look at is that loop's end, and not the wait.

// absence is the arrivals that a wait for ever lacks, of warps that arrived there in earlier phases and
// exited.
type absence struct {
	warps []int          // that exited
	at    *target.Source // where they arrived
	pc    int            // the instruction
	times int            // executions of that line by one of the warps, at all mbarriers of the array
}

// absent finds the warps that owe a wait its arrivals and have all exited; nil where others may still arrive.
func (h *hanging) absent(w *walk.Stuck) *absence {
	if w.MBarrier == nil || w.MBarrier.Pending == 0 {
		return nil
	}
	for _, d := range w.Debts {
		if len(d.Warps) == 0 || d.Source == nil || d.Ahead || len(d.Needs) > 0 ||
			slices.ContainsFunc(d.Warps, func(i int) bool { return !h.timeline.Warps[i].Ended }) {
			continue
		}
		x := &absence{warps: d.Warps, at: d.Source, pc: -1}
		for i := range h.timeline.MBarriers {
			m := &h.timeline.MBarriers[i]
			for _, a := range m.Arrivals {
				if !a.Promise && array(m.Name) == array(w.At) && a.Warp == d.Warps[0] && a.Source != nil &&
					a.Source.File == d.Source.File && a.Source.Line == d.Source.Line &&
					a.Source.Calls == d.Source.Calls {
					x.pc = a.PC
					x.times++
				}
			}
		}
		if x.pc >= 0 {
			return x
		}
	}
	return nil
}

// leaving is the line of the branch by which the innermost loop around an instruction is left; nil where the
// instruction is in no loop, or several lines leave it.
func leaving(fn *ptx.Func, at int) *report.Source {
	if at < 0 || at >= len(fn.Body) {
		return nil
	}
	head := innermost(fn)[at]
	if head < 0 {
		return nil
	}
	g := cfg.New(fn)
	body := g.Loops()[head]
	var out *report.Source
	for i, in := range fn.Body {
		if in.Kind() != isa.Branch || !body[g.Of[i]] ||
			!slices.ContainsFunc(g.Succ[g.Of[i]], func(b int) bool { return !body[b] }) {
			continue
		}
		src := blame(fn, i)
		if src == nil || out != nil && *src != *out {
			return nil
		}
		out = src
	}
	return out
}

// absentees says of a hang which warps have left the loop in which they arrived at the mbarrier, and reports
// whether it does.
func (q *inquiry) absentees(s *suspect, f *report.Finding, c *Cause) bool {
	h, fn := q.hangs[c.Place.Block], q.run.Entry()
	if c.Kind != "hang" || h == nil || fn == nil || s.misdirected != nil {
		return false
	}
	at := h.waits(f)
	if at < 0 {
		return false
	}
	w := &h.hang.Waits[at]
	x := h.absent(w)
	if x == nil {
		return false
	}
	_, tiles := q.run.Tiles(c.Place.Block)
	if x.times >= tiles {
		return false // they arrived for every iteration: the others wait too often
	}
	loop := leaving(fn, x.pc)
	if loop == nil {
		return false
	}
	m, name, here := w.MBarrier, members("warp", warpSet(x.warps)), warpSet(w.Warps)
	arrived := report.SourceOf(x.at)
	c.why = fmt.Sprintf("%s %s for phase %d of %s, which has %d of its %d arrivals; the earlier ones came "+
		"from %s at %s, which arrived at %s %s, where the block has %d tiles, then left the loop at %s and exited",
		members("warp", here), waiting(here), m.Phase, w.At, m.Expected-m.Pending, m.Expected, name,
		callText(arrived), array(w.At), timesText(x.times), tiles, loop.At())
	c.Advice = q.citing(fmt.Sprintf("look at how often the loop at %s runs, since every phase that is "+
		"waited for needs an arrival of %s", loop.At(), name), ": ", loop)
	c.Place.Source, c.Place.Other = loop, c.Place.Source
	return true
}

// waiting is "wait" of several threads or warps, and "waits" of one.
func waiting(set uint32) string {
	if bits.OnesCount32(set) == 1 {
		return "waits"
	}
	return "wait"
}

// warpSet is warps as a set of bits: a block has at most 32.
func warpSet(warps []int) (set uint32) {
	for _, w := range warps {
		set |= 1 << w
	}
	return set
}

// timesText is "once", or "3 times".
func timesText(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// lacking says what the wait for ever of a finding lacks, and who would have to bring it; "" where nothing
// shows it.
func (q *inquiry) lacking(f *report.Finding) string {
	h := q.hangs[f.Block]
	if f.Kind != "hang" || h == nil {
		return ""
	}
	at := h.waits(f)
	if at < 0 {
		return ""
	}
	w := &h.hang.Waits[at]
	var parts []string
	for _, d := range w.Debts {
		text := d.What
		if len(d.Warps) > 0 {
			set := warpSet(d.Warps)
			text += " of " + members("warp", set)
			switch at := callText(report.SourceOf(d.Source)); {
			case d.Source == nil:
			case d.Ahead:
				text += ", to come from " + at
			default:
				text += ", which came from " + at + " before"
			}
			for _, n := range d.Needs {
				text += fmt.Sprintf(", which %s at %s themselves", waiting(set), h.hang.Waits[n].At)
			}
		}
		if d.Why != "" {
			text += ": " + d.Why
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	what := w.At
	if w.MBarrier != nil {
		what = fmt.Sprintf("phase %d of %s", w.MBarrier.Phase, w.At)
	}
	return fmt.Sprintf("%s lacks %s", what, strings.Join(parts, " and "))
}
