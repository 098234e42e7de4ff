package diagnose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/join"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// SanitizerDoc is what one of compute-sanitizer's tools said, with our findings that are about the same.
type SanitizerDoc = debugkern.Second

// SanitizerWait is how long a diagnosis that is complete otherwise waits for compute-sanitizer, where its
// caller does (Diagnosis.Await).
const SanitizerWait = 10 * time.Second

// sanitizerLimit is how long one tool may take.
const sanitizerLimit = 2 * time.Minute

// sanitizer runs a tool on a launch that has some blocks in it (nil: all), and returns how many blocks it
// had.
type sanitizer func(
	ctx context.Context, tool string, blocks []probes.Dim3, limit time.Duration,
) (*debugkern.Sanitized, int, error)

// watch is compute-sanitizer's tools at work on the GPU while experiments go on.
type watch struct {
	cancel  context.CancelFunc
	start   time.Time
	answers chan toolAnswer // of every tool
	wg      join.Group
	open    []string // tools of which nothing has been taken up yet
}

// toolAnswer is what came of one tool; err is one that is no reason of the tool's.
type toolAnswer struct {
	tool string
	doc  SanitizerDoc
	err  error
}

// sanitize lets compute-sanitizer watch a launch on the GPU, of the blocks that findings name, where there is
// something to confirm or where delays were wanted, and does not wait for it. What only it finds is reported
// and is no finding: it has its own false alarms.
func (q *inquiry) sanitize() error {
	run := q.o.sanitizer
	if run == nil {
		if q.gpu == nil {
			return nil
		}
		run = func(
			ctx context.Context, tool string, blocks []probes.Dim3, limit time.Duration,
		) (*debugkern.Sanitized, int, error) {
			return q.s.SanitizePart(ctx, q.gpu, tool, blocks, limit)
		}
	}
	if !q.troubled() && q.o.Perturb == 0 {
		return nil
	}
	q.doc.watch = startWatch(q.ctx, run, debugkern.SanitizerTools, q.doc.Findings)
	return nil
}

// startWatch starts tools, each in a process of its own.
func startWatch(ctx context.Context, run sanitizer, tools []string, findings []report.Finding) *watch {
	w := &watch{start: time.Now(), answers: make(chan toolAnswer, len(tools)), open: slices.Clone(tools)}
	ctx, w.cancel = context.WithCancel(ctx)
	findings = slices.Clone(findings)
	for _, tool := range tools {
		w.wg.Go(func() {
			blocks := namedBlocks(findings, tool)
			n := 0
			doc, err := debugkern.SecondOpinion(ctx, findings, tool, func() (*debugkern.Sanitized, error) {
				out, watched, err := run(ctx, tool, blocks, sanitizerLimit)
				n = watched
				return out, err
			})
			if doc.NotRun == "" && err == nil && blocks != nil {
				doc.Blocks = n
				doc.Says += fmt.Sprintf(" (blocks watched: %d)", n)
			}
			w.answers <- toolAnswer{tool, doc, err}
		})
	}
	return w
}

// namedBlocks lists the blocks of the findings that a tool could make too; nil where there are none.
func namedBlocks(findings []report.Finding, tool string) []probes.Dim3 {
	var out []probes.Dim3
	for _, i := range debugkern.Fold(findings, &debugkern.Sanitized{Tool: tool}).OnlyOurs {
		if b := findings[i].Block; !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}

// take adds a tool's answer.
func (d *Diagnosis) take(s toolAnswer) error {
	d.watch.open = slices.DeleteFunc(d.watch.open, func(t string) bool { return t == s.tool })
	if s.err != nil {
		return s.err
	}
	d.Sanitizer = append(d.Sanitizer, s.doc)
	for i := range d.Causes {
		c := &d.Causes[i]
		if slices.ContainsFunc(s.doc.Confirmed, func(x debugkern.Confirmation) bool {
			return slices.Contains(c.Findings, x.Finding)
		}) {
			c.Proof = append(slices.Clone(c.Proof), "compute-sanitizer "+s.tool+" confirms it on the GPU")
		}
	}
	return nil
}

// Pending reports whether compute-sanitizer is still at work.
func (d *Diagnosis) Pending() bool { return d.watch != nil && len(d.watch.open) > 0 }

// Await waits for what compute-sanitizer says of the launch, for so long at most, and adds it to the
// document: each, which may be nil, is called with every tool's answer as it comes. A tool that has not
// finished by then is ended, and its answer says so. It returns at once where none is at work, and is to be
// called once for a Diagnosis that is Pending, by the goroutine that owns it. The error is one of ours, or
// ctx's.
func (d *Diagnosis) Await(ctx context.Context, limit time.Duration, each func(*SanitizerDoc)) error {
	if d.watch == nil {
		return nil
	}
	w := d.watch
	defer func() {
		w.cancel()
		w.wg.Wait()
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	var failed error
	for len(w.open) > 0 {
		before := len(d.Sanitizer)
		select {
		case s := <-w.answers:
			failed = errors.Join(failed, d.take(s))
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			for _, tool := range w.open {
				text := fmt.Sprintf("not finished after %.0f s", math.Ceil(time.Since(w.start).Seconds()))
				d.Sanitizer = append(d.Sanitizer, SanitizerDoc{
					Folded: debugkern.Folded{
						Tool: tool, Confirmed: []debugkern.Confirmation{}, OnlyOurs: []int{},
						OnlyTheirs: []int{},
					},
					Complaints: []debugkern.Complaint{}, NotRun: text, Says: tool + ": " + text,
					Seconds: time.Since(w.start).Seconds(),
				})
			}
			w.open = nil
		}
		for i := before; i < len(d.Sanitizer) && each != nil; i++ {
			each(&d.Sanitizer[i])
		}
	}
	return failed
}

// arrived takes up the answers that have come so far.
func (d *Diagnosis) arrived() error {
	for d.Pending() {
		select {
		case s := <-d.watch.answers:
			if err := d.take(s); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}
