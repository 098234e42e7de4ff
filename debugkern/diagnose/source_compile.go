package diagnose

import (
	"context"
	"errors"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/join"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
)

// The compilations of a search for an edit of the source: of many edits together, and of those that need one
// each.

// compilation is edits that are being compiled together.
type compilation struct {
	edits []rewrite.Edit
	task  *join.Task[batch]
}

// mostAhead is how many batches of edits are compiled at a time at most.
const mostAhead = 3

// ahead is how many batches of edits are compiled at a time: a compiler takes one core, and the batch that is
// executed meanwhile the others.
func ahead() int { return min(mostAhead, max(1, runtime.GOMAXPROCS(0)/3)) }

// together tries edits that are compiled together, the likeliest first. While some are executed, the next are
// compiled.
func (s *sourceEdit) together(edits []rewrite.Edit) (*rightEdit, error) {
	q := s.q
	ctx, cancel := context.WithCancel(q.ctx)
	var pending []compilation
	defer func() {
		cancel()
		for _, c := range pending {
			c.task.Wait()
		}
	}()
	all, rounds := len(edits), 0
	more := func() {
		for len(pending) < ahead() && rounds < mostRounds && s.compiled <= mostInstructions {
			n := mostTogether
			if s.took <= longCompilation { // else most of it is not for the edits
				n = min(n, firstTogether<<min(rounds, doublings))
			}
			if s.each > 0 {
				n = min(n, int(editedInstructions/s.each))
			}
			var list []rewrite.Edit
			if list, edits = s.set.Fitting(edits, n, s.became); len(list) == 0 {
				return
			}
			rounds++
			task := join.Start(func() batch { return s.build(ctx, list) })
			pending = append(pending, compilation{list, task})
		}
	}
	for more(); len(pending) > 0; more() {
		q.progress(debugkern.Progress{
			Phase: "explain", Detail: "edits of the source", Done: s.tried, Total: all,
		})
		b := pending[0].task.Wait()
		pending = pending[1:]
		s.took = b.took
		s.compiled += b.size(q.run.Plan.Entry)
		more()
		list, left, err := s.round(b)
		if err != nil {
			return nil, err
		}
		edits = append(left, edits...)
		if len(list) > 0 {
			var others []rewrite.Edit
			for _, c := range pending {
				others = append(others, c.edits...)
			}
			if found, err := s.onTheirLines(list, append(others, edits...)); err != nil || found != nil {
				return found, err
			}
		}
		if s.late() {
			break
		}
	}
	return nil, nil
}

// became is how many instructions of the kernel are of a line, or of what is inlined there.
func (s *sourceEdit) became(text string, line int) int {
	if s.lines == nil {
		s.lines = map[string]map[int]int{}
		for _, in := range s.q.run.Entry().Body {
			for l := in.Loc; l != nil; l = l.InlinedAt {
				name := path.Base(l.Name)
				if s.lines[name] == nil {
					s.lines[name] = map[int]int{}
				}
				s.lines[name][l.Line]++
			}
		}
	}
	return s.lines[path.Base(text)][line]
}

// longCompilation is how long a build takes of which as many edits as may be are compiled together.
const longCompilation = 2 * time.Second

const (
	// mostAlone is how many edits are compiled alone at a time, of those that cannot be compiled together.
	mostAlone = 12
	// mostSooner is how many of them are tried before those that are compiled together.
	mostSooner = 4
	// mostFailed: a line of which so many edits do not compile has a condition of its own, and no other edit
	// of it is tried.
	mostFailed = 2
	// aloneLikelier is by how many ranks an edit must be likelier than others that are compiled together, to
	// be worth a compilation.
	aloneLikelier = 6
)

// oneByOne tries edits that are compiled alone, the likeliest first.
func (s *sourceEdit) oneByOne(edits []rewrite.Edit) (*rightEdit, error) {
	q := s.q
	budget := mostInstructions
	type line struct {
		of *rewrite.Text
		n  int
	}
	failed := map[line]int{}
	tried := 0
	for _, e := range edits {
		at := line{e.Text, e.Line}
		if failed[at] >= mostFailed {
			continue
		}
		if tried++; tried > mostAlone || s.late() {
			break
		}
		q.progress(debugkern.Progress{
			Phase: "explain", Detail: "edits of constants",
			Done: tried - 1, Total: min(len(edits), mostAlone),
		})
		b, err := q.run.Compile(q.ctx, map[string]string{e.Text.Name: e.Applied()})
		if err != nil {
			if err = q.stopped(err); err != nil {
				return nil, err
			}
			failed[at]++
			continue
		}
		if ok, err := s.puts(b, 0); err != nil || !ok {
			if err != nil {
				return nil, err
			}
		} else if f, err := s.confirmed(e); err != nil || f != nil {
			return f, err
		}
		if budget -= len(b.Module.Func(q.run.Plan.Entry).Body); budget < 0 {
			break
		}
	}
	return nil, nil
}

// batch is edits that are compiled together: each is a variant of the build, the first the variant 1.
type batch struct {
	edits []rewrite.Edit
	left  []rewrite.Edit // those that cannot stand in one text with these
	built *build.Build   // nil: nothing compiles, or there is no compiler
	took  time.Duration  // to compile it
	err   error
}

// size is how many instructions the build has.
func (b *batch) size(entry string) int {
	if b.built == nil {
		return 0
	}
	return len(b.built.Module.Func(entry).Body)
}

// build compiles edits together, without those that do not compile.
func (s *sourceEdit) build(ctx context.Context, edits []rewrite.Edit) batch {
	var left []rewrite.Edit
	for i := range mostCompiled {
		texts, kept, others := rewrite.Switched(edits)
		if i == 0 {
			left = others
		}
		if len(kept) == 0 {
			return batch{left: left}
		}
		begun := time.Now()
		b, err := s.q.run.Compile(ctx, texts)
		if err == nil {
			return batch{edits: kept, left: left, built: b, took: time.Since(begun)}
		}
		var failed *report.KernelError
		if !errors.As(err, &failed) {
			if none := (*report.Error)(nil); errors.As(err, &none) {
				return batch{}
			}
			return batch{err: s.q.stopped(err)}
		}
		drop := failing(kept, failed.Diagnostics)
		if len(drop) == 0 {
			edits = kept[:len(kept)/2]
			left = slices.Concat(kept[len(kept)/2:], left)
			continue
		}
		edits = nil
		for i := range kept {
			if !drop[i] {
				edits = append(edits, kept[i])
			}
		}
	}
	return batch{left: slices.Concat(edits, left)} // with others, which may compile
}

// failing are the edits that a compiler's messages are about, by their indices. A message that names a line
// of the text alone may be a consequence of those that name an edit, so that it counts where there are none.
func failing(kept []rewrite.Edit, messages []report.Diagnostic) map[int]bool {
	drop := map[int]bool{}
	for _, d := range messages {
		k := rewrite.EditAt(d.Line)
		if d.Severity != "error" || k == 0 || k > len(kept) {
			continue
		}
		drop[k-1] = true
		if m := undefined.FindStringSubmatch(d.Message); m != nil {
			name := regexp.MustCompile(`\b` + regexp.QuoteMeta(m[1]) + `\b`)
			for i := range kept {
				if name.MatchString(kept[i].What) && kept[i].Line == kept[k-1].Line {
					drop[i] = true // it is declared behind
				}
			}
		}
	}
	if len(drop) > 0 {
		return drop
	}
	for _, d := range messages {
		if d.Severity == "error" {
			for _, i := range blamed(kept, d) {
				drop[i] = true
			}
		}
	}
	return drop
}

// blamed are the edits of a line that a compiler's message may be about, where it names none: those of what
// is assigned to, where that is not possible; else those whose types are not known; else the less likely
// half.
func blamed(kept []rewrite.Edit, d report.Diagnostic) []int {
	var line []int
	for i := range kept {
		if path.Base(kept[i].Text.Name) == path.Base(d.File) && kept[i].On(d.Line) {
			line = append(line, i)
		}
	}
	for _, doubt := range []func(e *rewrite.Edit) bool{
		func(e *rewrite.Edit) bool { return e.Stores && strings.Contains(d.Message, "lvalue") },
		func(e *rewrite.Edit) bool { return e.Doubtful },
		func(e *rewrite.Edit) bool { return e.Line != d.Line }, // of several places
	} {
		out := slices.DeleteFunc(slices.Clone(line), func(i int) bool { return !doubt(&kept[i]) })
		if len(out) > 0 {
			return out
		}
	}
	return line[len(line)/2:]
}

// undefined is a compiler's message on a name that a line does not see.
var undefined = regexp.MustCompile(`identifier "(\w+)" is undefined`)
