package tuitest

import (
	"context"
	"errors"

	"tilescope/debugkern"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
)

// Lut maps lanes as the tensor core does: two neighbours of a row a register, a and b twice.
func (e *Engine) Lut(_ context.Context, req debugkern.Request, _ fragment.Filter) (*report.Lut,
	error) {
	if req.Backend == "cuda" {
		return nil, &report.Error{Code: report.CodeUnavailable, Err: errors.New("no GPU: there is no driver")}
	}
	doc := &report.Lut{Backend: report.Backend{Name: "emu", Device: "emulator (sm_90 numerics)"}}
	for _, m := range []report.Fragment{{Kind: "acc", DType: "f32"}, {Kind: "acc", DType: "f16"},
		{Kind: "a", DType: "f16", Layout: "row"},
		{Kind: "b", DType: "f16", Layout: "col"}} {
		n := 8
		if m.Layout != "" {
			n = 16
		}
		m.Lanes = fakeLanes(n)
		doc.Maps = append(doc.Maps, m)
	}
	return doc, nil
}

func fakeLanes(elements int) [][]report.Cell16 {
	lanes := make([][]report.Cell16, 32)
	for l := range lanes {
		for e := range elements {
			lanes[l] = append(lanes[l], report.Cell16{l/4 + e/2%2*8, l%4*2 + e%2 + e/4%2*8})
		}
	}
	return lanes
}

// Table is a kernel's own with elements 2, 3 and 4, 5 exchanged, where the run is a faulty one.
func (v *Viewer) Table(context.Context) (*fragment.Table, error) {
	if !v.faulty {
		return nil, nil
	}
	t := &fragment.Table{Name: "WMMA_ACCUM_LUT", Line: 12, Cells: fakeLanes(8), Lut: &report.Lut{}}
	covered, ordered := true, false
	t.Covered, t.Ordered, t.Explanation = &covered, &ordered, "covers every cell, order wrong: sorted by row"
	for l, c := range t.Cells {
		for i := range 2 {
			c[2+i], c[4+i] = c[4+i], c[2+i]
			t.Wrong = append(t.Wrong, report.LutEntry{Lane: l, Element: 2 + i},
				report.LutEntry{Lane: l, Element: 4 + i})
		}
	}
	return t, nil
}

// TableFile is the table of a faulty run, whatever the file.
func (e *Engine) TableFile(_ context.Context, _ debugkern.Request, path string) (*fragment.Table, error) {
	if path == "none.h" {
		return nil, errors.New("none.h: no initialised WMMA_ACCUM_LUT[32][8][2] in it")
	}
	t, err := (&Viewer{faulty: true}).Table(context.Background())
	t.Name = path
	return t, err
}
