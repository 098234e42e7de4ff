package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
)

func (a *app) lutCommand() *cobra.Command {
	var pick fragment.Filter
	var req debugkern.Request
	var header bool
	var patches []string
	c := &cobra.Command{
		Use:   "lut [FILE]",
		Short: "Fragment maps; with FILE, judge its WMMA_ACCUM_LUT, else its tables of a fragment's cells",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.session(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return a.judgeLut(cmd, s, req, args[0], pick, patches)
			}
			if len(patches) > 0 {
				return usageError("--patch changes a FILE that is judged; name it")
			}
			if header {
				maps, err := s.FragmentMaps(cmd.Context(), req)
				if err != nil {
					return err
				}
				text, err := maps.AccumulatorHeader()
				if err != nil {
					return err
				}
				_, err = io.WriteString(a.Stdout, text)
				return err
			}
			doc, err := s.Lut(cmd.Context(), req, pick)
			if err != nil {
				return err
			}
			return a.print(doc, func(w io.Writer) { printMaps(w, doc) })
		},
	}
	f := c.Flags()
	f.StringVar(&pick.Kind, "kind", "", "operand: a, b or acc (default all); of FILE: what its table is meant for")
	f.StringVar(&pick.DType, "dtype", "", "element type: f16 or f32 (default all)")
	f.StringVar(&pick.Layout, "layout", "", "layout of a and b: row or col (default both)")
	f.StringVar(&req.Backend, "backend", "", "where it runs: auto, emu or cuda (default auto)")
	f.StringArrayVar(&patches, "patch", nil, "unified diff that FILE is judged with, repeatable")
	bindHost(c)
	f.BoolVar(&header, "header", false, "print the accumulator's map as a C++ header")
	return c
}

// judgeLut exits 1 where the header is wrong.
func (a *app) judgeLut(
	cmd *cobra.Command, s *debugkern.Session, req debugkern.Request, file string, pick fragment.Filter,
	patches []string,
) error {
	doc, err := s.JudgeLut(cmd.Context(), req, file, pick, patches...)
	if err != nil {
		return err
	}
	if err := a.print(doc, func(w io.Writer) { printJudgement(w, doc) }); err != nil {
		return err
	}
	if !*doc.Covered || !*doc.Ordered {
		return exit(exitDiverged)
	}
	return nil
}

func printMaps(w io.Writer, doc *report.Lut) {
	for i, m := range doc.Maps {
		if i > 0 {
			fmt.Fprintln(w)
		}
		layout := ""
		if m.Layout != "" {
			layout = ", " + m.Layout + " major"
		}
		fmt.Fprintf(w, "%s of %s%s on %s: lane, then row,column of each element\n", m.Kind, m.DType, layout,
			doc.Backend.Device)
		for l, cells := range m.Lanes {
			fmt.Fprintf(w, "  %2d ", l)
			for _, c := range cells {
				fmt.Fprintf(w, " %5s", fmt.Sprintf("%d,%d", c[0], c[1]))
			}
			fmt.Fprintln(w)
		}
	}
}

func printJudgement(w io.Writer, doc *report.Lut) {
	fmt.Fprintf(w, "%s: %s\n", doc.File, doc.Explanation)
	const most = 8
	for i, e := range doc.Wrong {
		if i == most {
			fmt.Fprintf(w, "  and %d entries more\n", len(doc.Wrong)-most)
			break
		}
		at := ""
		if e.Line > 0 {
			at = fmt.Sprintf("line %d: ", e.Line)
		}
		fmt.Fprintf(w, "  %slane %d element %d is %s on %s, the table says %s\n", at, e.Lane, e.Element, e.Want,
			strings.TrimSpace(doc.Backend.Device), e.Got)
	}
}
