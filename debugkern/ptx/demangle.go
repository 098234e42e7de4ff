package ptx

import (
	"regexp"

	"github.com/ianlancetaylor/demangle"
)

// internal is the namespace that the compiler wraps around names of internal linkage: its name, the file's, a hash.
var internal = regexp.MustCompile(`\b_INTERNAL_[0-9a-f]{8}_\w+?::`)

// sourceName returns the last component of a mangled name and the whole of it without parameters; name itself twice
// where it is not mangled.
func sourceName(name string) (own, full string) {
	if len(name) < 3 || name[0] != '_' || name[1] != 'Z' {
		return name, name
	}
	ast, err := demangle.ToAST(name, demangle.NoParams, demangle.NoTemplateParams)
	if err != nil {
		return name, name
	}
	full = internal.ReplaceAllString(demangle.ASTToString(ast, demangle.NoParams, demangle.NoTemplateParams), "")
	return lastComponent(full), full
}

// lastComponent cuts a C++ name after its last top-level "::".
func lastComponent(full string) string {
	depth := 0
	for i := len(full) - 1; i > 0; i-- {
		switch full[i] {
		case ')', '>':
			depth++
		case '(', '<':
			depth--
		case ':':
			if depth == 0 && full[i-1] == ':' {
				return full[i+1:]
			}
		}
	}
	return full
}
