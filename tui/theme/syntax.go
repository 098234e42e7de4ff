package theme

// Class is what a piece of source code is, as far as its colour is concerned.
type Class uint8

// The classes.
const (
	Code      Class = iota // names, operators, punctuation
	Comment                // comments, and what carries no meaning of its own
	Keyword                // keywords; instructions of PTX
	TypeName               // types; type and state space modifiers of PTX
	Number                 // literals
	String                 // literals
	Directive              // of the preprocessor, of PTX; labels
	Builtin                // what the language provides: threadIdx, __syncthreads, %tid
	Found                  // text that a search matches
	numClasses
)

// Syntax is the style of each class for one terminal.
type Syntax [numClasses]Style

// The colours of source code. They are pale, so that marks and chosen lines stand out.
var (
	steel    = colour{rgb: 0x9db8de, ansi: 12}
	sage     = colour{rgb: 0x8fc3b4, ansi: 6}
	sand     = colour{rgb: 0xcdb27a, ansi: 3}
	olive    = colour{rgb: 0xaec48f, ansi: 2}
	lilac    = colour{rgb: 0xbba7d6, ansi: 5}
	foundInk = colour{rgb: 0x10141c, ansi: 0}
)

// Syntax returns the styles of source code. Without colours comments are faint and matches reversed.
func (t *Theme) Syntax() *Syntax {
	s := &Syntax{
		Code: t.SourceLine, Comment: t.style("2", grey, plain), Keyword: t.style("", steel, plain),
		TypeName: t.style("", sage, plain), Number: t.style("", sand, plain),
		String: t.style("", olive, plain), Directive: t.style("", lilac, plain),
		Builtin: t.style("", sage, plain), Found: t.style("", foundInk, amber),
	}
	if !t.Colours() {
		for i := Keyword; i <= Builtin; i++ {
			s[i] = t.SourceLine
		}
		s[Found] = t.style("7", plain, plain)
	}
	return s
}
