package pipe

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
	"tilescope/tui/cell"
	"tilescope/tui/theme"
)

// entry is one line of the detail part: a name, then text in a style. Wrapped lines have no name.
type entry struct {
	name  string
	style theme.Style
	plain string
}

// nameWidth is the width of the names, a blank on each side included; the longest is "first wrong".
const nameWidth = 13

func (p *Pane) detailTitle() string {
	if r := p.row(p.at.Stage); r != nil && r.doc != nil && r.plan.OfLaunch() {
		if !r.plan.Referenced() {
			return r.plan.Help
		}
		return fmt.Sprintf("%s %s %s", r.plan.Help, p.Theme.VerdictMark(r.doc.Verdict), r.doc.Verdict)
	} else if r != nil && p.injected(p.at.Stage) {
		return fmt.Sprintf("%s %s injected", p.at.Stage, p.Theme.Glyph.Injected)
	} else if r != nil && r.doc != nil {
		return fmt.Sprintf("%s %s %s", p.at.Stage, p.Theme.VerdictMark(r.doc.Verdict), r.doc.Verdict)
	}
	return p.at.Stage.String()
}

func (p *Pane) detailNote() string {
	if rest := len(p.detail) - p.detailHeight(); rest > 0 {
		return fmt.Sprintf("line %d of %d", p.scroll+1, len(p.detail))
	}
	return ""
}

func (p *Pane) row(s probes.Stage) *row {
	for i := range p.rows {
		if p.rows[i].plan.Stage == s {
			return &p.rows[i]
		}
	}
	return nil
}

// has reports whether an entry contains a text.
func (e entry) has(text string) bool { return contains(e.name+" "+e.plain, text) }

func (p *Pane) detailLine(i, w int) string {
	e := p.detail[i]
	l := p.Theme.Line(w)
	if e.has(p.match) {
		return l.Space(1).Add(p.Theme.Select, e.name).Pad(nameWidth).Add(p.Theme.Select, e.plain).Done()
	}
	return l.Space(1).Add(p.Theme.Dim, e.name).Pad(nameWidth).Add(e.style, e.plain).Done()
}

// describe writes the detail part for the stage under the cursor, then the run.
func (p *Pane) describe(w int) []entry {
	var out []entry
	say := func(name string, style theme.Style, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if p.Theme.Width(text) <= w-nameWidth-1 { // columns of a table stay where they are
			out = append(out, entry{name, style, text})
			return
		}
		for _, s := range p.Theme.Wrap(text, w-nameWidth-1) {
			out = append(out, entry{name, style, s})
			name = ""
		}
	}
	r := p.data.Run.Report()
	if r == nil {
		return nil
	}
	p.furtherVerdict(r, w, say)
	spoilt := p.spoilt(r)
	if spoilt == "" {
		p.reason(r, "", say)
	}
	for i := range p.data.Causes {
		c := &p.data.Causes[i]
		name := "cause"
		if c.AlsoFound {
			name = "also found"
		}
		say(name, p.Theme.Wrong, "%s", c.Title)
		if c.Advice != "" {
			say("", p.Theme.Text, "%s", c.Advice)
		}
	}
	for i := range r.Findings {
		p.finding(&r.Findings[i], say)
	}
	if spoilt != "" {
		p.reason(r, spoilt, say)
	}
	if !p.data.Diagnosed && p.data.Hint != "" && len(r.Guilty) > 0 &&
		slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Spoils() }) {
		say("", p.Theme.Dim, "%s", p.data.Hint)
	}
	if x := p.row(p.at.Stage); x != nil && x.doc != nil {
		p.stage(x, say)
	}
	p.guilty(r, say)
	p.output(r.Output, say)
	p.run(r, say)
	p.rules(r.Output, say)
	if r.Digest != "" {
		say("digest", p.Theme.Dim, "%s", r.Digest)
	}
	return out
}

// spoilt names what may have changed values between two stages, so that no stage is at fault by what was
// captured of it alone: the cause of a diagnosis, else a finding of memory or order; "" where there is none.
func (p *Pane) spoilt(r *report.Run) string {
	for i := range p.data.Causes {
		if c := &p.data.Causes[i]; !c.AlsoFound && report.SpoilingKind(c.Kind) {
			return c.Short()
		}
	}
	if f := r.SpoiltBefore(p.data.Plan); f != nil {
		return p.findingName(f)
	}
	return ""
}

// findingName is a finding in a few words, with the stage that its variable holds where that is not the one
// that is wrong: race sP of stage P.
func (p *Pane) findingName(f *report.Finding) string {
	name := f.Name()
	r := p.data.Run.Report()
	if r == nil || r.SpoiltBefore(p.data.Plan) != f {
		return name
	}
	for _, x := range p.rows {
		if f.Variable != "" && x.plan.Array == f.Variable {
			return name + " of stage " + x.plan.Stage.String()
		}
	}
	return name
}

// reason is why the run has its verdict; spoilt is what may have come before the first wrong stage.
func (p *Pane) reason(r *report.Run, spoilt string, say sayer) {
	switch {
	case r.Error != nil:
		say("error", p.Theme.Wrong, "%s: %s%s", r.Error.Stage, r.Error.Message, place(r.Error.Source))
	case !r.Referenced() || p.ofLaunch():
	case len(r.Guilty) > 0:
		g := r.Guilty[0]
		text := g.Stage + " is the first stage that is wrong although its inputs are right"
		if d := r.Stage(g.Stage); d != nil && d.Local.Bad > 0 {
			text += fmt.Sprintf(": %d of %d cells exceed their bounds", d.Local.Bad, d.Local.Cells)
		}
		if spoilt != "" {
			text += "; " + spoilt + " may have changed what it was computed from, or what was captured"
		}
		say("why", p.Theme.Wrong, "%s", text)
	case r.Verdict == report.Agree && r.Errors() == 0:
		judged := r.Judged()
		text := theme.Count(judged, "stage") + " judged, every cell within its bound"
		if all := len(r.Stages); judged < all {
			text = fmt.Sprintf("%d of %d stages judged, every cell of them within its bound", judged, all)
		}
		if r.Output != nil {
			text += "; output " + r.Output.Verdict
		}
		if more := r.Unjudged(p.data.Plan); more != "" {
			text += "; " + more
		}
		say("why", p.Theme.OK, "%s", text)
	case r.Output != nil && r.Output.Verdict != report.OK && r.Errors() == 0:
		say("why", p.Theme.Wrong, "no stage has an error of its own, but the output is")
	}
}

type sayer func(name string, style theme.Style, format string, args ...any)

func (p *Pane) stage(x *row, say sayer) {
	d := x.doc
	if x.plan.OfLaunch() {
		p.memory(x, say)
		if !x.plan.Referenced() {
			return
		}
	}
	if !x.plan.OfLaunch() {
		p.changed(x, say)
	}
	if d.Verdict == report.Off {
		name := "not judged"
		if p.injected(x.plan.Stage) {
			name = "injected"
		}
		say(name, p.Theme.Notice, "%s", p.whyOff(x.plan.Stage))
		return
	}
	if d.NotCaptured > 0 {
		say("no capture", p.Theme.Taint, "%s %d cells", p.Theme.Glyph.Absent, d.NotCaptured)
	}
	if d.Unwritten {
		say("output", p.Theme.Wrong, "never written, in none of its elements")
	}
	if b := d.FirstBad; b != nil {
		where := b.Block.String() + " " + p.iteration(b.KVTile)
		if !x.plan.PerTile {
			where = b.Block.String()
		}
		who := ""
		if b.Source != nil {
			who = " · " + b.WrittenAt()
		}
		if b.Warp != nil && b.Lane != nil {
			who += map[bool]string{true: " ·", false: " by"}[who == ""] +
				fmt.Sprintf(" warp %d lane %d", *b.Warp, *b.Lane)
		}
		got := "got " + cell.Long(float64(b.Got))
		if d.Unwritten {
			got = "never written"
		}
		say("first bad", p.Theme.Wrong, "%s %s: %s, want %s%s", where, cell.Name(x.plan, b.Row, b.Col), got,
			cell.Long(float64(b.Want)), who)
	}
	for i := range d.Fingerprints {
		f, name := &d.Fingerprints[i], "pattern"
		if i > 0 {
			name = "or"
		}
		say(name, p.Theme.Accent, "%s", cell.Fingerprint(f)+" · "+f.Evidence)
	}
	if x.plan.OfLaunch() {
		say("error", p.statsStyle(d.Local), "%s", statsText(d.Local))
	} else {
		p.errors(d, say)
	}
	if d.Local.Derivation != "" {
		say("bound", p.Theme.Text, "%s", d.Local.Derivation)
	}
	if text := d.Compared(); text != "" {
		say("reference", p.Theme.Text, "%s", text)
	}
	if x.plan.OfLaunch() {
		return
	}
	say(
		"captured",
		p.Theme.Dim,
		"by %s · %s %d×%d · %s · computed from %s",
		d.Probe,
		x.plan.DType,
		x.plan.Rows,
		x.plan.Cols,
		theme.Count(d.Tiles, "tile"),
		fromText(p.data.Plan.Ordered(x.plan.From)),
	)
	say("this tile", p.Theme.Text, "%s", p.tileText())
}

func (p *Pane) whyOff(s probes.Stage) string {
	if p.data.Plan != nil {
		g := p.data.Plan.Gate
		switch {
		case g.Injected.Has(s):
			return fmt.Sprintf("gate %s computes later stages from %s values of %s: Enter shows them", g.Name,
				p.injectedFrom(), s)
		case !g.Judged.Has(s):
			return fmt.Sprintf("gate %s leaves it out", g.Name)
		}
	}
	if sp := p.row(s); sp != nil && !sp.plan.Referenced() {
		return "it has no reference; view Tile shows its values"
	}
	if sp := p.row(s); sp != nil && sp.plan.Capture.Kind == probes.CaptureNone {
		return "its values are not captured: the manifest says capture: none"
	}
	return "execution did not reach it"
}

// injectedFrom is where the injected values come from.
func (p *Pane) injectedFrom() string {
	if r := p.data.Run.Report(); r != nil && r.Inject != "" && r.Inject != "reference" {
		return r.Inject
	}
	return "reference"
}

func fromText(set probes.StageSet) string {
	var names []string
	for _, s := range set {
		names = append(names, s.String())
	}
	if names == nil {
		return "the inputs"
	}
	return strings.Join(names, ", ")
}

func place(s *report.Source) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(" · %s:%d", s.File, s.Line)
}

func (p *Pane) guilty(r *report.Run, say sayer) {
	for i, g := range r.Guilty {
		if g.Stage == p.at.Stage.String() {
			continue
		}
		name, text := "also wrong", g.Stage
		if i == 0 {
			name = "first wrong"
		}
		if at := p.guiltyPlace(g); at != "" {
			text += " at " + at
		}
		if d := r.Stage(g.Stage); d != nil {
			if pattern := cell.Pattern(d); pattern != "" {
				text += " · " + pattern
			}
		}
		say(name, p.Theme.Wrong, "%s", text)
	}
}

// saysWhere reports whether a text has a place, with its file's folders or without.
func saysWhere(text string, s *report.Source) bool {
	if s == nil {
		return false
	}
	_, rest, found := strings.Cut(text, fmt.Sprintf("%s:%d", path.Base(s.File), s.Line))
	return found && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

func (p *Pane) finding(f *report.Finding, say sayer) {
	style := p.Theme.Wrong
	if f.Severity != "error" {
		style = p.Theme.Text
	}
	text := f.Kind + ": " + f.Message
	if !saysWhere(f.Message, f.Source) || f.Other != nil && !saysWhere(f.Message, f.Other) {
		text += place(f.Source)
		if f.Other != nil {
			text += " and" + strings.TrimPrefix(place(f.Other), " ·")
		}
	}
	if f.Missing != nil {
		text += " · missing: " + *f.Missing
	}
	if f.Neighbour != "" {
		text += " · hits " + f.Neighbour
	}
	if f.Count > 1 {
		text += " · " + f.Counted(false)
	}
	say(f.Severity, style, "%s", text)
	if f.Consequence != "" {
		say("", p.Theme.Text, "%s", f.Consequence)
	}
}

func (p *Pane) output(o *report.Output, say sayer) {
	if o == nil {
		return
	}
	style := p.Theme.OK
	if o.Verdict != report.OK {
		style = p.Theme.Wrong
	}
	text := fmt.Sprintf("%s %s · ", p.Theme.VerdictMark(o.Verdict), o.Verdict)
	over := fmt.Sprintf(" · %.3g %% of cells over the tolerance", 100*float64(o.BadFraction))
	if odd := o.Odd(); odd != "" { // no error has a size then, nor has the angle
		say("output", style, "%s", text+odd+over)
	} else {
		say("output", style, "%smax error %s from %s · mean error %s%s · cosine %.6f", text, o.Most(),
			o.AgainstShort(), o.Size(o.MeanAbs, "%.3g"), over, float64(o.Cosine))
	}
	if o.Guess != "" {
		say("", p.Theme.Notice, "%s", o.Guess)
	}
	if len(o.Histogram) > 0 {
		say("", p.Theme.Dim, "errors by decade, from 1e-6: %s", p.histogram(o.Histogram))
	}
}

// rules lists what other projects' tests would say of O, under a heading that takes them out of the verdict.
func (p *Pane) rules(o *report.Output, say sayer) {
	if o == nil {
		return
	}
	label := "context"
	for _, rule := range []struct {
		name string
		doc  *report.Rule
	}{
		{"FlashAttention's test", o.FlashRule}, {"PyTorch's assert_close", o.PyTorch},
		{"Triton's test", o.Triton},
	} {
		if rule.doc == nil {
			continue
		}
		if label != "" {
			say(label, p.Theme.Dim, "other projects' tests of O, not part of the verdict")
			label = ""
		}
		text := fmt.Sprintf("%s: met (%s, limit %.3g)", rule.name, o.Size(rule.doc.Error, "%.3g"),
			float64(rule.doc.Limit))
		if !rule.doc.Holds {
			text = fmt.Sprintf("%s: not met (%s, limit %.3g)", rule.name, o.Size(rule.doc.Error, "%.3g"),
				float64(rule.doc.Limit))
			if rule.doc.Context != "" {
				text += "; " + rule.doc.Context
			}
		}
		say("", p.Theme.Dim, "%s", text)
	}
}

func (p *Pane) histogram(counts []int) string {
	most := 1
	for _, n := range counts {
		most = max(most, n)
	}
	var b strings.Builder
	spark := p.Theme.Glyph.Spark
	for _, n := range counts {
		i := 0
		if n > 0 {
			i = max(1, n*(len(spark)-1)/most)
		}
		b.WriteString(spark[i])
	}
	return b.String()
}

func (p *Pane) run(r *report.Run, say sayer) {
	b := r.Backend
	built := ""
	// a run that fails before it has a build names no builder either
	if r.Error == nil || b.Builder != "none" {
		built = " · " + report.BuilderText(b.Builder)
		if arch := r.Build.Arch(); arch != "" {
			built += " for " + arch
		}
	}
	say("ran on", p.Theme.Text, "%s%s · schedule %s", backendText(b), built, b.Schedule)
	for _, n := range r.Build.Notes {
		say("build", p.Theme.Text, "%s", n)
	}
	c := r.Cost
	text := fmt.Sprintf("build %.0f ms · run %.0f ms · compare %.0f ms", float64(c.BuildMS), float64(c.RunMS),
		float64(c.CompareMS))
	if c.WarpInstructions > 0 { // a GPU does not count them
		text += fmt.Sprintf(" · %s warp instructions", big(c.WarpInstructions))
	}
	if c.MMAOutputs > 0 {
		text += fmt.Sprintf(" · %s mma outputs", big(c.MMAOutputs))
	}
	say("cost", p.Theme.Text, "%s", text)
	if x := r.Resources; x != nil {
		say("ptxas", p.Theme.Text, "%d registers · %d B shared · spills %d/%d B · local %d B · %s",
			x.Registers, x.SharedBytes,
			x.SpillStoreBytes, x.SpillLoadBytes, x.LocalBytes, x.Arch)
		for _, n := range x.Notes {
			say("reports", p.Theme.Text, "%s", n)
		}
	}
}

// backendText is what executed.
func backendText(b report.Backend) string {
	switch b.Name {
	case "emu":
		return b.Device
	case "both":
		return "GPU " + b.Device + " and emulator"
	}
	return "GPU " + b.Device
}

func big(n uint64) string {
	switch {
	case n < 10000:
		return fmt.Sprint(n)
	case n < 10000000:
		return fmt.Sprintf("%.1f k", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f M", float64(n)/1e6)
}
