package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/compare"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
	"tilescope/probes"
)

// pairOptions are the options of the commands that take two targets: --set and --fault are B's, --set-a and
// --fault-a A's, everything else is common to both.
type pairOptions struct {
	runOptions
	setA, faultsA []string
}

func (o *pairOptions) bind(c *cobra.Command) {
	o.runOptions.bind(c)
	f := c.Flags()
	f.StringArrayVar(&o.setA, "set-a", nil, "flag to set in A: FLAG[=VALUE], repeatable")
	f.StringArrayVar(&o.faultsA, "fault-a", nil, "planted fault NAME of A, repeatable")
	f.Lookup("set").Usage = "flag to set in B: FLAG[=VALUE], repeatable (a gate is both's)"
	f.Lookup("fault").Usage = "planted fault NAME of B, repeatable"
}

// requests makes both requests; a gate set for one of them is both's.
func (o *pairOptions) requests(
	c *cobra.Command, a *app, args []string,
) (first, second debugkern.Request, err error) {
	if o.dump != "" {
		return first, second, usageError("--dump writes the tiles of one run: tilescope run %s --dump FILE",
			text.Shell(args[0]))
	}
	left, right := o.runOptions, o.runOptions
	left.set, left.faults = o.setA, o.faultsA
	if first, err = left.request(c, a.config, args[0]); err != nil {
		return first, second, err
	}
	if second, err = right.request(c, a.config, args[1]); err != nil {
		return first, second, err
	}
	if err := left.applyGate(c.Context(), &first, args[0]); err != nil {
		return first, second, err
	}
	if err := right.applyGate(c.Context(), &second, args[1]); err != nil {
		return first, second, err
	}
	switch {
	case first.Gate == probes.GateNone:
		first.Gate = second.Gate
	case second.Gate == probes.GateNone:
		second.Gate = first.Gate
	case first.Gate != second.Gate:
		return first, second, usageError("gate %s for A and %s for B: both run under the same gate",
			first.Gate, second.Gate)
	}
	return first, second, nil
}

func twoTargets(c *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usageError(
			"%s takes two targets, A and B, each a name of the catalogue (tilescope kernels) or the path of a manifest; it was given %d",
			c.CommandPath(), len(args))
	}
	return nil
}

func (a *app) compareCommand() *cobra.Command {
	var opt pairOptions
	var rtol, atol float64
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Two variants tile by tile, kernel against kernel",
		Long: "compare executes A and B on the same inputs and compares every tile that both capture bit for bit. It says where\n" +
			"two kernels part, not which of them is right: run says that. --set and --fault are B's, --set-a and --fault-a A's, all other\n" +
			"options are common to both. With --rtol or --atol two cells a and b agree where |a - b| <= atol + rtol * max(|a|, |b|).\n\n" +
			"Exit code: 0 equal bits, or all within the tolerance, 1 not, 2 bad input, 3 backend or compiler not available, 4 a kernel did not build, load or run.",
		Example: "  tilescope compare stage1 stage2\n  tilescope compare stage2 stage2 --fault p-stale-m\n  tilescope compare scalar stage2 --stages O --seed 3 --json\n" +
			"  tilescope compare naive.yaml fast.yaml --rtol 1e-3 --atol 1e-5",
		Args: twoTargets,
		RunE: func(cmd *cobra.Command, args []string) error {
			within, err := tolerance(cmd, rtol, atol)
			if err != nil {
				return err
			}
			return a.compare(cmd, &opt, args, within)
		},
	}
	opt.bind(c)
	c.Flags().Float64Var(&rtol, "rtol", 0, "how far two cells may be apart, relative to the larger of them")
	c.Flags().Float64Var(&atol, "atol", 0, "how far two cells may be apart, absolute")
	return c
}

// tolerance is what --rtol and --atol allow; nil where neither is given.
func tolerance(c *cobra.Command, rtol, atol float64) (*report.Tolerance, error) {
	if !c.Flags().Changed("rtol") && !c.Flags().Changed("atol") {
		return nil, nil
	}
	for name, v := range map[string]float64{"rtol": rtol, "atol": atol} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, usageError("--%s %v: expected a number from 0 on", name, v)
		}
	}
	return &report.Tolerance{RTol: report.Number(rtol), ATol: report.Number(atol)}, nil
}

func (a *app) compare(cmd *cobra.Command, opt *pairOptions, args []string, within *report.Tolerance) error {
	return a.paired(cmd, opt, args,
		func(
			s *debugkern.Session, first, second debugkern.Request, tell func(debugkern.Progress),
		) (paired, error) {
			doc, err := compare.Run(cmd.Context(), s, first, second, within, tell)
			return paired{
				doc, doc != nil && doc.Verdict == report.Failed,
				func(w io.Writer) { printComparison(w, doc) },
			}, err
		})
}

// paired is what came of two targets: a document, and how it is printed. One that failed is only for
// programs: a person reads the error.
type paired struct {
	doc    interface{ ExitCode() int }
	failed bool
	text   func(io.Writer)
}

// paired does something with two targets, prints what came of it and turns it into an exit code.
func (a *app) paired(cmd *cobra.Command, opt *pairOptions, args []string,
	do func(
		s *debugkern.Session, first, second debugkern.Request, tell func(debugkern.Progress),
	) (paired, error)) error {
	first, second, err := opt.requests(cmd, a, args)
	if err != nil {
		return err
	}
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	meter := newMeter(a.Stderr, a.json)
	p, err := do(s, first, second, meter.report)
	meter.clear()
	if err != nil {
		if p.failed && a.json {
			if perr := a.print(p.doc, nil); perr != nil {
				return perr
			}
		}
		return err
	}
	if err := a.print(p.doc, p.text); err != nil {
		return err
	}
	return exitFor(p.doc.ExitCode())
}

func sideTitle(d report.Side) string {
	if len(d.Faults) == 0 {
		return d.Target
	}
	return d.Target + " with " + strings.Join(d.Faults, ", ")
}

// sideTitles names two kernels: of the same target with the flags in which they differ.
func sideTitles(sides [2]report.Side) (titles [2]string) {
	same := sides[0].Target == sides[1].Target
	for i, d := range sides {
		for _, name := range slices.Sorted(maps.Keys(d.Flags)) {
			if same && d.Flags[name] != sides[1-i].Flags[name] {
				d.Target += fmt.Sprintf(" %s=%d", name, d.Flags[name])
			}
		}
		titles[i] = sideTitle(d)
	}
	return titles
}

func printComparison(w io.Writer, c *report.Comparison) {
	gate := ""
	if c.Gate != "none" {
		gate = " under gate " + c.Gate
	}
	verdict := "equal bits"
	switch c.Verdict {
	case report.Within:
		verdict = "within " + c.Tolerance.String()
	case report.Differ:
		verdict = "differ"
		if c.First != "" {
			verdict += ": stage " + c.First + " first"
		}
	}
	problem := strings.TrimSpace(fmt.Sprintf("%s seed %d", c.Shape, c.Seed))
	titles := sideTitles(c.Targets)
	fmt.Fprintf(w, "%s against %s, %s%s: %s\n\n", titles[0], titles[1], problem,
		gate, verdict)
	tw := newTable(w)
	differing := "differing"
	if c.Tolerance != nil {
		differing = "beyond\tdiffering"
	}
	fmt.Fprintf(tw, "  stage\tverdict\ttiles\t%s\tmax abs\tulp\tfirst\n", differing)
	for _, s := range c.Stages {
		if s.Verdict == report.Incomparable {
			fmt.Fprintf(tw, "  %s\tnot compared\t\t\t\t\t%s\n", s.Name, s.Reason)
			continue
		}
		fmt.Fprintf(tw, "  %s\t%s\t%d\t%s\t%s\t%d\t%s\n", s.Name, s.Verdict, s.Tiles,
			countText(c, &s.CellStats), s.Size("%.3g"), s.MaxULP, firstText(s.First))
	}
	if o := c.Output; o != nil && o.Verdict == report.Incomparable {
		fmt.Fprintf(tw, "  output\tnot compared\t\t\t\t\t%s\n", o.Reason)
	} else if o != nil {
		first := ""
		switch {
		case o.First == nil:
		case c.Shape.IsListed() && len(o.First) == 4:
			first = fmt.Sprintf("batch %d head %d row %d column %d", o.First[0], o.First[1],
				o.First[2], o.First[3])
		default:
			first = "element " + indexText(o.First)
		}
		fmt.Fprintf(tw, "  output\t%s\t\t%s\t%s\t%d\t%s\n", o.Verdict, countText(c, &o.CellStats),
			o.Size("%.3g"), o.MaxULP, first)
	}
	tw.Flush()
	for i, only := range [][]string{c.OnlyA, c.OnlyB} {
		if len(only) > 0 {
			fmt.Fprintf(w, "\nonly %s (%s) captures: %s\n", "AB"[i:i+1], titles[i],
				strings.Join(only, " "))
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(w, "\nnote: %s\n", n)
	}
}

// countText is how many cells differ, after how many are beyond the tolerance where there is one.
func countText(c *report.Comparison, s *report.CellStats) string {
	if c.Tolerance == nil {
		return fmt.Sprintf("%d/%d", s.Differing, s.Cells)
	}
	return fmt.Sprintf("%d\t%d/%d", s.Beyond, s.Differing, s.Cells)
}

func firstText(f *report.DifferingCell) string {
	if f == nil {
		return ""
	}
	side := func(v report.Number, bits string) string {
		if bits == "" {
			return "not reached"
		}
		return fmt.Sprintf("%.9g (%s)", float64(v), bits)
	}
	if f.Index != nil {
		return fmt.Sprintf("element %s: %s, %s", indexText(f.Index), side(f.A, f.BitsA), side(f.B, f.BitsB))
	}
	tile := ""
	if f.Tile != "" {
		tile = fmt.Sprintf(" %s %d", f.Tile, f.KVTile)
	}
	return fmt.Sprintf("block %s%s cell (%d,%d): %s, %s", f.Block, tile, f.Row, f.Col, side(f.A, f.BitsA),
		side(f.B, f.BitsB))
}
