package diagnose

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/rewrite"
	"tilescope/probes"
)

// What an edit of the source comes to in other variants of the kernel.

// mostVariants is how many other variants of the kernel an edit is tried in that compile it, besides one for
// each flag that it leaves out.
const mostVariants = 3

// spoils says which variant of the kernel that is right, in the smallest shape, is wrong with an edit, or
// which is not right and has another stage wrong with it, or the same one still: what is right with these
// flags may leave out what others need. So an edit that leaves out a flag spoils the kernel unless a
// variant with the flag's other value was seen to be right with it. "": none is wrong. It also returns the
// flag of the build that alone makes that variant another, "" where there is no such flag.
func (s *sourceEdit) spoils(e rewrite.Edit) (why, flag string, err error) {
	q := s.q
	unseen := slices.Clone(e.Drops) // flags of which no variant with another value was seen to be right
	tried := 0
	for _, o := range q.variants() {
		differ := q.differing(o)
		in := func(name string) bool { return slices.Contains(differ, name) }
		shows := slices.ContainsFunc(unseen, in)
		if tried >= mostVariants && !shows {
			continue
		}
		was, err := q.execute(o)
		if err != nil {
			return "", "", err
		}
		if was == nil {
			continue
		}
		wrong := wrongStages(was.Report)
		if !agreesThere(was) && len(wrong) == 0 {
			continue // what is wrong there no stage shows
		}
		b, err := was.Compile(q.ctx, map[string]string{e.Text.Name: e.Applied()})
		if err != nil {
			return o.name + " does not compile with it", s.onlyFlag(o), q.stopped(err)
		}
		if own, err := was.Compile(q.ctx, nil); err == nil && bytes.Equal(own.Text, b.Text) {
			switch {
			case len(wrong) == 0:
				unseen = slices.DeleteFunc(unseen, in) // it is right as it is, and stays the same
			case slices.Contains(wrongStages(q.base.Report), wrong[0]):
				return fmt.Sprintf("%s has %s wrong with it, as without", o.name, wrong[0]), "", nil
			}
			continue
		}
		tried++
		now, err := q.tryThere(was, debugkern.Trial{Build: b, Blocks: was.Blocks()})
		if err = q.stopped(err); err != nil {
			return "", "", err
		}
		if len(wrong) > 0 {
			if now == nil {
				continue
			}
			for _, st := range wrongStages(now.Report) {
				switch own := slices.Contains(wrongStages(q.base.Report), st); {
				case !slices.Contains(wrong, st):
					return fmt.Sprintf("%s has %s wrong with it", o.name, st), "", nil
				case own && st == wrong[0]:
					return fmt.Sprintf("%s has %s wrong with it, as without", o.name, st), "", nil
				}
			}
			continue
		}
		if now == nil || now.Report.Verdict == report.Failed || !agreesThere(now) {
			return o.name + " is wrong with it", s.onlyFlag(o), nil
		}
		unseen = slices.DeleteFunc(unseen, in)
	}
	if len(unseen) > 0 {
		return "what " + unseen[0] + " is for is left out", "", nil
	}
	return "", "", nil
}

// onlyFlag is the flag in which a variant differs from the run, "" where there are several.
func (s *sourceEdit) onlyFlag(o *other) string {
	if list := s.q.differing(o); len(list) == 1 {
		return list[0]
	}
	return ""
}

// differing lists the flags in which a variant differs from the run.
func (q *inquiry) differing(o *other) (names []string) {
	for name, value := range q.run.Selection.Flags {
		if o.req.Set[name] != fmt.Sprint(value) {
			names = append(names, name)
		}
	}
	return names
}

// variants are configurations of other variants of the kernel, without planted faults, in the shape that
// costs least, those first that differ from the run's in the fewest flags: they compile most of what it does.
func (q *inquiry) variants() []*other {
	sel, req := q.run.Selection, q.run.Request
	m := sel.Manifest
	if q.varied || req.Inputs != "" || len(req.Launch) > 0 || q.run.Plan.Gate.Name != probes.GateNone {
		return q.otherVariants
	}
	q.varied = true
	req.Backend, req.Plain, req.Check, req.Set = "emu", false, 0, map[string]string{}
	req.Blocks, req.Tiles, req.Stages = debugkern.Region{}, debugkern.Span{}, nil
	least := 0
	for _, s := range m.Shapes {
		size := 1
		for _, n := range s.Shape.Extents() {
			size *= max(1, n)
		}
		if least == 0 || size < least {
			least, req.Shape = size, s.Name
		}
	}
	for i := range m.Variants {
		v, err := m.Select(m.Variants[i].Name, nil, nil, sel.Gate)
		if err != nil || len(v.Faults) > 0 || maps.Equal(v.Flags, sel.Flags) {
			continue
		}
		o := &other{req: req, name: "variant " + v.Variant, any: true}
		o.req.Set = map[string]string{}
		for name, n := range v.Flags {
			o.req.Set[name] = fmt.Sprint(n)
		}
		q.otherVariants = append(q.otherVariants, o)
	}
	slices.SortStableFunc(q.otherVariants, func(a, b *other) int {
		return cmp.Compare(len(q.differing(a)), len(q.differing(b)))
	})
	return q.otherVariants
}
