package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/request"
	"tilescope/tui/theme"
	"tilescope/tui/view"
)

// topLine is the first line of the screen: what runs (target, and what differs from the
// default: flags, fault, the gate), where the cursor is, and how the request stands.
type topLine struct {
	*view.Context
	w     int
	gauge view.Gauge // nil where no view has one
	// diagnosis is what diagnoses the run on screen, nil where no view does
	diagnosis view.Diagnoser
}

// topLine is the first line as it is now.
func (m *Model) topLine() topLine {
	t := topLine{Context: m.Context, w: m.w}
	if all := able[view.Gauge](m.views); len(all) > 0 {
		t.gauge = all[0]
	}
	if all := able[view.Diagnoser](m.views); len(all) > 0 {
		t.diagnosis = all[0]
	}
	return t
}

// device is the device that ran, and its state as far as it is known.
func (t topLine) device() (name, state string) {
	if t.gauge == nil {
		return t.Newest().Report.Backend.Device, ""
	}
	return t.gauge.Gauge()
}

// crumb is one part of the top line's left end.
type crumb struct {
	style theme.Style
	text  string
}

// corner is a form of the top line's right end, and which deviations of the request it shows itself.
type corner struct {
	text  string
	shows []string
}

// draw: ts▸stage2▸p-stale-m▸S=QKᵀ▸cta 3,1▸kv 2            mission seed 0  ✗ diverge P  ●emu
//
// Everything that changes what runs and differs from the default is there at every width: in full while there
// is room, then in short forms, and what even so does not fit is counted.
func (t topLine) draw() string {
	left, right := t.arranged()
	l := t.Theme.Line(t.w).Add(t.Theme.BarStrong, "ts")
	for _, c := range left {
		l.Add(t.Theme.BarDim, t.Theme.Glyph.Crumb).Add(c.style, c.text)
	}
	if n := t.Theme.Width(right); n+1 < l.Left() {
		l.Repeat(t.Theme.Bar, " ", l.Left()-n-1)
		l.Add(t.Theme.Bar, right)
	}
	return l.DoneIn(t.Theme.Bar)
}

// arranged are the top line's two ends in the longest forms that fit the width together. The left end is
// shortened before the right one loses anything: shape and seed are nowhere else.
func (t topLine) arranged() (left []crumb, right string) {
	corners := t.corners()
	for _, c := range corners {
		for _, form := range []struct{ state, place bool }{{false, false}, {false, true}, {true, true}} {
			left = t.leftEnd(form.state, form.place, c.shows)
			if t.fits(left, c.text) {
				return left, c.text
			}
		}
	}
	c := corners[len(corners)-1]
	return t.cutLeft(c), c.text
}

func (t topLine) fits(left []crumb, right string) bool {
	n := 2 + len(left)
	for _, c := range left {
		n += t.Theme.Width(c.text)
	}
	return n+2+t.Theme.Width(right) <= t.w
}

// leftEnd is target, state and place, the latter two in short forms where that is asked for; what the right
// end shows is left out.
func (t topLine) leftEnd(shortState, shortPlace bool, shown []string) []crumb {
	out := []crumb{{t.Theme.Bar, request.ShortTarget(t.Req.Target)}}
	return append(append(out, t.stateCrumbs(shortState, shown)...), t.placeCrumbs(shortPlace)...)
}

// cutLeft is the shortest left end with as much of the state as fits on the line with c, and a count of the
// rest.
func (t topLine) cutLeft(c corner) []crumb {
	target := crumb{t.Theme.Bar, t.Theme.Fit(request.ShortTarget(t.Req.Target), 16)}
	state, place := t.stateCrumbs(true, c.shows), t.placeCrumbs(true)
	for n := len(state) - 1; n >= 0; n-- {
		more := crumb{t.Theme.BarStrong, t.Theme.Glyph.Ellipsis + "+" + strconv.Itoa(len(state)-n)}
		out := append(append([]crumb{target}, state[:n]...), more)
		if with := append(slices.Clone(out), place...); t.fits(with, c.text) {
			return with
		}
		if n == 0 {
			return out
		}
	}
	return append([]crumb{target}, place...)
}

// stateCrumbs are the request's deviations from the default.
func (t topLine) stateCrumbs(short bool, shown []string) []crumb {
	var out []crumb
	for _, d := range request.Deviations(t.Req) {
		if slices.Contains(shown, d.Name) {
			continue
		}
		if d.Name == "schedule" && t.Replaying() { // it leads: nobody asked for it by name
			out = slices.Insert(out, 0, crumb{t.Theme.BarStrong, "replay " + d.Short})
			continue
		}
		text := d.Long
		if short {
			text = d.Short
		}
		out = append(out, crumb{t.Theme.BarStrong, text})
	}
	if name := host(t.Engine); name != "" {
		text := "host " + name
		if short {
			text = name
		}
		out = append(out, crumb{t.Theme.BarStrong, text})
	}
	return out
}

// placeCrumbs are where the cursor is in the run on screen.
func (t topLine) placeCrumbs(short bool) []crumb {
	if t.Run == nil {
		return nil
	}
	style := t.Theme.Bar
	if !t.Current() {
		style = t.Theme.BarDim
	}
	at := t.At()
	loop := t.Run.Plan.Work.LoopName()
	stage, cta, kv := t.Formula(at.Stage), "cta ", loop+" "
	if short {
		stage, cta, kv = at.Stage.String(), "", loop
	}
	sp := t.Run.Plan.Stage(at.Stage)
	if sp != nil && sp.OfLaunch() {
		return []crumb{{style, stage}}
	}
	out := []crumb{{style, stage}, {style, cta + shortBlock(at.Block, t.Run.Plan.Grid)}}
	if sp != nil && sp.PerTile {
		out = append(out, crumb{style, kv + strconv.Itoa(at.KVTile)})
	}
	return out
}

// corners are the forms of the right end, longest first: shape and seed, how the request stands, backend,
// device and its state. The verdict is the request's own, never an earlier run's, and is in every form.
func (t topLine) corners() []corner {
	shape := t.ShapeTitle()
	long := strings.TrimSpace(shape + " seed " + strconv.FormatUint(t.Req.Seed, 10))
	both, one := []string{"shape", "seed"}, []string{"shape"}
	o := t.Outcome()
	if o.Report() == nil && t.Fail == nil {
		return []corner{{long, both}, {shape, one}, {"", nil}}
	}
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
	}
	verdict := t.Standing()
	if t.Fail != nil && t.Fail.Asked { // neither a shape nor a seed belongs to it yet
		return []corner{{verdict, both}}
	}
	if t.Fail != nil && !t.Fail.Asked {
		verdict = t.Theme.Glyph.Wrong + " failed"
	}
	r := o.Current()
	if r == nil { // what the run on screen ran on is not known to be what the request runs on
		return []corner{{join(long, verdict), both}, {join(shape, verdict), one}, {verdict, nil}}
	}
	verdict = t.verdict(r)
	backend := t.Theme.Glyph.Dot + backendName(r.Backend.Name)
	device, state := t.device()
	if !t.OnGPU() {
		emu := t.Theme.Glyph.Dot + "emu"
		return []corner{{join(long, verdict, backend), both}, {join(long, verdict, emu), both},
			{join(shape, verdict, backend), one}, {join(shape, verdict, emu), one},
			{join(verdict, backend), nil}, {join(verdict, emu), nil}}
	}
	whole := join(strings.TrimSpace(device + " " + state))
	return []corner{
		{join(long, verdict, backend, whole), both}, {join(long, verdict, backend, state), both},
		{join(long, verdict, backend), both}, {join(shape, verdict, backend, whole), one},
		{join(verdict, backend, whole), nil},
		{join(verdict, backend, state), nil}, {join(verdict, backend), nil},
	}
}

// verdict is what the run on screen came to: "✗ diverge P", "✓ agree 3 of 9 stages", "✓ agree · 1 race",
// "✗ 1 error, launch guessed · race red".
func (t topLine) verdict(r *report.Run) string {
	verdict := t.Theme.VerdictMark(r.Verdict) + " " + r.Outcome()
	and := " " // before what belongs to the verdict, not to the guess
	if r.LaunchDoubtful() != "" {
		and = " · "
	}
	spoiling := r.SpoiltBefore(t.Run.Plan)
	switch judged := judgedStages(r); {
	case spoiling != nil: // it may have come before the stage that is wrong
		verdict += " · " + spoiling.Name()
	case len(r.Guilty) > 0:
		verdict += and + r.Guilty[0].Stage
	case r.Verdict != report.Agree && r.Spoiling() != nil: // no stage came so far that it could be wrong
		verdict += " · " + r.Spoiling().Name()
	case judged < len(r.Stages) && !t.Stageless(): // a gate leaves stages out
		verdict += fmt.Sprintf("%s%d of %d stages", and, judged, len(r.Stages))
	}
	if found := t.found(r); found != "" && r.Verdict == report.Agree {
		verdict += " · " + found
	}
	return verdict
}

// found says what was found of errors where the values agree, by the run or a diagnosis of it: "1 race", "3
// findings"; else how many causes. "" where there is none, or the verdict says it.
func (t topLine) found(r *report.Run) string {
	var list []report.Finding
	for i := range r.Findings {
		if r.Findings[i].Severity == "error" {
			list = append(list, r.Findings[i])
		}
	}
	causes := 0
	if t.diagnosis != nil {
		var more []report.Finding
		if more, causes = t.diagnosis.Found(); len(more) > len(list) {
			list = more
		}
	}
	n := len(list)
	switch {
	case n == 0 && causes > 0:
		return theme.Count(causes, "cause")
	case n == 0 || !r.Referenced() && n == r.Errors():
		return ""
	case slices.ContainsFunc(list, func(f report.Finding) bool { return f.Kind != "race" }):
		return theme.Count(n, "finding")
	default:
		return theme.Count(n, "race")
	}
}

// judgedStages is how many of a run's stages were judged.
func judgedStages(r *report.Run) int {
	n := 0
	for i := range r.Stages {
		if r.Stages[i].Verdict != report.Off {
			n++
		}
	}
	return n
}

// backendName is what a backend is called on screen.
func backendName(name string) string {
	switch name {
	case "emu":
		return "emulator"
	case "cuda":
		return "GPU"
	case "both":
		return "GPU+emulator"
	}
	return name
}

func shortBlock(b, grid probes.Dim3) string {
	if grid[2] <= 1 {
		return fmt.Sprintf("%d,%d", b[0], b[1])
	}
	return b.String()
}
