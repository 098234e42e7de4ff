package debugkern

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// LutFilter picks fragment maps; "" is any.
type LutFilter struct{ Kind, DType, Layout string }

// fragmentArgs lists what each output of the introspection kernel describes.
var fragmentArgs = []struct{ arg, kind, dtype, layout string }{
	{"acc_f32", "acc", "f32", ""}, {"acc_f16", "acc", "f16", ""}, {"a_row", "a", "f16", "row"}, {"a_col", "a", "f16", "col"},
	{"b_row", "b", "f16", "row"}, {"b_col", "b", "f16", "col"},
}

// Lut returns the fragment maps of the request's backend that the filter picks. A filter that picks none is refused.
func (s *Session) Lut(ctx context.Context, req Request, pick LutFilter) (*report.Lut, error) {
	be, _, err := s.backend(ctx, req)
	if err != nil {
		return nil, err
	}
	maps, err := s.fragments(ctx, be)
	if err != nil {
		return nil, err
	}
	info := be.Info()
	doc := &report.Lut{Schema: "tilescope.lut/1", Backend: report.Backend{Name: info.Name, Device: info.Device, Arch: info.Arch, Builder: "embedded"}}
	for _, a := range fragmentArgs {
		if pick.Kind != "" && pick.Kind != a.kind || pick.DType != "" && pick.DType != a.dtype || pick.Layout != "" && pick.Layout != a.layout {
			continue
		}
		doc.Maps = append(doc.Maps, report.Fragment{Kind: a.kind, DType: a.dtype, Layout: a.layout, Lanes: cellsOf(maps[a.arg])})
	}
	if len(doc.Maps) == 0 {
		return nil, report.Usagef("no fragment of kind %q, dtype %q, layout %q; there are acc of f32 and f16, and a and b of f16 in row and col",
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

// JudgeLut compares a header's WMMA_ACCUM_LUT, as the patches leave it, with the float accumulator of the request's backend.
// A file that has no full table, or that a patch does not apply to, is a usage error that names it.
func (s *Session) JudgeLut(ctx context.Context, req Request, path string, patches ...string) (*report.Lut, error) {
	text, err := readText(ctx, path, "a header with a table")
	if err != nil {
		return nil, unread("read the table:", err)
	}
	if text, err = patchedFile(ctx, path, text, patches); err != nil {
		return nil, err
	}
	t, err := s.tableIn(ctx, req, path, text)
	if err != nil {
		return nil, err
	}
	return t.Lut, nil
}

// TableFile is a header's table with what JudgeLut found.
func (s *Session) TableFile(ctx context.Context, req Request, path string) (*Table, error) {
	text, err := readText(ctx, path, "a header with a table")
	if err != nil {
		return nil, unread("read the table:", err)
	}
	return s.tableIn(ctx, req, path, text)
}

// tableIn judges the table of a header's text.
func (s *Session) tableIn(ctx context.Context, req Request, path string, text []byte) (*Table, error) {
	got, err := parseLut(string(text), lutName)
	if err != nil {
		return nil, report.Usagef("%s: %w", filepath.Base(path), err)
	}
	doc, err := s.Lut(ctx, req, LutFilter{Kind: "acc", DType: "f32"})
	if err != nil {
		return nil, err
	}
	doc.File = path
	judgeTable(doc, got)
	return &Table{Name: filepath.Base(path), Cells: got, Lut: doc}, nil
}

// judgeTable fills what is wrong with a table: coverage, then order.
func judgeTable(d *report.Lut, got [][]report.Cell16) {
	want := d.Maps[0].Lanes
	d.Missing, d.Duplicate, d.Wrong = []report.Cell16{}, []report.Cell16{}, []report.LutEntry{}
	count := map[report.Cell16]int{}
	for l, elems := range got {
		for e, c := range elems {
			count[c]++
			if c != want[l][e] {
				d.Wrong = append(d.Wrong, report.LutEntry{Lane: l, Element: e, Want: want[l][e], Got: c})
			}
		}
	}
	for i := range 256 {
		if c := (report.Cell16{i / 16, i % 16}); count[c] == 0 {
			d.Missing = append(d.Missing, c)
		}
	}
	for c, n := range count {
		if n > 1 || c[0] < 0 || c[0] > 15 || c[1] < 0 || c[1] > 15 {
			d.Duplicate = append(d.Duplicate, c)
		}
	}
	slices.SortFunc(d.Duplicate, func(a, b report.Cell16) int { return slices.Compare(a[:], b[:]) })
	covered, ordered := len(d.Missing) == 0 && len(d.Duplicate) == 0, len(d.Wrong) == 0
	d.Covered, d.Ordered = &covered, &ordered
	switch {
	case ordered:
		d.Explanation = "right: covers every cell, in the order of the hardware"
	case covered:
		d.Explanation = "covers every cell, order wrong: " + explainOrder(want, got)
	default:
		d.Explanation = fmt.Sprintf("does not cover every cell: never %s; more than once %s", list(d.Missing), list(d.Duplicate))
	}
}

// list names at most eight cells.
func list(cells []report.Cell16) string {
	if len(cells) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, c := range cells {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(cells)-i)
			break
		}
		fmt.Fprintf(&b, " %s", c)
	}
	return strings.TrimSpace(b.String())
}

// explainOrder returns how a table that covers every cell comes out of the right one.
func explainOrder(want, got [][]report.Cell16) string {
	sorted := func(by func(a, b report.Cell16) bool) bool {
		for l := range want {
			w := slices.Clone(want[l])
			sort.SliceStable(w, func(i, j int) bool { return by(w[i], w[j]) })
			if !slices.Equal(w, got[l]) {
				return false
			}
		}
		return true
	}
	var names []string
	if sorted(func(a, b report.Cell16) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }) {
		names = append(names, "sorted by row")
	}
	if sorted(func(a, b report.Cell16) bool { return a[1] < b[1] || a[1] == b[1] && a[0] < b[0] }) {
		names = append(names, "sorted by column")
	}
	transposed := true
	for l := range want {
		for e := range want[l] {
			transposed = transposed && got[l][e] == report.Cell16{want[l][e][1], want[l][e][0]}
		}
	}
	if transposed {
		names = append(names, "rows and columns exchanged")
	}
	if p := elementOrder(want, got); p != nil {
		names = append(names, fmt.Sprintf("in every lane the hardware's elements %s", strings.Trim(fmt.Sprint(p), "[]")))
	}
	if names == nil {
		return "no single permutation of elements explains it"
	}
	return strings.Join(names, "; ")
}

// elementOrder is the permutation p with got[lane][e] = want[lane][p[e]] in every lane; nil where there is none.
func elementOrder(want, got [][]report.Cell16) []int {
	var p []int
	for _, c := range got[0] {
		p = append(p, slices.Index(want[0], c))
	}
	for l := range got {
		for e, c := range got[l] {
			if p[e] < 0 || c != want[l][p[e]] {
				return nil
			}
		}
	}
	return p
}

// AccumulatorHeader is the C++ header that kernels include: the float accumulator's map as WMMA_ACCUM_LUT.
func (m FragmentMaps) AccumulatorHeader() (string, error) {
	f, err := m.accumulator(probes.F32)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("// wmma16x16_accum_lut.h: which cells of a 16x16 tile the lanes of a warp hold in a WMMA float accumulator (16x16x16), in element\n" +
		"// order: WMMA_ACCUM_LUT[lane][element] is {row, column}. Introspected by accum_lut.cu; every cell occurs exactly once.\n" +
		"#pragma once\n\nstatic __device__ const unsigned char WMMA_ACCUM_LUT[32][8][2] = {\n")
	for l, elems := range f {
		cells := make([]string, len(elems))
		for e, c := range elems {
			cells[e] = fmt.Sprintf("{%d, %d}", c/16, c%16)
		}
		fmt.Fprintf(&b, "    {%s},  // lane %d\n", strings.Join(cells, ", "), l)
	}
	b.WriteString("};\n")
	return b.String(), nil
}
