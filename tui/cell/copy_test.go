package cell

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"tilescope/probes"
)

// TestExactReadsBack: the text of every f16, and of telling values of other types, is the same bits again.
func TestExactReadsBack(t *testing.T) {
	for bits := range uint64(1 << 16) {
		s := Exact(probes.F16, bits)
		x, err := strconv.ParseFloat(s, 32)
		if err != nil || x != probes.F16.Value(bits) && !math.IsNaN(probes.F16.Value(bits)) {
			t.Fatalf("f16 %#x is written %s", bits, s)
		}
	}
	for _, c := range []struct {
		t    probes.DType
		bits uint64
		want string
	}{
		{probes.F32, uint64(math.Float32bits(0.1)), "0.1"}, {probes.F64, math.Float64bits(0.1), "0.1"},
		{probes.U64, math.MaxUint64, "18446744073709551615"}, {probes.I64, 1 << 63, "-9223372036854775808"},
		{probes.I8, 0xff, "-1"}, {probes.F32, 0x7f800000, "Inf"}, {probes.F32, 0xff800000, "-Inf"},
		{probes.F32, 0x7fc00000, "NaN"}, {probes.F32, 0x80000000, "-0"},
	} {
		if got := Exact(c.t, c.bits); got != c.want {
			t.Errorf("%s %#x: %s, expected %s", c.t, c.bits, got, c.want)
		}
	}
}

func TestRows(t *testing.T) {
	value := func(row, col int) string {
		return [][]string{{"1", "NaN", ""}, {"-0.5", "Inf", "-Inf"}}[row][col]
	}
	for _, c := range []struct {
		form  Form
		dtype string
		limit int
		want  string
		rows  int
	}{
		{CSV, "float16", 1000, "1,NaN,\n-0.5,Inf,-Inf\n", 2},
		{NumPy, "float16", 1000,
			"np.array([[1, np.nan, np.nan],\n          [-0.5, np.inf, -np.inf]], dtype=np.float16)\n", 2},
		{NumPy, "int32", 1000,
			"np.array([[1, np.nan, np.nan],\n          [-0.5, np.inf, -np.inf]], dtype=np.float64)\n", 2},
		{CSV, "float16", 10, "1,NaN,\n", 1},
	} {
		got, n := c.form.Rows(c.dtype, 0, 2, 3, c.limit, value)
		if got != c.want || n != c.rows {
			t.Errorf("%s: %d rows of %q, expected %d of %q", c.form, n, got, c.rows, c.want)
		}
	}
	if got, _ := CSV.Rows("float16", 1, 1, 3, 1000, value); !strings.HasPrefix(got, "-0.5") {
		t.Errorf("row 1 is %q", got)
	}
}
