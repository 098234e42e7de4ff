package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// defaultSchedules is how many schedules are explored where nobody said how many, fewestSchedules the least of them, and
// defaultWork how many kv tiles all of them together may take.
const (
	defaultSchedules = 200
	fewestSchedules  = 20
	defaultWork      = 6400
)

// racing are kinds of findings that leave the result to the order in which warps and copies go.
var racing = []string{"race", "cp-async"}

// schedules explores, for each racing suspect, the block that it was found in: does the outcome depend on the order? Then,
// where asked for, it disturbs the kernel on a GPU.
func (q *inquiry) schedules() error {
	explored := map[probes.Dim3]*ScheduleDoc{}
	for _, s := range q.suspects {
		if !slices.Contains(racing, s.cause.Kind) {
			continue
		}
		block := s.cause.Place.Block
		doc := explored[block]
		if doc == nil {
			var err error
			if doc, err = q.explore(block); err != nil {
				return err
			}
			explored[block] = doc
		}
		if doc.Tried == 0 {
			continue
		}
		own := *doc
		own.Finding = s.cause.Finding
		q.doc.Schedules = append(q.doc.Schedules, own)
		s.explored = &own
		if err := q.settle(s); err != nil {
			return err
		}
		for _, i := range s.cause.Findings {
			if f := &q.doc.Findings[i]; slices.Contains(racing, f.Kind) {
				f.Consequence = own.Says
			}
		}
	}
	return q.perturb()
}

// settle explores the block again with the suspect put right: no schedule should change the result any more.
func (q *inquiry) settle(s *suspect) error {
	if s.explored.Varied == 0 || s.remedy == nil || s.remedy.edits == nil {
		return nil
	}
	x, err := q.run.Explore(q.ctx, debugkern.ExploreOptions{
		N: max(fewestSchedules, s.explored.Tried/4), Blocks: []probes.Dim3{s.explored.Block}, Edits: s.remedy.edits(q.run),
	})
	if err != nil {
		return q.fatal(err)
	}
	s.settled = fmt.Sprintf("%s: O is the same in %d schedules", s.remedy.text, x.Tried)
	if x.Varied > 0 {
		s.settled = fmt.Sprintf("%s: O still changes in %d of %d schedules", s.remedy.text, x.Varied, x.Tried)
	}
	return nil
}

// explore executes one block under many schedules and compares what it leaves.
func (q *inquiry) explore(block probes.Dim3) (*ScheduleDoc, error) {
	n := q.o.Schedules
	if n <= 0 {
		_, tiles := q.run.Tiles(block)
		n = max(fewestSchedules, min(defaultSchedules, defaultWork/max(1, tiles)))
	}
	_, plain := q.code()
	x, err := q.run.Explore(q.ctx, debugkern.ExploreOptions{
		N: n, Blocks: []probes.Dim3{block}, Plain: plain && q.run.Plan.Gate == probes.GateNone,
		Tell: func(tried, _ int) {
			q.progress(debugkern.Progress{Phase: "schedules", Detail: "block " + block.String(), Done: tried, Total: n})
		},
	})
	if err != nil {
		return &ScheduleDoc{Finding: -1}, q.fatal(err)
	}
	return &ScheduleDoc{Finding: -1, Block: block, Tried: x.Tried, Varied: x.Varied, Worst: x.Worst, MaxAbs: debugkern.Number(x.MaxAbs), Says: says(x)}, nil
}

// says words what exploring showed.
func says(x *debugkern.Exploration) string {
	if x.Varied > 0 && math.IsInf(x.MaxAbs, 1) {
		return fmt.Sprintf("changes O, up to no number at all, in %d of %d schedules", x.Varied, x.Tried)
	}
	if x.Varied > 0 && x.MaxAbs == 0 {
		return fmt.Sprintf("changes the tiles in %d of %d schedules", x.Varied, x.Tried)
	}
	if x.Varied > 0 {
		return fmt.Sprintf("changes O by up to %.3g in %d of %d schedules", x.MaxAbs, x.Varied, x.Tried)
	}
	return fmt.Sprintf("never observable in %d schedules", x.Tried)
}

// perturb launches the kernel on the GPU with seeded delays, where asked for.
func (q *inquiry) perturb() error {
	if q.o.Perturb <= 0 || q.gpu == nil {
		return nil
	}
	p, err := q.gpu.Perturb(q.ctx, q.o.Perturb, func(done, differed int) {
		q.progress(debugkern.Progress{Phase: "perturb", Detail: "seeds", Done: done, Total: q.o.Perturb})
	})
	if err != nil {
		return err
	}
	q.doc.Perturbed = &PerturbDoc{
		Device: p.Device, Seeds: p.Seeds, Places: p.Places, Differed: p.Differed, MaxAbs: debugkern.Number(p.MaxAbs), Worst: p.Worst, Failed: p.Failed,
		Says: p.String(),
	}
	if p.Differed > 0 {
		q.doc.Findings = append(q.doc.Findings, q.variation(p))
	}
	return nil
}

// variation is the finding that delays change the result: an error, unless the kernel adds floats by atomics in no fixed order
// and every stage is within its bound, which holds for any order.
func (q *inquiry) variation(p *debugkern.Perturbation) debugkern.FindingDoc {
	f := debugkern.FindingDoc{
		Kind: "varies", Severity: severityError, Message: p.String(), Index: []int{}, Warps: []int{}, Lanes: []int{}, KVTile: -1, Count: p.Differed,
	}
	atomics := slices.ContainsFunc(q.run.Entry().Body, func(in *ptx.Instr) bool {
		return (in.Op == "atom" || in.Op == "red") && in.Has("add") && slices.ContainsFunc(in.Mods, func(m string) bool { return strings.Contains(m, "f16") || m == "f32" || m == "f64" })
	})
	if atomics && q.doc.Verdict == debugkern.Agree && p.Failed == 0 {
		f.Severity, f.Consequence = "advice", "the kernel adds floats by atomics, in no fixed order; every stage is within its bound, which holds for any order"
	}
	return f
}
