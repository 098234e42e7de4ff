package cell

import (
	"testing"

	"tilescope/debugkern/report"
)

// TestFingerprintsAreWords: what the error looks like does not run into its own description.
func TestFingerprintsAreWords(t *testing.T) {
	for f, want := range map[report.Fingerprint]string{
		{Name: "factor", Value: "2"}:                            "factor 2",
		{Name: "mask", Value: "without its offset of 75"}:       "mask: without its offset of 75",
		{Name: "half-missing", Value: "second half keys"}:       "half missing: second half keys",
		{Name: "transposed"}:                                    "transposed",
		{Name: "operand-transposed", Value: "P"}:                "operand transposed P",
		{Name: "mask"}:                                          "mask",
		{Name: "last-tile", Value: "columns past the last key"}: "last tile: columns past the last key",
	} {
		if got := Fingerprint(&f); got != want {
			t.Errorf("%+v: %q, expected %q", f, got, want)
		}
	}
}
