package tuitest

import (
	"context"
	"errors"
	"slices"

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
func (v *Viewer) table() *fragment.Table {
	if !v.faulty {
		return nil
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
	return t
}

// Lookups are that table, and one of operand B of m16n8k16 in which lane 3 names lane 2's first cell.
func (v *Viewer) Lookups(context.Context) ([]fragment.Table, error) {
	t := v.table()
	if t == nil {
		return nil, nil
	}
	maps := fragment.Instructions()
	at := slices.IndexFunc(maps, func(f report.Fragment) bool {
		return f.Instruction == "m16n8k16" && f.Kind == "b" && f.DType == "f16"
	})
	b := fragment.Table{Name: "B_LUT", At: &report.Source{File: KernelFile, Line: 40}, Encoding: "pairs",
		Lut: &report.Lut{Maps: maps[at : at+1], Explanation: "does not cover every cell"}}
	for _, cells := range maps[at].Lanes {
		b.Cells = append(b.Cells, slices.Clone(cells))
	}
	b.Cells[3][0] = b.Cells[2][0]
	b.Wrong = []report.LutEntry{{Lane: 3, Element: 0, Want: maps[at].Lanes[3][0], Got: b.Cells[3][0]}}
	covered, ordered := false, false
	b.Covered, b.Ordered = &covered, &ordered
	return []fragment.Table{*t, b}, nil
}

// TableFile is the table of a faulty run, whatever the file.
func (e *Engine) TableFile(_ context.Context, _ debugkern.Request, path string) (*fragment.Table, error) {
	if path == "none.h" {
		return nil, errors.New("none.h: no initialised WMMA_ACCUM_LUT[32][8][2] in it")
	}
	t := (&Viewer{faulty: true}).table()
	t.Name = path
	return t, nil
}
