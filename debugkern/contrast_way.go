package debugkern

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	"tilescope/debugkern/isa"
	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// entering is how an operand of a type enters.
func (c *contrast) entering(ways uint64, r reader, t probes.DType) seen {
	return seen{ways, r, c.atOnce(r.instr, t), c.atOnce(r.again, t)}
}

// atOnce is how many numbers of a type an instruction reads at once; 1 where it is no load.
func (c *contrast) atOnce(instr int, t probes.DType) int {
	if instr < 0 {
		return 1
	}
	switch in := c.fn.Body[instr]; {
	case in.Kind() == isa.Load:
		return max(1, in.Type().Bytes()*in.Vec()/max(1, t.Size()))
	case in.Kind() == isa.CopyAsync && len(in.Args) > 2 && in.Args[2].Kind == ptx.OpInt:
		return max(1, int(in.Args[2].Imm)/max(1, t.Size()))
	}
	return 1
}

// reader is the way of a leaf into the cell, in instructions of the entry's own code by their index in its
// body; -1 where there is none.
type reader struct {
	instr int   // that reads it
	then  int   // that reads next what was made of it, from where that was stored
	again int   // then, where nothing computes with it before
	node  int32 // of then
	user  int   // that computes with it first
	lanes int   // that hands what was made of it to another lane first
	way   []int // all from the one that reads it on, at most mostWay
	nodes []int32
	steps []uint32 // of way, in the trace
	// lanesOf are the lanes of way
	lanesOf []uint8
}

// mostWay is how many instructions of a leaf's way are listed.
const mostWay = 256

// readers finds the way of every leaf.
func (c *contrast) readers(g *lineage.Graph) []reader {
	out, by := make([]reader, len(g.Leaves)), make([]int32, len(g.Leaves))
	for i := range out {
		out[i], by[i] = reader{instr: -1, then: -1, again: -1, user: -1, lanes: -1}, -1
	}
	user := make([]int32, len(g.Nodes)) // a node that is made of it
	for i := range user {
		user[i] = -1
	}
	for n := range g.Nodes {
		for _, e := range g.Uses(int32(n)) {
			switch {
			case !e.Leaf:
				if user[e.To] < 0 {
					user[e.To] = int32(n)
				}
			case by[e.To] < 0 && c.own(g, int32(n)):
				by[e.To] = int32(n)
			}
		}
	}
	for i, n := range by {
		for first := true; n >= 0; n, first = user[n], false {
			in := c.trace.Step(int(g.Nodes[n].Step)).Instr
			if !c.own(g, n) {
				continue
			}
			k := in.Kind()
			if len(out[i].way) < mostWay {
				out[i].way, out[i].nodes = append(out[i].way, in.Index), append(out[i].nodes, n)
				out[i].steps = append(out[i].steps, g.Nodes[n].Step)
				out[i].lanesOf = append(out[i].lanesOf, g.Nodes[n].Lane)
			}
			switch {
			case first:
				out[i].instr = in.Index
			case out[i].then < 0 && (k == isa.Load || k == isa.LoadFragment || k == isa.LoadMatrix) &&
				in.Space() != ptx.SpaceParam:
				if out[i].then, out[i].node = in.Index, n; out[i].user < 0 {
					out[i].again = in.Index
				}
			}
			if out[i].lanes < 0 && (k == isa.Shuffle || k == isa.Vote) {
				out[i].lanes = in.Index
			}
			if out[i].user < 0 && computes(k) {
				out[i].user = in.Index
			}
		}
	}
	return out
}

// computes reports whether instructions of a kind do arithmetic.
func computes(k isa.Kind) bool { return k == isa.Arith || k.Product() || k == isa.Special }

// own reports whether a value was made by the entry's own code, and not by a probe.
func (c *contrast) own(g *lineage.Graph, n int32) bool {
	s := c.trace.Step(int(g.Nodes[n].Step))
	return s.Func.Entry && !s.Instr.Loc.Within(target.IsProbe)
}

// thread is a thread of the block.
type thread struct {
	warp int
	lane uint8
}

// taking is a thread that takes an operand, and the first step by which it does.
type taking struct {
	thread
	step uint32
}

// anyRead is an instruction for takes: all that read memory.
const anyRead = -1

// takes reports whether an instruction, or a copy that the compiler made of it, takes an operand in some
// thread of the block.
func (c *contrast) takes(instr int, k operandKey) bool { return len(c.takenIn(instr)[k]) > 0 }

// takesFor is takes for what an operand's way became: what is taken later does not count.
func (c *contrast) takesFor(s seen, instr int, k operandKey) bool {
	list := c.takenIn(instr)[k]
	return len(list) > 0 && (len(s.steps) == 0 || list[0].step <= s.steps[len(s.steps)-1])
}

// takenIn is what an instruction and its copies take, with the threads.
func (c *contrast) takenIn(instr int) map[operandKey][]taking {
	line := func(i int) string {
		b := target.Blame(c.fn, i)
		return fmt.Sprint(b.File, b.Line, c.fn.Body[i].Op)
	}
	at := ""
	if instr != anyRead {
		at = line(instr)
	}
	list, known := c.taken[at]
	if known {
		return list
	}
	same := make([]bool, len(c.fn.Body))
	for i, in := range c.fn.Body {
		if instr == anyRead {
			same[i] = in.Kind().Reads() && !in.Loc.Within(target.IsProbe)
		} else {
			same[i] = in.Op == c.fn.Body[instr].Op && line(i) == at
		}
	}
	list = c.takenBy(same)
	c.taken[at] = list
	return list
}

// takenBy lists what instructions of the entry take, and in which threads of the block.
func (c *contrast) takenBy(instr []bool) map[operandKey][]taking {
	out := map[operandKey][]taking{}
	note := func(k operandKey, warp int, lane uint8, step int) {
		t := thread{warp, lane}
		if !slices.ContainsFunc(out[k], func(o taking) bool { return o.thread == t }) {
			out[k] = append(out[k], taking{t, uint32(step)})
		}
	}
	for i := range c.trace.Len() {
		s := c.trace.Step(i)
		if !s.Func.Entry || !instr[s.Instr.Index] {
			continue
		}
		size := uint8(max(1, min(8, s.Instr.Type().Bytes())))
		for lane := range uint8(32) {
			if s.Mask>>lane&1 == 0 {
				continue
			}
			for _, u := range c.trace.Uses(lineage.Ref{Step: uint32(i), Lane: lane, N: size}, false, false) {
				if u.Leaf == nil {
					if id, ok := c.cut(u.Ref); ok {
						for _, k := range c.lists[id] {
							note(k, s.Warp, lane, i)
						}
					}
				} else if u.Leaf.Kind == lineage.LeafElement {
					note(operandKey{stage: -1, arg: u.Leaf.Arg, at: u.Leaf.Element}, s.Warp, lane, i)
				}
			}
		}
	}
	return out
}

// threads names the threads that take operands by an instruction; "" where some are taken by none, or by many
// warps, or by threads that all take one that does come in as well: these need not hand it on.
func (c *contrast) threads(instr int, keys, present []operandKey) string {
	taken := c.takenIn(instr)
	of := func(list []operandKey) map[thread]bool {
		out := map[thread]bool{}
		for _, k := range list {
			for _, t := range taken[k] {
				out[t.thread] = true
			}
		}
		return out
	}
	bring, have := of(present), of(keys)
	maps.DeleteFunc(have, func(t thread, _ bool) bool { return bring[t] })
	if len(have) == 0 {
		return ""
	}
	lanes := map[int][]int{}
	for _, k := range keys {
		if len(taken[k]) == 0 {
			return ""
		}
		for _, t := range taken[k] {
			if !slices.Contains(lanes[t.warp], int(t.lane)) {
				lanes[t.warp] = append(lanes[t.warp], int(t.lane))
			}
		}
	}
	const mostWarps = 2
	if len(lanes) > mostWarps {
		return ""
	}
	var order []string
	warps := map[string][]string{} // by lanes
	for _, w := range slices.Sorted(maps.Keys(lanes)) {
		slices.Sort(lanes[w])
		spans := text.Spans(lanes[w])
		if warps[spans] == nil {
			order = append(order, spans)
		}
		warps[spans] = append(warps[spans], fmt.Sprint(w))
	}
	var out []string
	for _, spans := range order {
		what := "warp"
		if len(warps[spans]) > 1 {
			what = "warps"
		}
		out = append(out, fmt.Sprintf("lanes %s of %s %s", spans, what, strings.Join(warps[spans], " and ")))
	}
	return strings.Join(out, " and ")
}

// lost is the instruction by which an operand is lost, where others come in another way: the one that reads
// them, unless it reads that one as well; then the one that does not hand it on. Of what is not read, summed
// is what the others are computed with first.
// aside: the thread has it, and leaves it aside there for what another one has.
func (c *contrast) lost(
	ctx context.Context, a *actual, other seen, missing operandKey,
) (at, summed int, aside bool) {
	if other.instr < 0 || !c.takes(other.instr, missing) {
		return other.instr, c.joined(a, other), false
	}
	n := sort.Search(len(other.way), func(i int) bool { return !c.reaches(ctx, other.way[i], missing) })
	if n == 0 {
		return other.instr, -1, false
	}
	if at := c.leftAside(ctx, other, missing); at >= 0 {
		return at, -1, true
	}
	last := c.fn.Body[other.way[n-1]].Kind()
	if last != isa.Store && last != isa.StoreFragment {
		for i := n - 1; i >= 0; i-- { // other lanes have it: the exchange does not bring it
			if k := c.fn.Body[other.way[i]].Kind(); k == isa.Shuffle || k == isa.Vote {
				return other.way[i], -1, false
			}
		}
		if at := c.exchange(ctx, a, other.nodes[n-1], missing); at >= 0 {
			return at, -1, false
		}
	}
	return c.nextOf(a, other, min(n, len(other.way)-1)), -1, false
}

// storedIn names the element that an operand is stored in by the last store on another one's way that some
// thread stores it with, and gives the store's line.
func (c *contrast) storedIn(ctx context.Context, other seen, missing operandKey) (string, *report.Source) {
	for n := len(other.way) - 1; n >= 0; n-- {
		at := other.way[n]
		if c.fn.Body[at].Kind() != isa.Store || !c.reaches(ctx, at, missing) {
			continue
		}
		for i := range c.trace.Len() {
			s := c.trace.Step(i)
			if !s.Func.Entry || !c.alike(s.Instr.Index, at) {
				continue
			}
			for lane := range uint8(32) {
				r := lineage.Ref{
					Step: uint32(i), Lane: lane, Index: lineage.InMemory,
					N: uint8(max(1, min(8, s.Instr.Type().Bytes()))),
				}
				if s.Mask>>lane&1 != 0 && c.madeOf(ctx, r, missing) {
					return c.trace.Memory(r), report.SourceOf(target.Blame(c.fn, s.Instr.Index))
				}
			}
		}
		return "", nil
	}
	return "", nil
}

// madeOf reports whether a value is made of an operand.
func (c *contrast) madeOf(ctx context.Context, r lineage.Ref, k operandKey) bool {
	g, err := c.trace.WalkValue(ctx, r, lineage.Query{CutValue: c.cut, Nodes: sliceNodes})
	return err == nil && slices.ContainsFunc(g.Leaves, func(l lineage.Leaf) bool { return c.isKey(l, k) })
}

// nextOf is the instruction at a place of an operand's way, or the one that stands there on the ways of most
// operands that come the same way up to it: a compiler's debug lines may have one of several reads, which it
// moved, at a line that reads nothing.
func (c *contrast) nextOf(a *actual, other seen, at int) int {
	own := other.way[at]
	if at == 0 {
		return own
	}
	line := func(i int) (src target.Source) {
		if b := target.Blame(c.fn, i); b != nil {
			src = *b
		}
		return src
	}
	before := line(other.way[at-1])
	times := map[target.Source]int{}
	first := map[target.Source]int{}
	for _, o := range a.of {
		if at >= len(o.way) || line(o.way[at-1]) != before || c.fn.Body[o.way[at]].Op != c.fn.Body[own].Op {
			continue
		}
		src := line(o.way[at])
		if n, seen := first[src]; !seen || o.way[at] < n {
			first[src] = o.way[at]
		}
		times[src]++
	}
	most := line(own)
	for src, n := range times {
		if n > times[most] || n == times[most] && first[src] < first[most] {
			most = src
		}
	}
	if times[most] > 2*times[line(own)] {
		return first[most]
	}
	return own
}

// reaches reports whether some thread's result of an instruction, or of a copy that the compiler made of it,
// is made of an operand.
func (c *contrast) reaches(ctx context.Context, instr int, k operandKey) bool {
	found, known := c.reached[instr]
	if !known {
		found = map[operandKey]bool{}
		c.reached[instr] = found
		var refs []lineage.Ref
		for i := range c.trace.Len() {
			s := c.trace.Step(i)
			if !s.Func.Entry || !c.alike(s.Instr.Index, instr) {
				continue
			}
			r := lineage.Ref{Step: uint32(i), N: uint8(max(1, min(8, s.Instr.Type().Bytes())))}
			if k := s.Instr.Kind(); k == isa.Store || k == isa.StoreFragment {
				r.Index = lineage.InMemory
			}
			for r.Lane = range uint8(32) {
				if s.Mask>>r.Lane&1 != 0 {
					refs = append(refs, r)
				}
			}
		}
		g, err := c.trace.WalkValues(ctx, refs, lineage.Query{CutValue: c.cut, Nodes: sliceNodes})
		if err != nil {
			return false
		}
		for _, l := range g.Leaves {
			if l.Kind == lineage.LeafCut {
				for _, k := range c.lists[l.Cut] {
					found[k] = true
				}
			} else if l.Kind == lineage.LeafElement {
				found[operandKey{stage: -1, arg: l.Arg, at: l.Element}] = true
			}
		}
	}
	return found[k]
}

// joined is the first instruction on an operand's way that makes one value of it and of another operand; -1
// where there is none.
func (c *contrast) joined(a *actual, s seen) int {
	first := len(s.nodes)
	for _, o := range a.of {
		if len(o.nodes) == 0 || len(s.nodes) == 0 || o.nodes[0] == s.nodes[0] {
			continue
		}
		on := map[int32]bool{}
		for _, n := range o.nodes {
			on[n] = true
		}
		if at := slices.IndexFunc(s.nodes, func(n int32) bool { return on[n] }); at >= 0 {
			first = min(first, at)
		}
	}
	if first == len(s.nodes) {
		return -1
	}
	return s.way[first]
}

// handed reports whether foreign operands come in by an exchange between lanes that should have brought
// others: what the thread itself has read belongs to the cell, more than one operand, which may be by chance,
// and what is missing was read where the foreign ones were. Where nothing is missing, the foreign ones are
// cells of a tile that the other threads keep in registers, and rightly have.
func (c *contrast) handed(a *actual, s seen, foreign, missing []operandKey) bool {
	if s.lanes < 0 || s.instr < 0 {
		return false
	}
	like := foreign[0]
	switch {
	case len(missing) > 0:
		if like = missing[0]; !c.takes(s.instr, like) {
			return false
		}
	case like.stage < 0 || c.fn.Body[s.instr].Kind().Reads():
		return false
	}
	own := 0
	for k, o := range a.of {
		switch in := slices.Contains(foreign, k); {
		case in && o.lanes < 0:
			return false
		case !in && o.lanes < 0:
			if k.stage == like.stage && k.arg == like.arg {
				own++
			}
		}
	}
	return own > 1
}

// departs is the instruction by which a foreign operand comes in, where others are missing: the first that no
// right cell's way from the operand has; else the one that reads it, unless it reads the missing one as well.
// Then it is the one that reads next what was made of both.
func (c *contrast) departs(
	ctx context.Context, k operandKey, a *actual, foreign, missing []operandKey,
) (int, error) {
	s := a.of[k]
	if c.handed(a, s, foreign, missing) {
		return s.lanes, nil
	}
	if at, ok, err := c.apart(ctx, k, a, foreign); err != nil || ok {
		if ok && err == nil && c.copied(at, k, s, missing) {
			if len(s.way) > 2 && c.leftIn(k, s, missing) {
				return s.way[1], nil // what is loaded is right, and another part of it is taken
			}
			return s.instr, nil
		}
		return at, err
	}
	all := missing
	missing = slices.DeleteFunc(slices.Clone(missing), func(m operandKey) bool {
		return m.stage != k.stage || m.arg != k.arg
	})
	if c.copiedAside(k, s, missing) {
		return s.instr, nil
	}
	withMissing := func(each int) bool {
		return slices.ContainsFunc(missing, func(m operandKey) bool {
			return each > 1 && m.iter == k.iter && m.at/each == k.at/each
		})
	}
	together := withMissing(s.each)
	switch {
	case s.user >= 0 && c.leftIn(k, s, missing):
		return s.user, nil
	case s.instr < 0 || len(all) == 0:
	// both were read: which of them is taken is decided later
	case len(missing) == 0 && c.takesFor(s, anyRead, all[0]):
		if s.again >= 0 {
			return s.again, nil
		}
		return max(s.user, s.instr), nil
	case len(missing) == 0:
	case together && withMissing(s.eachAgain) && s.user >= 0:
		if c.exchanged(c.x.cell, k) {
			return c.lastStore(s), nil
		}
		return s.user, nil
	case s.again >= 0 && (together || c.takesFor(s, s.instr, missing[0])):
		return s.again, nil
	case s.then >= 0 && c.takesFor(s, s.instr, missing[0]) && c.whole(a, s.node, foreign):
		return s.then, nil
	case together && s.user >= 0:
		return s.user, nil
	case together && c.exchanged(c.x.cell, k):
		return c.lastStore(s), nil
	case together && len(s.way) > 1:
		return s.way[1], nil // what is read is right, and what is taken of it is not
	case !c.fn.Body[s.instr].Kind().Reads() && c.takesFor(s, s.instr, missing[0]):
		return c.meets(a, k, foreign), nil // it is in a register, of which each cell takes its own
	}
	return s.instr, nil
}

// meets is the first instruction of a foreign operand's way that makes one value of it and of an operand that
// belongs to the cell; the first that computes with it where there is none.
func (c *contrast) meets(a *actual, k operandKey, foreign []operandKey) int {
	s := a.of[k]
	if at := c.meeting(a, k, foreign); at >= 0 {
		return s.way[at]
	}
	return max(s.user, s.instr)
}

// meeting is the place of that instruction in the operand's way; -1 where there is none.
func (c *contrast) meeting(a *actual, k operandKey, foreign []operandKey) int {
	right := map[int32]bool{}
	for o, s := range a.of {
		if !slices.Contains(foreign, o) {
			for _, n := range s.nodes {
				right[n] = true
			}
		}
	}
	return slices.IndexFunc(a.of[k].nodes, func(n int32) bool { return right[n] })
}

// whole reports whether all operands that a node is made of are foreign: what it reads is another cell's
// as a whole.
func (c *contrast) whole(a *actual, node int32, foreign []operandKey) bool {
	seen, open := map[int32]bool{node: true}, []int32{node}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, e := range a.g.Uses(n) {
			if !e.Leaf {
				if !seen[e.To] {
					seen[e.To] = true
					open = append(open, e.To)
				}
				continue
			}
			if l := a.g.Leaves[e.To]; l.Kind == lineage.LeafCut && !slices.ContainsFunc(c.lists[l.Cut],
				func(k operandKey) bool { return slices.Contains(foreign, k) }) {
				return false
			}
		}
	}
	return true
}

// lastStore is the last instruction on an operand's way that stores; where none does, the last.
func (c *contrast) lastStore(s seen) int {
	for i := len(s.way) - 1; i >= 0; i-- {
		if k := c.fn.Body[s.way[i]].Kind(); k == isa.Store || k == isa.StoreFragment {
			return s.way[i]
		}
	}
	return s.way[len(s.way)-1]
}

// line is where an instruction on an operand's way stands in the source. A compiler moves what does not
// change in a loop, or on either side of a condition, before it, and leaves it that line: where the line has
// nothing that the instruction can be, it is the first line further on that has.
func (c *contrast) line(instr int, way []int) *report.Source {
	at := report.SourceOf(target.Blame(c.fn, instr))
	what := written[c.fn.Body[instr].Op]
	if k := c.fn.Body[instr].Kind(); k == isa.Load {
		what = subscript
	}
	if what == nil || at == nil {
		return at
	}
	if text := c.text(at); !header.MatchString(text) || what.MatchString(text) {
		return at
	}
	for i := slices.Index(way, instr) + 1; i < len(way); i++ {
		next := report.SourceOf(target.Blame(c.fn, way[i]))
		places := []*report.Source{next}
		for _, site := range slices.Backward(next.Calls.Sites()) {
			places = append(places, &report.Source{File: site.File, Line: site.Line, Function: site.Function})
		}
		for _, p := range places {
			if what.MatchString(c.text(p)) {
				return p
			}
		}
	}
	return at
}

// What the source has where an instruction is: an array's element, a function by its name. A header's line
// is that of a loop or a condition.
var (
	header    = regexp.MustCompile(`^\s*(\} else )?(for|while|if) ?\(`)
	probing   = regexp.MustCompile(`\bTS_\w+\(`)
	subscript = regexp.MustCompile(`\[|\*\w`)
	written   = map[string]*regexp.Regexp{"max": regexp.MustCompile(`max`), "min": regexp.MustCompile(`min`)}
)

// text is a line of the source, "" where it is not available.
func (c *contrast) text(at *report.Source) string {
	if lines := c.run.Source(at.File); at.Line >= 1 && at.Line <= len(lines) {
		return lines[at.Line-1]
	}
	return ""
}
