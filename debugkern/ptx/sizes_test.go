package ptx

import (
	"strings"
	"testing"
)

// TestSizesDoNotWrap: a variable whose size does not fit is an error at its place, whatever its product
// would be modulo 2^64.
func TestSizesDoNotWrap(t *testing.T) {
	for decl, want := range map[string]string{
		".shared .b32 big[4294967296][4294967296];":                "k.ptx:4:14: variable big is too large",
		".shared .b8 big[1099511627776][16777216];":                "is too large",
		".global .b8 big[1099511627777];":                          "is too large",
		".global .b64 big[274877906944];":                          "is too large",
		".global .v4 .b64 big[34359738369];":                       "is too large",
		".global .b8 big[65536][65536][65536][65536];":             "is too large",
		".extern .shared .b8 big[][1099511627776][1099511627776];": "is too large",
		".global .b8 big[][1099511627776] = {{1},{2},{3},{4}};":    "larger than 64 MiB",
		".global .b8 big[][1099511627776] = {" + strings.Repeat("{1},", 20_000_000>>8) +
			"{1}};": "larger than 64 MiB",
		".global .b8 ok[1099511627776];": "",
		".global .b8 ok[0];":             "",
	} {
		_, err := Parse("k.ptx",
			[]byte(".version 8.0\n.target sm_80\n.address_size 64\n"+decl+
				"\n.visible .entry k()\n{\nret;\n}\n"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", decl, err)
		}
	}
}
