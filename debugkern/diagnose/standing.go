package diagnose

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	"tilescope/debugkern/ptx"
)

// Where a barrier is missing, the source may have one that does not cover all threads: it is under a
// condition that some threads or iterations do not meet, counts a part of the block, or is a bar.arrive,
// which does not wait. Then that barrier is what to change.

// standing is such a barrier.
type standing struct {
	why     string // what it lacks; "": advice has that
	advice  string // what to write there, behind the advice to put a barrier there; "": what why says
	rewrite *Rewrite
}

// standingIn is the one barrier that stands in an interval and is not for all, nil where there is none, or
// where there are several.
func (q *inquiry) standingIn(file string, x interval) *standing {
	lines := q.run.Source(file)
	var found *standing
	n := 0
	for i := range lines {
		if !x.near(i + 1) {
			continue
		}
		if st := cmp.Or(q.underCondition(file, lines, i+1), q.ofSome(file, lines, i+1)); st != nil {
			found = st
			n++
		}
	}
	if n != 1 {
		return nil
	}
	return found
}

// nearBarrier is how many lines from the ends of a loop a barrier of the next iteration may stand.
const nearBarrier = 6

// near reports whether a line is in an interval, or close to its ends where that is all of a loop but what
// lies between them.
func (x interval) near(n int) bool {
	if x.next {
		return n > x.first && n <= x.first+nearBarrier || n < x.then && n >= x.then-nearBarrier
	}
	return n > x.first && n < x.then
}

var skippedBarrier = regexp.MustCompile(`^\s*if\s*(\(.*\))\s*(__syncthreads\s*\(\s*\)\s*;.*)$`)

// underCondition is a barrier of the block under a condition of its line, nil where there is none.
func (q *inquiry) underCondition(file string, lines []string, n int) *standing {
	line := lines[n-1]
	m := skippedBarrier.FindStringSubmatch(line)
	if m == nil || !skippedBarrier.MatchString(bare(line)) {
		return nil
	}
	st := &standing{why: fmt.Sprintf("line %d has a barrier there, under a condition: %s", n,
		quote(strings.TrimSpace(line)))}
	for name := range q.run.Selection.Flags {
		if strings.Contains(m[1], name) {
			return st // it is one of another build
		}
	}
	st.rewrite = &Rewrite{File: file, Line: n, Was: strings.TrimSpace(line), Now: strings.TrimSpace(m[2])}
	st.why = ""
	st.advice = fmt.Sprintf("line %d has one there, under a condition: write %s in place of %s", n,
		quote(st.rewrite.Now), quote(st.rewrite.Was))
	return st
}

// ofSome is a barrier on a line that counts fewer threads than the block has, or at which threads arrive
// without waiting; nil where there is none.
func (q *inquiry) ofSome(file string, lines []string, n int) *standing {
	fn := q.run.Entry()
	if fn == nil {
		return nil
	}
	all := q.run.Plan.Block.Count()
	for i := range fn.Body {
		in := fn.Body[i]
		barrier := in.Op == "barrier" && !in.Has("cluster") || in.Op == "bar" && !in.Has("warp")
		l := in.Loc.Outermost()
		if !barrier || l == nil || l.Line != n || path.Base(l.Name) != path.Base(file) {
			continue
		}
		text := quote(strings.TrimSpace(lines[n-1]))
		if in.Has("arrive") {
			return &standing{why: fmt.Sprintf("at the barrier of line %d threads arrive (%s) and do not wait, so that "+
				"nothing orders what they do behind it: %s", n, in.Opcode(), text)}
		}
		if k := len(in.Args); k > 1 && in.Args[k-1].Kind == ptx.OpInt && int(in.Args[k-1].Imm) < all {
			return &standing{why: fmt.Sprintf("the barrier of line %d is one of %d of the block's %d threads: %s", n,
				in.Args[k-1].Imm, all, text)}
		}
	}
	return nil
}
