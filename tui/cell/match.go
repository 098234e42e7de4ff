package cell

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilescope/debugkern"
)

// Match is a condition on a cell, from what a person typed.
type Match struct {
	Text string
	hit  func(c Cell) bool
}

// ParseMatch reads a condition: nan, inf, bad, equal, a comparison with a number (>1.5, <=-2, =0, !=0), an
// error comparison (d>0.01, ulp>4), a bit pattern (0x4140), or a number (as written in fixed format).
func ParseMatch(text string) (*Match, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	m := &Match{Text: text}
	switch text {
	case "":
		return nil, fmt.Errorf("search: nothing to look for")
	case "nan":
		m.hit = func(c Cell) bool { return math.IsNaN(c.Got) }
		return m, nil
	case "inf":
		m.hit = func(c Cell) bool { return math.IsInf(c.Got, 0) }
		return m, nil
	case "bad":
		m.hit = func(c Cell) bool { return c.Bad }
		return m, nil
	case "equal":
		m.hit = func(c Cell) bool { return c.Equal }
		return m, nil
	}
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		bits, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			return nil, noMatch(text)
		}
		m.hit = func(c Cell) bool { return c.Bits == bits }
		return m, nil
	}
	var err error
	m.hit, err = comparison(text)
	return m, err
}

// comparison reads [d|ulp] op number; without an operator the number must be met to the digits given.
func comparison(text string) (func(c Cell) bool, error) {
	value := func(c Cell) float64 { return c.Got }
	rest := text
	if s, ok := strings.CutPrefix(text, "ulp"); ok {
		value, rest = func(c Cell) float64 { return math.Abs(float64(c.ULP)) }, s
	} else if s, ok := strings.CutPrefix(text, "d"); ok {
		value, rest = func(c Cell) float64 { return math.Abs(c.Delta) }, s
	}
	for _, op := range []struct {
		text string
		hold func(a, b float64) bool
	}{
		{"<=", func(a, b float64) bool { return a <= b }}, {">=", func(a, b float64) bool { return a >= b }},
		{"!=", func(a, b float64) bool { return a != b }}, {"<", func(a, b float64) bool { return a < b }},
		{">", func(a, b float64) bool { return a > b }}, {"=", func(a, b float64) bool { return a == b }},
	} {
		if s, ok := strings.CutPrefix(rest, op.text); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
			if err != nil {
				return nil, noMatch(text)
			}
			return func(c Cell) bool { return op.hold(value(c), n) }, nil
		}
	}
	n, err := strconv.ParseFloat(rest, 64)
	if err != nil {
		return nil, noMatch(text)
	}
	half := 0.5
	if _, frac, ok := strings.Cut(rest, "."); ok {
		half = 0.5 * math.Pow(10, -float64(len(frac)))
	}
	return func(c Cell) bool { return math.Abs(value(c)-n) <= half }, nil
}

// noMatch is why a text cannot be looked for.
func noMatch(text string) error {
	return fmt.Errorf("search: %q is none of nan, inf, bad, equal, >1.5, d>0.01, ulp>4, 0x4140, 2.63", text)
}

// Hit reports whether the condition holds for a cell.
func (m *Match) Hit(c Cell) bool { return m.hit(c) }

// Find returns the next (dir 1) or previous (dir -1) compared cell of v that matches, starting after (row,
// col); row -1 starts before the first, row Rows after the last. It does not wrap.
func (m *Match) Find(v *debugkern.TileView, ref Ref, limit Bound, row, col, dir int) (int, int, bool) {
	j := NewJudge(v, ref, limit)
	if !j.Known() {
		return 0, 0, false
	}
	cols := v.Got.Cols
	i := row*cols + col
	switch {
	case row < 0:
		i = -1
	case row >= v.Got.Rows:
		i = v.Got.Rows * cols
	}
	for i += dir; i >= 0 && i < v.Got.Rows*cols; i += dir {
		if r, c := i/cols, i%cols; v.Valid(r, c) && v.Got.Captured(r, c) && m.Hit(j.At(r, c)) {
			return r, c, true
		}
	}
	return 0, 0, false
}

// BadCells is the condition of a bad cell.
func BadCells() *Match { return &Match{Text: "bad", hit: func(c Cell) bool { return c.Bad }} }
