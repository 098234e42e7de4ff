package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/isa/cfg"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/repair"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
	"tilescope/debugkern/scene"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// A compiler computes what does not change in a loop before it, in bytes, and gives the instruction the line
// of the loop's head. The source has it in the index of the accesses that use the address, as a number of
// elements or rows: there an edit of it is to be made.

// usersOf lists the instructions whose addresses an instruction takes part in, those of probes left out.
func (q *inquiry) usersOf(at int) []int {
	fn := q.run.Entry()
	var out []int
	for i, in := range fn.Body {
		k := in.Kind()
		if !k.Reads() && !k.Writes() || in.Space() == ptx.SpaceParam || fromProbe(in.Loc) {
			continue
		}
		if q.sliced().addresses([]int{i})[at] {
			out = append(out, i)
		}
	}
	return out
}

// usedIn are the lines of the accesses whose addresses an edited instruction takes part in, where that has
// the line of a loop's head; nil where it has another, or these are more than a message names.
func (q *inquiry) usedIn(c *repair.Cure) []*report.Source {
	if !headed.MatchString(bare(q.quoted(report.SourceOf(c.Source)))) {
		return nil
	}
	var out []*report.Source
	for _, i := range q.usersOf(c.At) {
		at := blame(q.run.Entry(), i)
		if at != nil && !slices.ContainsFunc(out, func(o *report.Source) bool { return o.At() == at.At() }) {
			out = append(out, at)
		}
	}
	if len(out) > mostCited {
		return nil
	}
	return out
}

// conditionOf is the line of a condition that a compiler has put before a loop: that of the only if which is
// around what one of a branch's ways has and the other has not. nil where there is none, or several.
func (q *inquiry) conditionOf(branch int) *report.Source {
	fn := q.run.Entry()
	g := cfg.New(fn)
	b := g.Of[branch]
	type line struct {
		file string
		n    int
	}
	ways := map[line]int{} // how many ways have it
	for _, s := range g.Succ[b] {
		own := map[line]bool{}
		reached := g.Reach(s, b, true)
		reached[s] = true
		for k, reached := range reached {
			for i := g.Start[k]; reached && i < g.Start[k+1]; i++ {
				if loc := fn.Body[i].Loc; loc != nil && !loc.Within(target.IsProbe) {
					l := loc.Outermost()
					own[line{l.Name, l.Line}] = true
				}
			}
		}
		for l := range own {
			ways[l]++
		}
	}
	found := line{}
	head := target.Blame(fn, branch)
	for l, n := range ways {
		text := q.run.Source(l.file)
		if n != 1 || text == nil {
			continue
		}
		switch at := rewrite.Parse(l.file, strings.Join(text, "\n")).If(l.n); {
		case at == 0 || l.file == head.File && at < head.Line: // none, or one that is around the loop
		case found.n == 0:
			found = line{l.file, at}
		case found != line{l.file, at}:
			return nil
		}
	}
	if found.n == 0 {
		return nil
	}
	return report.SourceOf(&target.Source{File: found.file, Line: found.n})
}

// inUnits words an edit of a mask, where the masked number is a part of an address in bytes, in units of the
// array's outermost index that both masks are whole numbers of.
func (q *inquiry) inUnits(c *repair.Cure) {
	fn := q.run.Entry()
	in := fn.Body[c.At]
	to := c.Edits[0].New
	if c.Kind != repair.Number || in.Op != "and" || to == nil || to.Op != "and" ||
		in.Args[2].Kind != ptx.OpInt || to.Args[2].Kind != ptx.OpInt {
		return
	}
	was, now := int64(in.Args[2].Imm), int64(to.Args[2].Imm)
	list, _, err := q.base.Reaches(q.ctx, q.base.Blocks()[0], q.usersOf(c.At))
	if err != nil {
		return
	}
	of, axis, unit := "", -1, int64(0)
	for _, r := range list {
		l, ok := q.layoutOf(r.Base)
		for _, t := range r.Terms {
			if t.At != c.At {
				continue
			}
			a := -1
			if ok && t.Factor > 0 {
				a = l.axis(gcd(was, now) * t.Factor)
			}
			if a < 0 || l.strides[a]%t.Factor != 0 || of != "" && (of != r.Base || axis != a) {
				return // it is no index, or one of several arrays
			}
			of, axis, unit = r.Base, a, l.strides[a]/t.Factor
		}
	}
	if unit <= 1 || was%unit != 0 || now%unit != 0 {
		return
	}
	l, _ := q.layoutOf(of)
	x := excess{rank: len(l.dims)}
	c.Was, c.Now = maskedBy(was/unit), maskedBy(now/unit)
	c.What = fmt.Sprintf("%s in place of %s in %s of %s", c.Now, c.Was, x.index(axis), of)
}

// maskedBy is a mask as the source may have it.
func maskedBy(mask int64) string {
	if mask > 0 && mask&(mask+1) == 0 {
		return fmt.Sprintf("%% %d", mask+1)
	}
	return fmt.Sprintf("& %d", mask)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// meeting says of a race that an edit of an index puts right which threads meet in which cells by the index
// as it is (parts), and which parts of the array no thread uses.
func (q *inquiry) meeting(s *suspect, f *report.Finding, parts string, w *scene.Contested) error {
	s.cause.because(parts + " at " + callText(f.Source))
	if law := w.Law(); law != "" {
		s.cause.because(law)
	}
	c, err := scene.Cover(q.ctx, q.run, []probes.Dim3{f.Block}, f.Variable)
	if err != nil || c == nil {
		return q.fatal(err)
	}
	if idle := c.Idle(); len(idle) > 0 {
		s.cause.because(fmt.Sprintf("no thread of the block uses %s of %s, which has %d", buffersText(idle),
			f.Variable, c.Buffers()))
	}
	return nil
}

// buffersText names parts of an array by its first index: "[2] and [3]".
func buffersText(list []int) string {
	text := ""
	for i, n := range list {
		switch {
		case i > 0 && i == len(list)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprintf("[%d]", n)
	}
	return text
}
