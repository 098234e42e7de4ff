package debugkern

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"tilescope/debugkern/build"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
)

// Scaffold reads a kernel and writes a manifest of it (see scaffold.Write). Nothing is written to a file. It
// returns a *report.Error as Run does.
func (s *Session) Scaffold(ctx context.Context, req scaffold.Request) (*report.Init, error) {
	b, err := s.builder.File(ctx, build.File{
		Path: req.File, Include: req.Include, Define: append(slices.Clone(req.Define), req.Set...),
		Std: req.Std, Arch: req.Arch,
		Instantiate: req.Instantiate,
	})
	if err != nil {
		err = Explain(ctx, err)
		failure := report.FailureOf(err)
		if failure == nil {
			return nil, err
		}
		doc := scaffold.Blank(req)
		doc.Error = failure
		return doc, err
	}
	missing := b.Outline.Uninstantiated(req.Entry)
	switch {
	case len(b.Module.Entries()) == 0:
		_, err := b.Entry(req.File, req.Entry)
		return nil, err
	case missing != "" && req.Entry != "" && !b.Has(req.Entry):
		return nil, report.Usagef("%s", missing)
	}
	if f, err := b.Entry(req.File, req.Entry); err == nil && req.Entry != "" {
		req.Entry = f.Name // k<Op::Scale,float> has another name in the PTX
	}
	refusals := func(entry string) ([]string, error) { return s.refusals(ctx, b, entry) }
	return scaffold.Write(req, b.Module, scaffold.SourceOf(b.Outline.AllUnits()...), refusals)
}

// refusals lists what the emulator does not model of an entry, each with its line.
func (s *Session) refusals(ctx context.Context, b *build.Build, entry string) ([]string, error) {
	list, err := emu.Refusals(ctx, s.chip, b.Module, entry)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		text := fmt.Sprintf("%s:%d: %s", filepath.Base(e.Pos.File), e.Pos.Line, e.Msg)
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out, nil
}
