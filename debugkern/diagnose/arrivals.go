package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// A wait that nothing ends lacks arrivals at its mbarrier. Where another one of the same kind gets as many
// more than its phases need, from an instruction that is not the only one to arrive there, that instruction
// arrives at the wrong one: the trial gives it the other's address.

// hanging is a block that cannot go on.
type hanging struct {
	timeline *walk.Timeline
	hang     *walk.Hang
}

// hangIn executes a block again, and returns why it cannot go on; nil where it can, or nothing shows it.
func (q *inquiry) hangIn(block probes.Dim3) (*hanging, error) {
	if h, ok := q.hangs[block]; ok {
		return h, nil
	}
	if q.hangs == nil {
		q.hangs = map[probes.Dim3]*hanging{}
	}
	q.hangs[block] = nil
	t, err := q.recorded(block)
	if err != nil || t == nil {
		return nil, err
	}
	if h := walk.HangOf(t); h != nil {
		q.hangs[block] = &hanging{t, h}
	}
	return q.hangs[block], nil
}

// recorded is what was asynchronous in a block, which is executed again for it once; nil where nothing shows
// it.
func (q *inquiry) recorded(block probes.Dim3) (*walk.Timeline, error) {
	if t, ok := q.timelines[block]; ok {
		return t, nil
	}
	if q.timelines == nil {
		q.timelines = map[probes.Dim3]*walk.Timeline{}
	}
	q.timelines[block] = nil
	w, err := q.run.Walk(q.ctx, block)
	if err != nil {
		return nil, q.fatal(err)
	}
	defer w.Close()
	a, ok := w.(walk.Asynchronous)
	if !ok {
		return nil, nil
	}
	t, err := a.Record(q.ctx)
	if err != nil {
		return nil, q.fatal(err)
	}
	q.timelines[block] = t
	return t, nil
}

// waitKinds are the kinds of findings that say that threads wait, or may, for what never comes.
var waitKinds = []string{"hang", "mbarrier"}

// misdirected is an instruction that arrives at one mbarrier, and has to at another.
type misdirected struct {
	at       *report.Source
	instr    []int  // of the line, in the entry's body
	from, to string // the arrays, or variables
	by       int64  // bytes from one to the other
	need     int    // arrivals in a phase of each
	rest     string // the other lines that arrive at from
	elements [2]string
}

// arrive looks for an instruction whose arrivals a wait lacks, and tries what it is like at that barrier.
func (q *inquiry) arrive(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || !slices.Contains(waitKinds, s.cause.Kind) {
		return nil
	}
	h, err := q.hangIn(s.cause.Place.Block)
	if err != nil || h == nil {
		return err
	}
	for _, m := range h.misdirected(fn) {
		if ok, err := q.adopt(s, q.redirected(fn, m)); err != nil {
			return err
		} else if ok {
			s.misdirected = m
			return nil
		}
	}
	return nil
}

// arrivalsOf is what was asynchronous in the block of a suspect whose arrivals at mbarriers may be too many
// or too few; nil where it is none, or nothing shows it.
func (q *inquiry) arrivalsOf(s *suspect) (*walk.Timeline, error) {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || s.cause.Finding < 0 ||
		!slices.Contains(waitKinds, s.cause.Kind) && s.cause.Kind != "race" ||
		!slices.ContainsFunc(fn.Body, initialises) {
		return nil, nil
	}
	return q.recorded(s.cause.Place.Block)
}

// expectedOf is how many arrivals a phase of an mbarrier needs, -1 where nothing says it.
func expectedOf(t *walk.Timeline, addr uint64) int {
	for _, m := range t.Last.MBarriers {
		if m.Addr == addr {
			return m.Expected
		}
	}
	return -1
}

// arrivedWrongly says what is wrong with the arrivals at an mbarrier, where a trial has shown it; "" where
// none has.
func arrivedWrongly(s *suspect) string {
	switch {
	case s.warpwide != nil:
		return s.warpwide.describe()
	case s.miscounted != nil:
		return s.miscounted.describe()
	case s.misdirected != nil:
		return s.misdirected.surplus()
	}
	return ""
}

// misdirected lists the instructions that may arrive at a wrong mbarrier: those that are not alone in
// arriving at one that needs as many arrivals as a wait lacks.
func (h *hanging) misdirected(fn *ptx.Func) []*misdirected {
	var out []*misdirected
	for i := range h.hang.Waits {
		to := h.hang.Waits[i].MBarrier
		if to == nil || to.Pending == 0 {
			continue
		}
		name := h.hang.Waits[i].At
		for k := range h.timeline.MBarriers {
			from := &h.timeline.MBarriers[k]
			if element(from.Name) != element(name) || array(from.Name) == array(name) ||
				expectedOf(h.timeline, from.Addr) != to.Expected {
				continue
			}
			for _, m := range arriving(fn, from) {
				m.to, m.by, m.need = array(name), int64(to.Addr)-int64(from.Addr), to.Expected
				m.elements = [2]string{from.Name, name}
				if !slices.ContainsFunc(out, func(o *misdirected) bool {
					return o.to == m.to && *o.at == *m.at
				}) {
					out = append(out, m)
				}
			}
		}
	}
	return out
}

// arriving lists the lines that arrive at an mbarrier, where they are several.
func arriving(fn *ptx.Func, m *walk.MBarrierTime) []*misdirected {
	var out []*misdirected
	for _, a := range m.Arrivals {
		if a.Promise || a.PC >= len(fn.Body) || fn.Body[a.PC].Op != "mbarrier" {
			continue
		}
		src := report.SourceOf(a.Source)
		if src == nil {
			continue
		}
		i := slices.IndexFunc(out, func(o *misdirected) bool { return *o.at == *src })
		if i < 0 {
			i = len(out)
			out = append(out, &misdirected{at: src, from: array(m.Name)})
		}
		if !slices.Contains(out[i].instr, a.PC) {
			out[i].instr = append(out[i].instr, a.PC)
		}
	}
	if len(out) < 2 {
		return nil
	}
	for _, o := range out {
		var rest []string
		for _, p := range out {
			if p != o {
				rest = append(rest, lineText(p.at, o.at))
			}
		}
		o.rest = strings.Join(rest, " and ")
	}
	return out
}

// array is the name of an mbarrier without its index, and element that index.
func array(name string) string {
	a, _, _ := strings.Cut(name, "[")
	return a
}

func element(name string) string {
	_, e, _ := strings.Cut(name, "[")
	return e
}

// redirected has an instruction arrive at the other mbarrier.
func (q *inquiry) redirected(fn *ptx.Func, m *misdirected) *remedy {
	var edits []ptx.Edit
	for _, i := range m.instr {
		edits = append(edits, ptx.Edit{
			Kind: ptx.Replace, Func: fn.Name, At: i, New: addressed(fn.Body[i], m.by),
		})
	}
	at := m.at.Outermost()
	r := &remedy{
		text:  fmt.Sprintf("with %s in place of %s at %s", m.to, m.from, at.At()),
		edits: func(*debugkern.Run) []ptx.Edit { return edits }, at: m.at,
	}
	r.advice = fmt.Sprintf("at %s: arrive at %s in place of %s", at.At(), m.to, m.from)
	was := q.quoted(&at)
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(m.from) + `\b`)
	if len(name.FindAllString(was, -1)) == 1 {
		r.advice = fmt.Sprintf("at %s: write %s", at.At(), quoteCode(name.ReplaceAllLiteralString(was, m.to)))
	} else {
		r.cite = true
	}
	return r
}

// surplus says of which mbarrier an instruction takes the arrivals, and which it gives too many.
func (m *misdirected) surplus() string {
	return fmt.Sprintf("a phase of %s needs %d arrivals, which %s gives it, and gets those of %s too; %s, "+
		"which needs %d as well, gets none of them", m.elements[0], m.need, m.rest, callText(m.at),
		m.elements[1], m.need)
}

// waits is the wait of a hang that a suspect's finding is about, found by the kernel's own line; -1 where it
// is about none.
func (h *hanging) waits(f *report.Finding) int {
	if f.Source == nil {
		return -1
	}
	own := f.Source.Outermost()
	return slices.IndexFunc(h.hang.Waits, func(w walk.Stuck) bool {
		if w.Source == nil || array(w.At) != f.Variable {
			return false
		}
		at := report.SourceOf(w.Source).Outermost()
		return at.At() == own.At()
	})
}

// waitsFor reports whether threads wait for what those of another suspect would do, who hang themselves, and
// these do not wait for them.
func (q *inquiry) waitsFor(s, from *suspect) bool {
	h := q.hangs[s.cause.Place.Block]
	if h == nil || s == from || s.cause.Kind != "hang" || from.cause.Kind != "hang" ||
		s.cause.Place.Block != from.cause.Place.Block {
		return false
	}
	a, b := h.waits(&q.doc.Findings[s.cause.Finding]), h.waits(&q.doc.Findings[from.cause.Finding])
	return a >= 0 && b >= 0 && h.needs(a, b) && !h.needs(b, a)
}

// missesThoseParted reports whether a wait that does not end lacks the arrivals of warps that have left the
// kernel, or that wait for lanes or warps which do not come, as another suspect says.
func (q *inquiry) missesThoseParted(s, from *suspect) bool {
	if s.cause.Kind != "hang" || from.parted == nil || s.cause.Place.Block != from.cause.Place.Block {
		return false
	}
	gone := from.parted.left | from.parted.stuck
	h := q.hangs[s.cause.Place.Block]
	if h == nil {
		return true // a checker ended the block at the barrier that these lack
	}
	at := h.waits(&q.doc.Findings[s.cause.Finding])
	if at < 0 || len(h.hang.Waits[at].Debts) == 0 {
		return true
	}
	return slices.ContainsFunc(h.hang.Waits[at].Debts, func(d walk.Debt) bool {
		stand := slices.ContainsFunc(d.Warps, func(w int) bool {
			return w >= 32 || gone>>w&1 == 0
		})
		return !stand || len(d.Needs) > 0 // those who would come wait themselves
	})
}

// needs reports whether what a wait lacks is owed by threads that stand in another one, or in one that needs
// it.
func (h *hanging) needs(from, to int) bool {
	seen := map[int]bool{}
	var follow func(int) bool
	follow = func(at int) bool {
		if at == to {
			return true
		}
		seen[at] = true
		for _, d := range h.hang.Waits[at].Debts {
			for _, next := range d.Needs {
				if !seen[next] && follow(next) {
					return true
				}
			}
		}
		return false
	}
	return follow(from)
}
