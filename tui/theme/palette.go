package theme

import (
	"fmt"
	"slices"

	"github.com/charmbracelet/colorprofile"
)

// Anchors of the value palettes, low to high, evenly spaced. cividis (Nuñez, Anderton, Renslow 2018) reads
// the same with and without red-green blindness.
var anchors = map[string][]uint32{
	"cividis": {0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173, 0x8a8678, 0xa59c74, 0xc3b369,
		0xe1cc55, 0xfee838},
	"viridis": {0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6dcd59,
		0xb4de2c, 0xfde725},
	"grey": {0x1a1a1a, 0xe6e6e6},
}

// cube is cividis among the 256 colours: the nearest of each level would lose its hue.
var cube = []int{17, 18, 60, 242, 102, 101, 143, 179, 185, 221, 227}

// errorAnchors diverge blue, white, orange.
var errorAnchors = []uint32{0x08489c, 0x2f79c4, 0x8bbbe6, 0xf4f4f4, 0xf8b77a, 0xe67a1e, 0xa84400}

// Palettes lists the names of value palettes, default first.
func Palettes() []string { return []string{"cividis", "viridis", "grey"} }

// NextPalette is the palette after name.
func NextPalette(name string) string {
	all := Palettes()
	return all[(slices.Index(all, paletteName(name))+1)%len(all)]
}

func paletteName(name string) string {
	if slices.Contains(Palettes(), name) {
		return name
	}
	return Palettes()[0]
}

// heat precomputes one style a level. Sixteen colours have five steps of each ramp; without colours there is
// none, and panes write a shade glyph instead.
func (t *Theme) heat(levels int) {
	switch {
	case t.Profile < colorprofile.ANSI:
		t.Value, t.Err = []Style{t.Text}, []Style{t.Text}
	case t.Profile == colorprofile.ANSI:
		t.Value = t.ansiRamp(0, 4, 8, 7, 11)
		t.Err = t.ansiRamp(4, 6, 7, 3, 1)
	default:
		if t.Value = t.ramp(anchors[t.Palette], levels); t.Profile == colorprofile.ANSI256 &&
			t.Palette == "cividis" {
			t.Value = t.cubeRamp()
		}
		t.Err = t.ramp(errorAnchors, levels|1)
	}
}

func (t *Theme) ansiRamp(back ...int) []Style {
	out := make([]Style, len(back))
	for i, b := range back {
		fore := colour{rgb: 1, ansi: 15}
		if b == 7 || b == 11 || b == 3 || b == 6 {
			fore = colour{rgb: 1}
		}
		out[i] = t.style("", fore, colour{rgb: 1, ansi: b})
	}
	return out
}

func (t *Theme) cubeRamp() []Style {
	out := make([]Style, len(cube))
	for i, c := range cube {
		fore := 231
		if i >= len(cube)/2 {
			fore = 16
		}
		out[i] = Style(fmt.Sprintf("\x1b[0;38;5;%d;48;5;%dm", fore, c))
	}
	return out
}

func (t *Theme) ramp(at []uint32, levels int) []Style {
	out := make([]Style, levels)
	for i := range out {
		back := mix(at, float64(i)/float64(levels-1))
		fore := white
		if luma(back) > 0.5 {
			fore = ink
		}
		out[i] = t.style("", fore, colour{rgb: back, full: true})
	}
	return out
}

// mix interpolates the anchors at x in [0, 1].
func mix(at []uint32, x float64) uint32 {
	pos := x * float64(len(at)-1)
	i := min(int(pos), len(at)-2)
	f := pos - float64(i)
	var out uint32
	for shift := 0; shift <= 16; shift += 8 {
		a, b := float64(at[i]>>shift&255), float64(at[i+1]>>shift&255)
		out |= uint32(a+(b-a)*f+0.5) << shift
	}
	return out
}

func luma(rgb uint32) float64 {
	return (0.299*float64(rgb>>16) + 0.587*float64(rgb>>8&255) + 0.114*float64(rgb&255)) / 255
}
