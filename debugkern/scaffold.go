package debugkern

import (
	"context"

	"tilescope/debugkern/build"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
)

// Scaffold reads a kernel and writes a manifest of it (see scaffold.Write). Nothing is written to a file. It returns a
// *report.Error as Run does.
func (s *Session) Scaffold(ctx context.Context, req scaffold.Request) (*report.Init, error) {
	b, source, err := s.builder.File(ctx, build.File{
		Path: req.File, Include: req.Include, Define: req.Define, Std: req.Std, Arch: req.Arch,
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
	return scaffold.Write(req, b.Module, source)
}
