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
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Style is a complete SGR sequence (it starts with a reset), or "" where the terminal has no attributes.
type Style string

// Theme is the set of styles and glyphs for one terminal. It is immutable.
type Theme struct {
	Profile colorprofile.Profile
	ASCII   bool // borders, marks and text are written in ASCII
	Palette string

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
	Err   []Style // heat of errors, below to above; the middle is zero
}

// Options say what terminal a theme is for.
type Options struct {
	Profile colorprofile.Profile
	ASCII   bool
	Palette string // see Palettes; "" is the first
	Levels  int    // of a heat map: 32, or 16 where bytes are dear; 0 is 32
}

// New makes a theme.
func New(o Options) *Theme {
	if o.Levels <= 0 {
		o.Levels = 32
	}
	t := &Theme{Profile: o.Profile, ASCII: o.ASCII, Palette: paletteName(o.Palette), Glyph: unicodeGlyphs()}
	if o.ASCII {
		t.Glyph = asciiGlyphs()
	}
	t.styles()
	t.heat(o.Levels)
	return t
}

// Colours reports whether the terminal shows colours at all.
func (t *Theme) Colours() bool { return t.Profile >= colorprofile.ANSI }

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

// colour is one role's colour: as RGB, and its nearest among the sixteen. A role is written as one of 256
// colours, which is half the bytes and close enough; a heat map's levels are written as they are.
type colour struct {
	rgb  uint32
	ansi int // 0-15, -1 for the terminal's own
	full bool
}

var (
	plain    = colour{rgb: 0, ansi: -1}
	grey     = colour{rgb: 0x8b93a1, ansi: 8}
	slate    = colour{rgb: 0x4b5567, ansi: 8}
	sky      = colour{rgb: 0x6cb6ff, ansi: 12}
	teal     = colour{rgb: 0x4cc2a0, ansi: 10}
	coral    = colour{rgb: 0xff7a59, ansi: 9}
	amber    = colour{rgb: 0xe8bf3f, ansi: 11}
	white    = colour{rgb: 0xf2f4f8, ansi: 15}
	ink      = colour{rgb: 0x10141c, ansi: 0}
	barBack  = colour{rgb: 0x1d2635, ansi: 4}
	pickBack = colour{rgb: 0x2b3a52, ansi: 4}
)

// styles fills every role.
func (t *Theme) styles() {
	t.Text = t.style("", plain, plain)
	t.Dim = t.style("2", grey, plain)
	t.Title = t.style("1", white, plain)
	t.Strong = t.style("1", plain, plain)
	t.Accent = t.style("", sky, plain)
	t.Border = t.style("", slate, plain)
	t.Focus = t.style("1", sky, plain)
	t.OK = t.style("", teal, plain)
	t.Wrong = t.style("1", coral, plain)
	t.Taint = t.style("", amber, plain)
	t.Off = t.style("2", grey, plain)
	t.Mark = t.style("1", plain, plain)
	t.Here = t.style("1;7", plain, plain)
	t.Bar = t.style("", white, barBack)
	t.BarDim = t.style("", grey, barBack)
	t.BarStrong = t.style("1", sky, barBack)
	t.Tab = t.style("", grey, plain)
	t.TabOn = t.style("1", white, plain)
	t.Key = t.style("1", sky, plain)
	t.Help = t.style("", grey, plain)
	t.Select = t.style("1", white, pickBack)
	t.Match = t.style("1;4", sky, plain)
	t.SelectMatch = t.style("1;4", white, pickBack)
	t.Running = t.style("", amber, plain)
	t.Error = t.style("1", coral, plain)
	t.Notice = t.style("", amber, plain)
	t.KernelLine = t.style("1", white, pickBack)
	t.SourceLine = t.style("", plain, plain)
	t.SourceNum = t.style("2", grey, plain)
	if t.Profile == colorprofile.ANSI { // a blue bar needs white text on sixteen colours
		t.BarDim = t.style("", colour{rgb: 0, ansi: 7}, barBack)
		t.BarStrong = t.style("1", white, barBack)
	}
	// bars and chosen rows are marked by attributes where there are no colours
	if t.Profile < colorprofile.ANSI {
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
	parts := []string{"0"}
	if t.Profile >= colorprofile.ANSI && fg != plain && attr == "2" {
		attr = "" // a dim colour is a colour already; faint on top is unreadable
	}
	if attr != "" {
		parts = append(parts, attr)
	}
	parts = append(parts, t.sgr(fg, false)...)
	parts = append(parts, t.sgr(bg, true)...)
	return Style("\x1b[" + strings.Join(parts, ";") + "m")
}

func (t *Theme) sgr(c colour, back bool) []string {
	if c.ansi < 0 && c.rgb == 0 || t.Profile < colorprofile.ANSI {
		return nil
	}
	base := 30
	if back {
		base = 40
	}
	if t.Profile == colorprofile.ANSI {
		if c.ansi >= 8 {
			return []string{fmt.Sprint(base + 60 + c.ansi - 8)}
		}
		return []string{fmt.Sprint(base + c.ansi)}
	}
	if t.Profile == colorprofile.ANSI256 || !c.full {
		return []string{fmt.Sprintf("%d;5;%d", base+8, nearest256(c.rgb))}
	}
	return []string{fmt.Sprintf("%d;2;%d;%d;%d", base+8, c.rgb>>16, c.rgb>>8&255, c.rgb&255)}
}

// nearest256 is the closest entry of the 6×6×6 cube or the grey ramp of a 256-colour terminal.
func nearest256(rgb uint32) int {
	r, g, b := int(rgb>>16), int(rgb>>8&255), int(rgb&255)
	steps := [6]int{0, 95, 135, 175, 215, 255}
	near := func(v int) int {
		best := 0
		for i, s := range steps {
			if abs(s-v) < abs(steps[best]-v) {
				best = i
			}
		}
		return best
	}
	i, j, k := near(r), near(g), near(b)
	cube := sq(steps[i]-r) + sq(steps[j]-g) + sq(steps[k]-b)
	n := min(23, max(0, ((r+g+b)/3-8+5)/10))
	level := 8 + 10*n
	if sq(level-r)+sq(level-g)+sq(level-b) < cube {
		return 232 + n
	}
	return 16 + 36*i + 6*j + k
}

func sq(v int) int { return v * v }

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}
