package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/trial"
	"tilescope/probes"
)

// defaultSchedules is how many schedules are explored where nobody said how many, fewestSchedules the least
// of them, and defaultWork how many kv tiles all of them together may take.
const (
	defaultSchedules = 200
	fewestSchedules  = 20
	defaultWork      = 6400
)

// racing are kinds of findings that leave the result to the order in which warps and copies go.
var racing = []string{"race", "cp-async"}

// schedules explores, for each racing suspect, the block that it was found in: does the outcome depend on the
// order? Of several suspects, each is explored with the others fixed: what varies by another's doing is
// no witness, and a race between blocks does not vary with the schedules of one. Then, where asked for, it
// disturbs the kernel on a GPU.
func (q *inquiry) schedules() error {
	explored := map[probes.Dim3]*ScheduleDoc{}
	for _, s := range q.suspects {
		if !slices.Contains(racing, s.cause.Kind) || q.stale(s) ||
			q.doc.Findings[s.cause.Finding].Across {
			continue
		}
		block := s.cause.Place.Block
		doc := explored[block]
		if doc == nil {
			var err error
			if doc, err = q.explore(block, aside{}); err != nil {
				return err
			}
			explored[block] = doc
		}
		if doc.Tried == 0 {
			continue
		}
		others, err := q.others(s)
		if err != nil {
			return err
		}
		own, err := q.own(doc, others)
		if err != nil {
			return err
		}
		own.Finding = s.cause.Finding
		if own.Varied > 0 {
			q.progress(debugkern.Progress{Phase: "schedules", Detail: "to replay"})
			if own.Replay, err = FindReplay(q.ctx, q.run, &q.doc.Findings[own.Finding]); err != nil {
				if err = q.fatal(err); err != nil {
					return err
				}
			}
		}
		q.doc.Schedules = append(q.doc.Schedules, own)
		s.explored = &own
		if err := q.settle(s, others); err != nil {
			return err
		}
		for _, i := range s.cause.Findings {
			if f := &q.doc.Findings[i]; slices.Contains(racing, f.Kind) {
				f.Consequence = strings.TrimPrefix(f.Consequence+"; "+own.Says, "; ")
			}
		}
	}
	return q.perturb()
}

// stale reports whether a suspect is a read through a cache that writes do not update. Executed here, every
// read sees the last write, in whatever order: that no schedule changes anything would say nothing of a GPU.
func (q *inquiry) stale(s *suspect) bool {
	f := &q.doc.Findings[s.cause.Finding]
	return s.exclusive && f.Missing != nil && strings.Contains(*f.Missing, "non-coherent")
}

// aside is what the other racing suspects come to while one is looked at.
type aside struct {
	// run: the kernel without the faults that were left out to put them right; nil: the run as it is
	run      *debugkern.Run
	remedies []*remedy // that put them right by changing the PTX
	right    int       // suspects put right
	left     []string  // what nothing puts right, by title
}

// others puts every racing suspect but one right, as far as it can be.
func (q *inquiry) others(s *suspect) (aside, error) {
	var a aside
	var without []string
	for _, o := range q.suspects {
		switch {
		case o == s || !slices.Contains(racing, o.cause.Kind):
		case o.remedy != nil && o.remedy.edits != nil:
			a.remedies = append(a.remedies, o.remedy)
			a.right++
		case o.remedy != nil && o.remedy.without != "" &&
			(s.remedy == nil || s.remedy.without != o.remedy.without):
			without = append(without, o.remedy.without)
			a.right++
		default:
			a.left = append(a.left, o.cause.Title)
		}
	}
	if len(without) == 0 {
		return a, nil
	}
	slices.Sort(without)
	var err error
	a.run, err = q.twin(slices.Compact(without))
	return a, err
}

func (a *aside) String() string {
	if a.right == 1 {
		return "the other one fixed"
	}
	return "the others fixed"
}

// edits are the changes that put others right, and more.
func (a *aside) edits(run *debugkern.Run, more ...*remedy) []ptx.Edit {
	var out []ptx.Edit
	for _, r := range append(slices.Clone(a.remedies), more...) {
		out = append(out, r.edits(run)...)
	}
	return out
}

// own is what of a block's exploration is one suspect's doing: what still varies with the others fixed.
// The worst schedule stays that of the kernel as it is, which is what can be executed again.
func (q *inquiry) own(whole *ScheduleDoc, others aside) (ScheduleDoc, error) {
	own := *whole
	if whole.Varied == 0 || others.right+len(others.left) == 0 {
		return own, nil
	}
	if others.right > 0 {
		alone, err := q.explore(whole.Block, others)
		if err != nil {
			return own, err
		}
		if alone.Tried > 0 {
			own = *alone
			if own.Says += " with " + others.String(); own.Varied > 0 {
				own.Worst = whole.Worst
			}
		}
	}
	if own.Varied > 0 && len(others.left) > 0 {
		own.Says += ", together with what cannot be fixed here: " + strings.Join(others.left, "; ")
	}
	return own, nil
}

// settle explores the block again with the suspect put right too: no schedule should change
// the result any more.
func (q *inquiry) settle(s *suspect, others aside) error {
	if s.explored.Varied == 0 || s.remedy == nil || s.remedy.edits == nil {
		return nil
	}
	run, text := q.run, s.remedy.text
	if others.right > 0 {
		text += " and " + others.String()
	}
	if others.run != nil {
		run = others.run
	}
	x, err := trial.Explore(q.ctx, run, trial.ExploreOptions{
		N: max(fewestSchedules, s.explored.Tried/4), Blocks: []probes.Dim3{s.explored.Block},
		Edits: others.edits(run, s.remedy),
	})
	if err != nil {
		return q.fatal(err)
	}
	s.settled = fmt.Sprintf("%s: %s is the same in %d schedules", text, x.Output, x.Tried)
	if x.Varied > 0 {
		s.settled = fmt.Sprintf("%s: %s still changes in %d of %d schedules", text, x.Output, x.Varied,
			x.Tried)
	}
	return nil
}

// explore executes one block under many schedules, with some suspects put right, and compares what it leaves.
func (q *inquiry) explore(block probes.Dim3, right aside) (*ScheduleDoc, error) {
	n := q.o.Schedules
	if n <= 0 {
		_, tiles := q.run.Tiles(block)
		n = max(fewestSchedules, min(defaultSchedules, defaultWork/max(1, tiles)))
	}
	_, plain, err := q.code()
	if err != nil {
		return nil, err
	}
	run := q.run
	if right.run != nil {
		run = right.run
	}
	x, err := trial.Explore(q.ctx, run, trial.ExploreOptions{
		N: n, Blocks: []probes.Dim3{block}, Edits: right.edits(run),
		Plain: plain && right.right == 0 && q.run.Plan.Gate.Name == probes.GateNone,
		OnProgress: func(tried, _ int) {
			q.progress(debugkern.Progress{
				Phase: "schedules", Detail: "block " + block.String(), Done: tried, Total: n,
			})
		},
	})
	if err != nil {
		return &ScheduleDoc{Finding: -1}, q.fatal(err)
	}
	return &ScheduleDoc{
		Finding: -1, Block: block, Tried: x.Tried, Varied: x.Varied, Worst: x.Worst,
		MaxAbs: report.Number(x.MaxAbs), Says: says(x, q.run.Plan, block),
	}, nil
}

// says words what exploring showed.
func says(x *trial.Exploration, plan *probes.Plan, block probes.Dim3) string {
	if x.Varied > 0 && math.IsInf(x.MaxAbs, 1) {
		return fmt.Sprintf("changes %s, up to NaN or Inf, in %d of %d schedules", x.Output, x.Varied,
			x.Tried)
	}
	if x.Varied > 0 && x.MaxAbs == 0 {
		what := "the tiles"
		tile := func(v trial.Varying) bool {
			is := func(sp probes.StagePlan) bool { return sp.Stage == v.Stage }
			return slices.ContainsFunc(plan.Stages, is)
		}
		if !slices.ContainsFunc(x.Stages, tile) {
			what = x.Output
		}
		return fmt.Sprintf("changes %s in %d of %d schedules", what, x.Varied, x.Tried)
	}
	if x.Varied > 0 {
		return fmt.Sprintf("changes %s by up to %.3g in %d of %d schedules", x.Output, x.MaxAbs, x.Varied,
			x.Tried)
	}
	return fmt.Sprintf("%s is the same in %d schedules of block %s", x.Output, x.Tried, block)
}

// perturb launches the kernel on the GPU with seeded delays, where asked for.
func (q *inquiry) perturb() error {
	if q.o.Perturb <= 0 || q.gpu == nil {
		return nil
	}
	p, err := trial.Perturb(q.ctx, q.gpu, q.o.Perturb, func(done, differed int) {
		q.progress(debugkern.Progress{Phase: "perturb", Detail: "seeds", Done: done, Total: q.o.Perturb})
	})
	if err != nil {
		return err
	}
	q.doc.Perturbed = &PerturbDoc{
		Device: p.Device, Seeds: p.Seeds, Places: p.Places, Differed: p.Differed,
		MaxAbs: report.Number(p.MaxAbs), Worst: p.Worst, Failed: p.Failed,
		Says: p.String(),
	}
	if p.Differed > 0 {
		q.doc.Findings = append(q.doc.Findings, q.variation(p))
	}
	return nil
}

// variation is the finding that delays change the result: an error, unless the kernel adds floats by atomics
// in no fixed order and every stage is within its bound, which holds for any order.
func (q *inquiry) variation(p *trial.Perturbation) report.Finding {
	f := report.Finding{
		Kind: "varies", Severity: severityError, Message: p.String(), Index: []int{}, Warps: []int{},
		Lanes: []int{}, KVTile: -1, Count: p.Differed,
	}
	if debugkern.AddsFloatsByAtomics(q.run.Entry()) && q.doc.Verdict == report.Agree && p.Failed == 0 {
		f.Severity, f.Consequence = "advice",
			"the kernel adds floats by atomics, in no fixed order; every stage is within its bound, which holds for any order"
	}
	return f
}
