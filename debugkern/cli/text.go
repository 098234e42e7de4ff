package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// printReport prints a run for people: the verdict first, then why.
// checked says that every checker was attached, plan, which may be nil, is what was executed.
func printReport(w io.Writer, r *report.Run, plan *probes.Plan, checked bool) {
	fmt.Fprintf(w, "%s: %s\n", r.Title(), headline(r, plan, checked))
	if r.Guess != "" && r.Verdict == report.Diverge {
		fmt.Fprintf(w, "  %s\n", r.Guess)
	}
	if text := r.ExtentsDoubtful(); text != "" {
		fmt.Fprintf(w, "  %s\n", text)
	}
	for _, g := range r.Guilty {
		if st := r.Stage(g.Stage); st != nil {
			printGuilty(w, st, g)
		}
	}
	if st := tainted(r); st != nil && r.Hang() == nil {
		fmt.Fprintf(w,
			"\n  %s is off its reference from the inputs in %d of %d cells, and no stage is wrong by the kernel's own tiles\n",
			st.Name, st.Global.Bad, st.Global.Cells)
		printFirstBad(w, st)
	}
	printStages(w, r)
	if o := r.Output; o != nil {
		name := "output"
		if o.Of != "" {
			name += " " + o.Of
		}
		errors := fmt.Sprintf("max_abs %s, mean_abs %s", o.Most(), o.Size(o.MeanAbs, "%.4g"))
		cosine := fmt.Sprintf(", cosine %.6f", o.Cosine)
		if odd := o.Odd(); odd != "" { // no error has a size then, nor has the angle
			errors, cosine = odd, ""
		}
		fmt.Fprintf(w, "\n%s against %s: %s: %s, over the tolerance %.2f %%%s\n", name, o.Against(),
			o.Outcome(), errors, 100*o.BadFraction, cosine)
		if o.Guess != "" {
			fmt.Fprintf(w, "  %s\n", o.Guess)
		}
	}
	for _, f := range r.Findings {
		printFinding(w, f)
		if f.Missing != nil {
			fmt.Fprintf(w, "    missing: %s\n", *f.Missing)
		}
		if f.Consequence != "" {
			fmt.Fprintf(w, "    %s\n", f.Consequence)
		}
	}
	for i, line := range r.Printed {
		if i == 0 {
			fmt.Fprintln(w, "\nprinted by the kernel:")
		}
		fmt.Fprintln(w, "  "+line)
	}
	for i, n := range r.Build.Notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "note: %s\n", n)
	}
	c := r.Cost
	fmt.Fprintf(w, "\n%s, %s: ", r.Backend.Device, report.BuilderText(r.Backend.Builder))
	if c.WarpInstructions > 0 { // a GPU does not count them
		fmt.Fprintf(w, "%d warp instructions, %d mma outputs; ", c.WarpInstructions, c.MMAOutputs)
	}
	fmt.Fprintf(w, "build %.0f ms, run %.0f ms, compare %.0f ms\n", c.BuildMS, c.RunMS, c.CompareMS)
}

func headline(r *report.Run, plan *probes.Plan, checked bool) string {
	switch {
	case r.Verdict != report.Failed && !r.Referenced():
		text := "no error was found"
		if n := r.Errors(); n > 0 {
			text = plural(n, "error") + " found"
		}
		if !checked {
			text += " (races and the like are looked for with --check)"
		}
		return text + "; it has no reference, so its values are not judged"
	case r.Verdict == report.Failed && r.Error != nil:
		return "failed at " + r.Error.Stage + ": " + r.Error.Message
	case r.Verdict == report.Diverge && r.Uncaptured() != nil:
		return "diverges: " + r.Uncaptured().Message
	case len(r.Guilty) == 0 && r.Hang() != nil:
		return "never ends: " + r.Hang().Message
	case len(r.Guilty) > 0:
		if st := r.Stage(r.Guilty[0].Stage); st != nil && st.Argument != "" {
			return fmt.Sprintf("diverges: %s is wrong", st.Name)
		}
		unless := ""
		if f := r.SpoiltBefore(plan); f != nil {
			name := f.Kind
			if f.Variable != "" {
				name += " on " + f.Variable
			}
			unless = fmt.Sprintf(", unless what is found below (%s) changed its inputs or what was captured of it", name)
		}
		return fmt.Sprintf("diverges: stage %s is wrong first%s", r.Guilty[0].Stage, unless)
	case tainted(r) != nil:
		return fmt.Sprintf("diverges: %s is off its reference", tainted(r).Name)
	case r.ExitCode() != 0:
		return r.Verdict + ", with findings"
	}
	if text := r.Unjudged(plan); text != "" && r.Verdict == report.Agree {
		return r.Verdict + "; " + text
	}
	return r.Verdict
}

// tainted is the first stage that is off its reference from the inputs, where no stage is wrong; else nil.
func tainted(r *report.Run) *report.Stage {
	for i := range r.Stages {
		if r.Stages[i].Verdict == report.Tainted && len(r.Guilty) == 0 {
			return &r.Stages[i]
		}
	}
	return nil
}

func printGuilty(w io.Writer, st *report.Stage, g report.Guilty) {
	if st.Argument != "" {
		fmt.Fprintf(w, "\n  %s is wrong: %d of %d elements over their bound\n", st.Name, st.Local.Bad,
			st.Local.Cells)
	} else {
		fmt.Fprintf(w, "\n  %s wrong first in block %s%s: %d of %d cells over their bound\n", st.Name,
			g.Block, report.AtTile(", ", st.Phase, st.TileName, g.KVTile),
			st.Local.Bad, st.Local.Cells)
	}
	printFirstBad(w, st)
	for _, f := range st.Fingerprints {
		fmt.Fprintf(w, "    looks like %s %s: %s\n", f.Name, f.Value, f.Evidence)
	}
}

// printFirstBad is a line about a stage's first bad cell: what it holds, what it should, and which line
// stored it.
func printFirstBad(w io.Writer, st *report.Stage) {
	b := st.FirstBad
	if b == nil {
		return
	}
	what, who := fmt.Sprintf("cell (%d,%d)", b.Row, b.Col), ""
	if b.Index != nil {
		what, who = st.Argument+indexText(b.Index), fmt.Sprintf("block %s ", b.Block)
	}
	got := fmt.Sprintf("got %v", float64(b.Got))
	if st.NeverWritten(b) {
		got = "never written"
	}
	fmt.Fprintf(w, "    %s: %s, want %v", what, got, float64(b.Want))
	if b.Source != nil && b.Warp != nil && b.Lane != nil {
		fmt.Fprintf(w, ", %s by %swarp %d lane %d", b.WrittenAt(), who, *b.Warp, *b.Lane)
	} else if b.Index != nil && b.Warp != nil && b.Lane != nil {
		fmt.Fprintf(w, ", stored by %swarp %d lane %d", who, *b.Warp, *b.Lane)
	}
	fmt.Fprintln(w)
	if text := b.FollowsText(); text != "" {
		fmt.Fprintf(w, "      %s\n", text)
	}
}

// indexText writes an element's index: [3,5].
func indexText(at []int) string {
	out := make([]string, len(at))
	for i, n := range at {
		out[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// tilesText is how many tiles were captured, and of how many where some were not reached.
func tilesText(s *report.Stage) string {
	if s.NotReached == 0 {
		return fmt.Sprint(s.Tiles)
	}
	return fmt.Sprintf("%d of %d", s.Tiles, s.Tiles+s.NotReached)
}

func printStages(w io.Writer, r *report.Run) {
	if len(r.Stages) == 0 {
		return
	}
	fmt.Fprintln(w)
	shown := slices.DeleteFunc(slices.Clone(r.Stages), func(s report.Stage) bool {
		return s.Argument != "" && s.Reference.None()
	})
	if len(shown) > 0 {
		printVerdicts(w, shown)
	}
	printArguments(w, r)
}

// printVerdicts is a table of stages, and below it what the table has no room for.
func printVerdicts(w io.Writer, stages []report.Stage) {
	tw := newTable(w)
	fmt.Fprintln(tw,
		"  stage\tverdict\ttiles\tlocal max\tulp\tworst error\tbound\tbad\tglobal max\tworst error\tbound\tbad\t")
	for _, s := range stages {
		if s.Verdict == report.Off {
			off := report.Off
			switch {
			case s.Unreached():
				off = "not reached"
			case s.Reference.None():
				off = "no reference"
			}
			fmt.Fprintf(tw, "  %s\t%s\t\t\t\t\t\t\t\t\t\t\t\n", s.Name, off)
			continue
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%d\t%s\t%.3g\t%d/%d\t%s\t%s\t%.3g\t%d\t\n", s.Name,
			s.Verdict, tilesText(&s), s.Local.Size(s.Local.MaxAbs, "%.3g"), s.Local.MaxULP,
			s.Local.Size(s.Local.Error, "%.3g"), float64(s.Local.Bound), s.Local.Bad, s.Local.Cells,
			s.Global.Size(s.Global.MaxAbs, "%.3g"), s.Global.Size(s.Global.Error, "%.3g"),
			float64(s.Global.Bound), s.Global.Bad)
	}
	tw.Flush()
	for _, s := range stages {
		if text := s.Compared(); text != "" {
			fmt.Fprintf(w, "  %s: %s\n", s.Name, text)
		}
	}
	for _, s := range stages {
		if s.Unwritten {
			fmt.Fprintf(w, "  %s: never written, in none of its elements\n", s.Name)
		}
		if s.NotCaptured > 0 {
			fmt.Fprintf(w, "  %s: %d cells not captured, and not judged\n", s.Name, s.NotCaptured)
		}
	}
}

// printArguments lists what the launch left in the arguments that the document has.
func printArguments(w io.Writer, r *report.Run) {
	for _, o := range r.Outputs {
		written := "after the launch"
		if o.Written != nil {
			written = fmt.Sprintf("%d elements written", *o.Written)
		}
		fmt.Fprintf(w, "  %s %s%v: %s%s, SHA-256 %s\n", o.Name, o.DType, o.Dims, written,
			recordedText(o.Recorded), o.Digest)
	}
}

func printFinding(w io.Writer, f report.Finding) {
	fmt.Fprintf(w, "\n  %s (%s): %s", f.Kind, f.Severity, f.Message)
	if f.Source != nil {
		fmt.Fprintf(w, "\n    at %s:%d", f.Source.File, f.Source.Line)
		if f.Other != nil {
			fmt.Fprintf(w, " and %s:%d", f.Other.File, f.Other.Line)
		}
	}
	if f.Count > 1 {
		fmt.Fprintf(w, "\n    %s, first in block %s", f.Counted(false), f.Block)
	}
	fmt.Fprintln(w)
}

// meter shows progress on standard error, on one line, where that is a terminal and the run takes
// longer than a moment.
type meter struct {
	said    io.Writer // for what a program prints that computes references
	w       io.Writer // the terminal itself
	start   time.Time
	last    time.Time
	visible bool
	on      bool
}

func newMeter(w io.Writer, quiet bool) *meter {
	f := errorFile(w)
	if f == nil || quiet || !term.IsTerminal(f.Fd()) {
		return &meter{said: w}
	}
	return &meter{said: w, w: f, start: time.Now(), on: true}
}

func (m *meter) report(p debugkern.Progress) {
	if p.Printed != "" {
		m.clear()
		m.visible = false
		fmt.Fprintf(m.said, "tilescope: reference: %s\n", p.Printed)
		return
	}
	now := time.Now()
	if !m.on || now.Sub(m.start) < 400*time.Millisecond || now.Sub(m.last) < 50*time.Millisecond {
		return
	}
	m.last, m.visible = now, true
	line := p.Phase + " " + p.Detail
	if p.Total > 0 {
		line += fmt.Sprintf(" %d/%d", p.Done, p.Total)
	}
	fmt.Fprintf(m.w, "\r\x1b[K%s (Ctrl-C cancels)", text.Line(line))
}

func (m *meter) clear() {
	if m.visible {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}
