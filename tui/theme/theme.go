// Package theme holds the terminal's only colours and glyphs, and the line builder that writes them.
//
// The one idea: a Style is a finished escape sequence and a Line counts columns while it is written, so that
// a pane is a slice of lines of exactly its width and nothing measures or styles a cell again. Every colour
// is chosen once, when the theme is made for a terminal's profile; with no colours the same calls write plain
// text, and marks carry the meaning.
//
// It must not know kernels, tiles or keys.
package theme

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Style is a complete SGR sequence (it starts with a reset), or "" where the terminal has no attributes.
type Style string

// Theme is the set of styles and glyphs for one terminal. It is immutable.
type Theme struct {
	Profile colorprofile.Profile
	ASCII   bool   // borders, marks and text are written in ASCII
	Name    string // one of Names
	Palette string // one of Palettes

	Text, Dim, Title, Strong, Accent  Style
	Border, Focus                     Style // pane borders; the focused pane's
	OK, Wrong, Taint, Off             Style // verdicts
	Mark                              Style // the cursor's brackets
	Here                              Style // the cursor where a cell is one column
	Bar, BarDim, BarStrong            Style // top bar
	Tab, TabOn                        Style
	Key, Help                         Style // hint line: key and meaning
	Select                            Style // the chosen row of a list
	Match, SelectMatch                Style // what a text matches, in a row and in the chosen one
	Running                           Style
	Error, Notice                     Style // status line
	KernelLine, SourceLine, SourceNum Style

	Glyph Glyphs
	Value []Style // heat of values, low to high

	near   [2][]Style // heat of errors within their bound, zero first: below, above
	beyond [2][]Style // and beyond it
	table  *table
}

// Options say what terminal a theme is for.
type Options struct {
	Profile colorprofile.Profile
	ASCII   bool
	Name    string // see Names; "" is the first
	Palette string // see Palettes; "" is the first
	Sparing bool   // bytes are dear: heat maps have 16 levels, of the 256 colours
}

// New makes a theme.
func New(o Options) *Theme {
	t := &Theme{Profile: o.Profile, ASCII: o.ASCII, Palette: paletteName(o.Palette), Glyph: unicodeGlyphs(),
		table: tableOf(o.Name)}
	t.Name = t.table.name
	if o.ASCII {
		t.Glyph = asciiGlyphs()
	}
	t.styles()
	t.heat(o.Sparing)
	return t
}

// Light reports whether the theme is for terminals with a light ground.
func (t *Theme) Light() bool { return t.table.light }

// Paper is the ground and the text of a picture of the screen, as RGB: what a terminal brings itself.
func (t *Theme) Paper() (ground, text uint32) {
	switch {
	case t.Profile != colorprofile.ANSI:
		return t.table.paper, t.table.ink
	case t.Light():
		return Xterm[15], Xterm[0]
	}
	return Xterm[0], Xterm[7]
}

// Colours reports whether the terminal shows colours at all.
func (t *Theme) Colours() bool { return t.Profile >= colorprofile.ANSI }

// Scale is the marks of a map of values, least to greatest: digits on coloured grounds, else shades.
func (t *Theme) Scale() string {
	if t.Rich() {
		return "0 9"
	}
	return strings.Join(t.Glyph.Shade[1:], "")
}

// Rich reports whether heat maps have their full range of colours.
func (t *Theme) Rich() bool { return t.Profile >= colorprofile.ANSI256 }

// Verdict is the style of a stage's or tile's verdict: ok, wrong, tainted, off; agree, diverge, failed; fail.
func (t *Theme) Verdict(v string) Style {
	switch v {
	case "ok", "agree":
		return t.OK
	case "wrong", "diverge", "failed", "fail", "error":
		return t.Wrong
	case "tainted":
		return t.Taint
	}
	return t.Off
}

// VerdictMark is the glyph that says the same without colour.
func (t *Theme) VerdictMark(v string) string {
	switch v {
	case "ok", "agree":
		return t.Glyph.OK
	case "wrong", "diverge", "failed", "fail", "error":
		return t.Glyph.Wrong
	case "tainted":
		return t.Glyph.Taint
	}
	return t.Glyph.Off
}

// ErrorMark is an error against its bound as a glyph: nan, inf, below, above; equal; within.
func (t *Theme) ErrorMark(standing string) (string, Style) {
	switch standing {
	case "nan":
		return t.Glyph.NaN, t.Wrong
	case "inf":
		return t.Glyph.Inf, t.Wrong
	case "below":
		return t.Glyph.Below, t.Wrong
	case "above":
		return t.Glyph.Above, t.Wrong
	case "equal":
		return t.Glyph.Equal, t.Dim
	}
	return t.Glyph.Within, t.Dim
}

// styles fills every role.
func (t *Theme) styles() {
	c := t.table
	t.Text = t.style("", plain, plain)
	t.Dim = t.style("2", c.dim, plain)
	t.Title = t.style("1", c.title, plain)
	t.Strong = t.style("1", plain, plain)
	t.Accent = t.style("", c.accent, plain)
	t.Border = t.style("", c.border, plain)
	t.Focus = t.style("1", c.focus, plain)
	t.OK = t.style("", c.ok, plain)
	t.Wrong = t.style("1", c.wrong, plain)
	t.Taint = t.style("", c.taint, plain)
	t.Off = t.style("2", c.dim, plain)
	t.Mark = t.style("1", plain, plain)
	t.Here = t.style("1;7", plain, plain)
	t.Bar = t.style("", c.barText, c.bar)
	t.BarDim = t.style("", c.barDim, c.bar)
	t.BarStrong = t.style("1", c.barStrong, c.bar)
	t.Tab = t.style("", c.dim, plain)
	t.TabOn = t.style("1", c.title, plain)
	t.Key = t.style("1", c.accent, plain)
	t.Help = t.style("", c.dim, plain)
	t.Select = t.style("1", c.pickText, c.pick)
	t.Match = t.style("1;4", c.accent, plain)
	t.SelectMatch = t.style("1", c.pick, c.pickText) // an underline in names reads as "_"
	t.Running = t.style("", c.busy, plain)
	t.Error = t.style("1", c.wrong, plain)
	t.Notice = t.style("", c.busy, plain)
	t.KernelLine = t.style("1", c.pickText, c.pick)
	t.SourceLine = t.style("", plain, plain)
	t.SourceNum = t.style("2", c.dim, plain)
	// bars and chosen rows are marked by attributes where there are no colours
	if !t.Colours() {
		t.Select = t.style("1;7", plain, plain)
		t.SelectMatch = t.style("1;4;7", plain, plain)
		t.KernelLine = t.style("1", plain, plain)
		t.TabOn = t.style("1;4", plain, plain)
	}
}

// style writes one SGR sequence: attributes, foreground, background, as far as the profile has them.
func (t *Theme) style(attr string, fg, bg colour) Style {
	if t.Profile <= colorprofile.NoTTY {
		return ""
	}
	switch {
	case attr == "2" && t.Colours():
		attr = "" // how much of a colour faint takes is the terminal's secret
	case attr == "1" && t.Profile == colorprofile.ANSI && fg.ansi >= 0 && fg.ansi < 8:
		attr = "" // many terminals write bold in the brighter colour, which is another contrast
	}
	parts := "\x1b[0"
	for _, p := range []string{attr, t.sgr(fg, false), t.sgr(bg, true)} {
		if p != "" {
			parts += ";" + p
		}
	}
	return Style(parts + "m")
}

// sgr is a colour's parameters, "" where the terminal's own serves.
func (t *Theme) sgr(c colour, back bool) string {
	base := 30
	if back {
		base = 40
	}
	switch {
	case !t.Colours() || c == plain:
		return ""
	case t.Profile > colorprofile.ANSI:
		return fmt.Sprintf("%d;5;%d", base+8, nearest256(c.rgb))
	case c.ansi < 0:
		return ""
	case c.ansi >= 8:
		return strconv.Itoa(base + 60 + c.ansi - 8)
	}
	return strconv.Itoa(base + c.ansi)
}
