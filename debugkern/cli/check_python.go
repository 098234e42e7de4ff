package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
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
		return none, usageError("%s: --entry is missing: which kernel of the file", name)
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
	if o.temporary, err = os.MkdirTemp("", "tilescope-check-"); err != nil {
		return none, err
	}
	req := o.req
	req.Entry, req.Arch, req.Builder = "", "", ""
	req.File = filepath.Join(o.temporary, strings.TrimSuffix(filepath.Base(name), ".py")+bundle.Ext)
	return req, os.WriteFile(req.File, made.Bundle, 0o600)
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
