package debugkern

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"tilescope/debugkern/discover"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/probes"
)

// Discover executes one launch of a kernel, and looks for the stages of attention in what its values are made of: the manifest that it
// writes has them (scaffold.Discovered). Nothing is written to a file. Errors are those of CheckKernel that it returns without a document.
func (s *Session) Discover(ctx context.Context, req CheckRequest, out scaffold.Request) (*report.Init, error) {
	ctx, cancel := Limited(ctx, req.Timeout)
	defer cancel()
	b := s.bare(ctx, req, nil)
	defer func() { releaseAll(b.release) }()
	for _, step := range []func() error{b.geometry, b.backends, b.build, b.arguments, b.limits} {
		if err := step(); err != nil {
			return nil, b.refused(err)
		}
	}
	b.primary, b.emulator = s.emulator(), nil // the one that can be observed
	k, err := b.load(b.primary)
	if err != nil {
		return nil, b.refused(err)
	}
	source := ""
	if b.source != "" {
		source = filepath.Base(req.File)
	}
	found, err := discover.Find(ctx, k, b.entry, b.launch(), source)
	if err != nil {
		return nil, b.refused(launchError(err))
	}
	out.Entry = b.entry.Name
	if found.Attention == nil && source != "" { // the text may show what else it computes
		if doc, err := s.Scaffold(ctx, out); err == nil && strings.Contains(doc.Text, "\n     op: {") {
			doc.Notes = append(doc.Notes, "no stages of attention were discovered: "+found.Why.Error())
			return doc, nil
		}
	}
	l := &scaffold.Launch{Grid: req.Grid, Block: req.Block, Shared: req.Shared}
	for _, a := range b.args {
		l.Args = append(l.Args, a.asWritten(found))
	}
	return scaffold.Discovered(out, b.module.Module, b.source != "", l, found.Attention, found.Why)
}

// refused is an error without the document of a check.
func (b *bareLaunch) refused(err error) error {
	err = b.s.begin(b.ctx, Request{}, nil).explain(err)
	if coded, ok := err.(*report.Error); ok {
		coded.Report = nil
	}
	return err
}

// asWritten is the argument as a manifest has it.
func (a *bareArg) asWritten(found *discover.Found) scaffold.LaunchArg {
	out := scaffold.LaunchArg{Name: a.inferred.Name, DType: a.dtype, Behind: a.into != nil, Read: found.Read[a.name], Wrote: found.Wrote[a.name]}
	switch {
	case a.buffer():
		out.Dims = a.dims
		source, _, _ := strings.Cut(a.text, ":")
		if out.Fill = strings.TrimSpace(source); a.value == nil || a.value.File != nil {
			out.Fill = ""
		}
		if a.into != nil {
			out.In, out.Offset = a.into[0].Arg, a.into[0].Offset
		}
	case a.value != nil && a.value.Fields != nil:
		out.Size = len(a.scalar)
		for _, f := range a.value.Fields {
			if n := f.Value.Number; n != nil {
				t := n.DType
				out.Fields = append(out.Fields, scaffold.LaunchField{Offset: f.Offset, DType: t, Value: scalarText(t, a.scalar[f.Offset:f.Offset+t.Size()])})
			}
		}
	default:
		if t := a.param.Type; t.Float() && len(a.scalar) == 4 {
			out.DType = probes.F32
		}
		out.DType, out.Value = scalarOf(out.DType, a.scalar)
	}
	return out
}

// scalarOf is a scalar's type and value in a manifest: of a type that manifests have no scalars of, its bits.
func scalarOf(t probes.DType, b []byte) (probes.DType, string) {
	whole := map[int]probes.DType{1: probes.U8, 2: probes.U16, 4: probes.U32, 8: probes.U64}[len(b)]
	switch t {
	case probes.F16, probes.BF16, probes.E4M3, probes.E5M2, 0:
		t = whole
	}
	if t.Size() != len(b) {
		t = whole
	}
	return t, scalarText(t, b)
}

// scalarText writes a number so that it is read as the same bits.
func scalarText(t probes.DType, b []byte) string {
	var w [8]byte
	copy(w[:], b)
	bits := binary.LittleEndian.Uint64(w[:])
	switch t {
	case probes.F32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(bits))), 'g', -1, 32)
	case probes.F64:
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case probes.U64:
		return fmt.Sprint(bits)
	}
	return fmt.Sprint(int64(t.Value(bits)))
}
