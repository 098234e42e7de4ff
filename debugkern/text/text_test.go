package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile are texts that do something where they are not shown but obeyed.
var hostile = []string{
	"\x1b]52;c;ZXZpbA==\x07", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x9b31m", "\u009b31m", "\u0090q\u009c",
	"a\rb", "a\bb", "\x00", "\x7f", "\u202egnp.exe\u202c", "a\u200bb", "a\u2066b\u2069", "\ufeffx",
	"x\u00ady", "\u2028next\u2029", "\U000e0041\U000e007f", "v\ufe0f", "\u061c\u180e\u3164",
	"| cell | `code`\n\n# head", "<script>alert(1)</script>", "[a](https://example.org)", "*b* _c_ __d__",
	"a;rm -rf ~", "it's $(id)", "\xff\xfe\xc3", "",
}

// obeyed is what of s would be obeyed: hidden characters other than newline and tab, bytes that are no UTF-8.
func obeyed(s string) string {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") || Hidden(r) && r != '\n' && r != '\t' {
			return s[i:]
		}
	}
	return ""
}

func TestNothingHostileIsLeft(t *testing.T) {
	for _, s := range hostile {
		for name, f := range map[string]func(string) string{
			"Terminal": Terminal, "Line": Line, "SARIF": SARIF, "Markdown": Markdown,
			"MarkdownCode": MarkdownCode, "Shell": Shell,
		} {
			if got := f(s); obeyed(got) != "" {
				t.Errorf("%s(%q) = %q", name, s, got)
			}
			one := name != "Terminal" && name != "SARIF" && name != "Shell"
			if got := f(s); one && strings.ContainsAny(got, "\n\t") {
				t.Errorf("%s(%q) = %q: more than one line", name, s, got)
			}
		}
	}
}

func TestPrintableTextStaysAsItIs(t *testing.T) {
	for _, s := range []string{"stage2: S = QKᵀ ≤ 1e−3\n\tµs ✗ é e\u0301 日本 \\ 'x'", "plain", "a\\x1b"} {
		if got := Terminal(s); got != s {
			t.Errorf("Terminal(%q) = %q", s, got)
		}
	}
	for s, want := range map[string]string{
		"\x1b[31m": `\x1b[31m`, "a\u202eb": `a\u202eb`, "\U000e0041": `\U000e0041`, "\xff": `\xff`,
		"\u0085": `\x85`, "line\r\nnext\r": "line\nnext\\x0d",
	} {
		if got := Terminal(s); got != want {
			t.Errorf("Terminal(%q) = %q, expected %q", s, got, want)
		}
	}
}

// TestWriterIsTerminalHoweverTextIsSplit: a byte at a time, by halves or at once.
func TestWriterIsTerminalHoweverTextIsSplit(t *testing.T) {
	all := strings.Join(append(append([]string{}, hostile...), "end é日\U0001f600\r\n"), "\n")
	for _, step := range []int{1, 2, 3, 7, len(all)} {
		var out bytes.Buffer
		w := NewWriter(&out)
		for s := all; s != ""; {
			n := min(step, len(s))
			if m, err := w.Write([]byte(s[:n])); m != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", m, n, err)
			}
			s = s[n:]
		}
		if err := w.Flush(); err != nil || out.String() != Terminal(all) {
			t.Errorf("in steps of %d: %v\n%q\n%q", step, err, out.String(), Terminal(all))
		}
	}
	for _, s := range []string{"plain", "\x1b"} {
		if n, err := NewWriter(failing{}).Write([]byte(s)); n != 0 || err == nil {
			t.Errorf("a failed write of %q: %d, %v", s, n, err)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestStyledWriterLeavesStylesAlone: and nothing else, wherever a sequence is split.
func TestStyledWriterLeavesStylesAlone(t *testing.T) {
	in := "\x1b[1;38:2:1:2:3mbold\x1b[m \x1b]0;x\x07 \x1b[2J \x1b"
	want := "\x1b[1;38:2:1:2:3mbold\x1b[m \\x1b]0;x\\x07 \\x1b[2J \\x1b"
	for step := 1; step <= len(in); step++ {
		var out bytes.Buffer
		w := NewStyledWriter(&out)
		for s := in; s != ""; {
			n := min(step, len(s))
			w.Write([]byte(s[:n]))
			s = s[n:]
		}
		if w.Flush(); out.String() != want {
			t.Errorf("in steps of %d: %q, expected %q", step, out.String(), want)
		}
	}
}

func TestJSONDecodesToTheSame(t *testing.T) {
	for _, s := range hostile {
		plain, err := json.MarshalIndent(map[string]string{s: s}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		doc := JSON(plain)
		if obeyed(string(doc)) != "" {
			t.Errorf("%q: %s", s, doc)
		}
		var a, b map[string]string
		if err := json.Unmarshal(plain, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(doc, &b); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		for k, v := range a {
			if b[k] != v {
				t.Errorf("%q became %q", v, b[k])
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	for s, want := range map[string]string{
		"a|b": `a\|b`, "<script>": "&lt;script&gt;", "stage_c_wmma": "stage_c_wmma", "_x_ *y*": `\_x\_ \*y\*`,
		"a\nb": "a b", "[a](b)": `\[a\](b)`, "`c`": "\\`c\\`", "&amp;": "&amp;amp;", "-": "-", "- x": `\- x`,
		"\\|": `\\\|`, "\u202e": `\\u202e`,
	} {
		if got := Markdown(s); got != want {
			t.Errorf("Markdown(%q) = %q, expected %q", s, got, want)
		}
	}
	for s, want := range map[string]string{"a": "`a`", "a`b": "``a`b``", "``": "``` `` ```", "<b>": "`<b>`"} {
		if got := MarkdownCode(s); got != want {
			t.Errorf("MarkdownCode(%q) = %q, expected %q", s, got, want)
		}
	}
}

// TestWords: quotes hold words together, and one without an end is reported.
func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                     nil,
		" --grid 4\t--block  256 ":             {"--grid", "4", "--block", "256"},
		"--expect 'out[i] <- x[i]' -- ''":      {"--expect", "out[i] <- x[i]", "--", ""},
		`--arg p="{0: 1:i32}" "it's"`:          {"--arg", "p={0: 1:i32}", "it's"},
		CommandLine([]string{"a b", "c", "<"}): {"a b", "c", "<"},
	} {
		if got, ok := Words(line); !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if _, ok := Words("--expect 'out[i]"); ok {
		t.Error("a quote without an end is none")
	}
}

// TestJoinWords: Words finds what JoinWords has joined, and what needs no quotes has none.
func TestJoinWords(t *testing.T) {
	for _, w := range []string{
		"", "a", "x=randn:f32[4]", "two words", "it's", `a "b"`, `a "b" it's`, `"`, "'", "no\u00a0break",
		"tab\t", `back\slash`,
	} {
		line := JoinWords([]string{w, "end"})
		if got, ok := Words(line); !ok || !slices.Equal(got, []string{w, "end"}) {
			t.Errorf("%q, joined as %q, is read back as %q", w, line, got)
		}
	}
	if got := JoinWords([]string{"k.cu", "--grid", "4", "it's"}); got != `k.cu --grid 4 "it's"` {
		t.Error(got)
	}
}

// TestShellWords: what needs no quotes has none.
func TestShellWords(t *testing.T) {
	for in, want := range map[string]string{
		"stage2": "stage2", "1,4,128,64": "1,4,128,64", "my file.yaml": "'my file.yaml'", "a'b": `'a'\''b'`,
		"": "''", "0-3,*,0": "'0-3,*,0'", "a;rm -rf ~.yaml": "'a;rm -rf ~.yaml'", "a\x1b7": `$'a\0337'`,
		"a\u202eb": `$'a\342\200\256b'`,
	} {
		if got := Shell(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestShell: a shell reads the word back, byte by byte.
func TestShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to read the words back")
	}
	for _, s := range append([]string{
		"a;rm -rf ~.yaml", "-x", "a b", "'", `\`, "$HOME", "!!", "\x1b7'\\", "é\u202e7",
	}, hostile...) {
		if strings.Contains(s, "\x00") {
			continue // no argument can have it
		}
		out, err := exec.Command(bash, "-c", "printf %s "+Shell(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("Shell(%q) = %q: read back as %q, %v", s, Shell(s), out, err)
		}
	}
}

// TestQuoted: the plainest of shells reads words back as they were.
func TestQuoted(t *testing.T) {
	words := []string{
		"", "plain", "two words", "it's", `back\slash`, "new\nline", "$HOME", "`id`", `"`, "*", "~", "!x",
		"-x", "a;b", "\x01\xff", "'", "''", "=", "a=b",
	}
	out, err := exec.Command("sh", "-c", "printf '%s\\0' "+QuotedLine(words)).Output()
	if err != nil {
		t.Skip(err)
	}
	got := strings.Split(string(out), "\x00")
	if !slices.Equal(got[:len(got)-1], words) {
		t.Errorf("got %q", got)
	}
	if got := QuotedLine([]string{"sweep", "--out=x", "=x"}); got != "sweep --out=x '=x'" {
		t.Error(got)
	}
}

func TestSARIFHasNoLinks(t *testing.T) {
	if got := SARIF("[a](https://example.org) sS[3]"); got != `[a\](https://example.org) sS[3]` {
		t.Error(got)
	}
}
