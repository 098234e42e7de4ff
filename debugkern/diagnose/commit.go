package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/isa"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// Copies that no commit follows before the next wait lack a commit, or have it at another place: before the
// copies, so that each commit closes the group of the copies before, or behind the wait. A commit that is
// added makes the finding go in both cases; where one that is there makes it go by being moved, it is moved.

// transfers are the instructions of a function that copy asynchronously, close groups and wait, in the
// order of the text.
func transfers(fn *ptx.Func) []int {
	var out []int
	for i, in := range fn.Body {
		if transfersAsync(in) {
			out = append(out, i)
		}
	}
	return out
}

func transfersAsync(in *ptx.Instr) bool { return in.Op == "cp" && in.Has("async") }

func commits(in *ptx.Instr) bool { return in.Has("commit_group") }
func waits(in *ptx.Instr) bool   { return in.Has("wait_group") || in.Has("wait_all") }

// moveRemedies moves the commits of a line behind the copies that follow them, or before the wait that they
// follow, where copies are waited for that no commit follows.
func moveRemedies(fn *ptx.Func) []remedy {
	list := transfers(fn)
	loops := innermost(fn)
	near := func(a, b int) bool { // in one iteration of one loop
		return loops[a] == loops[b]
	}
	var lines []string
	lineOf := func(i int) string { return blame(fn, i).At() }
	note := func(i int) {
		if line := lineOf(i); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	// The commits next to copies that are open at a wait.
	for k, i := range list {
		if in := fn.Body[i]; commits(in) || waits(in) ||
			k+1 < len(list) && !waits(fn.Body[list[k+1]]) {
			continue
		}
		first := k
		for first > 0 && !commits(fn.Body[list[first-1]]) && !waits(fn.Body[list[first-1]]) {
			first--
		}
		if first > 0 && commits(fn.Body[list[first-1]]) && near(list[first-1], i) {
			note(list[first-1])
		}
		if k+2 < len(list) && commits(fn.Body[list[k+2]]) && near(list[k+2], i) {
			note(list[k+2])
		}
	}
	var out []remedy
	for _, line := range lines {
		for _, join := range []bool{true, false} {
			if r := moveOf(fn, list, line, lineOf, join); r != nil {
				out = append(out, *r)
			}
		}
	}
	return out
}

// moveOf moves all commits of a line: each behind the copies that follow it before the next commit or wait,
// else before the waits in front of it. join puts it where branches behind the copies meet. It is nil where
// one of them has neither.
func moveOf(fn *ptx.Func, list []int, line string, lineOf func(int) string, join bool) *remedy {
	var edits []ptx.Edit
	var copies []int
	at, behind := -1, true
	for k, i := range list {
		if !commits(fn.Body[i]) || lineOf(i) != line {
			continue
		}
		at = i
		last, end := following(fn, list[k:])
		if last < 0 {
			n := k
			for n > 0 && waits(fn.Body[list[n-1]]) {
				n--
			}
			if n == 0 || n == k || commits(fn.Body[list[n-1]]) {
				return nil
			}
			last, end, behind = list[n-1], list[n], false
		}
		to := last + 1
		if join {
			if to = joins(fn, last); to < 0 || to > end {
				return nil
			}
		}
		if l := inKernel(fn, last).Line; !slices.Contains(copies, l) {
			copies = append(copies, l)
		}
		edits = append(edits, ptx.Edit{Kind: ptx.Remove, Func: fn.Name, At: i}, ptx.Edit{
			Kind: ptx.Insert, Func: fn.Name, At: to,
			New: &ptx.Instr{Op: "cp", Mods: []string{"async", "commit_group"}},
		})
	}
	if at < 0 {
		return nil
	}
	slices.SortStableFunc(edits, func(a, b ptx.Edit) int { return cmp.Compare(a.At, b.At) })
	where := fmt.Sprintf("behind the copies of line %s", andList(copies))
	why := "it stands before them, so that they belong to the next group"
	if !behind {
		why = "it stands behind the wait, which does not count them"
	}
	place := inKernel(fn, at)
	src := place.At()
	return &remedy{
		at:     place,
		text:   fmt.Sprintf("with the cp.async.commit_group of %s moved %s", src, where),
		advice: fmt.Sprintf("move the cp.async.commit_group of %s %s: %s", src, where, why),
		edits:  func(*debugkern.Run) []ptx.Edit { return edits },
	}
}

// inKernel is the place of an instruction, or the innermost call from the file that the kernel is in where
// it is inlined from another.
func inKernel(fn *ptx.Func, i int) *report.Source {
	src := blame(fn, i)
	sites := src.Calls.Sites()
	if len(sites) == 0 || sites[0].File == src.File {
		return src
	}
	for k := len(sites) - 1; k >= 0; k-- {
		if c := sites[k]; c.File == sites[0].File {
			return &report.Source{File: c.File, Line: c.Line, Function: c.Function}
		}
	}
	return src
}

// following is the last copy that follows a commit, the first of list, before the next commit or wait,
// which is end: of the same call, where some of the copies are; in the same loop. It is -1 where there is
// none.
func following(fn *ptx.Func, list []int) (last, end int) {
	loops := innermost(fn)
	own, all := -1, -1
	end = len(fn.Body)
	for _, i := range list[1:] {
		if in := fn.Body[i]; commits(in) || waits(in) {
			end = i
			break
		}
		if loops[i] != loops[list[0]] {
			continue
		}
		if all = i; outermostLine(fn.Body[i]) == outermostLine(fn.Body[list[0]]) {
			own = i
		}
	}
	if own >= 0 {
		return own, end
	}
	return all, end
}

// groupRemedies closes a group of products before the wait that does not wait for them, because no
// wgmma.commit_group stands between. A commit that stands before the products, and closes an empty group,
// is what belongs there.
func groupRemedies(fn *ptx.Func, f *report.Finding) []remedy {
	if f.Missing == nil || !strings.HasPrefix(*f.Missing, "wgmma.commit_group between ") {
		return nil
	}
	var edits []ptx.Edit
	var at, empty *report.Source
	product, commit, fresh := -1, -1, true // the last of each; the commit has no product before it
	for i, in := range fn.Body {
		switch in.Kind() {
		case isa.WgmmaMultiply, isa.WgmmaSparse:
			product = i
			continue
		case isa.WgmmaCommit:
			fresh, commit = product < commit || product < 0, i
			continue
		case isa.WgmmaWait:
		default:
			continue
		}
		src := blame(fn, i)
		if src == nil || product < 0 || commit > product || !sameCall(blame(fn, product), f) ||
			!strings.HasSuffix(*f.Missing, " and "+src.At()) {
			continue
		}
		own := src.Outermost()
		at = &own
		if fresh && commit >= 0 && blame(fn, commit) != nil {
			early := blame(fn, commit).Outermost()
			empty = &early
		}
		edits = append(edits, ptx.Edit{Kind: ptx.Insert, Func: fn.Name, At: i, New: &ptx.Instr{
			Op: "wgmma", Mods: []string{"commit_group", "sync", "aligned"},
		}})
	}
	if at == nil {
		return nil
	}
	place := "before " + lineText(at, f.Source)
	r := remedy{
		text: "with wgmma.commit_group " + place, at: at, cite: true,
		edits: func(*debugkern.Run) []ptx.Edit { return edits },
		advice: fmt.Sprintf("put wgmma.commit_group %s, behind the products: a wait counts committed groups "+
			"alone", place),
	}
	if empty != nil {
		r.advice = fmt.Sprintf("move the wgmma.commit_group of %s %s, behind the products: where it stands it "+
			"closes a group without them", lineText(empty, f.Source), place)
	}
	return []remedy{r}
}

// groupWaitRemedies has a wait cover the products whose accumulators are used too early: one that leaves
// groups under way waits for all, or a wait is put behind the last group that is closed before the use.
func groupWaitRemedies(fn *ptx.Func, f *report.Finding) (out []remedy) {
	if f.Missing == nil || !strings.HasPrefix(*f.Missing, "wgmma.wait_group between ") || f.Source == nil {
		return nil
	}
	waitAll := &ptx.Instr{
		Op: "wgmma", Mods: []string{"wait_group", "sync", "aligned"}, Args: []ptx.Operand{ptx.IntegerOf(0)},
	}
	lines := map[report.Source][]ptx.Edit{}
	var order []report.Source
	left := map[report.Source]uint64{}
	commit := -1
	for i, in := range fn.Body {
		src := blame(fn, i)
		if src == nil {
			continue
		}
		own := src.Outermost()
		switch in.Kind() {
		case isa.WgmmaWait:
			if len(in.Args) == 0 || in.Args[0].Kind != ptx.OpInt || in.Args[0].Imm == 0 {
				continue
			}
			if lines[own] == nil {
				order = append(order, own)
			}
			left[own] = max(left[own], in.Args[0].Imm)
			lines[own] = append(lines[own], ptx.Edit{Kind: ptx.Replace, Func: fn.Name, At: i, New: waitAll})
		case isa.WgmmaCommit:
			if use := f.Source.Outermost(); own.File == use.File && own.Line <= use.Line {
				commit = i
			}
		}
	}
	for _, at := range order {
		out = append(out, remedy{
			text: fmt.Sprintf("with wgmma.wait_group 0 in place of %d at %s", left[at], at.At()),
			at:   &at, cite: true,
			edits: func(*debugkern.Run) []ptx.Edit { return lines[at] },
			advice: fmt.Sprintf("at %s: wait for all groups, with wgmma.wait_group 0 in place of %d", at.At(),
				left[at]),
		})
	}
	if commit >= 0 {
		at := blame(fn, commit).Outermost()
		out = append(out, remedy{
			text: "with wgmma.wait_group 0 behind " + at.At(), at: &at, cite: true,
			edits: func(*debugkern.Run) []ptx.Edit {
				return []ptx.Edit{{Kind: ptx.Insert, Func: fn.Name, At: commit + 1, New: waitAll}}
			},
			advice: fmt.Sprintf("put wgmma.wait_group 0 behind %s", at.At()),
		})
	}
	return out
}

// sameCall reports whether a product is one that a finding is about, by the line of the kernel that it is
// called from.
func sameCall(product *report.Source, f *report.Finding) bool {
	own := func(s *report.Source) string {
		if s == nil {
			return ""
		}
		o := s.Outermost()
		return o.At()
	}
	call := own(product)
	return call != "" && (call == own(f.Source) || call == own(f.Other))
}
