package checkrun

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/discover"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Discover executes one launch of a kernel on the emulator, and looks for the stages of attention in what its
// values are made of: the manifest that it writes has them (scaffold.Discovered). A bundle has its launch in
// it. Nothing is written to a file. Errors are those of Kernel that it returns without a document.
func Discover(
	ctx context.Context, s *debugkern.Session, req Request, out scaffold.Request,
) (*report.Init, error) {
	ctx, cancel := debugkern.Limited(ctx, req.Timeout)
	defer cancel()
	req.Backend = "emu" // the one that can be observed
	l := begin(ctx, s, req, nil)
	defer l.reserved.Release()
	for _, step := range []func() error{l.open, l.geometry, l.backends, l.build, l.arguments, l.limits} {
		if err := step(); err != nil {
			return nil, l.refused(err)
		}
	}
	k, err := l.load(l.primary)
	if err != nil {
		return nil, l.refused(err)
	}
	source := ""
	if l.module.Outline != nil { // compiled here, of a source
		source = filepath.Base(req.File)
	}
	found, err := discover.Find(ctx, k, l.entry, l.target(), source)
	if err != nil {
		return nil, l.refused(report.LaunchError(err))
	}
	out.Entry = l.entry.Name
	given := &scaffold.Launch{
		Grid: l.req.Grid, Block: l.req.Block, Shared: l.req.Shared, Cooperative: l.req.Cooperative,
		Cluster: l.req.Cluster, Bundle: l.bundle != nil,
	}
	for _, a := range l.args {
		given.Args = append(given.Args, a.asWritten(found))
	}
	if found.Attention == nil && source != "" { // the text may show what else it computes
		out.Given = given
		if doc, err := s.Scaffold(ctx, out); err == nil && doc.Computes {
			return doc, nil
		}
		out.Given = nil
		if doc, err := s.Scaffold(ctx, out); err == nil && doc.Computes {
			given.Notes = append(given.Notes, "what the kernel computes is guessed from its text, with a launch that is "+
				"guessed too, by tilescope init without --grid, --block and --arg")
		}
	}
	if err := l.bundleViews(given, found); err != nil {
		return nil, err
	}
	return l.described(k, out, source, given, found)
}

// mostIncluded is how many further blocks are followed for what only they execute.
const mostIncluded = 3

// described writes the manifest, and executes the launch with its captures: what they do not take in every
// iteration of every block is looked for in a block that lacks it. A stage that lacks values still is written
// without capture, and the reason.
func (l *launch) described(
	k target.Kernel, out scaffold.Request, source string, given *scaffold.Launch, found *discover.Found,
) (*report.Init, error) {
	for included := 0; ; {
		doc, err := scaffold.Discovered(out, l.module.Module, source != "", given, found.Attention, found.Why)
		if err != nil || found.Attention == nil {
			return doc, err
		}
		gaps, err := l.uncaptured(k, doc.Text, source, found.Ways())
		if err != nil {
			return nil, l.refused(report.LaunchError(err))
		}
		if len(gaps) == 0 {
			return doc, nil
		}
		more := false
		for i := 0; i < len(gaps) && !more && included < mostIncluded; i++ {
			if more, err = found.Include(l.ctx, gaps[i].block); err != nil {
				return nil, l.refused(report.LaunchError(err))
			}
		}
		if included++; more {
			continue
		}
		for _, g := range gaps {
			if !found.Attention.Uncapture(roleOf(g.stage), g.why) {
				panic(fmt.Sprintf("BUG: stage %s is captured, and was not discovered", g.stage))
			}
		}
	}
}

// roleOf is the role of a stage by its name.
func roleOf(stage probes.Stage) discover.Role {
	for role, name := range configs.Roles() {
		if name == string(stage) {
			return discover.Role(role)
		}
	}
	return ""
}

// refused is an error without the document of a check.
func (l *launch) refused(err error) error {
	err = debugkern.Explain(l.ctx, err)
	if coded, ok := err.(*report.Error); ok {
		coded.Report = nil
	}
	return err
}

// listOf are numbers as --arg has them.
func listOf(numbers []float64) string {
	var list []string
	for _, n := range numbers {
		list = append(list, strconv.FormatFloat(n, 'g', -1, 64))
	}
	return "list(" + strings.Join(list, ",") + ")"
}

// asWritten is the argument as a manifest has it.
func (a *arg) asWritten(found *discover.Found) scaffold.LaunchArg {
	out := scaffold.LaunchArg{
		Name: a.inferred.Name, DType: a.dtype, Behind: a.into != nil,
		Read: found.Read[a.name], Wrote: found.Wrote[a.name], Partly: found.Unwritten[a.name] > 0,
	}
	switch {
	case a.isMemory():
		out.Dims = a.dims
		source, _, _ := strings.Cut(a.text, ":")
		if out.Fill = strings.TrimSpace(source); a.value != nil && a.value.Buffer != nil &&
			a.value.Buffer.Main {
			out.Fill = listOf(a.value.Buffer.Fill.Values)
		}
		if a.value == nil || a.value.File != nil {
			out.Fill = ""
			switch { // of a bundle
			case a.init == nil:
				out.Fill = "unwritten"
			case a.written == nil && !slices.ContainsFunc(a.init, func(b byte) bool { return b != 0 }):
				out.Fill = "zeros"
			}
		}
		if len(a.into) > 0 {
			out.In, out.Offset = a.into[0].Arg, a.into[0].Offset
		} else if a.into != nil {
			out.In = -1
		}
	case a.tensor != nil:
		out.Map, out.Of = a.value.Map.Keys(), a.tensor.Of
	case a.value != nil && a.value.Fields != nil:
		out.Size = len(a.scalar)
		for _, f := range a.value.Fields {
			if n := f.Value.Number; n != nil {
				t := n.DType
				out.Fields = append(out.Fields, scaffold.LaunchField{
					Offset: f.Offset, DType: t, Value: scalarText(t, a.scalar[f.Offset:f.Offset+t.Size()]),
				})
			}
		}
	case !slices.Contains([]int{1, 2, 4, 8}, len(a.scalar)):
		out.Size, out.Fields = len(a.scalar), words(a.scalar)
	default:
		if t := a.param.Type; t.Float() && len(a.scalar) == 4 {
			out.DType = probes.F32
		}
		out.DType, out.Value = scalarOf(out.DType, a.scalar)
	}
	return out
}

// words are the numbers of a struct of which nothing but its bytes is known: integers of 4 bytes, and single
// bytes behind the last of these. A word of zeros, which an address is too, is left out.
func words(b []byte) []scaffold.LaunchField {
	var out []scaffold.LaunchField
	for at := 0; at < len(b); {
		t := probes.I32
		if len(b)-at < t.Size() {
			t = probes.U8
		}
		if word := b[at : at+t.Size()]; slices.ContainsFunc(word, func(x byte) bool { return x != 0 }) {
			out = append(out, scaffold.LaunchField{Offset: at, DType: t, Value: scalarText(t, word)})
		}
		at += t.Size()
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
	if v := t.Value(bitsOf(b)); t.Float() && (math.IsNaN(v) || math.IsInf(v, 0)) {
		t = whole
	}
	return t, scalarText(t, b)
}

// bitsOf is up to 8 bytes as a number.
func bitsOf(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// scalarText writes a number so that it is read as the same bits.
func scalarText(t probes.DType, b []byte) string {
	bits := bitsOf(b)
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
