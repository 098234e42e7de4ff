package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilescope/configs/schema"
	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/text"
)

func (a *app) initCommand() *cobra.Command {
	var req scaffold.Request
	var launch checkOptions
	var triton string
	c := &cobra.Command{
		Use:   "init FILE.ptx|FILE.cu|BUNDLE.tsl|--triton FILE.py:KERNEL",
		Short: "A commented manifest from a kernel alone",
		Long: "init reads the parameters and shared arrays of a kernel's entry and writes a commented manifest that loads. What PTX cannot\n" +
			"show has a usual value and is marked with \"# ?\". A .cu is compiled by NVRTC first; it has names, which PTX has not. An existing\n" +
			"file is never overwritten. Next to the manifest a JSON Schema is written, " + schema.File +
			", by which editors complete and check it. A launch that is guessed is executed once on the emulator, for 10 s at most, and a note\n" +
			"names the errors that were found.\n\n" +
			"With a launch, given as check takes it (--grid, --block, --arg, and the comments of the file), launch and arguments are that one's, and\n" +
			"the stages of attention are discovered: one block is executed with what its values are made of. Each stage has its evidence as a comment,\n" +
			"and where the registers are that hold it; what was not found is there with the reason. Of another kernel the output's stage is written\n" +
			"where the text shows what it computes. A bundle (.tsl) has its launch in it.\n\n" +
			"--triton imports FILE.py with the Python of PATH, compiles KERNEL with no GPU, and writes the bundle KERNEL.tsl\n" +
			"and the manifest KERNEL.yaml. The folder of FILE.py must be trusted, because importing executes it. --arg is given\n" +
			"for each argument of the kernel, as check takes it, constexprs among them; --set for options of the compiler.\n\n" +
			"Exit code: 0 written, 2 bad input, 3 no NVRTC for a .cu, no Python or Triton, 4 the kernel does not compile, parse or run.",
		Example: "  tilescope init my_attention.ptx\n  tilescope init my_attention.cu --entry attention_fwd --out kernels/mine.yaml\n" +
			"  tilescope init fused.ptx --grid 2,4 --block 128 --arg 0=randn:f16[4,128,64] --arg 1=randn:f16[4,128,64] --arg 2=randn:f16[4,128,64] --arg 3=unwritten:f16[4,128,64]\n" +
			"  tilescope init --triton double.py:double --grid 4 --arg x=randn:f32[512] --arg y=unwritten:f32[512] " +
			"--arg n=512 --arg BLOCK=128 --set num_warps=4",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case triton != "" && len(args) > 0:
				return usageError("--triton %s: %s is given too; init takes one of them", triton, args[0])
			case triton != "":
				return a.initTriton(cmd, req, &launch, triton)
			case len(args) != 1:
				return usageError("%s takes one FILE.ptx, FILE.cu or BUNDLE.tsl; it was given %d",
					cmd.CommandPath(), len(args))
			}
			req.File = args[0]
			return a.init(cmd, req, func(s *debugkern.Session, req scaffold.Request) (*report.Init, error) {
				return a.scaffold(cmd, s, req, &launch)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&req.Out, "out", "", "where the manifest is written (default: next to FILE, as .yaml)")
	launch.bindLaunch(f)
	f.Uint64Var(&launch.req.Seed, "seed", 0, "of a launch: seed of generated arguments")
	f.StringVar(&triton, "triton", "",
		"compile the Triton kernel FILE.py:KERNEL, and write a bundle of a launch")
	f.StringVar(&req.Arch, "arch", "", "architecture to compile for, such as sm_80")
	f.StringArrayVarP(&req.Include, "include", "I", nil, "directory DIR to look for headers in, repeatable")
	f.StringArrayVarP(&req.Define, "define", "D", nil,
		"symbol to compile a .cu with: NAME[=VALUE], repeatable")
	f.StringVar(&req.Std, "std", "", "language to compile a .cu as, such as c++17 (the default)")
	f.StringArrayVar(&req.Instantiate, "instantiate", nil,
		"kernel template with arguments to compile, such as 'kernel<64,128>', repeatable")
	f.StringArrayVar(&req.Set, "set", nil,
		"symbol to compile with that the manifest has as a flag: FLAG[=VALUE], "+
			"repeatable; with --triton, an option of its compiler")
	return c
}

// init writes the manifest that made returns, and says what to do with it. The manifest is opened before
// anything runs. A command that fails leaves neither a manifest nor a schema, so that it can be repeated.
func (a *app) init(
	cmd *cobra.Command, req scaffold.Request,
	made func(*debugkern.Session, scaffold.Request) (*report.Init, error),
) error {
	if req.Out == "" {
		req.Out = strings.TrimSuffix(req.File, filepath.Ext(req.File)) + ".yaml"
	}
	if _, err := os.Lstat(req.Out); err == nil {
		return usageError("%s exists already and is not overwritten: remove it, or name another with --out",
			req.Out)
	}
	folder := filepath.Dir(req.Out)
	if dir, err := os.Stat(folder); err != nil || !dir.IsDir() {
		return usageError("--out %s: there is no directory %s", req.Out, folder)
	}
	manifest, err := a.Files.Create(req.Out, 0o666)
	if err != nil {
		return usageError("--out %s: cannot write in %s: %w; name another place with --out", req.Out, folder,
			file.Reason(err))
	}
	defer manifest.Abandon()
	s, err := a.session(cmd.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	doc, err := made(s, req)
	if err != nil {
		if doc != nil && a.json {
			if perr := a.print(doc, nil); perr != nil {
				return perr
			}
		}
		return err
	}
	if err := commitNew(manifest, []byte(doc.Text)); err != nil {
		return usageError("--out %s: %w", req.Out, err)
	}
	created, err := a.writeSchema(cmd.Context(), filepath.Join(folder, schema.File))
	if err == nil {
		err = a.printInit(doc)
	}
	if err != nil {
		os.Remove(req.Out)
		if created {
			os.Remove(filepath.Join(folder, schema.File))
		}
	}
	return err
}

// printInit says what was written. The error is a write to standard output that failed, but not that the
// reader closed it, who may have read enough: init FILE | head -1.
func (a *app) printInit(doc *report.Init) error {
	err := a.print(doc, func(w io.Writer) {
		guesses, marks := "", strings.Count(doc.Text, "   # ? ")
		switch {
		case marks == 1:
			guesses = ", 1 guess marked with \"# ?\""
		case marks > 1:
			guesses = fmt.Sprintf(", %d guesses marked with \"# ?\"", marks)
		}
		fmt.Fprintf(w, "wrote %s: entry %s%s\n", doc.Out, doc.Entry, guesses)
		fmt.Fprintf(w, "next to it is %s, the JSON Schema by which an editor checks the manifest\n", schema.File)
		for _, n := range doc.Notes {
			fmt.Fprintf(w, "note: %s\n", n)
		}
		run := "tilescope run " + text.Shell(runnable(doc.Out))
		switch {
		case marks > 0:
			fmt.Fprintf(w, "compare them with your kernel, then: %s\n", run)
		case !build.Bundled(doc.File):
			fmt.Fprintf(w, "nothing in it is marked as a guess: %s\n", run)
		default:
			fmt.Fprintf(w, "with the contents of its memory: %s --inputs %s\n", run, text.Shell(doc.File))
		}
		if doc.Check != "" {
			same := ""
			if marks > 0 {
				same = ", and with the same guesses"
			}
			fmt.Fprintf(w, "with no manifest and no reference%s: %s\n", same, doc.Check)
		}
	})
	if out, ok := a.Stdout.(*stdout); ok && !out.closed() {
		return cmp.Or(err, out.err)
	}
	return nil
}

// writeSchema writes the JSON Schema that manifests of a folder name to editors, and reports whether there
// was none. A copy of another version is replaced; a file of that name that is somebody else's stays.
func (a *app) writeSchema(ctx context.Context, path string) (created bool, err error) {
	want := schema.JSON()
	there, err := file.Read(file.With(ctx, a.Files), path, int64(2*len(want)), file.Want{
		What: "a JSON Schema",
	})
	switch {
	case err == nil && !bytes.Contains(there, []byte(schema.Comment)), bytes.Equal(there, want):
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, noSchema(err)
	}
	_, err = os.Lstat(path) // a link that leads nowhere is the user's
	created = errors.Is(err, fs.ErrNotExist)
	if err := a.Files.Write(path, want, 0o666); err != nil {
		return false, noSchema(err)
	}
	return created, nil
}

func noSchema(err error) error {
	return usageError("%w; the JSON Schema of manifests is written there: remove what is there, or name a "+
		"manifest in another folder with --out", err)
}

// scaffold makes the manifest: of the kernel alone, or with a launch of what is discovered in it.
func (a *app) scaffold(
	cmd *cobra.Command, s *debugkern.Session, req scaffold.Request, launch *checkOptions,
) (*report.Init, error) {
	if build.Bundled(req.File) {
		foreign := slices.Concat(launchOptions, sourceOptions, []string{"set", "seed"})
		if err := refuseOptions(cmd, foreign, hasLaunch(req.File)); err != nil {
			return nil, err
		}
		return checkrun.Discover(cmd.Context(), s, checkrun.Request{File: req.File}, req)
	}
	req.Entry = launch.req.Entry
	given := slices.ContainsFunc(launchOptions, func(o string) bool {
		return o != "entry" && cmd.Flags().Changed(o)
	})
	if !given && cmd.Flags().Changed("seed") {
		return nil, usageError("--seed is of generated arguments: give the launch, " +
			"with --grid, --block and --arg, or --triton")
	}
	if !given || len(req.Set) > 0 {
		if given {
			return nil, usageError("--set goes with a manifest of the kernel alone; with a launch write -D")
		}
		doc, err := s.Scaffold(cmd.Context(), req)
		if err != nil || doc.Words == nil || len(doc.Refused) > 0 {
			return doc, err
		}
		note, err := tried(cmd.Context(), s, req.File, doc)
		if err == nil && note != "" {
			doc.Notes = append(doc.Notes, note)
		}
		return doc, err
	}
	lines, err := checkrun.OptionComments(cmd.Context(), req.File)
	if err != nil {
		return nil, err
	}
	whole, err := launch.withComments(cmd, lines)
	if err != nil {
		return nil, err
	}
	check, err := whole.request(req.File)
	if err != nil {
		return nil, err
	}
	check.Include, check.Define, check.Std, check.Arch, check.Instantiate = req.Include, req.Define, req.Std,
		req.Arch, req.Instantiate
	return checkrun.Discover(cmd.Context(), s, check, req)
}

// mostTried is how long a launch that is guessed is executed.
const mostTried = 10 * time.Second

// tried executes the command that checks the kernel with the launch that init wrote, and returns a note on
// what it found; "" for nothing. The error is a file that cannot be read, or the command's end.
func tried(ctx context.Context, s *debugkern.Session, path string, doc *report.Init) (string, error) {
	command := doc.Words
	var opt checkOptions
	flags := pflag.NewFlagSet("check", pflag.ContinueOnError)
	opt.bind(flags)
	if err := flags.Parse(command[3:]); err != nil {
		panic(fmt.Sprintf("BUG: init proposes a command that cannot be read: %v: %q", err, command))
	}
	req, err := opt.request(path)
	if err != nil {
		return "", err
	}
	req.Timeout = mostTried
	found, err := checkrun.Kernel(ctx, s, req, nil)
	var unread syscall.Errno
	switch {
	case err == nil:
		return triedNote(found.Doc.Findings, guessesLaunch(doc.Unknown)), nil
	case ctx.Err() != nil, errors.As(err, &unread):
		return "", err
	}
	what := "the launch that the source shows"
	if guessesLaunch(doc.Unknown) {
		what = "the launch that is guessed"
	}
	return what + " was not executed to its end: " + err.Error(), nil
}

// guessesLaunch reports whether a guess of init's is of the launch or of what it is given.
func guessesLaunch(unknown []string) bool {
	return slices.ContainsFunc(unknown, func(field string) bool {
		return strings.HasPrefix(field, "launch.") || strings.HasPrefix(field, "args[") || field == "shapes"
	})
}

// triedNote names the errors among findings, the first of each kind on each variable.
func triedNote(findings []report.Finding, guessed bool) string {
	var list []string
	for _, f := range findings {
		if f.Severity != "error" || f.Suppressed != "" {
			continue
		}
		what := f.Kind
		if f.Variable != "" {
			what += " on " + f.Variable
		}
		if f.Source != nil {
			what += fmt.Sprintf(" at %s:%d", filepath.Base(f.Source.File), f.Source.Line)
		}
		if !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	if list == nil {
		return ""
	}
	const shown = 3
	more := ""
	if n := len(list) - shown; n > 0 {
		list, more = list[:shown], fmt.Sprintf(" and %d more", n)
	}
	what := strings.Join(list, ", ") + more
	if !guessed {
		return "executed as the source launches it: " + what
	}
	return "executed with the guessed launch and extents: " + what + "; a wrong guess may be the reason"
}

// withComments are the options of the launch, with those that the kernel's text asks for where
// they are not given.
func (o *checkOptions) withComments(cmd *cobra.Command, lines []string) (*checkOptions, error) {
	whole, all := &checkOptions{}, &cobra.Command{}
	whole.bind(all.Flags())
	for _, name := range append([]string{"seed"}, launchOptions...) {
		f := cmd.Flags().Lookup(name)
		if !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if err := all.Flags().Set(name, v); err != nil {
				return nil, err
			}
		}
	}
	return whole, whole.comments(all, lines)
}

// runnable is a manifest's path as a target: without a separator or .yaml it would be taken for a
// name of the catalogue.
func runnable(path string) string {
	if ext := filepath.Ext(path); strings.ContainsAny(path, `/\`) || ext == ".yaml" || ext == ".yml" {
		return path
	}
	return "./" + path
}

// writeNew writes a file that does not exist yet; a failed write leaves none.
func (a *app) writeNew(path string, content []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return errExists
	}
	p, err := a.Files.Create(path, 0o666)
	if err != nil {
		return err
	}
	defer p.Abandon()
	return commitNew(p, content)
}

// commitNew fills a file that was created where there was none, and puts it in place.
func commitNew(p *file.Pending, content []byte) error {
	if _, err := p.Write(content); err != nil {
		return err
	}
	err := p.CommitNew()
	if errors.Is(err, fs.ErrExist) {
		return errExists
	}
	return err
}

var errExists = errors.New("exists already and is not overwritten")
