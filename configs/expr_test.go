package configs

import (
	"math"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// parseExpr parses over a scope with two flags, ON = 1 and OFF = 0.
func parseExpr(text string) (*Expr, *env, []*Error) {
	sc := newScope()
	s, d := sc.add("S", classShape), sc.add("D", classShape)
	on, off := sc.add("ON", classFlag), sc.add("OFF", classFlag)
	r := &reader{file: "f.yaml"}
	x := r.expr(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: 1}, "x", sc, inTile)
	e := &env{vars: make([]value, len(sc.classes))}
	e.vars[s], e.vars[d], e.vars[slotBX] = intValue(49), intValue(64), intValue(3)
	e.vars[on], e.vars[off] = intValue(1), intValue(0)
	return x, e, r.errs
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]float64{
		"1 + 2 * 3": 7, "ceil_div(S, 32)": 2, "div(-7, 2)": -4, "ceil_div(-7, 2)": -3, "7 / 2": 3.5,
		"6 / 2": 3, "S % 32": 17, "-7 % 3": -1, "2 ** 10": 1024, "2 ** -1": 0.5, "pow(3, 4)": 81,
		"min(4, S, 2)": 2, "max(1.5, 1)": 1.5, "1 / sqrt(D)": 0.125, "ON ? 5 : 6": 5, "!ON": 0,
		"ON && !OFF": 1, "OFF || S > 40": 1, "not ON": 0, "S >= 49 and S <= 49": 1, "abs(-3)": 3,
		"log2(D)": 6, "ceil(1.2)": 2, "floor(-1.2)": -2, "round(2.5)": 2, "0x20": 32, "-S + +D": 15,
		"1 == 1.0": 1, "bx * 32": 96, "true": 1, "(-1) ** 1000000007": -1, "1.5 * 2": 3,
	} {
		x, e, errs := parseExpr(text)
		if errs != nil {
			t.Errorf("%s: %v", text, errs[0])
			continue
		}
		v, err := x.value(e)
		if err != nil || v.real() != want {
			t.Errorf("%s = %v, %v; want %v", text, v, err, want)
		}
	}
}

func TestIntegersStayIntegers(t *testing.T) {
	for text, want := range map[string]bool{
		"9007199254740993": true, "9007199254740992 + 1": true, "6 / 3": true, "7 / 2": false,
		"sqrt(D)": false, "2 ** 62": true,
	} {
		x, e, errs := parseExpr(text)
		if errs != nil {
			t.Fatal(errs[0])
		}
		if v, err := x.value(e); err != nil || v.float == want {
			t.Errorf("%s is %+v, %v", text, v, err)
		}
	}
	x, e, _ := parseExpr("9007199254740992 + 1")
	if i, err := x.integer(e, math.MinInt64, math.MaxInt64); err != nil || i != 9007199254740993 {
		t.Errorf("got %d, %v", i, err)
	}
}

func TestExpressionMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"1 +": "cannot read the expression", "x": "unknown variable x", "S.x": "no integer input",
		"[1]": "only numbers", "let a = 1; a": "only numbers", "\"a\"": "only numbers",
		"all([1], true)": "unknown function all", "min()": "at least one argument",
		"S ^ 2": "a power is written **", "S in S": "operator in is not known here", "nil": "only numbers",
		strings.Repeat("(", 2000): "an expression of 2000 characters",
	} {
		_, _, errs := parseExpr(text)
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v, want %q", clip(text), errs, want)
		}
	}
	for text, want := range map[string]string{
		"9223372036854775807 + 1": "does not fit 64 bits", "-9223372036854775807 - 2": "does not fit",
		"2 ** 63": "does not fit", "9223372036854775807 * 2": "does not fit", "1 / OFF": "division by zero",
		"1 % OFF": "division by zero", "1.5 / OFF": "division by zero", "1.5 % 2": "wants whole numbers",
		"sqrt(-1)": "not a finite number", "10.0 ** 1000": "not a finite number",
		"ceil_div(1.5, 2)": "wants whole numbers",
	} {
		x, e, errs := parseExpr(text)
		if errs != nil {
			t.Errorf("%s: %v", text, errs[0])
			continue
		}
		if v, err := x.value(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, %v; want %q", text, v, err, want)
		}
	}
}
