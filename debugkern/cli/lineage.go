package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// lineageOptions are the options that lineage has in addition to those of run.
type lineageOptions struct {
	runOptions
	block   string
	address bool
	control bool
	across  bool
	depth   int
}

func (a *app) lineageCommand() *cobra.Command {
	var opt lineageOptions
	c := &cobra.Command{
		Use:   "lineage TARGET CELL",
		Short: "What a cell is made of: the operations and elements behind it",
		Long: "lineage executes one block and follows a cell backwards, through registers, shuffles, shared memory, copies and matrix\n" +
			"fragments, to elements of the arguments and constants. CELL is a cell of a stage's tile, STAGE@TILE[ROW,COLUMN] (U@2[3,17]; O[3,17]\n" +
			"of a stage with one tile a block), or an element of an argument, by one index or by one for each dimension (out[7]).\n\n" +
			"Steps of one sum are one node, and so are values that the same line made. An operand that an iteration before made is\n" +
			"printed once: \"(above)\". The emulator executes the block whatever --backend says.\n\n" +
			"Exit code: 0 printed, 2 bad input or no such cell, 3 compiler not available, 4 the kernel did not build, load or run.",
		Example: "  tilescope lineage stage2 'S@1[3,17]'\n  tilescope lineage flashcore_vec 'U@2[3,17]' --block 1,0,0\n" +
			"  tilescope lineage layernorm 'Y[7]' --address --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("%s takes a target and a cell, such as stage2 'S@1[3,17]'; it was given %d",
					c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.lineage(cmd, &opt, args) },
	}
	opt.bind(c)
	f := c.Flags()
	f.StringVar(&opt.block, "block", "", "block X,Y,Z that the cell is of (default: the first that has it)")
	f.BoolVar(&opt.address, "address", false, "follow addresses and indices, too")
	f.BoolVar(&opt.control, "control", false, "follow guards, branches and the predicates of selects, too")
	f.BoolVar(&opt.across, "across", false, "go on in the blocks that wrote what the block read of others")
	f.IntVar(&opt.depth, "depth", 0, "levels of the tree that are printed (default all)")
	return c
}

func (a *app) lineage(cmd *cobra.Command, opt *lineageOptions, args []string) error {
	if opt.dump != "" {
		return usageError("--dump writes the tiles of a run: tilescope run %s --dump FILE", args[0])
	}
	if opt.depth < 0 {
		return usageError("--depth %d: expected levels of the tree, from 1", opt.depth)
	}
	ask := debugkern.LineageRequest{
		Cell: args[1], Address: opt.address, Control: opt.control, Across: opt.across,
	}
	if opt.block != "" {
		block, err := parseBlock(opt.block)
		if err != nil {
			return err
		}
		ask.Block = &block
	}
	req, err := opt.request(cmd, a.config, args[0])
	if err != nil {
		return err
	}
	if err := opt.applyGate(cmd.Context(), &req, args[0]); err != nil {
		return err
	}
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	meter := newMeter(a.Stderr, a.json)
	doc, err := s.Lineage(cmd.Context(), req, ask, meter.report)
	meter.clear()
	if err != nil {
		return err
	}
	return a.print(doc, func(w io.Writer) { printLineage(w, doc, opt.depth) })
}

// parseBlock reads X,Y,Z; what is left out is 0.
func parseBlock(text string) (d probes.Dim3, err error) {
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return d, usageError("--block %s: expected X,Y,Z", text)
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return d, usageError("--block %s: expected X,Y,Z, found %q", text, p)
		}
		d[i] = n
	}
	return d, nil
}

func printLineage(w io.Writer, doc *report.Lineage, depth int) {
	for _, l := range doc.Tree(depth) {
		fmt.Fprintln(w, l.Text)
	}
}
