package code

import (
	"sync"

	"github.com/alecthomas/chroma/v2"

	"tilescope/tui/theme"
)

// The lexers are made when the first line is drawn. The library's own collection is not imported: reading it
// takes 11 ms of every start, and it has neither CUDA nor PTX.

// cuda reads CUDA C++.
var cuda = sync.OnceValue(func() chroma.Lexer {
	return chroma.MustNewLexer(&chroma.Config{Name: "CUDA", EnsureNL: true}, func() chroma.Rules {
		return chroma.Rules{
			"root": {
				{Pattern: `[ \t]*#[^\n/]*(?:/(?![/*])[^\n/]*)*`, Type: chroma.CommentPreproc},
				{Pattern: `[ \t\n]+`, Type: chroma.Text},
				{Pattern: `//[^\n]*`, Type: chroma.CommentSingle},
				{Pattern: `/\*`, Type: chroma.CommentMultiline, Mutator: chroma.Push("comment")},
				{Pattern: `(?:u8|[LuU])?"(?:\\.|[^"\\\n])*"?`, Type: chroma.LiteralString},
				{Pattern: `'(?:\\.|[^'\\\n])+'`, Type: chroma.LiteralStringChar},
				{Pattern: `0[xX][0-9a-fA-F']+[uUlL]*|0[bB][01']+[uUlL]*`, Type: chroma.LiteralNumberHex},
				{Pattern: `(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?[fFuUlL]*`,
					Type: chroma.LiteralNumber},
				{Pattern: words(cudaKeywords), Type: chroma.Keyword},
				{Pattern: words(cudaTypes) +
					`|\b[a-z]\w*_t\b|\b__nv_\w+|\bu?(?:char|short|int|long|longlong)[1-4]\b` +
					`|\b(?:float|double)[2-4]\b`, Type: chroma.KeywordType},
				{Pattern: words(cudaBuiltins) + `|\b__[a-z]\w*`, Type: chroma.NameBuiltin},
				{Pattern: `[A-Za-z_]\w*`, Type: chroma.Name},
				{Pattern: `.`, Type: chroma.Punctuation},
			},
			"comment": {
				{Pattern: `[^*]+`, Type: chroma.CommentMultiline},
				{Pattern: `\*/`, Type: chroma.CommentMultiline, Mutator: chroma.Pop(1)},
				{Pattern: `\*`, Type: chroma.CommentMultiline},
			},
		}
	})
})

// ptx reads a line of PTX.
var ptx = sync.OnceValue(func() chroma.Lexer {
	return chroma.MustNewLexer(&chroma.Config{Name: "PTX"}, func() chroma.Rules {
		return chroma.Rules{"root": {
			{Pattern: `\s+`, Type: chroma.Text},
			{Pattern: `//[^\n]*`, Type: chroma.CommentSingle},
			{Pattern: `"[^"\n]*"?`, Type: chroma.LiteralString},
			{Pattern: `[$\w]+:`, Type: chroma.NameLabel},
			{Pattern: `%(?:n?tid|n?ctaid|laneid|warpid|nwarpid|clock(?:64|_hi)?|smid|gridid|lanemask_\w+)` +
				`(?:\.[xyz])?\b`, Type: chroma.NameBuiltin},
			{Pattern: `%\w+`, Type: chroma.Name},
			{Pattern: `0[fFdDxX][0-9a-fA-F]+U?|\b\d+(?:\.\d+)?U?`, Type: chroma.LiteralNumber},
			{Pattern: `\.(?:[busf](?:8|16|32|64|128)|f16x2|bf16x?2?|pred|tf32|e4m3x?2?|e5m2x?2?` +
				`|global|shared|local|param|const|reg)\b`, Type: chroma.KeywordType},
			{Pattern: `\.(?:func|entry|visible|file|loc|section|version|target|address_size|align)\b`,
				Type: chroma.CommentPreproc},
			{Pattern: `(?<![\w%$.])(?!\$)[a-z]\w*`, Type: chroma.Keyword},
			{Pattern: `\.\w+|::\w+`, Type: chroma.Keyword},
			{Pattern: `[$_A-Za-z][$\w]*`, Type: chroma.NameLabel},
			{Pattern: `.`, Type: chroma.Punctuation},
		}}
	})
})

func words(list []string) string { return chroma.Words(`\b`, `\b`, list...) }

var cudaKeywords = []string{
	"alignas", "alignof", "asm", "auto", "break", "case", "class", "concept", "const",
	"const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default",
	"delete", "do", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false",
	"for", "friend", "goto", "if", "inline", "mutable", "namespace", "new", "noexcept", "nullptr",
	"operator", "private", "protected", "public", "register", "reinterpret_cast", "requires",
	"return", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template",
	"this", "throw", "true", "try", "typedef", "typename", "union", "using", "virtual",
	"volatile", "while", "__global__", "__device__", "__host__", "__shared__", "__constant__",
	"__managed__", "__forceinline__", "__noinline__", "__restrict__", "__launch_bounds__",
	"__cluster_dims__", "__grid_constant__", "__align__",
}

var cudaTypes = []string{
	"bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned", "void",
	"half", "half2", "__half", "__half2", "nv_bfloat16", "nv_bfloat162", "dim3", "uint", "ushort",
	"uchar", "ulong",
}

var cudaBuiltins = []string{"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "wmma", "cuda", "std"}

// classOf is the class of what a lexer has found.
func classOf(t chroma.TokenType) theme.Class {
	switch {
	case t == chroma.CommentPreproc || t == chroma.NameLabel:
		return theme.Directive
	case t.InCategory(chroma.Comment):
		return theme.Comment
	case t == chroma.KeywordType:
		return theme.TypeName
	case t.InCategory(chroma.Keyword):
		return theme.Keyword
	case t == chroma.NameBuiltin:
		return theme.Builtin
	case t.InSubCategory(chroma.LiteralNumber):
		return theme.Number
	case t.InSubCategory(chroma.LiteralString):
		return theme.String
	}
	return theme.Code
}

// lexCUDA begins to read a file. A lexer that cannot leaves the rest without colours.
func lexCUDA(text string) chroma.Iterator {
	it, err := cuda().Tokenise(nil, text)
	if err != nil {
		return func() chroma.Token { return chroma.EOF }
	}
	return it
}

// lexLine reads a line of PTX.
func lexLine(text string) []span {
	out := []span{}
	it, err := ptx().Tokenise(nil, text)
	if err != nil {
		return out
	}
	for tok := it(); tok != chroma.EOF; tok = it() {
		out = extend(out, len(tok.Value), classOf(tok.Type))
	}
	return out
}
