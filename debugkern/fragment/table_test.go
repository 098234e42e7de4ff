package fragment_test

import (
	"fmt"
	"reflect"
	"slices"
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
		"order wrong: in lanes 16 to 31: the hardware's elements in the order 0 1 4 5 2 3 6 7": func(c [][]report.Cell16) {
			for _, x := range c[16:] {
				x[2], x[3], x[4], x[5] = x[4], x[5], x[2], x[3]
			}
		},
		"order wrong: in lanes 1, 5, 9: the hardware's elements in the order 1 0 2 3 4 5 6 7": func(
			c [][]report.Cell16,
		) {
			for _, l := range []int{1, 5, 9} {
				c[l][0], c[l][1] = c[l][1], c[l][0]
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
		table := textTable("mine.h", text+"};\n", maps)
		begins, how := "where (line 2), ", ", read as [lane][element] of row·columns + column: "
		if table == nil || *table.Ordered == wrong || !strings.HasPrefix(table.Explanation, begins) ||
			!strings.Contains(table.Explanation, how) {
			t.Fatalf("wrong %v: %+v", wrong, table)
		}
		if wrong && (len(table.Wrong) != 1 || table.Wrong[0].Lane != 5 || table.Wrong[0].Line != 8) {
			t.Errorf("%+v", table.Wrong)
		}
	}
	if table := textTable("mine.h", "int primes[4] = {2, 3, 5, 7};", maps); table != nil {
		t.Errorf("primes: %+v", table)
	}
}

// TestTextTableExplained: a table that one exchange makes of a fragment's is judged against that fragment,
// also where others have fewer entries that differ, and rows and columns may be arrays of their own.
func TestTextTableExplained(t *testing.T) {
	maps := fragment.Instructions()
	i := slices.IndexFunc(maps, func(f report.Fragment) bool {
		return f.Instruction == "m16n8k16" && f.Kind == "acc"
	})
	f := &maps[i]
	write := func(name string, number func(lane, element int) string) string {
		text := "const int " + name + "[32][4] = {\n"
		for l, cells := range f.Lanes {
			for e := range cells {
				text += number(l, e) + ", "
			}
			text += "\n"
		}
		return text + "};\n"
	}
	cell := func(l, e int) report.Cell16 { return f.Lanes[l%32][e] }
	for name, c := range map[string]struct{ text, says string }{
		"exchanged": {write("t", func(l, e int) string {
			return fmt.Sprintf("{%d, %d}", cell(l, e)[1], cell(l, e)[0])
		}), "rows and columns exchanged"},
		"shifted": {write("t", func(l, e int) string {
			return fmt.Sprintf("{%d, %d}", cell(l+1, e)[0], cell(l+1, e)[1])
		}), "every lane has the cells of the lane 1 after it"},
		"two arrays": {
			write("ACC_ROW", func(l, e int) string { return fmt.Sprint(cell(l, e)[0]) }) +
				write("ACC_COL", func(l, e int) string { return fmt.Sprint(cell(l, e)[1]) }),
			"ACC_ROW and ACC_COL (line 1), ",
		},
		"two arrays, one wrong": {
			write("rows", func(l, e int) string { return fmt.Sprint(cell(l, e)[0]) }) +
				write("cols", func(l, e int) string {
					if l == 3 && e == 2 {
						return "0"
					}
					return fmt.Sprint(cell(l, e)[1])
				}),
			"1 entry is wrong: lane 3 element 2 (8,0) for (8,6)",
		},
	} {
		table := textTable("mine.h", c.text, maps)
		if table == nil || !strings.Contains(table.Explanation, c.says) ||
			!strings.Contains(table.Explanation, "m16n8k16 acc f32") {
			t.Errorf("%s: %+v", name, table)
			continue
		}
		if right := name == "two arrays"; *table.Ordered != right {
			t.Errorf("%s: %+v", name, table.Lut)
		}
		if name == "two arrays, one wrong" && table.Wrong[0].Line != 39 {
			t.Errorf("line %d", table.Wrong[0].Line)
		}
	}
}

func textTable(path, text string, maps []report.Fragment) *fragment.Table {
	return fragment.TextTable(path, fragment.Arrays(path, text), maps)
}

// arrayOf is the source of an array that has the cells of a fragment as pairs, lane by lane, where the first
// wrong of them are of row 99.
func arrayOf(name string, f *report.Fragment, wrong int) string {
	text := "const int " + name + "[] = {\n"
	for _, cells := range f.Lanes {
		for _, c := range cells {
			if wrong > 0 {
				wrong, c[0] = wrong-1, 99
			}
			text += fmt.Sprintf("%d, %d, ", c[0], c[1])
		}
		text += "\n"
	}
	return text + "};\n"
}

// TestTextTables: every array of a file is judged, a wrong one is shown before a right one, and of fragments
// that have one map the accumulator is named first, and the others with it.
func TestTextTables(t *testing.T) {
	operand, acc := report.Fragment{Kind: "a", DType: "f16", Layout: "row", Rows: 16, Cols: 8},
		report.Fragment{Kind: "acc", DType: "f32", Layout: "row", Rows: 16, Cols: 8}
	for l := range 32 {
		cells := []report.Cell16{{l / 2, l % 2}, {l / 2, l%2 + 2}, {l / 2, l%2 + 4}, {l / 2, l%2 + 6}}
		operand.Lanes, acc.Lanes = append(operand.Lanes, cells), append(acc.Lanes, cells)
	}
	maps := []report.Fragment{operand, acc}
	const named = ", WMMA acc f32 row or WMMA a f16 row, read as [lane][element][row, column]: "
	for _, c := range []struct {
		first, second int
		begins, ends  string
	}{
		{0, 0, "a (line 1)" + named + "right: ", "; b (line 35) is right"},
		{0, 3, "b (line 35)" + named + "does not cover every cell: ", "; a (line 1) is right"},
		{2, 1, "a (line 1)" + named + "does not cover every cell: ", "; b (line 35) has 1 wrong of 128"},
	} {
		table := textTable("two.h", arrayOf("a", &acc, c.first)+arrayOf("b", &acc, c.second), maps)
		if table == nil || !strings.HasPrefix(table.Explanation, c.begins) ||
			!strings.HasSuffix(table.Explanation, c.ends) ||
			*table.Ordered != (c.first+c.second == 0) || table.Maps[0].Kind != "acc" {
			t.Fatalf("%+v: %+v", c, table)
		}
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
