package gates

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/gates"
	"tilescope/probes"
	"tilescope/tui/keymap"
	"tilescope/tui/outcome"
	"tilescope/tui/request"
	"tilescope/tui/view"
)

// sweep is the Gates view's state: the documents of the variants judged in this session, and the sweep
// under way.
type sweep struct {
	docs    map[string]judgement
	asked   judgement // what the sweep under way judges by; it has no document
	again   []string  // the variants it has yet to judge
	now     gates.Progress
	running bool
	gen     int // the task's
	note    string
}

// judgement is a variant's document with what it was judged by.
type judgement struct {
	doc *gates.TargetDoc
	by  debugkern.Request // backend, builder and device of the request on screen then
	at  string            // the stamp of a person's own source then
}

// judgedBy is what a sweep that starts now judges by.
func (v *Controller) judgedBy() judgement {
	req := v.NextRequest()
	return judgement{by: request.Normal(debugkern.Request{Backend: req.Backend, Builder: req.Builder,
		Arch: req.Arch, Device: req.Device}), at: v.Stamp}
}

// sweepMsg is how far a sweep has come.
type sweepMsg struct {
	gen   int
	p     gates.Progress
	from  <-chan gates.Progress
	until context.Context
}

// judgedMsg is a variant whose gates are decided.
type judgedMsg struct {
	gen    int
	target gates.TargetDoc
	from   <-chan gates.TargetDoc
}

// sweptMsg is a sweep that ended.
type sweptMsg struct {
	gen int
	doc *gates.Doc
	err error
}

// partGates says where the gates are that run a part of the kernel; "" where it has none.
func (v *Controller) partGates(man *configs.Manifest) string {
	if len(man.Gates) < 2 {
		return ""
	}
	names := man.GateNames()[1:]
	return fmt.Sprintf("The kernel's own gates, which run a part of it (%s), are not these: GATE in %s (%d), "+
		"or :gate.", strings.Join(names, ", "), view.Flags, v.Keys.Number(view.Flags))
}

// launches are the command line's defaults.
const (
	warmups  = 100
	launches = 500
)

// gateRows are the variants of the requested kernel's manifest.
func (v *Controller) gateRows() []string {
	man, _ := v.Manifest()
	if man == nil || man == v.Mine {
		return []string{v.Req.Target}
	}
	var out []string
	for _, v := range man.Variants {
		out = append(out, v.Name)
	}
	return out
}

// startSweep judges targets in the background. A sweep cancelled before goes on where it was.
func (v *Controller) startSweep(targets []string, backend string) tea.Cmd {
	r, ok := v.Engine.(gates.Runner)
	if !ok {
		v.Complain("this engine has no gates")
		return nil
	}
	if !v.Begin("the sweep of the gates") {
		return nil
	}
	o := gates.Options{
		Targets: targets, Against: v.against(), Warmups: warmups, Launches: launches, Files: v.Files,
		Request: debugkern.Request{Backend: backend, Builder: v.Req.Builder, Device: v.Req.Device,
			Timeout: v.Req.Timeout},
	}
	if v.StateDir != "" {
		o.Out = filepath.Join(v.StateDir, "gates", v.sweepName(targets))
	}
	v.sweep.gen, v.sweep.running, v.sweep.now, v.sweep.note = v.Task.Gen, true, gates.Progress{}, ""
	v.sweep.asked, v.sweep.again = v.judgedBy(), slices.Clone(targets)
	v.Say("judging " + strings.Join(targets, " "))
	v.showGates()
	steps, judged := make(chan gates.Progress, 1), make(chan gates.TargetDoc, len(targets))
	return tea.Batch(sweepCmd(r, o, v.Version, v.Task, steps, judged),
		listenSweep(v.Task.Gen, steps, v.Task.Ctx), listenJudged(v.Task.Gen, judged))
}

// sweepName is the folder of a sweep's files: the variant's, or, of several, the kernel's.
func (v *Controller) sweepName(targets []string) string {
	name := targets[0]
	if man, _ := v.Manifest(); len(targets) > 1 && man != nil {
		name = "all-" + man.Name
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:`, r) {
			return '_'
		}
		return r
	}, name)
}

// against is what speed is compared with: the variant pinned as A, as long as it is that variant and nothing
// on top.
func (v *Controller) against() string {
	if v.Pinned == nil || len(v.Pinned.Faults) > 0 || len(v.Pinned.Flags) > 0 {
		return ""
	}
	return v.Pinned.Target
}

func sweepCmd(r gates.Runner, o gates.Options, version string, t view.Task, steps chan gates.Progress,
	judged chan gates.TargetDoc) tea.Cmd {
	return func() tea.Msg {
		defer t.Cancel()
		defer close(judged)
		o.Tool = gates.ThisTool(version)
		o.Judged = func(d gates.TargetDoc) { judged <- d }
		doc, err := gates.Run(t.Ctx, r, o, func(p gates.Progress) { view.Latest(steps, p) })
		return sweptMsg{t.Gen, doc, err}
	}
}

func listenSweep(gen int, steps <-chan gates.Progress, until context.Context) tea.Cmd {
	return func() tea.Msg {
		select {
		case p := <-steps:
			return sweepMsg{gen, p, steps, until}
		case <-until.Done():
			return nil
		}
	}
}

func listenJudged(gen int, judged <-chan gates.TargetDoc) tea.Cmd {
	return func() tea.Msg {
		d, ok := <-judged
		if !ok {
			return nil
		}
		return judgedMsg{gen, d, judged}
	}
}

func (v *Controller) sweeping(msg sweepMsg) tea.Cmd {
	if msg.gen != v.Task.Gen || !v.Task.Active {
		return nil
	}
	v.sweep.now = msg.p
	v.Task.Last = debugkern.Progress{Phase: msg.p.Target + " " + msg.p.Gate, Detail: msg.p.Detail,
		Done: msg.p.Done, Total: msg.p.Total}
	v.showGates()
	return listenSweep(msg.gen, msg.from, msg.until)
}

func (v *Controller) judged(msg judgedMsg) tea.Cmd {
	if v.sweep.docs == nil {
		v.sweep.docs = map[string]judgement{}
	}
	if msg.gen == v.sweep.gen {
		done := v.sweep.asked
		done.doc = &msg.target
		v.sweep.docs[msg.target.Target] = done
		v.sweep.again = slices.DeleteFunc(v.sweep.again, func(t string) bool {
			return t == msg.target.Target
		})
		v.showGates()
	}
	return listenJudged(msg.gen, msg.from)
}

func (v *Controller) swept(msg sweptMsg) tea.Cmd {
	if msg.gen != v.sweep.gen {
		return nil
	}
	v.sweep.running = false
	if msg.gen == v.Task.Gen {
		v.Task.Stop()
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		v.sweep.note = fmt.Sprintf("cancelled at %d/%d", v.sweep.now.Done, v.sweep.now.Total)
		if v.StateDir != "" {
			v.sweep.note += ", goes on from there"
		}
	case msg.err != nil:
		v.sweep.note = "not judged"
		v.Complain(view.OneLine(msg.err))
	default:
		v.sweep.note = msg.doc.Headline()
		text := "gates: " + v.sweep.note
		if msg.doc.Resumed > 0 {
			text += fmt.Sprintf(" · %d measurements from the sweep cancelled before", msg.doc.Resumed)
		}
		if v.StateDir != "" {
			text += " · artefacts in " + filepath.Join(v.StateDir, "gates")
		}
		v.Say(text)
	}
	v.showGates()
	return v.Root.SeekConsent(msg.err)
}

// showGates gives the pane its rows.
func (v *Controller) showGates() {
	d := Data{
		Known: v.Known(), KnownOf: request.InFull(v.Req),
		Alone: v.Stageless(), Current: v.Req.Target, Without: v.besideVariants(), Against: v.against(),
		Now:     v.sweep.now,
		Running: v.sweep.running && v.Task.Active, Note: v.sweep.note,
	}
	k := func(a keymap.Action) string { return v.Keys.LabelIn(view.Gates, a) }
	d.Keys = fmt.Sprintf("%s judges every variant, %s the one at the cursor, %s every variant on the "+
		"emulator",
		k(keymap.Again), k(keymap.Toggle), k(keymap.AgainEmu))
	d.Ahead = Ahead{Limits: configs.DefaultLimits(), Archs: gates.ArchsOf(""), Seeds: gates.DefaultSeeds,
		Warmups: warmups, Launches: launches}
	if man, _ := v.Manifest(); man != nil {
		d.Kernel, d.Parts = man.Name, v.partGates(man)
		d.Ahead.Limits, d.Ahead.Archs = man.Thresholds, gates.ArchsOf(man.Compile.Arch)
		for _, s := range man.Shapes {
			d.Ahead.Shapes = append(d.Ahead.Shapes, s.Name)
		}
		d.Ahead.Shapes = gates.DefaultShapes(d.Ahead.Shapes)
	}
	for _, t := range v.gateRows() {
		d.Rows = append(d.Rows, v.gateRow(t, d.Running))
	}
	v.pane.SetData(d)
}

// gateRow is a variant's row. A document that was judged by something else than what would judge now, or that
// is being judged again, is of a previous run.
func (v *Controller) gateRow(target string, running bool) Row {
	j, now := v.sweep.docs[target], v.judgedBy()
	row := Row{Target: target, Doc: j.doc}
	if j.doc != nil && (!request.Same(j.by, now.by) || j.at != now.at || running &&
		slices.Contains(v.sweep.again, target)) {
		of := j.by
		of.Target = target
		row.Previous = outcome.Heading(request.Title(of))
		if j.at != now.at {
			row.Previous += ", before the source changed"
		}
	}
	return row
}

// besideVariants names what the request on screen has on top of a variant: the gates judge variants as they
// are declared.
func (v *Controller) besideVariants() string {
	var parts []string
	for _, one := range []debugkern.Request{{Set: v.Req.Set}, {Faults: v.Req.Faults}, {Gate: v.Req.Gate}} {
		if text := request.Title(one); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", without ")
}

// openGate is Enter in the Gates view: the case under the cursor, or the variant, in Pipe.
func (v *Controller) openGate() tea.Cmd {
	row := v.pane.Selected()
	if row.Target == "" {
		v.Say("no variant to open")
		return nil
	}
	req := v.NextRequest()
	req.Target, req.Set, req.Faults, req.Gate, req.Inject = row.Target, nil, nil, probes.GateNone, ""
	said := "target " + row.Target
	if c := v.pane.Case(); c != nil {
		req.Shape, req.Seed = c.Shape, c.Seed
		if c.Shape == "" {
			req.Shape = c.Dims.String()
		}
		said += fmt.Sprintf(" · %s seed %d", c.Label(), c.Seed)
	}
	cmd := v.Root.Open(view.Pipe)
	return tea.Batch(cmd, v.Choose(req, said))
}

// Click selects a row or a case; a second click opens it.
func (v *Controller) Click(x, y int) tea.Cmd {
	row, at := v.pane.Selected(), v.pane.Case()
	part, ok := v.pane.Hit(x, y)
	was := v.Focused()
	v.Root.Focus(parts[part])
	if !ok || was != parts[part] {
		return nil
	}
	if v.pane.Selected() == row && (part == Table || at != nil && v.pane.Case() == at) {
		return v.openGate()
	}
	return nil
}

// Judged words what the last sweep decided of the variant that a request runs; "" where it decided nothing
// about that very request: a variant as it is declared, judged as it would be judged now.
func (v *Controller) Judged(req debugkern.Request) string {
	row := v.gateRow(req.Target, v.sweep.running)
	if row.Doc == nil || row.Previous != "" || len(req.Set) > 0 || len(req.Faults) > 0 ||
		req.Gate != probes.GateNone {
		return ""
	}
	t := row.Doc
	return fmt.Sprintf("PTXAS %s, correct %d/%d, speed %s", t.PTXAS.Verdict, t.Correctness.Passed,
		t.Correctness.Total, t.Performance.Verdict)
}
