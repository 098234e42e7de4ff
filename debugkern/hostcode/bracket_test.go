package hostcode

import (
	"fmt"
	"testing"
)

// TestUnbalanced: the first bracket without another one is found wherever it stands, and none in a text whose
// conditions or macros open and close what the text does not.
func TestUnbalanced(t *testing.T) {
	for text, want := range map[string]string{
		"int f() { return 1; }\n":                   "",
		"namespace a {\nint f() { return 1; }\n":    "1:13 this { is never closed",
		"void f() {\n  if (1) {\n}\nvoid g() { }\n": "1:10 this { is never closed",
		"int f(int a { return a; }\n":               "1:6 this ( is never closed",
		"int f() { return (1; }\n":                  "1:18 this ( is not closed before the } of line 1",
		"int f() { }\n}\n":                          "2:1 nothing opens this }",
		"int a[3;\nint b;\n":                        "1:6 this [ is never closed",
		"int a[] = {1, 2;\r\n":                      "1:11 this { is never closed",
		"// {\nconst char *s = \"{\"; char c = '{'; /* ( */\n#define OPEN (\n": "", // a macro opens
		"#define END }\nnamespace a {\nEND\n":                                  "",
		"#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n":                    "",
		"void f(int a,\n#if A\n  int b);\n#else\n  int c);\n#endif\nint d;\n":  "",
		"#if 0\n{\n#endif\nint a;\n":                                           "",
		"#define CHECK(x) do { if (x) { } } while (0)\nint a = (1;\n":          "2:9 this ( is never closed",
	} {
		got := ""
		for _, b := range Unbalanced(Read("k.cu", []byte(text))) {
			got = fmt.Sprintf("%d:%d %s", b.Line, b.Col, b.Msg)
		}
		if got != want {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}
