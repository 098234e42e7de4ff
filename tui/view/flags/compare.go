package flags

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/debugkern"
	"tilescope/debugkern/bisect"
	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// bisecter is offered by engines that bisect in a way of their own.
type bisecter interface {
	Bisect(ctx context.Context, a, b debugkern.Request, until string,
		progress func(debugkern.Progress)) (*report.Bisection, error)
}

// bisected finds the smallest set of flags and faults between two requests that turns the verdict.
func bisected(ctx context.Context, e view.Engine, a, b debugkern.Request,
	progress func(debugkern.Progress)) (*report.Bisection, error) {
	if own, ok := e.(bisecter); ok {
		return own.Bisect(ctx, a, b, "", progress)
	}
	return bisect.Run(ctx, e, a, b, "", progress)
}

// otherKernel says why A is compared with nothing of the request on screen, "" where it can be: their stages
// are not the same ones.
func (v *Controller) otherKernel() string {
	if v.Pinned == nil || v.SameKernel(v.Pinned.Target, v.Req.Target) {
		return ""
	}
	return fmt.Sprintf("A is of another kernel, with other stages: %s pins a run of this one, %s unpins A",
		v.Keys.LabelIn(view.Flags, pin), v.Keys.LabelIn(view.Flags, unpin))
}

// versus is what is known of A against B.
type versus struct {
	target     string // B's
	bisection  *report.Bisection
	ends       [2]string // its kernels, with their flags
	comparison *report.Comparison
	name       string // of A, in the comparison
	of         string // B's request in full
	waiting    waiting
}

// waiting is what is done once a run under way has ended well.
type waiting struct {
	run int // 0: nothing waits
	do  func() tea.Cmd
}

// bisectedMsg is a bisection that ended.
type bisectedMsg struct {
	gen    int
	of     string    // B's request in full
	target string    // B's
	ends   [2]string // the kernels
	doc    *report.Bisection
	err    error
}

// pairedMsg is A run again and laid under the run on screen.
type pairedMsg struct {
	gen    int    // the task's
	run    int    // the run's it was laid under
	name   string // of A's kernel
	title  string // of A's run
	pair   view.Pairing
	doc    *report.Comparison
	report *report.Run // A's
	err    error
}

// ends are the pinned run's request and that of the run on screen, on the same problem: the one on screen's.
// A request that could not run is no B, and the run before it is not taken in its place. While B runs, they
// are not known: what asks for them, named so, is asked again when that run has ended.
func (v *Controller) ends(named string, again func() tea.Cmd) (a, b debugkern.Request, ok bool) {
	switch {
	case v.Pinned == nil:
		v.Say("no run is pinned: " + v.Keys.Label(pin) + " pins this one, then switch something")
		return a, b, false
	case v.otherKernel() != "":
		v.Complain(v.otherKernel())
		return a, b, false
	case v.Job.Active:
		v.versus.waiting = waiting{v.Job.Gen, again}
		v.Say(fmt.Sprintf("%s starts when this run has ended · %s cancels the run", named,
			v.Keys.Label(keymap.Cancel)))
		return a, b, false
	case v.Fail != nil:
		v.Complain(fmt.Sprintf("B could not run, so A is compared with nothing: %s",
			view.Reasons(v.Fail.Report.Error)[0].Text))
		return a, b, false
	case !v.Movable():
		v.NothingYet()
		return a, b, false
	}
	b = request.Clone(v.Run.Request)
	a = request.With(b, v.Pinned)
	a.Shape, a.Seed, a.Gate, a.Inject = b.Shape, b.Seed, b.Gate, b.Inject
	return a, b, true
}

// bisect looks for the smallest set of flags and faults between A and B that turns the verdict.
func (v *Controller) bisect(string) tea.Cmd {
	a, b, ok := v.ends("the bisection", func() tea.Cmd { return v.bisect("") })
	if !ok {
		return nil
	}
	if !v.Begin("the bisection") {
		return nil
	}
	v.Say(fmt.Sprintf("bisecting A %s, B %s", request.Title(a), request.Title(b)))
	t, engine := v.Task, v.Engine
	ends := [2]string{request.KernelTitle(a), request.KernelTitle(b)}
	return tea.Batch(func() tea.Msg {
		defer t.Cancel()
		doc, err := bisected(t.Ctx, engine, a, b, t.Report)
		return bisectedMsg{t.Gen, request.InFull(b), b.Target, ends, doc, err}
	}, t.Listen())
}

func (v *Controller) bisected(msg bisectedMsg) {
	if msg.gen != v.Task.Gen {
		return
	}
	v.Task.Stop()
	switch {
	case errors.Is(msg.err, context.Canceled):
		return
	case msg.err != nil:
		v.Complain(view.OneLine(msg.err))
		return
	case msg.doc.Verdict == report.Found:
		also := msg.doc.AlsoText()
		if also != "" {
			also = " · not the only one: " + also
		}
		v.Say(fmt.Sprintf("smallest set: %s%s · %s runs the pair and compares it",
			report.ChangesText(msg.doc.Minimal), also, v.Keys.Label(keymap.Open)))
	case msg.doc.Targets[0].Verdict == report.Agree:
		v.Say("A and B both agree, in this order of warps: :diagnose looks for races in B")
	default:
		v.Say(fmt.Sprintf("A and B both %s: nothing to bisect; pin a run with another verdict",
			msg.doc.Targets[0].Verdict))
	}
	v.versus.bisection, v.versus.ends, v.versus.comparison, v.versus.of = msg.doc, msg.ends, nil, msg.of
	v.versus.target = msg.target
	v.Root.Announce(view.RequestChanged{})
	if v.Root.Showing() == view.Flags {
		v.Root.Focus(partAbout)
		v.pane.ScrollTo(Bisected)
	}
}

// within reads the tolerance of a comparison, RTOL or RTOL,ATOL; nil for none.
func within(arg string) (*report.Tolerance, error) {
	if strings.TrimSpace(arg) == "" {
		return nil, nil
	}
	rtol, atol, _ := strings.Cut(arg, ",")
	out := &report.Tolerance{}
	for _, x := range []struct {
		text string
		to   *report.Number
	}{{rtol, &out.RTol}, {atol, &out.ATol}} {
		if x.text = strings.TrimSpace(x.text); x.text == "" {
			continue
		}
		n, err := strconv.ParseFloat(x.text, 64)
		if err != nil || !(n >= 0) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("%q: expected RTOL or RTOL,ATOL, numbers from 0 on; it compares A, which is pinned, "+
				"with the run on screen: :variant NAME runs another kernel", arg)
		}
		*x.to = report.Number(n)
	}
	return out, nil
}

// compareWithin is :compare, with a tolerance or without.
func (v *Controller) compareWithin(arg string) tea.Cmd {
	limit, err := within(arg)
	if err != nil {
		v.Complain(view.OneLine(err))
		return nil
	}
	return v.layOver(limit)
}

// compare lays A under B, bit for bit.
func (v *Controller) compare(string) tea.Cmd { return v.layOver(nil) }

// layOver runs A on B's problem and lays it under B, tile by tile, bit for bit or within a tolerance.
func (v *Controller) layOver(limit *report.Tolerance) tea.Cmd {
	a, _, ok := v.ends("the comparison", func() tea.Cmd { return v.layOver(limit) })
	if !ok {
		return nil
	}
	if v.Run.Run == nil {
		v.Complain("the run on screen has no tiles to compare")
		return nil
	}
	if !v.Begin("the comparison") {
		return nil
	}
	v.Say("running A " + request.Title(a) + " to compare it with B")
	t, engine, b, gen := v.Task, v.Engine, v.Run.Run, v.Gen
	return tea.Batch(func() tea.Msg {
		defer t.Cancel()
		msg := pairedMsg{gen: t.Gen, run: gen, name: request.KernelTitle(a), title: request.Title(a)}
		run, err := engine.Run(t.Ctx, a, t.Report)
		if err == nil {
			msg.report = run.Report
			msg.pair, err = view.PairOf(engine, run, b, limit)
		}
		if err == nil {
			msg.doc, err = msg.pair.Compare()
		}
		msg.err = err
		return msg
	}, t.Listen())
}

func (v *Controller) paired(msg pairedMsg) tea.Cmd {
	if msg.gen != v.Task.Gen {
		return nil
	}
	v.Task.Stop()
	switch {
	case errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		v.Complain(view.OneLine(msg.err))
		return nil
	case msg.run != v.Gen:
		v.Say("the comparison was of an earlier run")
		return nil
	}
	v.versus.comparison, v.versus.name, v.versus.of = msg.doc, msg.name, request.InFull(v.Run.Request)
	v.versus.target = v.Run.Request.Target
	v.a = &Pinned{Name: msg.title, Report: msg.report}
	both := *v.Run
	both.Viewer, both.Pair, both.Against = msg.pair, msg.pair, msg.name
	v.Run = &both
	load := v.Root.Announce(view.Paired{})
	v.Root.Announce(view.RequestChanged{})
	if v.Root.Showing() == view.Flags {
		v.Root.Focus(partAbout)
		v.pane.ScrollTo(Compared)
	}
	switch msg.doc.Verdict {
	case report.Equal:
		v.Say("A and B are equal to the bit")
	case report.Within:
		v.Say("A and B are within " + msg.doc.Tolerance.String())
	default:
		v.Say(fmt.Sprintf("A and B differ%s · Enter goes to the first differing cell", first(msg.doc)))
	}
	return load
}

func first(c *report.Comparison) string {
	if c.First == "" {
		return ""
	}
	return " first in " + c.First
}

// versusHere is what is known of A against B where it is of the kernel on screen, else nothing.
func (v *Controller) versusHere() versus {
	if v.versus.target != "" && !v.SameKernel(v.versus.target, v.Req.Target) {
		return versus{}
	}
	return v.versus
}

// openVersus is Enter beside the list of the Flags view: the first differing cell in Tile, or the bisection's
// pair.
func (v *Controller) openVersus() tea.Cmd {
	x := v.versusHere()
	switch {
	case x.comparison != nil && v.Run != nil && v.Run.Pair != nil:
		if x.comparison.First == "" {
			v.Say("no cell differs")
			return nil
		}
		c, ok := v.Run.Pair.First(probes.Stage(x.comparison.First))
		if !ok {
			v.Say("no cell that can be shown differs")
			return nil
		}
		return tea.Batch(v.Root.Open(view.Tile), v.GoTo(c))
	case x.bisection != nil && x.bisection.Pair != nil:
		return v.runPair(x.bisection.Pair)
	}
	v.Say("nothing to open: B bisects, C compares A with B")
	return nil
}

// runPair pins the bisection's one end as A, runs the other as B, and compares them once that has ended.
func (v *Controller) runPair(p *report.BisectPair) tea.Cmd {
	req := request.Clone(v.Run.Request)
	a := request.SetupOf(request.WithSpec(req, p.From))
	v.Pinned, v.a, v.repinned = &a, nil, true
	v.versus.comparison, v.versus.name, v.versus.waiting = nil, "", waiting{}
	cmd := v.Choose(request.WithSpec(req, p.To),
		"A is "+request.Title(request.WithSpec(req, p.From))+"; comparing once B has run")
	if cmd != nil {
		v.versus.waiting = waiting{v.Job.Gen, func() tea.Cmd { return v.compare("") }}
	}
	return cmd
}

// alone takes A from under the run on screen.
func (v *Controller) alone() tea.Cmd {
	v.versus = versus{}
	if v.Run == nil || v.Run.Pair == nil {
		return nil
	}
	one := *v.Run
	one.Viewer, one.Pair, one.Against = view.ViewerOf(v.Engine, one.Run), nil, ""
	v.Run = &one
	return v.Root.Announce(view.Paired{})
}
