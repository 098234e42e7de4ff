package ptx

import (
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// internal is the namespace that the compiler wraps around names of internal linkage: its name,
// the file's, a hash.
var internal = regexp.MustCompile(`\b_INTERNAL_[0-9a-f]{8}_\w+?::`)

// sourceName returns the last component of a mangled name and the whole of it without parameters; name itself
// twice where it is not mangled.
func sourceName(name string) (own, full string) {
	if len(name) < 3 || name[0] != '_' || name[1] != 'Z' {
		return name, name
	}
	ast, err := demangle.ToAST(name, demangle.NoParams, demangle.NoTemplateParams)
	if err != nil {
		return name, name
	}
	full = internal.ReplaceAllString(demangle.ASTToString(ast, demangle.NoParams,
		demangle.NoTemplateParams), "")
	return lastComponent(full), full
}

// TemplateName returns a mangled function's name as a source writes it, with its template arguments:
// "ns::k<64,float>". Unnamed namespaces and blanks are left out. A name that is not mangled is itself.
func TemplateName(name string) string {
	if len(name) < 3 || name[0] != '_' || name[1] != 'Z' {
		return name
	}
	ast, err := demangle.ToAST(name, demangle.NoParams, demangle.NoEnclosingParams)
	if err != nil {
		return name
	}
	if t, ok := ast.(*demangle.Typed); ok {
		ast = t.Name
	}
	full := internal.ReplaceAllString(demangle.ASTToString(ast, demangle.NoParams), "")
	return cleaned.Replace(full)
}

// cleaned takes out what a source does not write, and the types of numbers.
var cleaned = strings.NewReplacer("(anonymous namespace)::", "", "(int)", "", "(bool)1", "true", "(bool)0",
	"false", ", ", ",", " >", ">")

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
