package rewrite

import (
	"strings"
	"testing"
)

// OfCondition is true of edits of conditions, and false of edits of what is computed under them.
func TestOfCondition(t *testing.T) {
	for _, c := range []struct {
		was, now string
		want     bool
	}{
		{"for (int i = t; i <= n; i += 32) s += x[i];", "for (int i = t; i < n; i += 32) s += x[i];", true},
		{"for (int i = t; i <= n; i += 32) s += x[i];", "for (int i = n; i <= n; i += 32) s += x[i];", false},
		{"for (int i = t; i < n; i += 32) s += x[i];", "for (int i = t; i < n; i += 32) s += x[t];", false},
		{"for (int i = t; i < n; i += 32) s += x[i];", "for (int i = t; i < n; i += 64) s += x[i];", false},
		{"s[i] = x < nx ? u[y + 1] : 0.f;", "s[i] = x < nx && y + 1 < ny ? u[y + 1] : 0.f;", true},
		{"s[i] = x < nx ? u[y + 1] : 0.f;", "s[i] = x < nx ? u[y] : 0.f;", false},
		{"s[i] = x < nx ? u[y + 1] : 0.f;", "s[i + 1] = x < nx ? u[y + 1] : 0.f;", false},
		{"if (c <= cols) y[c] = x[c];", "if (c < cols) y[c] = x[c];", true},
		{"if (c <= cols) y[c] = x[c];", "if (c <= cols) y[c] = x[0];", false},
		{"if (c < cols) y[c] = x[c + 1] - x[c];", "if (c < cols) y[c] = x[c];", false},
		{"const bool in = x <= nx;", "const bool in = x < nx;", true},
		{"while (k > 1) k /= 2;", "while (k > 2) k /= 2;", true},
	} {
		before := "void f() {\n    for (int k = 0; k < 2; k++) { g(k); }\n    "
		text := Parse("k.cu", before+c.was+"\n}\n")
		e := Edit{Text: text, Line: 3, sites: []site{
			{from: len(before), to: len(before) + len(c.was), now: c.now, whole: true},
		}}
		if got := e.OfCondition(); got != c.want || !strings.Contains(e.Applied(), c.now) {
			t.Errorf("%s -> %s: %t, want %t", c.was, c.now, got, c.want)
		}
	}
}

// LosesMaximum is true of an edit that removes a maximum, and false of one that moves it or never had one.
func TestLosesMaximum(t *testing.T) {
	text := Parse("k.cu", "void f() {\n    m = fmaxf(m, x);\n    y = g(x);\n}\n")
	for _, c := range []struct {
		was, now string
		want     bool
	}{
		{"fmaxf(m, x)", "scale", true},
		{"fmaxf(m, x)", "fmaxf(m, y)", false},
		{"fmaxf(m, x)", "warp_max(x)", false},
		{"g(x)", "x", false},
	} {
		at := strings.Index(text.text, c.was)
		e := Edit{Text: text, sites: []site{{from: at, to: at + len(c.was), now: c.now}}}
		if got := e.LosesMaximum(); got != c.want {
			t.Errorf("%s -> %s: %t", c.was, c.now, got)
		}
	}
}
