package code_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"tilescope/kernels"
	"tilescope/tui/code"
	"tilescope/tui/theme"
)

const sample = `#include <mma.h> // headers
/* two
   lines */ __global__ void k(float* x) {
	const char* s = "a // b"; // not a string
	x[threadIdx.x] = 1.5f * 0x1F;
}`

// draw is one line in w columns.
func draw(th *theme.Theme, t *code.Text, i, left, w int) string {
	l := th.Line(w)
	t.Draw(th, l, i, code.Look{Syntax: th.Syntax(), Left: left, Width: w})
	return l.Done()
}

// TestClasses draws single words and looks for their style, each in the right place.
func TestClasses(t *testing.T) {
	th := theme.New(theme.Options{Profile: colorprofile.TrueColor})
	s := th.Syntax()
	cuda := code.New(code.CUDA, strings.Split(sample, "\n"))
	ptx := code.New(code.PTX, []string{
		"@%p8 ld.shared.b16 %rs3, [%rd477+6];", "$L__BB0_4:", "// k.cu:62", "mov.u32 %r1, %tid.x;",
	})
	for _, x := range []struct {
		text  *code.Text
		line  int
		want  string
		class theme.Class
	}{
		{cuda, 0, "#include <mma.h> ", theme.Directive}, {cuda, 0, "// headers", theme.Comment},
		{cuda, 1, "/* two", theme.Comment}, {cuda, 2, "   lines */", theme.Comment},
		{cuda, 2, "__global__", theme.Keyword}, {cuda, 2, "float", theme.TypeName},
		{cuda, 3, `"a // b"`, theme.String}, {cuda, 3, "// not a string", theme.Comment},
		{cuda, 4, "threadIdx", theme.Builtin}, {cuda, 4, "1.5f", theme.Number},
		{cuda, 4, "0x1F", theme.Number},
		{ptx, 0, "ld", theme.Keyword}, {ptx, 0, ".shared.b16", theme.TypeName}, {ptx, 0, "6", theme.Number},
		{ptx, 1, "$L__BB0_4:", theme.Directive}, {ptx, 2, "// k.cu:62", theme.Comment},
		{ptx, 3, "%tid.x", theme.Builtin},
	} {
		if got := draw(th, x.text, x.line, 0, 60); !strings.Contains(got, string(s[x.class])+x.want) {
			t.Errorf("%q is not of class %d in %q", x.want, x.class, got)
		}
	}
	for _, p := range []colorprofile.Profile{colorprofile.NoTTY, colorprofile.ASCII, colorprofile.ANSI} {
		th := theme.New(theme.Options{Profile: p})
		line := draw(th, code.New(code.CUDA, strings.Split(sample, "\n")), 4, 0, 60)
		if strings.Contains(line, "38;") || p == colorprofile.NoTTY && strings.Contains(line, "\x1b") {
			t.Errorf("%s: %q", p, line)
		}
	}
}

// TestClassesDiffer: on terminals with colours every class but plain code and names looks different.
func TestClassesDiffer(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ANSI256,
		colorprofile.TrueColor} {
		seen := map[theme.Style]theme.Class{}
		for class, style := range theme.New(theme.Options{Profile: p}).Syntax() {
			if was, ok := seen[style]; ok && theme.Class(class) != theme.Builtin {
				t.Errorf("%s: classes %d and %d look the same: %q", p, was, class, style)
			}
			seen[style] = theme.Class(class)
		}
	}
}

// TestLinesReadOutOfOrder draws the end before the beginning.
func TestLinesReadOutOfOrder(t *testing.T) {
	th := theme.New(theme.Options{Profile: colorprofile.TrueColor})
	back := code.New(code.CUDA, strings.Split(sample, "\n"))
	forth := code.New(code.CUDA, strings.Split(sample, "\n"))
	var a, b []string
	for i := range back.Len() {
		a = append(a, draw(th, forth, i, 0, 50))
		b = append([]string{draw(th, back, back.Len()-1-i, 0, 50)}, b...)
	}
	if strings.Join(a, "\n") != strings.Join(b, "\n") {
		t.Errorf("forwards %q, backwards %q", a, b)
	}
}

// TestCutLinesSaySo scrolls a line sideways.
func TestCutLinesSaySo(t *testing.T) {
	th := theme.New(theme.Options{Profile: colorprofile.NoTTY})
	text := code.New(code.CUDA, []string{"  abcdefghij", "\tx", "", "αβγδ\xff"})
	for _, x := range []struct {
		line, left, w int
		want          string
	}{
		{0, 0, 12, "  abcdefghij"}, {0, 0, 6, "  abc…"}, {0, 2, 6, "abcde…"}, {0, 4, 6, "…defg…"},
		{0, 8, 6, "…hij"}, {0, 12, 6, "…"}, {0, 90, 6, "…"}, {1, 0, 6, "    x"}, {1, 9, 6, "…"},
		{2, 3, 6, ""}, {3, 0, 9, "αβγδ?"},
		{3, 1, 2, "……"},
	} {
		got := strings.TrimRight(draw(th, text, x.line, x.left, x.w), " ")
		if strings.ReplaceAll(got, "\ufffd", "?") != x.want || ansi.StringWidth(got) > x.w {
			t.Errorf("line %d from %d in %d: %q, expected %q", x.line, x.left, x.w, got, x.want)
		}
	}
}

func TestSearch(t *testing.T) {
	text := code.New(code.CUDA, strings.Split(sample, "\n"))
	if n := text.Search("a"); n != 4 {
		t.Errorf("%d lines have an a", n)
	}
	if n := text.Search("THREAD"); n != 0 {
		t.Errorf("capitals find %d", n)
	}
	if n := text.Search("//"); n != 2 {
		t.Errorf("%d lines have //", n)
	}
	want := []code.Match{
		{Line: 3, Col: 23, Of: 2, Total: 2}, {Line: 0, Col: 17, Of: 1, Total: 2, Wrapped: true},
	}
	at := 0
	for i, dir := range []int{1, 1} {
		m, ok := text.Next(at, dir)
		if !ok || m != want[i] {
			t.Errorf("%+v, expected %+v", m, want[i])
		}
		at = m.Line
	}
	if m, _ := text.Next(0, -1); m.Line != 3 || !m.Wrapped {
		t.Errorf("backwards from the first: %+v", m)
	}
	th := theme.New(theme.Options{Profile: colorprofile.TrueColor})
	if got := draw(th, text, 0, 0, 40); !strings.Contains(got, string(th.Syntax()[theme.Found])+"//") {
		t.Errorf("the match is not marked: %q", got)
	}
	text.Search("")
	if _, ok := text.Next(0, 1); ok {
		t.Error("a match without a search")
	}
	var none *code.Text
	if none.Search("x") != 0 || none.Len() != 0 {
		t.Error("a text that is not there")
	}
}

// TestLexersTakeEveryByte reads every kernel of the catalogue: no line is shorter or longer than it was.
func TestLexersTakeEveryByte(t *testing.T) {
	th := theme.New(theme.Options{Profile: colorprofile.NoTTY})
	files, err := os.ReadDir("../../kernels")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		src, ok := kernels.Source(f.Name())
		if !ok || !strings.HasSuffix(f.Name(), ".cu") {
			continue
		}
		seen++
		text := code.New(code.CUDA, strings.Split(string(src), "\n"))
		start := time.Now()
		for i := range text.Len() {
			if got := strings.TrimRight(draw(th, text, i, 0, 300), " "); got != text.Line(i) {
				t.Fatalf("%s:%d: %q, expected %q", f.Name(), i+1, got, text.Line(i))
			}
		}
		t.Logf("%s: %d lines in %s", f.Name(), text.Len(), time.Since(start))
	}
	if seen < 5 {
		t.Errorf("only %d kernels", seen)
	}
}
