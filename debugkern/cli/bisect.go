package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/bisect"
	"tilescope/debugkern/report"
)

func (a *app) bisectCommand() *cobra.Command {
	var opt pairOptions
	var until string
	c := &cobra.Command{
		Use:   "bisect A B",
		Short: "The smallest set of differing flags that turns the verdict",
		Long: "bisect runs A and B, two variants of one manifest, and where one of them agrees and the other does not it finds the smallest\n" +
			"set of the flags and faults by which they differ that turns the verdict, then prints the pair to compare. Combinations that the\n" +
			"manifest refuses, or that do not run, decide nothing. --set and --fault are B's, --set-a and --fault-a A's, all other options are\n" +
			"common. Changes are applied to A, or, with --until, to the one that has the other verdict.\n\n" +
			"Exit code: 0 found, 1 the two do not differ in verdict, 2 bad input, 3 backend or compiler not available, 4 A or B did not run.",
		Example: "  tilescope bisect stage2 stage2 --fault kt-ld --fault quant-127.5\n  tilescope bisect scalar stage2 --fault v-midpoint --until agree",
		Args:    twoTargets,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.bisect(cmd, &opt, until, args) },
	}
	opt.bind(c)
	c.Flags().StringVar(&until, "until", "", "verdict sought: agree or diverge (default B's)")
	return c
}

func (a *app) bisect(cmd *cobra.Command, opt *pairOptions, until string, args []string) error {
	return a.paired(cmd, opt, args,
		func(
			s *debugkern.Session, first, second debugkern.Request, tell func(debugkern.Progress),
		) (paired, error) {
			doc, err := bisect.Run(cmd.Context(), s, first, second, until, tell)
			return paired{
				doc, doc != nil && doc.Verdict == report.Failed, func(w io.Writer) { printBisection(w, doc) },
			}, err
		})
}

func printBisection(w io.Writer, b *report.Bisection) {
	var sides [2]report.Side
	for i, t := range b.Targets {
		sides[i] = report.Side{Target: t.Target, Flags: t.Flags, Faults: t.Faults}
	}
	titles := sideTitles(sides)
	ends := titles
	for i, t := range b.Targets {
		switch t.Verdict {
		case report.Unresolved:
			ends[i] += " is not built"
		case report.Diverge:
			ends[i] += " diverges (" + t.Because + ")"
		default:
			ends[i] += " agrees"
		}
	}
	fmt.Fprintf(w, "%s seed %d: %s, %s", b.Shape, b.Seed, ends[0], ends[1])
	if b.Verdict != report.Found {
		fmt.Fprintln(w, ": the two do not differ in verdict, there is nothing to bisect")
		return
	}
	fmt.Fprintf(w, "; they differ in %s\n\n", report.ChangesText(b.Differences))
	tw := newTable(w)
	for i, s := range b.Steps {
		because, _, _ := strings.Cut(s.Because, "\n")
		fmt.Fprintf(tw, "  %d\t%s\t%s\t%s\n", i+1, report.ChangesText(s.Changes), s.Verdict, because)
	}
	tw.Flush()
	if len(b.Steps) > 0 {
		fmt.Fprintln(w)
	}
	proof := "every smaller set was tried"
	if b.Proof != "smallest" {
		proof = "none of it can be left out"
	}
	from := titles[0]
	if b.From == "b" {
		from = titles[1]
	}
	fmt.Fprintf(w, "%s makes %s %s (%s)\n", report.ChangesText(b.Minimal),
		from, b.Until, proof)
	if also := b.AlsoText(); also != "" {
		fmt.Fprintf(w, "not the only one: %s\n", also)
	}
	fmt.Fprintf(w, "the nearest pair, different by %s:\n  %s\n", report.ChangesText(b.Pair.Changes),
		b.Pair.Compare)
}
