// Package fragment has the maps from lanes and elements of a matrix fragment to cells of a 16×16 tile, as
// introspection reads them back on a backend; it compares a kernel's or a header's own table with them, puts
// captured fragments in order, and counts what moving a fragment costs in the banks of shared memory.
//
// The one idea: the layout is not written down anywhere. It is read back, by a kernel that stores
// where each element came from, on the backend that executes; captured and injected fragments are put
// in order by that map alone.
//
// It must not know sessions: who executes the introspection kernel, and when, is its caller's business.
package fragment

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// Introspection is the catalogue's kernel that reads fragment layouts back.
const Introspection = "accum_lut"

// Maps are what the introspection kernel found on a backend. They are read-only.
type Maps struct {
	Backend report.Backend // that executed it
	// Lanes is by the kernel's output arguments' names, for each lane and element, the row-major index of
	// a cell of a 16×16 tile. "acc_f32" and "acc_f16" have 8 elements a lane, "a_row", "a_col", "b_row"
	// and "b_col" have 16.
	Lanes map[string][][]int
}

// Introspect executes the introspection kernel, loaded on a backend, by its plan. Launch
// errors are the backend's.
func Introspect(
	ctx context.Context, on target.Info, k target.Kernel, plan *probes.Plan, mem *budget.Budget,
) (*Maps, error) {
	l := &target.Launch{
		Grid: plan.Grid, Block: plan.Block, Shared: plan.Shared, Label: Introspection, Memory: mem,
	}
	for _, a := range plan.Args {
		l.Args = append(l.Args, target.Arg{Name: a.Name, Buffer: &target.Buffer{
			DType: a.DType, Dims: a.Dims, Bytes: a.Elems() * a.DType.Size(), Output: true,
		}})
	}
	result, err := k.Launch(ctx, l)
	if err != nil {
		return nil, err
	}
	maps := &Maps{
		Backend: report.Backend{Name: on.Name, Device: on.Device, Arch: on.Arch, Builder: "embedded"},
		Lanes:   map[string][][]int{},
	}
	for _, a := range plan.Args {
		maps.Lanes[a.Name] = lanes(result.Outputs[a.Name], a.Dims[0], a.Dims[1])
	}
	return maps, nil
}

// lanes reads a [lanes][elements] array of int32.
func lanes(raw []byte, n, elems int) [][]int {
	out := make([][]int, n)
	for l := range out {
		for e := range elems {
			out[l] = append(out[l], int(int32(binary.LittleEndian.Uint32(raw[4*(l*elems+e):]))))
		}
	}
	return out
}

// Accumulator returns the map of an accumulator of that element type; an error where no accumulator holds it.
func (m *Maps) Accumulator(t probes.DType) (*probes.Fragment, error) {
	lanes := m.Lanes["acc_"+t.String()]
	var f probes.Fragment
	if len(lanes) != len(f) {
		return nil, fmt.Errorf("no accumulator holds %s", t)
	}
	for l, elems := range lanes {
		if copy(f[l][:], elems) != len(f[l]) {
			return nil, fmt.Errorf("lane %d of a %s accumulator has %d elements", l, t, len(elems))
		}
	}
	return &f, nil
}

// Filter picks fragment maps; "" is any.
type Filter struct{ Kind, DType, Layout string }

// Picks reports whether a fragment is one of those.
func (p Filter) Picks(f *report.Fragment) bool {
	return (p.Kind == "" || p.Kind == f.Kind) && (p.DType == "" || p.DType == f.DType) &&
		(p.Layout == "" || p.Layout == f.Layout)
}

// Words names what is picked: "a fragment", "a fragment of kind acc, dtype f32".
func (p Filter) Words() string {
	var list []string
	for _, x := range [][2]string{{"kind", p.Kind}, {"dtype", p.DType}, {"layout", p.Layout}} {
		if x[1] != "" {
			list = append(list, x[0]+" "+x[1])
		}
	}
	if list == nil {
		return "a fragment"
	}
	return "a fragment of " + strings.Join(list, ", ")
}

// fragmentArgs lists what each output of the introspection kernel describes.
var fragmentArgs = []struct{ arg, kind, dtype, layout string }{
	{"acc_f32", "acc", "f32", ""}, {"acc_f16", "acc", "f16", ""}, {"a_row", "a", "f16", "row"},
	{"a_col", "a", "f16", "col"},
	{"b_row", "b", "f16", "row"}, {"b_col", "b", "f16", "col"},
}

// Document returns the maps that the filter picks. A filter that picks none is a usage error.
func (m *Maps) Document(pick Filter) (*report.Lut, error) {
	doc := &report.Lut{Schema: report.LutSchema, Backend: m.Backend}
	for _, a := range fragmentArgs {
		f := report.Fragment{Kind: a.kind, DType: a.dtype, Layout: a.layout}
		if pick.Picks(&f) {
			f.Lanes = cellsOf(m.Lanes[a.arg])
			doc.Maps = append(doc.Maps, f)
		}
	}
	if len(doc.Maps) == 0 {
		return nil, report.Usagef(
			"no fragment of kind %q, dtype %q, layout %q; there are acc of f32 and f16, and a and b of f16 in row and col",
			pick.Kind, pick.DType, pick.Layout)
	}
	return doc, nil
}

func cellsOf(lanes [][]int) [][]report.Cell16 {
	out := make([][]report.Cell16, len(lanes))
	for l, elems := range lanes {
		for _, c := range elems {
			out[l] = append(out[l], report.Cell16{c / 16, c % 16})
		}
	}
	return out
}
