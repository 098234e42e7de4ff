package expr_test

import (
	"errors"
	"strings"
	"testing"

	"tilescope/debugkern/walk/expr"
)

// TestNever: a comparison that no value of a variable meets is found wherever it stands; one that some value
// meets, or that is of something else, is not.
func TestNever(t *testing.T) {
	ranges := map[string]expr.Range{"warp": {First: 0, Last: 3}, "kv": {First: -1, Last: 7}}
	for text, want := range map[string]string{
		"lane==40":                    "lane == 40 never holds: lane is 0 to 31",
		"if lane == 40":               `"lane == 40", column 1: lane == 40 never holds`,
		"if warp == 1 && lane > 31":   `"warp == 1 && lane > 31", column 14: lane > 31 never holds`,
		"40 == lane":                  "lane == 40 never holds: lane is 0 to 31",
		"lane > 31":                   "lane > 31 never holds",
		"31 < lane":                   "lane > 31 never holds",
		"lane < 0":                    "lane < 0 never holds",
		"lane >= 16*2":                "lane >= 32 never holds",
		"lane == -1":                  "lane == -1 never holds",
		"lane == 1.5":                 "lane == 1.5 never holds",
		"warp == 4":                   "warp == 4 never holds: warp is 0 to 3",
		"kv == 8 || warp == 1":        "kv == 8 never holds: kv is -1 to 7",
		"warp == 1 && !(lane == 99)":  "lane == 99 never holds",
		"sP[lane == 32][0] > 1":       "lane == 32 never holds",
		"%laneid == 32":               "lane == 32 never holds",
		"lane == 31":                  "",
		"lane != 40":                  "",
		"lane <= 0 && kv == -1":       "",
		"lane < 99":                   "",
		"kv >= 7":                     "",
		"lane + 40 == 50":             "",
		"lane == warp":                "",
		"thread == 99999":             "", // no range is known
		"%r1 == 40 && sP[40][2] == 3": "",
	} {
		c, err := expr.ParseCondition(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		err = c.If.Never(ranges)
		var bad *expr.Error
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (!errors.As(err, &bad) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, expected %s", text, err, want)
		}
	}
}
