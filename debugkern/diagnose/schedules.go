package diagnose

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"tilescope/debugkern"
	"tilescope/probes"
)

// defaultSchedules is how many schedules are explored where nobody said how many, and defaultWork how many kv tiles all of
// them together may take.
const (
	defaultSchedules = 200
	defaultWork      = 6400
)

// racing are kinds of findings that leave the result to the order in which warps and copies go.
var racing = []string{"race", "cp-async", "barrier"}

// schedules explores, for each racing suspect, the block that it was found in: does the outcome depend on the order?
func (q *inquiry) schedules() error {
	explored := map[probes.Dim3]*ScheduleDoc{}
	for _, s := range q.suspects {
		if !slices.Contains(racing, s.cause.Kind) || q.run.Plan.Gate != probes.GateNone {
			continue
		}
		block := s.cause.Place.Block
		doc := explored[block]
		if doc == nil {
			var err error
			if doc, err = q.explore(q.run, block); err != nil {
				return err
			}
			explored[block] = doc
		}
		own := *doc
		own.Finding = s.cause.Finding
		q.doc.Schedules = append(q.doc.Schedules, own)
		s.explored = &own
		for _, i := range s.cause.Findings {
			q.doc.Findings[i].Consequence = consequence(&own)
		}
	}
	return nil
}

// consequence is what exploring showed, in words.
func consequence(d *ScheduleDoc) string {
	if d.Varied == 0 {
		return fmt.Sprintf("never observable in %d schedules", d.Tried)
	}
	return fmt.Sprintf("changes O by up to %.2g in %d of %d schedules", float64(d.MaxAbs), d.Varied, d.Tried)
}

// policies are explored in turn, each with seeds of its own, and every moment at which a cp.async may land.
var policies = []string{"random", "reverse", "ahead", "priority"}
var landings = []string{"", ":earliest", ":random"}

// scheduleName is the i-th schedule that is explored; 0 is the reversed order.
func scheduleName(i int) string {
	if i == 0 {
		return "reverse:0"
	}
	p := policies[i%len(policies)]
	return fmt.Sprintf("%s:%d%s", p, i, landings[i/len(policies)%len(landings)])
}

// explore executes one block of the plain build under many schedules and compares what it leaves in O.
func (q *inquiry) explore(run *debugkern.Run, block probes.Dim3) (*ScheduleDoc, error) {
	n := q.o.Schedules
	if n <= 0 {
		_, tiles := run.Tiles(block)
		n = max(20, min(defaultSchedules, defaultWork/max(1, tiles)))
	}
	first, err := q.outcome(q.ctx, run, block, "in-order:0")
	if err != nil || first == nil {
		return &ScheduleDoc{Finding: -1}, q.fatal(err)
	}
	changes := make([]float64, n) // −1: not tried
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	next := 0
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := failed != nil
				if i < n && i%10 == 0 {
					q.progress(debugkern.Progress{Phase: "schedules", Detail: "block " + block.String(), Done: i, Total: n})
				}
				mu.Unlock()
				if stop || i >= n {
					return
				}
				o, err := q.outcome(q.ctx, run, block, scheduleName(i))
				mu.Lock()
				switch {
				case err != nil && q.ctx.Err() != nil:
					failed = err
				case err != nil || o == nil:
					changes[i] = -1
				default:
					changes[i] = distance(first, o)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return tally(changes), failed
}

// tally sums up what schedules changed; NaN counts as the largest change.
func tally(changes []float64) *ScheduleDoc {
	d := &ScheduleDoc{Finding: -1}
	for i, c := range changes {
		if c < 0 {
			continue
		}
		d.Tried++
		if c == 0 {
			continue
		}
		d.Varied++
		if worst := float64(d.MaxAbs); d.Worst == "" || c > worst || math.IsNaN(c) && !math.IsNaN(worst) {
			d.Worst, d.MaxAbs = scheduleName(i), debugkern.Number(c)
		}
	}
	return d
}

// outcome is what a block leaves of the last stage that is judged in the plain build, under a schedule.
func (q *inquiry) outcome(ctx context.Context, run *debugkern.Run, block probes.Dim3, schedule string) (*debugkern.TileView, error) {
	r, err := run.Try(ctx, debugkern.Trial{Plain: true, Schedule: schedule, Blocks: []probes.Dim3{block}})
	if err != nil {
		return nil, err
	}
	return r.View(debugkern.Place{Stage: probes.StageO, Block: block})
}

// distance is the largest difference between two outcomes' valid cells: NaN where one is a number and the other none, 0 where
// they are equal to the bit.
func distance(a, b *debugkern.TileView) float64 {
	worst := 0.0
	for row := range a.ValidRows {
		for col := range a.ValidCols {
			if !a.Got.Reached() || !b.Got.Reached() {
				if a.Got.Reached() != b.Got.Reached() {
					return math.NaN()
				}
				return 0
			}
			if a.Got.Bits(row, col) == b.Got.Bits(row, col) {
				continue
			}
			d := math.Abs(a.Got.At(row, col) - b.Got.At(row, col))
			if math.IsNaN(d) {
				return d
			}
			worst = max(worst, d, math.SmallestNonzeroFloat64)
		}
	}
	return worst
}
