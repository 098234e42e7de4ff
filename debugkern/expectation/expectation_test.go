package expectation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// kernel is arguments: x of 4×8, y of 8, out of 4, m of 4×4, memory within a struct; n = 4, k = 8, a scale.
func kernel() []Argument {
	n, k := int64(4), int64(8)
	return []Argument{
		{Names: []string{"x", "arg0"}, Dims: []int{4, 8}}, {Names: []string{"y", "arg1"}, Dims: []int{8}},
		{Names: []string{"out", "arg2"}, Dims: []int{4}}, {Names: []string{"m", "arg3"}, Dims: []int{4, 4}},
		{Names: []string{"n", "arg4"}, Value: &n}, {Names: []string{"k"}, Value: &k},
		{Names: []string{"scale"}}, {Names: []string{"p+8"}, Dims: []int{2}},
	}
}

// stated is every element of the output and what it is expected to be made of: "1: x8 x9 y0".
func stated(t *testing.T, text string, args []Argument) string {
	t.Helper()
	x, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := x.Bind(args)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var lines []string
	for i := range b.Size() {
		c, ok, err := b.At(i)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !ok {
			continue
		}
		want, err := b.Want(c)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		line := fmt.Sprintf("%d:", c.Element)
		for arg := range args {
			for _, e := range want.Of(arg) {
				line += fmt.Sprintf(" %s%d", args[arg].Names[0], e)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}

// TestSets: what expectations say, element by element.
func TestSets(t *testing.T) {
	for text, want := range map[string]string{
		"out[i] <- y[2*i .. 2*i+1]":                         "0: y0 y1, 1: y2 y3, 2: y4 y5, 3: y6 y7",
		"out[i]<-y[2*i..<2*i+2]":                            "0: y0 y1, 1: y2 y3, 2: y4 y5, 3: y6 y7",
		"out[1] <- y[*]":                                    "1: y0 y1 y2 y3 y4 y5 y6 y7",
		"out[n-1] <- y[0 .. k-1 by 3], y[1]":                "3: y0 y1 y3 y6",
		"out[i] <- x[i][6 .. 9] for i >= 2":                 "2: x22 x23, 3: x30 x31",
		"out[i] <- x[i,0], x[8*i+7] for i < 1":              "0: x0 x7",
		"out[*] <- p+8[1]":                                  "0: p+81, 1: p+81, 2: p+81, 3: p+81",
		"out[i] <- y[i + 4*s] for s in 0 ..< 2, i % 2 == 1": "1: y1 y5, 3: y3 y7",
		"out[i] <- y[j] for j in 0 .. i, j != 1":            "0: y0, 1: y0, 2: y0 y2, 3: y0 y2 y3",
		"out[i] <- y[a+b], m[0][0] for a in 0..1, b in 0 .. i*a": "0: y0 y1 m0, 1: y0 y1 y2 m0, " +
			"2: y0 y1 y2 y3 m0, 3: y0 y1 y2 y3 y4 m0",
		"m[r][c] <- m[c][r] for r < 1":                                      "0: m0, 1: m4, 2: m8, 3: m12",
		"m[d,d] <- none":                                                    "0:, 5:, 10:, 15:",
		"m[4*r+c] <- y[r] for r in 0..1, c in 2..3":                         "2: y0, 3: y0, 6: y1, 7: y1",
		"arg2[i] <- arg1[max(0, i-1) .. min(i+1, n-1)] once, ... for i > 1": "2: y1 y2 y3, 3: y2 y3",
		"out[i] <- y[i-1..i+1] for i <2, i >-1":                             "0: y0 y1, 1: y0 y1 y2",
		"out[i] <- y[i+5..i+20 by 2] for -i <-1":                            "2: y7, 3:",
		"out[i] <- y[-5 .. 7 by 3], x[1][-3..-1]": "0: y1 y4 y7, 1: y1 y4 y7, " +
			"2: y1 y4 y7, 3: y1 y4 y7",
		"out[0] <- y[(-7)/2 + 3], y[-7 % 4 + 4], y[0x7]": "0: y0 y1 y7",
	} {
		if got := stated(t, text, kernel()); got != want {
			t.Errorf("%s\nsays %s\nwant %s", text, got, want)
		}
	}
}

// TestMistakes: every mistake has its column, and says what was expected.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		text string
		col  int
		want string
	}{
		{"", 1, "expected the output, such as out[i], found the end"},
		{"out", 4, `expected "[" after out`},
		{"out[i]", 7, `expected "<-" after the output, found the end`},
		{"out[i] = y[i]", 8, `'=' is not allowed here`},
		{"out[i] <-", 10, "expected a term"},
		{"out[i] <- y[i] + y[0]", 16, "elements are listed"},
		{"out[i] <- y[i]*2", 15, "elements are listed"},
		{"out[i] <- 7", 11, `expected a term, such as out[i], found "7"`},
		{"out[i] <- y[4*i .. ", 20, "expected a number, a variable"},
		{"out[i] <- y[4*i", 16, `expected "]" after an index of y`},
		{"out[i] <- y[i] once repeated", 21, "once excludes"},
		{"out[0..3] <- y[*]", 6, "restrict a variable with for"},
		{"out[i] <- y[i] for", 19, "expected a number, a variable"},
		{"out[i] <- y[i] for i", 21, "expected a comparison"},
		{"out[i] <- y[i] for i in 3", 26, `expected ".." or "..<"`},
		{"out[i] <- y[i], ..., x[*]", 20, `or the end, found ","`},
		{"out[i] <- y[x[0][0]]", 13, "x[…] within an index"},
		{"out[i] <- y[sqrt(i)]", 13, "there is no function sqrt; there are min and max"},
		{"out[i] <- y[99999999999999999999]", 13, "is not a whole number of 64 bits"},
		{"out[i] <- y[017]", 13, "is not a whole number"},
		{"out[i] <- y[" + strings.Repeat("(", 80), 77, "nested more than 64 deep"},
		{"out[i] <- y[" + strings.Repeat("-", 80), 76, "nested more than 64 deep"},
		{strings.Repeat("y", 5000), 1, "at most 4096 are read"},
		{"ö[i] <- z[0]", 1, "no argument ö; arguments with elements are x[4,8], y[8], out[4]"},
		{"out[i] <- ö, z[0]", 12, `expected "[" after ö`},
		{"out[i] <- z[0]", 11, "the kernel has no argument z"},
		{"out[i] <- n[0]", 11, "n is a scalar"},
		{"out[i][j] <- y[0]", 1, "out has 1 dimension: one index for each"},
		{"out[i] <- x[i][0][0]", 11, "x has 2 dimensions: one index for each, or one for all, not 3"},
		{"out[i] <- y[j]", 13, "unknown name j; there are the variables i and the parameters n, k"},
		{"out[i] <- y[scale]", 13, "parameter scale is not a whole number"},
		{"out[n] <- y[0]", 5, "n is a parameter"},
		{"out[2*i] <- y[0]", 7, "unknown name i"},
		{"out[i] <- y[j] for j in 0..q", 28, "unknown name q"},
		{"out[i] <- y[j] for j in 0..1, j in 0..2", 31, "j has two ranges"},
		{"out[i] <- y[0] for j in 0..1", 20, "no term uses j"},
		{"out[i] <- y[0] for k in 0..1", 20, "k is a parameter"},
		{"out[2*j] <- y[j] for j in 0..l, l in 0..1", 30, "made of numbers and parameters alone"},
	} {
		x, err := Parse(c.text)
		if err == nil {
			_, err = x.Bind(kernel())
		}
		var bad *Error
		if !errors.As(err, &bad) || bad.Col != c.col || !strings.Contains(bad.Msg, c.want) {
			t.Errorf("%.60s: %v, want column %d: %s", c.text, err, c.col, c.want)
		}
	}
	caret := (&Error{"out[i] <- ö, z[0]", 12, ""}).Caret()
	if caret != "out[i] <- ö, z[0]\n           ^" {
		t.Errorf("caret:\n%s", caret)
	}
}

// TestOutside: what only shows when an element is evaluated.
func TestOutside(t *testing.T) {
	for text, want := range map[string]string{
		"out[i] <- y[3*i]":                              "column 13: y[9] does not exist: it has 8 there",
		"out[i+1] <- y[0] for i in 0..3":                "column 5: index 4 lies outside out, which has 4",
		"out[i] <- y[0 .. 7 by i]":                      "column 23: a step of 0",
		"out[i] <- y[8/i..9]":                           "column 14: division by 0",
		"out[i] <- y[(i+2)*4611686018427387904]":        "does not fit 64 bits",
		"out[i] <- y[-9223372036854775807-2]":           "does not fit 64 bits",
		"out[i] <- y[0 .. 9223372036854775807]":         "is no index",
		"out[i] <- y[0] for j in 0 .. 1":                "",
		"out[i] <- y[min(a, 1)] for a in 0 .. 99999999": "more than 16777216 combinations",
	} {
		x, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := x.Bind(kernel())
		for i := 0; err == nil && i < b.Size(); i++ {
			var c Cell
			if c, _, err = b.At(i); err == nil {
				_, err = b.Want(c)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// entries are elements of y with how often each enters.
func entries(times ...uint64) []Entry {
	var out []Entry
	for i, n := range times {
		if n > 0 {
			out = append(out, Entry{Element{1, i}, n})
		}
	}
	return out
}

// TestCompare: missing, foreign and repeated elements, and what terms allow.
func TestCompare(t *testing.T) {
	x0 := Entry{Element{0, 0}, 1}
	for _, c := range []struct {
		text string
		made []Entry
		want string
	}{
		{"out[0] <- y[0..3]", entries(1, 1, 1, 1), ""},
		{"out[0] <- y[0..3]", entries(2, 2, 2, 2), ""},
		{"out[0] <- y[0..3]", entries(1, 1, 1), "missing y3"},
		{"out[0] <- y[0..3]", entries(1, 1, 1, 1, 1), "foreign y4"},
		{"out[0] <- y[0..3]", entries(1, 2, 1, 1), "repeated y1 2 not 1"},
		{"out[0] <- y[0..3]", entries(2, 2, 1, 1), "repeated y0 2 not 1, repeated y1 2 not 1"},
		{"out[0] <- y[0..3]", entries(2, 2, 1, 2), "fewer y2 1 not 2"},
		{"out[0] <- y[0..3] once", entries(2, 2, 2, 2),
			"repeated y0 2 not 1, repeated y1 2 not 1, repeated y2 2 not 1, repeated y3 2 not 1"},
		{"out[0] <- y[0..3] repeated", entries(1, 9, 1, 1), ""},
		{"out[0] <- y[0..3] repeated", entries(1, 9, 1), "missing y3"},
		{"out[0] <- y[1], y[0..3]", entries(5, 9, 5, 5), ""}, // a softmax
		{"out[0] <- y[1], y[0..3]", entries(5, 9, 6, 5), "repeated y2 6 not 5"},
		{"out[0] <- y[0..1], y[2..3] optional", entries(1, 1, 0, 7), ""},
		{"out[0] <- y[0..1], y[*] optional", entries(1, 0, 0, 7), "missing y1"},
		{"out[0] <- y[0..1]", append(entries(1, 1), x0), "foreign x0"},
		{"out[0] <- y[0..1], ...", append(entries(1, 1), x0), ""},
		{"out[0] <- y[0..1], ...", append(entries(1, 1, 1), x0), "foreign y2"},
		{"out[0] <- none", entries(1), "foreign y0"},
		{"out[0] <- none", nil, ""},
		{"out[0] <- ...", entries(1), ""},
	} {
		x, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := x.Bind(kernel())
		if err != nil {
			t.Fatal(err)
		}
		cell, _, err := b.At(0)
		if err != nil {
			t.Fatal(err)
		}
		want, err := b.Want(cell)
		if err != nil {
			t.Fatal(err)
		}
		d := want.Compare(c.made)
		var got []string
		name := func(e Element) string { return fmt.Sprintf("%s%d", kernel()[e.Arg].Names[0], e.At) }
		for _, e := range d.Missing {
			got = append(got, "missing "+name(e))
		}
		for _, e := range d.Foreign {
			got = append(got, "foreign "+name(e.Element))
		}
		for i, list := range [][]Entry{d.Repeated, d.Fewer} {
			for _, e := range list {
				got = append(got, fmt.Sprintf("%s %s %d not %d", []string{"repeated", "fewer"}[i],
					name(e.Element), e.Times, d.Usual))
			}
		}
		if text := strings.Join(got, ", "); text != c.want || d.Empty() != (c.want == "") {
			t.Errorf("%s of %v: %s, want %s", c.text, c.made, text, c.want)
		}
	}
}

// TestRestricted: conditions on the output's variables restrict its elements, those on others do not.
func TestRestricted(t *testing.T) {
	for text, want := range map[string]bool{
		"out[i] <- y[i]": false, "out[i] <- y[i] for i < 2": true,
		"out[i] <- y[j] for j in 0..3, j < i": false,
	} {
		x, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := x.Bind(kernel())
		if err != nil || b.Restricted() != want || b.Output() != 2 || !b.Names(1) || b.Names(0) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzParse: whatever the text is, it is an expectation or a mistake at a column of it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"out[i] <- x[256*i .. 256*i+255]", "m[r][c] <- x[r][*] once, y[c] repeated optional, ...",
		"out[i] <- y[a+b*i] for a in 0..<4, b in 0 .. a by 2, a != b", "out[i] <- none for i >=-1",
		"p+8[-(3)%2] <- y[min(1,2)/0]", "out[i", "out[i] <- y[i] for i <-", "ö[…",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := Parse(text)
		var b *Bound
		if err == nil {
			b, err = x.Bind(kernel())
		}
		for i := 0; err == nil && i < min(b.Size(), 3); i++ {
			var c Cell
			var ok bool
			if c, ok, err = b.At(i); err == nil && ok {
				_, err = b.Want(c)
			}
		}
		var bad *Error
		if err != nil && (!errors.As(err, &bad) || bad.Col < 1 || bad.Col > len([]rune(text))+1) {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && !slices.Equal([]string{x.String()}, []string{text}) {
			t.Errorf("%q is %q", text, x)
		}
	})
}
