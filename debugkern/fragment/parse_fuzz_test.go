package fragment

import (
	"strings"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/kernels"
)

// FuzzLut: any text of a header gives a whole table, 32 lanes of 8 cells, or a reason.
func FuzzLut(f *testing.F) {
	right, ok := kernels.Source("wmma16x16_accum_lut.h")
	if !ok {
		f.Fatal("no table to start from")
	}
	text := string(right)
	const head = "int WMMA_ACCUM_LUT[32][8][2] = "
	for _, s := range []string{
		text, text[:len(text)/2], strings.ReplaceAll(text, "0", "0x0u"), "", head + "{", head + "{{{1,2},},}",
		head + "{{{-1,99999999999}}}", "/*" + head, head + strings.Repeat("{", 1000),
	} {
		f.Add(s)
	}
	want, _, err := parseLut(text, lutName)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lanes, _, err := parseLut(text, lutName)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("refused without a reason")
			}
			return
		}
		if len(lanes) != 32 {
			t.Fatalf("%d lanes", len(lanes))
		}
		for i, l := range lanes {
			if len(l) != 8 {
				t.Fatalf("lane %d has %d cells", i, len(l))
			}
		}
		d := &report.Lut{Maps: []report.Fragment{{Lanes: want}}}
		if judgeCells(d, lanes); *d.Ordered != (len(d.Wrong) == 0) || d.Explanation == "" ||
			*d.Ordered && !*d.Covered {
			t.Fatalf("%+v", d)
		}
	})
}
