package fragment

import (
	"fmt"
	"strings"
	"testing"
)

// TestLutComments: comments are blanks, a comment that is not closed is an error wherever it begins, and
// quoted text begins none.
func TestLutComments(t *testing.T) {
	lane := "{" + strings.TrimSuffix(strings.Repeat("{0,0},", 8), ",") + "}"
	table := "int T[32][8][2] = {" + strings.TrimSuffix(strings.Repeat(lane+",\n", 32), ",\n") + "};\n"
	for name, c := range map[string]struct{ text, says string }{
		"none":                  {table, ""},
		"closed":                {"/* a */ // b /* c\n" + strings.Replace(table, "},", "}/*,{*/,", 1), ""},
		"in quotes":             {"const char* s = \"/* \\\" /*\"; char c = '\"';\n" + table, ""},
		"not closed, in front":  {"\n/* " + table, "line 2: a comment that is not closed"},
		"not closed, behind":    {table + "/* ", "line 33: a comment that is not closed"},
		"closed by its opening": {"/*/ " + table, "line 1: a comment that is not closed"},
		"no table, not closed": {"src/*.h",
			"no initialised T[32][8][2] in it; `tilescope lut --header` prints one that is right"},
		"a slash": {"/ " + table, ""},
	} {
		lanes, _, err := parseLut(c.text, "T")
		if c.says == "" && (err != nil || len(lanes) != 32) ||
			c.says != "" && (err == nil || err.Error() != c.says) {
			t.Errorf("%s: %d lanes, %v", name, len(lanes), err)
		}
	}
}

// TestEntriesHaveTheirLines: a comment of several lines moves no entry, and a wrong entry has its line.
func TestEntriesHaveTheirLines(t *testing.T) {
	var b strings.Builder
	b.WriteString("/* of\nthe fragment */\nint WMMA_ACCUM_LUT[32][8][2] = {\n")
	for lane := range 32 {
		b.WriteString("{")
		for e := range 8 {
			fmt.Fprintf(&b, "{%d, %d}, ", lane/4+e/2%2*8, lane%4*2+e%2+e/4*8)
		}
		b.WriteString("}, // lane\n")
	}
	b.WriteString("};\n")
	table, err := HeaderTable("lut.h", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got := table.lines[0][0]; got != 4 || table.lines[31][7] != 35 {
		t.Errorf("the first entry stands in line %d, the last in %d; expected 4 and 35", got, table.lines[31][7])
	}
}

// A header that cannot be read is refused with the line, and with what stands there.
func TestWhereAHeaderCannotBeRead(t *testing.T) {
	const head = "#pragma once\nint WMMA_ACCUM_LUT[32][8][2] = {\n"
	for text, want := range map[string]string{
		head + "{{0, 0}, ":    "line 3: WMMA_ACCUM_LUT[0]: expected {, found the end of the file",
		head + "{{0, 0},\n":   "line 3: WMMA_ACCUM_LUT[0]: expected {, found the end of the file",
		head + "{{0, x}},\n":  `line 3: WMMA_ACCUM_LUT[0]: expected an integer, found "x}},"`,
		head + "{{0, 0}\n; ":  `line 3: WMMA_ACCUM_LUT[0]: expected , or }, found ";"`,
		head + "{{0, 0}},\n;": "line 3: WMMA_ACCUM_LUT[0] has 1 pairs, expected 8",
	} {
		if _, err := HeaderTable("lut.h", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %s", text, err, want)
		}
	}
}

// TestOtherTable: a header without the table says what it has under its name, and at which line.
func TestOtherTable(t *testing.T) {
	for text, want := range map[string]string{
		"#pragma once\n// T[32][8][2] =\nconst int T[31] [8][2] = {{{0, 0}}};": "in it: line 3 has T[31][8][2]; ",
		"extern int T[32][8][2];":  "in it: line 1 has T[32][8][2] without values; ",
		"int TT[32][8][2] = {};":   "in it; ",
		"int T[32][8] = {{0, 1}};": "in it: line 1 has T[32][8]; ",
	} {
		if _, _, err := parseLut(text, "T"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}
