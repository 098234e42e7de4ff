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
	launch  checkOptions // of a file; its block is also where the cell of a TARGET is
	inBlock string
	address bool
	control bool
	across  bool
	list    bool
	depth   int
}

func (a *app) lineageCommand() *cobra.Command {
	var opt lineageOptions
	c := &cobra.Command{
		Use:   "lineage TARGET|FILE.ptx|FILE.cu|BUNDLE.tsl CELL",
		Short: "What a cell is made of: the operations and elements behind it",
		Long: "lineage executes one block and follows a cell backwards, through registers, shuffles, shared memory, copies and matrix\n" +
			"fragments, to elements of the arguments and constants. CELL is a cell of a stage's tile, STAGE@TILE[ROW,COLUMN] (U@2[3,17]; O[3,17]\n" +
			"of a stage with one tile a block), or an element of an argument, by one index or by one for each dimension (out[7]). A file's launch\n" +
			"and arguments are given as for check, and so is --block; of a TARGET --block is --in-block.\n\n" +
			"Steps of one sum are one node, and so are values that the same line made. An operand that an iteration before made is\n" +
			"printed once: \"(above)\". The emulator executes the block whatever --backend says.\n\n" +
			"Exit code: 0 printed, 2 bad input or no such cell, 3 compiler not available, 4 the kernel did not build, load or run.",
		Example: "  tilescope lineage stage2 'S@1[3,17]'\n  tilescope lineage flashcore_vec 'U@2[3,17]' --block 1,0,0\n" +
			"  tilescope lineage layernorm 'Y[7]' --address --json\n" +
			"  tilescope lineage red.cu 'out[2]' --elements --grid 4 --block 256 --arg x=randn:f32[1024] --arg out=zeros:f32[4] --arg n=1024",
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
	opt.launch.bindLaunch(f)
	f.Lookup("block").Usage = "threads of a block of FILE, X[,Y[,Z]]; of a TARGET: --in-block"
	f.StringVar(&opt.inBlock, "in-block", "",
		"block X,Y,Z that the cell is of (default: the first that has it, of an argument the last that writes it)")
	f.BoolVar(&opt.address, "address", false, "follow addresses and indices, too")
	f.BoolVar(&opt.control, "control", false, "follow guards, branches and the predicates of selects, too")
	f.BoolVar(&opt.across, "across", false, "go on in the blocks that wrote what the block read of others")
	f.BoolVar(&opt.list, "elements", false,
		"list the elements of the arguments that it is made of, and how often each enters, without the tree")
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
		Elements: opt.list,
	}
	if opt.inBlock != "" {
		block, err := parseBlock("in-block", opt.inBlock)
		if err != nil {
			return err
		}
		ask.Block = &block
	}
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	req, err := opt.opening(cmd, a, s, &ask, args[0])
	if err != nil {
		return err
	}
	meter := newMeter(a.Stderr, a.json)
	doc, err := s.Lineage(cmd.Context(), req, ask, meter.report)
	meter.clear()
	if err != nil {
		return err
	}
	return a.print(doc, func(w io.Writer) {
		if opt.list {
			printElements(w, doc)
			return
		}
		printLineage(w, doc, opt.depth)
	})
}

// opening is the request of the target, or of the file whose launch is given. Of a target --block names the
// block that the cell is of.
func (o *lineageOptions) opening(
	cmd *cobra.Command, a *app, s *debugkern.Session, ask *debugkern.LineageRequest, named string,
) (debugkern.Request, error) {
	if f := cmd.Flags().Lookup("block"); f.Changed && !isKernelFile(named) {
		if o.inBlock != "" {
			return debugkern.Request{}, usageError("--block and --in-block of a TARGET are the same: give one")
		}
		block, err := parseBlock("block", o.launch.block)
		if err != nil {
			return debugkern.Request{}, err
		}
		ask.Block, f.Changed = &block, false
	}
	return a.opening(cmd, &o.runOptions, &o.launch, s, named)
}

// parseBlock reads the X,Y,Z of an option; what is left out is 0.
func parseBlock(option, text string) (d probes.Dim3, err error) {
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return d, usageError("--%s %s: expected X,Y,Z", option, text)
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return d, usageError("--%s %s: expected X,Y,Z, found %q", option, text, p)
		}
		d[i] = n
	}
	return d, nil
}

// printElements prints which elements a cell is made of.
func printElements(w io.Writer, doc *report.Lineage) {
	fmt.Fprintln(w, doc.Headline())
	for i := range doc.MadeOf {
		fmt.Fprintf(w, "  %s\n", doc.MadeOf[i].Text())
	}
	if len(doc.MadeOf) == 0 {
		fmt.Fprintln(w, "  of no element of an argument")
	}
	if doc.Truncated {
		fmt.Fprintln(w, "  there is more that was not followed")
	}
}

func printLineage(w io.Writer, doc *report.Lineage, depth int) {
	for _, l := range doc.Tree(depth) {
		fmt.Fprintln(w, l.Text)
	}
}
