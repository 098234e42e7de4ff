package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// TestSize: an error in which a NaN or an infinity takes part has no size, and is written as no number.
func TestSize(t *testing.T) {
	for want, v := range map[string]float64{"0.125": 0.125, "0": 0, "1.31": 1.3125, "0.5": 0.5} {
		if got := Number(v).Size("%.3g"); got != want {
			t.Errorf("%v: %q", v, got)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := Number(v).Size("%.3g"); got != "NaN/Inf" {
			t.Errorf("%v: %q", v, got)
		}
	}
}

// TestOdd: errors without a size are NaN where all cells that are not finite are no numbers, and cells are
// counted by what they are; a document that was read does not say which they are.
func TestOdd(t *testing.T) {
	inf := Number(math.Inf(1))
	for _, c := range []struct {
		nonfinite, nan     int
		unwritten          int
		size, cells, ofAll string
	}{
		{3, 3, 0, "NaN", "3 NaN", "3 of 64 cells NaN"},
		{5, 3, 0, "NaN/Inf", "3 NaN, 2 Inf", "of 64 cells 3 NaN, 2 Inf"},
		{5, 0, 0, "NaN/Inf", "5 NaN or Inf", "5 of 64 cells NaN or Inf"},
		{3, 3, 3, "NaN", "3 never written", "3 of 64 cells never written"},
		{5, 3, 3, "NaN/Inf", "3 never written, 2 Inf", "of 64 cells 3 never written, 2 Inf"},
		{7, 5, 3, "NaN/Inf", "3 never written, 2 NaN, 2 Inf", "of 64 cells 3 never written, 2 NaN, 2 Inf"},
	} {
		s := ErrorStats{MaxAbs: inf, Nonfinite: c.nonfinite, NaN: c.nan, Unwritten: c.unwritten}
		o := Output{MaxAbs: inf, Cells: 64, Nonfinite: c.nonfinite, NaN: c.nan, Unwritten: c.unwritten}
		if s.Size(s.MaxAbs, "%g") != c.size || o.Most() != c.size || s.Odd() != c.cells ||
			o.Odd() != c.ofAll {
			t.Errorf("%+v: %q, %q, %q, %q", c, s.Size(s.MaxAbs, "%g"), o.Most(), s.Odd(), o.Odd())
		}
		if s.Size(0.5, "%g") != "0.5" {
			t.Errorf("a number is %q", s.Size(0.5, "%g"))
		}
		text, err := json.Marshal([]any{s, o})
		if err != nil || strings.Contains(string(text), "NaN\":") || strings.Contains(string(text), "Cells") {
			t.Errorf("%s, %v: fields of a document stay as they are", text, err)
		}
	}
	if o := (Output{MaxAbs: inf}); o.Odd() != "" || o.Most() != "NaN/Inf" {
		t.Errorf("a document that was read: %q, %q", o.Odd(), o.Most())
	}
}
