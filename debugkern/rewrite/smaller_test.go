package rewrite

import (
	"slices"
	"strings"
	"testing"
)

// An edit that is taken from another line is offered without each of its differences.
func TestSmaller(t *testing.T) {
	text := Parse("k.cu", "void f() {\n    k = lut ? look(kv[0]) : decode(127.0f, k_scale);\n}\n")
	at := strings.Index(text.text, "k = ")
	end := strings.Index(text.text, ";\n") + 1
	for _, c := range []struct {
		now  string
		want []string // the line with each, and how it is worded
	}{
		{"k = lut ? look(kv[1]) : decode(128.0f, k_scale);", []string{
			"k = lut ? look(kv[0]) : decode(128.0f, k_scale);", "with 128.0f in place of 127.0f",
			"k = lut ? look(kv[1]) : decode(127.0f, k_scale);", "with 1 in place of 0",
		}},
		{"k = lut ? look(kv[0]) : decode(128.0f, k_scale);", nil}, // one difference
		{"k = lut ? look(kv[0 + 1]) : decode(k_scale);", []string{
			"k = lut ? look(kv[0]) : decode(k_scale);", "without 127.0f,",
			"k = lut ? look(kv[0 + 1]) : decode(127.0f, k_scale);", "with + 1 added",
		}},
	} {
		e := Edit{Text: text, Line: 2, sites: []site{{from: at, to: end, now: c.now, whole: true}}}
		var got []string
		for _, o := range e.Smaller() {
			_, now, ok := o.Lines()
			if !ok {
				t.Errorf("%s: not one line", c.now)
			}
			got = append(got, now, o.With())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.now, got, c.want)
		}
	}
	three := Edit{Text: text, Line: 2, sites: []site{
		{from: at, to: end, now: "v = lut ? look(kv[1]) : decode(128.0f, k_scale);", whole: true},
	}}
	first := three.Smaller()
	if len(first) != 3 || len(first[0].Smaller()) != 2 || len(first[0].Smaller()[0].Smaller()) != 0 {
		t.Errorf("three differences: %d, and then %d", len(first), len(first[0].Smaller()))
	}
}
