package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
)

// A wait by parity passes at once where the phase that it names is over already. Where a line passes the same
// phase of an mbarrier again and again, and a later phase ends that no thread waits for, the parity is that
// of another phase than the one that is due.

// stalePhase is a wait that passes a phase which it has passed before.
type stalePhase struct {
	name   string // of the mbarrier
	number uint64 // of the phase
	times  int    // that one warp passes it
	warps  uint32
	at     *report.Source
	unmet  uint64 // the first phase that is over, and that no thread waits for
}

// stalePhases lists those of a block, the first of each line.
func stalePhases(t *walk.Timeline) (out []*stalePhase) {
	for i := range t.MBarriers {
		m := &t.MBarriers[i]
		unmet := -1
		for n := range m.Phases {
			if !slices.ContainsFunc(m.Passes, func(p walk.Pass) bool { return p.Number == uint64(n) }) {
				unmet = n
				break
			}
		}
		if unmet < 0 {
			continue
		}
		type party struct {
			warp, pc int
			number   uint64
		}
		times := map[party]int{}
		for _, p := range m.Passes {
			who := party{p.Warp, p.PC, p.Number}
			times[who]++
			src := report.SourceOf(p.Source)
			if times[who] < 2 || src == nil || p.Number >= uint64(unmet) {
				continue
			}
			if k := slices.IndexFunc(out, func(o *stalePhase) bool { return *o.at == *src }); k >= 0 {
				if o := out[k]; o.name == m.Name && o.number == p.Number {
					o.warps |= 1 << p.Warp
					o.times = max(o.times, times[who])
				}
				continue
			}
			out = append(out, &stalePhase{
				name: m.Name, number: p.Number, times: times[who], warps: 1 << p.Warp, at: src,
				unmet: uint64(unmet),
			})
		}
	}
	return out
}

// waitStale looks whether a suspect of what is asynchronous comes of a wait for a phase that is over. It is
// tried where nothing else has shown what to change.
func (q *inquiry) waitStale(s *suspect) error {
	if s.remedy != nil || s.cause.Finding < 0 || s.cause.Kind != "mbarrier" && s.cause.Kind != "race" {
		return nil
	}
	message := q.doc.Findings[s.cause.Finding].Message
	if s.cause.Kind == "race" && !strings.Contains(message, "asynchronous copy") {
		return nil
	}
	t, err := q.recorded(s.cause.Place.Block)
	if err != nil || t == nil {
		return err
	}
	if list := stalePhases(t); len(list) > 0 {
		s.stale = list[0]
	}
	return nil
}

// describe says which phase is passed again, which is due, and where the parity comes from.
func (p *stalePhase) describe(q *inquiry, c *Cause) {
	at := p.at.Outermost()
	verb := "pass"
	if p.warps&(p.warps-1) == 0 {
		verb = "passes"
	}
	c.why = fmt.Sprintf("%s %s the wait at %s %s by phase %d of %s, which is over already, and no thread waits "+
		"for phase %d: the parity is that of a phase that has been waited for before",
		members("warp", p.warps), verb, at.At(), timesText(p.times), p.number, p.name, p.unmet)
	look := "look at the parity that is waited for at " + at.At()
	c.Advice = q.citing(look, "; the line is ", &at)
	line := strings.TrimRight(bare(q.quoted(&at)), "); ")
	if i := strings.LastIndex(line, ","); i >= 0 {
		c.Advice += q.valuesOf(&at, line[i+1:])
	}
	c.Title += "; waited for at " + lineText(&at, c.Place.Source)
	c.Place.Source, c.Place.Other = &at, c.Place.Source
}
