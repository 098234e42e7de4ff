package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
)

// A phase of an mbarrier is over when as many threads have arrived as it was initialised with. Where every
// line and warp that arrives there does so as often as the others, the arrivals of all of them together, each
// once, are those of one phase. The trial initialises an mbarrier that counts others with that number.

// miscounted is an mbarrier whose phases count other arrivals than come for each of them.
type miscounted struct {
	name     string
	expected int             // by its initialisation
	come     int             // once from each line and warp that arrives
	warps    uint32          // that arrive
	lines    []report.Source // where
	init     *report.Source  // the line that initialises it; nil: not known
}

// recounted looks for mbarriers that count too many or too few arrivals for a phase, and tries what it is
// like when they count as many as come.
func (q *inquiry) recounted(s *suspect) error {
	t, err := q.arrivalsOf(s)
	if err != nil || t == nil {
		return err
	}
	fn := q.run.Entry()
	for _, m := range miscountedIn(t) {
		for _, init := range initialisations(fn, m.expected) {
			m.init = blame(fn, init[0])
			if m.init == nil {
				continue
			}
			if ok, err := q.adopt(s, q.countedAs(fn, m, init)); err != nil {
				return err
			} else if ok {
				s.miscounted = m
				return nil
			}
		}
	}
	return nil
}

// miscountedIn lists the mbarriers of a block, the first of each array, where other arrivals come for a phase
// than it counts.
func miscountedIn(t *walk.Timeline) []*miscounted {
	var out []*miscounted
	for i := range t.MBarriers {
		m := &t.MBarriers[i]
		x := countOf(m)
		if x == nil {
			continue
		}
		if x.expected = expectedOf(t, m.Addr); x.expected < 0 {
			continue
		}
		if x.come != x.expected && !slices.ContainsFunc(out, func(o *miscounted) bool {
			return array(o.name) == array(x.name)
		}) {
			out = append(out, x)
		}
	}
	return out
}

// countOf counts the arrivals at an mbarrier that belong to one phase; nil where there are none, or one line
// and warp arrives there more often than another.
func countOf(m *walk.MBarrierTime) *miscounted {
	type party struct {
		warp int
		line report.Source
	}
	x := &miscounted{name: m.Name}
	times := map[party]int{}
	for _, a := range m.Arrivals {
		src := report.SourceOf(a.Source)
		if a.Promise {
			continue
		}
		if src == nil {
			return nil
		}
		times[party{a.Warp, *src}]++
		x.come += a.Count
		x.warps |= 1 << a.Warp
		if !slices.Contains(x.lines, *src) {
			x.lines = append(x.lines, *src)
		}
	}
	each := 0
	for _, n := range times {
		if each != 0 && n != each {
			return nil
		}
		each = n
	}
	if each == 0 || x.come%each != 0 {
		return nil
	}
	x.come /= each
	return x
}

// initialises reports whether an instruction initialises an mbarrier.
func initialises(in *ptx.Instr) bool {
	return in.Op == "mbarrier" && in.Has("init") && len(in.Args) == 2
}

// initialisations lists the instructions that initialise mbarriers with so many arrivals, those of a line
// together.
func initialisations(fn *ptx.Func, arrivals int) [][]int {
	var out [][]int
	var lines []string
	for i, in := range fn.Body {
		if !initialises(in) || arrivalsOf(fn, i) != arrivals {
			continue
		}
		src := blame(fn, i)
		if src == nil {
			continue
		}
		line := callText(src)
		at := slices.Index(lines, line)
		if at < 0 {
			at = len(lines)
			lines, out = append(lines, line), append(out, nil)
		}
		out[at] = append(out[at], i)
	}
	return out
}

// arrivalsOf is the constant that an instruction initialises an mbarrier with, in its text or moved to its
// register by the only instruction that sets that; -1 where it is none.
func arrivalsOf(fn *ptx.Func, init int) int {
	count := fn.Body[init].Args[1]
	if count.Kind == ptx.OpReg {
		set := -1
		for i, in := range fn.Body {
			if slices.Contains(in.Dests(nil), count.Reg) {
				if set >= 0 {
					return -1
				}
				set = i
			}
		}
		if set < 0 || fn.Body[set].Op != "mov" || fn.Body[set].Guard != nil {
			return -1
		}
		count = fn.Body[set].Args[1]
	}
	if count.Kind != ptx.OpInt {
		return -1
	}
	return int(count.Imm)
}

// countedAs has instructions initialise their mbarriers with as many arrivals as come.
func (q *inquiry) countedAs(fn *ptx.Func, m *miscounted, init []int) *remedy {
	var edits []ptx.Edit
	for _, i := range init {
		edits = append(edits, ptx.Edit{
			Kind: ptx.Replace, Func: fn.Name, At: i, New: fn.Body[i].With(func(in *ptx.Instr) {
				in.Args[1] = ptx.Operand{Kind: ptx.OpInt, Imm: uint64(m.come)}
			}),
		})
	}
	at := m.init.Outermost()
	return &remedy{
		text: fmt.Sprintf("with %d arrivals in place of %d at %s", m.come, m.expected, at.At()),
		advice: fmt.Sprintf("at %s: initialise %s with %d arrivals; the line is", at.At(), array(m.name),
			m.come),
		edits: func(*debugkern.Run) []ptx.Edit { return edits }, at: &at, cite: true,
	}
}

// describe says how many arrivals a phase counts, and how many come.
func (m *miscounted) describe() string {
	var where []string
	for i := range m.lines {
		where = append(where, callText(&m.lines[i]))
	}
	at := m.init.Outermost()
	return fmt.Sprintf("a phase of %s is over with %s, as initialised at %s, and %d come for each: %s arrive "+
		"equally often, at %s", m.name, arrivalsText(m.expected), at.At(), m.come, members("warp", m.warps),
		strings.Join(where, " and "))
}

// arrivalsText is "1 arrival" or "4 arrivals".
func arrivalsText(n int) string {
	if n == 1 {
		return "1 arrival"
	}
	return fmt.Sprintf("%d arrivals", n)
}
