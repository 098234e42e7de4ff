package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/checkrun"
)

// ofPython reports whether a file is of Python, and so has kernels of Triton's.
func ofPython(name string) bool { return filepath.Ext(name) == ".py" }

// compiled compiles the kernel of a Python file, with no GPU, and returns the launch of its bundle, which
// stays until discard.
func (o *checkOptions) compiled(
	cmd *cobra.Command, s *debugkern.Session, name string,
) (checkrun.Request, error) {
	var none checkrun.Request
	lines, err := checkrun.OptionComments(cmd.Context(), name)
	if err != nil {
		return none, err
	}
	if err := o.comments(cmd, lines, "set"); err != nil {
		return none, err
	}
	if o.req.Entry == "" {
		return none, usageError("%s: --entry is missing: which kernel of the file%s", name,
			kernelsOf(cmd.Context(), name))
	}
	ask := checkrun.TritonRequest{
		File: name, Kernel: o.req.Entry, Arch: o.req.Arch, Seed: o.req.Seed,
	}
	if ask.Grid, err = dim3("grid", o.grid); err != nil {
		return none, err
	}
	if ask.Args, err = namedArguments(o.args); err != nil {
		return none, err
	}
	if ask.Options, err = tritonOptions(o.set); err != nil {
		return none, err
	}
	made, err := checkrun.CompileTriton(cmd.Context(), s, ask, nil)
	if err != nil {
		return none, err
	}
	if o.temporary == "" {
		if o.temporary, err = os.MkdirTemp("", "tilescope-check-"); err != nil {
			return none, err
		}
	}
	req := o.req
	req.Entry, req.Arch, req.Builder = "", "", ""
	req.File = filepath.Join(o.temporary, strings.TrimSuffix(filepath.Base(name), ".py")+bundle.Ext)
	return req, os.WriteFile(req.File, made.Bundle, 0o600)
}

// tritonKernel is a kernel of Triton's in the text of a file: its name and parameters.
var tritonKernel = regexp.MustCompile(`(?s)@triton\.jit\b[^\n]*\n(?:@[^\n]*\n)*def\s+(\w+)\s*\((.*?)\)\s*:`)

// kernelsOf lists the kernels of a file behind the question for one; "" where it has none.
func kernelsOf(ctx context.Context, name string) string {
	text, err := build.ReadText(ctx, name, "a source")
	if err != nil {
		return ""
	}
	var out []string
	for _, m := range tritonKernel.FindAllSubmatch(text, -1) {
		out = append(out, fmt.Sprintf("%s(%s)", m[1], strings.Join(strings.Fields(string(m[2])), " ")))
	}
	if out == nil {
		return ""
	}
	return "; it has " + strings.Join(out, " and ")
}

// python makes a target of a kernel of Triton's: of the bundle that it is compiled to, which stays until the
// terminal is closed. Compiled again, it is the same target.
func (a *app) python(
	cmd *cobra.Command, opt *runOptions, launch *checkOptions, s *debugkern.Session, named string,
) (checkrun.Request, error) {
	launch.set, launch.req.Arch, launch.req.Seed = opt.set, opt.arch, opt.seed
	launch.temporary = a.made[named]
	req, err := launch.compiled(cmd, s, named)
	if launch.temporary != "" {
		if a.made == nil {
			a.made = map[string]string{}
		}
		a.made[named] = launch.temporary
	}
	return req, err
}

// discardMade removes what python has written.
func (a *app) discardMade() {
	for _, dir := range a.made {
		os.RemoveAll(dir)
	}
}

// discard removes what compiled wrote.
func (o *checkOptions) discard() {
	if o.temporary != "" {
		os.RemoveAll(o.temporary)
		o.temporary = ""
	}
}

// tritonOptions reads --set OPTION=VALUE of Triton's compiler.
func tritonOptions(set []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usageError("--set %s: expected OPTION=VALUE, such as num_warps=4", s)
		}
		out[name] = value
	}
	return out, nil
}
