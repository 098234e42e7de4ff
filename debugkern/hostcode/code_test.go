package hostcode

import (
	"strings"
	"testing"
)

// TestConditions: of a function's body the code has what a compiler of the host's code sees; what depends on
// a condition that is not known is names behind goto.
func TestConditions(t *testing.T) {
	for condition, want := range map[string]string{
		"#if 1":                                   "a ( ) ; c ( ) ;",
		"#if 0":                                   "b ( ) ; c ( ) ;",
		"#ifdef ON":                               "a ( ) ; c ( ) ;",
		"#ifndef ON":                              "b ( ) ; c ( ) ;",
		"#ifdef OFF":                              "b ( ) ; c ( ) ;",
		"#if defined(ON) && !defined OFF":         "a ( ) ; c ( ) ;",
		"#if ON == 3 || X":                        "a ( ) ; c ( ) ;",
		"#if (ON + 1) * 2 < 8":                    "b ( ) ; c ( ) ;",
		"#if __CUDA_ARCH__ >= 800":                "b ( ) ; c ( ) ;",
		"#if CUDART_VERSION >= 12000":             "goto @ a b ; c ( ) ;",
		"#if 0 && CUDART_VERSION >= 12000":        "b ( ) ; c ( ) ;",
		"#if 0\n#elif CUDART_VERSION\n#elif 1":    "goto @ a ; c ( ) ;",
		"#if F(2)":                                "goto @ a b ; c ( ) ;",
		"#if 0\n#if 1\nx();\n#endif\n#elif ON":    "a ( ) ; c ( ) ;",
		"#if CUDART_VERSION\n#if 1\nx();\n#endif": "goto @ x a b ; c ( ) ;",
	} {
		u := Read(
			"a.cu",
			[]byte("#define ON 3\nvoid f() {\n"+condition+"\na();\n#else\nb();\n#endif\nc();\n}\n"),
		)
		var words []string
		for _, f := range CodeOf(u).Functions {
			for _, w := range f.Body {
				words = append(words, w.Text)
			}
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %s, want %s", condition, got, want)
		}
	}
}
