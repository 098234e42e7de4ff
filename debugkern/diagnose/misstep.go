package diagnose

import (
	"fmt"
	"go/constant"
	"regexp"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
)

// Writers of the same elements, of which others have none, move by a wrong step: which one, and what it
// should be, follows from where they write. A step from one store of a thread to the next is tried where each
// is an instruction of its own.

// misstep says of a suspect by which step its writers have the same elements, and tries the right one.
func (q *inquiry) misstep(s *suspect, f *report.Finding, w *scene.Contested) error {
	step, fn := w.Misstep(), q.run.Entry()
	if step == nil || fn == nil {
		return nil
	}
	line, parts := q.quoted(f.Source), []string(nil)
	if line != "" {
		parts = brackets(line, f.Variable)
	}
	index, from := "", "one "+step.Of+" to the next"
	if step.Dim < len(parts) {
		index = parts[step.Dim]
	}
	counter := q.counterIn(f.Source, index)
	if step.Visits {
		if from = "one store of a thread to its next"; counter != "" {
			from = fmt.Sprintf("one %s to the next", counter)
		}
	}
	be := fmt.Sprint(step.Be)
	if name := q.sizeIn(f.Source, index, step.Be); name != "" {
		be += ", " + name
	}
	should := "should be "
	is := fmt.Sprintf("%s in %s is %d further from %s", step.Index, f.Variable, step.Is, from)
	if step.Is == 0 && !step.Visits {
		is = fmt.Sprintf("%s in %s does not move with %s", step.Index, f.Variable, step.Of)
		should = "should by "
	}
	if s.shared = is + ", and " + should + be + ": then"; !step.Sure {
		s.shared = is + "; with " + be
	}
	s.shared += fmt.Sprintf(" every store at %s has elements of its own, and all that are read are written",
		callText(f.Source))
	s.uncovered = true
	now := q.stepped(line, f, counter, index, step)
	if now == "" {
		s.shared = q.citing(s.shared, "; the line is ", f.Source)
	}
	if step.At == nil || s.remedy != nil && s.remedy.changes() {
		return nil
	}
	return q.tryStep(s, f, step, now)
}

// tryStep moves each store of a thread to where the right step has it.
func (q *inquiry) tryStep(s *suspect, f *report.Finding, step *scene.Step, now string) error {
	fn, size := q.run.Entry(), int64(0)
	for i := range q.run.Plan.Shared {
		if a := &q.run.Plan.Shared[i]; a.Name == f.Variable {
			size = int64(a.DType.Size())
		}
	}
	var edits []ptx.Edit
	for k, at := range step.At {
		by := int64(k*(step.Be-step.Is)*step.Size) * size
		edits = append(edits, ptx.Edit{
			Kind: ptx.Replace, Func: fn.Name, At: at, New: addressed(fn.Body[at], by),
		})
	}
	r := &remedy{
		text:   fmt.Sprintf("with %s %d further each time", step.Index, step.Be),
		advice: s.shared,
		edits:  func(*debugkern.Run) []ptx.Edit { return edits },
	}
	if ok, err := q.adopt(s, r); !ok {
		return err
	}
	if now != "" {
		s.cause.Rewrite = &Rewrite{f.Source.File, f.Source.Line, q.quoted(f.Source), now}
		r.advice += "; write " + quote(now)
	}
	s.shared = r.advice
	return nil
}

var counterOf = regexp.MustCompile(`\bfor\s*\(\s*(?:[\w:]+\s+)*(\w+)\s*=`)

// counterIn is the counter of a loop around a line that an index names; "" where there is none, or several.
func (q *inquiry) counterIn(at *report.Source, index string) string {
	lines, found := q.run.Source(at.File), ""
	if at.Line < 1 || at.Line > len(lines) {
		return ""
	}
	for _, n := range append(loopsRound(lines, at.Line), at.Line) {
		for _, m := range counterOf.FindAllStringSubmatch(bare(lines[n-1]), -1) {
			if !hasName(index, m[1]) || m[1] == found {
				continue
			}
			if found != "" {
				return ""
			}
			found = m[1]
		}
	}
	return found
}

var (
	quotient = regexp.MustCompile(`\b\w+\s*/\s*(\w+)`)
	bounded  = regexp.MustCompile(`__launch_bounds__\(\s*([A-Za-z_]\w*)`)
)

// sizeIn is what the source calls a number of parts that the threads of a block are divided into by an index:
// "THREADS / TILE_K", where the index has t / TILE_K; "" where it has none.
func (q *inquiry) sizeIn(at *report.Source, index string, n int) string {
	lines := q.run.Source(at.File)
	threads := q.run.Plan.Block.Count()
	for _, m := range quotient.FindAllStringSubmatch(index, -1) {
		by, ok := q.evaluate(m[1], lines, 0, map[string]constant.Value{})
		if !ok || by == 0 || threads%by != 0 || threads/by != n {
			continue
		}
		for _, line := range lines {
			b := bounded.FindStringSubmatch(line)
			if b == nil {
				continue
			}
			if all, ok := q.evaluate(b[1], lines, 0, map[string]constant.Value{}); ok && all == threads {
				return b[1] + " / " + m[1]
			}
		}
	}
	return ""
}

// stepped is a line with the right factor of the counter in an index of a variable; "" where it does not have
// it in one place.
func (q *inquiry) stepped(line string, f *report.Finding, counter, index string, step *scene.Step) string {
	if counter == "" || strings.Count(line, "["+index+"]") != 1 {
		return ""
	}
	name := regexp.QuoteMeta(counter)
	product := regexp.MustCompile(`\b` + name + `\s*\*\s*(\w+)|(\w+)\s*\*\s*` + name + `\b`)
	all := product.FindAllStringSubmatchIndex(index, -1)
	if len(all) != 1 {
		return ""
	}
	lo, hi := all[0][2], all[0][3]
	if lo < 0 {
		lo, hi = all[0][4], all[0][5]
	}
	was, ok := q.evaluate(index[lo:hi], q.run.Source(f.Source.File), 0, map[string]constant.Value{})
	if !ok || was != step.Is {
		return ""
	}
	be := fmt.Sprint(step.Be)
	if size := q.sizeIn(f.Source, index, step.Be); size != "" {
		be = "(" + size + ")"
	}
	return strings.Replace(line, "["+index+"]", "["+index[:lo]+be+index[hi:]+"]", 1)
}
