package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/walk"
	"tilescope/probes"
)

// Copies that write the same bytes of shared memory, while what others of them should bring is never written,
// have a wrong destination: no wait between them makes that right.

// crowded is copies of a block that write the same bytes.
type crowded struct {
	first, second *report.Source // the lines that issue them, with their calls; of one line they are the same
	copies        int            // that write these bytes
	array         string         // that they write
	from          [2]string      // the tensor maps that they read by; "": they are no tensor copies
	never         []string       // arrays of which elements are read and never written
	belongs       string         // the array that the second one's tensor belongs in; "": it is not known
}

// crowd finds, for each race between copies, those that write the same bytes, where elements of the same
// array or of another one are never written. It follows cover.
func (q *inquiry) crowd() error {
	for _, s := range q.suspects {
		if s.cause.Kind != "race" {
			continue
		}
		f := &q.doc.Findings[s.cause.Finding]
		never := q.neverWrittenIn(f.Block)
		if len(never) == 0 || !strings.HasPrefix(f.Message, "write-after-write") || f.Source == nil ||
			f.Other == nil || !strings.Contains(f.Message, "asynchronous copy") {
			continue
		}
		t, err := q.recorded(f.Block)
		if err != nil {
			return err
		}
		fn := q.run.Entry()
		if t == nil || fn == nil {
			continue
		}
		c := crowdedIn(t, fn, f.Source, f.Other)
		if c == nil {
			continue
		}
		if c.never = never; c.place(q) {
			s.crowded = c
		}
	}
	return nil
}

// neverWrittenIn lists the shared arrays of which a block reads elements that nobody writes.
func (q *inquiry) neverWrittenIn(block probes.Dim3) (out []string) {
	for _, s := range q.suspects {
		if s.covered != nil && s.cause.Kind == "uninitialised" && s.cause.Place.Block == block {
			out = append(out, s.covered.Variable)
		}
	}
	return out
}

// lacksCrowded reports whether a suspect is the elements that nobody writes because copies write others
// twice.
func lacksCrowded(s, race *suspect) bool {
	return race.crowded != nil && s.covered != nil && slices.Contains(race.crowded.never, s.covered.Variable)
}

// crowdedIn finds, of the copies that two lines issue, those that write the same bytes in one iteration.
func crowdedIn(t *walk.Timeline, fn *ptx.Func, one, other *report.Source) *crowded {
	at := func(f *walk.Flight) *report.Source {
		if f.PC >= len(fn.Body) {
			return nil
		}
		return blame(fn, f.PC)
	}
	same := func(a, b *report.Source) bool { return a != nil && *a == *b }
	for i := range t.Flights {
		a := &t.Flights[i]
		if len(a.Writes) == 0 || a.Buffer < 0 || !same(at(a), one) && !same(at(a), other) {
			continue
		}
		c := &crowded{first: at(a), array: array(t.Buffers[a.Buffer].Name), copies: 1}
		c.from[0] = mapOf(a.Of)
		for k := i + 1; k < len(t.Flights); k++ {
			b := &t.Flights[k]
			if len(b.Writes) == 0 || !same(at(b), one) && !same(at(b), other) {
				continue
			}
			if adjacent(a.Of, b.Of) && overlap(a.Writes, b.Writes) {
				if c.copies++; c.second == nil {
					c.second, c.from[1] = at(b), mapOf(b.Of)
				}
			}
		}
		if c.second != nil {
			return c
		}
	}
	return nil
}

// overlap reports whether some of two lists of ranges have a byte in common.
func overlap(a, b []target.Range) bool {
	return slices.ContainsFunc(a, func(x target.Range) bool {
		return slices.ContainsFunc(b, func(y target.Range) bool { return x.Lo < y.Hi && y.Lo < x.Hi })
	})
}

// mapOf is the tensor map that a copy's box is of.
func mapOf(box string) string {
	name, _, _ := strings.Cut(box, "[")
	return name
}

// adjacent reports whether two boxes of one tensor differ in the innermost coordinate alone, or are of two
// tensors: those of later rows may be copied to the same place in their turn.
func adjacent(a, b string) bool {
	if mapOf(a) != mapOf(b) {
		return true
	}
	outer := func(box string) string { return box[:max(0, strings.LastIndexByte(box, ','))] }
	return a != b && outer(a) == outer(b)
}

// place finds out which of two copies of different tensors has the wrong destination: the one by whose tensor
// another array is filled, by what the stage of that array is loaded from. false where neither has: two
// tensors may share a buffer.
func (c *crowded) place(q *inquiry) bool {
	if c.from[0] == c.from[1] {
		return true
	}
	p := q.run.Plan
	// belongs is the array of which elements are never written that is loaded from a map's tensor.
	belongs := func(name string) string {
		arg := p.Arg(name)
		if arg == nil || arg.Map == nil || arg.Map.Of >= len(p.Args) {
			return ""
		}
		tensor := p.Args[arg.Map.Of].Name
		i := slices.IndexFunc(p.Stages, func(st probes.StagePlan) bool {
			return st.Loaded && st.Stage.String() == tensor && slices.Contains(c.never, st.Array)
		})
		if i < 0 {
			return ""
		}
		return p.Stages[i].Array
	}
	if to := belongs(c.from[1]); to != "" && to != c.array {
		c.belongs = to
	} else if to := belongs(c.from[0]); to != "" && to != c.array {
		c.belongs, c.first, c.second = to, c.second, c.first
		c.from[0], c.from[1] = c.from[1], c.from[0]
	}
	return c.belongs != ""
}

// describe makes the copy with the wrong destination the place of a cause.
func (c *crowded) describe(q *inquiry, out *Cause) {
	first, second := c.first.Outermost(), c.second.Outermost()
	never := strings.Join(c.never, ", ")
	if first == second {
		// The calls are the same, and so is what is nearest to the copies of all that one loop issues.
		at := q.looped(c.second)
		out.why = fmt.Sprintf("%d copies that %s issues write the same bytes of %s, and elements of %s are never "+
			"written", c.copies, at.At(), c.array, never)
		advice := fmt.Sprintf("give each copy that %s issues a destination of its own", at.At())
		out.Advice = q.citing(advice, ": ", at)
		out.Place.Source, out.Place.Other = at, out.Place.Source
		return
	}
	what := "a copy"
	if c.from[1] != "" {
		what = "the copy by " + c.from[1]
	}
	out.why = fmt.Sprintf("%s at %s writes %s, which the copy at %s writes too, and elements of %s are never "+
		"written", what, second.At(), c.array, lineText(&first, &second), never)
	advice := fmt.Sprintf("look at the destination of the copy at %s", second.At())
	if c.belongs != "" {
		advice = fmt.Sprintf("have the copy at %s write %s in place of %s", second.At(), c.belongs, c.array)
	}
	out.Advice = q.citing(advice, ": ", &second)
	out.Place.Source, out.Place.Other = &second, &first
}

// looped is the innermost of the places that a copy is called from whose line has a loop, or the kernel's
// own.
func (q *inquiry) looped(at *report.Source) *report.Source {
	for _, site := range at.Calls.Sites() {
		x := &report.Source{File: site.File, Line: site.Line}
		if strings.Contains(q.quoted(x), "for (") {
			return x
		}
	}
	own := at.Outermost()
	return &own
}
