package expr_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"tilescope/debugkern/walk/expr"
	"tilescope/probes"
)

// env is warp 2 of a block in kv tile 1: %r1 is the lane less 1, %f1 half of it, sP[r][c] is r + c/4 in f16.
type env struct{}

func (env) Name(name string, lane int) (expr.Value, error) {
	switch name {
	case "lane":
		return expr.Number(int64(lane)), nil
	case "warp":
		return expr.Number(2), nil
	case "kv":
		return expr.Number(1), nil
	case "threadIdx.x":
		return expr.Number(int64(64 + lane)), nil
	}
	return expr.Number(0), nil
}

func (env) Register(name string, lane int) (expr.Value, error) {
	switch name {
	case "%r1":
		return expr.OfRegister("b32", uint64(uint32(lane-1))), nil
	case "%rd1":
		return expr.OfRegister("b64", 0x7f00_0000_0010), nil
	case "%f1":
		return expr.OfRegister("f32", uint64(math.Float32bits(float32(lane)/2))), nil
	case "%p1":
		return expr.OfRegister("pred", uint64(lane&1)), nil
	}
	return expr.Value{}, errors.New("no register " + name)
}

func (env) Cell(array string, index []int64) (expr.Value, error) {
	if array != "sP" || len(index) != 2 || index[0] > 7 || index[1] > 7 {
		return expr.Value{}, fmt.Errorf("%s has no element %v", array, index)
	}
	bits := map[float64]uint64{0: 0, 1: 0x3c00, 1.25: 0x3d00, 4.75: 0x44c0}
	v := expr.Of(probes.F16, bits[float64(index[0])+float64(index[1])/4])
	v.Unwritten = index[0] == 7 && index[1] == 7
	return v, nil
}

func (env) HasRegister(name string) error {
	_, err := env{}.Register(name, 0)
	return err
}

func (env) HasIndex(string, int, int, int64) error { return nil }

func (env) HasArray(name string, n int) error {
	if name != "sP" || n != 2 {
		return fmt.Errorf("no shared array %q with %d indices", name, n)
	}
	return nil
}

func TestValues(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"7 / 2", "3"}, {"7.0 / 2", "3.5"}, {"7 % 4", "3"},
		{"-3 % 2", "-1 0xffffffffffffffff"}, {"1 << 4 | 3", "19 0x13"}, {"~0", "-1 0xffffffffffffffff"},
		{"0x10", "16 0x10"}, {"1e3", "1000"}, {"2.5e-1f", "0.25"}, {".5", "0.5"},
		{"lane", "5"}, {"lane == 5 && kv == 1", "true"}, {"lane == 3 || warp != 2", "false"},
		{"!(lane < 3)", "true"}, {"lane==5", "true"}, {"10%lane", "0"}, {"10 % %laneid", "0"},
		{"lane%3", "2"},
		{"%laneid", "5"}, {"%tid.x", "69 0x45"}, {"threadIdx.x - %tid.x", "0"}, {"blockIdx.y", "0"},
		{"%r1", "4 b32 0x00000004"}, {"%r1@lane0", "-1 b32 0xffffffff"}, {"%r1@0 == 0xffffffff", "true"},
		{"%r1@0 == -1", "true"}, {"%r1@0 < 0", "true"}, {"u32(%r1@0) > 0", "true"},
		{"%r1@0 == 4294967296", "false"}, {"%r1@0 >> 28", "15 0xf"},
		{"%rd1", "139637976727568 b64 0x00007f0000000010"},
		{"%f1", "2.5 f32 0x40200000"}, {"%f1@lane3 * 2", "3"}, {"bits(%f1)", "1075838976 0x40200000"},
		{"f32(%r1@0)", "NaN f32 0xffffffff"}, {"isnan(f32(%r1@0))", "true"}, {"f16(0x3c00)", "1 f16 0x3c00"},
		{"f16(0x3c004000 >> 16)", "1 f16 0x3c00"}, {"i8(255)", "-1 i8 0xff"}, {"u8(511)", "255 u8 0xff"},
		{"%p1", "true"}, {"!%p1@2", "true"}, {"%p1 + 1", "2"},
		{"sP[7][7]", "not written (f16)"}, {"sP[7][7]*2", "not written"}, {"2-sP[7][7]", "not written"},
		{"-sP[7][7]", "not written"}, {"~bits(sP[7][7])", "not written"}, {"abs(sP[7][7])", "not written"},
		{"f16(sP[7][7])", "not written (f16)"}, {"max(1, sP[7][7]*2)", "not written"},
		{"1 % bits(sP[7][7])", "not written"}, {"sP[7][7] == sP[7][7]*1", "true"}, {"!sP[7][7]", "true"},
		{"int(1/sP[7][7])", "not written"},
		{"sP[1][0]", "1 f16 0x3c00"}, {"sP[q][k]", "4.75 f16 0x44c0"}, {"sP[lane-4][k-2] > 1", "true"},
		{"sP[ 1 ][0]== 1.0", "true"}, {"min(3, 2) + max(1, 4.5)", "6.5"}, {"abs(-3)", "3"}, {"int(2.9)", "2"},
		{"int(-2.9)", "-2 0xfffffffffffffffe"}, {"float(1)/2", "0.5"}, {"true", "true"},
		{"1 && 0.0", "false"}, {"0 && 1/0", "false"}, {"1 || 1/0", "true"},
		{"18446744073709551615 > 1", "true"}, {"-1 < 18446744073709551615", "true"},
		{"isnan(0.0/0) != (0.0/0 == 0.0/0)", "true"}, {"- - 3", "3"},
		{"-9223372036854775807-1", "-9223372036854775808 0x8000000000000000"},
	} {
		e, err := expr.Parse(x.text, "q", "k")
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}
		v, err := e.Bind(map[string]int64{"q": 4, "k": 3}).Eval(env{}, 5)
		if err != nil || v.String() != x.want {
			t.Errorf("%s = %s, %v; expected %s", x.text, v, err, x.want)
		}
		if e.String() != x.text || e.Check(env{}) != nil {
			t.Errorf("%s is written as %s: %v", x.text, e, e.Check(env{}))
		}
	}
}

// TestMistakes: each says where it is, what was found and what was expected.
func TestMistakes(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"", "column 1: found the end, expected a value"},
		{"lane ==", "column 8: found the end, expected a value"},
		{"lane = 3", "column 6: found '=', expected == to compare"},
		{"lane 3", `column 6: found "3", expected an operator or the end`},
		{"lane == 3 and warp == 0", `column 11: found "and", expected &&`},
		{"lane == 3 or warp == 0", `column 11: found "or", expected ||`},
		{"(1", "column 3: found the end, expected an operator or )"},
		{"sP[1", "column 5: found the end, expected an operator or ]"},
		{"acc > 1", `column 1: no variable "acc"; expected %register`},
		{"%r1 lane 5", "column 5: write %r1@5 for a lane of %r1"},
		{"%r1 lane", "column 5: write %r1@N for a lane of %r1"},
		{"%r1@lane32", `column 5: found "lane32", expected a lane`},
		{"%r1@", "column 5: found the end, expected a lane"},
		{"1 $ 2", "column 3: found"}, {"2 # 3", "column 3: found '#', which no expression has"},
		{"foo(1)", `column 1: no function "foo" (functions: abs`},
		{"min(1)", "column 1: min takes 2, found 1"},
		{"12abc", `column 1: "12abc" is no number`}, {"lane == 3 && hits >= 3", "behind the condition"},
		{"%r9 > 1", "column 1: no register %r9"},
		{"sP[1] > 0", `column 1: no shared array "sP" with 1 indices`},
		{strings.Repeat("(", 500) + "1", "nested more than"},
		{strings.Repeat("-", 500) + "1", "nested more than"},
		{"1/0", "division by zero"}, {"1.5 % 2", "% needs integers"},
		{"sP[7][7] % 2", "% needs integers"}, {"1 << 64", "shift by 64"},
		{"sP[9][9]", "no element [9 9]"}, {"sP[1.5][0]", "expected an integer"}, {"f32(1.5)", "reads bits"},
		{"~1.5", "needs an integer"}, {"int(1e30)", "does not fit"},
	} {
		e, err := expr.Parse(x.text)
		if err == nil {
			err = e.Check(env{})
		}
		if err == nil {
			_, err = e.Eval(env{}, 5)
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%.40s: %v, expected %s", x.text, err, x.want)
		}
	}
}

func TestConditions(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"", ""}, {"if lane==3", "if lane==3"}, {"lane==3", "if lane==3"}, {"hits>=3", "hits >= 3"},
		{"if %r1 > 2 hits % 4", "if %r1 > 2 hits % 4"}, {"if lane==3 hits ==1", "if lane==3 hits == 1"},
		{"if %p1", "if %p1"},
	} {
		c, err := expr.ParseCondition(x.text)
		if err != nil || c.String() != x.want {
			t.Errorf("%q is %q, %v; expected %q", x.text, c, err, x.want)
		}
		if again, err := expr.ParseCondition(c.String()); err != nil || again.String() != c.String() {
			t.Errorf("%q does not come round: %q %v", c, again, err)
		}
	}
	for _, text := range []string{"if", "hits", "hits 3", "hits >= x", "hits % 0",
		"lane==3 hits >= 2 hits < 3"} {
		if c, err := expr.ParseCondition(text); err == nil {
			t.Errorf("%q is %q", text, c)
		}
	}
	for _, x := range []struct {
		hits string
		want []uint64
	}{
		{"hits >= 3", []uint64{3, 4, 5, 6}}, {"hits == 2", []uint64{2}}, {"hits % 3", []uint64{3, 6}},
		{"hits < 3", []uint64{1, 2}}, {"hits != 1", []uint64{2, 3, 4, 5, 6}},
		{"", []uint64{1, 2, 3, 4, 5, 6}},
	} {
		c, _ := expr.ParseCondition(x.hits)
		var got []uint64
		for n := uint64(1); n <= 6; n++ {
			if c.Hits.Match(n) {
				got = append(got, n)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(x.want) {
			t.Errorf("%q matches %v, expected %v", x.hits, got, x.want)
		}
	}
}

// TestWhatIsNamed: whether lanes differ, and what belongs to a warp.
func TestWhatIsNamed(t *testing.T) {
	for _, x := range []struct {
		text    string
		perLane bool
		warp    string
	}{
		{"lane == 3", true, "lane"}, {"%r1 > 0", true, "%r1"}, {"%r1@3 > 0", false, "%r1"},
		{"kv == 1", false, ""},
		{"sP[1][2] > 0", false, ""}, {"sP[lane][0]", true, "lane"}, {"warp", false, "warp"},
		{"%tid.x", true, "threadIdx.x"}, {"step > 100", false, ""},
	} {
		e, err := expr.Parse(x.text)
		if err != nil {
			t.Fatal(err)
		}
		if e.PerLane() != x.perLane || e.OfWarp() != x.warp {
			t.Errorf("%s: per lane %v, of a warp %q", x.text, e.PerLane(), e.OfWarp())
		}
	}
	if e, _ := expr.Parse("sP[q][0]", "q"); !e.Uses("q") || e.Uses("k") {
		t.Error("what is used of a cursor")
	}
}

// FuzzParse: any text is an expression or an *Error whose column lies in it; evaluating ends.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"lane==3 && %r1@lane2 < sP[1][2]", "1 << 63 >> 1", "f16(0x3c00)", "%", "@",
		"0x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := expr.Parse(text)
		var bad *expr.Error
		if err != nil {
			if !errors.As(err, &bad) || bad.Pos < 0 || bad.Pos > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		_, _ = e.Eval(env{}, 1)
		if _, err := expr.Parse(e.String()); err != nil {
			t.Fatalf("%q does not come round: %v", text, err)
		}
	})
}
