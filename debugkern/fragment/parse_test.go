package fragment

import (
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
		"a slash":               {"/ " + table, ""},
	} {
		lanes, err := parseLut(c.text, "T")
		if c.says == "" && (err != nil || len(lanes) != 32) ||
			c.says != "" && (err == nil || err.Error() != c.says) {
			t.Errorf("%s: %d lanes, %v", name, len(lanes), err)
		}
	}
}
