package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/debugkern/scene"
	"tilescope/probes"
)

// Threads that write the same cells while nobody writes others have a wrong index: an order between them
// would leave these cells as they are.

// contested finds out, for writes that race, which cells several threads have, and which nobody.
func (q *inquiry) contested() error {
	var all []*suspect
	for _, s := range q.suspects {
		all = append(append(all, s), s.members...)
	}
	for _, s := range all {
		if s.cause.Kind != "race" || q.stale(s) {
			continue
		}
		f := &q.doc.Findings[s.cause.Finding]
		by := scene.Warps
		switch {
		case !s.exclusive && (!writesTwice(f) || !unwrittenToo(f.Variable, all)):
			continue
		case !s.exclusive:
			by = scene.Lines
		case len(f.Warps) == 1:
			by = scene.Lanes
		}
		w, err := scene.Contest(q.ctx, q.run, f, by)
		if err != nil {
			if err = q.fatal(err); err != nil {
				return err
			}
		}
		switch {
		case w != nil && len(w.Shared()) > 0:
			if err := q.share(s, f, w); err != nil {
				return err
			}
			if err := q.misstep(s, f, w); err != nil {
				return err
			}
		case s.exclusive:
			if err := q.overlapping(s, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// writesTwice reports whether a race is between writes of two lines.
func writesTwice(f *report.Finding) bool {
	return strings.HasPrefix(f.Message, "write-after-write") && f.Source != nil && f.Other != nil &&
		(f.Source.Line != f.Other.Line || f.Source.File != f.Other.File)
}

// unwrittenToo reports whether some suspect is that elements of a variable are read before they are written.
func unwrittenToo(variable string, all []*suspect) bool {
	return slices.ContainsFunc(all, func(o *suspect) bool {
		return o.cause.Kind == "uninitialised" && slices.Contains(o.cause.Place.Variables, variable)
	})
}

// mostShared is how many groups of threads that write the same cells a message lists.
const mostShared = 3

// share words which cells threads share and which nobody has.
func (q *inquiry) share(s *suspect, f *report.Finding, w *scene.Contested) error {
	never := w.NeverText()
	missed, by := w.Missed()
	if !s.exclusive && missed == "" {
		return nil // they are written twice, and that is all
	}
	var parts []string
	list := w.Shared()
	for i, p := range list {
		if i == mostShared {
			parts = append(parts, fmt.Sprintf("and so on, %d in all", len(list)))
			break
		}
		parts = append(parts, fmt.Sprintf("%s write %s", parties(p.Parties, f.Warps, w.Parties), p.Cells))
	}
	s.shared = strings.Join(parts, ", ")
	if s.edited {
		if err := q.meeting(s, f, s.shared, w); err != nil {
			return err
		}
	}
	if w.Parties != scene.Lines {
		s.shared += " at " + callText(f.Source)
	}
	switch own := ": give each its own cells"; {
	case s.exclusive && q.updates(f):
		s.shared += ": the line updates what several threads share: an atomic, or a part for each thread that is " +
			"added up behind a barrier"
	case !s.exclusive:
		s.shared += "; " + missed + " are written by neither, and read before they are written" + own
		s.uncovered = true
	case never != "":
		s.shared += "; " + never + own
		s.uncovered = true
	case missed != "" && by != nil:
		s.shared += fmt.Sprintf("; %s are not written there and keep what line %d stored", missed, by.Line)
		s.shared += own
	case missed != "":
		s.shared += "; " + missed + " are not written there" + own
	default:
		s.shared += ": one owner, an atomic or a merge"
	}
	if law := w.Law(); law != "" {
		s.shared += "; " + law
	}
	s.shared = q.citing(s.shared, "; the line is ", f.Source)
	if s.uncovered {
		s.shared += q.indexText(q.definitions(access{f.Source, f.Variable, nil}))
	}
	return nil
}

// updates reports whether the line of a finding changes elements of its variable by what they have.
func (q *inquiry) updates(f *report.Finding) bool {
	name := regexp.QuoteMeta(f.Variable)
	update := regexp.MustCompile(`\b` + name + `\s*\[.*\]\s*(?:[-+*|&^]=|\+\+|--)`)
	return f.Variable != "" && f.Source != nil && update.MatchString(bare(q.quoted(f.Source)))
}

// parties names threads: "warps 2 and 3 both", "lanes 0, 1, 2 and 13 more of warp 0 all".
func parties(list, warps []int, are scene.Party) string {
	const most = 4
	text := ""
	for i, p := range list {
		switch {
		case i == most-1 && len(list) > most:
			text += fmt.Sprintf(" and %d more", len(list)-i)
		case i > 0 && i == len(list)-1:
			text += fmt.Sprintf(" and %d", p)
		case i > 0:
			text += fmt.Sprintf(", %d", p)
		default:
			text = fmt.Sprint(p)
		}
		if i == most-1 && len(list) > most {
			break
		}
	}
	all := " both"
	if len(list) > 2 {
		all = " all"
	}
	switch are {
	case scene.Lines:
		return "lines " + text + all
	case scene.Lanes:
		return fmt.Sprintf("lanes %s of warp %d%s", text, warps[0], all)
	}
	return "warps " + text + all
}

// overlapping finds out, for an output that blocks write over each other, whether they leave a part of it
// unwritten: then it is no update that wants an owner, but an index that has too few terms.
func (q *inquiry) overlapping(s *suspect, f *report.Finding) error {
	a := q.run.Plan.Arg(f.Variable)
	if a == nil || a.Role != probes.RoleOutput || f.Source == nil {
		return nil
	}
	c, err := scene.Cover(q.ctx, q.run, q.run.Blocks(), f.Variable)
	if err != nil || c == nil || len(c.Never()) == 0 {
		return q.fatal(err)
	}
	s.shared = fmt.Sprintf(
		"%s has elements that several threads write at %s, and %s: look at the index there",
		f.Variable, callText(f.Source), c.NeverText())
	if step := c.BlockStep(); step != nil {
		says := fmt.Sprintf("%s, and others by several threads: %s in %s is %d further "+
			"from one %s to the next, and should be %d, with which every element is written by one block",
			c.NeverText(), step.Index, f.Variable, step.Is, step.Of, step.Be)
		if s.edited { // the edit says what to change, and this why
			s.because(says)
		}
		s.shared = fmt.Sprintf("%s; look at the index at %s", says, callText(f.Source))
	}
	if line := q.quoted(f.Source); line != "" {
		s.shared += ": " + quote(line)
	}
	return nil
}
