package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/check"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// remedy is something that may put a suspect right, virtually: edits of the PTX, a stage replaced by the
// reference, or a planted fault left out.
type remedy struct {
	text       string // "with …": what is put right, as the start of a sentence
	advice     string // what to change in the source; "" where the text of the suspect has it
	edits      func(*debugkern.Run) []ptx.Edit
	substitute []probes.Stage
	without    string         // a planted fault
	at         *report.Source // the line to change, where that is none of the finding's; nil: it is
	cite       bool           // whether the advice quotes that line
	build      *build.Build   // the kernel with another source; nil: it is the run's
	variant    int            // which of several kernels in build
	where      string         // "between lines 461 and 474", where text and advice have it; "": not
	file       string         // of those lines
	bounds     bool           // it changes nothing but conditions
	inPlace    bool           // it stands in the place of another barrier, and where says of which
	waits      int            // the line of the wait that it makes longer; 0: it makes none longer
}

// insertion is a kind of synchronisation that can be put in.
type insertion struct {
	kind   ptx.EditKind
	source string // as the source spells it
}

var (
	blockSync = insertion{ptx.InsertBarrier, "__syncthreads()"}
	warpSync  = insertion{ptx.InsertWarpSync, "__syncwarp()"}
	waitAll   = insertion{ptx.InsertWaitAll, "cp.async.wait_all"}
)

// candidates lists what may put a suspect of findings right, the likeliest first.
func (q *inquiry) candidates(s *suspect) []remedy {
	fn := q.run.Entry()
	if fn == nil || s.exclusive || s.cause.Place.Source == nil {
		return nil
	}
	list := remediesFor(fn, &q.doc.Findings[s.cause.Finding])
	slices.SortStableFunc(list, func(a, b remedy) int {
		return cmp.Or(cmp.Compare(a.strength(), b.strength()), flag(!q.idle(&a))-flag(!q.idle(&b)))
	})
	return list
}

// remediesFor lists the changes of synchronisation that may make a finding go, those first that cost least. A
// barrier is put only where all threads that it is for come together.
func remediesFor(fn *ptx.Func, f *report.Finding) []remedy {
	var list []remedy
	switch f.Kind {
	case "race":
		if lacksFence(f) {
			list = fenceRemedies(fn, f)
			break
		}
		list = append(append(jumped(fn, f), checked(fn, f)...), raceRemedies(fn, f)...)
	case "cp-async":
		list = append(append(append(moveRemedies(fn), commitRemedies(fn)...), asyncRemedies(fn, f)...),
			checked(fn, f)...)
	case "barrier":
		list = barrierRemedies(fn, f)
	case "shuffle":
		list = shuffleRemedies(fn, f)
	case "wgmma":
		list = append(groupRemedies(fn, f), groupWaitRemedies(fn, f)...)
	}
	if len(list) == 0 {
		return nil
	}
	together := check.UniformityOf(fn)
	list = slices.DeleteFunc(list, func(r remedy) bool {
		return slices.ContainsFunc(r.edits(nil), func(e ptx.Edit) bool { return !together.Allows(e) })
	})
	if f.Placed {
		for i := range list {
			list[i].placed()
		}
	}
	slices.SortStableFunc(list, func(a, b remedy) int { return cmp.Compare(a.strength(), b.strength()) })
	return list
}

// idle reports a remedy that makes a wait longer which waits for nothing as it stands: that stops no copy
// that the kernel lets run on purpose.
func (q *inquiry) idle(r *remedy) bool {
	return r.waits > 0 && slices.ContainsFunc(q.doc.Findings, func(f report.Finding) bool {
		return f.Kind == "redundant-barrier" && f.Source != nil && f.Source.Outermost().Line == r.waits &&
			strings.Contains(f.Message, target.NeverWaits)
	})
}

// flag is 1 for true, to compare by.
func flag(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// placed words a remedy of a kernel whose barriers are its compiler's.
func (r *remedy) placed() {
	spell := strings.NewReplacer(
		"__syncthreads()", "a barrier of the block", "__syncwarp()", "a barrier of the warp")
	r.text = spell.Replace(r.text)
	r.advice = "the compiler should have placed " + spell.Replace(strings.TrimPrefix(r.advice, "put "))
}

// strength orders changes by what they stop: one copy waited for, a warp, a block, and how many
// of them are needed.
func (r *remedy) strength() int {
	kinds := map[ptx.EditKind]bool{}
	for _, e := range r.edits(nil) {
		kinds[e.Kind] = true
	}
	n := 0
	for kind, cost := range map[ptx.EditKind]int{
		ptx.Insert: 1, ptx.SetWait: 1, ptx.InsertWaitAll: 2, ptx.InsertWarpSync: 4, ptx.InsertBarrier: 8,
	} {
		if kinds[kind] {
			n += cost
		}
	}
	if kinds[ptx.Remove] {
		n = 0 // moved, not added
	}
	return n
}

// checked is the remedy that the checker itself worked out: the places that order all that
// the finding counts.
func checked(fn *ptx.Func, f *report.Finding) []remedy {
	if len(f.Remedy) == 0 || slices.ContainsFunc(f.Remedy, func(e ptx.Edit) bool {
		return e.Func != fn.Name || e.At >= len(fn.Body)
	}) {
		return nil
	}
	var names []string
	for _, e := range f.Remedy {
		for _, ins := range []insertion{waitAll, blockSync, warpSync} {
			if ins.kind == e.Kind && !slices.Contains(names, ins.source) {
				names = append(names, ins.source)
			}
		}
	}
	where, between, file := "before "+blame(fn, f.Remedy[0].At).At(), "", ""
	if first, then := missingBetween(f); first != nil && first.File == then.File {
		where = interval{first.Line, then.Line, first.Line > then.Line}.String()
		between, file = where, first.File
	}
	what := strings.Join(names, " and ") + " " + where
	return []remedy{
		{text: "with " + what, advice: "put " + what, where: between, file: file,
			edits: func(*debugkern.Run) []ptx.Edit { return f.Remedy }},
	}
}

// number reads a line number.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// raceRemedies puts the synchronisation that the finding names, then the others, at the places
// between the two sides.
func raceRemedies(fn *ptx.Func, f *report.Finding) []remedy {
	var out []remedy
	for _, ins := range named(f) {
		for _, g := range gaps(fn, f) {
			out = append(out, insert(fn, g, ins))
		}
	}
	return out
}

// named orders the synchronisations by what a finding says is missing.
func named(f *report.Finding) []insertion {
	missing := ""
	if f.Missing != nil {
		missing = *f.Missing
	}
	switch {
	case strings.Contains(missing, "syncwarp"), strings.Contains(missing, "bar.warp"),
		strings.Contains(missing, report.PlacedWarpBarrier):
		return []insertion{warpSync, blockSync}
	case strings.Contains(missing, "wait"):
		return []insertion{waitAll, blockSync}
	case len(f.Warps) == 1:
		return []insertion{warpSync, blockSync}
	}
	return []insertion{blockSync}
}

// gap is a place of the source between two lines: before each of these body indices, for a line that was
// unrolled or inlined became several.
type gap struct {
	at    []int
	where string // "between lines 461 and 474"
	file  string // of these lines
}

// missingPlaces are the two lines in the text of what is missing, or the one.
var missingPlaces = regexp.MustCompile(
	`between (?:([^\s:]+):(\d+) and ([^\s:]+):(\d+)|the accesses of ([^\s:]+):(\d+))`)

// missingBetween is the two lines between which a finding says that a synchronisation is missing; nil where
// it names none.
func missingBetween(f *report.Finding) (first, then *report.Source) {
	if f.Missing == nil {
		return nil, nil
	}
	m := missingPlaces.FindStringSubmatch(*f.Missing)
	if m == nil {
		return nil, nil
	}
	if m[5] != "" {
		at := report.Source{File: m[5], Line: number(m[6])}
		first, then = &at, &report.Source{File: at.File, Line: at.Line}
		return first, then
	}
	return &report.Source{File: m[1], Line: number(m[2])}, &report.Source{File: m[3], Line: number(m[4])}
}

// gaps lists where a synchronisation may stand to order the two sides of a finding: between the lines that
// the finding names, then between its sides; right before the second, right after the first, or where
// branches after it meet.
func gaps(fn *ptx.Func, f *report.Finding) []gap {
	var out []gap
	add := func(first, then *report.Source) {
		for _, g := range append(gapsBetween(fn, first, then), gapsBehind(fn, first, then)...) {
			if !slices.ContainsFunc(out, func(o gap) bool { return slices.Equal(o.at, g.at) }) {
				out = append(out, g)
			}
		}
	}
	if first, then := missingBetween(f); first != nil {
		add(first, then)
	}
	other := f.Other
	if other == nil {
		other = f.Source
	}
	add(f.Source, other)
	add(other, f.Source)
	return out
}

// gapsBetween lists the gaps from one line to another that is executed after it, the next time round a loop
// if it stands before it.
func gapsBetween(fn *ptx.Func, first, then *report.Source) []gap {
	a, b := accessesAt(fn, first), accessesAt(fn, then)
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	where := interval{first.Line, then.Line, false}.String()
	again := interval{first.Line, then.Line, true}.String()
	isFirst, isThen := set(a), set(b)
	var probe, branch, before, after []int
	// the first line's last access that none of the second has followed; the probe and the
	// condition behind it
	last, probed, branched := -1, -1, -1
	for i, in := range fn.Body {
		if isThen[i] && last >= 0 {
			if branched < 0 {
				branched = i
			}
			if probed < 0 {
				probed = branched
			}
			probe, branch, before, after = append(probe, probed), append(branch, branched), append(before, i),
				append(after, last+1)
			last = -1
		}
		switch {
		case isFirst[i]:
			last, probed, branched = i, -1, -1
		case last < 0:
		case fromProbe(in.Loc):
			if probed < 0 {
				probed = i
			}
		case in.Op == "bra" && in.Guard != nil: // whoever does not take it has to be waited for as well
			branched = i
		}
	}
	if len(before) > 0 {
		file := first.File
		return []gap{{probe, where, file}, {branch, where, file}, {before, where, file}, {after, where, file}}
	}
	end := a[len(a)-1]
	next := end + 1
	for next < len(fn.Body) && !fromProbe(fn.Body[next].Loc) {
		next++
	}
	var out []gap
	for _, at := range []int{next, end + 1, joins(fn, end), b[0]} {
		if at > 0 && at < len(fn.Body) {
			out = append(out, gap{[]int{at}, again, first.File})
		}
	}
	return out
}

// gapsBehind lists the gaps behind each copy that unrolling made of a line which reads and then writes what
// it reads the next time: right behind a copy's last write, and where the branches behind that meet. nil
// where the two lines are not one, or it does not do so.
func gapsBehind(fn *ptx.Func, first, then *report.Source) []gap {
	accesses := accessesAt(fn, first)
	if first.File != then.File || first.Line != then.Line || len(accesses) == 0 ||
		!fn.Body[accesses[0]].Kind().Reads() {
		return nil
	}
	var meet, behind []int
	for k, i := range accesses {
		next := len(fn.Body)
		if k+1 < len(accesses) {
			next = accesses[k+1]
		}
		last := next == len(fn.Body) || fn.Body[next].Kind().Reads()
		if !last || !fn.Body[i].Kind().Writes() {
			continue
		}
		behind = append(behind, i+1)
		if at := joins(fn, i); at >= 0 && at <= next {
			meet = append(meet, at)
		}
	}
	where := fmt.Sprintf("behind line %d, in each iteration of its loop", first.Line)
	var out []gap
	for _, at := range [][]int{behind, meet} {
		if len(at) > 0 {
			out = append(out, gap{at, where, first.File})
		}
	}
	return out
}

// accessesAt lists the instructions of a line that access memory or synchronise copies, all of the line where
// none does: addresses are computed wherever the compiler likes.
func accessesAt(fn *ptx.Func, at *report.Source) []int {
	all := instructionsAt(fn, at)
	var out []int
	for _, i := range all {
		if k := fn.Body[i].Kind(); k.Reads() || k.Writes() || k.Async() {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// set is the set of some body indices.
func set(at []int) map[int]bool {
	m := map[int]bool{}
	for _, i := range at {
		m[i] = true
	}
	return m
}

// fromProbe reports whether an instruction belongs to a probe: what a probe copies must be complete as well.
func fromProbe(l *ptx.Loc) bool { return l.Within(target.IsProbe) }

// joins is the first instruction after i that a branch leads to.
func joins(fn *ptx.Func, i int) int {
	for i++; i < len(fn.Body); i++ {
		if len(fn.Body[i].Labels) > 0 {
			return i
		}
	}
	return -1
}

// insert is synchronisations put into a gap, one after the other.
func insert(fn *ptx.Func, g gap, list ...insertion) remedy {
	var names []string
	var edits []ptx.Edit
	for _, at := range g.at {
		for _, ins := range list {
			edits = append(edits, ptx.Edit{Kind: ins.kind, Func: fn.Name, At: at})
		}
	}
	for _, ins := range list {
		names = append(names, ins.source)
	}
	what := strings.Join(names, " and ") + " " + g.where
	return remedy{
		text: "with " + what, advice: "put " + what, where: g.where, file: g.file,
		edits: func(*debugkern.Run) []ptx.Edit { return edits },
	}
}

// commitRemedies commits copies that no commit follows before the next wait for groups: such a wait does not
// cover them.
func commitRemedies(fn *ptx.Func) []remedy {
	var after, join []ptx.Edit
	last := -1
	var lines []int
	edit := func(at int) ptx.Edit {
		return ptx.Edit{
			Kind: ptx.Insert, Func: fn.Name, At: at,
			New: &ptx.Instr{Op: "cp", Mods: []string{"async", "commit_group"}},
		}
	}
	open := func(end int) {
		if line := outermostLine(fn.Body[last]); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		after = append(after, edit(last+1))
		if to := joins(fn, last); to > 0 && to < end {
			join = append(join, edit(to))
		}
		last = -1
	}
	for i, in := range fn.Body {
		switch {
		case in.Op != "cp" || !in.Has("async"):
		case in.Has("commit_group"):
			last = -1
		case !in.Has("wait_group") && !in.Has("wait_all"):
			if last >= 0 && outermostLine(fn.Body[last]) != outermostLine(in) {
				open(i)
			}
			last = i
		case in.Has("wait_group") && last >= 0:
			open(i)
		}
	}
	if last >= 0 && len(after) > 0 { // of the last copies in the text the wait comes in the next iteration
		open(len(fn.Body))
	}
	if len(after) == 0 {
		return nil
	}
	what := "cp.async.commit_group after the copies of line " + andList(lines)
	var out []remedy
	for _, edits := range [][]ptx.Edit{join, after} {
		if len(edits) == len(after) {
			out = append(out, remedy{
				text: "with " + what, advice: "put " + what,
				edits: func(*debugkern.Run) []ptx.Edit { return edits },
			})
		}
	}
	return out
}

// outermostLine is the line of the kernel's own text that an instruction was inlined into, 0 where it is not
// known.
func outermostLine(in *ptx.Instr) int {
	if l := in.Loc.Outermost(); l != nil {
		return l.Line
	}
	return 0
}

// asyncRemedies waits for one group more at each wait, or for all before the bytes are used,
// alone or with a barrier.
func asyncRemedies(fn *ptx.Func, f *report.Finding) []remedy {
	var out []remedy
	for _, at := range fn.Syncs(nil) {
		in := fn.Body[at]
		if !in.Has("wait_group") || len(in.Args) == 0 || in.Args[0].Kind != ptx.OpInt || in.Args[0].Imm == 0 {
			continue
		}
		n := in.Args[0].Imm - 1
		where := ""
		if l := fn.Body[at].Loc.Outermost(); l != nil {
			where = fmt.Sprintf(" at line %d", l.Line)
		}
		out = append(out, remedy{
			text:   fmt.Sprintf("with cp.async.wait_group %d instead of %d%s", n, n+1, where),
			advice: fmt.Sprintf("wait for all but %d groups%s", n, where),
			waits:  outermostLine(in),
			edits: func(*debugkern.Run) []ptx.Edit {
				return []ptx.Edit{{Kind: ptx.SetWait, Func: fn.Name, At: at, N: n}}
			},
		})
	}
	for _, list := range [][]insertion{{waitAll}, {blockSync}, {waitAll, blockSync}} {
		for _, g := range gaps(fn, f) {
			out = append(out, insert(fn, g, list...))
		}
	}
	return out
}

// allLanes is the mask of a whole warp.
const allLanes = math.MaxUint32

// shuffleRemedies names all lanes in the mask of the exchanges on a line, where it is a number.
func shuffleRemedies(fn *ptx.Func, f *report.Finding) []remedy {
	var edits []ptx.Edit
	was := uint64(0)
	for _, at := range instructionsAt(fn, f.Source) {
		in := fn.Body[at]
		last := len(in.Args) - 1
		if in.Op != "shfl" || last < 0 || in.Args[last].Kind != ptx.OpInt {
			continue
		}
		if mask := in.Args[last].Imm & allLanes; mask != allLanes {
			was = mask
			now := in.With(func(in *ptx.Instr) { in.Args[last].Imm = allLanes })
			edits = append(edits, ptx.Edit{Kind: ptx.Replace, Func: fn.Name, At: at, New: now})
		}
	}
	if len(edits) == 0 {
		return nil
	}
	return []remedy{{
		text: fmt.Sprintf("with the mask %#x in place of %#x", uint32(allLanes), was),
		advice: fmt.Sprintf("name all lanes that execute the exchange in its mask: %#x in place of %#x at %s",
			uint32(allLanes), was, f.Source.At()),
		edits: func(*debugkern.Run) []ptx.Edit { return edits },
	}}
}

// barrierRemedies moves a barrier that not all threads reach behind the condition that it stands under.
func barrierRemedies(fn *ptx.Func, f *report.Finding) []remedy {
	var out []remedy
	for _, at := range instructionsAt(fn, f.Source) {
		in := fn.Body[at]
		to := joins(fn, at)
		if !in.Kind().AtBarrier() || to < 0 {
			continue
		}
		what := fmt.Sprintf("the barrier of line %d moved out of its condition", f.Source.Line)
		out = append(out, remedy{
			text: "with " + what,
			advice: fmt.Sprintf(
				"move the barrier of line %d out of the condition that it stands under: every thread must reach it",
				f.Source.Line,
			),
			edits: func(*debugkern.Run) []ptx.Edit {
				return []ptx.Edit{
					{Kind: ptx.Remove, Func: fn.Name, At: at},
					{Kind: ptx.InsertBarrier, Func: fn.Name, At: to},
				}
			},
		})
	}
	return out
}
