package walk

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"tilescope/debugkern/target"
)

// Continue runs to the next breakpoint or the end.
func (w *walker) Continue(ctx context.Context) (Position, error) { return w.breakpoint(ctx, 1) }

// Reverse runs back to the breakpoint before or the start.
func (w *walker) Reverse(ctx context.Context) (Position, error) { return w.breakpoint(ctx, -1) }

func (w *walker) breakpoint(ctx context.Context, n int) (Position, error) {
	watched, err := w.watched()
	if err != nil {
		return w.pos, err
	}
	if err := w.count(ctx, false); err != nil {
		return w.pos, err
	}
	for i := range w.breaks { // a tally that reaches up to here is continued
		until, now := w.tally(&w.breaks[i]).until, w.block.Steps()
		w.counted[i] = w.breaks[i].When.Hits != nil || until > now || now == 0
	}
	return w.steps(ctx, func() stopMatcher { return w.stops(watched) }, n, false)
}

// watched returns the bytes of the cells that breakpoints watch, by breakpoint.
func (w *walker) watched() ([]bytesAt, error) {
	out := make([]bytesAt, len(w.breaks))
	for i, b := range w.breaks {
		if b.Array == "" {
			continue
		}
		var err error
		if out[i], err = w.cell(b.Array, b.Row, b.Col); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// matching adapts a matcher to run.
func matching(match stopMatcher, report func(hit)) func(*target.Event) bool {
	return func(e *target.Event) bool {
		match(e, report)
		return false
	}
}

// stops returns the matcher of the steps at which a breakpoint stops the block.
func (w *walker) stops(watched []bytesAt) stopMatcher {
	values := make([][]byte, len(w.breaks))
	for i, s := range watched {
		values[i] = w.bytes(s)
	}
	seen := make([]uint64, len(w.passed))
	for i := range seen {
		seen[i] = math.MaxUint64
	}
	last, lastMask := w.turn, uint32(math.MaxUint32)
	writers := make([]write, len(w.breaks))
	return func(e *target.Event, report func(hit)) {
		for i := range w.breaks {
			b := &w.breaks[i]
			switch {
			case b.Array != "":
				landed := e != nil && e.Class == target.ClassAsyncLand // delivered when its bytes are there
				if landed {
					writers[i].see(e, watched[i])
				}
				if now := w.bytes(watched[i]); !bytes.Equal(now, values[i]) {
					values[i] = now
					pc := -1
					if last >= 0 {
						pc = int(w.passed[last])
					}
					by := w.writer(&writers[i])
					note := fmt.Sprintf("%s[%d][%d] changed", b.Array, b.Row, b.Col) + w.changedAt(by, pc)
					w.hits(i, moment{last, pc, lastMask, w.block.Steps(), by}, note, report)
				}
				if writers[i].see(e, watched[i]); landed {
					writers[i] = write{}
				}
			case b.Line > 0 && executes(e) && e.Step != seen[e.Warp]:
				at := &w.places[i]
				if at.on(e.PC) && w.begins(e, at.lines, at.entries[e.PC], forBreaks) && w.inUse(i, e.PC) {
					w.hits(i, moment{e.Warp, e.PC, e.Mask, e.Step, nil}, fmt.Sprintf("%s:%d", b.File, b.Line),
						report)
				}
			}
		}
		if executes(e) {
			last, lastMask, seen[e.Warp] = e.Warp, e.Mask, e.Step
		}
		w.capturedStages(report)
	}
}

// capturedStages reports the tiles captured since the last call that a breakpoint waits for, once for each
// step.
func (w *walker) capturedStages(report func(hit)) {
	if len(w.captured) == 0 {
		return
	}
	all := w.captured
	for i := range w.breaks {
		b := &w.breaks[i]
		if b.Stage == "" {
			continue
		}
		for _, c := range all {
			if c.stage.String() == b.Stage {
				w.hitsIn(i, w.ofBlock(c), moment{-1, -1, 0, c.step, nil},
					fmt.Sprintf("%s of kv tile %d captured", b.Stage, c.kv), report)
			}
		}
	}
	w.captured = w.captured[:0]
}

// ofBlock is the state in which conditions on a captured tile are evaluated: it belongs to no warp.
func (w *walker) ofBlock(c capture) *State {
	s := w.live(0, 0, 1)
	s.pos.Step, s.kv = c.step, func() int { return c.kv }
	return s
}

// moment is where a breakpoint is hit, and by which lanes.
type moment struct {
	warp, pc int
	mask     uint32
	step     uint64
	writer   *Writer
}

// write is the last instruction of a block that wrote some bytes of shared memory, or is about to.
type write struct {
	pc    int
	step  uint64
	known bool
}

// see takes the block's next event: a change that is found behind it is by an instruction of its step, or
// by none that is known.
func (x *write) see(e *target.Event, s bytesAt) {
	if e == nil {
		return
	}
	if e.Step != x.step { // an instruction that accesses memory row by row is several events
		x.known = false
	}
	switch e.Class {
	case target.ClassStore, target.ClassAtomic, target.ClassAsyncLand:
	default:
		return
	}
	if e.Space != target.SpaceShared {
		return
	}
	for m := e.Mask; m != 0; m &= m - 1 {
		if at := e.Addr[bits.TrailingZeros32(m)]; at < uint64(s.at+s.n) && at+uint64(e.Bytes) > uint64(s.at) {
			*x = write{e.PC, e.Step, true}
			return
		}
	}
}

// changedAt names the line that wrote a cell; where it is not known, the line that was executed last, at pc.
func (w *walker) changedAt(by *Writer, pc int) string {
	switch {
	case by != nil && by.Source != nil && by.Source.Line > 0:
		return fmt.Sprintf(", written at line %d", by.Source.Line)
	case by == nil && pc >= 0:
		if at := w.lineOf(pc); at != nil && at.Line > 0 {
			return fmt.Sprintf(" after line %d", at.Line)
		}
	}
	return ""
}

// writer describes the instruction that wrote; nil where it is not known, as of a bulk copy.
func (w *walker) writer(x *write) *Writer {
	if !x.known {
		return nil
	}
	return &Writer{PC: x.pc, Source: w.lineOf(x.pc)}
}

// hits reports that a breakpoint's place has been reached, where its condition holds and it is one of the
// times that count.
func (w *walker) hits(i int, m moment, note string, report func(hit)) {
	b := &w.breaks[i]
	if b.When.If == nil {
		w.hitsIn(i, nil, m, note, report)
		return
	}
	if b.Line > 0 {
		m.mask = w.group(m.warp, m.pc, m.mask)
	}
	s := w.live(max(0, m.warp), m.pc, m.mask)
	s.pos.Step = m.step
	w.hitsIn(i, s, m, note, report)
}

func (w *walker) hitsIn(i int, s *State, m moment, note string, report func(hit)) {
	b := &w.breaks[i]
	ok, lane, err := holds(b, s)
	switch {
	case err != nil:
		report(hit{m.step, m.warp, "breakpoint", note + ", condition " + err.Error(), -1, i, m.writer})
	case ok:
		if w.counted[i] {
			n := w.tally(b).add(m.step, m.warp) - uint64(w.tally(b).before(b.From))
			if b.When.Hits != nil && (m.step < b.From || !b.When.Hits.Match(n)) {
				return
			}
			if b.When.Hits != nil {
				note += fmt.Sprintf(", hit %d", n)
			}
		}
		if lane >= 0 {
			note += fmt.Sprintf(", lane %d", lane)
		}
		report(hit{m.step, m.warp, "breakpoint", note, lane, i, m.writer})
	}
}

// holds evaluates a breakpoint's condition: in every active lane, where lanes may differ. lane is the first
// in
// which it holds, -1 where it is the same in all.
func holds(b *Breakpoint, s *State) (ok bool, lane int, err error) {
	e := b.When.If
	if e == nil {
		return true, -1, nil
	}
	if !e.PerLane() {
		v, err := e.Eval(s, s.Lane())
		return v.Holds(), -1, err
	}
	for m := s.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		if v, err := e.Eval(s, lane); err != nil || v.Holds() {
			return err == nil, lane, err
		}
	}
	return false, -1, nil
}

// group returns the lanes of a warp that come to an instruction together, of which executing has a true
// guard.
// While the block executes, a group's PC may still be an earlier one.
func (w *walker) group(warp, pc int, executing uint32) uint32 {
	groups := w.block.Warps()[warp].Groups
	all := uint32(0)
	for _, g := range groups {
		if all |= g.Mask; g.PC == pc || g.Mask&executing != 0 {
			return g.Mask
		}
	}
	return all
}

// holding returns the instructions at which a line begins and every register of the condition holds a value
// that is still read. A compiler unrolls a line into several places, each with registers of its own: at the
// others the register has what another place left in it. It is nil for a condition without registers, and
// where the registers are in use at no place of the line: then all of them count.
func (w *walker) holding(b *Breakpoint, place *breakPlace) map[int]bool {
	if b.Line <= 0 || b.When.If == nil {
		return nil
	}
	names := b.When.If.Registers()
	if len(names) == 0 {
		return nil
	}
	f := w.program.Functions()[0]
	var at map[int]bool
	for pc := range min(len(w.rows), len(f.Body)) {
		if place.entries[pc]&stopsAtBreak == 0 || !place.on(pc) {
			continue
		}
		_, read, live := w.program.Registers(pc)
		used := slices.Concat(read, live)
		if !slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(used, func(r int) bool { return f.RegName(int32(r)) == name })
		}) {
			if at == nil {
				at = map[int]bool{}
			}
			at[pc] = true
		}
	}
	return at
}

// inUse reports whether a breakpoint's condition means something at an instruction of its line.
func (w *walker) inUse(i, pc int) bool { return w.usable[i] == nil || w.usable[i][pc] }

// breakPlace is the instructions of a breakpoint's line: those that are the line's own, and those of the
// functions that it calls and that were inlined.
type breakPlace struct {
	on      func(pc int) bool
	lines   lineMap // in which the line is one
	entries []entry
}

// placeOf finds the instructions of a breakpoint's line.
func (w *walker) placeOf(b *Breakpoint) breakPlace {
	place := breakPlace{func(pc int) bool { return w.onLine(pc, b) }, w.innermost, w.entries}
	if b.Line <= 0 {
		return place
	}
	calls, found := make([]bool, len(w.rows)), false
	numbers, lines := map[spot]int32{}, lineMap{}
	for pc := range w.rows {
		if number := w.innermost.numbers[pc]; number >= 0 && w.onLine(pc, b) {
			calls[pc], numbers[w.innermost.spots[pc]] = true, number
		}
	}
	for pc := range w.rows {
		at, number := w.innermost.spots[pc], w.innermost.numbers[pc]
		if site := w.listing[w.rows[pc]].calledAt(b.File, b.Line); site >= 0 && number >= 0 {
			sites := w.calls[pc].Sites()
			at = spot{string(target.CallsOf(sites[:site])), sites[site].File, sites[site].Line}
			calls[pc], found = true, true
			if _, ok := numbers[at]; !ok { // numbers that no line has
				numbers[at] = int32(len(w.rows) + len(numbers))
			}
			number = numbers[at]
		}
		lines.numbers, lines.spots = append(lines.numbers, number), append(lines.spots, at)
	}
	if found {
		on := func(pc int) bool { return pc < len(calls) && calls[pc] }
		place = breakPlace{on, lines, entriesOf(lines, w.heads, w.listing)}
	}
	return place
}

// calledAt is the index of the call site on a line in the calls that an instruction was inlined through, -1
// where there is none. File "" is any.
func (l *Listing) calledAt(file string, line int) int {
	return slices.IndexFunc(l.Calls.Sites(), func(s target.Site) bool {
		return s.Line == line && (file == "" || baseName(s.File) == baseName(file))
	})
}

// CalledFrom reports whether the instruction was inlined by way of a call on a line; file is a base name.
func (l *Listing) CalledFrom(file string, line int) bool { return l.calledAt(file, line) >= 0 }

// onLine reports whether an instruction belongs to a breakpoint's line.
func (w *walker) onLine(pc int, b *Breakpoint) bool {
	if pc >= len(w.rows) {
		return false
	}
	l := &w.listing[w.rows[pc]]
	return l.Line == b.Line && (b.File == "" || baseName(l.File) == baseName(b.File))
}
