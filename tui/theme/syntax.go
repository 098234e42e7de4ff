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

// Syntax returns the styles of source code. They are paler than marks and chosen lines. Without colours
// comments are faint and matches reversed.
func (t *Theme) Syntax() *Syntax {
	c := &t.table.syntax
	s := &Syntax{Code: t.SourceLine, Comment: t.style("2", t.table.dim, plain)}
	for i := Keyword; i <= Builtin; i++ {
		s[i] = t.style("", c[i], plain)
	}
	s[Found] = t.style("", colour{0x000000, 0}, c[Found])
	if !t.Colours() {
		for i := Keyword; i <= Builtin; i++ {
			s[i] = t.SourceLine
		}
		s[Found] = t.style("7", plain, plain)
	}
	return s
}
