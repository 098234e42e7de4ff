package debugkern

import (
	"context"
	"path/filepath"

	"tilescope/configs"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
)

// Scaffold reads a kernel and writes a manifest of it (see Write). Nothing is written to a file. It returns a
// *report.Error as Run does.
func (s *Session) Scaffold(ctx context.Context, req scaffold.Request) (*report.Init, error) {
	module, source, err := s.readKernel(ctx, req)
	if err != nil {
		err = (&execution{s: s, ctx: ctx}).explain(err)
		if coded, ok := err.(*report.Error); ok && coded.Report != nil {
			doc := scaffold.Blank(req)
			doc.Error, coded.Report = coded.Report.Error, nil
			return doc, err
		}
		return nil, err
	}
	return scaffold.Write(req, module, source)
}

// readKernel parses PTX, or compiles CUDA source; source is its text, "" for PTX.
func (s *Session) readKernel(ctx context.Context, req scaffold.Request) (m *ptx.Module, source string, err error) {
	if err := checkArch(req.Arch); err != nil {
		return nil, "", err
	}
	text, err := readText(ctx, req.File, "CUDA source or PTX")
	if err != nil {
		return nil, "", unread("read the kernel:", err)
	}
	switch filepath.Ext(req.File) {
	case ".ptx":
		if len(req.Include)+len(req.Define) > 0 || req.Std != "" {
			return nil, "", report.Usagef("%s: -I, -D and --std are for a source that is compiled", req.File)
		}
		b, err := parseBuild(ctx, req.File, text, "none")
		if err != nil {
			return nil, "", err
		}
		return b.Module, "", nil
	case ".cu":
	default:
		return nil, "", report.Usagef("%s: expected a .ptx or a .cu file", req.File)
	}
	name, c, err := s.compiler(ctx, "auto", string(text))
	if err != nil {
		return nil, "", report.Unavailablef("%s has to be compiled, and cannot be here: %w (tilescope doctor says what to install; a .ptx needs none)", req.File, err)
	}
	if req.Arch == "" {
		req.Arch = defaultArch
	}
	own := &configs.Manifest{Name: filepath.Base(req.File), Source: filepath.Base(req.File), Dir: filepath.Dir(req.File), File: req.File}
	sel := &configs.Selection{Manifest: own}
	if err := sel.AddCompile(configs.Compile{Include: req.Include, Defines: req.Define, Std: req.Std}); err != nil {
		return nil, "", &report.Error{Code: report.CodeUsage, Err: err}
	}
	build, err := ownBuild(own, &sourceSet{text: text}, sel.Compile)
	if err != nil {
		return nil, "", err
	}
	build.Defines, build.Arch = sel.Compile.Defines, req.Arch
	out, err := c.Compile(ctx, build)
	if err != nil {
		return nil, "", compileError(err)
	}
	b, err := parseBuild(ctx, req.File+".ptx", []byte(out.Text), name)
	if err != nil {
		return nil, "", err
	}
	return b.Module, string(text), nil
}
