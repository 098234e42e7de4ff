package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/record"
	"tilescope/debugkern/report"
)

// recordDoc is the document tilescope.record/1: the bundle that was written, and the check of it, which
// compares the emulator's results with the GPU's.
type recordDoc struct {
	Schema string        `json:"schema"`
	File   string        `json:"file"`
	Kernel string        `json:"kernel"`
	Notes  []string      `json:"notes"`
	Check  *report.Check `json:"check"`
}

// recordOptions are the options of record.
type recordOptions struct {
	req record.Request
	out string
}

func (a *app) recordCommand() *cobra.Command {
	var opt recordOptions
	c := &cobra.Command{
		Use: "record -- COMMAND...", Short: "Record a launch of a program on a GPU as a bundle, which opens without one",
		Long: "record executes a program, which needs no change, on a machine with a GPU, and writes one of its kernel launches to a bundle (.tsl):\n" +
			"the module's PTX, grid and block, every parameter, the bytes of memory that the launch reads, and those that it wrote, as the GPU left\n" +
			"them. The bundle opens on any machine (check, run, diagnose, the terminal); what the GPU gave is a reference for its outputs.\n\n" +
			"Only the program's kernel launches are observed, with CUPTI, by a C file that is compiled with cc and injected (CUDA_INJECTION64_PATH).\n" +
			"No environment, no command line and no other memory is recorded: tilescope show lists what the file holds. A kernel needs PTX: that of\n" +
			"nvcc is in the program where it was built with it, that of Triton in Triton's cache. Launches during stream capture are not recorded, and\n" +
			"no profiler may be active in the program: CUPTI takes one subscriber. A launch that fails on the GPU or does not end is recorded\n" +
			"without its results.\n\n" +
			"Exit code: 0 recorded, and the emulator gives the same bits; 1 it gives others, or a checker found an error; 2 bad input; 3 cc, CUDA or\n" +
			"CUPTI not available; 4 no launch was recorded, or it has no PTX or cannot be executed.",
		Example: "  tilescope record --kernel softmax_rows -- python train.py\n" +
			"  tilescope record --kernel '^_Z10scale_rows' --nth 3 --out scale.tsl -- ./train",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || c.ArgsLenAtDash() != 0 {
				return usageError("%s takes a program after --: tilescope record -- python train.py", c.CommandPath())
			}
			return nil
		},
		Annotations: map[string]string{perRun: "yes"},
		RunE: func(c *cobra.Command, args []string) error {
			opt.req.Argv = args
			return a.recordProgram(c, &opt)
		},
	}
	f := c.Flags()
	f.StringVar(&opt.req.Kernel, "kernel", "",
		"name of the kernel, mangled or demangled, as an extended regular expression (default any)")
	f.IntVar(&opt.req.Nth, "nth", 0, "which of the launches that match, from 0")
	f.DurationVar(&opt.req.Timeout, "timeout", 0,
		"end the program after this long; a launch that hangs is recorded as it began (default never)")
	f.StringVar(&opt.out, "out", "launch"+bundle.Ext, "write the bundle to FILE.tsl")
	return c
}

func (a *app) recordProgram(c *cobra.Command, opt *recordOptions) error {
	if !build.Bundled(opt.out) {
		return usageError("--out %s: expected a file with the extension %s", opt.out, bundle.Ext)
	}
	if err := opt.req.Check(); err != nil {
		return err
	}
	out, err := a.createOutput(c.Context(), "--out", opt.out, bundleFile)
	if err != nil {
		return err
	}
	defer out.abandon()
	ctx := c.Context()
	s, err := a.session(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	opt.req.Stdout, opt.req.Stderr = a.Stdout, a.Stderr
	if a.json {
		opt.req.Stdout = a.Stderr
	}
	r, err := record.Program(ctx, s, opt.req)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, n := range r.Notes {
		fmt.Fprintf(a.Stderr, "note: %s\n", n)
	}
	var content bytes.Buffer
	if err := r.Write(ctx, s, &content, a.Version); err != nil {
		return err
	}
	if err := out.write(func(w io.Writer) error { _, err := content.WriteTo(w); return err }); err != nil {
		return err
	}
	return a.recorded(c, s, opt, r)
}

// recorded checks the bundle that was written, which compares with the GPU's results, and prints both.
func (a *app) recorded(
	c *cobra.Command, s *debugkern.Session, opt *recordOptions, r *record.Recording,
) error {
	meter := newMeter(a.Stderr, a.json)
	checked, err := checkrun.Kernel(c.Context(), s, checkrun.Request{File: opt.out, Repeat: 1}, meter.report)
	meter.clear()
	doc := recordDoc{Schema: "tilescope.record/1", File: opt.out, Kernel: r.Launch.Kernel, Notes: r.Notes}
	if doc.Notes == nil {
		doc.Notes = []string{}
	}
	if checked != nil {
		doc.Check = checked.Doc
	}
	if err != nil && checked == nil {
		return err
	}
	if perr := a.print(doc, func(w io.Writer) {
		fmt.Fprintf(w, "%s: a launch of %s\n", opt.out, r.Launch.Kernel)
		if err == nil {
			printCheck(w, checked.Doc)
		}
	}); perr != nil {
		return perr
	}
	if err != nil {
		return err
	}
	return exitFor(checked.Doc.ExitCode())
}
