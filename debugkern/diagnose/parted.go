package diagnose

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/target"
)

// Threads that wait for others which never come have parted from them at a branch: the innermost one that
// decides about the place where they wait, and at which the two went different ways. What it guards is called
// by some, and meant for all.

// parting is lanes of a warp, or warps of a block, that wait at an instruction for others.
type parting struct {
	at         int // the instruction
	warp       int // whose lanes these are; -1: warps
	here, away uint32
	stands     int // where the first of those who are away stands, -1: it has exited
	branch     int
}

// collective are instructions that the lanes of a warp execute together and that are no barriers.
var collective = []isa.Kind{
	isa.Shuffle, isa.Vote, isa.Multiply, isa.LoadMatrix, isa.StoreMatrix, isa.MoveMatrix,
}

// part finds where the threads of a suspect that wait for each other have parted, and tries the remedy of it.
func (q *inquiry) part(s *suspect) error {
	fn := q.run.Entry()
	if fn == nil || s.remedy != nil || s.cause.Finding < 0 ||
		!slices.Contains([]string{"deadlock", "barrier"}, s.cause.Kind) ||
		q.misnumbered(&q.doc.Findings[s.cause.Finding]) {
		return nil
	}
	if s.parted = q.bypassed(&q.doc.Findings[s.cause.Finding]); s.parted != nil {
		return nil
	}
	h, err := q.hangIn(s.cause.Place.Block)
	if err != nil {
		return err
	}
	if h != nil {
		if s.circular = h.circle(); s.circular != nil {
			return nil
		}
	}
	st, err := scene.Stand(q.ctx, q.run, s.cause.Place.Block)
	if err != nil {
		return q.fatal(err)
	}
	p := partedAt(fn, st)
	if p == nil {
		return nil
	}
	if s.parted = q.partedText(fn, p); s.parted == nil {
		return nil
	}
	r := q.hoisted(fn, p)
	if r == nil {
		return nil
	}
	_, err = q.adopt(s, r)
	return err
}

// partedAt finds waiting threads, and the branch at which they parted from those who do not come: lanes of
// one warp before warps of the block. nil where no branch separates them.
func partedAt(fn *ptx.Func, st *scene.Standing) *parting {
	warps := map[int]uint32{} // by instruction that is a barrier of the block: the warps there
	for w := range st.Warps {
		for _, g := range st.Warps[w].Groups {
			if g.PC >= len(fn.Body) {
				continue
			}
			k := fn.Body[g.PC].Kind()
			if k == isa.Barrier && g.Mask == st.Exist[w] && w < 32 {
				warps[g.PC] |= 1 << w
				continue
			}
			if k != isa.WarpBarrier && k != isa.Barrier && !slices.Contains(collective, k) {
				continue
			}
			p := &parting{at: g.PC, warp: w, here: g.Mask, away: st.Exist[w] &^ g.Mask}
			if p.separate(fn, st, func(i int) (warp, lane int) { return w, i }) {
				return p
			}
		}
	}
	first := func(i int) (warp, lane int) { return i, bits.TrailingZeros32(st.Exist[i]) }
	for at := range fn.Body {
		if here := warps[at]; here != 0 {
			p := &parting{at: at, warp: -1, here: here, away: (1<<len(st.Warps) - 1) &^ here}
			if p.separate(fn, st, first) || p.separateLast(fn, st, first) {
				return p
			}
		}
	}
	return nil
}

// separateLast is separate for those alone of the absent warps that have exited and were the last to part: of
// others that have exited the way is another one from the beginning, as they have another part to do.
func (p *parting) separateLast(
	fn *ptx.Func, st *scene.Standing, thread func(int) (warp, lane int),
) bool {
	last, left := -1, uint32(0)
	for set := p.away; set != 0; set &= set - 1 {
		one := set &^ (set - 1)
		if st.At(thread(bits.TrailingZeros32(one))) >= 0 {
			continue
		}
		switch b, _ := separating(fn, p.at, st, p.here, one, thread); {
		case b < 0:
		case b > last:
			last, left = b, one
		case b == last:
			left |= one
		}
	}
	if left == 0 {
		return false
	}
	p.branch, p.away, p.stands = last, left, -1
	return true
}

// separate finds the branch at which those who are there parted from those who are away.
func (p *parting) separate(fn *ptx.Func, st *scene.Standing, thread func(int) (warp, lane int)) bool {
	if p.away == 0 {
		return false
	}
	p.branch, _ = separating(fn, p.at, st, p.here, p.away, thread)
	if p.branch < 0 {
		return false
	}
	p.stands = st.At(thread(bits.TrailingZeros32(p.away)))
	return true
}

// separating is the innermost branch about an instruction at which all of one set of threads went one way,
// and all of another the other, with the way of the first; -1 where there is none. thread is the warp and
// lane that a bit of the sets stands for.
func separating(
	fn *ptx.Func, at int, st *scene.Standing, one, other uint32, thread func(int) (warp, lane int),
) (branch int, way scene.Way) {
	for _, b := range deciding(fn, at) {
		here, away := wayOf(st, b, one, thread), wayOf(st, b, other, thread)
		if here != scene.Unknown && away != scene.Unknown && here != away {
			return b, here
		}
	}
	return -1, scene.Unknown
}

// wayOf is which way all threads of a set went at a branch; Unknown where they went different ways, or one
// has not come to it.
func wayOf(st *scene.Standing, branch int, set uint32, thread func(int) (warp, lane int)) scene.Way {
	all := scene.Unknown
	for ; set != 0; set &= set - 1 {
		warp, lane := thread(bits.TrailingZeros32(set))
		w := st.Way(branch, warp, lane)
		if w == scene.Unknown || all != scene.Unknown && w != all {
			return scene.Unknown
		}
		all = w
	}
	return all
}

// parted is what a diagnosis says of threads that have parted.
type parted struct {
	title, why, advice string
	at                 *report.Source // the branch
	left               uint32         // warps that have left the kernel there
	stuck              uint32         // warps that wait for those who are away, and come no further
}

// partedText words where threads have parted.
func (q *inquiry) partedText(fn *ptx.Func, p *parting) *parted {
	at, branch := blame(fn, p.at), blame(fn, p.branch)
	if at == nil || branch == nil {
		return nil
	}
	here, away := members("lane", p.here), members("lane", p.away)
	if p.warp < 0 {
		here, away = members("warp", p.here), members("warp", p.away)
	} else {
		here += fmt.Sprintf(" of warp %d", p.warp)
	}
	where := "have left the kernel"
	if p.stands >= 0 {
		where = "stand at " + lineText(blame(fn, p.stands), at)
	}
	in := fn.Body[p.at]
	line := q.quoted(branch)
	x := &parted{at: branch, stuck: p.here}
	if p.warp >= 0 {
		x.stuck = 1 << p.warp
	}
	if p.warp < 0 && p.stands < 0 {
		x.left = p.away
	}
	x.title = fmt.Sprintf("%s %s in %s at %s for %s", here, waiting(p.here), in.Opcode(), callText(at), away)
	x.why = fmt.Sprintf("%s %s: they parted at %s, %s", away, where, lineText(branch, at), quote(line))
	what := "this " + in.Opcode()
	if sites := at.Calls.Sites(); len(sites) > 0 {
		what = fmt.Sprintf("%s, called at line %d,", target.ShortName(at.Function), sites[len(sites)-1].Line)
	} else if text := q.quoted(at); text != "" {
		what = quote(text)
	}
	x.advice = fmt.Sprintf("execute %s before the branch at %s, %s, so that %s take part", what, branch.At(),
		quote(line), away)
	return x
}

// members names the members of a set: "lane 0", "lanes 1-31", "warps 0 and 2".
func members(what string, set uint32) string {
	var parts []string
	for i := 0; i < 32; i++ {
		if set>>i&1 == 0 {
			continue
		}
		n := bits.TrailingZeros32(^(set >> i))
		if n > 1 {
			parts = append(parts, fmt.Sprintf("%d-%d", i, i+n-1))
		} else {
			parts = append(parts, fmt.Sprint(i))
		}
		i += n
	}
	if bits.OnesCount32(set) > 1 {
		what += "s"
	}
	return what + " " + strings.Join(parts, ", ")
}

// hoisted has every lane execute what a branch of one basic block guards, but for its stores: as it is where
// a call stands before the branch, and its result is stored under it. All copies of the two lines are
// changed. nil where what the block computes is used behind it.
func (q *inquiry) hoisted(fn *ptx.Func, p *parting) *remedy {
	if p.warp < 0 {
		return nil
	}
	var edits []ptx.Edit
	g := cfg.New(fn)
	live := cfg.NewLiveness(g, func(int) {})
	at, branch := blame(fn, p.at), blame(fn, p.branch)
	for b := range g.Succ {
		i := g.Start[b+1] - 1
		in := fn.Body[i]
		if in.Kind() != isa.Branch || in.Guard == nil || *blame(fn, i) != *branch || b+1 >= len(g.Succ) ||
			!slices.ContainsFunc(instructionsAt(fn, at), func(k int) bool { return g.Of[k] == b+1 }) {
			continue
		}
		own, ok := guardedStores(fn, g, live, b+1, in.Guard)
		if !ok {
			return nil
		}
		edits = append(append(edits, ptx.Edit{Kind: ptx.Remove, Func: fn.Name, At: i}), own...)
	}
	if len(edits) == 0 {
		return nil
	}
	return &remedy{
		text:  fmt.Sprintf("with every lane in it, and only the stores under the condition of %s,", branch.At()),
		edits: func(*debugkern.Run) []ptx.Edit { return edits },
	}
}

// outward reports whether an instruction of a kind does more than give its thread registers, which others may
// see.
func outward(k isa.Kind) bool {
	return k.Writes() || k.Async() || k.Wgmma() || k == isa.MBarrier || k.Leaves() || k == isa.Call
}

// guardedStores puts the stores of a basic block under the condition that leads to it: the opposite of a
// branch's guard. ok is false where the block does more than store that is seen behind it.
func guardedStores(
	fn *ptx.Func, g *cfg.Graph, live *cfg.Liveness, block int, guard *ptx.Guard,
) (edits []ptx.Edit, ok bool) {
	if len(g.Succ[block]) != 1 {
		return nil, false
	}
	behind := live.Before(g.Start[g.Succ[block][0]])
	var read, written []int32
	for i := g.Start[block]; i < g.Start[block+1]; i++ {
		in := fn.Body[i]
		cfg.Uses(in, &read, &written)
		if slices.ContainsFunc(written, func(r int32) bool { return r == guard.Reg || behind.Has(r) }) {
			return nil, false
		}
		switch k := in.Kind(); {
		case k == isa.Store && in.Guard == nil:
			edits = append(edits, ptx.Edit{Kind: ptx.Replace, Func: fn.Name, At: i,
				New: in.With(func(in *ptx.Instr) {
					in.Guard = &ptx.Guard{Reg: guard.Reg, Neg: !guard.Neg}
				})})
		case outward(k):
			return nil, false
		}
	}
	return edits, len(edits) > 0
}
