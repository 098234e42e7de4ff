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

// Scaffold reads a kernel and writes a manifest of it (see scaffold.Write). Nothing is written to a file. It returns a
// *report.Error as Run does.
func (s *Session) Scaffold(ctx context.Context, req scaffold.Request) (*report.Init, error) {
	b, source, err := s.builder.File(ctx, build.File{
		Path: req.File, Include: req.Include, Define: append(slices.Clone(req.Define), req.Set...), Std: req.Std, Arch: req.Arch,
		Instantiate: req.Instantiate,
	})
	if err != nil {
		err = s.begin(ctx, Request{}, nil).explain(err)
		if coded, ok := err.(*report.Error); ok && coded.Report != nil {
			doc := scaffold.Blank(req)
			doc.Error, coded.Report = coded.Report.Error, nil
			return doc, err
		}
		return nil, err
	}
	if missing := b.Outline.Uninstantiated(req.Entry); missing != "" {
		if len(b.Module.Entries()) == 0 || req.Entry != "" && !b.Has(req.Entry) {
			return nil, report.Usagef("%s", missing)
		}
	}
	refusals := func(entry string) ([]string, error) { return s.refusals(ctx, b, entry) }
	return scaffold.Write(req, b.Module, sourceFacts(b, filepath.Base(req.File), source), refusals)
}

// sourceFacts is what a build's source shows, the kernels and launches of the user's headers too.
func sourceFacts(b *build.Build, name, source string) scaffold.Source {
	if source == "" {
		return scaffold.Source{}
	}
	facts := scaffold.ReadSource(name, source)
	if b.Outline != nil {
		facts.Kernels, facts.Launches = b.Outline.Kernels, b.Outline.Launches
	}
	return facts
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
