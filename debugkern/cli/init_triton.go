package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/debugkern"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
)

// initTriton compiles a kernel, writes its bundle, and a manifest of that. Neither file may exist.
func (a *app) initTriton(
	cmd *cobra.Command, req scaffold.Request, launch *checkOptions, kernel string,
) error {
	ask, err := tritonRequest(cmd, &req, launch, kernel)
	if err != nil {
		return err
	}
	if req.Out == "" {
		req.Out = filepath.Join(filepath.Dir(ask.File), ask.Kernel+".yaml")
	}
	if build.Bundled(req.Out) {
		return usageError("--out %s: it names the manifest, next to which the bundle is written", req.Out)
	}
	req.File = strings.TrimSuffix(req.Out, filepath.Ext(req.Out)) + bundle.Ext
	if _, err := os.Lstat(req.File); err == nil {
		return usageError("%s exists already and is not overwritten: remove it, or name another with --out",
			req.File)
	}
	described := false
	err = a.init(cmd, req, func(s *debugkern.Session, req scaffold.Request) (*report.Init, error) {
		doc, err := a.tritonManifest(cmd.Context(), s, req, ask)
		described = err == nil
		return doc, err
	})
	if err != nil && described { // it is the manifest that could not be written
		os.Remove(req.File)
	}
	return err
}

// tritonManifest compiles a kernel, writes the bundle of its launch as the request's file, and makes the
// manifest. A bundle whose launch the emulator does not execute stays: a GPU may.
func (a *app) tritonManifest(
	ctx context.Context, s *debugkern.Session, req scaffold.Request, ask checkrun.TritonRequest,
) (*report.Init, error) {
	compiled, err := checkrun.CompileTriton(ctx, s, ask, nil)
	if err != nil {
		return nil, err
	}
	if err := a.writeNew(req.File, compiled.Bundle); err != nil {
		return nil, usageError("%s: %w", req.File, err)
	}
	doc, err := checkrun.Discover(ctx, s, checkrun.Request{File: req.File}, req)
	if err != nil {
		fmt.Fprintf(a.Stderr, "note: the launch is in %s, without a manifest\n", req.File)
		return nil, err
	}
	if compiled.Note != "" {
		doc.Notes = append(doc.Notes, compiled.Note)
	}
	return doc, nil
}

// tritonRequest is the launch of a Triton kernel that options give.
func tritonRequest(
	cmd *cobra.Command, req *scaffold.Request, launch *checkOptions, kernel string,
) (checkrun.TritonRequest, error) {
	out := checkrun.TritonRequest{Arch: req.Arch, Seed: launch.req.Seed}
	i := strings.LastIndexByte(kernel, ':')
	if i < 1 || i == len(kernel)-1 || filepath.Ext(kernel[:i]) != ".py" {
		return out, usageError("--triton %s: expected FILE.py:KERNEL", kernel)
	}
	out.File, out.Kernel = kernel[:i], kernel[i+1:]
	err := refuseOptions(cmd, []string{"include", "define", "std", "instantiate"},
		"is for a .cu; --triton takes --arg and --set")
	if err != nil {
		return out, err
	}
	err = refuseOptions(cmd, []string{"entry", "block", "cluster", "shared"},
		"is for a file; Triton chooses it from the kernel and --set")
	if err != nil {
		return out, err
	}
	if out.Grid, err = dim3("grid", launch.grid); err != nil {
		return out, err
	}
	for _, n := range out.Grid {
		if n < 1 {
			return out, usageError("--grid %s: expected numbers from 1 on", launch.grid)
		}
	}
	if out.Args, err = namedArguments(launch.args); err != nil {
		return out, err
	}
	if out.Options, err = tritonOptions(req.Set); err != nil {
		return out, err
	}
	req.Set, req.Arch = nil, "" // the compiler's, not the manifest's
	return out, nil
}
