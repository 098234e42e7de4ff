package diagnose

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
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
	at      []int // of one that is not for all threads: what the interval has of that barrier
	lines   []int // that have it
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
	if len(found.at) > 0 {
		found.at, found.lines = q.sameBarrier(file, x, found.at[0])
	}
	return found
}

// sameBarrier lists the instructions in an interval that synchronise at the named barrier of one of them, and
// their lines.
func (q *inquiry) sameBarrier(file string, x interval, one int) (at, lines []int) {
	fn := q.run.Entry()
	id := fn.Body[one].Args[0]
	same := func(o ptx.Operand) bool { return o.Kind == id.Kind && o.Imm == id.Imm && o.Reg == id.Reg }
	for i, in := range fn.Body {
		l := in.Loc.Outermost()
		if !blockBarrier(in) || l == nil || path.Base(l.Name) != path.Base(file) || !x.near(l.Line) ||
			!same(in.Args[0]) {
			continue
		}
		if at = append(at, i); !slices.Contains(lines, l.Line) {
			lines = append(lines, l.Line)
		}
	}
	return at, lines
}

// blockBarrier reports whether an instruction synchronises at one of the block's barriers, by its number.
func blockBarrier(in *ptx.Instr) bool {
	return in.Kind() == isa.Barrier && len(in.Args) > 0
}

// inItsPlace tries a barrier of all threads in the place of the one that is for some, and words the remedy so
// where that is as right.
func (q *inquiry) inItsPlace(s *suspect, r *remedy, file string, st *standing) error {
	if len(st.at) == 0 || r.edits == nil || !strings.HasPrefix(r.advice, "put "+blockSync.source+" ") ||
		!q.allRight(s.alone) {
		return nil
	}
	name, own, several := q.run.Entry().Name, r.edits, len(st.lines) > 1
	instead := *r
	instead.edits = func(run *debugkern.Run) (list []ptx.Edit) {
		if several { // some threads come to each: the one for all stands between them and what follows
			list = slices.Clone(own(run))
		}
		for _, at := range st.at {
			if !several {
				list = append(list, ptx.Edit{Kind: ptx.InsertBarrier, Func: name, At: at})
			}
			list = append(list, ptx.Edit{Kind: ptx.Remove, Func: name, At: at})
		}
		return list
	}
	alone, err := q.try(nil, &instead)
	if err != nil || alone == nil || !q.nothingWrong(alone) {
		return err
	}
	place := fmt.Sprintf("in place of the barrier of line %d", st.lines[0])
	if len(st.lines) > 1 {
		var numbers []string
		for _, n := range st.lines {
			numbers = append(numbers, strconv.Itoa(n))
		}
		place = "in place of the barriers of lines " + strings.Join(numbers, " and ")
	}
	instead.text = strings.Replace(r.text, r.where, place, 1)
	instead.advice = strings.Replace(r.advice, r.where, place, 1)
	instead.where, instead.inPlace = place, true
	if len(st.lines) == 1 {
		if w := q.fullBarrier(file, st.lines[0]); w != nil {
			s.cause.Rewrite = w
			instead.advice = fmt.Sprintf("at %s:%d: write %s in place of %s", path.Base(file), w.Line,
				quote(w.Now), quote(w.Was))
		}
	}
	*r, s.alone = instead, alone
	return nil
}

var asmBarrier = regexp.MustCompile(`^asm\s+volatile\s*\(\s*"bar(?:rier)?\.[^;]*;[^;]*\)\s*;`)

// fullBarrier is a line with __syncthreads() in place of an asm statement that is a barrier of some threads;
// nil where the line has something else before it.
func (q *inquiry) fullBarrier(file string, n int) *Rewrite {
	lines := q.run.Source(file)
	if n > len(lines) {
		return nil
	}
	line := strings.TrimSpace(lines[n-1])
	if !asmBarrier.MatchString(line) {
		return nil
	}
	now := asmBarrier.ReplaceAllString(line, blockSync.source+";")
	return &Rewrite{File: file, Line: n, Was: line, Now: now}
}

// nearBarrier is how many lines from the ends of a loop a barrier of the next iteration may stand.
const nearBarrier = 12

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
	st.advice = fmt.Sprintf("the barrier of line %d is under a condition: write %s in place of %s", n,
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
		l := in.Loc.Outermost()
		if !blockBarrier(in) || l == nil || l.Line != n || path.Base(l.Name) != path.Base(file) {
			continue
		}
		text := quote(strings.TrimSpace(lines[n-1]))
		if in.Has("arrive") {
			return &standing{why: fmt.Sprintf("at the barrier of line %d threads arrive (%s) and do not wait, so that "+
				"nothing orders what they do behind it: %s", n, in.Opcode(), text), at: []int{i}}
		}
		if k := len(in.Args); k > 1 && in.Args[k-1].Kind == ptx.OpInt && int(in.Args[k-1].Imm) < all {
			return &standing{why: fmt.Sprintf("the barrier of line %d is one of %d of the block's %d threads: %s", n,
				in.Args[k-1].Imm, all, text), at: []int{i}}
		}
	}
	return nil
}
