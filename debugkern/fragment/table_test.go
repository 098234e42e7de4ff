package fragment_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/debugtest"
	"tilescope/debugkern/fragment"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// TestExchangedCells: a header whose lanes, or whose entries, have each other's cells is explained by that.
func TestExchangedCells(t *testing.T) {
	s := debugtest.Open(t)
	maps, err := s.FragmentMaps(t.Context(), debugkern.Request{Backend: "emu"})
	if err != nil {
		t.Fatal(err)
	}
	header, err := maps.AccumulatorHeader()
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(cells [][]report.Cell16){
		"order wrong: lanes 3 and 5 exchanged": func(c [][]report.Cell16) { c[3], c[5] = c[5], c[3] },
		"order wrong: lanes 0 and 31, 3 and 5 exchanged": func(c [][]report.Cell16) {
			c[3], c[5], c[0], c[31] = c[5], c[3], c[31], c[0]
		},
		"order wrong: lane 2 element 1 and lane 7 element 6 exchanged": func(c [][]report.Cell16) {
			c[2][1], c[7][6] = c[7][6], c[2][1]
		},
		"order wrong: in lanes 16 to 31 the hardware's elements 0 1 4 5 2 3 6 7": func(c [][]report.Cell16) {
			for _, x := range c[16:] {
				x[2], x[3], x[4], x[5] = x[4], x[5], x[2], x[3]
			}
		},
		"no single permutation": func(c [][]report.Cell16) { c[3], c[4], c[5] = c[4], c[5], c[3] },
	} {
		table, err := fragment.HeaderTable("own.h", []byte(header))
		if err != nil {
			t.Fatal(err)
		}
		change(table.Cells)
		if err := maps.Judge(table, probes.F32); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(table.Explanation, want) {
			t.Errorf("%q, want %q", table.Explanation, want)
		}
	}
}

// TestTextTable: a table under any name and in any encoding is read out of a file's text and judged, and a
// wrong entry has its line.
func TestTextTable(t *testing.T) {
	maps := fragment.Instructions()
	f := &maps[0]
	_, cols := f.Extents()
	for _, wrong := range []bool{false, true} {
		text := "// a table\n__constant__ short where[] = {\n"
		for l, cells := range f.Lanes {
			for e, c := range cells {
				n := c[0]*cols + c[1]
				if wrong && l == 5 && e == 1 {
					n++
				}
				text += fmt.Sprint(n, ", ")
			}
			text += "\n"
		}
		table := fragment.TextTable("mine.h", []byte(text+"};\n"), maps)
		if table == nil || *table.Ordered == wrong || !strings.HasPrefix(table.Explanation,
			"where (line 2), "+table.Maps[0].Title()+", read as [lane][element] of row·columns + column: ") {
			t.Fatalf("wrong %v: %+v", wrong, table)
		}
		if wrong && (len(table.Wrong) != 1 || table.Wrong[0].Lane != 5 || table.Wrong[0].Line != 8) {
			t.Errorf("%+v", table.Wrong)
		}
	}
	if table := fragment.TextTable("mine.h", []byte("int primes[4] = {2, 3, 5, 7};"), maps); table != nil {
		t.Errorf("primes: %+v", table)
	}
}

// TestTables: a table is found by its content, judged against introspection, and placed in the header
// that was compiled in.
func TestTables(t *testing.T) {
	s := debugtest.Open(t)
	for _, c := range []struct {
		target           string
		faults           []string
		tables           int
		covered, ordered bool
		explains         string
	}{
		{target: "stage2"},
		{"stage3b", nil, 1, true, true, "right"},
		{"stage3b", []string{"lut-order"}, 1, true, false, "order wrong: sorted by row"},
		{"stage3b", []string{"lut-hole"}, 1, false, false, "does not cover every cell: never"},
	} {
		run, err := s.Run(t.Context(), debugkern.Request{
			Target: c.target, Shape: "small", Faults: c.faults, Backend: "emu",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := run.Tables(t.Context())
		if err != nil || len(tables) != c.tables {
			t.Fatalf("%s %v: %d tables, %v", c.target, c.faults, len(tables), err)
		}
		if all, err := run.Lookups(t.Context()); err != nil || len(all) != c.tables {
			t.Errorf("%s %v: %d tables of any fragment, %v", c.target, c.faults, len(all), err)
		}
		first, err := run.Table(t.Context())
		if err != nil || (first != nil) != (c.tables > 0) {
			t.Errorf("%s %v: table %v, %v", c.target, c.faults, first, err)
		}
		if c.tables == 0 || first == nil {
			continue
		}
		if tb := tables[0]; !reflect.DeepEqual(tb, *first) {
			t.Errorf("%s %v: the first of Tables is %+v, Table %+v", c.target, c.faults, tb, *first)
		}
		if *first.Covered != c.covered || *first.Ordered != c.ordered ||
			!strings.Contains(first.Explanation, c.explains) {
			t.Errorf("%s %v: covered %v ordered %v: %s", c.target, c.faults, *first.Covered, *first.Ordered,
				first.Explanation)
		}
		if first.Name != "WMMA_ACCUM_LUT" || len(first.Cells) != 32 {
			t.Errorf("%s %v: %s of %d lanes", c.target, c.faults, first.Name, len(first.Cells))
		}
		if at := first.At; at == nil || !strings.HasSuffix(at.File, "wmma16x16_accum_lut.h") || at.Line != 5 {
			t.Errorf("%s %v: declared at %+v, want wmma16x16_accum_lut.h:5", c.target, c.faults, at)
		}
	}
}
